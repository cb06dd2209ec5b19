"""LangChain's messages as a dialect. Needs ``langchain-core``."""

import json

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from tercet.dialects import Dialect

ROLES = {HumanMessage: "user", AIMessage: "assistant", ToolMessage: "tool", SystemMessage: "system"}


def role(message: BaseMessage) -> str:
    """Say a message's role; one of another kind keeps LangChain's own name for it."""
    return next((role for kind, role in ROLES.items() if isinstance(message, kind)), message.type)


def calls(message: BaseMessage) -> list[ToolCall | InvalidToolCall]:
    """List a message's calls and then the invalid ones: a provider is sent those too."""
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def texts(message: BaseMessage) -> list[str]:
    """List the texts of a message: its content's, and its calls' names and arguments."""
    content = message.content if isinstance(message.content, str) else str(message.text)
    return [content, *(text for call in calls(message) for text in (call["name"] or "", written(call["args"])))]


def written(arguments: object) -> str:
    """Write a call's arguments as a provider is sent them; those of an invalid call stand as they came."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)


LANGCHAIN: Dialect[BaseMessage] = Dialect(
    id=lambda message: message.id,
    role=role,
    calls=lambda message: [call["id"] for call in calls(message)],
    answers=lambda message: [message.tool_call_id] if isinstance(message, ToolMessage) else (),
    texts=texts,
    user=HumanMessage,
)
"""The messages of ``langchain_core``, as LangChain and LangGraph keep them."""

"""LangChain's messages as a dialect. Needs ``langchain-core``."""

import json
from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, InvalidToolCall, ToolCall, ToolMessage

from tercet.dialects import Dialect

ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "system": "system",
    "SystemMessageChunk": "system",
}

JSON = json.JSONEncoder(ensure_ascii=False, default=str)


def role(message: BaseMessage) -> str:
    """Say a message's role; one of another type keeps LangChain's own name for it."""
    return ROLES.get(message.type, message.type)


def calls(message: BaseMessage) -> Sequence[ToolCall | InvalidToolCall]:
    """List a message's calls and then the invalid ones: a provider is sent those too."""
    if role(message) != "assistant":
        return ()
    answer = cast("AIMessage", message)
    return [*answer.tool_calls, *answer.invalid_tool_calls]


def answers(message: BaseMessage) -> Sequence[str]:
    """List the one id that a tool message answers."""
    return [cast("ToolMessage", message).tool_call_id] if role(message) == "tool" else ()


def texts(message: BaseMessage) -> list[str]:
    """List the texts of a message: its content's, and its calls' names and arguments."""
    content = message.content if isinstance(message.content, str) else str(message.text)
    return [content, *(text for call in calls(message) for text in (call["name"] or "", written(call["args"])))]


def written(arguments: object) -> str:
    """Write a call's arguments as a provider is sent them; those of an invalid call stand as they came."""
    return arguments if isinstance(arguments, str) else JSON.encode(arguments or {})


LANGCHAIN: Dialect[BaseMessage] = Dialect(
    id=lambda message: message.id,
    role=role,
    calls=lambda message: [call["id"] for call in calls(message)],
    answers=answers,
    texts=texts,
    user=HumanMessage,
)
"""The messages of ``langchain_core``, as LangChain and LangGraph keep them."""

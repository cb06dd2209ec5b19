"""What a loop makes and reads of a message type, beside its dialect."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from attrs import frozen

from tercet_spec.vocabulary import Message, ToolCall

M = TypeVar("M")


@frozen
class Forms(Generic[M]):
    """The functions that make and read messages.

    ``system`` makes a system prompt of a text; ``result`` makes the tool message of a call, a text,
    and whether that is an error; ``calls`` lists the tool calls of a model's answer, in order.
    """

    system: Callable[[str], M]
    result: Callable[[ToolCall, str, bool], M]
    calls: Callable[[M], Sequence[ToolCall]]


TERCET_FORMS: Forms[Message] = Forms(
    system=lambda text: Message("system", text),
    result=lambda call, text, is_error: Message("tool", text, answers=(call.id,)),
    calls=lambda message: message.calls,
)
"""Tercet's own messages."""


def chat_tool_call(call: Mapping[str, Any]) -> ToolCall:
    """Read one of a chat dict's calls."""
    function = call.get("function") or {}
    return ToolCall(call.get("id"), function.get("name") or "", function.get("arguments") or "")


CHAT_FORMS: Forms[Mapping[str, Any]] = Forms(
    system=lambda text: {"role": "system", "content": text},
    result=lambda call, text, is_error: {"role": "tool", "tool_call_id": call.id, "content": text},
    calls=lambda message: [chat_tool_call(call) for call in message.get("tool_calls") or ()],
)
"""Chat dicts in the form of OpenAI's chat completions, where an error's text says that it is one."""

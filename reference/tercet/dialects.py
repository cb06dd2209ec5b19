"""How the reference reads a message type: a handful of functions, gathered in a value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from attrs import frozen

from tercet_spec.vocabulary import Message

M = TypeVar("M")


def anywhere(_: object) -> bool:
    """Allow a cut before any message."""
    return True


@frozen
class Dialect(Generic[M]):
    """The functions that say what a framework's message is.

    ``id`` gives the stored id, or ``None`` where the form has none: the message's place in the
    history, counted from 1, serves then. ``calls`` and ``answers`` give the ids of its calls and
    the ids that it answers, ``None`` for a missing one. ``texts`` gives what a character count
    measures: content, and the names and arguments of calls. ``user`` makes a user message. A cut
    falls only where ``may_cut_before`` the first message kept.

    Messages that are equal must be read alike, and one that is in a history stays as it is.
    """

    id: Callable[[M], str | None]
    role: Callable[[M], str]
    calls: Callable[[M], Sequence[str | None]]
    answers: Callable[[M], Sequence[str | None]]
    texts: Callable[[M], Sequence[str]]
    user: Callable[[str], M]
    may_cut_before: Callable[[M], bool] = anywhere


TERCET: Dialect[Message] = Dialect(
    id=lambda message: message.id,
    role=lambda message: message.role,
    calls=lambda message: [call.id for call in message.calls],
    answers=lambda message: message.answers,
    texts=lambda message: [message.content, *(text for call in message.calls for text in (call.name, call.arguments))],
    user=lambda text: Message("user", text),
)
"""Tercet's own messages."""


def chat_texts(message: Mapping[str, Any]) -> list[str]:
    """List the texts of a chat dict: its content, or the text parts of it, and its calls' names and arguments."""
    content = message.get("content") or ""
    parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content]
    functions = [call.get("function") or {} for call in message.get("tool_calls") or ()]
    return parts + [function.get(key) or "" for function in functions for key in ("name", "arguments")]


def chat_calls(message: Mapping[str, Any]) -> list[str | None]:
    """List the ids of a chat dict's calls; raises ValueError where calls or results stand among its parts."""
    parts = message.get("content")
    for part in parts if isinstance(parts, list) else ():
        if part.get("type") in ("tool_use", "tool_result"):
            raise ValueError(
                f"a part of type {part['type']!r} is of another form than OpenAI's; read it with a Dialect of your own"
            )
    return [call.get("id") for call in message.get("tool_calls") or ()]


CHAT: Dialect[Mapping[str, Any]] = Dialect(
    id=lambda message: message.get("id"),
    role=lambda message: "system" if message["role"] == "developer" else message["role"],
    calls=chat_calls,
    answers=lambda message: [message.get("tool_call_id")] if message["role"] == "tool" else (),
    texts=chat_texts,
    user=lambda text: {"role": "user", "content": text},
)
"""Chat dicts in the form of OpenAI's chat completions: calls under ``tool_calls``, a result in a tool message."""

"""Middleware as a value: hooks that are plain functions of what they see.

A wrapper has no continuation. It is asked again with what its last move gave, a result of next or
a reply, until it answers with a result of its own; so what it sees is data that can be stored.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from attrs import field, frozen

from tercet.plan import Ask
from tercet.request import ModelRequest
from tercet.thread import Thread
from tercet.tools import NOTHING, Outcome, ToolUse

M = TypeVar("M")


@frozen
class Fail:
    """It failed. ``where`` is filled in by the loop: middleware or model, hook, step."""

    error: str
    where: str = ""


@frozen
class Block:
    """The turn may not go on, or its output not go out: nothing of it is kept but its usage."""

    reason: str


@frozen
class Incoming(Generic[M]):
    """What ``before_agent`` sees: the committed thread, and the input as the middleware before returned it."""

    thread: Thread[M]
    message: M


@frozen
class Outgoing(Generic[M]):
    """What ``after_agent`` sees: the committed thread, and the answer that ends it."""

    thread: Thread[M]
    message: M


@frozen
class Passed(Generic[M]):
    """Let it pass, with an update; an input may be changed into another ``message``."""

    message: M | None = None
    update: Mapping[str, Any] = NOTHING


@frozen
class Next(Generic[M]):
    """Go on inside: a model wrapper may rewrite the ``request``, a tool wrapper has none."""

    request: ModelRequest[M] | None = None


@frozen
class Question:
    """Ask the host a question; the run waits for its reply."""

    text: str


@frozen
class ModelResponse(Generic[M]):
    """A model's answer, with the update that is committed with it."""

    message: M
    update: Mapping[str, Any] = NOTHING


@frozen
class ModelCall(Generic[M]):
    """What a model wrapper sees: the committed thread, the request as it was given, and what came so far.

    ``results`` are those of each next; ``replies`` those to each thing that it asked: a text, or
    the Fail of a compressor.
    """

    thread: Thread[M]
    request: ModelRequest[M]
    results: "tuple[ModelResponse[M] | Fail, ...]" = ()
    replies: tuple[str | Fail, ...] = ()


ModelMove: TypeAlias = Next[M] | ModelResponse[M] | Fail | Question | Ask[M]
ToolMove: TypeAlias = Next[M] | Outcome


@frozen
class Middleware(Generic[M]):
    """A middleware: its ``id``, the keys of the thread's state that it ``writes``, its hooks.

    Only where ``asks`` may its model wrapper ask a question. ``max_section_tokens`` bounds its
    section of the system prompt, at four characters a token. ``manages_context`` says that it
    shortens what is sent. In a stack it must stand ``outside`` the middleware of those ids, and
    ``inside`` of these. A Stack refuses what is wrong with it.
    """

    id: str
    writes: frozenset[str] = frozenset()
    before_agent: Callable[[Incoming[M]], Passed[M] | Block] | None = None
    section: Callable[[Mapping[str, Any]], str | Fail] | None = None
    wrap_model: Callable[[ModelCall[M]], ModelMove[M]] | None = None
    wrap_tool: Callable[[ToolUse[M]], ToolMove[M]] | None = None
    after_agent: Callable[[Outgoing[M]], Passed[M] | Block] | None = None
    asks: bool = field(default=False, kw_only=True)
    max_section_tokens: int = field(default=1000, kw_only=True)
    manages_context: bool = field(default=False, kw_only=True)
    outside: frozenset[str] = field(default=frozenset(), kw_only=True)
    inside: frozenset[str] = field(default=frozenset(), kw_only=True)


HOOKS = ("before_agent", "section", "wrap_model", "wrap_tool", "after_agent")

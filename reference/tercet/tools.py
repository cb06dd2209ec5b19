"""Tools as a loop knows them: their names, what is wrong with arguments, and what comes of a call."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from attrs import frozen

from tercet.thread import Thread
from tercet_spec.vocabulary import ToolCall

M = TypeVar("M")
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""An update that writes no key."""


def nothing_wrong(_: str) -> tuple[str, ...]:
    """Find nothing wrong with any arguments."""
    return ()


@frozen
class Tool:
    """A tool's name, and the function that says what is wrong with the text of a call's arguments."""

    name: str
    problems: Callable[[str], Sequence[str]] = nothing_wrong


@frozen
class Success:
    """A call's result; a wrapper's ``update`` goes to keys among its middleware's writes."""

    content: str
    update: Mapping[str, Any] = NOTHING


@frozen
class Error:
    """A call's result that says what went wrong, for the model to read."""

    text: str


@frozen
class NeedsApproval:
    """The call waits for somebody's approval."""

    reason: str


@frozen
class Fatal:
    """The run fails. ``where`` is filled in by the loop: middleware or tool, hook, step."""

    error: str
    where: str = ""


Outcome: TypeAlias = Success | Error | NeedsApproval | Fatal
OUTCOMES = (Success, Error, NeedsApproval, Fatal)


@frozen
class ToolUse(Generic[M]):
    """What a tool wrapper sees: the committed thread, the call, what each next gave so far."""

    thread: Thread[M]
    call: ToolCall
    approved: bool = False
    outcomes: tuple[Outcome, ...] = ()

"""What the gallery holds of each implementation, and how one is entered."""

import re
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from attrs import frozen

from tercet_conformance.gallery.plain import Plain, PlainImplementation
from tercet_conformance.gallery.plain_loop import PlainLoop, PlainLoopImplementation
from tercet_conformance.interface import Implementation

Thread = TypeVar("Thread", bound=type[Plain])
Loop = TypeVar("Loop", bound=type[PlainLoop])


Kind = Literal["wrong", "right", "null", "guard", "hostile", "process"]


@frozen
class Entry:
    """One implementation of the gallery.

    A wrong one has a ``rule``, the id of the rule that must catch it, and a ``report`` where its fault
    is that of a public bug report; others have none. A null one does nothing of what it declares; a
    guard is there for the measurement itself; a hostile one, and a hostile process, has a
    ``diagnosis``, what must be said of it. ``says`` is what it does.
    """

    name: str
    kind: Kind
    rule: str | None
    report: str
    says: str
    make: Callable[[], Implementation]
    diagnosis: str = ""


ENTERED: list[Entry] = []


def wrong(rule: str, report: str = "") -> Callable[[Thread], Thread]:
    """Enter a class of threads as wrong: the rule that must catch it, and the public report of its fault."""
    return partial(enter, kind="wrong", rule=rule, report=report)


def wrong_loop(rule: str, report: str = "") -> Callable[[Loop], Loop]:
    """Enter a class of loops as wrong: the rule that must catch it, and the public report of its fault."""

    def entered(loop: Loop) -> Loop:
        enter_as(loop, "wrong", rule, report, PlainLoopImplementation)
        return loop

    return entered


def right_loop(loop: Loop) -> Loop:
    """Enter a class of loops as right."""
    enter_as(loop, "right", None, "", PlainLoopImplementation)
    return loop


def right(thread: Thread) -> Thread:
    """Enter a class of threads as right."""
    return enter(thread, "right", None, "")


def guard(rule: str | None) -> Callable[[Thread], Thread]:
    """Enter a class of threads that guards the measurement: one that a rule must catch at once, or none ever."""
    return partial(enter, kind="guard", rule=rule, report="")


def enter(thread: Thread, kind: Kind, rule: str | None, report: str) -> Thread:
    """Enter a class of threads, under its name in small letters."""
    enter_as(thread, kind, rule, report, PlainImplementation)
    return thread


def enter_as(made: type, kind: Kind, rule: str | None, report: str, make: Callable[..., Implementation]) -> None:
    """Enter a class under its name in small letters."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", made.__name__).lower()
    says = (made.__doc__ or "").partition("\n")[0]
    ENTERED.append(Entry(name, kind, rule, report, says, partial(make, name, made)))

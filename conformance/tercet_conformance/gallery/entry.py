"""What the gallery holds of each implementation, and how one is entered."""

import re
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from attrs import frozen

from tercet_conformance.gallery.plain import Plain, PlainImplementation
from tercet_conformance.interface import Implementation

Thread = TypeVar("Thread", bound=type[Plain])


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


def right(thread: Thread) -> Thread:
    """Enter a class of threads as right."""
    return enter(thread, "right", None, "")


def null(thread: Thread) -> Thread:
    """Enter a class of threads that does nothing of what it declares."""
    return enter(thread, "null", None, "")


def guard(rule: str | None) -> Callable[[Thread], Thread]:
    """Enter a class of threads that guards the measurement: one that a rule must catch at once, or none ever."""
    return partial(enter, kind="guard", rule=rule, report="")


def enter(thread: Thread, kind: Kind, rule: str | None, report: str) -> Thread:
    """Enter a class of threads, under its name in small letters."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", thread.__name__).lower()
    says = (thread.__doc__ or "").partition("\n")[0]
    ENTERED.append(Entry(name, kind, rule, report, says, partial(PlainImplementation, name, thread)))
    return thread

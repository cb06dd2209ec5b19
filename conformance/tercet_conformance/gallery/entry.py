"""What the gallery holds of each implementation, and how one is entered."""

import re
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeVar

from attrs import frozen

from tercet_conformance.gallery.plain import Plain, PlainImplementation
from tercet_conformance.interface import Implementation

Thread = TypeVar("Thread", bound=type[Plain])


@frozen
class Entry:
    """One implementation of the gallery.

    A wrong one has a ``rule``, the id of the rule that must catch it, and a ``report`` where its fault
    is that of a public bug report; a right one has none. ``says`` is what it does. A hostile one has a
    ``diagnosis``, what must be said of it.
    """

    name: str
    kind: Literal["wrong", "right", "hostile"]
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


def enter(thread: Thread, kind: Literal["wrong", "right", "hostile"], rule: str | None, report: str) -> Thread:
    """Enter a class of threads, under its name in small letters."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", thread.__name__).lower()
    says = (thread.__doc__ or "").partition("\n")[0]
    ENTERED.append(Entry(name, kind, rule, report, says, partial(PlainImplementation, name, thread)))
    return thread

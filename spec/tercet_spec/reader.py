"""Reads a line of notation from left to right, and writes what every line is made of: numbers, ids, replies."""

import re
from collections.abc import Iterable
from typing import NoReturn, TypeVar

from attrs import frozen

from tercet_spec.scenarios import Reply

Ids = tuple[str | None, ...]
Word = TypeVar("Word", bound=str)
MOST = 1_000_000
"""The largest number that a line may say: a text of that length is made in a moment."""
BARE_ID = re.compile(r"[A-Za-z0-9_.]+")


@frozen
class NotationError(ValueError):
    """A line that does not parse: where, and what would be allowed there."""

    line: str
    place: int
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}\n  {self.line}\n  {' ' * self.place}^"


class Reader:
    """Reads a line from left to right."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.place = 0

    def fail(self, problem: str, place: int | None = None) -> NoReturn:
        raise NotationError(self.line, self.place if place is None else place, problem)

    def skip(self) -> int:
        while self.place < len(self.line) and self.line[self.place].isspace():
            self.place += 1
        return self.place

    def at_end(self) -> bool:
        return self.skip() == len(self.line)

    def takes(self, text: str) -> bool:
        self.skip()
        if not self.line.startswith(text, self.place):
            return False
        end = self.place + len(text)
        if text[-1].isalpha() and self.line[end : end + 1].isalnum():
            return False
        self.place = end
        return True

    def expect(self, text: str) -> None:
        if not self.takes(text):
            self.fail(f"expected {text!r}")

    def number(self, least: int = -MOST) -> int:
        self.skip()
        found = re.compile(r"-?[0-9]+").match(self.line, self.place)
        if not found or not least <= int(found[0][:12]) <= MOST:
            self.fail(f"expected a whole number from {least} to {MOST}")
        value = int(found[0])
        self.place = found.end()
        return value

    def choice(self, names: Iterable[Word]) -> Word | None:
        return next((name for name in names if self.takes(name)), None)

    def ids(self) -> Ids:
        ids: list[str | None] = []
        self.expect("(")
        while True:
            ids.append(self.call_id())
            if not self.takes(","):
                break
        self.expect(")")
        return tuple(ids)

    def call_id(self) -> str | None:
        self.skip()
        if self.takes("''"):
            return ""
        if self.takes("-"):
            return None
        found = BARE_ID.match(self.line, self.place)
        if not found:
            self.fail("expected a call id: letters, digits, '_' and '.', or '' for an empty one, - for a missing one")
        self.place = found.end()
        return found[0]

    def name(self) -> str:
        self.expect("[")
        self.skip()
        found = BARE_ID.match(self.line, self.place) or self.fail("expected a name: letters, digits, '_' and '.'")
        self.place = found.end()
        self.expect("]")
        return found[0]

    def reply(self) -> Reply:
        if self.takes("fails"):
            return Reply(failure="failed")
        if self.takes("cancelled"):
            return Reply(failure="cancelled")
        if self.takes("blank"):
            return Reply(blank="")
        length = self.number(0)
        fill = "x"
        if self.takes("of"):
            self.skip()
            fill = self.line[self.place : self.place + 1]
            if not fill or fill in ",]":
                self.fail("expected the character that fills the text")
            self.place += 1
        return Reply(length=length, fill=fill)


def format_id(call_id: str | None) -> str:
    """Write the id of a call."""
    return "-" if call_id is None else call_id or "''"


def format_reply(reply: Reply) -> str:
    """Write what the compressor answers."""
    if reply.failure:
        return "cancelled" if reply.failure == "cancelled" else "fails"
    if reply.blank is not None:
        return "blank"
    return str(reply.length) + (f" of {reply.fill}" if reply.fill != "x" else "")

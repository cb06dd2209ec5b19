"""The ledger of a thread: for each message its running size and the calls that it answers.

It is extended as the thread grows, so that deciding a request costs what is sent and what is new.
Ledgers are values; those that grew out of one another share one book. Where a history does not go
on as the book does, as after a fork, a new book is written. A book is written by one thread of
execution at a time.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from attrs import Factory, define, frozen

from tercet.counters import count_tokens
from tercet.dialects import Dialect
from tercet.errors import HistoryRefused, shown

M = TypeVar("M")
Call = tuple[int, int]
"""A call: the position of its message, its place among the calls there."""


def part(messages: Sequence[M], start: int, stop: int) -> Sequence[M]:
    """Take the messages from ``start`` to ``stop``; where that is all of them, without copying."""
    return messages if start == 0 and stop == len(messages) else messages[start:stop]


def are_same(messages: Sequence[M], known: Sequence[M]) -> bool:
    """Tell whether these are the known messages; comparing an object with itself costs least."""
    try:
        return (messages if isinstance(messages, list) else list(messages)) == known
    except Exception:
        return False


@define
class Book(Generic[M]):
    """What is written down of each message, by position. Only ``Ledger.extended`` writes."""

    messages: list[M] = Factory(list)
    positions: dict[str, int] = Factory(dict)
    sizes: list[int] = Factory(lambda: [0])
    answered: list[tuple[Call, ...]] = Factory(list)
    results: dict[Call, list[int]] = Factory(dict)
    places: list[int] = Factory(list)
    unanswered: dict[str | None, list[Call]] = Factory(dict)
    latest: dict[str | None, Call] = Factory(dict)
    opening: int = 0


@frozen(eq=False)
class Ledger(Generic[M]):
    """The first ``length`` messages of a thread, as written down in a book.

    ``opening`` of them are the system messages that open it. ``counter`` is the tokenCounter that
    sizes are counted with, ``None`` where only messages count.
    """

    dialect: Dialect[M]
    counter: Callable[[M], int] | None = None
    length: int = 0
    opening: int = 0
    book: Book[M] = Factory(Book)

    def extended(self, history: Sequence[M], anchor: int = 0) -> "Ledger[M]":
        """Write down what is new in a history; all of it, where it does not go on from this ledger.

        It goes on from this one if the messages from position ``anchor`` on are the same.
        Raises HistoryRefused and CounterRefused.
        """
        written = self.book.messages
        known = min(len(history), len(written))
        if known < self.length or not are_same(part(history, anchor, known), part(written, anchor, known)):
            return Ledger(self.dialect, self.counter).written(history)
        return self if self.length == len(history) else self.written(history)

    def written(self, history: Sequence[M]) -> "Ledger[M]":
        """Write into the book what a history goes on with after it."""
        try:
            for position in range(len(self.book.messages), len(history)):
                self.write(position, history[position])
        except BaseException:
            self.book.messages.clear()  # half a message may be written: no ledger goes on from this book
            raise
        return Ledger(self.dialect, self.counter, len(history), min(self.book.opening, len(history)), self.book)

    def write(self, position: int, message: M) -> None:
        """Write down one message at the end of the book."""
        book = self.book
        stored_id, opens, calls, answers = self.read(position, message)
        if stored_id in book.positions:
            first = book.positions[stored_id] + 1
            raise HistoryRefused(
                f"messages {first} and {position + 1} are both stored under the id {stored_id!r}; "
                "an id must be unique in a history"
            )
        book.positions[stored_id] = position
        book.sizes.append(book.sizes[-1] + count_tokens(self.counter, message))
        book.answered.append(tuple(self.answered(answers, position)) if answers else ())
        for place, call_id in enumerate(calls):
            book.latest[call_id] = call = (position, place)
            book.unanswered.setdefault(call_id, []).append(call)
        book.places.append(len(calls))
        book.opening += opens
        book.messages.append(message)

    def read(self, position: int, message: M) -> tuple[str, bool, Sequence[str | None], Sequence[str | None]]:
        """Read a message: its stored id, whether it is one of those that open, its calls' ids, the ids it answers."""
        dialect = self.dialect
        try:
            opens = self.book.opening == position and dialect.role(message) == "system"
            return self.stored_id(position, message), opens, dialect.calls(message), dialect.answers(message)
        except Exception as error:
            raise HistoryRefused(
                f"message {position + 1} cannot be read in its dialect: "
                f"{type(error).__name__}: {error}, in {shown(message)}"
            ) from error

    def stored_id(self, position: int, message: M) -> str:
        """The id that a message is stored under: its own or, where its form has none, its place from 1."""
        own = self.dialect.id(message)
        return str(position + 1) if own is None else own

    def answered(self, answers: Sequence[str | None], position: int) -> Iterator[Call]:
        """Pair results: each with the nearest unanswered call of its id, else the nearest; none for an orphan."""
        book = self.book
        for answered_id in answers:
            if answered_id in book.latest:
                call = (book.unanswered[answered_id] or [book.latest[answered_id]]).pop()
                book.results.setdefault(call, []).append(position)
                yield call

    def position(self, stored_id: str) -> int | None:
        """Find a message by its stored id."""
        position = self.book.positions.get(stored_id)
        return position if position is not None and position < self.length else None

    def tokens(self, start: int) -> int:
        """The tokens of all messages from a position on."""
        return self.book.sizes[self.length] - self.book.sizes[start]

    def called_back(self, start: int, until: int) -> list[int]:
        """Find the positions before ``start`` that results between ``start`` and ``until`` call back, in order."""
        answered, results, places = self.book.answered, self.book.results, self.book.places
        late = answered[start:until]
        messages = [position for calls in late if calls for position, _ in calls if position < start]
        back: set[int] = set()
        while messages:
            position = messages.pop()
            if position in back:
                continue
            back.add(position)
            for place in range(places[position]):
                of_call = results.get((position, place), ())
                if covered := bisect_left(of_call, start):
                    result = of_call[covered - 1]
                    back.add(result)
                    messages += [other for other, _ in answered[result]]
        return sorted(back)

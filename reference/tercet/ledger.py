"""The ledger of a thread: for each message its running size and the calls that it answers.

It is extended as the thread grows, so that deciding a request costs what is sent and what is new.
Ledgers are values; those that grew out of one another share one book. Extending one that is not
the longest of its book, as after a fork, writes a new book.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from attrs import Factory, define, frozen

from tercet.counters import count_tokens
from tercet.dialects import Dialect
from tercet.errors import HistoryRefused

M = TypeVar("M")
Call = tuple[int, int]
"""A call: the position of its message, its place among the calls there."""


def are_same(messages: Sequence[M], known: list[M]) -> bool:
    """Tell whether these are the messages that are known; an object equals itself at no cost."""
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

    ``counter`` is the tokenCounter that sizes are counted with, ``None`` where only messages count.
    """

    dialect: Dialect[M]
    counter: Callable[[M], int] | None = None
    length: int = 0
    book: Book[M] = Factory(Book)

    def extended(self, history: Sequence[M], anchor: int = 0) -> "Ledger[M]":
        """Write down what is new in a history; from the beginning, if it does not go on from this one.

        It goes on from this one if the messages from position ``anchor`` on are the same.
        Raises HistoryRefused and CounterRefused.
        """
        if not self.length <= len(history) or not are_same(history[anchor : self.length], self.book.messages[anchor : self.length]):
            return Ledger(self.dialect, self.counter).written(history)
        if self.length == len(history):
            return self
        if self.length < len(self.book.messages):
            return Ledger(self.dialect, self.counter).written(history)
        return self.written(history)

    def written(self, history: Sequence[M]) -> "Ledger[M]":
        """Write the messages from this ledger's end on into its book."""
        for position in range(self.length, len(history)):
            self.write(position, history[position])
        return Ledger(self.dialect, self.counter, len(history), self.book)

    def write(self, position: int, message: M) -> None:
        """Write down one message at the end of the book."""
        dialect, book = self.dialect, self.book
        stored_id = self.stored_id(position, message)
        if stored_id in book.positions:
            first = book.positions[stored_id] + 1
            raise HistoryRefused(f"messages {first} and {position + 1} are both stored under the id {stored_id!r}")
        tokens = count_tokens(self.counter, message)
        answered = tuple(call for answered_id in dialect.answers(message) for call in self.answer(answered_id, position))
        calls = dialect.calls(message)
        for place, call_id in enumerate(calls):
            book.unanswered.setdefault(call_id, []).append((position, place))
            book.latest[call_id] = (position, place)
        if book.opening == position and dialect.role(message) == "system":
            book.opening += 1
        book.positions[stored_id] = position
        book.sizes.append(book.sizes[-1] + tokens)
        book.answered.append(answered)
        book.places.append(len(calls))
        book.messages.append(message)

    def stored_id(self, position: int, message: M) -> str:
        """The id that a message is stored under: its own or, where its form has none, its place from 1."""
        own = self.dialect.id(message)
        return str(position + 1) if own is None else own

    def answer(self, answered_id: str | None, position: int) -> Iterable[Call]:
        """Pair a result: with the nearest unanswered call of its id, else with the nearest call of its id."""
        book = self.book
        if unanswered := book.unanswered.get(answered_id):
            call = unanswered.pop()
        elif answered_id in book.latest:
            call = book.latest[answered_id]
        else:
            return
        book.results.setdefault(call, []).append(position)
        yield call

    def position(self, stored_id: str) -> int | None:
        """Find a message by its stored id."""
        position = self.book.positions.get(stored_id)
        return position if position is not None and position < self.length else None

    def tokens(self, start: int) -> int:
        """The tokens of all messages from a position on."""
        return self.book.sizes[self.length] - self.book.sizes[start]

    @property
    def opening(self) -> int:
        """How many system messages open the history."""
        return min(self.book.opening, self.length)

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

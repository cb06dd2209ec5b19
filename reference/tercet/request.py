"""What a model is to be sent: a request that middleware may rewrite, put together only when it is sent."""

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

from attrs import field, frozen

from tercet.dialects import Dialect
from tercet.errors import HistoryRefused
from tercet.ledger import Ledger
from tercet.plan import Unstored
from tercet.thread import History
from tercet_spec.vocabulary import PendingCall

M = TypeVar("M")


@frozen(eq=False)
class Summarized(Sequence[M]):
    """A history under a summary: ``first`` stands in place of the messages before position ``start``.

    ``first`` holds the ``opening`` system messages, the summary message and what is called back.
    """

    history: History[M] = field(repr=False)
    opening: int
    first: tuple[M, ...]
    start: int

    def __len__(self) -> int:
        return len(self.first) + len(self.history) - self.start

    def __iter__(self) -> Iterator[M]:
        yield from self.first
        yield from self.history[self.start :]

    @overload
    def __getitem__(self, index: int) -> M: ...
    @overload
    def __getitem__(self, index: slice) -> list[M]: ...
    def __getitem__(self, index: int | slice) -> M | list[M]:
        if isinstance(index, slice):
            return list(self)[index]
        position = range(len(self))[index]
        after = position - len(self.first)
        return self.first[position] if after < 0 else self.history[self.start + after]

    def index_of_place(self, place: int) -> int:
        """Find where the message of a place in the history stands; a covered one's is after the summary's."""
        if place < self.opening:
            return place
        return len(self.first) + max(place - self.start, 0)


@frozen
class ModelRequest(Generic[M]):
    """A request: ``system`` prompt, ``messages``, ``notes`` that nobody stores, names of the ``tools`` offered.

    ``messages`` is the thread's history itself until somebody rewrites it. ``pending`` are calls
    that the host still waits for. ``ledger`` goes with a request that summarization measured.
    """

    system: M | None
    messages: Sequence[M] = field(repr=False)
    notes: tuple[Unstored[M], ...] = ()
    tools: tuple[str, ...] = ()
    pending: tuple[PendingCall, ...] = ()
    ledger: Ledger[M] | None = field(default=None, eq=False, repr=False)

    def sent(self, dialect: Dialect[M]) -> tuple[M, ...]:
        """Put the request together as it is sent: system prompt, messages, notes in their places.

        Costs what is sent. Raises HistoryRefused for a note that follows no message; keeps ``send.unstored``.
        """
        system = () if self.system is None else (self.system,)
        if not self.notes:
            return (*system, *self.messages)
        return (*system, *self.with_notes(dialect))

    def with_notes(self, dialect: Dialect[M]) -> Iterator[M]:
        """Go through messages and notes."""
        placed: dict[int, list[M]] = {}
        for note in self.notes:
            placed.setdefault(self.index_of(note, dialect), []).append(note.message)
        for index, message in enumerate(self.messages):
            yield from placed.get(index, ())
            yield message
        yield from placed.get(len(self.messages), ())

    def index_of(self, note: Unstored[M], dialect: Dialect[M]) -> int:
        """Find the index of the message before which a note stands."""
        if isinstance(self.messages, Summarized):
            return self.messages.index_of_place(place_after(note, self.messages.history, dialect))
        return place_after(note, self.messages, dialect)


def place_after(note: Unstored[M], messages: Sequence[M], dialect: Dialect[M]) -> int:
    """Find the place straight after the message that a note follows; raises HistoryRefused."""
    if note.after is None:
        return 0
    for place in range(len(messages), 0, -1):
        own = dialect.id(messages[place - 1])
        if (str(place) if own is None else own) == note.after:
            return place
    raise HistoryRefused(f"no message is stored under the id {note.after!r}, which a note names")

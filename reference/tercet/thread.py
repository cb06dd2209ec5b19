"""A thread as a value: history, state by key, usage. A step on it is a transaction.

``decide`` says what a step needs; ``commit`` and ``fail`` end it. Each returns a new thread and
leaves the old one as it was.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar, overload

from attrs import Factory, evolve, field, frozen

from tercet.configuration import Summarization
from tercet.ledger import Ledger, are_same
from tercet.plan import Ask, Send, Unstored, decide
from tercet_spec.vocabulary import PendingCall, Summary

M = TypeVar("M")
SUMMARY_KEY = "summarization"
"""The key of a thread's state that summarization owns."""


@frozen
class Usage:
    """How many model calls were made for a thread, and the tokens that they reported."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.calls + other.calls, self.tokens + other.tokens)


@frozen(eq=False)
class History(Sequence[M]):
    """A sequence that grows by sharing: ``extended`` costs what is new, and leaves this one as it was."""

    shared: list[M] = field(factory=list, repr=False)
    length: int = Factory(lambda self: len(self.shared), takes_self=True)

    def extended(self, messages: Iterable[M]) -> "History[M]":
        """Return a history that goes on with more messages."""
        shared = self.shared if len(self.shared) == self.length else self.shared[: self.length]
        shared.extend(messages)
        return History(shared, len(shared))

    def __iter__(self) -> Iterator[M]:
        return iter(self.shared[: self.length])

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> M: ...
    @overload
    def __getitem__(self, index: slice) -> list[M]: ...
    def __getitem__(self, index: int | slice) -> M | list[M]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.length)
            return self.shared[start:stop:step] if step > 0 else self.shared[: self.length][index]
        return self.shared[range(self.length)[index]]


@frozen(eq=False)
class Thread(Generic[M]):
    """A conversation that is kept across turns."""

    summarization: Summarization[M]
    history: History[M] = field(factory=History)
    state: Mapping[str, Any] = field(factory=lambda: MappingProxyType({}))
    usage: Usage = Usage()
    ledger: Ledger[M] | None = field(default=None, repr=False)

    @property
    def summary(self) -> Summary | None:
        """The stored summary."""
        stored: Summary | None = self.state.get(SUMMARY_KEY)
        return stored

    def append(self, *messages: M) -> "Thread[M]":
        """Store messages at the end of the history."""
        return evolve(self, history=self.history.extended(messages))

    def decide(
        self, system: M | None = None, notes: Iterable[Unstored[M]] = (), pending: Iterable[PendingCall] = ()
    ) -> Send[M] | Ask[M]:
        """Decide the request of a step; a step that tries again decides again, or sends the same request."""
        return decide(self.summarization, self.history, self.summary, system, self.ledger, notes=notes, pending=pending)

    def commit(self, send: Send[M], answer: M, usage: Usage = Usage()) -> "Thread[M]":
        """End a step well: its answer, its new summary and its usage are kept together.

        ``send`` is what made the request that was answered; keeps ``key.of-the-response``. Raises
        TypeError for anything else, such as an Ask that was not answered.
        """
        if not isinstance(send, Send):
            raise TypeError(f"commit takes a Send, not {send!r:.80}; an Ask becomes one by its answer(text)")
        state = self.state if send.summary is None else MappingProxyType({**self.state, SUMMARY_KEY: send.summary})
        return evolve(
            self,
            history=self.history.extended([answer]),
            state=state,
            usage=self.usage + usage,
            ledger=send.ledger,
        )

    def fail(self, usage: Usage) -> "Thread[M]":
        """End a step badly: of it only the usage is kept."""
        return evolve(self, usage=self.usage + usage)

    def back_to(self, earlier: "Thread[M]") -> "Thread[M]":
        """Go back to what the thread was, after a blocked turn or to a checkpoint; usage and configuration stay.

        Keeps ``key.block`` and ``key.restore``.
        """
        return evolve(earlier, summarization=self.summarization, usage=self.usage)

    def edited(self, messages: Iterable[M]) -> "Thread[M]":
        """Take what another party made of the history; the key is cleared where what it covers is not the same.

        Keeps ``key.restore``.
        """
        history = History(list(messages))
        stands = self.summary is not None and self.is_covered_in(history, self.summary)
        state = {key: value for key, value in self.state.items() if stands or key != SUMMARY_KEY}
        return evolve(self, history=history, state=MappingProxyType(state), ledger=None)

    def is_covered_in(self, history: Sequence[M], summary: Summary) -> bool:
        """Tell whether another history begins with the same messages, up to the last that a summary covers."""
        anchor = Ledger(self.summarization.dialect).extended(self.history).position(summary.through)
        return anchor is None or are_same(history[: anchor + 1], self.history[: anchor + 1])

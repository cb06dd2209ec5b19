"""A thread as a value: history, state by key, usage. A step on it is a transaction.

``decide`` says what a step needs; ``commit`` and ``fail`` end it. Each returns a new thread and
leaves the old one as it was.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar, overload

from attrs import Factory, evolve, field, frozen

from tercet.configuration import Summarization
from tercet.ledger import Ledger
from tercet.plan import Ask, Send, decide
from tercet_spec.vocabulary import Summary

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

    def decide(self, system: M | None = None) -> Send[M] | Ask[M]:
        """Decide the request of a step."""
        return decide(self.summarization, self.history, self.summary, system, self.ledger)

    def commit(self, send: Send[M], answer: M, usage: Usage = Usage()) -> "Thread[M]":
        """End a step well: its answer, its new summary and its usage are kept together."""
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

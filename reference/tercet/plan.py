"""The plan for one request: send this, or ask the compressor first."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from attrs import field, frozen

from tercet.bound import bounded, is_blank
from tercet.configuration import Summarization
from tercet.cut import latest_cut
from tercet.errors import HistoryRefused, SummaryRefused
from tercet.ledger import Ledger, part
from tercet.trigger import is_past, size
from tercet_spec.vocabulary import PendingCall, Summary

M = TypeVar("M")


@frozen
class Unstored(Generic[M]):
    """A message for one request that is not stored: it follows the one stored under ``after``, or is first."""

    message: M
    after: str | None


@frozen
class Send(Generic[M]):
    """Send this request; if its response is committed, commit ``summary`` with it.

    ``summary`` is ``None`` where no new one was written: the stored one stays as it is. ``ledger``
    is for the next decision on the same thread.
    """

    request: tuple[M, ...]
    summary: Summary | None = None
    ledger: Ledger[M] | None = field(default=None, eq=False, repr=False)


@frozen
class Ask(Generic[M]):
    """Ask the compressor: give it ``messages`` and the summary so far, and hand its text to ``answer``.

    Until then the history may grow, but what it held must stay as it was.
    """

    messages: tuple[M, ...]
    so_far: str | None
    tail: "Tail[M]" = field(repr=False)
    cut: int = field(repr=False)

    def answer(self, text: str) -> Send[M]:
        """Turn the compressor's text into the request to send and the summary to commit.

        Raises SummaryRefused where it is no text, or blank within the bound; keeps ``compress.failure``.
        """
        tail, summary = self.tail.summarized(text, self.cut)
        return tail.send(summary)

    @property
    def as_measured(self) -> Send[M]:
        """The request without a new summary, for a host that sends it where its compressor fails.

        Otherwise the step fails and nothing changes.
        """
        return self.tail.send()


@frozen
class Tail(Generic[M]):
    """A thread's messages from ``start`` on, with what is sent in place of those before.

    ``text`` is the summary's, as bounded, where one applies; ``back`` the positions of the covered
    messages that late results call back; ``notes`` the unstored messages, each with the position of
    the message before which it stands.
    """

    summarization: Summarization[M]
    ledger: Ledger[M] = field(eq=False, repr=False)
    history: Sequence[M] = field(repr=False)
    system: tuple[M, ...]
    start: int
    text: str | None
    notes: tuple[tuple[int, M], ...] = ()
    summary: tuple[M, ...] = field(init=False)
    back: Sequence[int] = field(init=False)

    @summary.default
    def summary_message(self) -> tuple[M, ...]:
        """Make the summary message, where a summary applies."""
        if self.text is None:
            return ()
        return (self.summarization.dialect.user(self.summarization.before + self.text + self.summarization.after),)

    @back.default
    def called_back(self) -> Sequence[int]:
        """Find what the tail calls back, where a summary applies."""
        return () if self.text is None else self.ledger.called_back(self.start, self.ledger.length)

    def size(self) -> int:
        """Measure the request."""
        return size(
            self.ledger, self.start, self.back, (*self.system, *self.summary, *(note for _, note in self.notes))
        )

    def send(self, written: Summary | None = None) -> Send[M]:
        """Put the request together; keeps the rules ``send.*``."""
        history, ledger = self.history, self.ledger
        back = [history[position] for position in self.back]
        if self.notes:
            return Send(tuple(self.with_notes(back)), written, ledger)
        first = (*self.system, *history[: ledger.opening], *self.summary, *back)
        rest = part(history, self.start, ledger.length)
        return Send((*first, *rest) if first else tuple(rest), written, ledger)

    def with_notes(self, back: Sequence[M]) -> Iterator[M]:
        """Put the request together with its unstored messages; keeps ``send.unstored``.

        One with a covered neighbour stands straight after the summary and what is called back.
        """
        first, end = self.ledger.opening, self.ledger.length
        covered = range(first, self.start + 1 if first < self.start else first)
        displaced = [message for place, message in self.notes if place in covered]
        kept = [(place, message) for place, message in self.notes if place not in covered]

        def between(start: int, stop: int) -> Iterator[M]:
            for position in range(start, stop):
                yield from (message for place, message in kept if place == position)
                yield self.history[position]

        yield from self.system
        yield from between(0, first)
        yield from self.summary
        yield from back
        yield from displaced
        yield from between(self.start, end)
        yield from (message for place, message in kept if place == end)

    def ask(self, cut: int) -> Ask[M]:
        """Ask for a summary of what stands before a cut, and of what that calls back; keeps ``compress.span``."""
        back = self.ledger.called_back(self.start, cut) if self.back else []
        span = part(self.history, self.start, cut)
        return Ask((*map(self.history.__getitem__, back), *span) if back else tuple(span), self.text, self, cut)

    def summarized(self, text: str, cut: int) -> tuple["Tail[M]", Summary]:
        """Cover the tail up to a cut with a new text: what is left of it, and the summary to commit.

        Raises SummaryRefused where the text is none, or blank within the bound; keeps ``compress.failure``.
        """
        if not isinstance(text, str):
            raise SummaryRefused(f"the compressor's text is {text!r:.80}; it must be a str")
        kept = bounded(text, self.summarization.max_summary_tokens, self.summarization.character)
        if is_blank(kept):
            raise SummaryRefused(f"the compressor's text is blank within the bound: {text[:80]!r}")
        through = self.ledger.stored_id(cut - 1, self.history[cut - 1])
        rest = Tail(self.summarization, self.ledger, self.history, self.system, cut, kept, self.notes)
        return rest, Summary(kept, through)


def decide(
    summarization: Summarization[M],
    history: Sequence[M],
    summary: Summary | None = None,
    system: M | None = None,
    ledger: Ledger[M] | None = None,
    *,
    notes: Iterable[Unstored[M]] = (),
    pending: Iterable[PendingCall] = (),
) -> Send[M] | Ask[M]:
    """Decide one request.

    ``summary`` is the stored one, ``system`` the system prompt, ``notes`` are unstored messages for
    this request, ``pending`` the calls whose last result is still to come. ``ledger`` is the one that an
    earlier decision on the same thread returned; without it, or where the messages after the
    summary are not the same, it is built anew. What the summary covers is not compared: hand in no
    ledger after an edit there. Raises HistoryRefused and CounterRefused.
    """
    tail, cut = measured(summarization, history, summary, system, ledger, notes, pending)
    return tail.send() if cut is None else tail.ask(cut)


def measured(
    summarization: Summarization[M],
    history: Sequence[M],
    summary: Summary | None,
    system: M | None,
    ledger: Ledger[M] | None,
    notes: Iterable[Unstored[M]],
    pending: Iterable[PendingCall],
) -> tuple[Tail[M], int | None]:
    """Measure one request: the tail as it would be sent, and the cut to ask the compressor at, if any."""
    known = carried_on(summarization, ledger)
    anchor = None if summary is None else known.position(summary.through)
    known = known.extended(history, anchor or 0)
    placed = tuple((0 if note.after is None else position(known, note.after) + 1, note.message) for note in notes)
    tail = applied(summarization, known, history, summary, system, placed)
    waiting = [position(known, call.message) for call in pending]
    if not is_past(summarization, tail.size()):
        return tail, None
    return tail, latest_cut(known, history, tail.start, summarization.keep_recent, waiting)


def carried_on(summarization: Summarization[M], ledger: Ledger[M] | None) -> Ledger[M]:
    """Choose the ledger to go on with: the one handed in, if it reads and counts as is configured."""
    ways = (summarization.dialect, summarization.counter)
    return ledger if ledger is not None and (ledger.dialect, ledger.counter) == ways else Ledger(*ways)


def position(ledger: Ledger[M], stored_id: str) -> int:
    """Find a message that an unstored one follows, or whose call is pending; raises HistoryRefused."""
    found = ledger.position(stored_id)
    if found is None:
        raise HistoryRefused(f"no message is stored under the id {stored_id!r}, which a note or a pending call names")
    return found


def applied(
    summarization: Summarization[M],
    ledger: Ledger[M],
    history: Sequence[M],
    summary: Summary | None,
    system: M | None,
    notes: tuple[tuple[int, M], ...],
) -> Tail[M]:
    """Apply the stored summary to a thread, where it applies; keeps ``send.applies``."""
    start, text = ledger.opening, None
    if summary is not None:
        bounded_text = bounded(summary.text, summarization.max_summary_tokens, summarization.character)
        anchor = ledger.position(summary.through)
        if anchor is not None and ledger.opening <= anchor < ledger.length - 1 and not is_blank(bounded_text):
            start, text = anchor + 1, bounded_text
    return Tail(summarization, ledger, history, () if system is None else (system,), start, text, notes)

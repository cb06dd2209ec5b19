"""The plan for one request: send this, or ask the compressor first."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from attrs import field, frozen

from tercet.bound import bounded, is_blank
from tercet.configuration import Summarization
from tercet.cut import latest_cut
from tercet.errors import SummaryRefused
from tercet.ledger import Ledger
from tercet.trigger import is_past, size
from tercet_spec.vocabulary import Summary

M = TypeVar("M")


@frozen
class Send(Generic[M]):
    """Send this request; if its response is committed, commit ``summary`` with it.

    ``summary`` is ``None`` where no new one was written: the stored one stays as it is.
    """

    request: tuple[M, ...]
    summary: Summary | None = None
    ledger: "Ledger[M] | None" = field(default=None, eq=False, repr=False)


@frozen
class Ask(Generic[M]):
    """Ask the compressor: give it ``messages`` and the summary so far, and hand its text to ``answer``.

    ``as_measured`` is the request without a new summary, for a host that sends it where its
    compressor fails; otherwise the step fails and nothing changes.
    """

    messages: tuple[M, ...]
    so_far: str | None
    as_measured: Send[M]
    thread: "Tail[M]" = field(repr=False)
    cut: int = field(repr=False)

    def answer(self, text: str) -> Send[M]:
        """Turn the compressor's text into the request to send and the summary to commit.

        Raises SummaryRefused where the bounded text is blank; keeps ``compress.failure``.
        """
        return self.thread.summarized(text, self.cut)


@frozen
class Tail(Generic[M]):
    """A thread's tail: the messages after the ``start`` that a summary's ``text`` reaches to, if one applies."""

    summarization: Summarization[M]
    ledger: Ledger[M]
    history: Sequence[M]
    system: M | None
    text: str | None
    start: int

    def messages(self, positions: Sequence[int]) -> list[M]:
        """Look up messages by position."""
        return [self.history[position] for position in positions]

    def extra(self) -> list[M]:
        """The messages of the request that are not the history's."""
        return [message for message in (self.system, self.summary_message()) if message is not None]

    def summary_message(self) -> M | None:
        """Make the summary message, where a summary applies."""
        if self.text is None:
            return None
        return self.summarization.dialect.user(self.summarization.before + self.text + self.summarization.after)

    def back(self) -> list[int]:
        """The positions of the covered messages that late results of the tail call back."""
        return self.ledger.called_back(self.start, self.ledger.length) if self.text is not None else []

    def request(self, back: Sequence[int]) -> tuple[M, ...]:
        """Put the request together; keeps the rules ``send.*``."""
        summary = self.summary_message()
        return (
            *(() if self.system is None else (self.system,)),
            *self.history[: self.ledger.opening],
            *(() if summary is None else (summary,)),
            *self.messages(back),
            *self.history[self.start : self.ledger.length],
        )

    def summarized(self, text: str, cut: int) -> Send[M]:
        """Cover the tail up to a cut with a new text."""
        kept = bounded(text, self.summarization.max_summary_tokens, self.summarization.character)
        if is_blank(kept):
            raise SummaryRefused(f"the compressor's text is blank within the bound: {text[:80]!r}")
        through = self.ledger.stored_id(cut - 1, self.history[cut - 1])
        rest = Tail(self.summarization, self.ledger, self.history, self.system, kept, cut)
        return Send(rest.request(rest.back()), Summary(kept, through), self.ledger)


def decide(
    summarization: Summarization[M],
    history: Sequence[M],
    summary: Summary | None = None,
    system: M | None = None,
    ledger: Ledger[M] | None = None,
) -> Send[M] | Ask[M]:
    """Decide one request.

    ``summary`` is the stored one, ``system`` the system prompt. ``ledger`` is the one that an
    earlier decision on the same thread returned; without it, or where the messages after the
    summary are not the same, it is built anew. Raises HistoryRefused and CounterRefused.
    """
    counter = summarization.counter
    known = ledger if ledger is not None and ledger.counter == counter else Ledger(summarization.dialect, counter)
    anchor = known.position(summary.through) if summary is not None else None
    ledger = known.extended(history, anchor or 0)
    tail = applied(summarization, ledger, history, summary, system)
    back = tail.back()
    send = Send(tail.request(back), None, ledger)
    if not is_past(summarization, size(summarization, ledger, tail.start, back, tail.extra())):
        return send
    cut = latest_cut(ledger, history, tail.start, summarization.keep_recent)
    if cut is None:
        return send
    given = ledger.called_back(tail.start, cut) if back else []
    span = (*tail.messages(given), *history[tail.start : cut])
    return Ask(span, tail.text, send, tail, cut)


def applied(
    summarization: Summarization[M],
    ledger: Ledger[M],
    history: Sequence[M],
    summary: Summary | None,
    system: M | None,
) -> Tail[M]:
    """Apply the stored summary to a thread, where it applies; keeps ``send.applies``."""
    if summary is not None:
        text = bounded(summary.text, summarization.max_summary_tokens, summarization.character)
        anchor = ledger.position(summary.through)
        if anchor is not None and ledger.opening <= anchor < ledger.length - 1 and not is_blank(text):
            return Tail(summarization, ledger, history, system, text, anchor + 1)
    return Tail(summarization, ledger, history, system, None, ledger.opening)

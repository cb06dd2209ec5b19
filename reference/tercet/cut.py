"""The cut: where the tail is divided into what is covered and what is sent."""

from collections.abc import Sequence
from typing import TypeVar

from tercet.ledger import Ledger

M = TypeVar("M")


def latest_cut(
    ledger: Ledger[M], history: Sequence[M], start: int, keep_recent: int, pending: Sequence[int] = ()
) -> int | None:
    """Find the latest usable cut of the tail that begins at ``start``: the position of the first message kept.

    ``pending`` are the positions of the messages of pending calls. ``None`` where there is no usable
    cut. Keeps ``cut.keeps-recent``, ``cut.pairs``, ``cut.pending`` and ``cut.reaches``: from the end
    back, each result that is kept pulls the cut before its call.
    """
    answered = ledger.book.answered
    position = ledger.length
    cut = min([position - keep_recent, *(waiting for waiting in pending if waiting >= start)])
    while cut > start:
        while position > cut:
            position -= 1
            for call, _ in answered[position]:
                if start <= call < cut:
                    cut = call
        if cut > start and ledger.dialect.may_cut_before(history[cut]):
            return cut
        cut -= 1
    return None

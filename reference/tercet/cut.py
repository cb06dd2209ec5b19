"""The cut: where the tail is divided into what is covered and what is sent."""

from collections.abc import Sequence
from typing import TypeVar

from tercet.ledger import Ledger

M = TypeVar("M")


def latest_cut(ledger: Ledger[M], history: Sequence[M], start: int, keep_recent: int) -> int | None:
    """Find the latest usable cut of the tail that begins at ``start``: the position of the first message kept.

    ``None`` where there is none. Keeps ``cut.keeps-recent``, ``cut.pairs`` and ``cut.reaches``:
    from the end back, each result that is kept pulls the cut before its call.
    """
    answered = ledger.book.answered
    position = ledger.length
    cut = position - keep_recent
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

"""The trigger: whether a request, as it would be sent, has grown past the limit."""

from collections.abc import Sequence
from typing import TypeVar

from tercet.configuration import Summarization
from tercet.counters import count_tokens
from tercet.ledger import Ledger

M = TypeVar("M")


def size(ledger: Ledger[M], start: int, back: Sequence[int], extra: Sequence[M]) -> int:
    """Measure a request in the trigger's unit; keeps ``trigger.as-sent``, ``.tokens`` and ``.messages``.

    It holds the opening, the messages from ``start`` on, those called ``back``, and the ``extra``
    ones: system prompt and summary message.
    """
    if ledger.counter is None:
        return ledger.opening + ledger.length - start + len(back) + len(extra)
    sizes = ledger.book.sizes
    return (
        sizes[ledger.opening]
        + ledger.tokens(start)
        + sum(sizes[position + 1] - sizes[position] for position in back)
        + sum(count_tokens(ledger.counter, message) for message in extra)
    )


def is_past(summarization: Summarization[M], measured: int) -> bool:
    """Tell whether a size is past the limit; at the limit it is not. Keeps ``trigger.strictly-past``."""
    return measured > summarization.trigger.limit

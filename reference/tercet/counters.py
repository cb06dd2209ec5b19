"""Counters of one message's tokens, for a token trigger."""

from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import frozen

from tercet.dialects import Dialect
from tercet.errors import CounterRefused, shown
from tercet_spec.vocabulary import CHARACTERS_PER_TOKEN

M = TypeVar("M")


@frozen
class FourCharacters(Generic[M]):
    """Counts four code points a token, rounded up; counters of the same dialect are equal."""

    dialect: Dialect[M]

    def __call__(self, message: M) -> int:
        """Count the tokens of a message's texts."""
        return -(-sum(map(len, self.dialect.texts(message))) // CHARACTERS_PER_TOKEN)


def four_characters(dialect: Dialect[M]) -> Callable[[M], int]:
    """Make the counter of four code points a token, rounded up, over a message's texts."""
    return FourCharacters(dialect)


def count_tokens(counter: Callable[[M], int] | None, message: M) -> int:
    """Ask a counter, and refuse what no size can be: raises CounterRefused. Without a counter it is 0."""
    if counter is None:
        return 0
    try:
        tokens = counter(message)
    except Exception as error:
        raise CounterRefused(f"token_counter raised {type(error).__name__}: {error}, for {shown(message)}") from error
    if type(tokens) is not int or tokens < 0:
        raise CounterRefused(
            f"token_counter returned {tokens!r}; it must be a whole number from 0 up, for {shown(message)}"
        )
    return tokens

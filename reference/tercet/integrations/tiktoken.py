"""A token counter with OpenAI's own vocabularies. Needs ``tiktoken``."""

from collections.abc import Callable
from typing import Generic, TypeVar

import tiktoken
from attrs import field, frozen

from tercet.dialects import Dialect

M = TypeVar("M")


@frozen
class VocabularyMissing(Exception):
    """An encoding's vocabulary is not in tiktoken's cache and could not be downloaded into it."""

    encoding: str

    def __str__(self) -> str:
        return (
            f"the vocabulary of {self.encoding!r} is not in tiktoken's cache and could not be downloaded into it; "
            "where there is a network, set the environment variable TIKTOKEN_CACHE_DIR to an empty folder and run "
            f"tiktoken.get_encoding({self.encoding!r}) once; then set TIKTOKEN_CACHE_DIR to a copy of that folder here"
        )


@frozen
class TiktokenCounter(Generic[M]):
    """Counts the tokens of a message's texts; counters of the same dialect and encoding are equal.

    Text that looks like a special token is counted as the text that it is.
    """

    dialect: Dialect[M]
    encoding: str
    vocabulary: tiktoken.Encoding = field(eq=False, repr=False)

    def __call__(self, message: M) -> int:
        """Count the tokens of one message."""
        texts = self.dialect.texts(message)
        return sum(len(self.vocabulary.encode(text, disallowed_special=())) for text in texts)


def tiktoken_counter(dialect: Dialect[M], encoding: str = "o200k_base") -> Callable[[M], int]:
    """Make a counter of one message's tokens for a token trigger.

    What a provider adds to each message is not counted. Raises ValueError for an encoding that
    tiktoken does not know, and VocabularyMissing where the encoding's vocabulary cannot be had.
    """
    known = tiktoken.list_encoding_names()
    if encoding not in known:
        raise ValueError(f"encoding is {encoding!r}; it must be one of {', '.join(map(repr, known))}")
    try:
        vocabulary = tiktoken.get_encoding(encoding)
    except OSError as error:
        raise VocabularyMissing(encoding) from error
    return TiktokenCounter(dialect, encoding, vocabulary)

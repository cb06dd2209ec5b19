"""How summarization is configured, and what is refused."""

from collections.abc import Callable
from typing import Generic, TypeVar, get_args

from attrs import field, frozen

from tercet.counters import four_characters
from tercet.dialects import Dialect
from tercet.errors import ConfigurationRefused
from tercet_spec.vocabulary import LEAST_MAX_SUMMARY_TOKENS, Character, Trigger

M = TypeVar("M")
TRIGGERS = ("messages", "tokens")


@frozen
class Summarization(Generic[M]):
    """The configuration of summarization on messages of one dialect.

    ``keep_recent`` counts messages; ``max_summary_tokens`` counts tokens of four ``character``s
    each; a token trigger counts by ``token_counter``, four code points a token by default.
    ``before`` and ``after`` stand around the text in the summary message. ``beside`` names what
    else manages the context of the same thread: it must be empty.

    Raises ConfigurationRefused, naming every problem at once; keeps the rules ``config.*``.
    """

    dialect: Dialect[M]
    trigger: Trigger
    keep_recent: int = 20
    max_summary_tokens: int = 1000
    token_counter: Callable[[M], int] = field()
    character: Character = "code point"
    before: str = "Summary of the conversation so far:\n\n"
    after: str = ""
    beside: tuple[str, ...] = ()

    @token_counter.default
    def default_counter(self) -> Callable[[M], int]:
        return four_characters(self.dialect)

    def __attrs_post_init__(self) -> None:
        if problems := tuple(self.problems()):
            raise ConfigurationRefused(problems)

    def problems(self) -> list[str]:
        """List what is wrong: the field, its value, what is allowed."""
        least = (
            ("trigger.limit", self.trigger.limit, 1),
            ("keep_recent", self.keep_recent, 1),
            ("max_summary_tokens", self.max_summary_tokens, LEAST_MAX_SUMMARY_TOKENS),
        )
        problems = [
            f"{name} is {value!r}; it must be a whole number from {minimum} up"
            for name, value, minimum in least
            if type(value) is not int or value < minimum
        ]
        for name, chosen, allowed in (
            ("trigger.kind", self.trigger.kind, TRIGGERS),
            ("character", self.character, get_args(Character)),
        ):
            if chosen not in allowed:
                problems.append(f"{name} is {chosen!r}; it must be one of {', '.join(map(repr, allowed))}")
        if self.beside:
            problems.append(f"beside is {self.beside!r}; nothing else may manage the context of the same thread")
        return problems

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say of a limit that every added message passes; keeps ``config.thrash``."""
        limit, kind = self.trigger.limit, self.trigger.kind
        if kind == "messages" and limit <= self.keep_recent + 2:
            return (
                f"trigger.limit is {limit} messages, at most keep_recent + 2: every added message may fire; "
                f"set it above {self.keep_recent + 2}",
            )
        if kind == "tokens" and limit <= self.max_summary_tokens:
            return (
                f"trigger.limit is {limit} tokens, at most max_summary_tokens: a summary alone may fire; "
                f"set it above {self.max_summary_tokens}",
            )
        return ()

    @property
    def counter(self) -> Callable[[M], int] | None:
        """The counter of one message's tokens, or ``None`` where the trigger counts messages."""
        if self.trigger.kind == "messages":
            return None
        return self.token_counter

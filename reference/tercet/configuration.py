"""How summarization is configured, and what is refused."""

from collections.abc import Callable, Iterator, Sequence
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
        if problems := self.problems():
            raise ConfigurationRefused(tuple(problems))

    def problems(self) -> list[str]:
        """List what is wrong: the field, its value, what is allowed."""
        problems: list[str] = []
        if not isinstance(self.dialect, Dialect):
            problems.append(f"dialect is {self.dialect!r}; it must be a Dialect")
        if isinstance(self.trigger, Trigger):
            problems += not_one_of("trigger.kind", self.trigger.kind, TRIGGERS)
            problems += not_a_number("trigger.limit", self.trigger.limit, 1)
        else:
            problems.append(f"trigger is {self.trigger!r}; it must be a Trigger: its kind, its limit")
        problems += not_a_number("keep_recent", self.keep_recent, 1)
        problems += not_a_number("max_summary_tokens", self.max_summary_tokens, LEAST_MAX_SUMMARY_TOKENS)
        if not callable(self.token_counter):
            problems.append(f"token_counter is {self.token_counter!r}; it must be a function of one message")
        problems += not_one_of("character", self.character, get_args(Character))
        for name, text in (("before", self.before), ("after", self.after)):
            if not isinstance(text, str):
                problems.append(f"{name} is {text!r}; it must be a text")
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


def not_a_number(name: str, value: object, least: int) -> Iterator[str]:
    """Say what is wrong with a field that must be a whole number, if anything is."""
    if type(value) is not int or value < least:
        yield f"{name} is {value!r}; it must be a whole number from {least} up"


def not_one_of(name: str, value: object, allowed: Sequence[str]) -> Iterator[str]:
    """Say what is wrong with a field that must be one of a few words, if anything is."""
    if value not in allowed:
        yield f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}"

"""Scenarios in the making: a draft that macros add operations to.

The reference runs along, so that a macro knows how large the next request will be. It steers where
scenarios go; it has no say in how they are judged.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from attrs import evolve, frozen

from tercet import Ask, Thread
from tercet_conformance.adapters.reference import ReferenceSession, summarization
from tercet_conformance.driver import Performance
from tercet_conformance.hosts import ScriptedHost
from tercet_spec.requests import measure, opening, position_of
from tercet_spec.scenarios import (
    Answer,
    Append,
    BeginTurn,
    Checkpoint,
    Configure,
    EndTurn,
    Operation,
    PlacedNote,
    Reply,
    Restore,
    Scenario,
    Step,
    call_arguments,
    content_text,
)
from tercet_spec.vocabulary import Capability, Configuration, Description, Message, ToolCall

STEERING = Description("steering", "0", before="What was said before: ")


@frozen
class Style:
    """What one scenario's threads are like.

    A tidy thread has call ids of its own for each call and answers each call once. Otherwise ids
    are re-used in the way that ``ids`` names. A ``varied`` one has texts, names and arguments that are
    easily changed on the way, words beside calls, and a system prompt that is another from step to step.
    """

    capabilities: frozenset[Capability]
    tidy: bool = True
    ids: str = "fresh"
    system: str | None = None
    varied: bool = False


WORDS = ("", " \r\n", " e\u0301", "\ud83d", " <b>&amp;\u00a0</b>", "\x1c", "\ufeff \u2028", " and so on" * 75)
"""What the contents of a varied thread end with."""
SAME_WORDS = "Go on."
NAMES = ("tool", "files.read-all", "mcp__list")
ARGUMENTS = ("", ' "n":  1.0, "n": 10000000000000001,', ' "b": "\u00e9\\u00e9", "a": null,')
"""What the arguments of a varied thread's calls begin with: no two readers of JSON write all of it alike."""
PROMPTS = ("", "\n\nAnswer in French. \n", " The summary of earlier turns follows:")
"""What the system prompt of a varied thread ends with, from step to step."""


class Draft:
    """A scenario in the making."""

    def __init__(self, configuration: Configuration, style: Style) -> None:
        self.first = configuration
        self.configuration = configuration
        self.style = style
        self.operations: list[Operation] = []
        self.ordinal = 0
        self.calls = 0
        self.steps = 0
        self.open_calls: list[str | None] = []
        self.host = ScriptedHost()
        thread = Thread(summarization(configuration, "code point"))
        self.session = ReferenceSession(thread, self.host, "code point", 2 if self.can("attempts") else 1)
        self.performance = Performance(self.session, self.host)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the implementation that this scenario is for declares."""
        return self.style.capabilities

    def can(self, capability: Capability) -> bool:
        """Tell whether the implementation that this scenario is for declares a capability."""
        return capability in self.capabilities

    def perform(self, operation: Operation) -> None:
        """Add an operation, and let the reference run along."""
        self.operations.append(operation)
        self.performance.perform(operation)

    def append(self, *messages: Message) -> None:
        """Add messages to the history."""
        if messages:
            self.perform(Append(messages))

    def step(
        self,
        replies: Sequence[Reply] = (),
        answers: Sequence[Answer] = (),
        notes: Sequence[PlacedNote] = (),
        pending: Sequence[str | None] = (),
    ) -> None:
        """Take a model step."""
        self.perform(Step(self.system(), tuple(replies), tuple(answers), tuple(notes), tuple(pending)))
        self.steps += 1

    def system(self) -> str | None:
        """The system prompt of the next step."""
        system = self.style.system
        return system + PROMPTS[self.steps % len(PROMPTS)] if system and self.style.varied else system

    @contextmanager
    def turn(self, *, blocked: bool) -> Iterator[None]:
        """Begin a turn, and end it; calls that were made in a blocked one are gone with it."""
        self.perform(BeginTurn())
        calls = list(self.open_calls)
        yield
        self.perform(EndTurn(blocked))
        if blocked:
            self.open_calls = calls

    @contextmanager
    def fork(self, name: str) -> Iterator[None]:
        """Put the thread by, and go back to it."""
        self.perform(Checkpoint(name))
        calls = list(self.open_calls)
        yield
        self.perform(Restore(name))
        self.open_calls = calls

    @property
    def history(self) -> Sequence[Message]:
        """The history, as the reference holds it."""
        return self.session.thread.history

    def covered(self) -> range:
        """The positions of the messages that the reference's summary covers."""
        thread = self.session.thread
        anchor = None if thread.summary is None else position_of(thread.history, thread.summary.through)
        return range(0) if anchor is None else range(opening(thread.history), anchor + 1)

    def configure(self, configuration: Configuration) -> None:
        """Change the configuration."""
        self.configuration = configuration
        self.perform(Configure(configuration))

    def size(self) -> int:
        """Measure the next request, as the reference would send it."""
        system = self.system()
        plan = self.session.thread.decide(None if system is None else Message("system", system))
        request = plan.as_measured.request if isinstance(plan, Ask) else plan.request
        return measure(request, self.configuration, STEERING)

    def speak(self, role: str, length: int | None = None) -> Message:
        """Make a message without calls; it carries its marker where the compressor may be given prose."""
        self.ordinal += 1
        if length is not None and not self.can("exact-input"):
            length = max(length, len(content_text(self.ordinal)))
        content = content_text(self.ordinal, length)
        if self.style.varied and length is None:
            content += WORDS[self.ordinal % len(WORDS)]
            content = SAME_WORDS if self.can("exact-input") and self.ordinal % 5 == 0 else content
        if role == "user":
            return Message("user", content)
        return Message("system" if role == "system" else "assistant", content)

    def call(self, count: int) -> Message:
        """Make an assistant message that calls so many tools."""
        self.ordinal += 1
        ids = [self.fresh_id(place) for place in range(count)]
        self.open_calls += ids
        calls = tuple(self.tool_call(call_id, marked=place == 0) for place, call_id in enumerate(ids))
        return Message("assistant", "I look. " if self.style.varied and self.ordinal % 2 else "", calls)

    def tool_call(self, call_id: str | None, *, marked: bool) -> ToolCall:
        """Make a call; one that is marked carries its message's marker."""
        arguments = call_arguments(self.ordinal) if marked else "{}"
        if self.style.varied and marked:
            arguments = arguments.replace("{", "{" + ARGUMENTS[self.ordinal % len(ARGUMENTS)], 1)
        name = NAMES[self.ordinal % len(NAMES)] if self.style.varied else NAMES[0]
        return ToolCall(call_id, name, arguments)

    def fresh_id(self, place: int) -> str | None:
        """Make the id of a new call, by the scenario's style."""
        self.calls += 1
        match self.style.ids:
            case "by turn":
                return f"call_{place}"
            case "constant":
                return "0"
            case "empty":
                return "" if self.calls % 2 else f"c{self.calls}"
            case "missing" if self.can("missing-ids"):
                return None if self.calls % 3 else ""
            case _:
                return f"c{self.calls}"

    def result(self, call_id: str | None, length: int | None = None) -> Message:
        """Make the result of a call."""
        self.ordinal += 1
        return Message("tool", content_text(self.ordinal, length), answers=(call_id,))

    def answer_call(self, index: int, *, again: bool = False) -> Message | None:
        """Make the result of one of the open calls, counted modulo; it stays open if it is answered ``again``."""
        if not self.open_calls:
            return None
        index %= len(self.open_calls)
        call_id = self.open_calls[index]
        if not again or self.style.tidy:
            del self.open_calls[index]
        return self.result(call_id)

    def scenario(self) -> Scenario:
        """Finish: answer what a tidy thread still has to, and take a last step."""
        if self.style.tidy and self.open_calls:
            self.append(*[self.result(call_id) for call_id in self.open_calls])
            self.open_calls.clear()
            self.step()
        return Scenario(self.first, tuple(self.operations))


def changed(
    configuration: Configuration,
    *,
    limit: int | None = None,
    keep_recent: int | None = None,
    max_summary_tokens: int | None = None,
) -> Configuration:
    """Change the numbers of a configuration; ``limit`` is its trigger's."""
    return evolve(
        configuration,
        trigger=configuration.trigger if limit is None else evolve(configuration.trigger, limit=limit),
        keep_recent=configuration.keep_recent if keep_recent is None else keep_recent,
        max_summary_tokens=configuration.max_summary_tokens if max_summary_tokens is None else max_summary_tokens,
    )

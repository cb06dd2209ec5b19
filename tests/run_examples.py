"""The examples of an agent's runs: a loop of the gallery plays each, and its course is compared with the one drawn.

A course is the words of a run, in order; what stands in brackets behind a word is looked at too:
``a> model[u u"a note"] a< finished[u a, own=1, counted 1]``. ``spec/notation.md`` says how.
"""

import re
from collections.abc import Iterator, Sequence

from attrs import frozen

from tercet_conformance.driver import run
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.gallery.plain_loop import PlainLoop, PlainLoopImplementation
from tercet_spec.agent_notation import TEXT, format_text, format_update
from tercet_spec.course import Happening
from tercet_spec.moments import moments
from tercet_spec.notation import format_message, written_of
from tercet_spec.run_words import words
from tercet_spec.runs import AgentRun
from tercet_spec.scenarios import Scenario
from tercet_spec.trace import (
    InputSeen,
    ModelAsked,
    ModelWrapped,
    OutputSeen,
    RunBegun,
    RunEnded,
    SectionAsked,
    Summarized,
    ToolWrapped,
    Trace,
)
from tercet_spec.vocabulary import Entry, Message, State, Update

WORD = re.compile(rf"(?P<word>[^\s\[]+)(?:\[(?P<facts>(?:{TEXT.pattern}|[^\]\"'])*)\])?")
FACT = re.compile(rf"(?:{TEXT.pattern}|,(?! )|[^,\"'])+")
ONE = rf"[suat](?:\([^)]*\))?({TEXT.pattern})?"
MESSAGE, MESSAGES = re.compile(ONE), re.compile(rf"{ONE}(?: {ONE})*")
ENTRY = re.compile(r"(?:no (?P<missing>\w+)|(?P<key>\w+)=\S+)")
RIGHT = PlainLoopImplementation("plain-loop", PlainLoop)


class DrawnOtherwise(AssertionError):
    """A run is not as it is drawn, or cannot be drawn so."""


@frozen
class Drawn:
    """One word of a course as it is drawn, and what is said of it."""

    word: str
    facts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.word + (f"[{', '.join(self.facts)}]" if self.facts else "")


def played(scenario: Scenario, name: str, drawn: str) -> Trace:
    """Let a loop of the gallery play a scenario, the right one where none is named; its last run must be as drawn."""
    implementation = BY_NAME[name].make() if name else RIGHT
    ran = run(implementation, implementation.describe(), scenario)
    if ran.diagnosis is not None:
        raise DrawnOtherwise(f"{name or 'the right loop'} broke off: {ran.diagnosis.problem}")
    *_, last = (moment for moment in moments(ran.trace) if isinstance(moment, AgentRun))
    expected = course(drawn)
    seen = course_of(last.events, expected)
    if seen != expected:
        raise DrawnOtherwise(f"drawn: {' '.join(map(str, expected))}\n seen: {' '.join(map(str, seen))}")
    return ran.trace


def course(drawn: str) -> list[Drawn]:
    """Read a course as it is drawn."""
    found = [
        Drawn(word["word"], tuple(fact.strip() for fact in FACT.findall(word["facts"] or "")))
        for word in WORD.finditer(drawn)
    ]
    if " ".join(map(str, found)) != " ".join(drawn.split(" ")):
        raise DrawnOtherwise(f"{drawn!r} is no course; it may be {' '.join(map(str, found))!r}")
    return found


def course_of(events: Sequence[Happening], drawn: Sequence[Drawn]) -> list[Drawn]:
    """Draw a run, and of each word what another drawing says of it."""
    seen = [Drawn(word) for word in words(events)]
    if [each.word for each in seen] != [each.word for each in drawn]:
        return seen
    happened = [event for event in events if not isinstance(event, RunBegun)]
    return [
        Drawn(each.word, tuple(said(fact, event, events) for fact in each.facts))
        for each, event in zip(drawn, happened, strict=True)
    ]


def said(fact: str, event: Happening, events: Sequence[Happening]) -> str:
    """Say of an event what a fact says of another."""
    word = fact.partition(" ")[0]
    if word == "told" and isinstance(event, ModelWrapped):
        return " ".join(["told", *map(format_text, event.replies)])
    if fact in ("approved", "not approved") and isinstance(event, ToolWrapped):
        return "approved" if event.approved else "not approved"
    if word == "key" and isinstance(event, RunEnded):
        return f"key {key_in_words(event.shown)}"
    if word == "counted" and isinstance(event, RunEnded):
        return " ".join(["counted", *counts(event, events)])
    if isinstance(event, ModelAsked | ModelWrapped):
        if word == "prompt" or fact == "no prompt":
            system = event.request.system
            return "no prompt" if system is None else f"prompt {format_text(system)}"
        if word == "tools" or fact == "no tools":
            return " ".join(["tools", *event.request.tools]) if event.request.tools else "no tools"
    if fact == "no messages" or MESSAGES.fullmatch(fact):
        return " ".join(in_words(messages_of(event), list(message_texts(fact)))) or "no messages"
    return " ".join(entries_in_words(fact, entries_of(event)))


def message_texts(fact: str) -> Iterator[bool]:
    """Say of each message that is drawn whether its text is shown."""
    return (found[1] is not None for found in MESSAGE.finditer(fact))


def in_words(messages: Sequence[Message], shows: Sequence[bool]) -> Iterator[str]:
    """Write messages, the texts of some of them too."""
    for place, message in enumerate(messages):
        word = format_message(written_of(Message(message.role, "m1z", message.calls, message.answers)))
        yield word + (format_text(message.content) if place < len(shows) and shows[place] else "")


def messages_of(event: Happening) -> tuple[Message, ...]:
    """The messages that an event shows."""
    match event:
        case ModelAsked(request) | ModelWrapped(_, request):
            return request.messages
        case InputSeen(_, message) | OutputSeen(_, message):
            return (message,)
        case Summarized(given):
            return given
        case RunEnded(_, shown):
            return shown.history
    raise DrawnOtherwise(f"{type(event).__name__} shows no messages")


def entries_of(event: Happening) -> Update:
    """The state by key that an event shows."""
    if isinstance(event, InputSeen | OutputSeen | SectionAsked | ModelWrapped | ToolWrapped):
        return event.entries
    if isinstance(event, RunEnded):
        return event.shown.entries
    raise DrawnOtherwise(f"{type(event).__name__} shows no state")


def entries_in_words(fact: str, entries: Update) -> Iterator[str]:
    """Write what is under the keys that a fact speaks of."""
    values = {entry.key: entry.value for entry in entries}
    asked = [found["missing"] or found["key"] for found in ENTRY.finditer(fact)]
    if not asked:
        raise DrawnOtherwise(f"{fact!r} says nothing of a run")
    for key in asked:
        yield from format_update((Entry(key, values[key]),)) if key in values else (f"no {key}",)


def key_in_words(shown: State) -> str:
    """Say how far a thread's stored summary reaches."""
    if shown.summary is None:
        return "none"
    return str([message.id for message in shown.history].index(shown.summary.through) + 1)


def counts(end: RunEnded, events: Sequence[Happening]) -> Iterator[str]:
    """Say how often the thread's usage counts each call of a run until its end: each reported another power of four."""
    begun = events[0]
    assert isinstance(begun, RunBegun)
    used = end.shown.usage - begun.shown.usage
    for event in events[: events.index(end)]:
        if isinstance(event, ModelAsked | Summarized):
            yield str(used // event.usage % 4)

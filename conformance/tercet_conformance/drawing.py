"""Draws a moment as two lines: the thread in notation, and what it covers and where it is at fault.

::

    u a(x) | a(y) t(x) t(y) u
    ~~~~~~        ^^^^

A run of an agent's loop is drawn as its course, in short words, and where it left it::

    b> a> model a< b< finished
    ^^
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from attrs import evolve, frozen

from tercet_spec.course import Happening
from tercet_spec.judgement import Finding
from tercet_spec.moments import Change, Configured, Step
from tercet_spec.notation import format_message, written_of
from tercet_spec.pairs import Call, Pairs, Result, pair
from tercet_spec.requests import opening
from tercet_spec.run_words import words
from tercet_spec.runs import AgentRun
from tercet_spec.trace import InputSeen, ModelWrapped, OutputSeen, SectionAsked, ToolRun, ToolWrapped
from tercet_spec.vocabulary import Message

Shape = tuple[str, ...]


@frozen
class Drawing:
    """A thread before a step, in notation, or a run, in short words; and marks: ``~`` covered, ``^`` at fault."""

    line: str
    marks: str
    kind: Literal["thread", "run"] = "thread"


def kept_from(step: Step, attempt: int | None) -> int | None:
    """The position of the first message that the summary of a step does not cover, where there is a summary."""
    attempts = [step.attempts[attempt]] if attempt is not None else step.attempts
    for sent in attempts:
        if sent.summary is not None:
            known = sent.summary.made is not None and sent.summary.made.covers
            return step.covered(sent) if known else min(sent.positions, default=len(step.history))
    return step.cut


def covered_until(finding: Finding) -> int | None:
    """The position of the first message that is not covered in the moment of a finding."""
    moment = finding.moment
    if isinstance(moment, Step):
        return kept_from(moment, finding.violation.attempt)
    if isinstance(moment, Change) and moment.key is not None:
        return opening(moment.history) + len(moment.key.covered)
    return None


def draw(finding: Finding) -> Drawing | None:
    """Draw the step or the run that a finding is about; ``None`` for a configuration."""
    moment = finding.moment
    if isinstance(moment, Configured):
        return None
    if isinstance(moment, AgentRun):
        return draw_run(moment, finding.violation.event)
    cut = covered_until(finding)
    first = opening(moment.history)
    marked: list[tuple[str, str]] = []
    for position, message in enumerate(moment.history):
        if position == cut:
            marked.append(("|", " "))
        covered = cut is not None and first <= position < cut
        mark = "^" if position == finding.violation.position else "~" if covered else " "
        marked.append((format_message(written_of(message)), mark))
    if cut == len(moment.history):
        marked.append(("|", " "))
    return Drawing(*in_lines(marked))


def draw_run(run: AgentRun, fault: int | None) -> Drawing:
    """Draw a run, and mark the event at fault; the first one is its input, which has no word."""
    marked = [(word, "^" if place == fault else " ") for place, word in enumerate(words(run.events), 1)]
    return Drawing(*in_lines(marked), "run")


def in_lines(marked: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Write words on a line, and their marks on another."""
    marks = ""
    for number, (word, mark) in enumerate(marked):
        joins = number and mark == "~" == marked[number - 1][1]
        marks += ("~" if joins else " ") * bool(number) + mark * len(word)
    return " ".join(word for word, _ in marked), marks.rstrip()


def sent(finding: Finding) -> str | None:
    """Write the request that a finding is about, where its rule speaks of requests."""
    step = finding.moment
    if not isinstance(step, Step) or finding.rule.family not in ("trigger", "cut", "send"):
        return None
    if not step.attempts:
        return "nothing"
    attempt = finding.violation.attempt
    parts = step.attempts[-1 if attempt is None else attempt].parts
    return " ".join("summary" if part.kind == "summary" else format_message(written_of(part.message)) for part in parts)


def shape(finding: Finding) -> Shape:
    """The shape of a counterexample: the thread's roles, its pairs with ids renamed, and the cut."""
    moment = finding.moment
    if isinstance(moment, Configured):
        return (finding.rule.id, finding.violation.expected)
    if isinstance(moment, AgentRun):
        return (finding.rule.id, *words(tuple(unnamed(moment))))
    cut = covered_until(finding)
    pairs = pair(moment.history)
    names: dict[Call, str] = {}
    shaped: list[str] = []
    for position, message in enumerate(moment.history):
        shaped += ["|"] if position == cut else []
        shaped.append(letter(message) + pair_names(message, position, pairs, names))
    return (*shaped, moment.outcome if isinstance(moment, Step) else moment.kind)


def unnamed(run: AgentRun) -> Iterator[Happening]:
    """Give what happened in a run with middleware and calls named by their order."""
    middleware: dict[str, str] = {}
    calls: dict[str | None, str] = {}
    for event in run.events:
        if isinstance(event, InputSeen | SectionAsked | ModelWrapped | ToolWrapped | OutputSeen):
            event = evolve(event, middleware=middleware.setdefault(event.middleware, str(len(middleware))))
        if isinstance(event, ToolWrapped | ToolRun):
            call_id = calls.setdefault(event.call.id, str(len(calls)))
            event = evolve(event, call=evolve(event.call, id=call_id, name="tool"))
        yield event


def letter(message: Message) -> str:
    """The letter of a message's role in notation."""
    return message.role[0]


def pair_names(message: Message, position: int, pairs: Pairs, names: dict[Call, str]) -> str:
    """Name the calls that a message makes or answers by their order."""
    calls = [Call(position, place) for place in range(len(message.calls))]
    for call in calls:
        names[call] = str(len(names) + 1)
    answered = [pairs[Result(position, place)] for place in range(len(message.answers))]
    listed = [names[call] for call in calls] + [names[call] if call else "?" for call in answered]
    return f"({','.join(listed)})" if listed else ""

"""Draws a moment as two lines: the thread in notation, and what it covers and where it is at fault.

::

    u a(x) | a(y) t(x) t(y) u
    ~~~~~~        ^^^^
"""

from attrs import frozen

from tercet_spec.judgement import Finding
from tercet_spec.moments import Step
from tercet_spec.notation import format_message, written_of
from tercet_spec.pairs import Call, Result
from tercet_spec.vocabulary import Message

Shape = tuple[str, ...]


@frozen
class Drawing:
    """A thread before a step, in notation, and marks under it: ``~`` covered, ``^`` at fault."""

    thread: str
    marks: str


def kept_from(step: Step, attempt: int | None) -> int | None:
    """The position of the first message that the summary of a step does not cover, where there is a summary."""
    attempts = [step.attempts[attempt]] if attempt is not None else step.attempts
    for sent in attempts:
        if sent.summary is not None:
            known = sent.summary.made is not None and sent.summary.made.covers
            return step.covered(sent) if known else min(sent.positions, default=len(step.history))
    return step.cut


def draw(finding: Finding) -> Drawing | None:
    """Draw the step that a finding is about; ``None`` for a configuration."""
    step = finding.moment
    if not isinstance(step, Step):
        return None
    cut = kept_from(step, finding.violation.attempt)
    words: list[tuple[str, str]] = []
    for position, message in enumerate(step.history):
        if position == cut:
            words.append(("|", " "))
        covered = cut is not None and step.opening <= position < cut
        mark = "^" if position == finding.violation.position else "~" if covered else " "
        words.append((format_message(written_of(message)), mark))
    if cut == len(step.history):
        words.append(("|", " "))
    marks = ""
    for number, (word, mark) in enumerate(words):
        joins = number and mark == "~" == words[number - 1][1]
        marks += ("~" if joins else " ") * bool(number) + mark * len(word)
    return Drawing(" ".join(word for word, _ in words), marks.rstrip())


def shape(finding: Finding) -> Shape:
    """The shape of a counterexample: the thread's roles, its pairs with ids renamed, and the cut."""
    step = finding.moment
    if not isinstance(step, Step):
        return (finding.rule.id, finding.violation.expected)
    cut = kept_from(step, finding.violation.attempt)
    names: dict[Call, str] = {}
    words: list[str] = []
    for position, message in enumerate(step.history):
        words += ["|"] if position == cut else []
        words.append(letter(message) + pair_names(step, position, names))
    return (*words, step.outcome)


def letter(message: Message) -> str:
    """The letter of a message's role in notation."""
    return message.role[0]


def pair_names(step: Step, position: int, names: dict[Call, str]) -> str:
    """Name the calls that a message makes or answers by their order."""
    message = step.history[position]
    calls = [Call(position, place) for place in range(len(message.calls))]
    for call in calls:
        names[call] = str(len(names) + 1)
    answered = [step.pairs[Result(position, place)] for place in range(len(message.answers))]
    listed = [names[call] for call in calls] + [names[call] if call else "?" for call in answered]
    return f"({','.join(listed)})" if listed else ""

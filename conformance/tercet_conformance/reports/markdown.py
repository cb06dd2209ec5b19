"""The report as Markdown, to be posted as a comment on a pull request.

An implementation's texts stand in code, in spans and blocks that they cannot end: nothing of them is read
as Markdown or HTML, and nobody is mentioned. The comment depends on nothing but what was found: the same
run writes the same comment again, whatever time it took.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import dedent

from tercet_conformance.drawing import draw
from tercet_conformance.driver import Diagnosis
from tercet_conformance.report import (
    MEANINGS,
    counted,
    legend_of,
    number,
    print_diagnoses,
    print_end,
    print_thread,
    remark,
    searched,
    shown,
    where,
)
from tercet_conformance.reports.texts import files_elsewhere, plain, replay_of
from tercet_conformance.verdicts import UNDECIDED, Counterexample, Report, RuleVerdict, Verdict
from tercet_spec.scenarios import Scenario

MOST = 65_536
"""The most characters that GitHub takes as a comment."""
LONGEST_SPAN, LONGEST_END = 400, 4_000
"""The most characters of a text beside the threads, and of the end of the report."""


def render(report: Report, name: str, saved: Mapping[Scenario, str]) -> str:
    """Write a report as Markdown; ``name`` is the implementation's on the command line."""
    described = report.description
    broken = report.broken
    head = [
        f"### {span(f'{described.name} {described.version} ({described.language})')}: {MEANINGS[report.exit_code]}",
        block(clipped(plain(lambda printer: print_end(report, printer)), LONGEST_END)),
        f"{counted(report.scenarios, 'scenario')}, {counted(report.steps, 'step')} · {searched(report)}",
        *table(broken),
    ]
    details = [*rules(broken, name), *diagnoses(report.diagnoses, name, files_elsewhere(saved))]
    tail = [
        *listed("Not decided", (verdict for verdict in report.verdicts if verdict.verdict in UNDECIDED)),
        *listed("Known", (verdict for verdict in report.verdicts if verdict.verdict is Verdict.KNOWN)),
    ]
    left_out = f"{{}} left out here: a comment holds {number(MOST)} characters."
    room = MOST - sum(len(part) + 2 for part in [*head, *tail, left_out])
    kept, more = fitting(details, room - 20)
    note = [left_out.format(f"{counted(more, 'more thread')} {'is' if more == 1 else 'are'}")] if more else []
    return "\n\n".join([*head, *kept, *note, *tail]) + "\n"


def fitting(details: Iterable[str], room: int) -> tuple[list[str], int]:
    """Return the parts that fit, and how many threads do not."""
    kept, left_out = [], 0
    for part in details:
        if len(part) + 2 <= room:
            kept.append(part)
            room -= len(part) + 2
        else:
            left_out += part.startswith("<details>")
    return kept, left_out


def clipped(text: str, most: int) -> str:
    """Cut off what is longer than need be."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def ticks(text: str, least: int) -> str:
    """Return more backticks than stand together in a text."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def span(text: str) -> str:
    """Write a text as code within a line."""
    text = clipped(shown(text), LONGEST_SPAN) or " "
    mark = ticks(text, 1)
    apart = " " if text.strip(" ") and (text[0] in "` " or text[-1] in "` ") else ""
    return f"{mark}{apart}{text}{apart}{mark}"


def block(text: str, language: str = "text") -> str:
    """Write lines as a block of code."""
    mark = ticks(text, 3)
    return f"{mark}{language}\n{text}\n{mark}"


def prose(text: str) -> str:
    """Write a text of the specification so that none of its characters is read as Markdown."""
    return re.sub(r"([\\`*_\[\]<>&|~#])", r"\\\1", shown(text))


def table(broken: Sequence[RuleVerdict]) -> Iterator[str]:
    """List the broken rules."""
    if broken:
        rows = [
            f"| {verdict.rule.id} | {verdict.rule.level.value} | {verdict.rule.profile} | {remark(verdict)} |"
            for verdict in broken
        ]
        yield "\n".join(["| broken | level | profile | by |", "|---|---|---|---|", *rows])


def rules(broken: Iterable[RuleVerdict], name: str) -> Iterator[str]:
    """Write each broken rule: what it says, and each thread that breaks it."""
    for verdict in broken:
        yield f"#### {verdict.rule.id}\n\n{prose(verdict.rule.statement)}"
        for ordinal, example in enumerate(verdict.counterexamples, 1):
            yield thread(example, ordinal, name)


def thread(example: Counterexample, ordinal: int, name: str) -> str:
    """Write a thread that breaks a rule, folded."""
    drawing, violation = draw(example.finding), example.finding.violation
    legend = legend_of([drawing] if drawing else [])
    drawn = plain(lambda printer: print_thread(example, ordinal, drawing, legend, printer))
    parts = [
        block(dedent(drawn)),
        f"- expected: {span(violation.expected)}\n- seen: {span(violation.seen)}",
    ]
    if command := replay_of(example.scenario, example.saved, name):
        parts.append(block(command, "sh"))
    return folded(f"{ordinal}: {where(example)}", parts)


def folded(title: str, parts: Sequence[str]) -> str:
    """Fold parts under a title, which is ours."""
    return "\n\n".join([f"<details><summary>{title}</summary>", *parts, "</details>"])


def diagnoses(
    found: Sequence[tuple[Diagnosis, Scenario | None]], name: str, saved: Mapping[Scenario, str]
) -> Iterator[str]:
    """Write what went wrong that is no rule's violation."""
    if found:
        yield "#### What went wrong beside the rules"
    for ordinal, each in enumerate(found, 1):
        yield folded(f"Broken off: {ordinal}", [block(diagnosed(each, name, saved))])


def diagnosed(found: tuple[Diagnosis, Scenario | None], name: str, saved: Mapping[Scenario, str]) -> str:
    """Write one diagnosis as the terminal shows it."""
    return plain(lambda printer: print_diagnoses([found], name, printer, debug=False, saved=saved))


def listed(title: str, verdicts: Iterable[RuleVerdict]) -> Iterator[str]:
    """List rules with the reasons of their verdicts."""
    lines = [
        f"- {verdict.rule.id} ({verdict.rule.level.value}, {verdict.verdict.value}): {span(verdict.reason)}"
        for verdict in verdicts
    ]
    if lines:
        yield f"#### {title}\n\n" + "\n".join(lines)

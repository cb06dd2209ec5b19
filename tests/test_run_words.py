"""A run is drawn in short words, the event at fault is marked, and every report shows both."""

import json
from collections.abc import Sequence

import pytest

from tercet_conformance.drawing import Drawing, draw
from tercet_conformance.driver import run
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.gallery.plain_loop import PlainLoop, PlainLoopImplementation
from tercet_conformance.interface import Implementation
from tercet_conformance.replaying import replay
from tercet_conformance.report import legend_of, where
from tercet_conformance.reports.files import RENDERERS
from tercet_conformance.verdicts import Counterexample, Report
from tercet_spec.course import Happening
from tercet_spec.moments import moments
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID
from tercet_spec.run_words import words
from tercet_spec.runs import AgentRun

RIGHT = PlainLoopImplementation("plain-loop", PlainLoop)


def happened(line: str, implementation: Implementation = RIGHT) -> Sequence[Happening]:
    """Let an implementation perform a line, and give what happened in its last run."""
    ran = run(implementation, implementation.describe(), scenario_of(parse(line)))
    assert ran.diagnosis is None
    *_, last = (moment for moment in moments(ran.trace) if isinstance(moment, AgentRun))
    return last.events


@pytest.mark.parametrize(
    ("line", "drawn"),
    [
        ("stack: run", "model finished"),
        ("stack a(wrap_model) b(wrap_model): run", "a> b> model b< a< finished"),
        ("stack a(wrap_model): run[a.wrap_model next next, model fails]", "a> model! a> model a< finished"),
        ("stack a(wrap_model): run[a.wrap_model next fail]", "a> model a! failed"),
        ("stack a(wrap_model): run[a.wrap_model answer]", "a< finished"),
        ("stack a(wrap_model, asks): run[a.wrap_model ask] resume", "a? suspended resumed a> model a< finished"),
        ("stack a(before_agent) b(after_agent): run", "a.before model b.after finished"),
        ("stack a(before_agent): run[a.before_agent fail]", "a.before! blocked"),
        ("stack a(after_agent): run[a.after_agent fail]", "model a.after! blocked"),
        ("stack a(section): run[a.section fail]", "a.section! failed"),
        ("stack a(wrap_tool): run[model look(x)]", "model a>x look(x) a<x model finished"),
        ("stack a(wrap_tool): run[a.wrap_tool deny, model act('')]", "model a<'' model finished"),
        ("stack a(wrap_tool): run[a.wrap_tool fail, model act(-)]", "model a!- failed"),
        ("stack a(wrap_tool): run[a.wrap_tool ask, model act(x)]", "model a?x suspended"),
        ("stack: run[model act(x), tool fatal]", "model act(x)! failed"),
        ("stack: run[model cancelled]", "model! cancelled"),
        ("stack S limit 1 keep 1: run run", "S model finished"),
        ("stack S limit 1 keep 1: run run[S fails]", "S! failed"),
    ],
)
def test_a_run_is_written_in_short_words(line: str, drawn: str) -> None:
    assert " ".join(words(happened(line))) == drawn


LINE = "stack a(wrap_model) b(wrap_model): run run"


def found(line: str, name: str, rule: str) -> tuple[Report, Counterexample]:
    """Replay a line by an implementation of the gallery that breaks a rule in it."""
    report = replay(BY_NAME[name].make(), scenario_of(parse(line)), [BY_ID[rule]])
    return report, report.verdicts[0].counterexamples[0]


@pytest.mark.parametrize(
    ("line", "name", "rule", "drawn", "marks", "place"),
    [
        (LINE, "last-outermost", "hooks.nesting", "b> a> model a< b< finished", "^^", "run 1, model step 1"),
        (
            'stack a(before_agent): run[a.before_agent give "hello"]',
            "stores-the-raw-input",
            "hooks.input-first",
            "a.before model finished",
            "         ^^^^^",
            "run 1, model step 1",
        ),
        (
            "stack a(before_agent) b(section): run",
            "asks-for-sections-first",
            "hooks.input-first",
            "b.section a.before b.section model finished",
            "^^^^^^^^^",
            "run 1",
        ),
        (
            "stack a(wrap_tool): run[a.wrap_tool deny, model act(x)]",
            "runs-denied-tools",
            "hooks.tool-outcomes",
            "model a<x act(x) model finished",
            "          ^^^^^^",
            "run 1, model step 2",
        ),
        (
            "stack a(after_agent): run[a.after_agent pass own=1]",
            "loses-the-last-write",
            "hooks.writes",
            "model a.after finished",
            "              ^^^^^^^^",
            "run 1, model step 1",
        ),
    ],
)
def test_the_place_where_a_run_left_its_course_is_marked(
    line: str, name: str, rule: str, drawn: str, marks: str, place: str
) -> None:
    _, example = found(line, name, rule)
    assert draw(example.finding) == Drawing(drawn, marks, "run")
    assert where(example) == place


def test_a_run_has_a_legend_of_its_own() -> None:
    drawn = Drawing("a> a? model! a< finished", "   ^^", "run")
    signs = "> calls next   < returns   ? asks   ! fails or blocks   ^ where it left its course"
    assert legend_of([drawn]) == signs
    assert legend_of([Drawing("u a", "  ^"), drawn]) == f"^ at fault   {signs}"


@pytest.mark.parametrize("ending", sorted(RENDERERS))
def test_every_report_shows_a_run_where_it_left_its_course_and_what_was_expected(ending: str) -> None:
    report, example = found(LINE, "last-outermost", "hooks.nesting")
    violation = example.finding.violation
    text = RENDERERS[ending](report, "gallery:last-outermost", {})
    if ending == ".json":
        (shown,) = json.loads(text)["rules"][0]["counterexamples"]
        assert shown["line"] == LINE
        assert shown["drawing"] == {"run": "b> a> model a< b< finished", "marks": "^^"}
        assert (shown["expected"], shown["seen"]) == (violation.expected, violation.seen)
        return
    plain = text.replace("&gt;", ">").replace("&lt;", "<")
    assert LINE in plain
    assert "b> a> model a< b< finished\n" in plain
    assert "^^\n" in plain
    assert violation.expected in plain
    assert violation.seen in plain

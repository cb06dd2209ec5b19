"""Every example in the specification's chapters runs: what is drawn as kept or broken is judged so."""

import re

import pytest

from examples import SPEC, Example, ExampleError, blocks, broken, examples, trace
from run_examples import DrawnOtherwise
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.driver import run
from tercet_conformance.gallery import BY_NAME, ENTRIES
from tercet_spec.notation import Line, Mark, format_line, parse, scenario_of
from tercet_spec.reader import NotationError
from tercet_spec.rules import BY_ID

CHAPTERS = sorted(SPEC.glob("*.md"))
EXAMPLES = [example for chapter in CHAPTERS for example in examples(chapter)]
RUNS = [example for example in EXAMPLES if example.scenario.startswith("stack")]
SCENARIOS = {example.scenario: example for example in reversed(EXAMPLES)}


def lines(info: str) -> list[object]:
    """Collect the lines of all blocks with an info string, as parameters."""
    return [
        pytest.param(line, id=f"{chapter.name}:{number}")
        for chapter in CHAPTERS
        for first, body in blocks(chapter, info)
        for number, line in enumerate(body.splitlines(), first)
        if line.strip()
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_line_breaks_exactly_the_rules_that_it_names(example: Example) -> None:
    assert broken(trace(example)) == example.breaks


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_kept_line_names_no_rule_and_a_broken_one_only_known_rules(example: Example) -> None:
    assert bool(example.breaks) == (example.kind == "broken")
    assert example.breaks <= set(BY_ID)


@pytest.mark.parametrize("example", RUNS, ids=str)
def test_a_loop_that_is_named_is_right_or_breaks_the_line_s_rule(example: Example) -> None:
    entry = BY_NAME.get(example.by)
    if example.kind == "kept":
        assert example.by == "" or (entry is not None and entry.kind == "right")
    else:
        assert entry is not None
        assert entry.rule in example.breaks


def test_every_wrong_loop_takes_a_course_that_is_drawn() -> None:
    wrong = {entry.name for entry in ENTRIES if entry.rule is not None and entry.rule.startswith("hooks.")}
    assert wrong == {example.by for example in RUNS if example.kind == "broken"}


@pytest.mark.parametrize(
    ("scenario", "drawn", "problem"),
    [
        ("stack: run", "model", "drawn: model\n seen: model finished"),
        ("stack: run", "model finished[a u]", "seen: model finished[u a]"),
        ("stack: run", "model finished[counted 0]", "seen: model finished[counted 1]"),
        ("stack: run", "model finished [u a]", "is no course; it may be"),
        ("stack: run", "model[own=1] finished", "ModelAsked shows no state"),
        ("stack: run[model act(x)]", "model act(x)[u] model finished", "ToolRun shows no messages"),
        ("stack: run", "model finished[what]", "'what' says nothing of a run"),
        ("limit 5 keep 2: u a u", "sent 1-3, usage less", "'usage less' says nothing of a step"),
        ("limit 5 keep 2: u a u", "sent 1-4", "there is no message 4"),
        ("limit 5 keep 2: u a u", "sent 1-3 n", "the step has no note 1"),
        ("limit 5 keep 2: u a u", "sent [S1] 3", "there is no such text"),
        ("limit 5 keep 2: u a u", "sent 1-3, counted 1 1", "counted 1 1: the step has 1 calls"),
        ("limit 5 keep 2: u a u", "given 1", "a step that commits has an answer"),
        ("limit 5 keep 2: u a turn u step blocked", "sent 1-3", "'sent 1-3' says nothing of a thread between steps"),
        ("limit 5 keep 2: u a turn u step blocked", "key 2", "no summary ever reached to that message"),
        ("limit 5 keep 2: u a u step blocked", "key -", "nothing happens"),
        ("limit 5 keep 2: u a u step restore[x]", "key -", "nothing happens"),
        ("limit 5 keep 2: u a u step remove[5]", "key -", "nothing happens"),
        ("limit 5 keep 2: u a u step checkpoint[x]", "key -", "an example ends with a step"),
    ],
)
def test_a_line_that_cannot_be_drawn_says_why(scenario: str, drawn: str, problem: str) -> None:
    with pytest.raises((ExampleError, DrawnOtherwise), match=re.escape(problem)):
        trace(Example("here", scenario, (), "kept", drawn, frozenset()))


@pytest.mark.parametrize("example", SCENARIOS.values(), ids=str)
def test_the_reference_keeps_every_rule_in_an_example_s_scenario(example: Example) -> None:
    reference = Reference("UTF-16 unit" if "UTF-16 units" in example.declares else "code point")
    ran = run(reference, reference.describe(), scenario_of(parse(example.scenario)))
    assert ran.diagnosis is None
    assert broken(ran.trace) == frozenset()


@pytest.mark.parametrize("line", lines("notation"))
def test_a_line_of_notation_is_read_and_written_back(line: str) -> None:
    read = parse(line)
    assert parse(format_line(read)) == read
    if not is_picture(read):
        scenario_of(read)


def is_picture(line: Line) -> bool:
    """Tell whether a line draws what came of a thread."""
    return any(isinstance(item, Mark) for item in line.items)


@pytest.mark.parametrize("line", lines("notation refused"))
def test_a_line_that_is_no_notation_is_refused_at_the_place_that_is_shown(line: str) -> None:
    marked = re.fullmatch(r"(?P<before>.*?)‸(?P<after>.*)", line)
    assert marked, "mark the place with ‸"
    with pytest.raises(NotationError) as refused:
        scenario_of(parse(marked["before"] + marked["after"]))
    assert refused.value.place == len(marked["before"])

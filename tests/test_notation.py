"""A line of notation is read, and written back the same; where it is wrong, the place is shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet_conformance.macros import burst
from tercet_conformance.reductions import rewritten
from tercet_spec import reader
from tercet_spec.notation import (
    DEFAULT_SYSTEM,
    Configured,
    Line,
    Mark,
    Settings,
    Stepped,
    Written,
    format_line,
    line_of,
    parse,
    scenario_of,
)
from tercet_spec.reader import NotationError
from tercet_spec.scenarios import Append, Reply, Scenario, Step
from tercet_spec.vocabulary import ALL_CAPABILITIES

ids = st.none() | st.just("") | st.from_regex(reader.BARE_ID, fullmatch=True)
lengths = st.none() | st.integers(0, reader.MOST)
bare = st.builds(Written, st.sampled_from(["system", "user", "assistant"]), st.just(()), lengths)
calls = st.builds(Written, st.just("assistant"), st.lists(ids, min_size=1, max_size=3).map(tuple), lengths)
results = st.builds(Written, st.just("tool"), st.lists(ids, min_size=1, max_size=3).map(tuple), lengths)
fills = st.characters(codec="utf-8", exclude_characters=",]", exclude_categories=["Z", "C"])
replies = st.builds(Reply, st.integers(0, 999), fills) | st.sampled_from([Reply(failure="failed"), Reply(blank="")])
answers = st.sampled_from(["failed", "cancelled", "suspended"]) | calls | bare.filter(lambda w: w.role == "assistant")
stepped = st.builds(Stepped, st.lists(replies, max_size=2).map(tuple), st.lists(answers, max_size=2).map(tuple))
counters = st.tuples(st.integers(0, 99), st.integers(1, 99))
settings = st.builds(
    Settings,
    st.none(),
    st.none(),
    st.none() | st.integers(-5, 99),
    st.none() | st.integers(-5, 99),
    st.none() | counters,
    st.lists(st.sampled_from(["window", "summarizer"]), max_size=2).map(tuple),
)
whole = st.builds(
    Settings, st.integers(-5, 99), st.sampled_from(["messages", "tokens"]), st.integers(-5, 99), system=st.booleans()
)
items = bare | calls | results | stepped | st.builds(Configured, settings)
lines = st.builds(Line, settings | whole, st.lists(items, max_size=8).map(tuple))


@given(lines)
def test_a_line_that_is_written_is_read_back(line: Line) -> None:
    assert parse(format_line(line)) == line


@given(st.builds(Line, whole, st.lists(items, max_size=8).map(tuple)))
def test_a_line_stands_for_one_scenario_and_the_scenario_for_one_line(line: Line) -> None:
    scenario = scenario_of(line)
    again = line_of(scenario)
    assert again is not None
    assert scenario_of(again) == scenario
    assert format_line(parse(format_line(again))) == format_line(again)


@given(st.integers(0, 10**6))
def test_a_generated_scenario_is_a_line_or_is_said_not_to_be_one(seed: int) -> None:
    scenario = rewritten(burst(ALL_CAPABILITIES, seed), shortest=True)
    line = line_of(scenario)
    assert (line is None) == cannot_be_said(scenario)
    assert line is None or scenario_of(parse(format_line(line))) == scenario


def cannot_be_said(scenario: Scenario) -> bool:
    """Tell whether a scenario ends without a step, or its prompts or the compressor's answers are in no line."""
    steps = [operation for operation in scenario.operations if isinstance(operation, Step)]
    replies = [reply for step in steps for reply in step.replies]
    if any(step.system not in (None, DEFAULT_SYSTEM) for step in steps):
        return True
    ends_with_a_step = bool(scenario.operations) and isinstance(scenario.operations[-1], Step)
    return not ends_with_a_step or any(reply.ends or reply.blank or len(reply.fill) > 1 for reply in replies)


@given(st.text(alphabet="limtkeepbound0123456789: usat(x,y)-'[]S|.step", max_size=40))
def test_any_text_is_read_or_refused_at_a_place_within_it(text: str) -> None:
    refused = refusal(text)
    assert refused is None or (0 <= refused.place <= len(text) and refused.problem)


def refusal(text: str) -> NotationError | None:
    try:
        parse(text)
    except NotationError as refused:
        return refused
    return None


def test_what_is_not_said_is_five_messages_of_which_three_are_kept() -> None:
    assert scenario_of(parse("u a")) == scenario_of(parse("limit 5 keep 3: u a"))


def test_messages_are_appended_and_then_a_step_is_taken() -> None:
    scenario = scenario_of(parse("limit 5 keep 3: u a(x) step t(x)"))
    kinds = [type(operation) for operation in scenario.operations]
    assert kinds == [Append, Step, Append, Step]
    (first, *_) = scenario.operations
    assert isinstance(first, Append)
    assert [message.content for message in first.messages] == ["m1z", ""]


def test_marks_are_of_drawings_and_of_no_scenario() -> None:
    assert parse("[S] u | a").items == (Mark("[S]"), Written("user"), Mark("|"), Written("assistant"))
    with pytest.raises(NotationError):
        scenario_of(parse("limit 5 keep 3: u | a"))


@pytest.mark.parametrize(
    ("line", "place", "problem"),
    [
        ("limit 5 keep: u", 12, "a whole number"),
        ("limit 5 keep 3 u: a", 15, "or the colon that ends them"),
        ("limit 5 keep 3: u b", 18, "expected a message (s, u, a, a(x), t(x))"),
        ("limit 5 keep 3: t", 17, "a result names the call that it answers: t(x)"),
        ("limit 5 keep 3: a(é)", 18, "expected a call id"),
        ("limit 5 keep 3: a(x", 19, "expected ')'"),
        ("limit 5 keep 3: u:99999999", 18, "a whole number from 0 to 1000000"),
        ("limit 5 keep 3: u:٣", 18, "a whole number"),
        ("limit 99999999999999999999 keep 3: u", 6, "a whole number from -1000000 to 1000000"),
        ("limit 5 keep 3 counter 4+/0: u", 26, "a whole number from 1"),
        ("limit 5 keep 3 beside me: u", 22, "expected window or summarizer"),
        ("limit 5 keep 3: step[S 3 of]", 27, "expected the character that fills the text"),
        ("limit 5 keep 3: step[u]", 21, "expected S and what the compressor answers"),
        ("limit 5 keep 3: step[S fails", 28, "expected ']'"),
        ("limit 5 keep 3: step[S 3 of ,]", 28, "expected the character that fills the text"),
        ("limit 5 keep 3: step[S suspended]", 23, "expected a whole number from 0 to 1000000"),
        ("limit 5 keep 3: configure[system] u", 26, "the system prompt is said once, before the colon"),
        ("limit 5 keep 3: configure limit 9", 26, "expected '['"),
    ],
)
def test_a_line_that_does_not_parse_shows_a_caret_under_the_place(line: str, place: int, problem: str) -> None:
    with pytest.raises(NotationError, match=re.escape(problem)) as refused:
        scenario_of(parse(line))
    assert refused.value.place == place
    assert str(refused.value).split("\n")[1:] == [f"  {line}", "  " + " " * place + "^"]

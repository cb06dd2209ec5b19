"""A line of an agent is read, and written back the same; what is generated for a loop can be written."""

import re

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tercet_conformance.agent_macros import agent_burst
from tercet_spec.agent_notation import ARGUMENTS, HOOKS, NAME, SUMMARIZATION, TOOLS, format_text, input_of
from tercet_spec.agents import Agent, Middleware, Result, Tool
from tercet_spec.notation import DEFAULT, Line, Settings, format_line, line_of, parse, scenario_of
from tercet_spec.reader import NotationError
from tercet_spec.scenarios import Answer, Append, Move, Reply, Resume, RunAgent, Scenario, Script
from tercet_spec.vocabulary import ALL_CAPABILITIES, Entry, Message, ToolCall
from test_notation import ids, replies, settings, whole

labels = st.from_regex(NAME, fullmatch=True)
texts = st.text(max_size=6) | st.text(alphabet="\"'\\\n{}u a😀", max_size=6) | st.characters()
keys = labels | texts
updates = st.lists(st.builds(Entry, keys, keys), max_size=2).map(tuple)
middleware = st.just(SUMMARIZATION) | st.builds(
    Middleware,
    labels,
    st.lists(st.sampled_from(HOOKS), unique=True).map(tuple),
    st.lists(keys, max_size=2).map(tuple),
    asks=st.booleans(),
)
sectioned = st.builds(Middleware, labels, st.just(("section",)), st.just(("own",)), st.integers(0, 99))
tools = st.builds(Tool, labels, st.lists(labels, max_size=2).map(tuple))
agents = st.builds(
    Agent,
    st.lists(middleware | sectioned, max_size=3).map(tuple),
    st.just(TOOLS) | st.lists(tools, max_size=2).map(tuple),
    st.none() | texts,
    st.just(1000) | st.integers(0, 99),
)
filtered = st.lists(labels, max_size=2).map(tuple)
moves = (
    st.builds(Move, st.sampled_from(["pass", "answer", "fail", "ask", "deny"]), st.none() | texts, updates)
    | st.builds(Move, st.just("next"), st.none() | texts, updates, filtered)
    | st.builds(Move, st.just("return"), st.none() | texts, updates, of=st.none() | st.integers(0, 9))
)
scripts = st.builds(Script, labels, st.sampled_from(HOOKS), st.lists(moves, max_size=3).map(tuple))
tool_calls = st.builds(ToolCall, ids, labels, st.just(ARGUMENTS) | texts)
said = st.builds(Message, st.just("assistant"), st.just("") | texts, st.lists(tool_calls, max_size=2).map(tuple))
answers = st.builds(Answer, said) | st.builds(Answer, failure=st.sampled_from(["failed", "cancelled"]) | st.none())
results = st.builds(Result, st.sampled_from(["success", "error", "approval", "fatal"]), texts, updates)
runs = st.builds(
    RunAgent,
    st.just(input_of(1)) | st.builds(Message, st.just("user"), texts),
    *(st.lists(each, max_size=2).map(tuple) for each in (scripts, replies, answers, results)),
)
resumes = st.builds(Resume, st.just("yes") | texts, st.lists(st.booleans(), max_size=2).map(tuple))
agent_lines = st.builds(
    Line,
    (settings | whole).map(lambda each: evolve(each, system=False)),
    st.lists(runs | resumes, max_size=3).map(tuple),
    agents,
)


@given(agent_lines)
def test_a_line_of_an_agent_is_read_back(line: Line) -> None:
    assert parse(format_line(line)) == line


@given(st.lists(runs | resumes, max_size=3).map(tuple), agents)
def test_a_scenario_of_an_agent_is_a_line_and_the_line_that_scenario(
    operations: tuple[RunAgent | Resume, ...], agent: Agent
) -> None:
    scenario = Scenario(DEFAULT, operations, agent)
    line = line_of(scenario)
    assert line is not None
    assert scenario_of(parse(format_line(line))) == scenario


@given(st.integers(0, 10**6))
def test_what_is_generated_for_a_loop_can_be_written(seed: int) -> None:
    scenario = agent_burst(ALL_CAPABILITIES, seed)
    line = line_of(scenario)
    assert line is not None
    assert scenario_of(parse(format_line(line))) == scenario


@given(st.text())
def test_a_text_in_quotes_is_printable(text: str) -> None:
    assert format_text(text).isprintable()


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(DEFAULT, (Append((Message("user"),)),), Agent(tools=TOOLS)),
        Scenario(DEFAULT, (RunAgent(Message("system", "m1z")),), Agent(tools=TOOLS)),
        Scenario(DEFAULT, (RunAgent(Message("user", "m1z", id="x")),), Agent(tools=TOOLS)),
        Scenario(DEFAULT, (RunAgent(input_of(1), replies=(Reply(ends="."),)),), Agent(tools=TOOLS)),
        Scenario(DEFAULT, (RunAgent(input_of(1), answers=(Answer(failure="suspended"),)),), Agent(tools=TOOLS)),
        Scenario(
            DEFAULT, (RunAgent(input_of(1), (Script("a", "wrap_model", (Move("fail", of=1),)),)),), Agent(tools=TOOLS)
        ),
        Scenario(DEFAULT, (), Agent((Middleware("not a name"),), TOOLS)),
        Scenario(DEFAULT, (), Agent((evolve(SUMMARIZATION, id="sum", hooks=("section",)),), TOOLS)),
    ],
)
def test_what_no_line_can_say_is_no_line(scenario: Scenario) -> None:
    assert line_of(scenario) is None


def test_what_is_not_said_of_an_agent() -> None:
    scenario = scenario_of(parse("stack a(wrap_model): run run resume"))
    assert scenario.configuration == DEFAULT
    assert scenario.agent == Agent((Middleware("a", ("wrap_model",), ("own",)),), TOOLS)
    assert scenario.operations == (RunAgent(Message("user", "m1z")), RunAgent(Message("user", "m2z")), Resume("yes"))


def test_the_settings_of_summarization_are_said_where_it_stands_in_the_stack() -> None:
    line = line_of(Scenario(DEFAULT, (), Agent((SUMMARIZATION,), TOOLS)))
    assert line == Line(Settings(5, "messages", 3), (), Agent((SUMMARIZATION,), TOOLS))


@pytest.mark.parametrize(
    ("line", "place", "problem"),
    [
        ("stack a: run", 6, "expected a middleware (a(wrap_model)), S,"),
        (
            "stack a(wraps): run",
            8,
            "expected before_agent, section, wrap_model, wrap_tool, after_agent, asks or writes",
        ),
        ("stack a(wrap_model asks): run", 19, "expected ')'"),
        ("stack a(writes): run", 14, "expected a name: letters, digits, '_' and '-'"),
        ("stack tools: run", 11, "expected tools, each with the names of its arguments in brackets, or - for none"),
        ("stack prompt me: run", 13, "expected a text in quotes"),
        ("stack system: run", 6, "an agent's system prompt is said with prompt"),
        ("stack: u", 7, "expected run or resume"),
        ("stack: run[u]", 11, "expected a hook and what it does (a.wrap_model next), model, tool, or S"),
        ("stack: run[a.wrap next]", 11, "expected a hook and what it does"),
        ("stack: run[a.wrap_model nexts]", 24, "expected ']'"),
        ("stack: run[a.section give]", 25, "expected a text in quotes"),
        ("stack: run[a.wrap_model return 0]", 31, "a whole number from 1"),
        ("stack: run[model look]", 17, "expected a text, calls (look(x)+act(y)), answers, fails or cancelled"),
        ("stack: run[tool refused]", 16, "expected a text, or error, fatal or approval and a text"),
        (r'stack: run["a\b"]', 13, r"expected \\, \n, \u{…} or an escaped quote"),
        (r'stack: run["\u{110000}"]', 12, r"expected \\, \n, \u{…} or an escaped quote"),
        ("stack: resume[]", 14, "expected approve or deny, or the reply in quotes"),
        ('stack: resume["yes",]', 20, "expected approve or deny"),
    ],
)
def test_a_line_that_does_not_parse_shows_a_caret_under_the_place(line: str, place: int, problem: str) -> None:
    with pytest.raises(NotationError, match=re.escape(problem)) as refused:
        parse(line)
    assert refused.value.place == place

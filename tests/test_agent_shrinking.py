"""A scenario of an agent's loop is shrunk to a line of notation that says no more than it must."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet_conformance.agent_macros import agent_burst
from tercet_conformance.agent_reductions import renamed, smaller, weight
from tercet_conformance.shrinking import shrink
from tercet_spec.agents import Agent, HookName
from tercet_spec.notation import format_line, line_of, parse, scenario_of
from tercet_spec.scenarios import Move, RunAgent, Scenario
from tercet_spec.vocabulary import ALL_CAPABILITIES, ToolCall

Fault = Callable[[Scenario], bool]


def scenario(line: str) -> Scenario:
    return scenario_of(parse(line))


def written(shrunk: Scenario) -> str:
    line = line_of(shrunk)
    assert line is not None
    return format_line(line)


def runs(scenario: Scenario) -> list[RunAgent]:
    return [operation for operation in scenario.operations if isinstance(operation, RunAgent)]


def calls(scenario: Scenario) -> list[ToolCall]:
    answered = [answer.message for run in runs(scenario) for answer in run.answers if answer.message]
    return [call for message in answered for call in message.calls]


def moves(scenario: Scenario) -> list[Move]:
    return [move for run in runs(scenario) for script in run.scripts for move in script.moves]


def having(scenario: Scenario, hook: HookName) -> int:
    return len((scenario.agent or Agent()).having(hook)) if runs(scenario) else 0


def wraps_twice(scenario: Scenario) -> bool:
    return having(scenario, "wrap_model") > 1


def wraps_a_call(scenario: Scenario) -> bool:
    return bool(having(scenario, "wrap_tool") and calls(scenario))


def calls_wrongly(scenario: Scenario) -> bool:
    agent = scenario.agent or Agent()
    return any(not agent.accepts(call) for call in calls(scenario))


def writes_another_key(scenario: Scenario) -> bool:
    return any(entry.key == "other" for move in moves(scenario) for entry in move.update)


LONG = """
stack k(section 3, wrap_model) m(wrap_tool, before_agent, wrap_model, asks, writes own x) S
tools look(q) act() find() prompt "Be brief." sections 7 limit 4 keep 2:
run["hello", k.wrap_model next return own=1 other=2, k.section give "abc", model look(c1)+find(c2) act(c3 '{}') fails]
run[m.wrap_tool ask, model look(c4 '{"q": 1}')] resume["no", deny approve]
"""


@pytest.mark.parametrize(
    ("fault", "shortest"),
    [
        (wraps_twice, "stack a(wrap_model) b(wrap_model): run"),
        (wraps_a_call, "stack a(wrap_tool): run[model look(x)]"),
        (calls_wrongly, 'stack: run[model look(x "{}")]'),
        (writes_another_key, "stack a(wrap_model): run[a.wrap_model return other=2]"),
    ],
)
def test_what_has_no_part_in_the_fault_goes(fault: Fault, shortest: str) -> None:
    assert written(shrink(scenario(LONG.replace("\n", " ")), fault)) == shortest


@pytest.mark.parametrize("fault", [wraps_twice, wraps_a_call, calls_wrongly, writes_another_key])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_what_is_shrunk_is_a_line_and_nothing_more_can_be_taken_away(fault: Fault, seed: int) -> None:
    found = agent_burst(ALL_CAPABILITIES, seed)
    if not fault(found):
        return
    shrunk = shrink(found, fault)
    assert fault(shrunk)
    assert line_of(shrunk) is not None
    assert [each for each in smaller(shrunk) if weight(each) < weight(shrunk) and fault(each)] == []


@given(seed=st.integers(0, 10**6))
def test_naming_again_changes_nothing(seed: int) -> None:
    named = renamed(agent_burst(ALL_CAPABILITIES, seed))
    assert renamed(named) == named

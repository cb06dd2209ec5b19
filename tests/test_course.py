"""Where a run leaves its course, the rule that is named is the one that speaks of it; a call is valid, or not."""

import pytest

from tercet_conformance.driver import run
from tercet_conformance.gallery import BY_NAME
from tercet_spec.agents import Agent, Middleware, Tool
from tercet_spec.judgement import findings
from tercet_spec.notation import DEFAULT
from tercet_spec.rules import RULES
from tercet_spec.scenarios import Answer, Move, RunAgent, Scenario, Script
from tercet_spec.vocabulary import Message, ToolCall


def test_a_call_that_is_passed_over_is_not_taken_for_one_that_is_nested_wrongly() -> None:
    implementation = BY_NAME["filter-denies"].make()
    calls = (ToolCall("x", "look"), ToolCall("y", "act"))
    filtered = (Script("a", "wrap_model", (Move("next", tools=("look",)),)),)
    turn = RunAgent(Message("user", "m1z"), filtered, answers=(Answer(Message("assistant", calls=calls)),))
    agent = Agent((Middleware("a", ("wrap_model", "wrap_tool")),), (Tool("look"), Tool("act")))
    ran = run(implementation, implementation.describe(), Scenario(DEFAULT, (turn,), agent))
    assert {finding.rule.id for finding in findings(ran.trace, RULES)} == {"hooks.tools-offered"}


@pytest.mark.parametrize(
    ("arguments", "is_valid"),
    [
        ('{"q": "x", "more": 1.5}', True),
        ('{"q": "x", "more": NaN}', False),
        ('{"q": "x", "more": -Infinity}', False),
        ('{"q": 1}', False),
        ('["q"]', False),
        ("{}", False),
        ("", False),
    ],
)
def test_arguments_are_valid_in_every_language_alike(arguments: str, is_valid: bool) -> None:
    assert Tool("look", ("q",)).accepts(arguments) == is_valid

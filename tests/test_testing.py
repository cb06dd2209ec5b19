"""The state machine as a test case, and the strategies: what they draw, and what they say of what breaks."""

import unittest
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis.stateful import rule, run_state_machine_as_test

from stand_ins import Changed, Dropping, Raising
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.interface import Implementation
from tercet_conformance.loading import LoadingError
from tercet_conformance.requirements import needs
from tercet_conformance.strategies import configurations, histories, scenarios
from tercet_conformance.suite import Suite
from tercet_conformance.testing import SETTINGS, Broken, SummarizationMachine, WentWrong
from tercet_spec.judgement import judge
from tercet_spec.pairs import Call, pair
from tercet_spec.rules import RULES
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import ALL_CAPABILITIES, Capability, Configuration, Message

FEW = settings(SETTINGS, max_examples=30, database=None)
DRAWN = settings(max_examples=300, database=None, phases=[Phase.generate])


def run(machine: type[SummarizationMachine]) -> None:
    run_state_machine_as_test(seed(0)(machine), settings=FEW)


@pytest.mark.parametrize("implementation", ["reference", Reference("UTF-16 unit")], ids=["by name", "itself"])
def test_what_keeps_the_rules_passes(implementation: str | Implementation) -> None:
    run(SummarizationMachine.for_(implementation))


def test_what_breaks_a_rule_fails_with_the_smallest_thread() -> None:
    with pytest.raises(Broken, match=r"(?s)send.system-first is broken: MUST.*\n  1  limit 3 keep 1 system:\n"):
        run(SummarizationMachine.for_(Changed(Dropping)))


def test_what_goes_wrong_beside_the_rules_fails_too() -> None:
    with pytest.raises(WentWrong, match="RuntimeError: tools are not supported"):
        run(SummarizationMachine.for_(Changed(Raising)))


def test_a_broken_should_fails_nothing() -> None:
    run(SummarizationMachine.for_(next(e for e in BY_NAME.values() if e.rule == "config.thrash").make()))


def test_it_is_a_test_case_and_so_is_a_subclass_with_the_settings_of_the_standard_budget() -> None:
    drawn: list[int] = []

    class Machine(SummarizationMachine.for_("reference")):  # type: ignore[misc]
        @rule(length=st.integers(0, 9))
        def paste(self, length: int) -> None:
            drawn.append(length)
            self.draft.append(self.draft.speak("user", length))

    assert Machine.TestCase.settings is SummarizationMachine.for_("reference").TestCase.settings is SETTINGS
    Machine.TestCase.settings = FEW
    result = unittest.TestResult()
    Machine.TestCase().run(result)
    assert result.testsRun == 1
    assert result.wasSuccessful()
    assert drawn


def test_an_implementation_that_there_is_not_is_said_at_once() -> None:
    with pytest.raises(LoadingError, match="did you mean reference"):
        SummarizationMachine.for_("refrence")


@settings(max_examples=40, deadline=None, database=None)
@given(scenarios(ALL_CAPABILITIES))
def test_the_reference_keeps_the_rules_in_what_is_drawn(scenario: Scenario) -> None:
    suite = Suite(Reference(), Reference().describe(), RULES)
    assert judge(suite.run(scenario).trace, RULES).findings == ()


@settings(max_examples=40, deadline=None, database=None)
@given(st.data(), st.frozensets(st.sampled_from(sorted(ALL_CAPABILITIES))))
def test_scenarios_ask_for_what_is_declared_only(data: st.DataObject, capabilities: frozenset[Any]) -> None:
    declared: frozenset[Capability] = capabilities | {"message-trigger"}
    assert needs(data.draw(scenarios(declared))) <= declared


def is_answered_twice(messages: tuple[Message, ...]) -> bool:
    calls = [call for call in pair(messages).values() if call is not None]
    return len(set(calls)) < len(calls)


def is_left_open(messages: tuple[Message, ...]) -> bool:
    made = {Call(n, place) for n, message in enumerate(messages) for place in range(len(message.calls))}
    return not made <= set(pair(messages).values())


def comes_late(messages: tuple[Message, ...]) -> bool:
    return any(call and result.position > call.position + 2 for result, call in pair(messages).items())


@pytest.mark.parametrize("holds", [is_answered_twice, is_left_open, comes_late, lambda messages: len(messages) > 25])
def test_histories_go_where_faults_are(holds: Callable[[tuple[Message, ...]], bool]) -> None:
    find(histories(), holds, settings=DRAWN)


def test_configurations_are_none_that_are_refused() -> None:
    def is_odd(configuration: Configuration) -> bool:
        return configuration.keep_recent < 1 or configuration.trigger.limit < 1 or configuration.max_summary_tokens < 32

    with pytest.raises(NoSuchExample):
        find(configurations(), is_odd, settings=DRAWN)

"""A scenario is shrunk until nothing more of it can go, and a tidy one is preferred to a shorter odd one."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet_conformance.macros import burst
from tercet_conformance.reductions import lowered, units_of, without_calls, without_units
from tercet_conformance.shrinking import shrink, weight
from tercet_conformance.tidiness import is_sane, is_well_formed, messages_of, oddity
from tercet_spec.notation import format_line, line_of, parse, scenario_of
from tercet_spec.pairs import pair
from tercet_spec.scenarios import Configure, Scenario, Step
from tercet_spec.vocabulary import ALL_CAPABILITIES, Configuration, Trigger

Fault = Callable[[Scenario], bool]


def scenario(line: str) -> Scenario:
    return scenario_of(parse(line))


def written(shrunk: Scenario) -> str:
    line = line_of(shrunk)
    assert line is not None
    return format_line(line)


def ends_with_a_step(scenario: Scenario) -> bool:
    return bool(scenario.operations) and isinstance(scenario.operations[-1], Step)


def has_three_users(scenario: Scenario) -> bool:
    return ends_with_a_step(scenario) and sum(message.role == "user" for message in messages_of(scenario)) >= 3


def has_overlapping_calls(scenario: Scenario) -> bool:
    pairs = pair(messages_of(scenario))
    spans = [(call.position, result.position) for result, call in pairs.items() if call]
    return ends_with_a_step(scenario) and any(a < c < b < d for a, b in spans for c, d in spans)


def has_more_messages_than_its_limit(scenario: Scenario) -> bool:
    return ends_with_a_step(scenario) and len(messages_of(scenario)) > scenario.configuration.trigger.limit


def steps_twice(scenario: Scenario) -> bool:
    return ends_with_a_step(scenario) and sum(isinstance(o, Step) for o in scenario.operations) >= 2


def test_what_has_no_part_in_the_fault_goes() -> None:
    odd = scenario("limit 9 keep 2 bound 40 system: s u a(x) t(x) u:80 step[S 60 of é] a u step u")
    assert written(shrink(odd, has_three_users)) == "limit 3 keep 1: u u u"


def test_a_message_goes_together_with_one_off_the_limit() -> None:
    long = scenario("limit 9 keep 2: u a u a u a u a u a u")
    assert written(shrink(long, has_more_messages_than_its_limit)) == "limit 3 keep 1: u a u a"


def test_many_messages_go_together_with_as_many_off_the_highest_limit_alone() -> None:
    long = scenario(f"limit 60 keep 1: {'u ' * 61} step configure[limit 3] u step")
    small = shrink(long, lambda each: has_more_messages_than_its_limit(each) and is_tightened(each))
    assert written(small) == "limit 4 keep 1: u u u u u configure[limit 3]"


def is_tightened(scenario: Scenario) -> bool:
    limits = [o.configuration.trigger.limit for o in scenario.operations if isinstance(o, Configure)]
    return bool(limits) and limits[-1] < scenario.configuration.trigger.limit


def test_calls_that_re_use_an_id_are_given_ids_of_their_own() -> None:
    odd = scenario("limit 9 keep 2: a('') a('') u t('') u t('') u")
    assert not is_well_formed(odd)
    kept = shrink(odd, has_three_users)
    assert is_well_formed(kept)
    assert is_sane(kept)


def test_a_tidy_thread_is_preferred_to_a_shorter_odd_one() -> None:
    kept = shrink(scenario("limit 9 keep 2: u a(x) u a(y) t(x) t(y) u"), has_overlapping_calls)
    assert written(kept) == "limit 3 keep 1: a(x) a(y) t(x) t(y)"
    assert oddity(kept) == 0


def test_a_configuration_alone_is_made_plain() -> None:
    refused = Scenario(Configuration(Trigger("tokens", -1), keep_recent=5, max_summary_tokens=32))
    assert written(shrink(refused, lambda s: s.configuration.trigger.limit < 1)) == "limit -1 tokens keep 1:"


def test_a_fault_that_is_gone_with_every_change_is_left_as_it_is() -> None:
    only = scenario("limit 9 keep 2: u a(x) u step u")
    assert shrink(only, lambda candidate: candidate == only) == only


def test_a_scenario_is_run_no_oftener_than_it_may_be() -> None:
    runs = 0

    def count(_: Scenario) -> bool:
        nonlocal runs
        runs += 1
        return True

    shrink(burst(ALL_CAPABILITIES, 3), count, most=10)
    assert runs <= 12


@pytest.mark.parametrize(
    "fault", [has_three_users, has_overlapping_calls, has_more_messages_than_its_limit, steps_twice]
)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_nothing_more_can_be_taken_away(fault: Fault, seed: int) -> None:
    found = burst(ALL_CAPABILITIES, seed)
    if not fault(found):
        return
    shrunk = shrink(found, fault)
    assert fault(shrunk)
    assert line_of(shrunk) is not None
    candidates = list(without_calls(shrunk)) + list(lowered(shrunk, 1))
    for start in range(len(units_of(shrunk))):
        candidates += without_units(shrunk, start, 1)
    lighter = [candidate for candidate in candidates if weight(candidate) < weight(shrunk) and fault(candidate)]
    assert lighter == []


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_shrinking_is_repeatable(seed: int) -> None:
    found = burst(ALL_CAPABILITIES, seed)
    assert shrink(found, steps_twice) == shrink(found, steps_twice)

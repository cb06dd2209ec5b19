"""Directed scenarios: threads that a search seldom finds, each a line of notation."""

from attrs import evolve

from tercet_conformance.requirements import needs
from tercet_spec.notation import parse, scenario_of
from tercet_spec.scenarios import Reply, Scenario, Step
from tercet_spec.vocabulary import Capability

LINES = (
    "limit 5 keep 3: u a(x) a(y) t(x) t(y) u",
    "limit 4 keep 2: u a(x) u t(x) u",
    "limit 5 keep 3: u a(x,y) t(x) t(y) a u",
    "limit 4 keep 2: u a(x) u u step t(x) step u",
    "limit 4 keep 2: u a(x) u u u step t(x) step",
    "limit 5 keep 1: u a(x,y) t(x) t(y) u u step u step u",
    "limit 5 keep 2: u a(x) u a u a u step u u step",
    "limit 5 keep 2: u a(call_0) t(call_0) a(call_0) t(call_0) u",
    "limit 5 keep 4: u a(call_0) t(call_0) a(call_0) t(call_0) u",
    "limit 5 keep 2: u a(0) a(0) t(0) t(0) t(0) u",
    "limit 4 keep 1: a(x) t(x) a u u",
    "limit 4 keep 2: a(x) t(x) a u u",
    "limit 4 keep 2: u a u a u step[S fails] u step",
    "limit 4 keep 2: u a u a u step[S blank] u step",
    "limit 4 keep 2: u a u a u step[S cancelled] u step",
    "limit 4 keep 2: u a u a u step[a fails] u u step",
    "limit 4 keep 2: u a u a u step[a cancelled] u u step",
    "limit 4 keep 2 bound 40: u a u a u step[S 161 of 😀] configure[bound 32 limit 9] u step",
    "limit 4 keep 2 bound 32: u a u a u step[S 81 of 😀] u step",
    "limit 6 keep 1: u a u a u step u step u step u step u step u step",
    "limit 4 keep 2: s u a u a u step u",
    "limit 4 keep 3: a(x) u u t(x) u",
    "limit 4 keep 2: u a s u a u step u",
    "limit 4 keep 1: u a u a u step remove[6] step",
    "limit 4 keep 1: a(x) u u u step checkpoint[x] t(x) step restore[x] step",
    "limit 30 tokens keep 1: step checkpoint[x] u u:0 step restore[x] u:100 u:0 step",
    "limit 40 tokens keep 2: u u u u step configure[counter 20+/4] u step configure[limit 3] u",
    *(f"limit 4 keep 2 bound 32: u a u a u step[S 140 of {last}] u" for last in "\x7f\u07ff\uffff"),
)
OTHER_SPACE = "\x1f"
"""White space for some languages, and none of Unicode's: a text of it is not blank."""


def directed(capabilities: frozenset[Capability]) -> list[Scenario]:
    """Make the directed scenarios that an implementation can be asked for."""
    scenarios = [scenario_of(parse(line)) for line in LINES]
    scenarios.append(other_space(scenario_of(parse("limit 4 keep 2: u a u a u step[S blank] u"))))
    return [scenario for scenario in scenarios if needs(scenario) <= capabilities]


def other_space(scenario: Scenario) -> Scenario:
    """Let the compressor answer a scenario's first step with other white space, which no line can say."""
    place, step = next((place, each) for place, each in enumerate(scenario.operations) if isinstance(each, Step))
    replied = evolve(step, replies=(Reply(blank=OTHER_SPACE),))
    return evolve(scenario, operations=(*scenario.operations[:place], replied, *scenario.operations[place + 1 :]))

"""Directed scenarios: threads that a search seldom finds, each a line of notation."""

from tercet_conformance.requirements import needs
from tercet_spec.notation import parse, scenario_of
from tercet_spec.scenarios import Scenario
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
)


def directed(capabilities: frozenset[Capability]) -> list[Scenario]:
    """Make the directed scenarios that an implementation can be asked for."""
    scenarios = [scenario_of(parse(line)) for line in LINES]
    return [scenario for scenario in scenarios if needs(scenario) <= capabilities]

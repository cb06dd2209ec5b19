"""Directed scenarios: threads that a search seldom finds, each a line of notation."""

from tercet_spec.notation import parse, scenario_of
from tercet_spec.scenarios import Append, Configure, Scenario, Step
from tercet_spec.vocabulary import Capability

LINES = (
    "limit 5 keep 3: u a(x) a(y) t(x) t(y) u",
    "limit 4 keep 2: u a(x) u t(x) u",
    "limit 5 keep 3: u a(x,y) t(x) t(y) a u",
    "limit 4 keep 2: u a(x) u u step t(x) step u",
    "limit 5 keep 1: u a(x,y) t(x) t(y) u u step u step u",
    "limit 5 keep 2: u a(x) u a u a u step u u step",
    "limit 5 keep 2: u a(call_0) t(call_0) a(call_0) t(call_0) u",
    "limit 5 keep 2: u a(0) a(0) t(0) t(0) t(0) u",
    "limit 4 keep 1: a(x) t(x) a u u",
    "limit 4 keep 2: u a u a u step[S fails] u step",
    "limit 4 keep 2: u a u a u step[S blank] u step",
    "limit 4 keep 2: u a u a u step[a fails] u u step",
    "limit 4 keep 2: u a u a u step[a cancelled] u u step",
    "limit 4 keep 2 bound 40: u a u a u step[S 161 of 😀] configure[bound 32 limit 9] u step",
    "limit 4 keep 2 bound 32: u a u a u step[S 81 of 😀] u step",
    "limit 6 keep 1: u a u a u step u step u step u step u step u step",
    "limit 4 keep 2: s u a u a u step u",
    "limit 4 keep 3: a(x) u u t(x) u",
)


def needs(scenario: Scenario) -> frozenset[Capability]:
    """Say what an implementation must be able to do for a scenario to be run against it."""
    needed: set[Capability] = set()
    configurations = [scenario.configuration]
    for operation in scenario.operations:
        match operation:
            case Configure(configuration):
                needed.add("configure")
                configurations.append(configuration)
            case Step(system=system, replies=replies, answers=answers):
                needed |= {"system"} if system is not None else set()
                needed |= needed_for_failures([reply.failure for reply in replies if reply.failure == "cancelled"])
                needed |= needed_for_failures([answer.failure for answer in answers])
                needed |= needed_for_ids([a.message.calls for a in answers if a.message])
            case Append(messages):
                needed |= needed_for_ids([message.calls for message in messages])
    for configuration in configurations:
        needed.add("token-trigger" if configuration.trigger.kind == "tokens" else "message-trigger")
        if configuration.max_summary_tokens != 1000:
            needed.add("bound")
    return frozenset(needed)


def needed_for_failures(failures: list[str | None]) -> set[Capability]:
    """Say what scripted failures need."""
    return {"suspend"} if "suspended" in failures else {"model-step"} if any(failures) else set()


def needed_for_ids(calls: list[tuple[object, ...]]) -> set[Capability]:
    """Say what calls without an id need."""
    return {"missing-ids"} if any(getattr(call, "id", "") is None for each in calls for call in each) else set()


def directed(capabilities: frozenset[Capability]) -> list[Scenario]:
    """Make the directed scenarios that an implementation can be asked for."""
    scenarios = [scenario_of(parse(line)) for line in LINES]
    return [scenario for scenario in scenarios if needs(scenario) <= capabilities]

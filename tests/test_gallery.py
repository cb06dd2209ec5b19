"""Every rule was seen to fail, by a wrong implementation that it must catch; no right one is ever blamed."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain

import pytest
from attrs import frozen

from tercet_conformance.adapters.reference import Reference
from tercet_conformance.gallery import BY_NAME, ENTRIES, Entry
from tercet_conformance.gallery.plain_loop import PlainLoopImplementation
from tercet_conformance.interface import Implementation
from tercet_conformance.search import generated_loops, generated_scenarios, saved_scenarios
from tercet_conformance.suite import JUDGING, Suite, applicable
from tercet_conformance.verdicts import Verdict, unbroken
from tercet_spec.judgement import Finding, Situation
from tercet_spec.rules import BY_ID, RULES, Level
from tercet_spec.scenarios import Append, Configure, Reply, Scenario, Step, content_text
from tercet_spec.vocabulary import Capability, Configuration, Message, TokenCounter, Trigger

WRONG = [entry for entry in ENTRIES if entry.kind == "wrong"]
NULL = [entry for entry in ENTRIES if entry.kind == "null"]
RIGHT = [entry for entry in ENTRIES if entry.kind == "right"]
MUSTS = [rule.id for rule in RULES if rule.level is Level.MUST]
SCENARIOS = 600
"""Generated for each wrong one, at most; it is caught in fewer."""
LEAST, CATCHES = 150, 3
"""So many at least, and until it is caught so often, to see what else the fault breaks."""
UNBLAMED = 1500
"""Generated for each right one, which keeps every rule in all of them."""

NEVER_ALONE = {
    "bound.stored": "a text over the bound is sent too (bound.sent), or the key holds what was not sent (key.through)",
    "compress.once-only": "a covered message is none of the tail's: compress.span says what the compressor is given",
    "trigger.tokens": "where the system prompt or the summary alone would decide as well, a miscount is as-sent's",
    "trigger.messages": "where the system prompt or the summary alone would decide as well, a miscount is as-sent's",
    "trigger.fires": "where another measure, or a miscount, would not fire either, what does not fire is theirs",
}
"""The rules that no fault breaks alone, and why: what shares its steps among rules, or follows from a broken one."""


def suite_of(implementation: Implementation, *rules: str) -> Suite:
    description = implementation.describe()
    chosen = [BY_ID[rule] for rule in rules] if rules else RULES
    return Suite(implementation, description, applicable(chosen, description))


@cache
def scenarios(capabilities: frozenset[Capability], number: int, seed: int) -> Sequence[Scenario]:
    return list(generated_scenarios(capabilities, number, seed))


@cache
def loops(capabilities: frozenset[Capability], number: int, seed: int) -> Sequence[Scenario]:
    return list(generated_loops(capabilities, number, seed))


def fitting(entry: Entry, number: int, seed: int) -> Sequence[Scenario]:
    """What may break a wrong one's rule: what hooks do is seen in the runs of a loop alone."""
    capabilities = entry.make().describe().capabilities
    is_loop = (entry.rule or "").startswith("hooks.")
    return loops(capabilities, number, seed) if is_loop else scenarios(capabilities, number, seed)


@frozen
class Seen:
    """What a search saw of a wrong one: after how many scenarios it was caught, and what else it broke."""

    caught: int | None
    others: frozenset[str]


@cache
def seen(entry: Entry) -> Seen:
    """Search until a wrong one is caught often enough; every rule judges every scenario."""
    assert entry.rule is not None
    every = suite_of(entry.make())
    assert any(rule.id == entry.rule for rule in every.rules)
    caught, times, others = None, 0, set[str]()
    for number, scenario in enumerate(fitting(entry, SCENARIOS, 0), 1):
        if number > LEAST and times >= CATCHES:
            break
        ran, judgement = every.judge(scenario)
        assert ran.diagnosis is None
        if any(finding.rule.id == entry.rule for finding in judgement.findings):
            caught, times = caught or number, times + 1
        others |= beside(entry.rule, judgement.findings)
    return Seen(caught, frozenset(others))


def beside(rule: str, findings: Sequence[Finding]) -> set[str]:
    """The other MUSTs that were broken, but in steps after the rule's own, where they follow from it."""
    first = min((finding.step for finding in findings if finding.rule.id == rule), default=None)
    before = [finding for finding in findings if first is None or finding.step <= first]
    return {finding.rule.id for finding in before if finding.rule.level is Level.MUST} - {rule}


def test_every_rule_has_a_wrong_implementation() -> None:
    assert {entry.rule for entry in WRONG} == set(BY_ID)


def test_names_are_unique_and_say_what_is_done() -> None:
    assert len(BY_NAME) == len(ENTRIES)
    assert all(entry.says.endswith(".") for entry in ENTRIES)
    assert all(entry.report == "" or entry.report.startswith("https://") for entry in ENTRIES)
    assert all(entry.rule is None and entry.report == "" for entry in RIGHT)


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.name)
def test_a_wrong_one_is_caught_by_its_own_rule(entry: Entry) -> None:
    assert seen(entry).caught is not None, f"{entry.rule} never caught {entry.name}: {entry.says}"


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.name)
def test_it_is_caught_with_another_seed(entry: Entry) -> None:
    assert entry.rule is not None
    suite = suite_of(entry.make(), entry.rule)
    assert any(suite.judge(scenario)[1].findings for scenario in fitting(entry, SCENARIOS, 1))


@pytest.mark.parametrize("rule", MUSTS)
def test_a_fault_breaks_its_own_rule_alone(rule: str) -> None:
    alone = [entry.name for entry in WRONG if entry.rule == rule and not seen(entry).others]
    assert bool(alone) != (rule in NEVER_ALONE), NEVER_ALONE.get(rule, alone)


def test_white_space_that_may_be_left_out_may_be_left_uncounted() -> None:
    counter = TokenCounter(1, 6)
    quiet = Configuration(Trigger("tokens", 88), 1, 32, counter)
    scenario = Scenario(
        Configuration(Trigger("tokens", 23), 1, 40, counter),
        (
            *(Append((Message("user", content_text(1, 145)),)), Step(), Configure(quiet), Step()),
            *(Append((Message("user", content_text(3, 343)),)), Step(replies=(Reply(130, "so. \n\n"),)), Step()),
        ),
    )
    for name in ("without-outer-space", "without-space-before", "reference"):
        implementation = BY_NAME[name].make() if name in BY_NAME else Reference()
        ran, judgement = suite_of(implementation).judge(scenario)
        assert ran.diagnosis is None
        assert judgement.findings == ()


@pytest.mark.parametrize("entry", RIGHT, ids=lambda entry: entry.name)
def test_a_right_one_is_never_blamed_and_passes_every_rule(entry: Entry) -> None:
    suite = suite_of(entry.make())
    if isinstance(suite.implementation, PlainLoopImplementation):  # its threads are those of others
        suite = suite_of(entry.make(), *(rule.id for rule in RULES if rule.family == "hooks"))
        drawn = loops(suite.capabilities, UNBLAMED, 2)
    else:
        drawn = [*scenarios(suite.capabilities, UNBLAMED, 2), *loops(suite.capabilities, UNBLAMED, 2)]
    reached = Counter[Situation]()
    for scenario in drawn:
        ran, judgement = suite.judge(scenario)
        assert judgement.findings == ()
        assert ran.diagnosis is None
        assert ran.unsupported is None
        reached += judgement.reached
    for rule in suite.rules:
        seen_of = {situation: reached[rule.id, situation] for situation in rule.asked_of(suite.description)}
        assert unbroken(rule, seen_of, (), went_wrong=False).verdict is Verdict.PASS, (rule.id, seen_of)


@pytest.mark.parametrize("entry", NULL, ids=lambda entry: entry.name)
def test_whatever_a_null_one_accepts_can_be_judged(entry: Entry) -> None:
    suite = suite_of(entry.make())
    drawn = chain(scenarios(suite.capabilities, LEAST, 3), loops(suite.capabilities, LEAST, 3))
    for scenario in chain(saved_scenarios(suite.capabilities), drawn):
        diagnosis = suite.find(scenario)[0].diagnosis
        assert diagnosis is None or diagnosis.operation != JUDGING, diagnosis

"""Every rule was seen to fail, by a wrong implementation that it must catch; no right one is ever blamed."""

from collections.abc import Callable

import pytest

from tercet_conformance.adapters.reference import Reference
from tercet_conformance.gallery import BY_NAME, ENTRIES, Entry
from tercet_conformance.interface import Implementation
from tercet_conformance.search import generated_scenarios
from tercet_conformance.suite import Suite, applicable
from tercet_spec.rules import BY_ID, RULES

WRONG = [entry for entry in ENTRIES if entry.kind == "wrong"]
RIGHT = [entry for entry in ENTRIES if entry.kind == "right"]
SCENARIOS = 700
"""Generated for each wrong one, at most; it is caught in fewer."""
UNBLAMED = 1000
"""Generated for each right one, which keeps every rule in all of them."""


def suite_of(implementation: Implementation, *rules: str) -> Suite:
    description = implementation.describe()
    chosen = [BY_ID[rule] for rule in rules] if rules else RULES
    return Suite(implementation, description, applicable(chosen, description))


def test_every_rule_has_a_wrong_implementation() -> None:
    assert {entry.rule for entry in WRONG} == set(BY_ID)


def test_names_are_unique_and_say_what_is_done() -> None:
    assert len(BY_NAME) == len(ENTRIES)
    assert all(entry.says.endswith(".") for entry in ENTRIES)
    assert all(entry.report == "" or entry.report.startswith("https://") for entry in ENTRIES)
    assert all(entry.rule is None and entry.report == "" for entry in RIGHT)


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: entry.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_wrong_one_is_caught_by_its_own_rule(entry: Entry, seed: int) -> None:
    assert entry.rule is not None
    suite = suite_of(entry.make(), entry.rule)
    assert suite.rules
    for scenario in generated_scenarios(suite.capabilities, SCENARIOS, seed):
        ran, judgement = suite.judge(scenario)
        assert ran.diagnosis is None
        if judgement.findings:
            return
    pytest.fail(f"{entry.rule} never caught {entry.name}: {entry.says}")


NEVER_BLAMED: dict[str, Callable[[], Implementation]] = {
    **{entry.name: entry.make for entry in RIGHT},
    "reference, code points": lambda: Reference("code point"),
    "reference, UTF-16 units": lambda: Reference("UTF-16 unit"),
    "reference, UTF-8 bytes": lambda: Reference("UTF-8 byte"),
}


@pytest.mark.parametrize("name", NEVER_BLAMED)
def test_a_right_one_is_never_blamed(name: str) -> None:
    suite = suite_of(NEVER_BLAMED[name]())
    for scenario in generated_scenarios(suite.capabilities, UNBLAMED, 2):
        ran, judgement = suite.judge(scenario)
        assert judgement.findings == ()
        assert ran.diagnosis is None
        assert ran.unsupported is None


def test_the_right_ones_differ_in_what_the_chapters_leave_open() -> None:
    described = [entry.make().describe() for entry in RIGHT]
    assert {each.character for each in described} == {"code point", "UTF-16 unit", "UTF-8 byte"}
    assert {each.failed_compressor for each in described} == {"fails", "sends"}
    assert {each.parts for each in described} == {True, False}
    for capability in (
        "summary-shown",
        "exact-input",
        "token-trigger",
        "message-trigger",
        "configure",
        "refuses",
        "warns",
    ):
        assert {capability in each.capabilities for each in described} == {True, False}

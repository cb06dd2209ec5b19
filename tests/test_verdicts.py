"""What a run says as a whole: the exit code, the profile kept, whether the asked one is wholly applicable."""

from collections.abc import Mapping

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tercet_conformance.driver import Diagnosis
from tercet_conformance.verdicts import Report, RuleVerdict, Verdict, unbroken
from tercet_spec.rules import BY_ID, RULES, Level, Profile
from tercet_spec.vocabulary import Description

CRASH = ((Diagnosis("open", "raised RuntimeError: no"), None),)
KEPT = {rule.id: Verdict.PASS for rule in RULES}


def report(changes: Mapping[str, Verdict] = {}, **fields: object) -> Report:
    verdicts = tuple(RuleVerdict(BY_ID[rule], verdict) for rule, verdict in {**KEPT, **changes}.items())
    made = Report(Description("mine", "1"), verdicts)
    for name, value in fields.items():
        made = evolve(made, **{name: value})  # type: ignore[arg-type]
    return made


MUST, SHOULD, UNDECIDED = "cut.pairs", "send.calls-back", "cut.reaches"


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (report(), 0),
        (report({MUST: Verdict.KNOWN}), 0),
        (report({MUST: Verdict.NOT_APPLICABLE}), 0),
        (report({SHOULD: Verdict.FAIL}), 0),
        (report({SHOULD: Verdict.NOT_EXERCISED}), 0),
        (report({MUST: Verdict.FAIL}), 1),
        (report({MUST: Verdict.FAIL}, diagnoses=CRASH), 1),
        (report({MUST: Verdict.FAIL, UNDECIDED: Verdict.BLOCKED}), 1),
        (report({UNDECIDED: Verdict.NOT_EXERCISED}), 3),
        (report({UNDECIDED: Verdict.BLOCKED}), 3),
        (report({UNDECIDED: Verdict.COULD_NOT_RUN}), 3),
        (report({MUST: Verdict.NOT_APPLICABLE}, asked=Profile.SAFE), 3),
        (report({"cut.reaches": Verdict.NOT_APPLICABLE}, asked=Profile.SAFE), 0),
        (report({SHOULD: Verdict.NOT_APPLICABLE}, asked=Profile.EXACT), 0),
        (report({"key.restore": Verdict.NOT_APPLICABLE}, asked=Profile.DURABLE), 0),
        (report({"key.block": Verdict.NOT_APPLICABLE}, asked=Profile.DURABLE), 3),
        (report(diagnoses=CRASH), 4),
        (report({UNDECIDED: Verdict.BLOCKED}, diagnoses=CRASH), 4),
        (report({MUST: Verdict.FAIL}, interrupted=True), 130),
    ],
)
def test_the_exit_code_is_the_first_that_holds(made: Report, code: int) -> None:
    assert made.exit_code == code


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, Profile.DURABLE),
        ({"cut.reaches": Verdict.FAIL}, Profile.BOUNDED),
        ({"bound.sent": Verdict.NOT_APPLICABLE}, Profile.SAFE),
        ({"bound.sent": Verdict.KNOWN}, Profile.DURABLE),
        ({"cut.pairs": Verdict.BLOCKED}, None),
        ({"send.calls-back": Verdict.FAIL}, Profile.DURABLE),
        ({"key.block": Verdict.NOT_APPLICABLE}, Profile.EXACT),
        ({"key.restore": Verdict.NOT_APPLICABLE, "cut.pending": Verdict.NOT_APPLICABLE}, Profile.DURABLE),
        ({"key.restore": Verdict.FAIL}, Profile.EXACT),
    ],
)
def test_the_strongest_profile_kept_has_every_must_of_it(changes: dict[str, Verdict], kept: Profile | None) -> None:
    assert report(changes).kept is kept


def test_of_some_rules_alone_no_profile_is_said() -> None:
    some = evolve(report(), verdicts=report().verdicts[1:])
    assert some.kept is not Profile.DURABLE
    assert evolve(report(), verdicts=()).kept is None
    assert not some.is_whole


@given(st.dictionaries(st.sampled_from(sorted(BY_ID)), st.sampled_from(Verdict)), st.sampled_from(sorted(BY_ID)))
def test_a_failure_more_never_betters_a_run(changes: dict[str, Verdict], rule: str) -> None:
    before, after = report(changes), report({**changes, rule: Verdict.FAIL})
    assert (after.kept or 0) <= (before.kept or 0)
    if BY_ID[rule].level is Level.MUST:
        assert after.exit_code == 1


@pytest.mark.parametrize(
    ("broken", "said"),
    [(["a"], "broken: a"), (["a", "b", "c"], "broken: a, b, c"), (list("abcde"), "broken: a, b, c and 2 more")],
)
def test_a_blocked_rule_names_three_that_are_broken(broken: list[str], said: str) -> None:
    verdict = unbroken(BY_ID[MUST], {"a cut": 0}, broken, went_wrong=False)
    assert verdict.verdict is Verdict.BLOCKED
    assert verdict.reason == f"never reached: a cut; {said}"

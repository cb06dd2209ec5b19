"""The algebra of verdicts: how reports combine, what a baseline changes, and which exit code follows from what."""

from collections.abc import Collection, Sequence
from io import StringIO
from itertools import product

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tercet_conformance import verdicts as verdicts_module
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.baseline import apply
from tercet_conformance.check import Plan, check
from tercet_conformance.combination import combined
from tercet_conformance.driver import Diagnosis
from tercet_conformance.report import print_report
from tercet_conformance.search import BUDGETS, Budget
from tercet_conformance.verdicts import (
    BROKEN,
    STRONGER,
    Counterexample,
    KnownFailure,
    Report,
    RuleVerdict,
    Verdict,
    enough_for,
    keeps,
    marked,
    unbroken,
)
from tercet_spec.judgement import Finding
from tercet_spec.moments import Configured
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID, RULES, AnyRule, Profile, Violation
from tercet_spec.vocabulary import Configuration, Description, Trigger

DESCRIPTION = Description("mine", "1")
SCENARIO = scenario_of(parse("limit 3 keep 1: u a u a"))
MOMENT = Configured(DESCRIPTION, Configuration(Trigger("messages", 3), keep_recent=1))
MUST, SHOULD = "cut.pairs", "send.calls-back"
SOME = [BY_ID[rule] for rule in ("trigger.quiet", MUST, "bound.sent", SHOULD, "config.keep-recent")]
SEEN = ("one", "other", "third")
CRASHES = [(Diagnosis("open", f"raised {name}"), scenario) for name in ("A", "B") for scenario in (None, SCENARIO)]
ENTRIES = [
    KnownFailure(rule.id, kind, f"{rule.id} {signature}", signature=signature)  # type: ignore[arg-type]
    for rule in SOME
    for kind, signature in (("bug", "one"), ("flaky", "other"))
]
RULE_IDS = st.sampled_from([rule.id for rule in SOME])
BASELINES = st.lists(st.sampled_from(ENTRIES), unique=True)


def example(rule: AnyRule, seen: str = "one") -> Counterexample:
    return Counterexample(SCENARIO, Finding(rule, Violation("none", seen), MOMENT))


@st.composite
def reports(draw: st.DrawFn, least: int = 1, *, same_rules: bool = False) -> list[Report]:
    """Draw reports of one implementation, each as a check makes it: other rules, seeds, budgets and luck."""
    lacking = draw(st.sets(RULE_IDS, max_size=2))
    every = draw(st.sets(RULE_IDS, min_size=1))
    number = draw(st.integers(least, 4))
    drawn = []
    for seed in draw(st.permutations(range(number))):
        rules = every if same_rules else draw(st.sets(RULE_IDS))
        drawn.append(draw(one_report(seed, [rule for rule in SOME if rule.id in rules], lacking)))
    return drawn


@st.composite
def one_report(draw: st.DrawFn, seed: int, rules: Sequence[AnyRule], lacking: Collection[str]) -> Report:
    """Draw the report of one run."""
    judged = [rule for rule in rules if rule.id not in lacking]
    broken = [rule.id for rule in judged if draw(st.integers(0, 3)) == 0]
    crashes = draw(st.lists(st.sampled_from(CRASHES), unique=True, max_size=2)) if draw(st.booleans()) else []
    said = []
    for rule in rules:
        reached = {situation: draw(st.sampled_from((0, 1, 2, 3, 5, 9))) for situation in rule.situations}
        if rule.id in lacking:
            said.append(RuleVerdict(rule, Verdict.NOT_APPLICABLE, reason="not declared: bound"))
        elif rule.id in broken:
            seen = draw(st.lists(st.sampled_from(SEEN), min_size=1, unique=True))
            following = draw(st.sampled_from((None, "cut.pairs", "cut.reaches")))
            said.append(
                RuleVerdict(rule, Verdict.FAIL, reached, tuple(example(rule, each) for each in seen), following)
            )
        else:
            said.append(unbroken(rule, reached, broken, went_wrong=bool(crashes)))
    return Report(
        description=DESCRIPTION,
        verdicts=tuple(said),
        diagnoses=tuple(crashes),
        scenarios=draw(st.integers(0, 99)),
        unsupported=draw(st.integers(0, 9)),
        steps=draw(st.integers(0, 999)),
        seconds=float(draw(st.integers(0, 99))),
        seeds=(seed,),
        budget=draw(st.sampled_from(("quick", "standard"))),
        asked=draw(st.none() | st.sampled_from((Profile.SAFE, Profile.EXACT))),
        interrupted=draw(st.integers(0, 5)) == 0,
    )


def unordered(report: Report) -> Report:
    """Put in one order what has none."""
    verdicts = tuple(
        marked(evolve(each, counterexamples=tuple(sorted(each.counterexamples, key=repr))))
        if each.verdict in BROKEN
        else each
        for each in report.verdicts
    )
    return evolve(
        report,
        verdicts=verdicts,
        diagnoses=tuple(sorted(report.diagnoses, key=repr)),
        baseline=tuple(sorted(report.baseline, key=repr)),
    )


def rules_of(report: Report, *verdicts: Verdict) -> set[str]:
    return {each.rule.id for each in report.verdicts if each.verdict in verdicts}


@given(reports(least=2), BASELINES, st.data())
def test_which_reports_are_combined_first_changes_nothing(
    drawn: list[Report], baseline: list[KnownFailure], data: st.DataObject
) -> None:
    drawn = [apply(baseline, each) for each in drawn]
    cut = data.draw(st.integers(1, len(drawn) - 1))
    assert combined([combined(drawn[:cut]), combined(drawn[cut:])]) == combined(drawn)


@given(reports(), BASELINES, st.data())
def test_the_order_of_reports_changes_only_the_order_of_what_is_listed(
    drawn: list[Report], baseline: list[KnownFailure], data: st.DataObject
) -> None:
    drawn = [apply(baseline, each) for each in drawn]
    shuffled = data.draw(st.permutations(drawn))
    assert unordered(combined(shuffled)) == unordered(combined(drawn))


@given(reports(), BASELINES)
def test_a_report_alone_or_with_an_empty_one_stays_as_it_is(drawn: list[Report], baseline: list[KnownFailure]) -> None:
    one, empty = apply(baseline, drawn[0]), Report(DESCRIPTION, ())
    assert combined([one]) == combined([empty, one]) == combined([one, empty]) == one


@given(reports(), BASELINES)
def test_a_baseline_may_be_applied_before_or_after(drawn: list[Report], baseline: list[KnownFailure]) -> None:
    after = apply(baseline, combined(drawn))
    assert combined([apply(baseline, each) for each in drawn]) == after
    assert apply(baseline, after) == after


@given(reports())
def test_what_breaks_once_is_broken_and_what_passes_once_else_passes(drawn: list[Report]) -> None:
    together = combined(drawn)
    failing = set[str]().union(*(rules_of(each, Verdict.FAIL) for each in drawn))
    passing = set[str]().union(*(rules_of(each, Verdict.PASS) for each in drawn))
    assert rules_of(together, Verdict.FAIL) == failing
    assert rules_of(together, Verdict.PASS) >= passing - failing
    assert rules_of(together, *Verdict) == set[str]().union(*(rules_of(each, *Verdict) for each in drawn))


@given(reports(), BASELINES)
def test_what_is_known_in_one_run_and_fails_in_another_fails(drawn: list[Report], baseline: list[KnownFailure]) -> None:
    applied = [apply(baseline, drawn[0]), *drawn[1:]]
    failing = set[str]().union(*(rules_of(each, Verdict.FAIL) for each in applied))
    known = set[str]().union(*(rules_of(each, Verdict.KNOWN) for each in applied))
    assert rules_of(combined(applied), Verdict.FAIL) == failing
    assert rules_of(combined(applied), Verdict.KNOWN) == known - failing


@given(reports())
def test_situations_are_counted_together(drawn: list[Report]) -> None:
    for verdict in combined(drawn).verdicts:
        parts = [each for report in drawn for each in report.verdicts if each.rule is verdict.rule]
        for situation in verdict.reached:
            assert verdict.reached[situation] == sum(each.reached[situation] for each in parts)
        if verdict.verdict is Verdict.PASS:
            assert all(times >= enough_for(verdict.rule) for times in verdict.reached.values())


@given(reports())
def test_no_run_is_bettered_by_another_but_where_it_saw_too_little(drawn: list[Report]) -> None:
    together = combined(drawn)
    codes = {each.exit_code for each in drawn}
    if 130 in codes:
        assert together.exit_code == 130
    elif 1 in codes:
        assert together.exit_code == 1
    elif 4 in codes:
        assert together.exit_code == 4
    if together.exit_code == 0:
        assert codes <= {0, 3}
    for each in drawn:
        for verdict in each.verdicts:
            if verdict.is_broken_must:
                assert (together.kept or 0) < verdict.rule.profile


@given(reports())
def test_the_strongest_profile_of_those_asked_for_is_asked_for(drawn: list[Report]) -> None:
    assert (combined(drawn).asked or 0) == max(each.asked or 0 for each in drawn)


@given(reports(same_rules=True), BASELINES)
def test_runs_that_all_end_well_end_well_together(drawn: list[Report], baseline: list[KnownFailure]) -> None:
    well = [apply(baseline, each) for each in drawn if apply(baseline, each).exit_code == 0]
    if well:
        assert combined(well).exit_code == 0 or max(each.asked or 0 for each in well) > min(
            each.asked or 0 for each in well
        )


@given(reports(), BASELINES)
def test_a_baseline_changes_no_rule_that_it_does_not_list(drawn: list[Report], baseline: list[KnownFailure]) -> None:
    (before, *_) = drawn
    after = apply(baseline, before)
    listed = {entry.rule for entry in baseline}
    for one, other in zip(before.verdicts, after.verdicts, strict=True):
        if one.rule.id not in listed or one.verdict is not Verdict.FAIL:
            assert one == other
        assert (one.verdict is other.verdict) or (one.verdict, other.verdict) == (Verdict.FAIL, Verdict.KNOWN)
        assert {each.finding.violation.seen for each in one.counterexamples} == {
            each.finding.violation.seen for each in other.counterexamples
        }
    assert rules_of(after, Verdict.FAIL) <= rules_of(before, Verdict.FAIL)


@given(reports(), BASELINES)
def test_an_entry_is_used_or_idle_or_of_a_rule_that_was_not_decided(
    drawn: list[Report], baseline: list[KnownFailure]
) -> None:
    report = apply(baseline, combined(drawn))
    used = {each.known for verdict in report.verdicts for each in verdict.counterexamples if each.known}
    open_rules = set(BY_ID) - rules_of(report, *BROKEN, Verdict.PASS, Verdict.NOT_APPLICABLE)
    undecided = {entry for entry in baseline if report.interrupted or entry.rule in open_rules}
    assert set(baseline) - used - undecided == set(report.idle) - used
    assert not used & set(report.idle)
    assert set(report.stale) <= set(report.idle)


@given(st.dictionaries(st.sampled_from(sorted(BY_ID)), st.sampled_from(Verdict)))
def test_who_keeps_a_profile_keeps_the_weaker_ones(changes: dict[str, Verdict]) -> None:
    verdicts = [RuleVerdict(rule, changes.get(rule.id, Verdict.PASS)) for rule in RULES]
    kept = [keeps(verdicts, profile) for profile in STRONGER]
    assert kept == sorted(kept, reverse=True)


@given(st.dictionaries(st.sampled_from(sorted(BY_ID)), st.sampled_from(Verdict)))
def test_what_hooks_do_is_no_part_of_the_other_profiles(changes: dict[str, Verdict]) -> None:
    verdicts = [RuleVerdict(rule, changes.get(rule.id, Verdict.PASS)) for rule in RULES]
    others = [each for each in verdicts if each.rule.family != "hooks"]
    assert [keeps(verdicts, profile) for profile in STRONGER] == [keeps(others, profile) for profile in STRONGER]
    hooks = [each for each in verdicts if each.rule.family == "hooks"]
    assert keeps(verdicts, Profile.HOOKS) == keeps(hooks, Profile.HOOKS)


@pytest.mark.parametrize(
    ("went_wrong", "broken", "verdict"),
    [
        (False, [], Verdict.NOT_EXERCISED),
        (False, [SHOULD], Verdict.BLOCKED),
        (True, [], Verdict.COULD_NOT_RUN),
        (True, [SHOULD], Verdict.COULD_NOT_RUN),
    ],
)
def test_why_a_rule_was_seldom_reached_is_said(went_wrong: bool, broken: list[str], verdict: Verdict) -> None:
    first, *rest = BY_ID["compress.failure"].situations
    said = unbroken(BY_ID["compress.failure"], {first: 4, **dict.fromkeys(rest, 0)}, broken, went_wrong=went_wrong)
    assert said.verdict is verdict
    assert said.reason.startswith(f"never reached: {'; '.join(rest)}; seldom reached: {first} (4 of 5 times)")
    assert "(0 of" not in said.reason
    enough = unbroken(BY_ID["compress.failure"], dict.fromkeys([first, *rest], 5), broken, went_wrong=went_wrong)
    assert (enough.verdict, enough.reason) == (Verdict.PASS, "")


def test_two_runs_that_each_saw_too_little_may_have_seen_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs() -> list[Report]:
        return [check(Reference(), Plan("quick", seed, frozenset({MUST}), saved=False)) for seed in (0, 1)]

    monkeypatch.setitem(BUDGETS, "quick", Budget(bursts=40, examples=1, whole=0))
    most = max(min(each.verdicts[0].reached.values()) for each in runs())
    monkeypatch.setattr(verdicts_module, "ENOUGH", most + 1)
    one, other = runs()
    assert [each.verdicts[0].verdict for each in (one, other)] == [Verdict.NOT_EXERCISED] * 2
    together = combined([one, other])
    assert (together.verdicts[0].verdict, together.exit_code) == (Verdict.PASS, 0)
    assert (together.scenarios, together.seeds) == (one.scenarios + other.scenarios, (0, 1))
    console = Console(file=StringIO(), width=200)
    print_report(together, "reference", console)
    assert isinstance(console.file, StringIO)
    assert "· quick budget, seeds 0, 1\n" in console.file.getvalue()


def test_what_cannot_be_combined_is_said() -> None:
    one = Report(DESCRIPTION, (), seeds=(3,))
    with pytest.raises(ValueError, match="there is no report to combine"):
        combined([])
    with pytest.raises(ValueError, match="reports of mine 1 and mine 2 are not combined"):
        combined([one, Report(Description("mine", "2"), (), seeds=(4,))])
    with pytest.raises(ValueError, match="several runs have seed 3"):
        combined([one, one])


CASES = "broken MUST", "broken SHOULD", "known", "stale", "undecided", "diagnosis", "interrupted", "lacking"
CODES = (
    (130, {"interrupted"}),
    (1, {"broken MUST", "stale"}),
    (4, {"diagnosis"}),
    (3, {"undecided", "lacking"}),
)
"""The first that holds, else 0."""
CHANGES = {
    "broken MUST": RuleVerdict(BY_ID[MUST], Verdict.FAIL, counterexamples=(example(BY_ID[MUST]),)),
    "broken SHOULD": RuleVerdict(BY_ID[SHOULD], Verdict.FAIL, counterexamples=(example(BY_ID[SHOULD]),)),
    "known": RuleVerdict(BY_ID["cut.reaches"], Verdict.FAIL, counterexamples=(example(BY_ID["cut.reaches"]),)),
    "undecided": RuleVerdict(BY_ID["trigger.quiet"], Verdict.NOT_EXERCISED),
    "lacking": RuleVerdict(BY_ID["send.nothing-lost"], Verdict.NOT_APPLICABLE),
}
LISTED = {
    "known": KnownFailure("cut.reaches", "bug", "So."),
    "stale": KnownFailure("cut.keeps-recent", "wont-fix", "So."),
}


@pytest.mark.parametrize("holds", list(product((False, True), repeat=len(CASES))))
def test_the_exit_code_is_the_tables(holds: tuple[bool, ...]) -> None:
    case = {name for name, is_so in zip(CASES, holds, strict=True) if is_so}
    changed = {change.rule.id: change for name, change in CHANGES.items() if name in case}
    report = Report(
        description=DESCRIPTION,
        verdicts=tuple(changed.get(rule.id, RuleVerdict(rule, Verdict.PASS)) for rule in RULES),
        diagnoses=tuple(CRASHES[:1]) if "diagnosis" in case else (),
        asked=Profile.SAFE,
        interrupted="interrupted" in case,
    )
    applied = apply([entry for name, entry in LISTED.items() if name in case], report)
    assert applied.exit_code == next((code for code, reasons in CODES if case & reasons), 0)

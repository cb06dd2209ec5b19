"""A check searches, compares the roads of an adapter, shrinks what broke, and says a verdict for each rule."""

import pytest
from attrs import evolve

from stand_ins import Changed, Dropping, Passing, Raising
from tercet_conformance import check as check_module
from tercet_conformance import verdicts
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.check import Plan, check
from tercet_conformance.gallery import ENTRIES
from tercet_conformance.machine import explore
from tercet_conformance.macros import burst, refusals
from tercet_conformance.requirements import needs
from tercet_conformance.search import BUDGETS, Budget, generated_loops, generated_scenarios, saved_scenarios
from tercet_conformance.suite import applicable
from tercet_conformance.verdicts import Report, RuleVerdict, Verdict
from tercet_spec.rules import RULES, Profile
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import ALL_CAPABILITIES, Capability, Description

QUICK = Plan(budget="quick")


def verdict(report: Report, rule: str) -> RuleVerdict:
    return next(each for each in report.verdicts if each.rule.id == rule)


def test_the_reference_keeps_every_rule() -> None:
    report = check(Reference(), QUICK)
    assert {each.rule.id: each.verdict for each in report.verdicts} == {rule.id: Verdict.PASS for rule in RULES}
    assert (report.kept, report.exit_code) == (Profile.DURABLE, 0)
    assert all(times > 0 for each in report.verdicts for times in each.reached.values())


def test_a_broken_rule_comes_with_its_smallest_thread() -> None:
    report = check(Changed(Dropping), QUICK)
    broken = verdict(report, "send.system-first")
    assert broken.verdict is Verdict.FAIL
    assert broken.counterexamples
    assert len(broken.counterexamples[0].scenario.operations) <= 2
    assert (report.kept, report.exit_code) == (None, 1)


def test_only_the_rules_that_were_asked_for_are_reported() -> None:
    report = check(Changed(Dropping), evolve(QUICK, only=frozenset({"cut.pairs"})))
    assert [each.rule.id for each in report.verdicts] == ["cut.pairs"]
    assert report.exit_code == 0


def test_a_rule_whose_needs_are_not_declared_is_not_applicable() -> None:
    report = check(Changed(fewer=frozenset({"bound", "configure"})), QUICK)
    sent = verdict(report, "bound.sent")
    assert sent.verdict is Verdict.NOT_APPLICABLE
    assert "bound" in sent.reason
    assert report.kept is Profile.SAFE
    assert report.exit_code == 0
    asked = check(Changed(fewer=frozenset({"bound"})), evolve(QUICK, profile=Profile.BOUNDED))
    assert asked.exit_code == 3


def test_an_implementation_that_raises_is_diagnosed_and_the_rules_that_it_starves_do_not_pass() -> None:
    report = check(Changed(Raising), QUICK)
    assert any("tools are not supported" in diagnosis.problem for diagnosis, _ in report.diagnoses)
    assert verdict(report, "cut.pairs").verdict is Verdict.COULD_NOT_RUN
    assert verdict(report, "config.keep-recent").verdict is Verdict.PASS
    assert not [each for each in report.verdicts if each.verdict is Verdict.FAIL]
    assert report.exit_code == 4


def test_roads_that_give_other_verdicts_are_a_fault_of_the_adapter() -> None:
    report = check(Changed(whole=Dropping), QUICK)
    assert [diagnosis.operation for diagnosis, _ in report.diagnoses] == ["both roads"]
    assert "send.system-first" in report.diagnoses[0][0].problem
    assert report.exit_code == 4


def test_roads_that_agree_are_no_news() -> None:
    report = check(Changed(whole=Passing), QUICK)
    assert report.diagnoses == ()
    assert report.exit_code == 0


def test_a_rule_that_needs_what_only_the_whole_road_does_is_judged_there() -> None:
    report = check(Changed(whole=Passing, fewer=frozenset({"model-step", "suspend"})), QUICK)
    assert verdict(report, "key.commits-with-step").verdict is Verdict.PASS


@pytest.mark.parametrize("rule", ["cut.pairs", "key.commits-with-step"])
def test_what_saved_scenarios_alone_reach_is_not_exercised(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setattr(check_module, "generated_scenarios", lambda *_: iter(()))
    monkeypatch.setattr(check_module, "explore", lambda *_: None)
    plan = evolve(QUICK, only=frozenset({rule}))
    report = check(Changed(whole=Passing, fewer=frozenset({"model-step", "suspend"})), plan)
    assert report.scenarios > 0
    assert verdict(report, rule).verdict is Verdict.NOT_EXERCISED
    assert verdict(report, rule).reason.startswith("never reached: ")
    assert "of 5 times" not in verdict(report, rule).reason
    assert report.exit_code == 3


def test_what_saved_scenarios_alone_break_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "generated_scenarios", lambda *_: iter(()))
    monkeypatch.setattr(check_module, "explore", lambda *_: None)
    entry = next(entry for entry in ENTRIES if entry.rule == "cut.pairs")
    assert check(entry.make(), evolve(QUICK, only=frozenset({"cut.pairs"}))).exit_code == 1


@pytest.mark.parametrize(("whole", "longer"), [(40, True), (300, False)])
def test_the_whole_road_is_searched_longer_only_while_something_is_reached_too_seldom(
    monkeypatch: pytest.MonkeyPatch, whole: int, longer: bool
) -> None:
    monkeypatch.setitem(BUDGETS, "quick", Budget(bursts=0, examples=1, whole=whole))
    names: list[str] = []
    plan = evolve(QUICK, only=frozenset({"key.commits-with-step"}))
    split = Changed(whole=Passing, fewer=frozenset({"model-step", "suspend"}))
    assert check(split, plan, lambda what, *_: names.append(what)).exit_code == 0
    assert (0 < names.count("the whole road, longer") < 5 * whole) == longer


def test_an_interrupted_check_reports_what_was_found_until_then() -> None:
    seen = 0

    def interrupt(what: str, done: int, total: int) -> None:
        nonlocal seen
        seen += 1
        if seen == 150:
            raise KeyboardInterrupt

    report = check(Changed(Dropping), QUICK, interrupt)
    assert report.interrupted
    assert report.exit_code == 130
    assert verdict(report, "send.system-first").verdict is Verdict.FAIL
    assert 0 < report.scenarios < 200


def test_an_interrupt_while_shrinking_keeps_the_counterexample_as_it_is() -> None:
    shrinking = False

    def interrupt(what: str, done: int, total: int) -> None:
        nonlocal shrinking
        if what.startswith("shrinking") and not shrinking:
            shrinking = True
            raise KeyboardInterrupt

    report = check(Changed(Dropping), QUICK, interrupt)
    assert report.exit_code == 130
    assert verdict(report, "send.system-first").counterexamples


def test_a_rule_that_was_seldom_reached_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "ENOUGH", 10**9)
    report = check(Reference(), evolve(QUICK, only=frozenset({"cut.pairs"})))
    assert verdict(report, "cut.pairs").verdict is Verdict.NOT_EXERCISED
    assert report.exit_code == 3
    blocked = check(Changed(Dropping), evolve(QUICK, only=frozenset({"cut.pairs", "send.system-first"})))
    assert verdict(blocked, "cut.pairs").verdict is Verdict.BLOCKED


def test_the_same_seed_gives_the_same_report() -> None:
    one, other = (check(Changed(Dropping), QUICK) for _ in range(2))
    assert evolve(one, seconds=0) == evolve(other, seconds=0)
    assert one.scenarios == other.scenarios


def test_seeds_give_scenarios_of_their_own_and_saved_ones_stay() -> None:
    zero, one = (list(generated_scenarios(ALL_CAPABILITIES, 50, seed)) for seed in (0, 1))
    assert zero == list(generated_scenarios(ALL_CAPABILITIES, 50, 0))
    same = len(refusals(ALL_CAPABILITIES))
    assert zero[:same] == one[:same]
    assert not any(scenario in one for scenario in zero[same:])
    assert saved_scenarios(ALL_CAPABILITIES)


def test_no_thread_is_generated_where_no_trigger_is_declared_and_no_rule_of_threads_applies() -> None:
    only_a_loop: frozenset[Capability] = frozenset({"hooks", "tools"})
    drawn: list[Scenario] = []
    explore(only_a_loop, drawn.append, 3, 0)
    assert [*drawn, *generated_scenarios(only_a_loop, 9, 0), *saved_scenarios(only_a_loop)] == []
    loops = list(generated_loops(only_a_loop, 100, 0))
    assert all(needs(scenario) <= only_a_loop for scenario in loops)
    assert {rule.family for rule in applicable(RULES, Description("a loop", "1", capabilities=only_a_loop))} == {
        "hooks"
    }


def test_nothing_is_generated_that_needs_what_is_not_declared() -> None:
    fewer: frozenset[Capability] = frozenset({"message-trigger"})
    for seed in range(300):
        scenario = burst(fewer, seed)
        assert needs(scenario) <= fewer

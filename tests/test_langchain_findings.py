"""What the suite finds in LangChain's middleware: faults that are known from its public reports, among others."""

import pytest

pytest.importorskip("langchain", reason="langchain is not installed")
from attrs import evolve

from tercet_conformance.adapters.langchain import LangChain, implementation
from tercet_conformance.check import Plan, check
from tercet_conformance.drawing import draw
from tercet_conformance.replaying import replay
from tercet_conformance.tidiness import is_sane, is_well_formed, messages_of
from tercet_conformance.verdicts import Verdict
from tercet_spec.notation import line_of, parse, scenario_of
from tercet_spec.rules import BY_ID, RULES

STRANDED = "a(x) | a(y) t(x) t(y)"
"""The cut of langchain#38352: a result is sent without its call."""


def fast_road() -> LangChain:
    return evolve(implementation(), whole=None)


@pytest.mark.parametrize("seed", range(10))
def test_cuts_that_part_a_result_from_its_call_are_found_on_every_seed(seed: int) -> None:
    report = check(fast_road(), Plan(seed=seed, only=frozenset({"cut.pairs"}), saved=False))
    (pairs,) = report.verdicts
    drawn = {drawing.line for example in pairs.counterexamples if (drawing := draw(example.finding))}
    assert len(drawn) >= 2
    assert STRANDED in drawn
    for example in pairs.counterexamples:
        assert is_well_formed(example.scenario)
        assert is_sane(example.scenario)
        assert len(messages_of(example.scenario)) <= 6
        assert line_of(example.scenario) is not None


def test_the_reported_thread_breaks_cut_pairs() -> None:
    report = replay(fast_road(), scenario_of(parse("limit 5 keep 3: u a(x) a(y) t(x) t(y) u")), RULES)
    assert "cut.pairs" in {each.rule.id for each in report.verdicts if each.verdict is Verdict.FAIL}


def test_both_roads_agree_and_the_whole_one_judges_what_needs_the_model_step() -> None:
    report = check(implementation(), Plan(budget="quick", shrinks=0))
    assert report.diagnoses == ()
    verdicts = {each.rule.id: each.verdict for each in report.verdicts}
    assert {verdicts["cut.pairs"], verdicts["key.commits-with-step"]} == {Verdict.FAIL}
    assert report.exit_code == 1


def test_what_the_library_cannot_do_is_not_applicable() -> None:
    report = check(fast_road(), Plan(budget="quick", only=frozenset({"bound.sent", "config.thrash"})))
    assert {each.verdict for each in report.verdicts} == {Verdict.NOT_APPLICABLE}
    assert BY_ID["bound.sent"] in [each.rule for each in report.verdicts]

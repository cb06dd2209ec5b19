"""The pytest plugin: one test a rule, failing where the run's exit code would; under xdist the same."""

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from tercet_conformance import rule_tests
from tercet_conformance.driver import Diagnosis
from tercet_conformance.rule_tests import BESIDE
from tercet_conformance.verdicts import Counterexample, Report, RuleVerdict, Verdict
from tercet_spec.judgement import Finding
from tercet_spec.moments import Configured
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import RULES, Violation
from tercet_spec.vocabulary import Description

NOTHING = """
from tercet_spec.vocabulary import Description

class Nothing:
    def describe(self):
        return Description("nothing", "1", capabilities=frozenset({"message-trigger"}))

    def open(self, configuration, host):
        raise RuntimeError("no session")
"""
SCENARIO = scenario_of(parse("limit 3 keep 1: u a u"))


def verdict_of(rule: str) -> RuleVerdict:
    """Say something else of each kind of rule: broken, undecided, not applicable, else passed."""
    found = next(each for each in RULES if each.id == rule)
    moment = Configured(Description("mine", "1"), SCENARIO.configuration)
    broken = (Counterexample(SCENARIO, Finding(found, Violation("this", "that"), moment)),)
    if rule in ("cut.pairs", "send.calls-back"):
        return RuleVerdict(found, Verdict.FAIL, counterexamples=broken)
    if rule == "bound.sent":
        return RuleVerdict(found, Verdict.NOT_EXERCISED, reason="never reached: it")
    if rule == "bound.stored":
        return RuleVerdict(found, Verdict.NOT_APPLICABLE, reason="not declared: bound")
    return RuleVerdict(found, Verdict.PASS)


def report(*diagnoses: Diagnosis, interrupted: bool = False) -> Report:
    return Report(
        Description("mine", "1"),
        tuple(verdict_of(rule.id) for rule in RULES),
        tuple((diagnosis, SCENARIO) for diagnosis in diagnoses),
        interrupted=interrupted,
    )


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run pytest in an empty folder over what a search is said to have found."""

    def run_over(found: Report | Exception, *arguments: str) -> pytest.RunResult:
        searches: list[object] = []

        def search(*_: object, **__: object) -> Report:
            searches.append(None)
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(rule_tests, "check", search)
        ran = pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "--tercet-implementation=reference", *arguments, no_reraise_ctrlc=True
        )
        assert len(searches) <= 1
        return ran

    return run_over


def test_a_rule_is_a_test_and_ends_as_its_verdict_says(run: Callable[..., pytest.RunResult]) -> None:
    ran = run(report(), "-rA")
    ran.assert_outcomes(failed=2, xfailed=1, skipped=1, passed=len(RULES) + 1 - 4)
    said = ran.stdout.str()
    assert "cut.pairs is broken: MUST, profile safe" in said
    assert "To see one again: tercet replay 'limit 3 keep 1: u a u' reference" in said
    assert "send.calls-back - a SHOULD is broken: limit 3 keep 1: u a u" in said
    assert "not exercised: never reached: it" in said
    assert "not applicable: not declared: bound" in said
    assert "Traceback" not in said
    assert ran.ret == pytest.ExitCode.TESTS_FAILED


def test_what_goes_wrong_beside_the_rules_is_a_test_of_its_own(run: Callable[..., pytest.RunResult]) -> None:
    ran = run(report(Diagnosis("operation 2, step", "raised RuntimeError: no")), "-k", BESIDE.split()[0])
    ran.assert_outcomes(failed=1, deselected=len(RULES))
    assert "raised RuntimeError: no" in ran.stdout.str()


def test_rules_are_chosen_like_other_tests(run: Callable[..., pytest.RunResult]) -> None:
    run(report(), "-k", "key.through or key.forward").assert_outcomes(passed=2, deselected=len(RULES) - 1)


def test_other_tests_run_beside_them(run: Callable[..., pytest.RunResult], pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_own(): pass")
    run(report(), "-k", "test_own or key.through").assert_outcomes(passed=2, deselected=len(RULES))


def test_a_search_that_was_interrupted_interrupts_the_run(run: Callable[..., pytest.RunResult]) -> None:
    assert run(report(interrupted=True)).ret == pytest.ExitCode.INTERRUPTED


def test_a_fault_of_the_suite_is_shown_and_waited_for_once(run: Callable[..., pytest.RunResult]) -> None:
    ran = run(ValueError("a fault"))
    ran.assert_outcomes(failed=len(RULES) + 1)
    assert ran.stdout.str().count("ValueError: a fault") == 2


def test_junit_has_a_case_a_rule(run: Callable[..., pytest.RunResult], pytester: pytest.Pytester) -> None:
    run(report(), "--junitxml=found.xml")
    suite = ElementTree.parse(pytester.path / "found.xml").getroot()
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == [*(rule.id for rule in RULES), BESIDE]
    assert {name for name, case in cases.items() if case.find("failure") is not None} == {"cut.pairs", "bound.sent"}
    failure = cases["cut.pairs"].find("failure")
    assert failure is not None
    assert "limit 3 keep 1: u a u" in (failure.text or "")


def test_without_the_option_there_is_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_imported():
            assert not any(name in sys.modules for name in ("tercet_spec", "tercet_conformance.check"))
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refrence", "'refrence' is neither a bundled name nor module:factory; did you mean reference?"),
        ("no_such_module:Mine", "cannot import no_such_module"),
    ],
)
def test_an_implementation_that_there_is_not_is_a_wrong_usage(pytester: pytest.Pytester, name: str, said: str) -> None:
    ran = pytester.runpytest_subprocess("--tercet-implementation", name)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert said in ran.stderr.str()
    assert "Traceback" not in ran.stderr.str()


def test_a_real_search_ends_the_same_in_every_process(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(mine=NOTHING, test_own="def test_own(): pass")
    ended = []
    for workers in ((), ("-n", "2")):
        ran = pytester.runpytest_subprocess("--tercet-implementation=mine:Nothing", "-rfs", *workers)
        assert ran.ret == pytest.ExitCode.TESTS_FAILED
        ended.append(sorted(line for line in ran.outlines if line.startswith(("FAILED", "SKIPPED"))))
    assert any(line.startswith("FAILED tercet::cut.pairs - could not run") for line in ended[0])
    assert any(line.startswith("FAILED tercet::beside the rules") for line in ended[0])
    assert ended[0] == ended[1]

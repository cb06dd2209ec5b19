"""The tests that the pytest plugin adds: one a rule, and one of what goes wrong beside the rules.

The search is made once, with the standard budget and seed 0, when the first of them runs; under
pytest-xdist once in each process that runs some of them, which see the same.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tercet_conformance.check import Plan, check
from tercet_conformance.loading import LoadingError, load
from tercet_conformance.report import in_notation, print_broken, print_diagnoses, remark
from tercet_conformance.reports.texts import plain
from tercet_conformance.verdicts import EXIT_FAULT, Report, RuleVerdict, Verdict
from tercet_spec.rules import RULES

BESIDE = "beside the rules"


class Unkept(Exception):
    """Raised by the test of a rule that is broken or undecided; its text is the failure's."""


class RuleTests:
    """Adds the tests of one implementation to a run; raises UsageError where there is no such implementation."""

    def __init__(self, name: str) -> None:
        try:
            self.implementation = load(name)
        except LoadingError as error:
            raise pytest.UsageError(str(error)) from error
        self.name = name
        self.made: Report | None = None
        self.fault = ""

    def pytest_report_header(self) -> str:
        """Say what is checked, and why the first rule takes long."""
        return f"tercet: {self.name}, standard budget, seed 0; the first rule waits for the search"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the tests, before what others choose among all of them."""
        items += Rules.from_parent(session, name="tercet", nodeid="tercet", tests=self).collect()

    def report(self) -> Report:
        """What the search says; raises KeyboardInterrupt where it was interrupted, and once what it raised."""
        if self.fault:
            raise Unkept(f"the search failed: {self.fault}")
        if self.made is None:
            self.fault = "see the first of these tests"
            self.made = check(self.implementation, Plan(), abandon=self.abandon)
            self.fault = ""
        if self.made.interrupted:
            raise KeyboardInterrupt
        return self.made

    def abandon(self, report: Report) -> None:
        """End the process: a call into the implementation hangs and lets nobody end it."""
        print(self.told_of(report), file=sys.__stderr__, flush=True)
        os._exit(EXIT_FAULT)

    def told_of(self, report: Report) -> str:
        """Write what went wrong beside the rules."""
        return plain(lambda printer: print_diagnoses(report.diagnoses, self.name, printer, debug=True))

    def broken_by(self, verdict: RuleVerdict) -> str:
        """Write how a rule is broken."""
        return plain(lambda printer: print_broken(verdict, printer, self.name))


class Rules(pytest.Collector):
    """The tests of one implementation."""

    def __init__(self, *, tests: RuleTests, **rest: Any) -> None:
        super().__init__(**rest)
        self.tests = tests

    def collect(self) -> Iterator[pytest.Item]:
        """Make one test a rule, and one of what goes wrong beside them."""
        for name in [*(rule.id for rule in RULES), BESIDE]:
            yield RuleTest.from_parent(self, name=name)


class RuleTest(pytest.Item):
    """The test of one rule: fails where the run's exit code would not be 0 for its sake."""

    parent: Rules

    def runtest(self) -> None:
        """Look up the verdict; a SHOULD fails nothing."""
        tests = self.parent.tests
        report = tests.report()
        if self.name == BESIDE:
            if report.diagnoses:
                raise Unkept(tests.told_of(report))
            return
        verdict = next(each for each in report.verdicts if each.rule.id == self.name)
        said = f"{verdict.verdict.value}: {remark(verdict)}"
        if verdict.is_broken_must:
            raise Unkept(tests.broken_by(verdict))
        if verdict.is_undecided_must:
            raise Unkept(said)
        if verdict.verdict is Verdict.FAIL:
            pytest.xfail(f"a SHOULD is broken: {'; '.join(in_notation(each.scenario)[0] for each in verdict.unlisted)}")
        if verdict.verdict is not Verdict.PASS:
            pytest.skip(said)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the text alone: where it was raised says nothing."""
        return str(excinfo.value) if isinstance(excinfo.value, Unkept) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Name the test in reports."""
        return "tercet", None, f"tercet: {self.name}"

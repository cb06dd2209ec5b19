"""The suite's state machine as a test case of one's own, under pytest or unittest."""

from collections.abc import Sequence
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings

from tercet_conformance.driver import Run
from tercet_conformance.interface import Implementation
from tercet_conformance.limits import Limits
from tercet_conformance.loading import description_of, load
from tercet_conformance.machine import STEPS, ScenarioMachine, machine_for
from tercet_conformance.report import print_broken, print_diagnoses
from tercet_conformance.reports.texts import plain
from tercet_conformance.shrinking import shrink
from tercet_conformance.suite import Suite, applicable
from tercet_conformance.verdicts import Counterexample, RuleVerdict, Verdict
from tercet_spec.judgement import Finding
from tercet_spec.rules import RULES, Level
from tercet_spec.scenarios import Scenario

SETTINGS = settings(
    max_examples=200,
    stateful_step_count=STEPS,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # what breaks is shrunk here, as a scenario
    report_multiple_bugs=False,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
MUSTS = tuple(rule for rule in RULES if rule.level is Level.MUST)


class Broken(AssertionError):
    """Raised where an implementation breaks a rule: each rule with the smallest thread that breaks it."""


class WentWrong(AssertionError):
    """Raised where an implementation raises, hangs, or returns what cannot be read."""


class SummarizationMachine(ScenarioMachine):
    """Checks an implementation: each example is a thread, judged by every MUST that is applicable when it ends.

    ``SummarizationMachine.for_("module:factory").TestCase`` is a test case. A subclass may add rules,
    which add to ``self.draft``: ``draft.append(*messages)`` stores messages, such as
    ``draft.speak("user", length)`` makes with a text of so many characters, and ``draft.step()`` takes a
    model step. Its ``TestCase.settings`` are Hypothesis's settings, at first those of the standard budget.
    """

    suite: ClassVar[Suite]
    implementation_name: ClassVar[str]

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.TestCase.settings = SETTINGS

    @classmethod
    def for_(cls, implementation: str | Implementation) -> type["SummarizationMachine"]:
        """Make the machine of an implementation: a bundled name, ``module:factory``, or the object itself.

        Raises LoadingError where there is no such implementation, or it does not say what it is.
        """
        found = load(implementation) if isinstance(implementation, str) else implementation
        description = description_of(found, Limits())
        suite = Suite(found, description, applicable(MUSTS, description))
        name = implementation if isinstance(implementation, str) else description.name
        drawing = machine_for(description.capabilities)
        return type(cls.__name__, (cls, drawing), {"suite": suite, "implementation_name": name})

    def finish(self, scenario: Scenario) -> None:
        """Run and judge the scenario of one example; raises Broken or WentWrong."""
        with self.suite.limits:
            ran, judgement = self.suite.judge(scenario)
            if judgement.findings:
                raise Broken(self.said_of(scenario, judgement.findings))
        if ran.diagnosis is not None:
            raise WentWrong(self.told_of(scenario, ran))

    def said_of(self, scenario: Scenario, findings: Sequence[Finding]) -> str:
        """Say which rules a scenario breaks, each with what is left of the scenario that breaks it."""
        first = {finding.rule: finding for finding in reversed(findings)}
        return "\n\n".join(self.broken_by(scenario, finding) for finding in reversed(first.values()))

    def broken_by(self, scenario: Scenario, finding: Finding) -> str:
        """Say how a scenario breaks the rule of a finding, as small as it can be."""
        rule = finding.rule
        small = shrink(scenario, lambda smaller: self.suite.breaks(smaller, rule))
        example = Counterexample(small, self.suite.first_finding(small, rule) or finding)
        verdict = RuleVerdict(rule, Verdict.FAIL, counterexamples=(example,))
        return plain(lambda printer: print_broken(verdict, printer, self.implementation_name))

    def told_of(self, scenario: Scenario, ran: Run) -> str:
        """Say what went wrong in a scenario beside the rules."""
        diagnoses = [(ran.diagnosis, scenario)] if ran.diagnosis else []
        return plain(lambda printer: print_diagnoses(diagnoses, self.implementation_name, printer, debug=True))

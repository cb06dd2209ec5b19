"""One implementation under some rules: scenarios are run against it, and judged."""

from collections import Counter
from collections.abc import Sequence

from attrs import evolve, field, frozen

from tercet_conformance.driver import Diagnosis, Run, broken_off, run
from tercet_conformance.interface import Implementation
from tercet_conformance.interrupts import is_persons
from tercet_conformance.limits import GivenUp, Limits
from tercet_conformance.requirements import has_threads, needs
from tercet_spec.judgement import Finding, Judgement, findings, judge
from tercet_spec.rules import AnyRule, Profile
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Capability, Description

JUDGING = "judging what it did (a fault of the suite, or of a value that nobody can read)"


@frozen
class Suite:
    """One implementation under some rules: runs scenarios against it and judges them."""

    implementation: Implementation
    description: Description
    rules: tuple[AnyRule, ...]
    limits: Limits = field(factory=Limits, eq=False, repr=False)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the implementation declares."""
        return self.description.capabilities

    @property
    def has_given_up(self) -> bool:
        """Whether the implementation hung, or broke, so often that nothing more is asked of it."""
        return self.limits.has_given_up

    def run(self, scenario: Scenario) -> Run:
        """Run one scenario; raises GivenUp where the implementation hung too often."""
        if self.has_given_up:
            raise GivenUp
        ran = run(self.implementation, self.description, scenario, self.limits)
        if ran.diagnosis is not None:
            self.limits.hangs += ran.diagnosis.is_hang
            self.limits.broken += ran.diagnosis.is_broken
        return ran

    def judge(self, scenario: Scenario) -> tuple[Run, Judgement]:
        """Run one scenario and judge its trace; raises GivenUp."""
        ran = self.run(scenario)
        try:
            return ran, judge(ran.trace, self.rules)
        except Exception as error:
            return unjudged(ran, error), Judgement((), Counter())

    def find(self, scenario: Scenario) -> tuple[Run, tuple[Finding, ...]]:
        """Run one scenario and list what it breaks, as ``judge`` does, in half the time; raises GivenUp."""
        ran = self.run(scenario)
        try:
            return ran, tuple(findings(ran.trace, self.rules))
        except Exception as error:
            return unjudged(ran, error), ()

    def first_finding(self, scenario: Scenario, rule: AnyRule) -> Finding | None:
        """Run one scenario and return what first broke a rule; nothing where the implementation hung too often."""
        try:
            return next(iter(evolve(self, rules=(rule,)).find(scenario)[1]), None)
        except GivenUp:
            return None

    def breaks(self, scenario: Scenario, rule: AnyRule) -> bool:
        """Tell whether a scenario that can be asked of the implementation breaks one rule."""
        return needs(scenario) <= self.capabilities and self.first_finding(scenario, rule) is not None


def unjudged(ran: Run, error: Exception) -> Run:
    """Say of a run that its trace cannot be judged: the run says so, and the others go on."""
    return evolve(ran, diagnosis=ran.diagnosis or broken_off(JUDGING, error))


def ended(implementation: Implementation, limits: Limits) -> Diagnosis | None:
    """Tell an implementation that all is done, where it wants to know of it, and say what goes wrong with that."""
    end = getattr(implementation, "close", None)
    if end is None:
        return None
    try:
        with limits, limits.call("close"):
            end()
    except BaseException as error:
        if is_persons(error):
            raise
        return broken_off("the end", error)
    return None


def whole_road(implementation: Implementation) -> Implementation | None:
    """Return the slower, whole way to drive an implementation, where it has one."""
    make = getattr(implementation, "whole_road", None)
    return None if make is None else make()


def applicable(rules: Sequence[AnyRule], description: Description) -> tuple[AnyRule, ...]:
    """Choose the rules that an implementation can be asked to keep: those of threads where it has threads."""
    declared = description.capabilities
    return tuple(
        rule for rule in rules if rule.applies_to(declared) and (rule.profile is Profile.HOOKS or has_threads(declared))
    )

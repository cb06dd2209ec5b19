"""One implementation under some rules: scenarios are run against it, and judged."""

from collections.abc import Sequence

from attrs import frozen

from tercet_conformance.driver import Run, run
from tercet_conformance.interface import Implementation
from tercet_conformance.requirements import needs
from tercet_spec.judgement import Finding, Judgement, judge
from tercet_spec.rules import AnyRule
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Capability, Description


@frozen
class Suite:
    """One implementation under some rules: runs scenarios against it and judges them."""

    implementation: Implementation
    description: Description
    rules: tuple[AnyRule, ...]

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the implementation declares."""
        return self.description.capabilities

    def judge(self, scenario: Scenario) -> tuple[Run, Judgement]:
        """Run one scenario and judge its trace."""
        ran = run(self.implementation, self.description, scenario)
        return ran, judge(ran.trace, self.rules)

    def first_finding(self, scenario: Scenario, rule: AnyRule) -> Finding | None:
        """Run one scenario and return what first broke a rule."""
        ran = run(self.implementation, self.description, scenario)
        return next(iter(judge(ran.trace, [rule]).findings), None)

    def breaks(self, scenario: Scenario, rule: AnyRule) -> bool:
        """Tell whether a scenario that can be asked of the implementation breaks one rule."""
        return needs(scenario) <= self.capabilities and self.first_finding(scenario, rule) is not None


def whole_road(implementation: Implementation) -> Implementation | None:
    """Return the slower, whole way to drive an implementation, where it has one."""
    make = getattr(implementation, "whole_road", None)
    return None if make is None else make()


def applicable(rules: Sequence[AnyRule], description: Description) -> tuple[AnyRule, ...]:
    """Choose the rules that an implementation can be asked to keep."""
    return tuple(rule for rule in rules if rule.applies_to(description.capabilities))

"""Judges a trace by rules: what broke, where, and which situations were reached."""

from collections import Counter
from collections.abc import Iterable

from attrs import frozen

from tercet_spec.moments import Configured, Moment, moments
from tercet_spec.rules import AnyRule, Violation
from tercet_spec.trace import Trace

Situation = tuple[str, str]
"""A rule's id and the name of one of its situations."""


@frozen
class Finding:
    """A rule that a moment broke."""

    rule: AnyRule
    violation: Violation
    moment: Moment

    @property
    def step(self) -> int:
        """The number of the step, from 0, that was judged or came last; -1 for a configuration."""
        return -1 if isinstance(self.moment, Configured) else self.moment.number


@frozen
class Judgement:
    """What the rules say of one trace: findings in the order of its moments, situations with their counts."""

    findings: tuple[Finding, ...]
    reached: Counter[Situation]


def judge(trace: Trace, rules: Iterable[AnyRule]) -> Judgement:
    """Judge each moment of a trace by each rule; a broken rule never hides another."""
    rules = tuple(rules)
    findings: list[Finding] = []
    reached: Counter[Situation] = Counter()
    before: Moment | None = None
    for moment in moments(trace):
        for rule in rules:
            findings += [Finding(rule, violation, moment) for violation in rule.judge(moment, before)]
            reached.update((rule.id, situation) for situation in rule.reached(moment))
        before = moment
    return Judgement(tuple(findings), reached)

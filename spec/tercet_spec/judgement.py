"""Judges a trace by rules: what broke, where, and which situations were reached."""

from collections import Counter
from collections.abc import Iterable, Iterator

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
    found: list[Finding] = []
    reached: Counter[Situation] = Counter()
    for moment, before in with_former(moments(trace)):
        found += broken(moment, before, rules)
        for rule in rules:
            for situation in rule.reached(moment):
                reached[rule.id, situation] += 1
    return Judgement(tuple(found), reached)


def findings(trace: Trace, rules: Iterable[AnyRule]) -> Iterator[Finding]:
    """Give what judging finds, as it is found, and count no situations: half of the work."""
    rules = tuple(rules)
    for moment, before in with_former(moments(trace)):
        yield from broken(moment, before, rules)


def with_former(following: Iterable[Moment]) -> Iterator[tuple[Moment, Moment | None]]:
    """Give each moment with the one before it."""
    before: Moment | None = None
    for moment in following:
        yield moment, before
        before = moment


def broken(moment: Moment, before: Moment | None, rules: Iterable[AnyRule]) -> Iterator[Finding]:
    """Give what a moment breaks."""
    for rule in rules:
        for violation in rule.judge(moment, before):
            yield Finding(rule, violation, moment)

"""Combines reports of several runs of one implementation, such as shards of a search that is run in parallel.

What a report says follows from what was seen, so combining adds up what was seen and says the verdicts anew:
two runs that each reached a situation too seldom may have reached it often enough together. The order of
reports, and which are combined first, changes nothing but the order in which counterexamples are listed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tercet_conformance.verdicts import BROKEN, Report, RuleVerdict, Verdict, marked, unbroken
from tercet_spec.rules import RULES, AnyRule

Item = TypeVar("Item")


def combined(reports: Sequence[Report]) -> Report:
    """Combine reports of one implementation; one with no verdicts and no seeds changes nothing.

    Raises ValueError where there is none, where they describe other implementations, or where two runs have
    the same seed: they saw the same scenarios, which count once.
    """
    if not reports:
        raise ValueError("there is no report to combine; give at least one")
    first = reports[0]
    for report in reports:
        if report.description != first.description:
            one, other = (f"{each.description.name} {each.description.version}" for each in (first, report))
            raise ValueError(f"reports of {one} and {other} are not combined: their descriptions differ")
    seeds = sorted(seed for report in reports for seed in report.seeds)
    if twice := [seed for seed, times in Counter(seeds).items() if times > 1]:
        raise ValueError(f"several runs have seed {twice[0]}, so they saw the same scenarios; give each its own")
    diagnoses = distinct(diagnosis for report in reports for diagnosis in report.diagnoses)
    said = [verdict for report in reports for verdict in report.verdicts]
    broken = [rule.id for rule in RULES if any(each.rule is rule and each.verdict in BROKEN for each in said)]
    parts = [(rule, [each for each in said if each.rule is rule]) for rule in RULES]
    budgets = {report.budget for report in reports if report.budget}
    return Report(
        description=first.description,
        verdicts=tuple(
            combined_verdict(rule, of_rule, broken, went_wrong=bool(diagnoses)) for rule, of_rule in parts if of_rule
        ),
        diagnoses=diagnoses,
        scenarios=sum(report.scenarios for report in reports),
        unsupported=sum(report.unsupported for report in reports),
        steps=sum(report.steps for report in reports),
        seconds=sum(report.seconds for report in reports),
        seeds=tuple(seeds),
        budget=budgets.pop() if len(budgets) == 1 else "mixed" if budgets else "",
        asked=max((report.asked for report in reports if report.asked is not None), default=None),
        interrupted=any(report.interrupted for report in reports),
        baseline=distinct(entry for report in reports for entry in report.baseline),
    )


def combined_verdict(
    rule: AnyRule, parts: Sequence[RuleVerdict], broken: Sequence[str], *, went_wrong: bool
) -> RuleVerdict:
    """Say the verdict of one rule from what several runs saw of it."""
    applicable = [part for part in parts if part.verdict is not Verdict.NOT_APPLICABLE]
    if not applicable:
        return parts[0]
    reached: Counter[str] = Counter()
    for part in applicable:
        reached.update(part.reached)
    if failed := [part for part in applicable if part.verdict in BROKEN]:
        examples = distinct(example for part in failed for example in part.counterexamples)
        after = {part.following for part in failed}
        following = after.pop() if len(after) == 1 else None
        return marked(RuleVerdict(rule, Verdict.FAIL, dict(reached), examples, following))
    return unbroken(rule, reached, broken, went_wrong=went_wrong)


def distinct(items: Iterable[Item]) -> tuple[Item, ...]:
    """Keep the first of equal items, which need not be hashable."""
    kept: list[Item] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return tuple(kept)

"""Replays one scenario and judges it: nothing is generated, nothing is shrunk."""

from collections.abc import Callable, Sequence
from time import monotonic

from attrs import frozen

from tercet_conformance.driver import Diagnosis
from tercet_conformance.interface import Implementation
from tercet_conformance.limits import Limits
from tercet_conformance.loading import description_of
from tercet_conformance.requirements import needs
from tercet_conformance.suite import Suite, applicable, ended, whole_road
from tercet_conformance.verdicts import Counterexample, Report, RuleVerdict, Verdict
from tercet_spec.judgement import Finding
from tercet_spec.rules import AnyRule
from tercet_spec.scenarios import Scenario


@frozen
class CannotRun(ValueError):
    """A scenario that an implementation cannot be asked for."""

    problem: str

    def __str__(self) -> str:
        return f"the scenario {self.problem}"


def replay(
    implementation: Implementation,
    scenario: Scenario,
    rules: Sequence[AnyRule],
    saved: str | None = None,
    abandon: Callable[[Report], None] | None = None,
) -> Report:
    """Run one scenario on every road that can run it, and judge it by the rules of each; raises CannotRun.

    The report holds the rules that are broken, kept or not applicable; of others the scenario says nothing.
    ``abandon`` is given a report, in another thread, where the implementation hangs and lets nobody end it.
    """
    with Limits() as limits:
        return replay_within(limits, implementation, scenario, rules, saved, abandon)


def replay_within(
    limits: Limits,
    implementation: Implementation,
    scenario: Scenario,
    rules: Sequence[AnyRule],
    saved: str | None,
    abandon: Callable[[Report], None] | None,
) -> Report:
    """Run one scenario, every call into the implementation within the limits."""
    started = monotonic()
    roads = roads_for(implementation, scenario, rules, limits)

    def give_up() -> None:
        stuck = Diagnosis(limits.operation, f"{limits.problem()}, and lets nobody end it", is_hang=True)
        if abandon is not None:
            abandon(Report(roads[0].description, (), ((stuck, None),), scenarios=1))

    limits.abandon = give_up
    verdicts: dict[str, RuleVerdict] = {}
    diagnoses: list[tuple[Diagnosis, Scenario | None]] = []
    steps = 0
    unsupported = []
    for suite in roads:
        ran, judgement = suite.judge(scenario)
        if ran.unsupported:
            unsupported.append(ran.unsupported)
            continue
        if ran.diagnosis and ran.diagnosis not in [diagnosis for diagnosis, _ in diagnoses]:
            diagnoses.append((ran.diagnosis, None))
        steps = max(steps, ran.steps)
        for rule in suite.rules:
            reached = {
                situation: judgement.reached[rule.id, situation] for situation in rule.asked_of(suite.description)
            }
            finding = next((finding for finding in judgement.findings if finding.rule is rule), None)
            verdict = verdict_of(rule, reached, finding, scenario, saved)
            verdicts.update({rule.id: verdict} if verdict else {})
    if len(unsupported) == len(roads):
        raise CannotRun(f"cannot be said in its messages: {unsupported[0]}")
    for rule in rules:
        if lacking := rule.needs - frozenset[str]().union(*(suite.capabilities for suite in roads)):
            reason = f"not declared: {', '.join(sorted(lacking))}"
            verdicts[rule.id] = RuleVerdict(rule, Verdict.NOT_APPLICABLE, reason=reason)
    diagnoses += [(wrong, None) for suite in roads if (wrong := ended(suite.implementation, limits))]
    return Report(
        description=roads[0].description,
        verdicts=tuple(verdicts[rule.id] for rule in rules if rule.id in verdicts),
        diagnoses=tuple(diagnoses),
        scenarios=1,
        steps=steps,
        seconds=monotonic() - started,
    )


def roads_for(
    implementation: Implementation, scenario: Scenario, rules: Sequence[AnyRule], limits: Limits
) -> list[Suite]:
    """Choose the roads that can run a scenario, each with the rules that are judged there."""
    roads = [implementation]
    whole = whole_road(implementation)
    if whole is not None:
        roads.append(whole)
    needed = needs(scenario)
    suites: list[Suite] = []
    for road in roads:
        description = description_of(road, limits)
        if needed <= description.capabilities:
            judged = {rule.id for suite in suites for rule in suite.rules}
            later = tuple(rule for rule in applicable(rules, description) if rule.id not in judged)
            suites += [Suite(road, description, later, limits)] if later or not suites else []
    if not suites:
        declared = description_of(roads[-1], limits).capabilities
        raise CannotRun(f"needs what is not declared: {', '.join(sorted(needed - declared))}")
    return suites


def verdict_of(
    rule: AnyRule, reached: dict[str, int], finding: Finding | None, scenario: Scenario, saved: str | None
) -> RuleVerdict | None:
    """Say what one scenario shows of a rule; where no situation of it was reached, nothing."""
    if finding is not None:
        return RuleVerdict(rule, Verdict.FAIL, reached, (Counterexample(scenario, finding, saved),))
    return RuleVerdict(rule, Verdict.PASS, reached) if any(reached.values()) else None

"""Checks an implementation: searches, shrinks what broke, and says a verdict for each rule."""

from collections.abc import Callable, Sequence
from itertools import islice, takewhile
from time import monotonic

from attrs import evolve, frozen

from tercet_conformance.agent_macros import agent_burst
from tercet_conformance.drawing import Shape, shape
from tercet_conformance.driver import Diagnosis, Run
from tercet_conformance.interface import Implementation
from tercet_conformance.limits import MOST_BROKEN, MOST_HANGS, SECONDS, GivenUp, Limits
from tercet_conformance.loading import description_of
from tercet_conformance.machine import explore, explore_loops
from tercet_conformance.macros import burst
from tercet_conformance.repeating import difference, unsteady
from tercet_conformance.requirements import has_threads
from tercet_conformance.search import (
    BUDGETS,
    BudgetName,
    Candidate,
    Sightings,
    best,
    fold,
    generated_loops,
    generated_scenarios,
    saved_scenarios,
    search,
)
from tercet_conformance.shrinking import shrink
from tercet_conformance.suite import Suite, applicable, ended, whole_road
from tercet_conformance.verdicts import Counterexample, Report, RuleVerdict, Verdict, enough_for, unbroken
from tercet_spec.judgement import Judgement
from tercet_spec.rules import RULES, AnyRule, Profile
from tercet_spec.scenarios import Scenario

MOST_COUNTEREXAMPLES = 5
MOST_SHRINKS = 8
WHOLE_ROAD_SHRINKS = 2
INTERRUPTED_SHRINKS = 1
MOST_WHOLE = 6
"""How many times its usual scenarios are run on the whole road at most, to reach what is seldom."""
PROBED = 8
"""So many generated scenarios are run twice, to see whether the implementation does the same again."""
Progress = Callable[[str, int, int], None]


@frozen
class Plan:
    """What is asked of one check; ``limit`` is how many seconds one call into the implementation may take."""

    budget: BudgetName = "standard"
    seed: int = 0
    only: frozenset[str] = frozenset()
    saved: bool = True
    profile: Profile | None = None
    shrinks: int = MOST_SHRINKS
    limit: float = SECONDS


def check(
    implementation: Implementation,
    plan: Plan,
    progress: Progress = lambda *_: None,
    abandon: Callable[[Report], None] | None = None,
) -> Report:
    """Check an implementation; a KeyboardInterrupt ends the search, and what was found is reported.

    ``abandon`` is given the report so far, in another thread, where a call into the implementation
    hangs and lets nobody end it: it may write it, and end the process. Raises LoadingError where
    the implementation does not say what it is.
    """
    with Limits(plan.limit) as limits:
        return check_within(limits, implementation, plan, progress, abandon)


def check_within(
    limits: Limits,
    implementation: Implementation,
    plan: Plan,
    progress: Progress,
    abandon: Callable[[Report], None] | None,
) -> Report:
    """Check an implementation, every call of it within the limits."""
    started = monotonic()
    description = description_of(implementation, limits)
    rules = tuple(rule for rule in RULES if not plan.only or rule.id in plan.only)
    whole = whole_road(implementation)
    fast = Suite(implementation, description, applicable(rules, description), limits)
    roads = [(fast, Sightings())]
    if whole is not None:
        slower = description_of(whole, limits, "the whole road")
        later = tuple(rule for rule in applicable(rules, slower) if rule not in fast.rules)
        roads.append((Suite(whole, slower, later, limits), Sightings()))
    diagnoses: list[tuple[Diagnosis, Scenario | None]] = []
    endings: list[tuple[Diagnosis, Scenario | None]] = []
    verdicts: dict[str, RuleVerdict] = {}
    interrupted = False

    def report() -> Report:
        return Report(
            description=description,
            verdicts=tuple(
                verdicts.get(rule.id) or RuleVerdict(rule, Verdict.NOT_APPLICABLE, reason=missing(rule, roads))
                for rule in rules
            ),
            diagnoses=(
                *diagnoses,
                *(each for _, sightings in roads for each in sightings.diagnoses),
                *late(limits),
                *endings,
            ),
            scenarios=sum(sightings.scenarios for _, sightings in roads),
            unsupported=sum(sightings.unsupported for _, sightings in roads),
            steps=sum(sightings.steps for _, sightings in roads),
            seconds=monotonic() - started,
            seeds=(plan.seed,),
            budget=plan.budget,
            asked=plan.profile,
            interrupted=interrupted,
        )

    def give_up() -> None:
        stuck = Diagnosis(limits.operation, f"{limits.problem()}, and lets nobody end it", is_hang=True)
        endings.append((stuck, limits.scenario))
        cut_short()
        for suite, sightings in roads:
            for rule in suite.rules:
                verdicts.setdefault(rule.id, decide(suite, rule, sightings, progress, None))
        if abandon is not None:
            abandon(report())

    def cut_short() -> None:
        for _, sightings in roads:
            sightings.is_cut_short = True

    limits.abandon = give_up
    try:
        look(*roads[0], plan, progress)
        for slow, sightings in roads[1:]:
            diagnoses += compare_roads(fast, slow, plan, progress)
            look_whole(slow, sightings, plan, progress)
    except KeyboardInterrupt:
        interrupted = True
    except GivenUp:
        often = f"{MOST_HANGS} scenarios hung" if limits.hangs >= MOST_HANGS else f"{MOST_BROKEN} processes broke"
        problem = f"the search ends here, since {often}; rules that were not reached are not judged"
        endings.append((Diagnosis("the search", problem), None))
        cut_short()
    limits.hangs = limits.broken = 0
    shrinks = INTERRUPTED_SHRINKS if interrupted else plan.shrinks
    for suite, sightings in roads:
        for rule in suite.rules:
            most = shrinks if suite is fast else min(shrinks, WHOLE_ROAD_SHRINKS)
            try:
                verdicts[rule.id] = decide(suite, rule, sightings, progress, most)
            except KeyboardInterrupt:
                interrupted, shrinks = True, 0
                verdicts[rule.id] = decide(suite, rule, sightings, progress, shrinks)
            for scenario in sightings.unsteady.pop(rule.id, ()):
                fold(sightings.diagnoses, unsteady(f"{rule.id} broke, and not when the thread was run again"), scenario)
    for suite, _ in roads:
        if wrong := ended(suite.implementation, limits):
            endings.append((wrong, None))
    return report()


def late(limits: Limits) -> list[tuple[Diagnosis, Scenario]]:
    """Diagnose what was called after a run had ended."""
    return [(Diagnosis("after the thread was closed", problem), scenario) for problem, scenario in limits.late.items()]


def missing(rule: AnyRule, roads: Sequence[tuple[Suite, Sightings]]) -> str:
    """Say which capabilities are not declared that a rule needs."""
    declared = frozenset[str]().union(*(suite.capabilities for suite, _ in roads))
    return "not declared: " + (", ".join(sorted(rule.needs - declared)) or "message-trigger or token-trigger")


def counter(progress: Progress, what: str, total: int) -> Callable[[], None]:
    """Count what is done, and report it."""
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        progress(what, done, total)

    return count


def look(suite: Suite, sightings: Sightings, plan: Plan, progress: Progress) -> None:
    """Search: what is saved, then what is generated, then what the state machine draws."""
    budget = BUDGETS[plan.budget]
    if plan.saved:
        saved = saved_scenarios(suite.capabilities)
        search(suite, saved, sightings, counter(progress, "saved scenarios", len(saved)), generated=False)
    probe(suite, sightings, plan.seed)
    generated = generated_scenarios(suite.capabilities, budget.bursts, plan.seed)
    search(suite, generated, sightings, counter(progress, "generated scenarios", budget.bursts))
    loops = generated_loops(suite.capabilities, budget.loops, plan.seed)
    search(suite, loops, sightings, counter(progress, "generated loops", budget.loops))
    count = counter(progress, "the state machine", budget.examples)

    def take(scenario: Scenario) -> None:
        sightings.take(scenario, *suite.judge(scenario))
        count()

    explore(suite.capabilities, take, budget.examples, plan.seed)
    explore_loops(suite.capabilities, take, budget.examples, plan.seed)


def probe(suite: Suite, sightings: Sightings, seed: int) -> None:
    """Run a handful of scenarios twice: findings of an implementation that draws at random do not come again."""
    make = burst if has_threads(suite.capabilities) else agent_burst
    for number in range(PROBED):
        scenario = make(suite.capabilities, seed * 1_000_003 + number)
        one = suite.run(scenario)
        if one.diagnosis is not None and (one.diagnosis.is_hang or one.diagnosis.is_broken):
            return  # the search comes to it, and there are not many to spare
        if seen := difference(one, suite.run(scenario)):
            fold(sightings.diagnoses, seen, scenario)
            return


def look_whole(suite: Suite, sightings: Sightings, plan: Plan, progress: Progress) -> None:
    """Search on the whole road, which is slow, for what breaks the rules that are judged there only.

    Its few scenarios may reach a situation too seldom: then it goes on until that is reached often enough.
    """
    if not suite.rules:
        return
    number = BUDGETS[plan.budget].whole
    saved = saved_scenarios(suite.capabilities) if plan.saved else []
    generated = generated_scenarios(suite.capabilities, MOST_WHOLE * number, plan.seed)
    count = counter(progress, "the whole road", len(saved) + number)
    search(suite, saved, sightings, count, generated=False)
    search(suite, islice(generated, number), sightings, count)
    longer = takewhile(lambda _: is_open(suite, sightings), generated)
    search(suite, longer, sightings, counter(progress, "the whole road, longer", (MOST_WHOLE - 1) * number))


def is_open(suite: Suite, sightings: Sightings) -> bool:
    """Tell whether a rule that nothing broke was reached too seldom to pass."""
    return any(
        rule.id not in sightings.broken and sightings.reached[rule.id, situation] < enough_for(rule)
        for rule in suite.rules
        for situation in rule.asked_of(suite.description)
    )


def compare_roads(fast: Suite, slow: Suite, plan: Plan, progress: Progress) -> list[tuple[Diagnosis, Scenario | None]]:
    """Run generated scenarios on both roads: where the verdicts differ, the adapter does not tell the truth.

    What cannot be said on one of them is left out.
    """
    number = BUDGETS[plan.budget].whole
    done = counter(progress, "both roads", number)
    slow = evolve(slow, rules=fast.rules)
    for scenario in generated_scenarios(fast.capabilities, number, plan.seed + 1):
        judged = [suite.judge(scenario) for suite in (fast, slow)]
        one, other = (verdicts_of(*each) for each in judged)
        if one != other and not any(ran.unsupported for ran, _ in judged):
            only_fast, only_slow = sorted(one - other), sorted(other - one)
            problem = f"the two roads of the adapter disagree: fast only {only_fast}, whole only {only_slow}"
            return [(Diagnosis("both roads", problem), scenario)]
        done()
    return []


def verdicts_of(ran: Run, judgement: Judgement) -> set[tuple[str, int]]:
    """The rules that a run broke, and in which steps."""
    broken = {(finding.rule.id, finding.step) for finding in judgement.findings}
    return broken | ({(ran.diagnosis.problem, -2)} if ran.diagnosis else set())


def decide(suite: Suite, rule: AnyRule, sightings: Sightings, progress: Progress, shrinks: int | None) -> RuleVerdict:
    """Say the verdict of one rule; where no ``shrinks`` are given, nothing is run again."""
    reached = {s: sightings.reached[rule.id, s] for s in rule.asked_of(suite.description)}
    if candidates := sightings.broken.get(rule.id):
        if shrinks is None:
            return RuleVerdict(rule, Verdict.FAIL, reached, (Counterexample(*sightings.first[rule.id]),))
        examples, others = shrink_all(suite, rule, best(candidates), shrinks, progress)
        sightings.unsteady[rule.id] = others
        if not examples:
            first = Counterexample(*sightings.first[rule.id], seen_once=bool(others))
            return RuleVerdict(rule, Verdict.FAIL, reached, (first,))
        return RuleVerdict(rule, Verdict.FAIL, reached, examples, following(suite, rule, examples))
    went_wrong = bool(sightings.diagnoses) or sightings.is_cut_short
    return unbroken(rule, reached, sightings.broken, went_wrong=went_wrong)


def shrink_all(
    suite: Suite, rule: AnyRule, candidates: Sequence[Candidate], shrinks: int, progress: Progress
) -> tuple[tuple[Counterexample, ...], tuple[Scenario, ...]]:
    """Shrink candidates until enough counterexamples of distinct shape are found; others do not break again."""
    found: dict[Shape, Counterexample] = {}
    others = []
    for number, candidate in enumerate(candidates[: max(1, shrinks)]):
        progress(f"shrinking {rule.id}", number, shrinks)
        small = shrink(candidate.scenario, lambda s: suite.breaks(s, rule)) if shrinks else candidate.scenario
        finding = suite.first_finding(small, rule)
        if finding is None and not suite.has_given_up:
            others.append(small)
        if finding is not None:
            found.setdefault(shape(finding), Counterexample(small, finding))
        if len(found) == MOST_COUNTEREXAMPLES:
            break
    return tuple(found.values()), tuple(others)


def following(suite: Suite, rule: AnyRule, examples: Sequence[Counterexample]) -> str | None:
    """Name a rule that broke in an earlier step of every counterexample of this one."""
    earlier: set[str] | None = None
    for example in examples:
        try:
            findings = suite.judge(example.scenario)[1].findings
        except GivenUp:
            return None
        before = {f.rule.id for f in findings if 0 <= f.step < example.finding.step and f.rule is not rule}
        earlier = before if earlier is None else earlier & before
    return min(earlier) if earlier else None

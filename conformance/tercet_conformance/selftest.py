"""Measures the suite by the gallery: what it catches, how soon, how small, and whether it blames what is right.

A wrong implementation counts as caught where its own rule breaks; a crash is no catch. Each is searched
with the scenarios that a check of the same budget and seed would run.
"""

import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from statistics import median
from time import perf_counter

from attrs import frozen

from tercet_conformance.check import Plan, check
from tercet_conformance.gallery import BY_NAME, ENTRIES, Entry
from tercet_conformance.machine import explore, explore_loops
from tercet_conformance.search import BUDGETS, BudgetName, generated_loops, generated_scenarios, saved_scenarios
from tercet_conformance.shrinking import shrink
from tercet_conformance.suite import Suite, applicable
from tercet_conformance.verdicts import STRONGER, Verdict
from tercet_spec.rules import BY_ID, RULES, Level
from tercet_spec.scenarios import Append, Scenario
from tercet_spec.vocabulary import Capability

MEASURED = tuple(entry for entry in ENTRIES if entry.kind not in ("hostile", "process"))
"""What is measured of the gallery: a hostile one breaks no rule of its own."""
BY_MACHINES = 200
"""Examples in which the machines alone are to catch."""
MACHINE_SEEDS = 3
"""The machines are measured with so many seeds at most: they are slow to miss."""
LARGE = 15
"""Operations that a counterexample may have."""
AT_ONCE = 20
"""Scenarios within which the guard that must die dies; the first ten are configurations that are refused."""


@frozen
class Task:
    """What is measured at once: one entry, with one seed; ``machines`` draws by the state machines alone."""

    entry: str
    seed: int
    budget: BudgetName = "standard"
    saved: bool = False
    machines: bool = False


@frozen
class Catch:
    """What became of a wrong implementation: after how many scenarios and seconds its own rule caught it.

    ``scenarios`` is ``None`` where it did not; ``others`` are the MUSTs that broke then instead. ``operations``
    counts those of the shrunk counterexample, an append of n messages as n.
    """

    task: Task
    scenarios: int | None
    seconds: float
    operations: int = 0
    others: frozenset[str] = frozenset()


@frozen
class Floor:
    """What a null implementation passes: so many of the MUSTs of summarization.

    A profile that it keeps, ``hooks`` too, and ``whole`` families are a fault.
    """

    entry: str
    says: str
    passed: int
    musts: int
    profile: str | None
    whole: tuple[str, ...]


@frozen
class Alarms:
    """How often a right implementation was blamed in so many scenarios; ``rules`` are those that blamed it."""

    entry: str
    scenarios: int
    rules: frozenset[str]


@frozen
class Measurement:
    """All that was measured."""

    catches: tuple[Catch, ...] = ()
    floors: tuple[Floor, ...] = ()
    alarms: tuple[Alarms, ...] = ()

    @property
    def misses(self) -> list[Catch]:
        """The wrong ones that their own rule did not catch, and the guard that did not die at once."""
        guards = {entry.name for entry in ENTRIES if entry.kind == "guard"}
        return [
            catch
            for catch in self.catches
            if catch.scenarios is None or (catch.task.entry in guards and catch.scenarios > AT_ONCE)
        ]

    @property
    def is_good(self) -> bool:
        """Whether nothing was missed or blamed, and no null one keeps a profile or passes a whole family."""
        nothing_null = all(floor.profile is None and not floor.whole for floor in self.floors)
        return nothing_null and not self.misses and not any(alarms.rules for alarms in self.alarms)


class Caught(BaseException):
    """Ends the state machine's drawing; no Exception, which Hypothesis would take for a failure to shrink."""


def suite_of(entry: Entry, *rules: str) -> Suite:
    """Put an entry under some rules, or under all that apply."""
    implementation = entry.make()
    description = implementation.describe()
    chosen = [BY_ID[rule] for rule in rules] if rules else RULES
    return Suite(implementation, description, applicable(chosen, description))


def scenarios_of(task: Task, capabilities: frozenset[Capability]) -> Iterator[Scenario]:
    """Give the scenarios of a check, saved ones first if they are asked for, but for the machines'."""
    if task.saved:
        yield from saved_scenarios(capabilities)
    if not is_of_hooks(task):
        yield from generated_scenarios(capabilities, BUDGETS[task.budget].bursts, task.seed)
    yield from generated_loops(capabilities, BUDGETS[task.budget].loops, task.seed)


def is_of_hooks(task: Task) -> bool:
    """Tell whether an entry is wrong by a rule of the hooks, which nothing but a run of a loop can break."""
    return (BY_NAME[task.entry].rule or "").startswith("hooks.")


def first_caught(suite: Suite, task: Task) -> tuple[int, Scenario | None]:
    """Search until a scenario breaks the suite's rule: how many were run, and the one that does."""
    run = 0
    for scenario in () if task.machines else scenarios_of(task, suite.capabilities):
        run += 1
        if suite.find(scenario)[1]:
            return run, scenario
    found: Scenario | None = None

    def take(scenario: Scenario) -> None:
        nonlocal run, found
        run += 1
        if suite.find(scenario)[1]:
            found = scenario
            raise Caught

    try:
        examples = BY_MACHINES if task.machines else BUDGETS[task.budget].examples
        if is_of_hooks(task):
            explore_loops(suite.capabilities, take, examples, task.seed)
        else:
            explore(suite.capabilities, take, examples, task.seed, bursts=not task.machines)
    except Caught:
        pass
    return run, found


def measure_wrong(task: Task) -> Catch:
    """Measure one wrong implementation with one seed."""
    entry = BY_NAME[task.entry]
    rule = BY_ID[entry.rule or ""]
    suite = suite_of(entry, rule.id)
    started = perf_counter()
    run, found = first_caught(suite, task)
    seconds = perf_counter() - started
    if found is None:
        every = suite_of(entry)
        searched = islice(scenarios_of(task, suite.capabilities), 300)
        broken = {finding.rule for scenario in searched for finding in every.find(scenario)[1]}
        return Catch(task, None, seconds, others=frozenset(r.id for r in broken if r.level is Level.MUST))
    small = shrink(found, lambda scenario: suite.breaks(scenario, rule))
    return Catch(task, run, seconds, operations_of(small))


def operations_of(scenario: Scenario) -> int:
    """Count the operations of a scenario; an append of n messages counts n."""
    return sum(len(each.messages) if isinstance(each, Append) else 1 for each in scenario.operations)


def measure_null(task: Task) -> Floor:
    """Measure what a null implementation passes."""
    entry = BY_NAME[task.entry]
    report = check(entry.make(), Plan("quick", task.seed, saved=task.saved, shrinks=0))
    musts = [verdict for verdict in report.verdicts if verdict.rule.level is Level.MUST]
    strong = [verdict for verdict in musts if verdict.rule.profile in STRONGER]
    passed = [verdict.rule for verdict in strong if verdict.verdict is Verdict.PASS]
    families = {verdict.rule.family for verdict in musts}
    whole = families - {verdict.rule.family for verdict in musts if verdict.verdict is not Verdict.PASS}
    return Floor(
        *(entry.name, entry.says, len(passed), len(strong)),
        "hooks" if report.keeps_hooks else str(report.kept) if report.kept else None,
        tuple(sorted(whole)),
    )


def measure_right(task: Task) -> Alarms:
    """Count how often a right implementation is blamed, or breaks off; the rules that do it."""
    suite = suite_of(BY_NAME[task.entry])
    run, blamed = 0, set[str]()
    for scenario in scenarios_of(task, suite.capabilities):
        run += 1
        ran, found = suite.find(scenario)
        blamed |= {finding.rule.id for finding in found}
        blamed |= {ran.diagnosis.problem} if ran.diagnosis else set()
    return Alarms(task.entry, run, frozenset(blamed))


def measured(tasks: Sequence[Task], workers: int) -> Iterator[Catch | Floor | Alarms]:
    """Measure on several processors, and give the results in order."""
    if workers < 2:
        yield from map(measure, tasks)
        return
    with ProcessPoolExecutor(workers, initializer=ignore_interrupts) as pool:
        try:
            yield from pool.map(measure, tasks, chunksize=2)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that waits for the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def measure(task: Task) -> Catch | Floor | Alarms:
    """Measure one entry as its kind asks for."""
    entry = BY_NAME[task.entry]
    if entry.kind == "null":
        return measure_null(task)
    return measure_right(task) if entry.rule is None else measure_wrong(task)


def tasks(
    seeds: Iterable[int], budget: BudgetName, *, saved: bool, machines: bool, only: frozenset[str] = frozenset()
) -> list[Task]:
    """List what is to be measured: wrong and right ones with every seed, null ones with the first."""
    seeds = list(seeds)
    listed: list[Task] = []
    for entry in MEASURED:
        if only and entry.name not in only:
            continue
        if machines and entry.rule is None:
            continue
        own = seeds[:1] if entry.kind == "null" else seeds
        listed += [Task(entry.name, seed, budget, saved, machines) for seed in own]
    return listed


def gathered(results: Sequence[Catch | Floor | Alarms]) -> Measurement:
    """Put what was measured together."""
    return Measurement(
        tuple(result for result in results if isinstance(result, Catch)),
        tuple(result for result in results if isinstance(result, Floor)),
        summed(result for result in results if isinstance(result, Alarms)),
    )


def summed(seeds: Iterable[Alarms]) -> tuple[Alarms, ...]:
    """Sum up each right implementation over its seeds."""
    by_name: dict[str, Alarms] = {}
    for each in seeds:
        before = by_name.get(each.entry, Alarms(each.entry, 0, frozenset()))
        by_name[each.entry] = Alarms(each.entry, before.scenarios + each.scenarios, before.rules | each.rules)
    return tuple(by_name.values())


@frozen
class Row:
    """What all seeds say of one wrong implementation."""

    entry: Entry
    caught: int
    seeds: int
    scenarios: float
    seconds: float
    operations: float
    most: int
    others: frozenset[str]


def rows(catches: Sequence[Catch]) -> list[Row]:
    """Sum up each wrong implementation over its seeds; medians are of the seeds that caught it."""
    listed = []
    for name in dict.fromkeys(catch.task.entry for catch in catches):
        own = [catch for catch in catches if catch.task.entry == name]
        good = [catch for catch in own if catch.scenarios is not None]
        listed.append(
            Row(
                BY_NAME[name],
                len(good),
                len(own),
                median([catch.scenarios or 0 for catch in good] or [0]),
                median([catch.seconds for catch in good] or [0]),
                median([catch.operations for catch in good] or [0]),
                max((catch.operations for catch in good), default=0),
                frozenset[str]().union(*(catch.others for catch in own)),
            )
        )
    return listed

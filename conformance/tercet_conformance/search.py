"""Searches for scenarios that break a rule, and keeps what it saw of all of them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from attrs import Factory, define, evolve, frozen

from tercet_conformance.agent_macros import agent_burst
from tercet_conformance.directed import directed
from tercet_conformance.drawing import letter
from tercet_conformance.driver import Diagnosis, Run
from tercet_conformance.macros import burst, refusals
from tercet_conformance.requirements import has_threads, needs
from tercet_conformance.suite import Suite
from tercet_conformance.tidiness import oddity
from tercet_conformance.vectors import vectors
from tercet_spec.judgement import Finding, Judgement, Situation
from tercet_spec.moments import Configured
from tercet_spec.runs import AgentRun
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Capability

BudgetName = Literal["quick", "standard", "thorough"]


@frozen
class Budget:
    """How many scenarios are run: bursts from seeds, examples of the state machine, runs on the whole road.

    ``loops`` are the bursts of an agent's loop, where there is one.
    """

    bursts: int
    examples: int
    whole: int
    loops: int = 0


BUDGETS: dict[BudgetName, Budget] = {
    "quick": Budget(300, 15, 40, 150),
    "standard": Budget(2500, 200, 200, 1500),
    "thorough": Budget(25_000, 2000, 1000, 15_000),
}
CANDIDATES = 60
"""Broken scenarios that are kept of each rule, to be shrunk."""
MOST_KINDS = 10
"""So many diagnoses of one operation are told apart; the rest is counted with the last."""
VARYING = re.compile(r"\w*\d\w*")
"""What differs from one time that something goes wrong to the next: counts, ids, addresses."""

Sight = tuple[object, ...]
"""What a broken rule looks like before it is shrunk: of two that look alike one is kept first."""


@frozen
class Candidate:
    """A scenario that broke a rule, and how odd and how long it is."""

    scenario: Scenario
    sight: Sight
    oddity: int
    length: int


@define
class Sightings:
    """What was seen in a search; ``reached`` counts what generated scenarios reached, not saved ones.

    ``first`` has the finding itself for the first scenario that broke each rule, and ``unsteady`` the
    scenarios that broke it, and not when they were run again. A search is cut short by what hangs.
    """

    scenarios: int = 0
    steps: int = 0
    reached: Counter[Situation] = Factory(Counter)
    broken: dict[str, list[Candidate]] = Factory(dict)
    first: dict[str, tuple[Scenario, Finding]] = Factory(dict)
    unsteady: dict[str, tuple[Scenario, ...]] = Factory(dict)
    diagnoses: list[tuple[Diagnosis, Scenario]] = Factory(list)
    unsupported: int = 0
    is_cut_short: bool = False

    def take(self, scenario: Scenario, ran: Run, judgement: Judgement, *, generated: bool = True) -> None:
        """Keep what is worth keeping of one run."""
        if ran.unsupported:
            self.unsupported += 1
            return
        self.scenarios += 1
        self.steps += ran.steps
        if generated:
            self.reached += judgement.reached
        if ran.diagnosis:
            fold(self.diagnoses, ran.diagnosis, scenario)
        firsts: dict[str, Finding] = {}
        for finding in judgement.findings:
            firsts.setdefault(finding.rule.id, finding)
        for rule_id, finding in firsts.items():
            self.first.setdefault(rule_id, (scenario, finding))
            candidates = self.broken.setdefault(rule_id, [])
            candidates.append(Candidate(scenario, sight(finding), oddity(scenario), len(scenario.operations)))
            if len(candidates) > 2 * CANDIDATES:
                self.broken[rule_id] = best(candidates)


def fold(diagnoses: list[tuple[Diagnosis, Scenario]], diagnosis: Diagnosis, scenario: Scenario) -> None:
    """Add a diagnosis; of one kind the one with the fewest operations stays, with how many there were."""
    operation, kind = kinds(diagnosis)
    alike = [place for place, (other, _) in enumerate(diagnoses) if kinds(other)[0] == operation]
    same = [place for place in alike if kinds(diagnoses[place][0])[1] == kind]
    if not same and len(alike) < MOST_KINDS:
        diagnoses.append((diagnosis, scenario))
        return
    place = same[0] if same else alike[-1]
    other, earlier = diagnoses[place]
    if same and len(scenario.operations) < len(earlier.operations):
        diagnoses[place] = evolve(diagnosis, times=other.times + 1), scenario
    else:
        diagnoses[place] = evolve(other, times=other.times + 1), earlier


def kinds(diagnosis: Diagnosis) -> tuple[str, str]:
    """Say of what kind a diagnosis is: the operation's, and the problem's; a hang is one wherever it was."""
    problem = "hangs" if diagnosis.is_hang else VARYING.sub("", diagnosis.problem)
    return VARYING.sub("", diagnosis.operation), problem


def sight(finding: Finding) -> Sight:
    """Describe a finding coarsely: what was seen, and who speaks around the message at fault."""
    moment, position = finding.moment, finding.violation.position
    if isinstance(moment, Configured | AgentRun) or position is None:
        return (finding.violation.expected[:24], finding.violation.seen[:24])
    around = moment.history[max(0, position - 3) : position + 1]
    return (finding.violation.seen[:24], *(letter(message) for message in around))


def best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Choose which candidates to keep: one of each sight first, the least odd and shortest of it."""
    ordered = sorted(candidates, key=lambda candidate: (candidate.oddity, candidate.length))
    seen: Counter[Sight] = Counter()
    ranked = []
    for candidate in ordered:
        ranked.append((candidate.oddity > 0, seen[candidate.sight], candidate))
        seen[candidate.sight] += 1
    return [candidate for _, _, candidate in sorted(ranked, key=lambda entry: entry[:2])][:CANDIDATES]


def saved_scenarios(capabilities: frozenset[Capability]) -> list[Scenario]:
    """The scenarios that are run before anything is generated: directed ones, then vectors."""
    kept = [vector.scenario for vector in vectors()]
    return directed(capabilities) + [scenario for scenario in kept if needs(scenario) <= capabilities]


def generated_scenarios(capabilities: frozenset[Capability], bursts: int, seed: int) -> Iterator[Scenario]:
    """The scenarios of threads that are generated from a seed without Hypothesis: every refusal, then bursts."""
    if not has_threads(capabilities):
        return
    yield from refusals(capabilities)
    for number in range(bursts):
        yield burst(capabilities, seed * 1_000_003 + number)


def generated_loops(capabilities: frozenset[Capability], loops: int, seed: int) -> Iterator[Scenario]:
    """The scenarios of an agent's loop that are generated from a seed without Hypothesis, where there is a loop."""
    for number in range(loops if "hooks" in capabilities else 0):
        yield agent_burst(capabilities, seed * 1_000_003 + number)


def search(
    suite: Suite,
    scenarios: Iterable[Scenario],
    sightings: Sightings,
    progress: Callable[[], None],
    *,
    generated: bool = True,
) -> None:
    """Run scenarios and keep what was seen."""
    for scenario in scenarios:
        sightings.take(scenario, *suite.judge(scenario), generated=generated)
        progress()

"""What the suite itself costs: scenarios and operations a second, against the reference.

Run ``python tests/benchmarks/suite.py``, or with ``--json``. The scenarios are those that are
generated from a seed without Hypothesis; each round all of them are drawn, then driven, then
judged by every rule that applies. A whole check on the quick budget stands beside it. The figures
are medians over the rounds.
"""

import argparse
import json
import sys
from statistics import median
from time import perf_counter
from typing import Any

from tercet_conformance.adapters.reference import implementation
from tercet_conformance.check import Plan, check
from tercet_conformance.driver import run
from tercet_conformance.search import generated_scenarios
from tercet_spec.judgement import judge
from tercet_spec.rules import RULES

STAGES = ("drawn", "driven", "judged", "all three")


def figures(rounds: int, bursts: int, seed: int) -> dict[str, Any]:
    """Take the measurement."""
    reference = implementation()
    description = reference.describe()
    rules = [rule for rule in RULES if rule.applies_to(description.capabilities)]
    taken: list[tuple[float, ...]] = []
    scenarios = list(generated_scenarios(description.capabilities, bursts, seed))
    for _ in range(rounds):
        begun = perf_counter()
        scenarios = list(generated_scenarios(description.capabilities, bursts, seed))
        drawn = perf_counter()
        traces = [run(reference, description, scenario).trace for scenario in scenarios]
        driven = perf_counter()
        for trace in traces:
            judge(trace, rules)
        judged = perf_counter()
        taken.append((drawn - begun, driven - drawn, judged - driven, judged - begun))
    operations = sum(len(scenario.operations) for scenario in scenarios)
    checks = [check(reference, Plan("quick", seed)) for _ in range(rounds)]
    return {
        "scenarios": len(scenarios),
        "operations": operations,
        "seed": seed,
        "a_second": {
            stage: {"scenarios": len(scenarios) / seconds, "operations": operations / seconds}
            for stage, seconds in zip(STAGES, map(median, zip(*taken, strict=True)), strict=True)
        },
        "quick_check": {
            "seconds": median(report.seconds for report in checks),
            "scenarios_a_second": median(report.scenarios / report.seconds for report in checks),
            "steps_a_second": median(report.steps / report.seconds for report in checks),
        },
    }


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--bursts", type=int, default=300, help="scenarios of each round (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn from (default: 0)")
    chosen = parser.parse_args()
    if min(chosen.rounds, chosen.bursts) < 1:
        parser.error("rounds and bursts must be at least 1")
    taken = figures(chosen.rounds, chosen.bursts, chosen.seed)
    if chosen.json:
        json.dump(taken, sys.stdout, indent=1)
        print()
        return
    print(f"{taken['scenarios']} scenarios, {taken['operations']} operations, seed {taken['seed']}")
    for stage, a_second in taken["a_second"].items():
        print(f"{stage:10}{a_second['scenarios']:8.0f} scenarios/s{a_second['operations']:9.0f} operations/s")
    quick = taken["quick_check"]
    print(
        f"{'check':10}{quick['scenarios_a_second']:8.0f} scenarios/s{quick['steps_a_second']:9.0f} steps/s, "
        f"{quick['seconds']:.1f} s in all on the quick budget"
    )


if __name__ == "__main__":
    main()

"""Writes the vectors anew: each wrong implementation is searched until its own rule breaks, and that is shrunk."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from tercet_conformance.files import Saved, write
from tercet_conformance.gallery import ENTRIES, Entry
from tercet_conformance.search import BUDGETS, generated_scenarios
from tercet_conformance.shrinking import shrink
from tercet_conformance.suite import Suite
from tercet_conformance.vectors import FOLDER
from tercet_spec.rules import BY_ID


def counterexample(entry: Entry) -> Saved | None:
    """Find the smallest scenario that shows an entry's fault, by its own rule."""
    rule, implementation = BY_ID[entry.rule or ""], entry.make()
    description = implementation.describe()
    suite = Suite(implementation, description, (rule,))
    scenarios = generated_scenarios(description.capabilities, BUDGETS["standard"].bursts, seed=0)
    found = next((scenario for scenario in scenarios if suite.breaks(scenario, rule)), None)
    return None if found is None else Saved(shrink(found, lambda scenario: suite.breaks(scenario, rule)), rule.id)


def regenerate(folder: Path) -> Iterator[str]:
    """Write a vector for each wrong implementation, take away what is none any more, and say what was done."""
    before, now = set(folder.glob("*.json")), set[Path]()
    for entry in ENTRIES:
        if entry.kind != "wrong":
            continue
        saved = counterexample(entry)
        if saved is None:
            yield f"{entry.name}: nothing was found"
        else:
            now.add(write(saved, folder))
    for path in before - now:
        path.unlink()
    yield f"{len(now)} vectors, {len(now - before)} of them new, {len(before - now)} taken away"


if __name__ == "__main__":
    ArgumentParser(prog="python -m tercet_conformance.vectors", description=__doc__).parse_args()
    for line in regenerate(FOLDER):
        sys.stdout.write(line + "\n")

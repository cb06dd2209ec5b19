"""The state machine draws the same scenarios from the same seed, in CI as elsewhere."""

import os
import subprocess
import sys

import pytest

from tercet_conformance.machine import explore
from tercet_spec.scenarios import Scenario, Step
from tercet_spec.vocabulary import ALL_CAPABILITIES

PROGRAM = """
from tercet_spec.vocabulary import ALL_CAPABILITIES
from tercet_conformance.machine import explore
explore(ALL_CAPABILITIES, print, 15, 7)
"""


def drawn(seed: int, examples: int = 15) -> list[Scenario]:
    scenarios: list[Scenario] = []
    explore(ALL_CAPABILITIES, scenarios.append, examples, seed)
    return scenarios


def test_the_same_seed_draws_the_same_scenarios() -> None:
    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_as_many_examples_are_drawn_as_were_asked_for() -> None:
    scenarios = drawn(0, 40)
    assert 40 <= len(scenarios) <= 60
    assert sum(len(scenario.operations) > 5 for scenario in scenarios) > 20
    assert any(isinstance(operation, Step) for scenario in scenarios for operation in scenario.operations)


def test_ci_draws_what_a_developer_s_machine_draws() -> None:
    written = []
    for extra in ({}, {"CI": "true"}, {"GITHUB_ACTIONS": "true"}):
        bare = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS")}
        environment = {**bare, **extra, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True
        )
        written.append(done.stdout)
    assert written[0]
    assert written[0] == written[1] == written[2]


def test_what_a_finish_raises_passes_through() -> None:
    def refuse(_: Scenario) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(ALL_CAPABILITIES, refuse, 5, 0)

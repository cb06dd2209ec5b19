"""The front door: a Hypothesis state machine whose rules are the macros.

It has no preconditions and no bundles: every rule can run in every state. Each example performs a
scenario as it is drawn, and judges it when it ends.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tercet_conformance.drafts import Draft
from tercet_conformance.macros import MACROS, OPENING, Macro, open_draft
from tercet_conformance.strategies import numbers
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Capability

STEPS = 12
"""How many rules one example performs at most."""


class ScenarioMachine(RuleBasedStateMachine):
    """Draws a scenario by macros; subclasses say what the implementation can do and what is done with it."""

    capabilities: frozenset[Capability] = frozenset()
    draft: Draft

    def finish(self, scenario: Scenario) -> None:
        """Take the scenario of one example."""

    def teardown(self) -> None:
        """End the example."""
        if "draft" in vars(self):
            self.finish(self.draft.scenario())


def as_initialize() -> Any:
    """Make the rule that opens every example."""

    def begin(self: ScenarioMachine, **drawn: int) -> None:
        self.draft = open_draft(self.capabilities, drawn)

    return initialize(**numbers(OPENING))(begin)  # type: ignore[no-untyped-call]


def as_rule(macro: Macro) -> Any:
    """Make a rule of a macro."""

    def play(self: ScenarioMachine, **drawn: int) -> None:
        macro.play_with(self.draft, drawn)

    play.__name__ = macro.name
    return rule(**numbers(macro.parameters))(play)  # type: ignore[no-untyped-call]


def as_burst() -> Any:
    """Make the rule that plays four macros from a drawn seed."""

    def burst(self: ScenarioMachine, number: int) -> None:
        random = Random(number)
        for _ in range(4):
            random.choice(MACROS).play(self.draft, random)

    return rule(number=st.integers(0, 2**32 - 1))(burst)


@cache
def machine_for(capabilities: frozenset[Capability], *, bursts: bool = True) -> type[ScenarioMachine]:
    """Make the machine whose rules are the macros that an implementation can be asked for, and bursts of them."""
    rules = {macro.name: as_rule(macro) for macro in MACROS if macro.needs <= capabilities}
    rules |= {"begin": as_initialize(), **({"burst": as_burst()} if bursts else {})}
    return type("MacroMachine", (ScenarioMachine,), {**rules, "capabilities": capabilities})


def explore(
    capabilities: frozenset[Capability],
    take: Callable[[Scenario], None],
    examples: int,
    seed_number: int,
    *,
    bursts: bool = True,
) -> None:
    """Draw scenarios with Hypothesis: the same seed, the same scenarios, in CI as elsewhere."""

    class Explorer(machine_for(capabilities, bursts=bursts)):  # type: ignore[misc]
        def finish(self, scenario: Scenario) -> None:
            take(scenario)

    run_state_machine_as_test(
        seed(seed_number)(Explorer),
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            phases=[Phase.generate],
            database=None,
            derandomize=False,
            deadline=None,
            report_multiple_bugs=True,
            print_blob=False,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        ),
    )

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

from tercet_conformance.agent_macros import AGENT_MACROS, RUN, AgentDraft
from tercet_conformance.macros import MACROS, OPENING, Macro, open_draft
from tercet_conformance.requirements import has_threads
from tercet_conformance.strategies import numbers
from tercet_spec.notation import DEFAULT
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Capability

STEPS = 12
"""How many rules one example performs at most."""


class ScenarioMachine(RuleBasedStateMachine):
    """Draws a scenario by macros; subclasses say what the implementation can do and what is done with it."""

    capabilities: frozenset[Capability] = frozenset()
    draft: Any

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


def as_initialize_loop() -> Any:
    """Make the rule that opens every example of an agent's loop."""

    def begin(self: ScenarioMachine) -> None:
        self.draft = AgentDraft(DEFAULT, self.capabilities)

    return initialize()(begin)


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


@cache
def loop_machine_for(capabilities: frozenset[Capability]) -> type[ScenarioMachine]:
    """Make the machine whose rules are the macros of an agent's loop; a run takes a rule as any other does."""
    rules = {macro.name: as_rule(macro) for macro in AGENT_MACROS}
    rules |= {f"{RUN.name}_again": as_rule(RUN), "begin": as_initialize_loop()}
    return type("LoopMachine", (ScenarioMachine,), {**rules, "capabilities": capabilities})


def explore(
    capabilities: frozenset[Capability],
    take: Callable[[Scenario], None],
    examples: int,
    seed_number: int,
    *,
    bursts: bool = True,
) -> None:
    """Draw scenarios of threads with Hypothesis, where there are threads: the same seed, the same scenarios."""
    if has_threads(capabilities):
        draw(machine_for(capabilities, bursts=bursts), take, examples, seed_number)


def explore_loops(
    capabilities: frozenset[Capability], take: Callable[[Scenario], None], examples: int, seed_number: int
) -> None:
    """Draw scenarios of an agent's loop, in the same way, where there is a loop."""
    if "hooks" in capabilities:
        draw(loop_machine_for(capabilities), take, examples, seed_number)


def draw(machine: type[ScenarioMachine], take: Callable[[Scenario], None], examples: int, seed_number: int) -> None:
    """Let a machine draw scenarios."""

    class Explorer(machine):  # type: ignore[misc, valid-type]
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

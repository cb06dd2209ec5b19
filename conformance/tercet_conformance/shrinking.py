"""Shrinks a scenario as long as it still breaks one rule: nothing of Hypothesis is in it.

A tidy scenario is preferred to a shorter odd one: one whose call ids are neither empty nor
repeated, whose calls are each answered once and later, and whose limit is above keepRecent + 1.
"""

from collections.abc import Callable, Iterator

from attrs import define, evolve, field

from tercet_conformance import agent_reductions
from tercet_conformance.reductions import (
    by_messages,
    lower,
    plainer_configurations,
    plainer_operations,
    rewritten,
    tidier,
    units_of,
    without_calls,
    without_steps,
    without_units,
)
from tercet_conformance.tidiness import messages_of, oddity
from tercet_spec.notation import DEFAULT, line_of
from tercet_spec.scenarios import Append, Configure, Edit, EndTurn, Scenario, Step
from tercet_spec.vocabulary import Configuration, TokenCounter

StillBroken = Callable[[Scenario], bool]
MOST_RUNS = 800
"""How often one scenario is run at most to shrink it."""


def shrink(scenario: Scenario, still_broken: StillBroken, most: int = MOST_RUNS) -> Scenario:
    """Return the smallest scenario found that is still broken, after at most ``most`` runs."""
    shrinker = Shrinker(scenario, still_broken, most)
    return shrinker.shrunk() if scenario.agent is None else shrinker.shrunk_loop()


@define
class Shrinker:
    """Takes away from the best scenario so far what it can; every candidate is run once."""

    best: Scenario
    still_broken: StillBroken
    runs_left: int
    is_plain: bool = False
    tried: set[Scenario] = field(factory=set)

    def shrunk(self) -> Scenario:
        """Take away until nothing more can go."""
        for shortest in (True, False):
            self.is_plain = self.is_plain or self.turns_plain(shortest=shortest)
        before = None
        while before != self.best and self.runs_left > 0:
            before = self.best
            if oddity(self.best):
                self.take_first(tidier)
            if self.best.configuration.trigger.kind == "tokens":
                self.take_first(by_messages)
            self.take_units()
            for smaller in (without_calls, without_steps, lower, plainer_configurations, plainer_operations):
                while self.take_first(smaller):
                    pass
        self.runs_left += 2
        if not self.turns_plain(shortest=True) and line_of(self.best) is None:
            self.turns_plain(shortest=False)
        return self.best

    def shrunk_loop(self) -> Scenario:
        """Take away from a scenario of an agent's loop until nothing more can go."""
        while any(
            agent_reductions.weight(candidate) < agent_reductions.weight(self.best) and self.goes_on_with(candidate)
            for candidate in agent_reductions.smaller(self.best)
        ):
            pass
        return self.best

    def goes_on_with(self, candidate: Scenario) -> bool:
        """Take a candidate, if it is still broken."""
        if not self.is_broken(candidate):
            return False
        self.best = candidate
        return True

    def turns_plain(self, *, shortest: bool) -> bool:
        """Write the scenario as a line of notation would, which ends with a step, if it still breaks."""
        candidate = as_a_line(self.best, shortest=shortest)
        if line_of(candidate) is None or not self.is_broken(candidate):
            return False
        self.best = candidate
        return True

    def is_broken(self, candidate: Scenario) -> bool:
        """Run a candidate, unless it was run before."""
        if candidate in self.tried or self.runs_left <= 0:
            return False
        self.tried.add(candidate)
        self.runs_left -= 1
        return self.still_broken(candidate)

    def take(self, candidate: Scenario) -> bool:
        """Go on with a candidate if it weighs less and is still broken."""
        if self.is_plain:
            candidate = as_a_line(candidate, shortest=False)
        return weight(candidate) < weight(self.best) and self.goes_on_with(candidate)

    def take_first(self, smaller: Callable[[Scenario], Iterator[Scenario]]) -> bool:
        """Go on with the first of some candidates that will do."""
        return any(self.take(candidate) for candidate in smaller(self.best))

    def take_units(self) -> None:
        """Take away units, many at once and then fewer, from the end to the beginning."""
        length = max(1, len(units_of(self.best)) // 2)
        while length:
            start = len(units_of(self.best)) - length
            while start >= 0:
                taken = self.take_first(lambda scenario: without_units(scenario, start, length))  # noqa: B023
                back = 0 if taken else max(1, length // 2)
                start = min(start - back, len(units_of(self.best)) - length)
            length //= 2


def as_a_line(scenario: Scenario, *, shortest: bool) -> Scenario:
    """Write a scenario as a line of notation would, which takes a last step after messages and settings."""
    candidate = rewritten(scenario, shortest=shortest)
    if candidate.operations and not isinstance(candidate.operations[-1], Append | Configure):
        return candidate
    system = next((o.system for o in candidate.operations if isinstance(o, Step)), None)
    return evolve(candidate, operations=(*candidate.operations, Step(system)))


def weight(scenario: Scenario) -> tuple[int, ...]:
    """Weigh a scenario: what is odd first, then how much there is of it."""
    units = units_of(scenario)
    steps = [unit.operation for unit in units if isinstance(unit.operation, Step)]
    messages = messages_of(scenario)
    configuration = scenario.configuration
    return (
        oddity(scenario),
        configuration.trigger.kind != "messages",
        len(units) + sum(len(step.answers) + len(step.notes) + len(step.pending) for step in steps),
        sum(len(step.replies) for step in steps),
        sum(len(message.calls) + len(message.answers) for message in messages),
        sum(step.system is not None for step in steps),
        sum(plainness(configuration)),
        sum(len(step.system or "") for step in steps)
        + sum(len(message.content) + sum(len(call.name) for call in message.calls) for message in messages)
        + sum(reply.length + len(reply.ends) + len(reply.blank or "") for step in steps for reply in step.replies),
        *plainness(configuration),
        sum(note.back for step in steps for note in step.notes)
        + sum(unit.operation.first + unit.operation.count for unit in units if isinstance(unit.operation, Edit))
        + sum(unit.operation == EndTurn(blocked=True) for unit in units),
    )


def plainness(configuration: Configuration) -> tuple[int, int, int, int, int]:
    """Measure how far a configuration is from a plain one."""
    counter = configuration.token_counter
    return (
        abs(configuration.trigger.limit),
        abs(configuration.keep_recent),
        abs(configuration.max_summary_tokens - DEFAULT.max_summary_tokens) > 0,
        counter.base,
        abs(counter.divisor - TokenCounter().divisor),
    )

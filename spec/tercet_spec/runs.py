"""A run of an agent's loop as one moment: what happened in it, and where it left its course."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from attrs import frozen

from tercet_spec.agents import Agent
from tercet_spec.course import Departure, Happening, walked
from tercet_spec.trace import RunBegun, RunEnded
from tercet_spec.vocabulary import Description, Message

H = TypeVar("H", bound=Happening)


@frozen
class AgentRun:
    """One run, from its input to its end, through all that it waited for."""

    number: int
    description: Description
    agent: Agent
    events: tuple[Happening, ...]

    @property
    def begun(self) -> RunBegun:
        """How it began."""
        begun = self.events[0]
        assert isinstance(begun, RunBegun)
        return begun

    @property
    def history(self) -> tuple[Message, ...]:
        """The history before it."""
        return self.begun.shown.history

    @property
    def ended(self) -> RunEnded | None:
        """How it ended, or that it waits."""
        return next((event for event in reversed(self.events) if isinstance(event, RunEnded)), None)

    def of(self, kind: type[H]) -> tuple[H, ...]:
        """Choose what happened of one kind."""
        return tuple(event for event in self.events if isinstance(event, kind))

    @cached_property
    def departures(self) -> tuple[Departure, ...]:
        """Where it left its course."""
        return walked(self.agent, self.description, self.events)


def runs(description: Description, agent: Agent, events: Sequence[Happening]) -> Iterator[AgentRun]:
    """Divide what happened into runs."""
    starts = [place for place, event in enumerate(events) if isinstance(event, RunBegun)]
    for number, (start, end) in enumerate(pairwise([*starts, len(events)])):
        yield AgentRun(number, description, agent, tuple(events[start:end]))

"""Hypothesis strategies of what the suite draws, for tests of one's own."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tercet_conformance.macros import MACROS, OPENING, open_draft
from tercet_conformance.tidiness import messages_of
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import ALL_CAPABILITIES, Capability, Configuration, Message

MOST_MOVES = 6


def numbers(parameters: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Make the strategy of each parameter: whole numbers between two, both included."""
    return {name: st.integers(*limits) for name, limits in parameters.items()}


@st.composite
def scenarios(
    draw: st.DrawFn, capabilities: frozenset[Capability] = ALL_CAPABILITIES, most_moves: int = MOST_MOVES
) -> Scenario:
    """Draw whole scenarios: a configuration, and what happens in a thread, of so many moves at most.

    They hold what an implementation of these capabilities can be asked for.
    """
    draft = open_draft(capabilities, draw(st.fixed_dictionaries(numbers(OPENING))))
    moves = st.sampled_from([macro for macro in MACROS if macro.needs <= capabilities])
    for macro in draw(st.lists(moves, max_size=most_moves)):
        macro.play_with(draft, draw(st.fixed_dictionaries(numbers(macro.parameters))))
    return draft.scenario()


def configurations(capabilities: frozenset[Capability] = ALL_CAPABILITIES) -> st.SearchStrategy[Configuration]:
    """Draw configurations that an implementation is not to refuse."""
    return scenarios(capabilities, 0).map(lambda scenario: scenario.configuration)


def histories(most_moves: int = MOST_MOVES) -> st.SearchStrategy[tuple[Message, ...]]:
    """Draw the messages of a thread: parallel calls, results that come late, twice or never, ids that come again.

    They are not stored yet, and have no stored ids.
    """
    return scenarios(ALL_CAPABILITIES, most_moves).map(lambda scenario: tuple(messages_of(scenario)))

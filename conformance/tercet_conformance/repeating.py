"""Tells whether an implementation does the same again: what differs each time is no counterexample for anybody.

Two traces of one scenario are compared in outline: who speaks, what was called, how it ended. Texts
and ids may differ, such as a time in a prompt or an id that is drawn.
"""

from itertools import zip_longest
from typing import Any, get_args

from tercet_conformance.driver import Diagnosis, Run, field_names
from tercet_spec.trace import Failure, Outcome
from tercet_spec.vocabulary import Role

SPOKEN = frozenset({*get_args(Role), *get_args(Outcome), *get_args(Failure)})


def outline(value: Any) -> Any:
    """Leave out of a value of the vocabulary what may differ from one run to the next."""
    if isinstance(value, str):
        return value if value in SPOKEN else "a text"
    if isinstance(value, tuple):
        return tuple(map(outline, value))
    names = field_names(value)
    return (type(value).__name__, *[outline(getattr(value, name)) for name in names]) if names else value


def difference(one: Run, other: Run) -> Diagnosis | None:
    """Say in what two runs of one scenario differ; nothing where they do not."""
    for number, (first, second) in enumerate(zip_longest(one.trace.events, other.trace.events), 1):
        if outline(first) != outline(second):
            name = type(first or second).__name__
            return unsteady(f"of one scenario, run twice, observation {number} differs ({name})")
    if (one.diagnosis is None) != (other.diagnosis is None):
        return unsteady("one scenario, run twice, was broken off once")
    return None


def unsteady(seen: str) -> Diagnosis:
    """Diagnose an implementation that does not do the same again."""
    return Diagnosis(
        "the same again",
        f"answers differently each time: {seen}; draw nothing at random, keep nothing from one thread to the next",
    )

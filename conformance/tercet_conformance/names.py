"""Helps with a name that is not known: which are near to it, else which there are."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import get_args

from tercet_spec.trace import Failure, Outcome
from tercet_spec.vocabulary import Capability, Character, Role

WORDS: Mapping[str, tuple[str, ...]] = {
    "role": get_args(Role),
    "failure": get_args(Failure),
    "outcome": get_args(Outcome),
    "capabilities": get_args(Capability),
    "character": get_args(Character),
    "failed_compressor": ("fails", "sends"),
}
"""The words that may stand in a field of this name, in a file or on the wire."""
MANY = 20
"""So many names are not listed where one is unknown."""


def near(name: str, names: Sequence[str], listed_by: str = "") -> str:
    """Say which names are near to one, else which there are; many are left to what lists them."""
    if close := get_close_matches(name, names, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(close)}?"
    if listed_by and len(names) > MANY:
        return f"there are {len(names)}, which {listed_by} lists"
    return f"there are: {', '.join(names) or 'none'}"

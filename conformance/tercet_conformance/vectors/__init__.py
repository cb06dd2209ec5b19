"""Vectors: the smallest thread that each wrong implementation of the gallery was caught with, a file each.

They are run before anything is generated. ``python -m tercet_conformance.vectors`` writes them anew.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tercet_conformance.files import Saved, read

FOLDER = Path(__file__).parent


@cache
def vectors() -> Sequence[Saved]:
    """Read all vectors, in the order of their names."""
    return [read(path) for path in sorted(FOLDER.glob("*.json"))]

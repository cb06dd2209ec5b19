"""The suite's own proof: wrong implementations that it must catch, right ones it must never blame, hostile ones."""

from collections.abc import Mapping

from tercet_conformance.gallery import guards, hostile, null, processes, right, right_loops, wrong
from tercet_conformance.gallery.entry import ENTERED, Entry

ENTRIES: tuple[Entry, ...] = tuple(ENTERED)
BY_NAME: Mapping[str, Entry] = {entry.name: entry for entry in ENTRIES}

__all__ = ["BY_NAME", "ENTRIES", "Entry", "guards", "hostile", "null", "processes", "right", "right_loops", "wrong"]

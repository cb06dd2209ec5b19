"""Baselines: the failures that are known, as a file that people write, and what they make of a report.

::

    [[known]]
    rule = "cut.pairs"
    kind = "bug"                                # or "wont-fix", or "flaky": it may hold as well
    reason = "The cut goes by position; 2.1 mends it."
    link = "https://example.org/issues/7"       # optional
    signature = "left without its call"         # optional: lists only what shows this text

An entry that lists nothing any more fails the run, so a baseline never outlives its reason; one with a
signature never hides another fault under the same rule. Rule and signature tell entries apart.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from attrs import NOTHING, evolve, fields, frozen

from tercet_conformance.garbage import described
from tercet_conformance.names import near
from tercet_conformance.report import shown
from tercet_conformance.verdicts import Counterexample, Kind, KnownFailure, Report, RuleVerdict, Verdict, marked
from tercet_spec.rules import BY_ID

TABLE = "known"
FIELDS = tuple(field.name for field in fields(KnownFailure))
NEEDED = tuple(field.name for field in fields(KnownFailure) if field.default is NOTHING)
KINDS: tuple[str, ...] = get_args(Kind)


@frozen
class BaselineError(ValueError):
    """A baseline that cannot be read: which file, and why."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


def read(path: Path) -> tuple[KnownFailure, ...]:
    """Read a file; raises BaselineError."""
    try:
        return decode(path.read_text("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise BaselineError(str(path), f"not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise BaselineError(str(path), error.strerror or str(error)) from error


def decode(text: str, path: str = "baseline") -> tuple[KnownFailure, ...]:
    """Read the text of a file; raises BaselineError, which names the entry, the field and what is allowed there."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BaselineError(path, f"not TOML: {error}") from error
    except ValueError as error:  # a number of more digits than Python reads
        raise BaselineError(path, f"not a baseline: {error}") from error
    for name in document:
        if name != TABLE:
            raise BaselineError(path, f"there is no {name!r} in a baseline; each entry begins with [[{TABLE}]]")
    written = document.get(TABLE, [])
    if not isinstance(written, list):
        raise BaselineError(path, f"{TABLE!r} is {described(written)}; each entry begins with [[{TABLE}]]")
    entries: list[KnownFailure] = []
    for number, each in enumerate(written, 1):
        entry = entry_of(each, f"entry {number}", path)
        refuse_overlap(entry, entries, f"entry {number}", path)
        entries.append(entry)
    return tuple(entries)


def entry_of(written: Any, place: str, path: str) -> KnownFailure:
    """Read one entry."""
    if not isinstance(written, dict):
        raise BaselineError(path, f"{place} is {described(written)}; each entry begins with [[{TABLE}]]")
    for name, value in written.items():
        if name not in FIELDS:
            raise BaselineError(path, f"{place}: there is no field {name!r}; {near(name, FIELDS)}")
        if problem := value_problem(name, value):
            raise BaselineError(path, f"{place}: {name} is {described(value)}; {problem}")
    for name in NEEDED:
        if name not in written:
            raise BaselineError(path, f"{place} has no {name}; an entry has {', '.join(NEEDED)}")
    return KnownFailure(**written)


def value_problem(name: str, value: object) -> str | None:
    """Say what is allowed in a field, where its value is not."""
    if not isinstance(value, str):
        return "it is a text"
    if not value.strip():
        return "it is not empty" + ("" if name in NEEDED else "; leave it out")
    if name == "rule" and value not in BY_ID:
        return f"there is no such rule; {near(value, list(BY_ID), 'tercet explain')}"
    if name == "kind" and value not in KINDS:
        return f"it is one of {', '.join(KINDS)}"
    if name == "link" and not re.fullmatch(r"https?://[^\s/]\S*", value):
        return "it is an address that begins with https:// or http://"
    return None


def refuse_overlap(entry: KnownFailure, entries: Sequence[KnownFailure], place: str, path: str) -> None:
    """Refuse an entry that lists what another one does."""
    for number, other in enumerate(entries, 1):
        signatures = {entry.signature, other.signature}
        if entry.rule == other.rule and (len(signatures) == 1 or None in signatures):
            raise BaselineError(
                path,
                f"{place}: {entry.rule} is listed by entry {number} already;"
                " of two entries of one rule each has a signature of its own",
            )


def apply(entries: Sequence[KnownFailure], report: Report) -> Report:
    """Mark the counterexamples that a baseline lists: a rule all of whose are listed is known, not failed."""
    verdicts = tuple(listed(verdict, entries) for verdict in report.verdicts)
    return evolve(report, verdicts=verdicts, baseline=tuple(dict.fromkeys([*report.baseline, *entries])))


def listed(verdict: RuleVerdict, entries: Sequence[KnownFailure]) -> RuleVerdict:
    """Mark the counterexamples of one rule."""
    if verdict.verdict is not Verdict.FAIL:
        return verdict
    entries = [entry for entry in entries if entry.rule == verdict.rule.id]
    examples = [
        evolve(each, known=each.known or next((entry for entry in entries if matches(entry, each)), None))
        for each in verdict.counterexamples
    ]
    return marked(evolve(verdict, counterexamples=tuple(examples)))


def matches(entry: KnownFailure, example: Counterexample) -> bool:
    """Tell whether an entry lists a counterexample: its signature is looked for in the texts as a report shows them."""
    violation = example.finding.violation
    return entry.signature is None or any(
        shown(entry.signature) in shown(text) for text in (violation.expected, violation.seen)
    )

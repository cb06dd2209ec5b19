"""Mutates the rules, and sees whether the gallery notices each mutant.

Run ``python tests/mutation/rules.py``, or with some modules only. What every implementation of the
gallery does is recorded once, and each mutant judges the records. It is noticed where it raises, where
a wrong implementation is no longer caught by its own rule, or a vector by nothing, where what is right
is blamed, and where situations are reached otherwise: the reference is not brought into one, or what
does nothing passes a rule that it did not pass.
"""

import argparse
import gc
import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import evolve, field, frozen
from mutants import (
    RESULTS,
    Known,
    Mutant,
    copied,
    forget,
    isolated,
    kind_of,
    known_survivors,
    mutants_of,
    processor_seconds,
    table,
    write_section,
)

import tercet_spec
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.driver import run
from tercet_conformance.gallery import ENTRIES
from tercet_conformance.interface import Implementation
from tercet_conformance.search import BUDGETS, generated_scenarios, saved_scenarios
from tercet_conformance.suite import Suite
from tercet_conformance.vectors import vectors
from tercet_conformance.verdicts import enough_for
from tercet_spec.moments import Moment, moments
from tercet_spec.rules import BY_ID, RULES
from tercet_spec.scenarios import Scenario
from tercet_spec.trace import Trace
from tercet_spec.vocabulary import Character, Description

PACKAGE = Path(tercet_spec.__file__ or "").parent
FAMILIES = ("trigger", "cut", "compress", "bound", "send", "key", "usage", "config")
FOUNDATIONS = ("judgement", "requests", "pairs", "rules.rule")
"""What all families rest on; all of them judge anew, and fewer records."""
ABOVE = ("pairs", "requests", "readings", "moments", "judgement", "rules")
"""The modules that are loaded anew with a foundation: those above what the records are made of."""
CATCHES = 6
"""So many of the scenarios that catch a wrong implementation are recorded."""
LONG_ENOUGH = 200
"""So many scenarios are searched for them, if one of them catches it."""
BURSTS = 40
"""So many generated scenarios are recorded of each right one."""
EVERY = 8
"""A foundation judges every eighth record of what is right."""
SECONDS = 600.0
LIST = Path(__file__).with_suffix(".toml")


@frozen
class Record:
    """What an implementation did in one scenario."""

    description: Description
    trace: Trace
    moments: tuple[Moment, ...] = field(eq=False)


@frozen
class Wrong:
    """A wrong implementation: its own rule, records of what caught it, and the vectors among them, by their number."""

    name: str
    rule: str
    records: tuple[Record, ...]
    vectors: tuple[int, ...]


@frozen
class Gallery:
    """What was recorded of the gallery; ``reached`` is by the reference, in generated scenarios."""

    wrong: tuple[Wrong, ...]
    right: tuple[Record, ...]
    reference: tuple[Record, ...]
    nulls: tuple[tuple[str, tuple[Record, ...]], ...]


def record(implementation: Implementation, description: Description, scenario: Scenario) -> Record:
    """Run a scenario, and keep what was done; by whom does not matter."""
    trace = run(implementation, evolve(description, name="", version=""), scenario).trace
    return Record(description, trace, tuple(moments(trace)))


def recorded() -> Gallery:
    """Run the gallery."""
    wrong = [
        wrong_one(entry.name, entry.rule, entry.make()) for entry in ENTRIES if entry.kind == "wrong" and entry.rule
    ]
    units: tuple[Character, ...] = ("code point", "UTF-16 unit", "UTF-8 byte")
    makers = [entry.make for entry in ENTRIES if entry.kind == "right"] + [partial(Reference, unit) for unit in units]
    right: dict[Trace, Record] = {}
    for make in makers:
        implementation = make()
        description = implementation.describe()
        capabilities = description.capabilities
        for scenario in [*saved_scenarios(capabilities), *generated_scenarios(capabilities, BURSTS, 0)]:
            taken = record(implementation, description, scenario)
            right.setdefault(taken.trace, taken)
    nulls = [(entry.name, generated(entry.make())) for entry in ENTRIES if entry.kind == "null"]
    return Gallery(tuple(wrong), tuple(right.values()), generated(Reference()), tuple(nulls))


def generated(implementation: Implementation) -> tuple[Record, ...]:
    """Record what an implementation does in the generated scenarios of the quick budget."""
    description = implementation.describe()
    scenarios = generated_scenarios(description.capabilities, BUDGETS["quick"].bursts, 0)
    return tuple(record(implementation, description, scenario) for scenario in scenarios)


def wrong_one(name: str, rule_id: str, implementation: Implementation) -> Wrong:
    """Record what catches a wrong implementation: vectors first, then what is generated."""
    description = implementation.describe()
    rule = next(rule for rule in RULES if rule.id == rule_id)
    suite = Suite(implementation, description, (rule,))
    own = {vector.scenario: number for number, vector in enumerate(vectors()) if vector.rule == rule_id}
    others = [*saved_scenarios(description.capabilities), *generated_scenarios(description.capabilities, 300, 0)]
    caught: list[Scenario] = []
    for number, scenario in enumerate(dict.fromkeys([*own, *others])):
        if len(caught) == CATCHES or (caught and number == LONG_ENOUGH):
            break
        if suite.breaks(scenario, rule):
            caught.append(scenario)
    assert caught, name
    records = tuple(record(implementation, description, scenario) for scenario in caught)
    return Wrong(name, rule_id, records, tuple(own[scenario] for scenario in caught if scenario in own))


Found = tuple[str, int, tuple[object, ...]]
"""A rule that broke, in which step, and what is said of it."""
Reached = Counter[tuple[str, str]]
Looked = tuple[list[Found], Reached]
Look = Callable[[Record, Sequence[Any]], Looked]
"""Judges a record by some rules."""


def as_folded(record: Record, rules: Sequence[Any]) -> Looked:
    """Judge the moments that were recorded."""
    found: list[Found] = []
    reached: Reached = Counter()
    before: Moment | None = None
    for moment in record.moments:
        for rule in rules:
            for violation in rule.judge(moment, before):
                found.append((rule.id, getattr(moment, "number", -1), said(violation)))
            reached.update((rule.id, situation) for situation in rule.reached(moment))
        before = moment
    return found, reached


def anew(judgement: ModuleType, record: Record, rules: Sequence[Any]) -> Looked:
    """Judge the trace that was recorded."""
    judged = judgement.judge(record.trace, rules)
    return [(each.rule.id, each.step, said(each.violation)) for each in judged.findings], judged.reached


def said(violation: Any) -> tuple[object, ...]:
    """What a violation says, of whichever copy its class is."""
    return violation.expected, violation.seen, violation.position, violation.attempt


@frozen
class Judge:
    """Rules, and how records are judged by them."""

    rules: tuple[Any, ...]
    look: Look

    def applicable(self, record: Record) -> list[Any]:
        """Choose the rules that whoever was recorded can be asked to keep."""
        return [rule for rule in self.rules if rule.applies_to(record.description.capabilities)]


def original(module: str) -> Judge:
    """Judge by the rules that rest on a module, as they are."""
    if module in FOUNDATIONS:
        return Judge(RULES, partial(anew, importlib.import_module("tercet_spec.judgement")))
    return Judge(tuple(rule for rule in RULES if rule.family == module), as_folded)


def mutated(folder: Path, module: str) -> Judge:
    """Load a mutant, and what rests on it, and judge by its rules."""
    tercet_spec.__path__ = [str(folder / PACKAGE.name)]
    importlib.import_module("tercet_spec.rules").__path__ = [str(folder / PACKAGE.name / "rules")]
    if module not in FOUNDATIONS:
        forget(f"tercet_spec.rules.{module}")
        return Judge(importlib.import_module(f"tercet_spec.rules.{module}").RULES, as_folded)
    forget(*(f"tercet_spec.{name}" for name in ABOVE))
    judgement = importlib.import_module("tercet_spec.judgement")
    return Judge(importlib.import_module("tercet_spec.rules").RULES, partial(anew, judgement))


def enough_of(judge: Judge, gallery: Gallery) -> frozenset[tuple[str, str]]:
    """The situations that the reference is brought into often enough to pass."""
    reached: Reached = Counter()
    for record in gallery.reference:
        reached += judge.look(record, judge.rules)[1]
    return frozenset(key for key, count in reached.items() if count >= enough_for(BY_ID[key[0]]))


def passed_by(judge: Judge, gallery: Gallery) -> frozenset[tuple[str, str]]:
    """The rules that those pass who do nothing."""
    passed = set[tuple[str, str]]()
    for name, records in gallery.nulls:
        rules, description = judge.applicable(records[0]), records[0].description
        looked = [judge.look(record, rules) for record in records]
        broken = {rule for found, _ in looked for rule, *_ in found}
        reached = sum((more for _, more in looked), Counter[tuple[str, str]]())
        for rule in rules:
            enough = all(
                reached[rule.id, situation] >= enough_for(BY_ID[rule.id]) for situation in rule.asked_of(description)
            )
            passed |= {(name, rule.id)} if enough and rule.id not in broken else set()
    return frozenset(passed)


@frozen
class Seen:
    """What the rules as they are say of the records of what is wrong and of what is right, of situations and nulls."""

    wrong: tuple[tuple[Looked, ...], ...]
    right: tuple[Looked, ...]
    enough: frozenset[tuple[str, str]]
    passed: frozenset[tuple[str, str]]


def see(judge: Judge, gallery: Gallery) -> Seen:
    """Judge all records."""
    wrong = tuple(tuple(judge.look(r, judge.applicable(r)) for r in each.records) for each in gallery.wrong)
    right = tuple(judge.look(record, judge.applicable(record)) for record in gallery.right)
    return Seen(wrong, right, enough_of(judge, gallery), passed_by(judge, gallery))


@frozen
class Fate:
    """What became of a mutant: how it was noticed, or what it does otherwise and is not; ``where`` is an example."""

    noticed: str = ""
    otherwise: str = ""
    where: str = ""


def fate(folder: Path, module: str, gallery: Gallery, seen: Seen) -> Fate:
    """Let a mutant judge the records."""
    try:
        judge = mutated(folder, module)
        return unnoticed(judge, gallery, seen)
    except Noticed as how:
        return Fate(str(how), where=how.where)
    except Exception as error:
        return Fate("it raises", where=repr(error)[:80])


class Noticed(Exception):
    """Raised where the gallery notices a mutant."""

    def __init__(self, how: str, where: object) -> None:
        super().__init__(how)
        self.where = str(where)


def unnoticed(judge: Judge, gallery: Gallery, seen: Seen) -> Fate:
    """Say what a mutant says otherwise of the records; raises Noticed."""
    told: dict[str, str] = {}
    asked, broken = set[int](), set[int]()
    for wrong, expected in zip(gallery.wrong, seen.wrong, strict=True):
        caught = []
        for record, before in zip(wrong.records, expected, strict=True):
            now = judge.look(record, judge.applicable(record))
            caught.append(any(rule == wrong.rule for rule, *_ in now[0]))
            compare(told, before, now, wrong.name)
        if any(rule == wrong.rule for found, _ in expected for rule, *_ in found):
            if not any(caught):
                raise Noticed("not caught", wrong.name)
            asked |= set(wrong.vectors)
            broken |= {vector for vector, is_caught in zip(wrong.vectors, caught, strict=False) if is_caught}
    if lost := asked - broken:
        raise Noticed("a vector is lost", vectors()[min(lost)].rule)
    for record, before in zip(gallery.right, seen.right, strict=True):
        now = judge.look(record, judge.applicable(record))
        if now[0]:
            raise Noticed("right is blamed", now[0][0][0])
        compare(told, before, now, "what is right")
    if less := seen.enough - enough_of(judge, gallery):
        raise Noticed("not exercised", min(less))
    if more := passed_by(judge, gallery) - seen.passed:
        raise Noticed("null passes", min(more))
    return next((Fate("", kind, told[kind]) for kind in MEANING if kind in told), Fate("", "nothing"))


def compare(
    told: dict[str, str], before: tuple[list[Found], Reached], now: tuple[list[Found], Reached], by: str
) -> None:
    """Note what is said otherwise of a record, if it is the first such."""
    if before == now:
        return
    broken, breaks = ({each[:2] for each in found} for found, _ in (before, now))
    if gone := broken - breaks:
        told.setdefault("less", f"{by}: {min(gone)}")
    elif new := breaks - broken:
        told.setdefault("more", f"{by}: {min(new)}")
    elif before[1] != now[1]:
        told.setdefault("situations", f"{by}: {min(set(before[1].items()) ^ set(now[1].items()))[0]}")
    else:
        told.setdefault("words", by)


def source_of(module: str) -> Path:
    """Say where in the package a module's source is."""
    return Path(*module.split(".")).with_suffix(".py") if module in FOUNDATIONS else Path("rules", f"{module}.py")


def fates(module: str, mutants: Sequence[Mutant], gallery: Gallery) -> Iterator[Fate]:
    """Let each mutant of a module judge the gallery."""
    if module in FOUNDATIONS:
        fewer = tuple(evolve(wrong, records=wrong.records[: max(1, len(wrong.vectors))]) for wrong in gallery.wrong)
        gallery = Gallery(fewer, gallery.right[::EVERY], gallery.reference, ())
    seen = see(original(module), gallery)
    gc.collect()
    gc.freeze()
    with copied(PACKAGE) as folder:
        copy = folder / PACKAGE.name / source_of(module)
        work = partial(fate, folder, module, gallery, seen)
        control = isolated(work, SECONDS, Fate("it ends"))
        assert control == Fate("", "nothing"), control
        for mutant in mutants:
            copy.write_text(mutant.source)
            yield isolated(work, SECONDS, Fate("it ends"))


COLUMNS = ("it raises", "it ends", "not caught", "a vector is lost", "right is blamed", "not exercised", "null passes")
MEANING = {
    "less": "a rule no longer breaks in some step of what is wrong, and still catches what it must",
    "more": "a rule breaks in one more step of what is wrong, and of nothing that is right",
    "situations": "a situation is reached in more steps, or in fewer, and still often enough",
    "words": "a violation says it in other words, or shows another place",
    "nothing": "it judges every record like the original",
}
ROW = re.compile(r"^\| `([\w.]+)` \| (.+) \|$", re.MULTILINE)


def section(module: str, mutants: Sequence[Mutant], taken: Sequence[Fate], listed: Sequence[Known]) -> str:
    """Say what became of the mutants of one module."""
    columns = Counter(fate.noticed or fate.otherwise for fate in taken)
    row = [f"`{module}`", len(taken), *(columns[name] for name in (*COLUMNS, *MEANING))]
    lines = [table(("module", "mutants", *COLUMNS, *MEANING), [row])]
    for kind in ("less", "more", "nothing"):
        alive = [(mutant, fate) for mutant, fate in zip(mutants, taken, strict=True) if fate.otherwise == kind]
        lines += [f"### {module}: {kind}", "", "```diff"] if alive else []
        for was in dict.fromkeys(mutant.was for mutant, _ in alive):
            own = [(mutant, fate) for mutant, fate in alive if mutant.was == was]
            lines += [f"@@ line {own[0][0].line} @@ {reason(own[0][0], listed)}".rstrip(), f"- {was}"]
            lines += [f"+ {mutant.now}" for mutant, _ in own]
        lines += ["```", ""] if alive else []
    return "\n".join(lines)


def reason(mutant: Mutant, listed: Sequence[Known]) -> str:
    """Say what is known of a mutant."""
    own = (each for each in listed if (each.module, each.was) == (mutant.module, mutant.was))
    return next((each.reason for each in own if mutant.now in each.now), "")


def summary() -> str:
    """Sum up what is written of each module."""
    rows = [[name, *map(int, cells.split(" | "))] for name, cells in ROW.findall(RESULTS.read_text())]
    rows = [row for row in rows if row[0] in (*FOUNDATIONS, *FAMILIES)]
    rows.append(["all", *map(sum, zip(*(row[1:] for row in rows), strict=True))])
    meanings = "\n".join(f"- **{kind}**: {says}." for kind, says in MEANING.items())
    return f"""
`python tests/mutation/rules.py` makes them, lets each judge what was recorded of the gallery, and writes this section
and those after it; `python tests/mutation/rules.py cut` does it for one module. The rules as they are go the same way,
and are not noticed. The last five columns are not noticed:

{meanings}

{table(("module", "mutants", *COLUMNS, *MEANING), rows)}"""


def main() -> int:
    """Run, write the results, and say what nobody has explained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", default=(*FOUNDATIONS, *FAMILIES), help="only these")
    chosen = parser.parse_args()
    listed, found = known_survivors(LIST), 0
    gallery = recorded()
    for module in chosen.modules:
        mutants = mutants_of(module, (PACKAGE / source_of(module)).read_text())
        taken = []
        for fate in fates(module, mutants, gallery):
            taken.append(fate)
            if sys.stderr.isatty():
                print(f"\r{module}: {len(taken)} of {len(mutants)}", end="", file=sys.stderr, flush=True)
        for mutant, fate in zip(mutants, taken, strict=True):
            if fate.otherwise == "less" and kind_of(mutant, listed) is None:
                found += 1
                print(f"not listed: {mutant.name}; {fate.where}")
        print(f"{module}: {len(mutants)} mutants, {processor_seconds():.0f} s so far", flush=True)
        write_section(f"{module}", section(module, mutants, taken, listed))
        write_section("The rules", summary())
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

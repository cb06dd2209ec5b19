"""Mutates the reference, and sees whether the suite alone catches each mutant, in one form of it or another.

Run ``python tests/mutation/reference.py``. A mutant is driven as any implementation is, with the
scenarios of a check on the quick budget; what nobody has explained with those on the standard budget
too. The original steers, so that all are driven with the same scenarios. What survives must be
listed in ``reference.toml`` with a reason, and one that is said to be like the original must decide
like it in the small scope.
"""

import argparse
import gc
import importlib
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

from attrs import frozen
from mutants import (
    Known,
    Mutant,
    copied,
    isolated,
    kind_of,
    known_survivors,
    load_from,
    mutants_of,
    processor_seconds,
    stale,
    survivors,
    table,
    write_section,
)
from small_scope import Walker

import tercet
import test_reference_small_scope as scope
from tercet_conformance.adapters import reference as the_adapter
from tercet_conformance.driver import Run, run
from tercet_conformance.interface import Implementation
from tercet_conformance.limits import Limits
from tercet_conformance.machine import explore
from tercet_conformance.search import BUDGETS, BudgetName, generated_scenarios, saved_scenarios
from tercet_conformance.suite import Suite, applicable
from tercet_spec.characters import is_blank
from tercet_spec.judgement import judge
from tercet_spec.rules import RULES
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Character

PACKAGE = Path(tercet.__file__).parent
MODULES = ("ledger", "trigger", "cut", "bound", "plan")
UNITS: tuple[Character, ...] = ("code point", "UTF-16 unit", "UTF-8 byte")
BY_PLACE = "places for ids"
"""The reference in code points, once more, on messages without ids of their own."""
FORMS = (*UNITS, BY_PLACE)
CALL_SECONDS = 3.0
SECONDS = 600.0
LIST = Path(__file__).with_suffix(".toml")


@frozen
class Drawn:
    """The scenarios of one check of one form of the reference, and how the original runs each."""

    form: str
    budget: BudgetName
    scenarios: Sequence[tuple[Scenario, Run]]


@frozen
class Catch:
    """What caught a mutant: a rule, by its id, or a diagnosis; in which form, budget and scenario of a check."""

    by: str
    form: str = ""
    budget: str = ""
    number: int = 0

    @property
    def column(self) -> str:
        """What it is counted as."""
        return "a rule" if "." in self.by else self.by


def reference_in(form: str, adapter: Any) -> Implementation:
    """Make a form of the reference from an adapter of it."""
    made: Implementation = adapter.Reference(dialect=adapter.BY_PLACE) if form == BY_PLACE else adapter.Reference(form)
    return made


def draw(budget: BudgetName, form: str, seed: int) -> Drawn:
    """Draw the scenarios of a check, and run the original with them: no rule may blame it."""
    reference = reference_in(form, the_adapter)
    description = reference.describe()
    capabilities, size = description.capabilities, BUDGETS[budget]
    scenarios = [*saved_scenarios(capabilities), *generated_scenarios(capabilities, size.bursts, seed)]
    explore(capabilities, scenarios.append, size.examples, seed)
    runs = [(scenario, run(reference, description, scenario)) for scenario in scenarios]
    rules = applicable(RULES, description)
    assert not any(ran.diagnosis or judge(ran.trace, rules).findings for _, ran in runs)
    return Drawn(form, budget, runs)


def first_catch(folder: Path, checks: Sequence[Drawn]) -> Catch | None:
    """Load a copy of the reference, and run the suite against it until something is broken.

    A run that is the same as the original's is judged like it, and so is not judged.
    """
    load_from(folder, "tercet", "tercet_conformance.adapters.reference")
    try:
        adapter = importlib.import_module(the_adapter.__name__)
    except Exception:
        return Catch("not loaded")
    assert Path(sys.modules["tercet"].__file__ or "").is_relative_to(folder)
    with Limits(CALL_SECONDS) as limits:
        for check in checks:
            reference = reference_in(check.form, adapter)
            description = reference.describe()
            suite = Suite(reference, description, applicable(RULES, description), limits)
            for number, (scenario, expected) in enumerate(check.scenarios, 1):
                ran = suite.run(scenario)
                if ran == expected:
                    continue
                if findings := judge(ran.trace, suite.rules).findings:
                    return Catch(findings[0].rule.id, check.form, check.budget, number)
                if ran.diagnosis:
                    return Catch("a hang" if ran.diagnosis.is_hang else "a crash", check.form, check.budget, number)
    return None


def decided_otherwise(folder: Path, expected: Sequence[int], module: str) -> str | None:
    """Load a copy of the reference, and say where in the small scope it decides otherwise than the original."""
    load_from(folder, "tercet", scope.__name__)
    package, threads = importlib.import_module("tercet"), importlib.import_module(scope.__name__)
    assert threads is not scope
    assert Path(package.__file__ or "").is_relative_to(folder)
    try:
        if module in ("bound", "all"):
            blank = sys.modules["tercet.bound"].is_blank
            assert all(blank(chr(code)) == is_blank(chr(code)) for code in range(0x3001))
            for unit in UNITS:
                threads.test_the_bound_of_one_token_on_every_text_up_to_three_characters_longer(unit)
                threads.test_a_configurable_bound_on_every_length_around_it(unit, 32)
                threads.test_the_bound_on_the_first_and_last_character_of_each_width(unit)
        if module != "bound":
            for (walk, asked, outcome), before in zip(walks(package), expected, strict=True):
                if hash(outcome) != before:
                    return f"{walk}, asked with {asked}: {outcome}"
            threads.check_all(kinds for n in range(5) for kinds in product(range(len(scope.KINDS)), repeat=n))
    except Exception as error:
        return f"a text, or a thread of up to four messages: {type(error).__name__}"
    return None


def walks(package: ModuleType) -> Iterator[tuple[str, str, object]]:
    return Walker(package).walks()


@frozen
class Fate:
    """What became of a mutant: its catch or, if it survived, where in the small scope it decides otherwise."""

    mutant: Mutant
    catch: Catch | None
    told: str | None = None


def fates(mutants: Sequence[Mutant], listed: Sequence[Known], *, deep: bool) -> Iterator[Fate]:
    """Run the suite against each mutant; those that survive it are told from the original, if they can be."""
    quick = [draw("quick", form, seed) for seed, form in enumerate(FORMS)]
    expected = [hash(outcome) for *_, outcome in walks(tercet)]
    standard = partial(drawn_once, [])
    gc.freeze()
    with copied(PACKAGE) as folder:
        assert isolated(partial(first_catch, folder, quick), SECONDS, "ended") is None
        assert isolated(partial(decided_otherwise, folder, expected, "all"), SECONDS, "ended") is None
        for mutant in mutants:
            path = folder / PACKAGE.name / f"{mutant.module}.py"
            original = path.read_text()
            path.write_text(mutant.source)
            catch = isolated(partial(first_catch, folder, quick), SECONDS, Catch("a hang"))
            if catch is None and (deep or kind_of(mutant, listed) is None):
                catch = isolated(partial(first_catch, folder, standard()), SECONDS, Catch("a hang"))
            told = (
                None
                if catch
                else isolated(partial(decided_otherwise, folder, expected, mutant.module), SECONDS, "it ended")
            )
            path.write_text(original)
            yield Fate(mutant, catch, told)


def drawn_once(drawn: list[Drawn]) -> list[Drawn]:
    """Draw the standard checks when they are needed for the first time, each with a seed of its own."""
    if not drawn:
        drawn += [draw("standard", form, seed) for seed, form in enumerate(FORMS, len(FORMS))]
    return drawn


KINDS = {
    "cost": "decides like the original, and costs more",
    "same": "cannot be told from the original",
    "free": "can be told, and the rules leave it free",
    "unasked": "can be told only by what no implementation under the suite is asked",
}
COLUMNS = ("a rule", "a crash", "a hang", "not loaded")


def problems(taken: Sequence[Fate], listed: Sequence[Known], modules: Collection[str]) -> list[str]:
    """List what nobody has explained."""
    alive = [fate for fate in taken if fate.catch is None]
    found = []
    for fate in alive:
        kind = kind_of(fate.mutant, listed)
        if kind is None or (kind != "free" and fate.told):
            found.append(f"{kind or 'not listed'}: {fate.mutant.name}; told by: {fate.told or 'nothing'}")
    gone = stale(listed, [fate.mutant for fate in alive], modules)
    return [*found, *(f"listed, and no survivor: {name}" for name in gone)]


def report(taken: Sequence[Fate], listed: Sequence[Known]) -> str:
    """Say what became of the mutants."""
    rows = []
    for module in (*MODULES, "all"):
        own = [fate for fate in taken if module in (fate.mutant.module, "all")]
        columns = Counter(fate.catch.column if fate.catch else kind_of(fate.mutant, listed) for fate in own)
        rows.append([module, len(own), *(columns[name] for name in (*COLUMNS, *KINDS))])
    forms = Counter(fate.catch.form for fate in taken if fate.catch and fate.catch.form)
    quickly = [fate.catch.number for fate in taken if fate.catch and fate.catch.number]
    like = sum(kind_of(fate.mutant, listed) in ("cost", "same") for fate in taken if not fate.catch)
    explained = "\n".join(f"- **{kind}**: it {says}." for kind, says in KINDS.items())
    return f"""
`python tests/mutation/reference.py` makes them, runs the suite against each, and writes this section, in
{processor_seconds() / 60:.0f} minutes of processor time. A mutant is caught by the first scenario of a check on the
quick budget that breaks a rule or ends in a diagnosis; the original is never blamed by one. No unit test is run.

{table(("module", "mutants", *COLUMNS, *KINDS), rows)}
{explained}

{100 * like / len(taken):.1f} % are equivalent: they cost more, or cannot be told. {forms["code point"]} are caught in
code points, {forms["UTF-16 unit"] + forms["UTF-8 byte"]} in UTF-16 units or UTF-8 bytes only, {forms[BY_PLACE]} where
places stand for ids only; half of all within {median(quickly):.0f} scenarios. None but the free ones decides otherwise
in a small scope: {WALKED}.

{survivors(listed, [fate.mutant for fate in taken if not fate.catch])}"""


WALKED = (
    "every thread of up to four moves from four beginnings (five things to say, a step, another trigger or counter, a "
    "message lost to an edit), with forks, notes and pending calls; every thread of up to four messages of seven kinds "
    "with every stored summary; every text around a bound"
)


def main() -> int:
    """Run, write the results, and say what nobody has explained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", default=MODULES, help="only these; nothing is written then")
    parser.add_argument("--deep", action="store_true", help="the standard budget for what is explained too")
    chosen = parser.parse_args()
    listed = known_survivors(LIST)
    mutants = [m for name in chosen.modules for m in mutants_of(name, (PACKAGE / f"{name}.py").read_text())]
    taken = []
    for fate in fates(mutants, listed, deep=chosen.deep):
        taken.append(fate)
        if sys.stderr.isatty():
            print(f"\r{len(taken)} of {len(mutants)}, {processor_seconds():.0f} s", end="", file=sys.stderr, flush=True)
    found = problems(taken, listed, chosen.modules)
    print("", *found, f"{len(found)} unexplained", sep="\n")
    if set(chosen.modules) == set(MODULES):
        write_section("The reference", report(taken, listed))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

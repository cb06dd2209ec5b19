"""Each vector is named by what it holds, breaks its rule somewhere in the gallery, and is kept by what is right."""

from pathlib import Path

import pytest

from tercet_conformance.adapters.reference import Reference
from tercet_conformance.files import Saved, write
from tercet_conformance.gallery import BY_NAME, ENTRIES
from tercet_conformance.requirements import needs
from tercet_conformance.search import saved_scenarios
from tercet_conformance.suite import Suite, applicable
from tercet_conformance.vectors import FOLDER, vectors
from tercet_conformance.vectors.__main__ import counterexample, regenerate
from tercet_spec.notation import format_line, line_of
from tercet_spec.rules import BY_ID, RULES
from tercet_spec.vocabulary import Character

CHARACTERS: tuple[Character, ...] = ("code point", "UTF-16 unit", "UTF-8 byte")
VECTORS = vectors()


def named(vector: Saved) -> str:
    line = line_of(vector.scenario)
    return f"{vector.rule}: {format_line(line) if line else '…'}"


def test_a_file_is_named_by_its_rule_and_what_it_holds(tmp_path: Path) -> None:
    assert {write(vector, tmp_path).name for vector in VECTORS} == {path.name for path in FOLDER.glob("*.json")}
    for path in FOLDER.glob("*.json"):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_a_vector_breaks_its_rule_in_the_gallery(vector: Saved) -> None:
    assert vector.rule is not None
    rule = BY_ID[vector.rule]
    wrong = [entry.make() for entry in ENTRIES if entry.rule == vector.rule]
    assert any(Suite(each, each.describe(), (rule,)).breaks(vector.scenario, rule) for each in wrong)


@pytest.mark.parametrize("character", CHARACTERS)
def test_the_reference_keeps_every_rule_in_all_vectors(character: Character) -> None:
    reference = Reference(character)
    description = reference.describe()
    suite = Suite(reference, description, applicable(RULES, description))
    for vector in VECTORS:
        ran, judgement = suite.judge(vector.scenario)
        assert (ran.diagnosis, judgement.findings) == (None, ())


def test_they_are_run_before_anything_is_generated_where_they_can_be_asked() -> None:
    some = Reference().describe().capabilities - {"turns"}
    saved = saved_scenarios(some)
    assert all(vector.scenario in saved for vector in VECTORS if needs(vector.scenario) <= some)
    assert all(needs(scenario) <= some for scenario in saved)


@pytest.mark.parametrize("name", ["cuts-anywhere", "block-keeps-the-key", "compressor-not-counted"])
def test_what_can_be_generated_again_is_the_same(name: str) -> None:
    assert counterexample(BY_NAME[name]) in VECTORS


def test_what_is_no_vector_any_more_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = BY_NAME["cuts-anywhere"]
    monkeypatch.setattr("tercet_conformance.vectors.__main__.ENTRIES", [entry])
    write(VECTORS[0], tmp_path)
    assert list(regenerate(tmp_path)) == ["1 vectors, 1 of them new, 1 taken away"]
    kept = counterexample(entry)
    assert kept is not None
    assert [path.name for path in tmp_path.glob("*.json")] == [write(kept, tmp_path / "again").name]

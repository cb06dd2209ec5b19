"""Prose and registry hold one another: what a chapter says of a rule is what the rule's object says."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from attrs import frozen

from examples import SPEC, Example, examples
from tercet_spec.rules import BY_ID, RULES, AnyRule
from tercet_spec.vocabulary import Capability

CHAPTERS = {path.stem: path for path in SPEC.glob("*.md")}
FAMILIES = list(dict.fromkeys(rule.family for rule in RULES))
SECTION = re.compile(r"^## (?P<title>[^\n]+)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
META = re.compile(
    r"^Level (?P<level>\w+) · profile (?P<profile>\w+) · origin (?P<origin>\w+) · needs (?P<needs>.+)$", re.MULTILINE
)
ROW = re.compile(r"^\| \[(?P<id>[a-z.-]+)\]\((?P<link>[^)]+)\) \| (?P<cells>.*) \|$", re.MULTILINE)
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


@frozen
class Row:
    """A row of the table of all rules."""

    link: str
    cells: tuple[str, ...]


@cache
def sections(chapter: str) -> dict[str, str]:
    return {found["title"]: found["body"] for found in SECTION.finditer(CHAPTERS[chapter].read_text())}


def section(rule: AnyRule) -> str:
    return sections(rule.family)[rule.id]


def rows() -> dict[str, Row]:
    found = {}
    for row in ROW.finditer(CHAPTERS["README"].read_text()):
        cells = re.split(r"(?<!\\) \| ", row["cells"])
        found[row["id"]] = Row(row["link"], tuple(cell.strip("`").replace("\\|", "|") for cell in cells))
    return found


def anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def functions(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ClassDef(name=name, body=body):
                found |= {name} | {f"{name}.{each.name}" for each in body if isinstance(each, ast.FunctionDef)}
            case ast.FunctionDef(name=name):
                found.add(name)
    return found


every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def test_every_rule_has_one_section_in_the_chapter_of_its_family_and_no_other_has_one() -> None:
    titles = [title for family in FAMILIES for title in sections(family) if re.fullmatch(r"[a-z]+\.[a-z-]+", title)]
    assert titles == sorted(titles, key=[rule.id for rule in RULES].index)
    assert titles == [rule.id for rule in RULES]


@every_rule
def test_a_section_quotes_the_rule_s_statement(rule: AnyRule) -> None:
    quoted = " ".join(line.removeprefix("> ") for line in section(rule).splitlines() if line.startswith("> "))
    assert quoted == rule.statement


@every_rule
def test_a_section_says_the_rule_s_level_profile_origin_and_needs(rule: AnyRule) -> None:
    said = META.search(section(rule))
    assert said is not None
    assert said["level"] == rule.level.value
    assert said["profile"] == str(rule.profile)
    assert said["origin"] == rule.origin.value
    assert said["needs"] == (", ".join(sorted(rule.needs)) or "nothing")


@every_rule
def test_a_section_links_the_lines_that_check_and_that_keep_the_rule(rule: AnyRule) -> None:
    body = section(rule)
    checked = re.search(rf"Checked by \[`(\w+)`\]\(tercet_spec/rules/{rule.family}\.py\)", body)
    assert checked is not None
    is_made = "<locals>" in rule.relation.__qualname__  # of another function, which is the one to read
    assert is_made or checked[1] == rule.relation.__name__
    assert re.search(r"kept by\s+\[`[\w.]+`\]\(\.\./reference/tercet/\w+\.py\)", body)


def examples_of(rule: AnyRule) -> list[Example]:
    """The examples in a rule's own section."""
    chapter = CHAPTERS[rule.family].read_text()
    first = chapter.count("\n", 0, chapter.index(f"\n## {rule.id}\n")) + 2
    lines = range(first, first + section(rule).count("\n") + 1)
    return [e for e in examples(CHAPTERS[rule.family]) if int(e.place.rpartition(":")[2]) in lines]


NEVER_ALONE = {
    "bound.stored": {"bound.sent", "key.through"},  # the text was sent so, or is not the one that was sent
    "compress.once-only": {"compress.span"},  # a covered message is none of the tail's
}
"""The rules that no example breaks alone, each with the rules of which one is broken beside it."""


def breaks_it_alone(rule: AnyRule, example: Example) -> bool:
    others = example.breaks - {rule.id}
    return rule.id in example.breaks and len(others) <= 1 and others <= NEVER_ALONE.get(rule.id, set())


@every_rule
def test_a_section_has_an_example_that_keeps_and_one_that_breaks_the_rule_alone(rule: AnyRule) -> None:
    assert any(example.kind == "kept" for example in examples_of(rule))
    assert any(breaks_it_alone(rule, example) for example in examples_of(rule))


def test_the_table_lists_every_rule_once_in_order() -> None:
    assert list(rows()) == [rule.id for rule in RULES]
    assert len(ROW.findall(CHAPTERS["README"].read_text())) == len(RULES)


@every_rule
def test_a_row_says_what_the_rule_says(rule: AnyRule) -> None:
    row = rows()[rule.id]
    assert row.link == f"{rule.family}.md#{rule.id.replace('.', '')}"
    needs = ", ".join(sorted(rule.needs)) or "nothing"
    assert row.cells[:4] == (rule.level.value, str(rule.profile), rule.origin.value, needs)


@cache
def all_examples() -> tuple[Example, ...]:
    return tuple(example for family in FAMILIES for example in examples(CHAPTERS[family]))


@every_rule
def test_a_row_s_drawings_are_examples_of_a_chapter_and_so_run(rule: AnyRule) -> None:
    thread, kept, broken = rows()[rule.id].cells[4:]
    drawn = [example for example in all_examples() if example.scenario == thread]
    assert any(example.kind == "kept" and example.drawn == kept for example in drawn)
    assert any(breaks_it_alone(rule, example) and example.drawn == broken for example in drawn)


@pytest.mark.parametrize("path", CHAPTERS.values(), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in LINK.finditer(re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)):
        target, _, anchor = link["target"].partition("#")
        if "://" in target:
            continue
        file = path.parent / target if target else path
        assert file.exists(), link[0]
        assert not anchor or anchor in anchors(file), link[0]
        if file.suffix == ".py" and not link["text"].strip("`").endswith(".py"):
            assert link["text"].strip("`") in functions(file), link[0]


@pytest.mark.parametrize("name", [*FAMILIES, "vocabulary", "notation"])
def test_a_chapter_ends_with_what_is_left_open(name: str) -> None:
    assert list(sections(name))[-1] == "Left open"


@every_rule
def test_a_chapter_says_which_real_failure_a_rule_prevents(rule: AnyRule) -> None:
    faults = re.split(r"^- |\n\n", sections(rule.family)["What goes wrong"], flags=re.MULTILINE)
    named = [fault for fault in faults if fault.startswith("**") and f"`{rule.id}`" in fault]
    assert named
    assert all("https://" in fault or "No report of it is known" in fault for fault in named)


def test_every_chapter_is_named_in_the_reading_order() -> None:
    order = sections("README")["Reading order"]
    assert {name for name in CHAPTERS if name != "README"} == set(re.findall(r"\((\w+)\.md\)", order))


@pytest.mark.parametrize("path", CHAPTERS.values(), ids=lambda path: path.name)
def test_an_id_in_prose_is_a_rule_s(path: Path) -> None:
    named = re.compile(rf"`((?:{'|'.join(FAMILIES)}|hooks)\.[a-z-]+)`")
    assert set(named.findall(path.read_text())) <= set(BY_ID)


def test_the_vocabulary_lists_every_capability_once() -> None:
    rows = re.findall(r"^\| (`.+?`) \|", sections("vocabulary")["What an implementation says of itself"], re.MULTILINE)
    listed = [name for cell in rows for name in re.findall(r"`([a-z-]+)`", cell)]
    assert sorted(listed) == sorted(get_args(Capability))

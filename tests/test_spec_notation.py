"""The chapter on notation says what the parser reads: its grammar, and each form in its tables."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import SPEC, blocks
from tercet_spec.agent_notation import TEXT
from tercet_spec.notation import (
    REWRITTEN,
    Line,
    Noted,
    Stepped,
    format_line,
    parse,
    scenario_of,
)
from tercet_spec.reader import BARE_ID, NotationError
from tercet_spec.scenarios import BeginTurn, Checkpoint, Edit, EndTurn, Restore
from test_agent_notation import agent_lines
from test_notation import answers, bare, ids, items, replies, settings, whole
from test_spec_prose import sections

CHAPTER = SPEC / "notation.md"
SYMBOL = re.compile(r'"(?P<literal>[^"]+)"|/(?P<expression>.+?)/|(?P<name>[a-z]+)|(?P<operator>[()?*|])|\s+')
((_, GRAMMAR),) = blocks(CHAPTER, "grammar")
FORM = re.compile(r"`([^`]+)`")

notes = st.builds(Noted, bare, st.integers(0, 99))
steps = st.builds(
    Stepped,
    *(st.lists(each, max_size=2).map(tuple) for each in (replies, answers, notes, ids)),
)
names = st.from_regex(BARE_ID, fullmatch=True)
changes = (
    st.builds(BeginTurn)
    | st.builds(EndTurn, st.booleans())
    | st.builds(Checkpoint, names)
    | st.builds(Restore, names)
    | st.builds(Edit, st.integers(0, 99), st.integers(1, 9))
    | st.builds(Edit, st.integers(0, 99), st.just(1), st.just(REWRITTEN))
)
lines = st.builds(Line, settings | whole, st.lists(items | steps | changes, max_size=8).map(tuple))


def expression(name: str) -> str:
    """Write what a name of the grammar stands for as a regular expression."""
    defined = re.search(rf"^{name} *= (.*(?:\n .*)*)", GRAMMAR, re.MULTILINE)
    assert defined is not None, name
    written, place = "", 0
    while place < len(defined[1]):
        symbol = SYMBOL.match(defined[1], place)
        assert symbol is not None, defined[1][place:]
        written += symbol["operator"] or ""
        written += f"(?:{re.escape(symbol['literal'])})" if symbol["literal"] else ""
        written += f"(?:{symbol['expression']})" if symbol["expression"] else ""
        written += expression(symbol["name"]) if symbol["name"] else ""
        place = symbol.end()
    return f"(?:{written})"


GRAMMATICAL = re.compile(expression("line"))


SPAN = re.compile(r"remove\[(?P<first>\d+)-(?P<last>\d+)\]")


def goes_up(line: str) -> bool:
    """Tell whether each span of messages in a line ends no earlier than it begins."""
    return all(int(span["first"]) <= int(span["last"]) for span in SPAN.finditer(line))


def spread(line: str) -> str:
    """Write three spaces for each one that stands in no text."""
    return re.sub(rf"({TEXT.pattern})| ", lambda found: found[1] or "   ", line, flags=re.DOTALL)


@given(st.from_regex(GRAMMATICAL, fullmatch=True).filter(goes_up))
def test_what_the_grammar_allows_is_read(line: str) -> None:
    read = parse(line)
    assert parse(format_line(read)) == read
    assert parse(spread(line)) == read


@given(lines | agent_lines)
def test_what_is_written_is_in_the_grammar(line: Line) -> None:
    assert GRAMMATICAL.fullmatch(format_line(line))
    assert parse(format_line(line)) == line


def forms(section: str, frame: str, head: str = "") -> list[str]:
    """Find the forms in the first column of a section's table with this head, each put into a whole line."""
    (table,) = re.findall(rf"^\| *{head} *\| \|\n((?:\|.*\n)+)", sections("notation")[section], re.MULTILINE)
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    return [frame.format(form) for cell in cells for form in FORM.findall(cell) if form not in ("''", "-")]


FORMS = [
    *forms("Messages", "{}"),
    *forms("Settings", "{}: u"),
    *forms("Steps", "u {}"),
    *forms("Between steps", "u a {}"),
    *forms("Agents", "stack {}: run", "before the colon"),
    *forms("Agents", "stack: run {}", "a run"),
    *forms("Agents", "stack: run[a.wrap_model {}]", "what a hook does"),
]


@pytest.mark.parametrize("line", FORMS)
def test_a_form_in_a_table_is_in_the_grammar_and_can_be_run(line: str) -> None:
    assert GRAMMATICAL.fullmatch(line)
    assert format_line(parse(line)) == line
    assert scenario_of(parse(line)).operations


def test_the_later_of_two_limits_holds() -> None:
    assert parse("limit 5 keep 3 limit 9 tokens: u") == parse("limit 9 tokens keep 3: u")


def test_a_drawing_is_read_and_not_run() -> None:
    for line in ("u | a", "[S] u"):
        parse(line)
        with pytest.raises(NotationError, match="cannot be run"):
            scenario_of(parse(line))

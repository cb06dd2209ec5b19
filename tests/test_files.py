"""A scenario is written to a file and read back the same; what cannot be read is named with its place."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet_conformance import files
from tercet_conformance.files import Saved, ScenarioFileError, decode, encode, read, write
from tercet_conformance.macros import burst
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID
from tercet_spec.scenarios import (
    Answer,
    Append,
    BeginTurn,
    Checkpoint,
    Configure,
    Edit,
    EndTurn,
    PlacedNote,
    Reply,
    Restore,
    Scenario,
    Step,
)
from tercet_spec.vocabulary import ALL_CAPABILITIES, Configuration, Message, ToolCall, Trigger

ids = st.none() | st.text(max_size=3)
texts = st.text(st.characters(exclude_categories=()), max_size=5)
calls = st.builds(ToolCall, ids, texts, texts)
messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    texts,
    st.lists(calls, max_size=2).map(tuple),
    st.lists(ids, max_size=2).map(tuple),
    ids,
)
failures = st.sampled_from([None, "failed", "cancelled", "suspended"])
configurations = st.builds(
    Configuration, st.builds(Trigger, texts, st.integers()), st.integers(), st.integers(), beside=st.just(("window",))
)
steps = st.builds(
    Step,
    st.none() | texts,
    st.lists(st.builds(Reply, st.integers(max_value=10**6), texts, texts, st.none() | texts, failures), max_size=2).map(
        tuple
    ),
    st.lists(st.builds(Answer, st.none() | messages, failures), max_size=2).map(tuple),
    st.lists(st.builds(PlacedNote, messages, st.integers()), max_size=1).map(tuple),
    st.lists(ids, max_size=1).map(tuple),
)
changes = st.one_of(
    st.builds(Configure, configurations),
    st.just(BeginTurn()),
    st.builds(EndTurn, st.booleans()),
    st.builds(Checkpoint, texts),
    st.builds(Restore, texts),
    st.builds(Edit, st.integers(), st.integers(), st.none() | texts),
)
operations = st.builds(Append, st.lists(messages, max_size=3).map(tuple)) | steps | changes
scenarios = st.builds(Scenario, configurations, st.lists(operations, max_size=4).map(tuple))
SAVED = Saved(scenario_of(parse("limit 5 keep 3 system: u a(x,-) step[S fails] configure[limit 4] u")), "cut.pairs")
DOCUMENT = json.loads(encode(SAVED))
TEXT_AS_LIMIT = {"trigger": {"kind": "messages", "limit": "5"}, "keep_recent": 3}
UNKNOWN_ROLE = {"do": "append", "messages": [{"role": "human"}]}


@given(scenarios, st.none() | st.sampled_from(sorted(BY_ID)))
def test_what_is_written_is_read_back(scenario: Scenario, rule: str | None) -> None:
    text = encode(Saved(scenario, rule))
    assert text.isascii()
    assert decode(text) == Saved(scenario, rule)


def test_half_characters_survive(tmp_path: Path) -> None:
    scenario = Scenario(Configuration(Trigger("messages", 3), 1), (Append((Message("user", "\ud83d"),)),))
    assert read(write(Saved(scenario), tmp_path)).scenario == scenario


@given(st.integers(0, 10**6))
def test_generated_scenarios_are_files_too(seed: int) -> None:
    scenario = burst(ALL_CAPABILITIES, seed)
    assert decode(encode(Saved(scenario))).scenario == scenario


def test_a_file_is_named_after_its_rule_and_what_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    path = write(SAVED, folder)
    assert path.name.startswith("cut.pairs-")
    assert write(SAVED, folder) == path
    assert list(folder.iterdir()) == [path]
    assert read(path) == SAVED


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(SAVED, tmp_path)
    before = path.read_text()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(SAVED, tmp_path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def changed(**fields: Any) -> str:
    return json.dumps({**DOCUMENT, **fields})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        (encode(SAVED)[:120], "truncated"),
        ('{"tercet": }', "not JSON: Expecting value at line 1, column 12"),
        ("[]", 'it has no "tercet": "scenario"'),
        ("null", 'it has no "tercet": "scenario"'),
        ("[" * 100_000, "nested too deep"),
        (changed(tercet="report"), 'it has no "tercet": "scenario"'),
        (changed(version=2), "version 2 of the format; this release reads version 1"),
        (changed(version=True), "version True of the format"),
        (changed(rule="cut.paris"), "'cut.paris', which is no rule"),
        (changed(rule=["cut.pairs"]), "which is no rule"),
        (changed(configuration=None), "configuration: Expected `object`, got `null`"),
        (changed(configuration={"keep_recent": 3}), "configuration: Object missing required field `trigger`"),
        (
            changed(configuration=TEXT_AS_LIMIT),
            "configuration.trigger.limit: Expected `int`, got `str`: '5'",
        ),
        (
            changed(configuration={**DOCUMENT["configuration"], "token_counter": {"divisor": 0}}),
            "configuration.token_counter: divisor is 1 or more",
        ),
        (changed(version=1).replace('"limit": 5', f'"limit": {"9" * 5000}'), "not a scenario: Exceeds the limit"),
        (
            changed(operations=[{"do": "step", "replies": [{"length": 10**12}]}]),
            "operations[0].replies[0].length: 1000000000000 is more than 1000000",
        ),
        (
            changed(operations=[{"do": "step", "replies": [{"failure": "broken"}]}]),
            "operations[0].replies[0].failure: Invalid enum value 'broken'; it is one of failed, cancelled, suspended",
        ),
        (changed(operations={}), "operations: Expected `array`, got `object`"),
        (changed(operations=[3]), 'operations[0]: an object whose "do" is one of "append", "step", "configure"'),
        (changed(operations=[{"do": ["step"]}]), 'operations[0]: an object whose "do" is one of'),
        (
            changed(operations=[UNKNOWN_ROLE]),
            "operations[0].messages[0].role: Invalid enum value 'human'; it is one of system, user, assistant, tool",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ScenarioFileError) as refused:
        decode(text, "thread.json")
    assert str(refused.value).startswith("thread.json: ")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed(operation=[]), "there is no field 'operation'; did you mean operations"),
        (changed(author="me"), "there is no field 'author'; there are: tercet, version, rule, line, "),
        (
            changed(configuration={**DOCUMENT["configuration"], "keep_recnt": 1}),
            "configuration: there is no field 'keep_recnt'; did you mean keep_recent",
        ),
        (
            changed(operations=[{"do": "append", "messages": [{"role": "tool", "answer": ["x"]}]}]),
            "operations[0].messages[0]: there is no field 'answer'; did you mean answers",
        ),
        (changed(operations=[{"do": "step", "messages": []}]), "operations[0]: there is no field 'messages'"),
    ],
)
def test_a_field_that_is_not_known_is_refused(text: str, said: str) -> None:
    with pytest.raises(ScenarioFileError) as refused:
        decode(text)
    assert said in str(refused.value)


def test_a_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    assert write(SAVED, tmp_path).stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "marked.json").write_text(encode(SAVED), "utf-8-sig")
    assert read(tmp_path / "marked.json") == SAVED


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="No such file"):
        read(tmp_path / "nothing.json")
    with pytest.raises(ScenarioFileError, match="Is a directory"):
        read(tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioFileError, match="not UTF-8: invalid start byte at byte 0"):
        read(tmp_path / "bytes.json")


def test_a_file_is_read_by_any_program_that_reads_json() -> None:
    assert set(DOCUMENT) == {"tercet", "version", "rule", "line", "configuration", "operations"}
    assert DOCUMENT["version"] == files.VERSION
    assert DOCUMENT["operations"][0]["messages"][0] == {"role": "user", "content": "m1z"}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["do", "role", "id"]), inner),
    max_leaves=4,
)


@given(st.data())
def test_whatever_stands_in_a_file_it_is_read_or_refused(data: st.DataObject) -> None:
    document = json.loads(encode(SAVED))
    within: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(within) if isinstance(within, dict) else range(len(within))))
        if not (isinstance(within[key], dict | list) and within[key] and data.draw(st.booleans())):
            break
        within = within[key]
    within[key] = data.draw(anything)
    with suppress(ScenarioFileError):
        decode(json.dumps(document))

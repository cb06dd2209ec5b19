"""Tools whose arguments a JSON Schema describes."""

import urllib.request
from typing import Any

import pytest

pytest.importorskip("jsonschema", reason="jsonschema is not installed")

from loops import agent, contents, played, says, thread
from tercet import ConfigurationRefused, RunTool, ToolCall
from tercet.integrations.jsonschema import schema_tool

TOWN = schema_tool(
    "weather",
    {
        "type": "object",
        "properties": {"town": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
        "required": ["town"],
        "additionalProperties": False,
    },
)


@pytest.mark.parametrize("arguments", ['{"town": "Zürich"}', ' {"days": [1, 2], "town": ""} '])
def test_arguments_that_the_schema_allows_are_right(arguments: str) -> None:
    assert TOWN.problems(arguments) == ()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{}", ("'town' is a required property",)),
        ("[]", ("[] is not of type 'object'",)),
        ('{"town": 5, "days": [1, "2"]}', ("days[1]: '2' is not of type 'integer'", "town: 5 is not of type 'string'")),
        (
            '{"town": "", "at": 1}',
            ("Additional properties are not allowed ('at' was unexpected)",),
        ),
        ("", ("they are no JSON, Expecting value: line 1 column 1 (char 0); write one JSON text, such as {}",)),
        (
            '{"town": }',
            ("they are no JSON, Expecting value: line 1 column 10 (char 9); write one JSON text, such as {}",),
        ),
        ('{"town": NaN}', ("they are no JSON, NaN is no JSON number; write one JSON text, such as {}",)),
        ("[" * 100_000, ("they are nested too deep; write flatter ones",)),
    ],
)
def test_each_problem_says_where_it_is_and_what_is_asked_for(arguments: str, expected: tuple[str, ...]) -> None:
    assert TOWN.problems(arguments) == expected


def test_a_call_with_wrong_arguments_gets_them_as_its_result() -> None:
    calls = says("", ToolCall("x", "weather", '{"town": 5}'), ToolCall("y", "weather", '{"town": "Zürich"}'))
    run, host = played(agent(tools=(TOWN,)), thread(), calls)
    assert contents(run.thread)[2] == "The arguments of 'weather' are wrong: town: 5 is not of type 'string'."
    assert [action.call.id for action in host.of(RunTool)] == ["y"]


def test_the_schema_says_of_which_draft_it_is() -> None:
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "maximum": 3,
        "exclusiveMaximum": True,
    }
    assert schema_tool("x", schema).problems("3") != ()
    assert schema_tool("x", {"maximum": 3}).problems("3") == ()
    assert schema_tool("x", False).problems("3") != ()


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationRefused, match=r"the schema of 'x' is wrong at \$\.type: 'text' is not valid"):
        schema_tool("x", {"type": "text"})


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda *given, **options: opened.append(given))
    tool = schema_tool("x", {"$ref": "http://example.org/schema.json"})
    with pytest.raises(Exception, match=r"example\.org"):
        tool.problems("{}")
    assert opened == []

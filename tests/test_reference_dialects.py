"""How the reference reads chat dicts, and its own messages."""

from typing import Any

import pytest

from tercet import CHAT, TERCET, HistoryRefused, Message, Summarization, Thread, ToolCall, Trigger, four_characters

CALLS = [
    {"id": "x", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}},
    {"type": "function", "function": {"name": None}},
    {"id": "", "type": "function", "function": None},
]


@pytest.mark.parametrize(
    ("message", "role"),
    [({"role": name}, name) for name in ("system", "user", "assistant", "tool")] + [({"role": "developer"}, "system")],
    ids=str,
)
def test_a_developer_speaks_as_the_system(message: dict[str, Any], role: str) -> None:
    assert CHAT.role(message) == role


def test_a_dict_may_have_an_id_or_none() -> None:
    assert CHAT.id({"role": "user", "id": "m1"}) == "m1"
    assert CHAT.id({"role": "user"}) is None


def test_calls_are_known_by_their_ids_missing_ones_too() -> None:
    assert list(CHAT.calls({"role": "assistant", "tool_calls": CALLS})) == ["x", None, ""]
    assert not CHAT.calls({"role": "assistant", "tool_calls": None})
    assert not CHAT.calls({"role": "assistant"})


def test_only_a_tool_message_answers() -> None:
    assert list(CHAT.answers({"role": "tool", "tool_call_id": "x"})) == ["x"]
    assert list(CHAT.answers({"role": "tool"})) == [None]
    assert not CHAT.answers({"role": "user", "tool_call_id": "x"})


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ({"content": "hi"}, ["hi"]),
        ({"content": None}, [""]),
        ({}, [""]),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"text": None}]}, ["a", "", ""]),
        ({"content": None, "tool_calls": CALLS}, ["", "look", '{"a": 1}', "", "", "", ""]),
    ],
    ids=str,
)
def test_a_count_sees_the_text_of_a_dict_and_its_calls(message: dict[str, Any], texts: list[str]) -> None:
    assert CHAT.texts({"role": "assistant", **message}) == texts


def test_a_dict_is_counted_whole() -> None:
    assert four_characters(CHAT)({"role": "assistant", "content": "1234", "tool_calls": CALLS}) == 4


def test_tercets_own_messages_are_read_as_they_are() -> None:
    message = Message("tool", "text", (ToolCall("x", "f", "{}"), ToolCall(None)), ("y", None), "m")
    assert (TERCET.id(message), TERCET.role(message)) == ("m", "tool")
    assert list(TERCET.calls(message)) == ["x", None]
    assert list(TERCET.answers(message)) == ["y", None]
    assert list(TERCET.texts(message)) == ["text", "f", "{}", "tool", "{}"]


def test_a_summary_is_a_user_message() -> None:
    assert CHAT.user("text") == {"role": "user", "content": "text"}
    assert TERCET.user("text") == Message("user", "text")


@pytest.mark.parametrize("kind", ["tool_use", "tool_result"])
def test_calls_and_results_among_the_parts_are_refused(kind: str) -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": kind, "id": "x"}]}
    with pytest.raises(HistoryRefused, match=f"a part of type '{kind}' is of another form than OpenAI's"):
        Thread(Summarization(CHAT, Trigger("messages", 6))).append(parts).decide()

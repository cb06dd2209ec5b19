"""LangChain's messages as a dialect of the reference."""

import pytest

messages = pytest.importorskip("langchain_core.messages", reason="langchain-core is not installed")

from tercet import Ask, Summarization, Summary, Trigger, decide, four_characters  # noqa: E402
from tercet.integrations.langchain import LANGCHAIN  # noqa: E402


@pytest.mark.parametrize(
    ("kind", "role"), [("Human", "user"), ("AI", "assistant"), ("System", "system"), ("Tool", "tool")]
)
def test_a_chunk_has_the_role_of_the_message_that_it_is_a_part_of(kind: str, role: str) -> None:
    named = {"tool_call_id": "x"} if kind == "Tool" else {}
    for name in (f"{kind}Message", f"{kind}MessageChunk"):
        assert LANGCHAIN.role(getattr(messages, name)(content="", **named)) == role


def test_a_message_of_another_kind_calls_nothing_and_answers_nothing() -> None:
    message = messages.FunctionMessage(name="f", content="done")
    assert LANGCHAIN.role(message) == "function"
    assert not LANGCHAIN.calls(message)
    assert not LANGCHAIN.answers(message)
    assert LANGCHAIN.texts(message) == ["done"]


def test_arguments_are_counted_as_a_provider_is_sent_them() -> None:
    call = {"name": "look", "args": {"town": "Zürich", "at": object}, "id": "x"}
    message = messages.AIMessage("", tool_calls=[call])
    assert LANGCHAIN.texts(message) == ["", "look", f'{{"town": "Zürich", "at": "{object}"}}']
    assert four_characters(LANGCHAIN)(message) == -(-sum(map(len, LANGCHAIN.texts(message))) // 4)


def test_a_pair_is_kept_together_and_the_summary_is_a_human_message() -> None:
    history = [
        messages.HumanMessage("one", id="a"),
        messages.AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "x"}], id="b"),
        messages.ToolMessage("1", tool_call_id="x", id="c"),
    ]
    ask = decide(Summarization(LANGCHAIN, Trigger("messages", 2), keep_recent=1, before="", after=""), history)
    assert isinstance(ask, Ask)
    send = ask.answer("text")
    assert send.summary == Summary("text", "a")
    assert send.request == (messages.HumanMessage("text"), *history[1:])

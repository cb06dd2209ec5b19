"""Deciding one request: what is sent, what is asked, and what is left alone."""

import asyncio
from copy import deepcopy
from typing import Any

import pytest
from attrs import evolve

from tercet import (
    CHAT,
    TERCET,
    Ask,
    Ledger,
    Message,
    Send,
    Summarization,
    Summary,
    SummaryRefused,
    ToolCall,
    Trigger,
    decide,
)

SYSTEM = Message("system", "prompt")
FIRES = Summarization(TERCET, Trigger("messages", 3), keep_recent=2, max_summary_tokens=32, before="<", after=">")
HISTORY = [
    Message("user", "one", id="a"),
    Message("assistant", "", (ToolCall("x"),), id="b"),
    Message("user", "two", id="c"),
    Message("tool", "late", answers=("x",), id="d"),
    Message("user", "three", id="e"),
    Message("assistant", "four", id="f"),
]


def asked(*arguments: Any, **named: Any) -> Ask[Message]:
    plan = decide(*arguments, **named)
    assert isinstance(plan, Ask)
    return plan


def test_an_empty_history_is_sent() -> None:
    assert decide(FIRES, []) == Send(())
    assert decide(FIRES, [], Summary("text", "a"), SYSTEM) == Send((SYSTEM,))


def test_a_request_that_is_not_past_the_limit_is_the_history_itself() -> None:
    send = decide(FIRES, HISTORY[:3])
    assert send == Send(tuple(HISTORY[:3]))
    assert send.summary is None


def test_past_the_limit_the_compressor_is_asked_and_its_text_sent_and_stored() -> None:
    ask = asked(FIRES, HISTORY, system=SYSTEM)
    assert (ask.messages, ask.so_far) == (tuple(HISTORY[:4]), None)
    assert ask.answer("text") == Send((SYSTEM, Message("user", "<text>"), *HISTORY[4:]), Summary("text", "d"))


def test_the_summary_so_far_is_given_as_bounded() -> None:
    ask = asked(evolve(FIRES, trigger=Trigger("messages", 1)), HISTORY, Summary("x" * 200, "a"))
    assert ask.so_far == "x" * 128
    assert ask.messages == tuple(HISTORY[1:4])


def test_a_late_result_calls_its_call_back() -> None:
    send = decide(evolve(FIRES, trigger=Trigger("messages", 9)), HISTORY, Summary("text", "c"))
    assert isinstance(send, Send)
    assert send.request == (Message("user", "<text>"), HISTORY[1], *HISTORY[3:])


@pytest.mark.parametrize("text", ["", " \n\u2003", " " * 128 + "beyond the bound"])
def test_a_blank_text_is_refused_and_changes_nothing(text: str) -> None:
    ask = asked(FIRES, HISTORY)
    with pytest.raises(SummaryRefused, match="the compressor's text is blank within the bound: "):
        ask.answer(text)
    assert ask.answer("text").summary == Summary("text", "d")


@pytest.mark.parametrize("text", [None, b"text", 7, ["text"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(SummaryRefused, match=r"the compressor's text is .+; it must be a str"):
        asked(FIRES, HISTORY).answer(text)


def test_a_stored_summary_that_is_blank_does_not_apply() -> None:
    assert decide(FIRES, HISTORY[:3], Summary(" " * 128 + "beyond", "a")) == Send(tuple(HISTORY[:3]))


@pytest.mark.parametrize("through", ["gone", "f"])
def test_a_stored_summary_whose_anchor_is_gone_or_last_does_not_apply(through: str) -> None:
    assert asked(FIRES, HISTORY, Summary("text", through)).so_far is None


def test_an_answer_is_cut_to_the_bound() -> None:
    assert asked(FIRES, HISTORY).answer("y" * 129).summary == Summary("y" * 128, "d")


def test_an_ask_answered_twice_gives_the_same_and_another_text_another() -> None:
    ask = asked(FIRES, HISTORY)
    assert ask.answer("text") == ask.answer("text")
    assert ask.answer("other").summary == Summary("other", "d")
    assert ask.as_measured == Send(tuple(HISTORY))


def test_an_ask_may_be_answered_after_the_history_has_grown() -> None:
    history = HISTORY[:]
    ask = asked(FIRES, history)
    before = ask.answer("text")
    ledger = before.ledger
    history.append(Message("user", "five", id="g"))
    decide(FIRES, history, ledger=ledger)
    assert ask.answer("text") == before
    assert ask.as_measured == Send(tuple(HISTORY))


def test_nothing_that_is_handed_in_is_changed() -> None:
    history: list[dict[str, Any]] = [
        {"role": "system", "content": "opens"},
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "x", "content": "1"},
        {"role": "user", "content": "two"},
    ]
    system, summary = {"role": "system", "content": "prompt"}, Summary("text", "2")
    before = deepcopy((history, system, summary))
    ask = decide(Summarization(CHAT, Trigger("tokens", 1), keep_recent=1), history, summary, system)
    assert isinstance(ask, Ask)
    assert ask.answer("new").summary == Summary("new", "4")
    assert (history, system, summary) == before


def test_the_very_same_objects_come_out() -> None:
    ask = asked(FIRES, HISTORY)
    assert all(given is stored for given, stored in zip(ask.messages, HISTORY, strict=False))
    assert all(sent is stored for sent, stored in zip(ask.answer("text").request[1:], HISTORY[4:], strict=True))


def test_no_cut_falls_where_the_dialect_does_not_allow_one() -> None:
    dialect = evolve(TERCET, may_cut_before=lambda message: message.role == "user")
    history = [Message("user", str(n), id=str(n)) if n == 1 else Message("assistant", id=str(n)) for n in range(6)]
    assert asked(evolve(FIRES, dialect=dialect), history).cut == 1


def test_a_message_that_answers_several_calls_calls_all_their_messages_back() -> None:
    history = [
        Message("assistant", "", (ToolCall("x"),), id="a"),
        Message("assistant", "", (ToolCall("y"),), id="b"),
        Message("tool", "both", answers=("x", "y"), id="c"),
        Message("user", "one", id="d"),
        Message("tool", "again", answers=("x",), id="e"),
    ]
    send = decide(evolve(FIRES, trigger=Trigger("messages", 9)), history, Summary("text", "d"))
    assert isinstance(send, Send)
    assert send.request[1:] == (*history[:3], history[4])


def test_missing_ids_are_one_id_and_not_the_empty_one() -> None:
    history = [
        Message("assistant", "", (ToolCall(""),), id="a"),
        Message("assistant", "", (ToolCall(None),), id="b"),
        Message("tool", "", answers=("",), id="c"),
        Message("tool", "", answers=(None,), id="d"),
    ]
    assert Ledger(TERCET).extended(history).book.answered == [(), (), ((0, 0),), ((1, 0),)]


def test_a_synchronous_and_an_asynchronous_host_need_a_few_lines_each() -> None:
    def step(history: list[Message]) -> Send[Message]:
        plan = decide(FIRES, history)
        return plan.answer(f"{len(plan.messages)} messages") if isinstance(plan, Ask) else plan

    async def compress(messages: tuple[Message, ...]) -> str:
        await asyncio.sleep(0)
        return f"{len(messages)} messages"

    async def step_async(history: list[Message]) -> Send[Message]:
        plan = decide(FIRES, history)
        return plan.answer(await compress(plan.messages)) if isinstance(plan, Ask) else plan

    for length in range(len(HISTORY) + 1):
        assert step(HISTORY[:length]) == asyncio.run(step_async(HISTORY[:length]))

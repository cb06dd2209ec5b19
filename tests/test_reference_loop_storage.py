"""What is stored of a run, and what is refused when it is restored."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from loops import NEVER, agent, problem, says, thread
from tercet import (
    CHAT,
    CHAT_CODEC,
    CHAT_FORMS,
    SUMMARIZATION,
    SUMMARY_KEY,
    TERCET,
    TERCET_CODEC,
    Agent,
    Block,
    CallModel,
    Fatal,
    Message,
    Middleware,
    NeedsApproval,
    Next,
    Passed,
    Question,
    StoredRefused,
    Success,
    Summarization,
    Summary,
    Thread,
    ToolCall,
    Trigger,
    Usage,
    begin,
    restored,
    stored,
)
from tercet.loop import Run
from tercet.request import Summarized

INPUT = Message("user", "input")
PASS = Middleware[Message](
    "pass",
    frozenset({"key"}),
    wrap_model=lambda call: call.results[-1] if call.results else Next(),
    wrap_tool=lambda use: use.outcomes[-1] if use.outcomes else Next(),
)
ASK = Middleware[Message]("ask", wrap_model=lambda call: Question("who?"), asks=True)
AGENT = agent(PASS, prompt="Be.")


def at_model() -> Run[Message]:
    return begin(AGENT, thread("before", state={"key": (1, [None, {"is": "x"}])}), INPUT)


def at_tool() -> Run[Message]:
    return at_model().answered(says("", "look", "take"), Usage(1, 7))


def at_approval() -> Run[Message]:
    return at_tool().returned(Success("seen")).returned(NeedsApproval("dear"))


def at_end() -> Run[Message]:
    return at_model().answered(says("output"), Usage(1, 7))


def at_question() -> Run[Message]:
    return begin(agent(PASS, ASK), thread(), INPUT)


def text(run: Run[Message]) -> str:
    return json.dumps(stored(run, TERCET_CODEC), allow_nan=False)


def back(run: Run[Message], data: Any = None) -> Run[Message]:
    read = json.loads(text(run)) if data is None else data
    return restored(run.turn.agent, NEVER, read, TERCET_CODEC)


@pytest.mark.parametrize("state", [at_model, at_tool, at_approval, at_end, at_question])
def test_a_restored_run_is_as_it_was(state: Callable[[], Run[Message]]) -> None:
    run = state()
    again = back(run)
    assert text(again) == text(run)
    assert list(again.thread.history) == list(run.thread.history)
    assert (again.thread.state, again.thread.usage) == (run.thread.state, run.thread.usage)
    if not isinstance(run.action, CallModel):
        assert again.action == run.action


def test_the_history_is_stored_once_and_a_request_of_it_is_it_again() -> None:
    run = begin(AGENT, thread(*(f"message {number}" for number in range(50))), INPUT)
    assert text(run).count("message 17") == 1
    again = back(run)
    assert isinstance(again.action, CallModel)
    assert again.action.request.messages is again.thread.history


def test_a_request_under_a_summary_repeats_none_of_the_history() -> None:
    small = Summarization(TERCET, Trigger("messages", 9), keep_recent=2)
    state = {SUMMARY_KEY: Summary("so far", "3")}
    began = Thread(small, state=state).append(*(Message("user", f"message {number}") for number in range(6)))
    made = agent(SUMMARIZATION)
    run = begin(made, began)
    assert text(run).count("message 4") == 1
    again = restored(made, small, json.loads(text(run)), TERCET_CODEC)
    assert isinstance(again.action, CallModel)
    assert isinstance(run.action, CallModel)
    assert isinstance(again.action.request.messages, Summarized)
    assert again.action.request.sent(TERCET) == run.action.request.sent(TERCET)


def test_what_else_is_sent_is_stored_as_positions_and_messages() -> None:
    note = Message("user", "note")

    def wrap(call: Any) -> Any:
        messages = call.request.messages
        return Next(type(call.request)(None, [messages[1], messages[2], note, messages[0]]))

    made = agent(Middleware("replace", wrap_model=wrap))
    run = begin(made, thread("a", "b", "c"))
    assert stored(run, TERCET_CODEC)["action"]["request"]["messages"] == [
        [1, 3],
        {"message": TERCET_CODEC.write(note)},
        [0, 1],
    ]
    again = restored(made, NEVER, json.loads(text(run)), TERCET_CODEC)
    assert isinstance(again.action, CallModel)
    assert [message.content for message in again.action.request.sent(TERCET)] == ["b", "c", "note", "a"]


def test_a_block_after_going_on_goes_back_to_what_the_thread_was() -> None:
    write = Middleware[Message]("write", frozenset({"key"}), before_agent=lambda incoming: Passed(update={"key": 2}))
    guard = Middleware[Message]("guard", after_agent=lambda outgoing: Block("no"))
    made = agent(write, guard)
    run = begin(made, thread("before", state={"key": 1}), INPUT)
    ended = restored(made, NEVER, json.loads(text(run)), TERCET_CODEC).answered(says("output"), Usage(1, 7))
    assert [message.content for message in ended.thread.history] == ["before"]
    assert (ended.thread.state, ended.thread.usage) == ({"key": 1}, Usage(1, 7))


def test_where_something_failed_is_stored_with_it() -> None:
    first = Middleware[Message]("first", wrap_tool=lambda use: use.outcomes[0] if len(use.outcomes) > 1 else Next())
    run = begin(agent(first), thread(), INPUT).answered(says("", "look"), Usage(1)).returned(Fatal("on fire"))
    assert problem(back(run).returned(Success("seen"))) == "tool 'look', step 1: on fire"


def test_tercet_s_own_messages_are_read_as_they_were_written() -> None:
    message = Message("assistant", "é", (ToolCall(None), ToolCall("", "n", "[]")), (None, "x"), "id")
    assert TERCET_CODEC.read(json.loads(json.dumps(TERCET_CODEC.write(message)))) == message


def test_a_run_on_chat_dicts_is_stored_as_they_are() -> None:
    made = Agent(CHAT_FORMS)
    summarization = Summarization(CHAT, Trigger("messages", 9))
    run = begin(made, Thread(summarization), {"role": "user", "content": "input"})
    data = stored(run, CHAT_CODEC)
    assert data["history"] == [{"role": "user", "content": "input"}]
    again = restored(made, summarization, json.loads(json.dumps(data)), CHAT_CODEC)
    assert list(again.thread.history) == list(run.thread.history)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (object, "state.key"),
        (float("nan"), "state.key"),
        ([{1, 2}], "state.key[0]"),
        ({"a": b""}, "state.key.a"),
        ({1: 2}, "state.key"),
        (INPUT, "state.key"),
    ],
)
def test_a_value_of_the_state_that_cannot_be_stored_is_refused(value: Any, where: str) -> None:
    with pytest.raises(StoredRefused) as refused:
        stored(begin(agent(), thread(state={"key": value}), INPUT), TERCET_CODEC)
    assert str(refused.value).startswith(f"{where} is ")
    assert str(refused.value).endswith(
        "; it must be None, a bool, a finite number, a text, a list, tuple or mapping with texts as keys, or a Summary"
    )


def changed(run: Run[Message], path: tuple[str | int, ...], value: Any) -> Any:
    """Change one field of what is stored; an ellipsis takes it away."""
    data = json.loads(text(run))
    at = data
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("state", "path", "value", "expected"),
    [
        (at_model, ("version",), 2, "version is 2; it must be 1"),
        (at_model, ("version",), ..., "the stored run has no 'version'; it must have 'version'"),
        (at_model, ("history",), None, "history is None; it must be a list"),
        (
            at_model,
            ("history", 1),
            5,
            "history[1] is 5, which cannot be read: TypeError: 'int' object is not subscr",
        ),
        (at_model, ("state",), [], "state is []; it must be a mapping"),
        (at_model, ("state", "is"), "set", "state.is is 'set'; it must be 'tuple', 'mapping' or 'Summary'"),
        (at_model, ("state", "of", "key", "of"), 5, "state.key is 5; it must be a list"),
        (at_model, ("usage", "calls"), -1, "usage.calls is -1; it must be a whole number from 0 up"),
        (at_model, ("usage", "is"), "Fail", "usage.is is 'Fail'; it must be one of 'Usage'"),
        (at_model, ("usage",), 5, "usage is 5; it must be a mapping"),
        (at_model, ("usage", "tokens"), ..., "usage has no 'tokens'; it must have 'calls', 'tokens'"),
        (at_model, ("began", "length"), 3, "began.length is 3; it must be a whole number from 0 to 2"),
        (at_model, ("number",), 0, "number is 0; it must be a whole number from 1 up"),
        (at_model, ("questions",), True, "questions is True; it must be a whole number from 0 up"),
        (
            at_model,
            ("action", "is"),
            "Run",
            "action.is is 'Run'; it must be one of 'CallModel', 'AskCompressor', 'Ask",
        ),
        (at_model, ("action", "is"), [], "action.is is []; it must be one of 'CallModel'"),
        (
            at_model,
            ("action", "request", "messages"),
            [[0, 3]],
            "action.request.messages[0] is [0, 3]; it must be two positions from 0 to 2",
        ),
        (
            at_model,
            ("action", "request", "messages"),
            {"first": [], "opening": 0, "start": 3},
            "action.request.messages.start is 3; it must be a whole number from 0 to 2",
        ),
        (at_model, ("action", "request", "tools", 1), 5, "action.request.tools[1] is 5; it must be a text"),
        (at_model, ("step", "calls"), [], "step is ModelStep(calls=()); it must be a ModelStep with 1 to 1 calls"),
        (at_model, ("step",), None, "step is None; it must be a ModelStep with 1 to 1 calls"),
        (at_question, ("step", "calls"), [], "step is ModelStep(calls=()); it must be a ModelStep with 1 to 2 calls"),
        (at_tool, ("step", "uses"), [], "action is RunTool(place=0, call=ToolCall(id='call 1', name='look', argum"),
        (at_tool, ("step", "uses", 0, "approved"), 1, "step.uses[0].approved is 1; it must be true or false"),
        (at_tool, ("action", "place"), 1, "action is RunTool(place=1, call=ToolCall(id='call 1', name='look', argum"),
        (at_tool, ("step", "outcomes"), [None], "step is ToolStep(calls=(ToolCall(id='call 1', name='look', argum"),
        (at_approval, ("action", "waiting"), [], "action is AskApproval(waiting=()); it must be to approve the calls"),
        (at_approval, ("step", "outcomes", 1), None, "action is AskApproval(waiting=(Waiting(place=1, call=ToolCall"),
        (
            at_end,
            ("step",),
            {"is": "ModelStep", "calls": []},
            "step is ModelStep(calls=()); it must be null where",
        ),
    ],
)
def test_what_is_wrong_in_what_was_stored_is_refused_by_name(
    state: Callable[[], Run[Message]], path: tuple[str | int, ...], value: Any, expected: str
) -> None:
    run = state()
    with pytest.raises(StoredRefused) as refused:
        back(run, changed(run, path, value))
    assert str(refused.value).startswith(expected)


def test_a_stored_run_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(StoredRefused, match="the stored run is 5; it must be a mapping"):
        back(at_model(), 5)


def test_a_run_goes_on_only_with_the_wrappers_that_it_was_stored_with() -> None:
    data = json.loads(text(at_model()))
    with pytest.raises(StoredRefused, match=r"wrappers is .*'pass'.*; it must be those of the agent: .*'ask'"):
        restored(agent(PASS, ASK), NEVER, data, TERCET_CODEC)
    told = Middleware[Message]("told", section=lambda state: "section")
    assert isinstance(restored(agent(told, PASS), NEVER, data, TERCET_CODEC).action, CallModel)
    ended = json.loads(text(at_end()))
    assert restored(agent(), NEVER, ended, TERCET_CODEC).is_over

"""A tool step: calls that are validated, wrapped, run, approved, and whose results are stored together."""

from typing import Any

import pytest

from loops import LOOK, agent, contents, nothing, played, problem, says, thread
from tercet import (
    CHAT,
    CHAT_FORMS,
    Agent,
    Approved,
    AskApproval,
    CallModel,
    Denied,
    Error,
    Fatal,
    Finished,
    Forms,
    Message,
    Middleware,
    NeedsApproval,
    Next,
    RunTool,
    Success,
    Summarization,
    Thread,
    Tool,
    ToolCall,
    ToolUse,
    Trigger,
    Usage,
    Waiting,
    begin,
)
from tercet.middleware import ToolMove
from tercet.tools import Outcome


def wrapper(name: str, wrap: Any, *writes: str) -> Middleware[Message]:
    return Middleware(name, frozenset(writes), wrap_tool=wrap)


def passing(use: ToolUse[Message]) -> ToolMove[Message]:
    return use.outcomes[-1] if use.outcomes else Next()


def marking(name: str, *writes: str, also: str = "") -> Middleware[Message]:
    """Put a name around a result, and write it to each of its keys."""

    def wrap(use: ToolUse[Message]) -> ToolMove[Message]:
        if not use.outcomes or not isinstance(outcome := use.outcomes[-1], Success):
            return passing(use)
        update = {**outcome.update, **dict.fromkeys(writes, name), **({also: name} if also else {})}
        return Success(f"{name}({outcome.content})", update)

    return wrapper(name, wrap, *writes)


def guarding(use: ToolUse[Message]) -> ToolMove[Message]:
    """Have every call of "take" approved."""
    return NeedsApproval("it takes") if use.call.name == "take" and not use.approved else passing(use)


def test_results_are_stored_in_the_order_of_the_calls_and_the_model_is_called_again() -> None:
    run, host = played(agent(), thread(), says("", "look", "take"), tools=[Success("1"), Error("no")])
    assert list(run.thread.history)[2:4] == [
        Message("tool", "1", answers=("call 1",)),
        Message("tool", "no", answers=("call 2",)),
    ]
    assert [type(action) for action in host.asked] == [CallModel, RunTool, RunTool, CallModel]
    assert host.asked[1:3] == [RunTool(0, ToolCall("call 1", "look")), RunTool(1, ToolCall("call 2", "take"))]
    assert host.sent()[1] == ["input", "", "1", "no"]


def test_the_results_of_one_answer_are_one_commit() -> None:
    run = begin(agent(marking("mark", "key")), thread(), Message("user", "input"))
    run = run.answered(says("", "look", "look"), Usage(1)).returned(Success("1"))
    assert (contents(run.thread), run.thread.state) == (["input", ""], {})
    run = run.returned(Success("2"))
    assert (contents(run.thread), run.thread.state) == (["input", "", "mark(1)", "mark(2)"], {"key": "mark"})


def test_the_first_wrapper_is_the_outermost() -> None:
    run, _ = played(agent(marking("outer", "a"), marking("inner", "b")), thread(), says("", "look"))
    assert contents(run.thread)[2] == "outer(inner(result of look))"
    assert run.thread.state == {"a": "outer", "b": "inner"}


def test_a_wrapper_sees_the_thread_with_the_answer_that_calls() -> None:
    seen: list[ToolUse[Message]] = []

    def wrap(use: ToolUse[Message]) -> ToolMove[Message]:
        seen.append(use)
        return passing(use)

    played(agent(wrapper("see", wrap)), thread(), says("calling", "look"))
    assert [(contents(use.thread), use.call, use.approved) for use in seen] == [
        (["input", "calling"], ToolCall("call 1", "look"), False)
    ] * 2
    assert [use.outcomes for use in seen] == [(), (Success("result of look"),)]


def test_an_answer_without_next_runs_no_tool() -> None:
    deny = wrapper("deny", lambda use: Error("Denied: not today"))
    run, host = played(agent(deny, wrapper("inner", nothing)), thread(), says("", "look"))
    assert host.of(RunTool) == []
    assert contents(run.thread)[2] == "Denied: not today"


def test_next_called_again_runs_the_tool_again() -> None:
    def retry(use: ToolUse[Message]) -> ToolMove[Message]:
        return Next() if not use.outcomes or isinstance(use.outcomes[-1], Error) else use.outcomes[-1]

    outcomes: list[Outcome] = [Error("once"), Error("twice"), Success("there")]
    run, host = played(agent(wrapper("retry", retry), marking("inner")), thread(), says("", "look"), tools=outcomes)
    assert len(host.of(RunTool)) == 3
    assert contents(run.thread)[2] == "inner(there)"


@pytest.mark.parametrize("middleware", [(), (wrapper("outer", passing),)])
def test_a_fatal_outcome_of_a_tool_fails_the_run_and_stores_nothing_of_the_step(middleware: Any) -> None:
    outcomes: list[Outcome] = [Success("1"), Fatal("on fire")]
    run, host = played(agent(*middleware), thread(), says("", "look", "take", "look"), tools=outcomes)
    assert problem(run) == "tool 'take', step 1: on fire"
    assert contents(run.thread) == ["input", ""]
    assert len(host.of(RunTool)) == 2


def test_a_fatal_outcome_of_a_wrapper_names_it_and_one_outside_may_turn_it() -> None:
    stop = wrapper("stop", lambda use: Fatal("never"))
    run, _ = played(agent(wrapper("outer", passing), stop), thread(), says("", "look"))
    assert problem(run) == "middleware 'stop', wrap_tool, step 1: never"

    def turn(use: ToolUse[Message]) -> ToolMove[Message]:
        return Error("stopped") if use.outcomes else Next()

    run, _ = played(agent(wrapper("turn", turn), stop), thread(), says("", "look"))
    assert contents(run.thread)[2] == "stopped"


def test_a_wrapper_that_raises_is_fatal_and_one_outside_may_turn_it() -> None:
    def weak(use: ToolUse[Message]) -> ToolMove[Message]:
        raise ValueError("odd")

    run, _ = played(agent(wrapper("outer", passing), wrapper("weak", weak)), thread(), says("", "look"))
    assert problem(run) == "middleware 'weak', wrap_tool, step 1: raised ValueError: odd"

    def turn(use: ToolUse[Message]) -> ToolMove[Message]:
        return Error("turned") if use.outcomes else Next()

    run, _ = played(agent(wrapper("turn", turn), wrapper("weak", weak)), thread(), says("", "look"))
    assert contents(run.thread)[2] == "turned"


@pytest.mark.parametrize("value", [None, 5, "text", Next], ids=str)
def test_a_wrapper_that_returns_nothing_or_a_wrong_type_fails_the_run_at_once(value: Any) -> None:
    def turn(use: ToolUse[Message]) -> ToolMove[Message]:
        return Error("turned") if use.outcomes else Next()

    wrong = wrapper("wrong", lambda use: value)
    run, host = played(agent(wrapper("turn", turn), wrong), thread(), says("", "look"))
    allowed = "it returns Next, Success, Error, NeedsApproval or Fatal"
    assert problem(run) == f"middleware 'wrong', wrap_tool, step 1: returned {value!r}; {allowed}"
    assert (contents(run.thread), host.of(RunTool)) == (["input", ""], [])


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (Success(5), "returned Success with content 5; it must be a text"),  # type: ignore[arg-type]
        (Success("", 5), "returned Success with update 5; it must be a mapping of keys to values"),  # type: ignore[arg-type]
        (Error(None), "returned Error with text None; it must be a text"),  # type: ignore[arg-type]
        (NeedsApproval(None), "returned NeedsApproval with reason None; it must be a text"),  # type: ignore[arg-type]
        (Fatal(None), "returned Fatal with error None; it must be a text"),  # type: ignore[arg-type]
        (Next("request"), "returned Next with request 'request'; a tool call has none"),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_a_move_that_holds_a_wrong_type_fails_the_run_at_once(move: Any, expected: str) -> None:
    run, _ = played(agent(wrapper("wrong", lambda use: move)), thread(), says("", "look"))
    assert problem(run) == f"middleware 'wrong', wrap_tool, step 1: {expected}"


def test_a_write_to_another_key_fails_the_run_at_once() -> None:
    run, _ = played(
        agent(wrapper("outer", passing), marking("inner", "mine", also="other")), thread(), says("", "look")
    )
    expected = "wrote the key 'other', which is not among its writes: 'mine'"
    assert problem(run) == f"middleware 'inner', wrap_tool, step 1: {expected}"
    assert (contents(run.thread), run.thread.state) == (["input", ""], {})


def test_an_update_from_inside_may_not_be_changed() -> None:
    run, _ = played(agent(marking("outer", also="key"), marking("inner", "key")), thread(), says("", "look"))
    assert problem(run).startswith("middleware 'outer', wrap_tool, step 1: wrote the key 'key'")


def never(use: ToolUse[Message]) -> ToolMove[Message]:
    raise AssertionError


def test_a_call_for_no_such_tool_gets_an_error_that_says_which_there_are() -> None:
    run, host = played(agent(wrapper("see", never)), thread(), says("", "loook"))
    assert contents(run.thread)[2] == "There is no tool 'loook'; the tools are 'look', 'take'."
    assert host.of(RunTool) == []
    run, _ = played(agent(tools=()), thread(), says("", "look"))
    assert contents(run.thread)[2] == "There is no tool 'look'; there are no tools."


def test_arguments_that_are_wrong_get_an_error_and_reach_no_wrapper() -> None:
    strict = Tool("look", lambda arguments: ["a is missing", "b is 1"] if arguments == "{}" else [])
    run, host = played(agent(wrapper("see", never), tools=(strict,)), thread(), says("", "look"))
    assert contents(run.thread)[2] == "The arguments of 'look' are wrong: a is missing; b is 1."
    assert host.of(RunTool) == []


@pytest.mark.parametrize("value", ["text", [5], None, iter(())])
def test_a_function_of_problems_that_is_wrong_fails_the_run(value: Any) -> None:
    run, _ = played(agent(tools=(Tool("look", lambda arguments: value),)), thread(), says("", "look"))
    assert problem(run) == (f"tool 'look', problems, step 1: returned {value!r}; it returns a tuple or list of texts")
    assert contents(run.thread) == ["input", ""]
    run, _ = played(agent(tools=(Tool("look", int),)), thread(), says("", "look"))  # type: ignore[arg-type]
    assert problem(run).startswith("tool 'look', problems, step 1: raised ValueError: invalid literal")


def test_a_tool_that_is_not_offered_still_runs_through_the_wrappers() -> None:
    def hide(call: Any) -> Any:
        return call.results[-1] if call.results else Next(type(call.request)(None, call.request.messages))

    run, host = played(agent(Middleware("hide", wrap_model=hide), marking("mark")), thread(), says("", "look"))
    assert host.of(CallModel)[0].request.tools == ()
    assert contents(run.thread)[2] == "mark(result of look)"


def test_calls_that_wait_for_approval_suspend_the_run_once_and_the_others_ran() -> None:
    run = begin(agent(wrapper("guard", guarding)), thread(), Message("user", "input"))
    run = run.answered(says("", "take", "look", "take"), Usage(1))
    assert run.action == RunTool(1, ToolCall("call 2", "look"))
    run = run.returned(Success("seen"))
    waiting = tuple(Waiting(place, ToolCall(f"call {place + 1}", "take"), "it takes") for place in (0, 2))
    assert run.action == AskApproval(waiting)
    assert contents(run.thread) == ["input", ""]
    run = run.settled({0: Denied("too dear"), 2: Approved()})
    assert run.action == RunTool(2, ToolCall("call 3", "take"))
    assert contents(run.thread) == ["input", ""]
    run = run.returned(Success("taken"))
    assert contents(run.thread) == ["input", "", "Denied: too dear", "seen", "taken"]


def test_when_all_are_denied_nothing_runs() -> None:
    settle = played(
        agent(wrapper("guard", guarding)), thread(), says("", "take"), decide=lambda reason: Denied(f"no, {reason}")
    )
    run, host = settle
    assert host.of(RunTool) == []
    assert contents(run.thread)[2] == "Denied: no, it takes"
    assert isinstance(run.action, Finished)


def test_an_approved_call_goes_through_the_wrappers_again_as_approved() -> None:
    seen: list[tuple[bool, int]] = []

    def see(use: ToolUse[Message]) -> ToolMove[Message]:
        seen.append((use.approved, len(use.outcomes)))
        return passing(use)

    played(agent(wrapper("see", see), wrapper("guard", guarding)), thread(), says("", "take"))
    assert seen == [(False, 0), (False, 1), (True, 0), (True, 1)]


def test_a_tool_itself_may_need_approval() -> None:
    run, host = played(agent(), thread(), says("", "take"), tools=[NeedsApproval("dear"), Success("taken")])
    assert host.of(AskApproval) == [AskApproval((Waiting(0, ToolCall("call 1", "take"), "dear"),))]
    assert contents(run.thread)[2] == "taken"


def test_a_need_for_approval_of_an_approved_call_fails_the_run() -> None:
    run, _ = played(agent(wrapper("guard", lambda use: NeedsApproval("always"))), thread(), says("", "take"))
    expected = "needs approval of a call that is approved: always"
    assert problem(run) == f"middleware 'guard', wrap_tool, step 1: {expected}"
    assert contents(run.thread) == ["input", ""]
    run, _ = played(agent(), thread(), says("", "take"), tools=[NeedsApproval("always")] * 2)
    assert problem(run) == f"tool 'take', step 1: {expected}"


def test_a_fatal_outcome_ends_the_run_before_anybody_is_asked_for_approval() -> None:
    calls = says("", "take", "look")
    run, host = played(agent(wrapper("guard", guarding)), thread(), calls, tools=[Fatal("on fire")])
    assert host.of(AskApproval) == []
    assert problem(run) == "tool 'look', step 1: on fire"


def test_many_calls_that_need_no_host_need_no_deep_stack() -> None:
    calls = says("", *["look"] * 3000)
    run, _ = played(agent(wrapper("cache", lambda use: Success("cached"))), thread(), calls)
    assert contents(run.thread)[2:-1] == ["cached"] * 3000


def test_a_result_that_cannot_be_made_fails_the_run() -> None:
    def broken(call: ToolCall, text: str, is_error: bool) -> Message:
        raise ValueError("no form")

    forms = Forms(system=says, result=broken, calls=lambda message: message.calls)
    run, _ = played(Agent(forms, tools=(LOOK,)), thread(), says("", "look"))
    assert problem(run) == "forms.result, step 1: raised ValueError: no form"
    assert contents(run.thread) == ["input", ""]


def test_the_loop_runs_on_chat_dicts() -> None:
    function = {"name": "look", "arguments": '{"at": 1}'}
    calling = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "x", "type": "function", "function": function}],
    }
    run = begin(
        Agent(CHAT_FORMS, tools=(LOOK,), prompt="Be brief."),
        Thread(Summarization(CHAT, Trigger("messages", 9))),
        {"role": "user", "content": "input"},
    ).answered(calling, Usage(1))
    assert run.action == RunTool(0, ToolCall("x", "look", '{"at": 1}'))
    run = run.returned(Success("seen"))
    assert isinstance(run.action, CallModel)
    assert run.action.request.sent(CHAT) == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "input"},
        calling,
        {"role": "tool", "tool_call_id": "x", "content": "seen"},
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [({}, ToolCall(None, "", "")), ({"id": "", "function": {"name": None}}, ToolCall("", "", ""))],
)
def test_a_chat_call_that_lacks_something_is_read(call: dict[str, Any], expected: ToolCall) -> None:
    assert list(CHAT_FORMS.calls({"role": "assistant", "tool_calls": [call]})) == [expected]
    assert list(CHAT_FORMS.calls({"role": "assistant"})) == []

"""A turn: what sees its input and output, what stands in the system prompt, and what is told that was not asked."""

from typing import Any

import pytest

from loops import agent, contents, nothing, played, problem, says, thread
from tercet import (
    TERCET,
    AnswerRefused,
    Approved,
    AskQuestion,
    Block,
    Blocked,
    CallModel,
    Denied,
    Error,
    Fail,
    Failed,
    Incoming,
    Message,
    Middleware,
    NeedsApproval,
    Next,
    Outgoing,
    Passed,
    Question,
    Success,
    Summarization,
    Trigger,
    Unstored,
    Usage,
    begin,
)
from tercet.loop import Run
from tercet.thread import Thread

INPUT = Message("user", "input")


def before(name: str, hook: Any, *writes: str) -> Middleware[Message]:
    return Middleware(name, frozenset(writes), before_agent=hook)


def after(name: str, hook: Any, *writes: str) -> Middleware[Message]:
    return Middleware(name, frozenset(writes), after_agent=hook)


def section(name: str, text: Any, **settings: Any) -> Middleware[Message]:
    return Middleware(name, section=lambda state: text, **settings)


def test_each_middleware_sees_the_input_as_the_one_before_returned_it() -> None:
    def adding(text: str) -> Any:
        def hook(incoming: Incoming[Message]) -> Passed[Message]:
            assert (contents(incoming.thread), incoming.thread.state) == (["before"], {})
            return Passed(Message("user", incoming.message.content + text), {text: incoming.message.content})

        return hook

    stack = before("one", adding("1"), "1"), before("same", lambda incoming: Passed()), before("two", adding("2"), "2")
    run = begin(agent(*stack), thread("before"), INPUT)
    assert contents(run.thread) == ["before", "input12"]
    assert run.thread.state == {"1": "input", "2": "input1"}


def test_the_first_model_call_sees_the_update_of_the_input() -> None:
    def see(state: Any) -> str:
        return f"key is {state['key']}"

    def wrap(call: Any) -> Any:
        seen.append(call.thread.state["key"])
        return Next()

    seen: list[Any] = []
    write = before("write", lambda incoming: Passed(update={"key": 1}), "key")
    run = begin(agent(Middleware("see", section=see, wrap_model=wrap), write), thread(), INPUT)
    assert isinstance(run.action, CallModel)
    assert run.action.request.system == Message("system", "key is 1")
    assert seen == [1]


def test_a_block_of_the_input_stores_nothing_and_calls_nobody() -> None:
    began = thread("before")
    stack = (
        before("write", lambda incoming: Passed(Message("user", "x"), {"key": 1}), "key"),
        before("guard", lambda incoming: Block("rude")),
        before("never", nothing),
    )
    run = begin(agent(*stack), began, INPUT)
    assert run.action == Blocked("guard", "before_agent", "rude")
    assert (contents(run.thread), run.thread.state, run.thread.usage) == (["before"], {}, Usage())


def test_the_input_is_seen_once_a_run() -> None:
    seen: list[str] = []

    def hook(incoming: Incoming[Message]) -> Passed[Message]:
        seen.append(incoming.message.content)
        return Passed()

    guard = Middleware[Message](
        "guard",
        wrap_tool=lambda use: (
            use.outcomes[-1] if use.approved and use.outcomes else Next() if use.approved else NeedsApproval("x")
        ),
    )
    played(agent(before("see", hook), guard), thread(), says("", "look"), Exception("broken"))
    assert seen == ["input"]


def test_the_output_is_seen_by_the_last_middleware_first_and_its_updates_are_one_commit() -> None:
    seen: list[tuple[str, list[str], Any]] = []

    def noting(name: str) -> Any:
        def hook(outgoing: Outgoing[Message]) -> Passed[Message]:
            seen.append((name, contents(outgoing.thread), outgoing.thread.state.get("key")))
            assert outgoing.message == says("output")
            return Passed(update={"key": name})

        return hook

    run, _ = played(agent(after("outer", noting("outer"), "key"), after("inner", noting("inner"), "key")), thread())
    assert seen == [("inner", ["input", "output"], None), ("outer", ["input", "output"], None)]
    assert run.thread.state == {"key": "outer"}


def test_a_block_of_the_output_undoes_the_turn_and_leaves_usage() -> None:
    began = thread("before", state={"key": "before"})
    stack = (
        before("write", lambda incoming: Passed(update={"key": 1, "new": 2}), "key", "new"),
        after("never", nothing),
        after("guard", lambda outgoing: Block("secret")),
        after("note", lambda outgoing: Passed(update={"key": 3}), "key"),
    )
    run, _ = played(agent(*stack), began, says("", "look"))
    assert run.action == Blocked("guard", "after_agent", "secret")
    assert (contents(run.thread), run.thread.state) == (["before"], {"key": "before"})
    assert run.thread.usage == Usage(2, 3)


def test_the_output_is_stored_as_it_is() -> None:
    run, _ = played(agent(after("change", lambda outgoing: Passed(says("other")))), thread())
    expected = "returned Passed with a message; the output is stored as it is"
    assert problem(run) == f"middleware 'change', after_agent, step 1: {expected}"


def raising(_: Any) -> Any:
    raise ValueError("odd")


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (nothing, "returned None; it returns Passed or Block"),
        (lambda seen: "text", "returned 'text'; it returns Passed or Block"),
        (lambda seen: Fail("text"), "returned Fail(error='text', where=''); it returns Passed or Block"),
        (lambda seen: Block(5), "returned Block with reason 5; it must be a text"),  # type: ignore[arg-type]
        (lambda seen: Passed(update=5), "returned Passed with update 5; it must be a mapping of keys to values"),  # type: ignore[arg-type]
        (lambda seen: Passed(update={"b": 1}), "wrote the key 'b', which is not among its writes: 'a'"),
        (raising, "raised ValueError: odd"),
    ],
)
def test_a_hook_of_input_or_output_that_goes_wrong_fails_the_run(hook: Any, expected: str) -> None:
    run, host = played(agent(before("x", hook, "a")), thread("before"))
    assert problem(run) == f"middleware 'x', before_agent, step 1: {expected}"
    assert (contents(run.thread), run.thread.state, host.asked) == (["before"], {}, [])
    run, _ = played(agent(after("x", hook, "a")), thread(), says("", "look"))
    assert problem(run) == f"middleware 'x', after_agent, step 2: {expected}"
    assert (contents(run.thread)[-1], run.thread.state) == ("output", {})


def system(run: Run[Message]) -> str | None:
    assert isinstance(run.action, CallModel)
    prompt = run.action.request.system
    return None if prompt is None else prompt.content


def prompted(*middleware: Middleware[Message], thread: Thread[Message] = thread(), **settings: Any) -> str | None:  # noqa: B008
    return system(begin(agent(*middleware, **settings), thread, INPUT))


def test_sections_follow_the_prompt_in_stack_order_and_empty_ones_are_left_out() -> None:
    assert prompted(section("a", "1"), section("b", ""), section("c", "2"), prompt="Be.") == "Be.\n\n1\n\n2"
    assert prompted(section("a", "1"), prompt="") == "1"
    assert prompted(section("b", ""), prompt="Be.") == "Be."
    assert prompted(section("b", "")) is None


def test_sections_are_asked_for_before_every_model_step_from_the_committed_state_and_never_stored() -> None:
    def wrap(use: Any) -> Any:
        return Success("seen", {"n": use.thread.state.get("n", 0) + 1}) if use.outcomes else Next()

    counting = Middleware[Message](
        "count", frozenset({"n"}), section=lambda state: f"n is {state.get('n', 0)}", wrap_tool=wrap
    )
    run, host = played(agent(counting), thread(), says("", "look"), says("", "look"))
    assert [request[0] for request in host.sent()] == ["n is 0", "n is 1", "n is 2"]
    assert contents(run.thread) == ["input", "", "seen", "", "seen", "output"]


def test_each_section_is_bounded_and_then_all_together() -> None:
    one, two, three = (section(name, name * 20, max_section_tokens=3) for name in "abc")
    assert prompted(one, two, three) == f"{'a' * 12}\n\n{'b' * 12}\n\n{'c' * 12}"
    assert prompted(one, two, three, max_prompt_section_tokens=5) == f"{'a' * 12}\n\n{'b' * 8}"
    assert prompted(one, two, three, max_prompt_section_tokens=3) == "a" * 12
    assert prompted(one, two, three, max_prompt_section_tokens=1, prompt="Be.") == "Be.\n\naaaa"


def test_sections_are_cut_at_a_whole_character_and_nothing_comes_after_a_cut() -> None:
    wide = Thread(Summarization(TERCET, Trigger("messages", 9), character="UTF-16 unit"))
    stack = section("a", "aaa"), section("b", "\U0001f600"), section("c", "c")
    assert prompted(*stack, max_prompt_section_tokens=1, thread=wide) == "aaa"
    assert prompted(*stack, max_prompt_section_tokens=1) == "aaa\n\n\U0001f600"
    assert prompted(section("a", "a\U0001f600" * 2), section("b", "bbb"), max_prompt_section_tokens=2, thread=wide) == (
        "a\U0001f600" * 2 + "\n\nbb"
    )


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (nothing, "returned None; it returns str or Fail"),
        (lambda state: 5, "returned 5; it returns str or Fail"),
        (lambda state: Fail("no notes"), "no notes"),
        (lambda state: Fail(5), "returned Fail with error 5; it must be a text"),  # type: ignore[arg-type]
        (raising, "raised ValueError: odd"),
    ],
)
def test_a_section_that_goes_wrong_fails_the_run(hook: Any, expected: str) -> None:
    run, host = played(agent(Middleware("notes", section=hook)), thread())
    assert problem(run) == f"middleware 'notes', section, step 1: {expected}"
    assert (contents(run.thread), host.asked) == (["input"], [])


def test_notes_stand_between_the_messages_and_are_not_stored() -> None:
    notes = tuple(Unstored(Message("user", f"after {place}"), place) for place in (None, "1", "3", "3"))

    def wrap(call: Any) -> Any:
        return call.results[-1] if call.results else Next(type(call.request)(None, call.request.messages, notes))

    run, host = played(agent(Middleware("note", wrap_model=wrap)), thread("a", "b"))
    assert host.sent() == [["after None", "a", "after 1", "b", "input", "after 3", "after 3"]]
    assert contents(run.thread) == ["a", "b", "input", "output"]


def waiting_for_model() -> Run[Message]:
    return begin(agent(), thread(), INPUT)


def waiting_for_reply() -> Run[Message]:
    return begin(agent(Middleware("ask", wrap_model=lambda call: Question("who?"), asks=True)), thread(), INPUT)


def waiting_for_tool() -> Run[Message]:
    return waiting_for_model().answered(says("", "look", "take"), Usage(1))


def waiting_for_approval() -> Run[Message]:
    return waiting_for_tool().returned(NeedsApproval("x")).returned(NeedsApproval("y"))


def finished() -> Run[Message]:
    return waiting_for_model().answered(says("output"), Usage(1))


TELLINGS: dict[str, tuple[Any, str]] = {
    "answered": (lambda run: run.answered(says("x"), Usage(1)), "an answer of the model, Message(role='assistant'"),
    "failed": (lambda run: run.failed("x", Usage(1)), "a failed call, 'x'"),
    "compressed": (lambda run: run.compressed("x", Usage(1)), "a text of the compressor, 'x'"),
    "replied": (lambda run: run.replied(1, "x"), "a reply to question 1, 'x'"),
    "returned": (lambda run: run.returned(Success("x")), "an outcome of a tool, Success(content='x'"),
    "settled": (lambda run: run.settled({0: Approved(), 1: Approved()}), "decisions on calls, {0: Approved()"),
}
WAITING: dict[Any, tuple[set[str], str]] = {
    waiting_for_model: ({"answered", "failed"}, "the run asks for CallModel("),
    waiting_for_reply: ({"replied"}, "the run asks for AskQuestion(middleware='ask', number=1, text='who?')"),
    waiting_for_tool: ({"returned"}, "the run asks for RunTool(place=0, call=ToolCall(id='call 1', name='look'"),
    waiting_for_approval: ({"settled"}, "the run asks for AskApproval(waiting=(Waiting(place=0"),
    finished: (set(), "the run is over: Finished("),
}


@pytest.mark.parametrize("telling", TELLINGS)
@pytest.mark.parametrize("state", WAITING)
def test_what_was_not_asked_is_refused_and_the_run_stays_as_it_was(state: Any, telling: str) -> None:
    run = state()
    tell, given = TELLINGS[telling]
    allowed, asked = WAITING[state]
    if telling in allowed:
        tell(run)
        return
    before = run.action, contents(run.thread), run.thread.usage
    with pytest.raises(AnswerRefused) as refused:
        tell(run)
    assert str(refused.value).startswith(asked)
    assert f"; it was given {given}" in str(refused.value)
    assert (run.action, contents(run.thread), run.thread.usage) == before


@pytest.mark.parametrize(
    ("state", "tell", "expected"),
    [
        (
            waiting_for_model,
            lambda run: run.answered(None, Usage(1)),
            "the model's answer is None; it must be a message",
        ),
        (waiting_for_model, lambda run: run.answered(says("x"), 5), "the usage is 5; it must be a Usage"),
        (waiting_for_model, lambda run: run.failed(KeyError(), Usage(1)), "the error is KeyError(); it must be a text"),
        (waiting_for_model, lambda run: run.cancelled(5), "the usage is 5; it must be a Usage"),
        (
            waiting_for_reply,
            lambda run: run.replied(2, "x"),
            "the run asks for AskQuestion(middleware='ask', number=1, text='who?'); "
            "it was given a reply to question 2, 'x'",
        ),
        (waiting_for_reply, lambda run: run.replied(1, 5), "the reply to question 1 is 5; it must be a text"),
        (
            waiting_for_tool,
            lambda run: run.returned("x"),
            "tool 'look' returned 'x'; it returns Success, Error, NeedsApproval or Fatal",
        ),
        (
            waiting_for_tool,
            lambda run: run.returned(Error(5)),  # type: ignore[arg-type]
            "tool 'look' returned Error with text 5; it must be a text",
        ),
        (
            waiting_for_tool,
            lambda run: run.returned(Success("x", {"key": 1})),
            "tool 'look' wrote the key 'key'; only middleware writes keys",
        ),
        (
            waiting_for_approval,
            lambda run: run.settled({0: Approved()}),
            "decisions are given for the calls [0]; those that wait are [0, 1]",
        ),
        (
            waiting_for_approval,
            lambda run: run.settled({0: Approved(), 1: Denied("x"), 2: Approved()}),
            "decisions are given for the calls [0, 1, 2]; those that wait are [0, 1]",
        ),
        (
            waiting_for_approval,
            lambda run: run.settled({0: Approved(), 1: True}),
            "the decision on call 1 is True; it must be Approved or Denied",
        ),
        (
            waiting_for_approval,
            lambda run: run.settled({0: Approved(), 1: Denied(None)}),  # type: ignore[arg-type]
            "the decision on call 1 is Denied(reason=None); its reason must be a text",
        ),
        (waiting_for_approval, lambda run: run.settled(True), "the decisions are True; they must be a mapping"),
        (
            finished,
            lambda run: run.cancelled(Usage()),
            "the run is over: Finished(output=Message(role='assistant', content='output', calls=(), answers=(), "
            "id=None)); it was given a cancellation",
        ),
    ],
)
def test_a_wrong_answer_is_refused_and_says_what_is_allowed(state: Any, tell: Any, expected: str) -> None:
    run = state()
    with pytest.raises(AnswerRefused) as refused:
        tell(run)
    assert str(refused.value) == expected
    assert not isinstance(run.action, Failed)


def test_questions_of_a_run_are_numbered() -> None:
    def wrap(call: Any) -> Any:
        if len(call.replies) < 2:
            return Question(f"question {len(call.replies)}")
        return call.results[-1] if call.results else Next()

    ask = Middleware[Message]("ask", wrap_model=wrap, asks=True)
    _, host = played(agent(ask, Middleware("loud", wrap_model=wrap, asks=True)), thread(), says("", "look"))
    assert [action.number for action in host.of(AskQuestion)] == [*range(1, 9)]

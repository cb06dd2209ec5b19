"""A model step: wrappers around a call that is the host's, and what is committed of it."""

from typing import Any

import pytest
from attrs import evolve

from loops import Host, agent, contents, played, problem, says, thread
from tercet import (
    AskQuestion,
    Block,
    CallModel,
    Cancelled,
    Fail,
    Failed,
    Finished,
    Message,
    Middleware,
    ModelCall,
    ModelRequest,
    ModelResponse,
    Next,
    Question,
    Unstored,
    Usage,
    begin,
)
from tercet.middleware import ModelMove

BAD = [None, 5, "text", Next, {"request": None}]


def wrapper(name: str, wrap: Any, **settings: Any) -> Middleware[Message]:
    return Middleware(name, wrap_model=wrap, **settings)


def passing(call: ModelCall[Message]) -> ModelMove[Message]:
    return call.results[-1] if call.results else Next()


def retrying(call: ModelCall[Message]) -> ModelMove[Message]:
    return (
        Next() if not call.results or (isinstance(call.results[-1], Fail) and len(call.results) < 3) else passing(call)
    )


def twice(call: ModelCall[Message]) -> ModelMove[Message]:
    """Call next twice and return the first answer."""
    return Next() if len(call.results) < 2 else call.results[0]


def marking(name: str, key: str = "", also: Any = None) -> Middleware[Message]:
    """Put a name into the request and around the answer, and write it to a key."""

    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        if not call.results:
            note = Unstored(Message("user", f"note of {name}"), None)
            return Next(evolve(call.request, notes=(*call.request.notes, note)))
        response = call.results[-1]
        if isinstance(response, Fail):
            return response
        message = evolve(response.message, content=f"{name}({response.message.content})")
        return ModelResponse(message, {**response.update, **({key: name} if key else {}), **(also or {})})

    return wrapper(name, wrap, writes=frozenset({key} - {""}))


def test_without_middleware_the_model_is_sent_the_history_itself() -> None:
    began = thread("before")
    run = begin(agent(), began, Message("user", "input"))
    assert isinstance(run.action, CallModel)
    assert run.action.request.messages is run.thread.history
    assert run.action.request == ModelRequest(None, run.thread.history, (), ("look", "take"))
    after = run.answered(says("output"), Usage(1, 5))
    assert (after.action, contents(after.thread), after.thread.usage) == (
        Finished(says("output")),
        ["before", "input", "output"],
        Usage(1, 5),
    )
    assert (contents(run.thread), contents(began)) == (["before", "input"], ["before"])


def test_a_run_without_input_goes_on_from_what_is_in_the_thread() -> None:
    run = begin(agent(Middleware("first", before_agent=lambda incoming: Block("never"))), thread("there already"))
    assert isinstance(run.action, CallModel)
    assert contents(run.answered(says("output"), Usage(1)).thread) == ["there already", "output"]


def test_the_first_wrapper_is_the_outermost() -> None:
    run, host = played(agent(marking("outer"), marking("inner")), thread())
    assert host.sent() == [["note of outer", "note of inner", "input"]]
    assert contents(run.thread) == ["input", "outer(inner(output))"]


def test_an_update_is_committed_with_the_answer() -> None:
    run, _ = played(agent(marking("outer", "a"), marking("inner", "b")), thread(state={"c": 1}))
    assert run.thread.state == {"a": "outer", "b": "inner", "c": 1}


def test_a_wrapper_sees_the_committed_thread_what_next_gave_and_its_own_request() -> None:
    seen: list[ModelCall[Message]] = []

    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        seen.append(call)
        return retrying(call)

    _, host = played(agent(marking("outer"), wrapper("middle", wrap), marking("inner")), thread(), Exception("broken"))
    first, second, third = seen
    assert [len(call.results) for call in seen] == [0, 1, 2]
    assert second.results == (Fail("broken", "the model, step 1"),)
    assert first.request == second.request == third.request
    assert contents(third.thread) == ["input"]
    assert third.thread.usage == Usage(2, 3)
    assert host.sent() == [["note of outer", "note of inner", "input"]] * 2


def test_a_failed_call_is_tried_again_by_a_wrapper_and_each_is_counted() -> None:
    run, _ = played(
        agent(wrapper("retry", retrying), wrapper("inner", passing)), thread(), Exception("one"), Exception("two")
    )
    assert contents(run.thread) == ["input", "output"]
    assert run.thread.usage == Usage(3, 6)


def test_every_call_is_counted_whichever_answer_is_returned() -> None:
    run, _ = played(agent(wrapper("twice", twice)), thread(), says("one"), says("two"))
    assert (contents(run.thread), run.thread.usage) == (["input", "one"], Usage(2, 3))


def test_an_answer_without_next_calls_no_model_and_nobody_inside() -> None:
    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        return ModelResponse(says("cached"))

    def never(call: ModelCall[Message]) -> ModelMove[Message]:
        raise AssertionError

    run, host = played(agent(marking("outer"), wrapper("cache", wrap), wrapper("inner", never)), thread())
    assert (contents(run.thread), host.asked, run.thread.usage) == (["input", "outer(cached)"], [], Usage())


def test_an_answer_of_a_fallback_is_committed() -> None:
    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        return ModelResponse(says("sorry")) if call.results and isinstance(call.results[-1], Fail) else passing(call)

    run, _ = played(agent(wrapper("fallback", wrap)), thread(), Exception("broken"))
    assert contents(run.thread) == ["input", "sorry"]


def test_a_failure_that_nobody_catches_fails_the_run_and_leaves_what_was_committed() -> None:
    first = says("", "look")
    for middleware, where in (((), "the model, step 2"), ((wrapper("outer", passing),), "the model, step 2")):
        run, _ = played(agent(*middleware), thread(), first, Exception("no quota"))
        assert problem(run) == f"{where}: no quota"
        assert contents(run.thread) == ["input", "", "result of look"]
        assert run.thread.usage == Usage(2, 3)


def test_a_wrapper_that_fails_is_named_and_nothing_of_the_step_is_committed() -> None:
    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        return Fail("too long") if call.results else Next()

    run, _ = played(agent(wrapper("outer", passing), wrapper("limit", wrap), marking("inner", "key")), thread())
    assert problem(run) == "middleware 'limit', wrap_model, step 1: too long"
    assert (contents(run.thread), run.thread.state, run.thread.usage) == (["input"], {}, Usage(1, 1))


def test_a_wrapper_that_raises_has_failed_and_one_outside_may_try_again() -> None:
    attempts = iter("ab")

    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        if next(attempts) == "a":
            raise KeyError("gone")
        return ModelResponse(says("second"))

    run, _ = played(agent(wrapper("retry", retrying), wrapper("weak", wrap)), thread())
    assert contents(run.thread) == ["input", "second"]
    attempts = iter("a")
    run, _ = played(agent(wrapper("outer", passing), wrapper("weak", wrap)), thread())
    assert problem(run) == "middleware 'weak', wrap_model, step 1: raised KeyError: 'gone'"


def test_what_is_no_exception_passes_through() -> None:
    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin(agent(wrapper("stop", wrap)), thread(), Message("user", "input"))


@pytest.mark.parametrize("value", BAD, ids=str)
def test_a_wrapper_that_returns_nothing_or_a_wrong_type_fails_the_run_at_once(value: Any) -> None:
    run, host = played(agent(wrapper("retry", retrying), wrapper("wrong", lambda call: value)), thread())
    allowed = "it returns Next, ModelResponse, Fail, Question or Ask"
    assert problem(run) == f"middleware 'wrong', wrap_model, step 1: returned {value!r}; {allowed}"
    assert (contents(run.thread), host.asked) == (["input"], [])


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (Next("request"), "returned Next with request 'request'; it must be a ModelRequest"),  # type: ignore[arg-type]
        (ModelResponse(None), "returned ModelResponse with message None; it must be a message"),
        (
            ModelResponse(says(""), None),  # type: ignore[arg-type]
            "returned ModelResponse with update None; it must be a mapping of keys to values",
        ),
        (Fail(KeyError()), "returned Fail with error KeyError(); it must be a text"),  # type: ignore[arg-type]
        (Question(5), "returned Question with text 5; it must be a text"),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_a_move_that_holds_a_wrong_type_fails_the_run_at_once(move: Any, expected: str) -> None:
    run, _ = played(agent(wrapper("retry", retrying), wrapper("wrong", lambda call: move, asks=True)), thread())
    assert problem(run) == f"middleware 'wrong', wrap_model, step 1: {expected}"


def test_a_write_to_another_key_fails_the_run_at_once() -> None:
    run, _ = played(agent(wrapper("retry", retrying), marking("inner", "mine", {"other": 1})), thread())
    expected = "wrote the key 'other', which is not among its writes: 'mine'"
    assert problem(run) == f"middleware 'inner', wrap_model, step 1: {expected}"
    assert (contents(run.thread), run.thread.state, run.thread.usage) == (["input"], {}, Usage(1, 1))
    run, _ = played(agent(marking("inner", "", {"other": 1})), thread())
    assert problem(run).endswith("wrote the key 'other', which is not among its writes: none")


def test_an_update_from_inside_rides_on_the_response_and_may_not_be_changed() -> None:
    run, _ = played(agent(wrapper("twice", twice), marking("outer"), marking("inner", "key")), thread(), says("one"))
    assert run.thread.state == {"key": "inner"}
    run, _ = played(agent(marking("outer", "", {"key": "changed"}), marking("inner", "key")), thread())
    assert problem(run).startswith("middleware 'outer', wrap_model, step 1: wrote the key 'key'")


def test_an_update_that_the_outermost_leaves_out_is_not_committed() -> None:
    def wrap(call: ModelCall[Message]) -> ModelMove[Message]:
        return ModelResponse(says("mine")) if call.results else Next()

    run, _ = played(agent(wrapper("outer", wrap), marking("inner", "key")), thread())
    assert (contents(run.thread), run.thread.state) == (["input", "mine"], {})


class Odd:
    """A value that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


def test_a_value_that_cannot_be_compared_rides_on_as_itself() -> None:
    odd = Odd()
    run, _ = played(agent(wrapper("outer", passing), marking("inner", "key", {"key": odd})), thread())
    assert run.thread.state["key"] is odd
    run, _ = played(agent(marking("outer", "", {"key": Odd()}), marking("inner", "key", {"key": odd})), thread())
    assert problem(run).startswith("middleware 'outer', wrap_model, step 1: wrote the key 'key'")


def asking(call: ModelCall[Message]) -> ModelMove[Message]:
    """Ask before next and after it, and put the replies around the answer."""
    if not call.replies:
        return Question("before?")
    if not call.results:
        return Next()
    if len(call.replies) == 1:
        return Question("after?")
    response = call.results[0]
    assert isinstance(response, ModelResponse)
    return ModelResponse(says(" ".join([*map(str, call.replies), response.message.content])))


def test_a_question_suspends_the_run_and_its_reply_goes_on_where_it_was_asked() -> None:
    asker = wrapper("asker", asking, asks=True)
    run, host = played(agent(marking("outer", "key"), asker, marking("inner")), thread())
    assert host.of(AskQuestion) == [AskQuestion("asker", 1, "before?"), AskQuestion("asker", 2, "after?")]
    assert contents(run.thread) == ["input", "outer(reply to before? reply to after? inner(output))"]
    assert (run.thread.usage, run.thread.state) == (Usage(1, 1), {"key": "outer"})


def test_while_a_question_waits_nothing_but_usage_is_stored() -> None:
    run = begin(agent(wrapper("asker", asking, asks=True), marking("inner", "key")), thread(), Message("user", "input"))
    run = run.replied(1, "yes").answered(says("output"), Usage(1, 7))
    assert isinstance(run.action, AskQuestion)
    assert (contents(run.thread), run.thread.state, run.thread.usage) == (["input"], {}, Usage(1, 7))


def test_a_question_of_a_middleware_that_does_not_ask_fails_the_run_at_once() -> None:
    run, _ = played(agent(wrapper("retry", retrying), wrapper("mute", asking)), thread())
    assert (
        problem(run)
        == "middleware 'mute', wrap_model, step 1: asked a question, which only middleware with asks=True may"
    )


def test_an_answer_whose_calls_cannot_be_read_fails_the_run() -> None:
    run = begin(agent(), thread(), Message("user", "input")).answered("text", Usage(1))  # type: ignore[arg-type]
    assert problem(run) == "forms.calls, step 1: raised AttributeError: 'str' object has no attribute 'calls'"
    assert (contents(run.thread), run.thread.usage) == (["input"], Usage(1))


def test_a_cancelled_run_commits_nothing_of_the_step_and_counts_usage() -> None:
    run = begin(agent(marking("inner", "key")), thread(), Message("user", "input")).cancelled(Usage(1, 3))
    assert (run.action, contents(run.thread), run.thread.usage) == (Cancelled(), ["input"], Usage(1, 3))
    assert run.is_over


def test_a_run_is_left_as_it_was_by_what_is_told_of_it() -> None:
    run = begin(agent(marking("inner", "key")), thread(), Message("user", "input"))
    one, other = run.answered(says("one"), Usage(1, 1)), run.failed("broken", Usage(1, 2))
    again = run.answered(says("two"), Usage(1, 3))
    assert contents(one.thread) == ["input", "inner(one)"]
    assert contents(again.thread) == ["input", "inner(two)"]
    assert isinstance(other.action, Failed)
    assert (contents(run.thread), run.thread.usage) == (["input"], Usage())


def test_each_hook_is_asked_once_about_what_it_sees() -> None:
    seen: list[tuple[str, int, int]] = []

    def noting(name: str, wrap: Any) -> Middleware[Message]:
        def noted(call: ModelCall[Message]) -> ModelMove[Message]:
            seen.append((name, len(call.results), len(call.replies)))
            move: ModelMove[Message] = wrap(call)
            return move

        return wrapper(name, noted, asks=True)

    stack = noting("retry", retrying), noting("asker", asking)
    Host(iter([Exception("broken"), says("output")])).finish(begin(agent(*stack), thread(), Message("user", "input")))
    asker = [("asker", 0, 0), ("asker", 0, 1), ("asker", 1, 1), ("asker", 1, 2)]
    assert seen == [("retry", 0, 0), *asker, ("retry", 1, 0), *asker, ("retry", 2, 0)]

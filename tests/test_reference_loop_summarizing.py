"""Summarization is one middleware of the loop: it decides as a thread does, and commits its summary with the step."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from loops import Host, contents, problem, says
from loops import agent as made
from tercet import (
    SUMMARIZATION,
    SUMMARY_KEY,
    TERCET,
    Ask,
    AskCompressor,
    Block,
    CallModel,
    Fail,
    Finished,
    HistoryRefused,
    Message,
    Middleware,
    ModelCall,
    ModelRequest,
    ModelResponse,
    Next,
    PendingCall,
    Question,
    Send,
    Success,
    Summarization,
    Summary,
    Thread,
    ToolCall,
    Trigger,
    Unstored,
    Usage,
    begin,
)
from tercet.loop import Run
from tercet.middleware import ModelMove
from tercet.request import Summarized

FIRES = Summarization(TERCET, Trigger("messages", 3), keep_recent=1, before="", after="")
INPUT = Message("user", "e")


def thread(summary: Summary | None = None, contents: str = "abcd") -> Thread[Message]:
    state = {} if summary is None else {SUMMARY_KEY: summary}
    return Thread(FIRES, state=state).append(*(Message("user", text) for text in contents))


def wrapper(wrap: Any, **settings: Any) -> Middleware[Message]:
    return Middleware("wrapper", wrap_model=wrap, **settings)


def retrying(call: ModelCall[Message]) -> ModelMove[Message]:
    return (
        Next()
        if not call.results or (isinstance(call.results[-1], Fail) and len(call.results) < 3)
        else call.results[-1]
    )


def run(*middleware: Middleware[Message], host: Host, thread: Thread[Message] = thread()) -> Run[Message]:  # noqa: B008
    return host.finish(begin(made(*middleware), thread, INPUT))


def host(*model: Message | Exception, texts: tuple[Any, ...] = ("summary",)) -> Host:
    return Host(iter([*model, says("output")]), compressor=iter(texts))


def test_a_due_summary_is_asked_for_sent_and_committed_with_the_answer() -> None:
    began = begin(made(SUMMARIZATION), thread(Summary("so far", "1")), INPUT)
    assert isinstance(began.action, AskCompressor)
    assert [message.content for message in began.action.messages] == ["b", "c", "d"]
    assert began.action.so_far == "so far"
    sends = began.compressed("summary", Usage(1, 10))
    assert isinstance(sends.action, CallModel)
    assert [message.content for message in sends.action.request.sent(TERCET)] == ["summary", "e"]
    assert (sends.thread.summary, sends.thread.usage) == (Summary("so far", "1"), Usage(1, 10))
    ended = sends.answered(says("output"), Usage(1, 5))
    assert ended.action == Finished(says("output"))
    assert contents(ended.thread) == [*"abcde", "output"]
    assert (ended.thread.summary, ended.thread.usage) == (Summary("summary", "4"), Usage(2, 15))


def test_a_thread_within_the_limit_is_sent_as_it_is() -> None:
    began = begin(made(SUMMARIZATION), thread(contents="ab"), INPUT)
    assert isinstance(began.action, CallModel)
    assert began.action.request.messages is began.thread.history
    assert SUMMARY_KEY not in began.answered(says("output"), Usage(1)).thread.state


def test_a_failed_step_keeps_the_stored_summary() -> None:
    ended = run(SUMMARIZATION, host=host(Exception("broken")), thread=thread(Summary("so far", "1")))
    assert problem(ended) == "the model, step 1: broken"
    assert (ended.thread.summary, ended.thread.usage) == (Summary("so far", "1"), Usage(2, 3))
    assert contents(ended.thread) == [*"abcde"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (Exception("down"), "the compressor failed: down"),
        (" \n", "the compressor's text is blank within the bound: ' \\n'"),
        (None, "the compressor failed: the text is None; it must be a str"),
    ],
)
def test_a_compressor_that_fails_fails_the_step_unless_somebody_outside_tries_again(text: Any, expected: str) -> None:
    ended = run(SUMMARIZATION, host=host(texts=(text,)))
    assert problem(ended) == f"middleware 'summarization', wrap_model, step 1: {expected}"
    assert (contents(ended.thread), ended.thread.summary, ended.thread.usage) == ([*"abcde"], None, Usage(1, 1))
    ended = run(wrapper(retrying), SUMMARIZATION, host=host(texts=(text, "better")))
    assert (ended.thread.summary, ended.thread.usage) == (Summary("better", "4"), Usage(3, 6))


def test_tried_again_outside_it_decides_anew_and_inside_it_sends_the_same() -> None:
    does = host(Exception("broken"), texts=("one", "two"))
    ended = run(wrapper(retrying), SUMMARIZATION, host=does)
    assert does.sent() == [["one", "e"], ["two", "e"]]
    assert ended.thread.summary == Summary("two", "4")
    does = host(Exception("broken"), texts=("one",))
    ended = run(SUMMARIZATION, wrapper(retrying), host=does)
    assert does.sent() == [["one", "e"]] * 2
    assert ended.thread.summary == Summary("one", "4")


def test_the_summary_of_the_answer_that_is_returned_is_committed() -> None:
    def first(call: ModelCall[Message]) -> ModelMove[Message]:
        return Next() if len(call.results) < 2 else call.results[0]

    ended = run(wrapper(first), SUMMARIZATION, host=host(says("a1"), says("a2"), texts=("one", "two")))
    assert (contents(ended.thread)[-1], ended.thread.summary) == ("a1", Summary("one", "4"))
    assert ended.thread.usage == Usage(4, 10)


def test_an_answer_without_next_inside_commits_the_summary_that_was_written() -> None:
    ended = run(SUMMARIZATION, wrapper(lambda call: ModelResponse(says("cached"))), host=host())
    assert (contents(ended.thread)[-1], ended.thread.summary) == ("cached", Summary("summary", "4"))


def test_an_update_from_inside_is_committed_with_the_summary() -> None:
    def writing(call: ModelCall[Message]) -> ModelMove[Message]:
        return ModelResponse(says("output"), {"key": 1}) if call.results else Next()

    ended = run(SUMMARIZATION, wrapper(writing, writes=frozenset({"key"})), host=host())
    assert ended.thread.state == {"key": 1, SUMMARY_KEY: Summary("summary", "4")}


def test_a_block_of_the_output_takes_the_summary_back() -> None:
    guard = Middleware[Message]("guard", after_agent=lambda outgoing: Block("no"))
    ended = run(SUMMARIZATION, guard, host=host(), thread=thread(Summary("so far", "1")))
    assert (contents(ended.thread), ended.thread.summary) == ([*"abcd"], Summary("so far", "1"))
    assert ended.thread.usage == Usage(2, 3)


def test_messages_that_were_replaced_outside_are_refused() -> None:
    replace = wrapper(lambda call: call.results[-1] if call.results else Next(evolve(call.request, messages=[INPUT])))
    ended = run(replace, SUMMARIZATION, host=host())
    expected = "the request's messages are not the thread's history: what replaces them must stand inside"
    assert problem(ended) == f"middleware 'summarization', wrap_model, step 1: {expected}"


def test_what_stands_inside_may_replace_what_is_sent() -> None:
    replace = wrapper(lambda call: call.results[-1] if call.results else Next(evolve(call.request, messages=[INPUT])))
    does = host()
    ended = run(SUMMARIZATION, replace, host=does)
    assert does.sent() == [["e"]]
    assert ended.thread.summary == Summary("summary", "4")


def test_it_measures_the_prompt_and_the_notes_from_outside_and_none_from_inside() -> None:
    def noting(call: ModelCall[Message]) -> ModelMove[Message]:
        notes = (Unstored(Message("user", "note"), "1"),)
        return call.results[-1] if call.results else Next(evolve(call.request, notes=notes))

    two = thread(contents="ab")
    assert isinstance(begin(made(SUMMARIZATION), two, INPUT).action, CallModel)
    assert isinstance(begin(made(SUMMARIZATION, prompt="Be."), two, INPUT).action, AskCompressor)
    assert isinstance(begin(made(wrapper(noting), SUMMARIZATION), two, INPUT).action, AskCompressor)
    assert isinstance(begin(made(SUMMARIZATION, wrapper(noting)), two, INPUT).action, CallModel)


def test_a_pending_call_holds_the_cut() -> None:
    def waits(call: ModelCall[Message]) -> ModelMove[Message]:
        return call.results[-1] if call.results else Next(evolve(call.request, pending=(PendingCall("2"),)))

    began = begin(made(wrapper(waits), SUMMARIZATION), thread(), INPUT)
    assert isinstance(began.action, AskCompressor)
    assert [message.content for message in began.action.messages] == ["a"]


def test_a_history_that_cannot_be_read_fails_the_step_and_says_why() -> None:
    twice = Thread(FIRES).append(Message("user", "a", id="x"), Message("user", "b", id="x"))
    ended = run(SUMMARIZATION, host=host(), thread=twice)
    assert problem(ended).startswith(
        "middleware 'summarization', wrap_model, step 1: raised HistoryRefused: messages 1 and"
    )


def test_a_question_outside_is_asked_before_the_compressor_and_one_inside_after() -> None:
    def asks(call: ModelCall[Message]) -> ModelMove[Message]:
        return call.results[-1] if call.results else Next() if call.replies else Question("?")

    for stack, order in (
        ((wrapper(asks, asks=True), SUMMARIZATION), ["AskQuestion", "AskCompressor", "CallModel"]),
        ((SUMMARIZATION, wrapper(asks, asks=True)), ["AskCompressor", "AskQuestion", "CallModel"]),
    ):
        does = host()
        run(*stack, host=does)
        assert [type(action).__name__ for action in does.asked] == order


def test_the_ledger_goes_on_from_step_to_step() -> None:
    ended = run(SUMMARIZATION, host=host(says("", "look"), texts=("one", "two")))
    assert ended.thread.ledger is not None
    assert ended.thread.ledger.length == 7
    quiet = begin(made(SUMMARIZATION), thread(contents="a")).answered(says("x", "look"), Usage(1)).returned(Success(""))
    assert quiet.thread.ledger is not None
    after = quiet.answered(says("y"), Usage(1)).thread
    assert after.ledger is not None
    assert after.ledger.book is quiet.thread.ledger.book


CALL, RESULT = Message("assistant", "calls", (ToolCall("x"),)), Message("tool", "result", answers=("x",))
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.sampled_from("abc"))
    | st.sampled_from([CALL, RESULT]),
    min_size=1,
    max_size=9,
)


@example(messages=[CALL, INPUT, RESULT], through=2, places=[], limit=12, keep=1, prompt=None)
@given(
    messages=MESSAGES,
    through=st.none() | st.integers(1, 9),
    places=st.lists(st.integers(0, 9), max_size=4),
    limit=st.integers(1, 12),
    keep=st.integers(1, 4),
    prompt=st.sampled_from([None, "Be."]),
)
def test_what_is_sent_is_what_a_thread_decides(
    messages: list[Message], through: int | None, places: list[int], limit: int, keep: int, prompt: str | None
) -> None:
    summarization = evolve(FIRES, trigger=Trigger("messages", limit), keep_recent=keep)
    state = {} if through is None else {SUMMARY_KEY: Summary("so far", str(through))}
    began = Thread(summarization, state=state).append(*messages)
    notes = tuple(
        Unstored(Message("user", f"note {n}"), str(place) if place else None)
        for n, place in enumerate(place % (len(messages) + 1) for place in places)
    )

    def noting(call: ModelCall[Message]) -> ModelMove[Message]:
        return call.results[-1] if call.results else Next(evolve(call.request, notes=notes))

    plan = began.decide(Message("system", prompt) if prompt else None, notes)
    run = begin(made(wrapper(noting), SUMMARIZATION, prompt=prompt), began)
    if isinstance(plan, Ask):
        assert run.action == AskCompressor(plan.messages, plan.so_far)
        plan, run = plan.answer("new"), run.compressed("new", Usage(1))
    assert isinstance(run.action, CallModel)
    assert run.action.request.sent(TERCET) == plan.request
    ended = run.answered(says("output"), Usage(1)).thread
    assert ended.summary == began.commit(plan, says("output")).summary
    inside = begin(made(SUMMARIZATION, wrapper(noting), prompt=prompt), began)
    measured = began.decide(Message("system", prompt) if prompt else None)
    if isinstance(inside.action, CallModel) and isinstance(measured, Send):
        of_thread = evolve(began, summarization=evolve(summarization, trigger=Trigger("messages", 99)))
        quiet = of_thread.decide(Message("system", prompt) if prompt else None, notes)
        assert isinstance(quiet, Send)
        assert inside.action.request.sent(TERCET) == quiet.request


def test_a_history_under_a_summary_is_a_sequence() -> None:
    history = thread(contents="abcdef").history
    whole = [Message("user", "a"), Message("user", "S"), *history[3:]]
    under = Summarized(history, 1, tuple(whole[:2]), 3)
    assert (len(under), list(under), under[1:4], under[-1]) == (5, whole, whole[1:4], whole[-1])
    assert [under[index] for index in range(-5, 5)] == [whole[index] for index in range(-5, 5)]
    with pytest.raises(IndexError):
        under[5]


def test_a_note_that_follows_no_message_is_refused() -> None:
    request = ModelRequest(None, [INPUT], (Unstored(INPUT, "gone"),))
    with pytest.raises(HistoryRefused, match="no message is stored under the id 'gone', which a note names"):
        request.sent(TERCET)

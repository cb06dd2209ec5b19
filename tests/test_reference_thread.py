"""A thread is a value, and a step on it a transaction."""

from typing import Any, cast

import pytest
from attrs import evolve

from tercet import (
    CHAT,
    SUMMARY_KEY,
    TERCET,
    Ask,
    History,
    HistoryRefused,
    Message,
    PendingCall,
    Send,
    Summarization,
    Summary,
    Thread,
    ToolCall,
    Trigger,
    Unstored,
    Usage,
)

FIRES = Summarization(TERCET, Trigger("messages", 3), keep_recent=1)
ANSWER = Message("assistant", "answer", id="answer")


def said(*ids: str) -> list[Message]:
    return [Message("user", id=stored) for stored in ids]


def full() -> tuple[Thread[Message], Send[Message]]:
    thread = Thread(FIRES).append(*said("a", "b", "c", "d"))
    ask = thread.decide()
    assert isinstance(ask, Ask)
    return thread, ask.answer("text")


def test_appending_leaves_the_thread_as_it_was() -> None:
    empty = Thread(FIRES)
    one = empty.append(*said("a"))
    two, other = one.append(*said("b")), one.append(*said("c", "d"))
    assert [len(thread.history) for thread in (empty, one, two, other)] == [0, 1, 2, 3]
    assert list(two.history) == said("a", "b")
    assert list(other.history) == said("a", "c", "d")


def test_a_committed_step_stores_answer_summary_and_usage_together() -> None:
    thread, send = full()
    after = thread.commit(send, ANSWER, Usage(2, 30))
    assert list(after.history) == [*thread.history, ANSWER]
    assert after.summary == Summary("text", "c")
    assert after.state == {SUMMARY_KEY: Summary("text", "c")}
    assert after.usage == Usage(2, 30)
    assert (thread.summary, thread.usage, len(thread.history)) == (None, Usage(), 4)


def test_a_step_without_a_new_summary_keeps_the_stored_one_and_other_keys() -> None:
    thread, send = full()
    thread = Thread(FIRES, thread.history, {"todo": ["x"]}).commit(send, ANSWER)
    quiet = thread.decide()
    assert isinstance(quiet, Send)
    after = thread.commit(quiet, Message("assistant", id="e"))
    assert after.state == {"todo": ["x"], SUMMARY_KEY: Summary("text", "c")}


def test_a_failed_step_keeps_its_usage_alone() -> None:
    thread, _ = full()
    after = thread.fail(Usage(1, 7)).fail(Usage(1))
    assert after.usage == Usage(2, 7)
    assert (after.history, after.state, after.summary) == (thread.history, thread.state, None)
    assert after.decide() == thread.decide()


def test_two_steps_from_one_thread_do_not_disturb_each_other() -> None:
    thread, send = full()
    one, other = (thread.commit(send, Message("assistant", text, id="e")) for text in ("one", "other"))
    for after, text in ((one, "one"), (other, "other"), (one, "one")):
        sent = after.append(*said("f")).decide()
        assert isinstance(sent, Ask)
        assert sent.as_measured.request[2:] == (Message("assistant", text, id="e"), *said("f"))


def test_a_thread_of_dicts_that_have_no_ids_names_them_by_their_place() -> None:
    thread = Thread(Summarization(CHAT, Trigger("messages", 2), keep_recent=1))
    thread = thread.append(*({"role": "user", "content": text} for text in "abc"))
    ask = thread.decide({"role": "system", "content": "prompt"})
    assert isinstance(ask, Ask)
    assert ask.answer("text").summary == Summary("text", "2")


@pytest.mark.parametrize("index", [0, 2, -1, -3])
def test_a_history_gives_a_message_by_its_place(index: int) -> None:
    assert History[int]().extended([1, 2, 3])[index] == [1, 2, 3][index]


@pytest.mark.parametrize("index", [3, -4])
def test_a_history_has_no_message_beyond_its_ends(index: int) -> None:
    history = History[int]().extended([1, 2, 3])
    history.extended([4])
    with pytest.raises(IndexError):
        history[index]


def test_a_history_is_sliced_as_a_list_is_and_shows_nothing_that_came_later() -> None:
    history = History[int]().extended(range(5))
    longer = history.extended(range(5, 9))
    ends = (None, *range(-7, 8))
    for start in ends:
        for stop in ends:
            for step in (None, 1, 2, -1, -2):
                assert history[start:stop:step] == list(range(5))[start:stop:step]
    assert (len(history), list(history), 4 in history, 5 in history) == (5, list(range(5)), True, False)
    assert list(longer) == list(range(9))
    assert list(history.extended([7])) == [0, 1, 2, 3, 4, 7]


def test_usage_adds_up() -> None:
    assert Usage(1, 2) + Usage(3, 4) == Usage(4, 6)


def test_a_history_that_grows_copies_nothing_and_a_fork_copies() -> None:
    history = History[int]().extended([1, 2])
    one, other = history.extended([3]), history.extended([4])
    assert one.shared is history.shared
    assert other.shared is not history.shared


def test_a_history_of_messages_holds_them_all() -> None:
    messages = [Message("user", "Hello.", id="1"), Message("assistant", "Hello.", id="2")]
    assert list(History(messages)) == messages


def test_a_blocked_turn_takes_back_messages_and_key_and_leaves_usage() -> None:
    began, send = full()
    after = began.append(*said("e")).commit(send, ANSWER, Usage(2, 30)).back_to(began)
    assert (list(after.history), after.summary) == (list(began.history), None)
    assert after.usage == Usage(2, 30)


def test_going_back_keeps_the_configuration_that_is_in_force() -> None:
    thread, _ = full()
    now = evolve(thread, summarization=evolve(FIRES, keep_recent=2))
    assert now.back_to(thread).summarization.keep_recent == 2


def test_an_ask_that_was_not_answered_is_not_committed() -> None:
    thread = Thread(FIRES).append(*said(*"abcd"))
    ask = thread.decide()
    assert isinstance(ask, Ask)
    with pytest.raises(TypeError, match=r"commit takes a Send, not Ask.+; an Ask becomes one by its answer"):
        thread.commit(cast("Any", ask), ANSWER)


def committed() -> Thread[Message]:
    thread, send = full()
    return thread.commit(send, ANSWER)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_edit_of_a_covered_message_clears_the_key(at: int) -> None:
    thread = committed()
    rewritten = [evolve(m, content="other") if n == at else m for n, m in enumerate(thread.history)]
    removed = [message for n, message in enumerate(thread.history) if n != at]
    for history in (rewritten, removed):
        edited = evolve(thread, state={**thread.state, "todo": ["x"]}).edited(history)
        assert (list(edited.history), edited.summary, edited.state) == (history, None, {"todo": ["x"]})


def test_an_edit_behind_the_summary_leaves_the_key() -> None:
    thread = committed()
    edited = thread.edited(thread.history[:3])
    assert edited.summary == thread.summary
    plan = edited.decide()
    assert plan == Send(tuple(said("a", "b", "c")))
    assert edited.append(*said("f")).decide().request[0].content.endswith("text")  # type: ignore[union-attr]


def test_an_edited_thread_that_has_no_summary_has_none() -> None:
    thread, _ = full()
    assert thread.edited(said("x")).summary is None


def test_unstored_messages_keep_their_neighbours_or_follow_the_summary() -> None:
    thread = committed()
    notes = [Unstored(Message("user", name), after) for name, after in (("first", None), ("b", "b"), ("d", "d"))]
    plan = evolve(thread, summarization=evolve(FIRES, trigger=Trigger("messages", 9))).decide(notes=notes)
    assert isinstance(plan, Send)
    assert [message.content or message.id for message in plan.request][1:] == ["first", "b", "d", "d", "answer"]


def test_a_pending_call_holds_the_cut() -> None:
    call = Message("assistant", calls=(ToolCall("x"),), id="call")
    thread = Thread(FIRES).append(*said("a", "b"), call, *said("c", "d"))
    free, held = thread.decide(), thread.decide(pending=[PendingCall("call")])
    assert isinstance(free, Ask)
    assert isinstance(held, Ask)
    assert [len(free.messages), len(held.messages)] == [4, 2]


@pytest.mark.parametrize(
    "given", [{"pending": [PendingCall("gone")]}, {"notes": [Unstored(Message("user", "note"), "gone")]}]
)
def test_what_names_no_stored_message_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(HistoryRefused, match="no message is stored under the id 'gone', which a note or a pending"):
        Thread(FIRES).append(*said("a")).decide(**given)

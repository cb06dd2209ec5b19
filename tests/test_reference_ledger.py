"""What the ledger writes down, shares and refuses."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import evolve, frozen

from tercet import (
    CHAT,
    TERCET,
    Ask,
    CounterRefused,
    HistoryRefused,
    Ledger,
    Message,
    Send,
    Summarization,
    Summary,
    ToolCall,
    Trigger,
    decide,
)
from tercet.cut import latest_cut

COUNT: Callable[[Message], int] = lambda message: len(message.content)  # noqa: E731


def said(*contents: str) -> list[Message]:
    return [Message("user", content, id=f"h{number}") for number, content in enumerate(contents)]


@frozen
class Counting:
    """A counter that keeps account of what it was asked for; all of them are equal."""

    asked: list[str]

    def __call__(self, message: Message) -> int:
        self.asked.append(message.content)
        return len(message.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counting)


class Unequal:
    """Content that cannot be compared, as an array's."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


def test_what_is_known_is_not_read_again() -> None:
    counter = Counting([])
    summarization = Summarization(TERCET, Trigger("tokens", 100), token_counter=counter)
    first = decide(summarization, said("a", "b"))
    assert isinstance(first, Send)
    second = decide(summarization, said("a", "b", "c"), ledger=first.ledger)
    assert isinstance(second, Send)
    decide(summarization, said("a", "b", "c"), ledger=second.ledger)
    assert counter.asked == ["a", "b", "c"]


def test_a_step_that_failed_is_retried_without_reading_anything_again() -> None:
    counter = Counting([])
    summarization = Summarization(TERCET, Trigger("tokens", 100), token_counter=counter)
    committed = decide(summarization, said("a"))
    assert isinstance(committed, Send)
    for _ in range(3):
        decide(summarization, said("a", "b"), ledger=committed.ledger)
    assert counter.asked == ["a", "b"]


def test_nothing_new_gives_the_very_same_ledger() -> None:
    ledger = Ledger(TERCET).extended(said("a", "b"))
    assert ledger.extended(said("a", "b")) is ledger


@pytest.mark.parametrize("kind", ["messages", "tokens"])
def test_a_ledger_of_another_counter_or_dialect_is_not_gone_on_with(kind: str) -> None:
    history = said("a" * 8, "b")
    for other in (Ledger(TERCET, COUNT), Ledger(evolve(TERCET, user=lambda text: Message("system", text)))):
        send = decide(Summarization(TERCET, Trigger(kind, 100)), history, ledger=other.extended(history))
        assert isinstance(send, Send)
        assert send.ledger is not None
        assert send.ledger.book is not other.book


def test_forks_share_what_they_have_in_common_and_nothing_else() -> None:
    trunk = Ledger(TERCET, COUNT).extended(said("a"))
    one = trunk.extended(said("a", "bb"))
    other = trunk.extended(said("a", "cccc", "d"))
    assert one.book is trunk.book
    assert other.book is not trunk.book
    assert [ledger.tokens(0) for ledger in (trunk, one, other)] == [1, 3, 6]
    assert [ledger.position("h1") for ledger in (trunk, one, other)] == [None, 1, 1]
    assert [ledger.opening for ledger in (trunk, one, other)] == [0, 0, 0]


def test_a_shorter_ledger_sees_nothing_of_what_was_written_after_it() -> None:
    history = [Message("system", id="a"), Message("system", id="b")]
    history += [Message("assistant", calls=(ToolCall("x"),), id="c"), Message("tool", answers=("x",), id="d")]
    shorter = Ledger(TERCET, lambda _: 1).extended(history[:1])
    longer = shorter.extended(history)
    assert longer.book is shorter.book
    assert (shorter.opening, shorter.tokens(0), shorter.position("b")) == (1, 1, None)
    again = shorter.extended(history[:3])
    assert again.book is longer.book
    assert again.tokens(0) == 3
    assert latest_cut(again, history[:3], 2, 1) is None
    assert again.called_back(3, 3) == []


def test_a_shorter_history_is_read_anew() -> None:
    summarization = Summarization(TERCET, Trigger("messages", 1), keep_recent=1)
    ledger = Ledger(TERCET).extended(said(*"abcdefghij"))
    other = [Message("user", "x", id="h0"), Message("user", "y", id="h1"), Message("user", "z", id="h2")]
    ask = decide(summarization, other, Summary("text", "h8"), ledger=ledger)
    assert isinstance(ask, Ask)
    assert ask.messages == tuple(other[:2])
    assert ask.answer("new").ledger is not None
    assert decide(summarization, other, Summary("text", "h8"), ledger=ask.answer("new").ledger) == ask


def test_a_copy_of_the_history_is_known_and_a_changed_one_is_not() -> None:
    history = said("a", "b")
    ledger = Ledger(TERCET, COUNT).extended(history)
    assert ledger.extended([evolve(message) for message in history]) is ledger
    changed = ledger.extended([history[0], evolve(history[1], content="long")])
    assert changed.tokens(0) == 5
    assert ledger.tokens(0) == 2


def test_messages_that_cannot_be_compared_are_read_anew() -> None:
    dialect = evolve(CHAT, texts=lambda _: [])
    first = {"role": "user", "content": Unequal()}
    ledger = Ledger(dialect).extended([first])
    assert ledger.extended([first, {"role": "user"}]).book is ledger.book
    assert ledger.extended([{"role": "user", "content": Unequal()}]).book is not ledger.book


@pytest.mark.parametrize("history", [said("a", "b"), tuple(said("a", "b"))], ids=["list", "tuple"])
def test_a_history_is_any_sequence(history: Any) -> None:
    ledger = Ledger(TERCET).extended(history)
    assert ledger.extended(history) is ledger


def test_two_messages_under_one_id_are_refused_and_both_are_named() -> None:
    history = [*said("a", "b", "c"), Message("user", "d", id="h1")]
    with pytest.raises(HistoryRefused) as refused:
        decide(Summarization(TERCET, Trigger("messages", 5)), history)
    assert str(refused.value) == (
        "messages 2 and 4 are both stored under the id 'h1'; an id must be unique in a history"
    )


def test_a_place_that_stands_for_an_id_may_not_be_anothers_id() -> None:
    with pytest.raises(HistoryRefused, match="messages 1 and 2 are both stored under the id '2'"):
        Ledger(CHAT).extended([{"role": "user", "id": "2"}, {"role": "user"}])


def test_a_message_that_its_dialect_cannot_read_is_refused() -> None:
    with pytest.raises(HistoryRefused, match=r"message 2 cannot be read in its dialect: KeyError: 'role', in \{\}"):
        Ledger(CHAT).extended([{"role": "user"}, {}])


@pytest.mark.parametrize("value", [-1, 1.0, True, None, "3", float("nan")])
def test_a_count_that_no_size_can_be_is_refused(value: Any) -> None:
    summarization = Summarization(TERCET, Trigger("tokens", 5), token_counter=lambda _: value)
    with pytest.raises(CounterRefused) as refused:
        decide(summarization, said("hello"))
    assert str(refused.value).startswith(f"token_counter returned {value!r}; it must be a whole number from 0 up, for ")
    assert "'hello'" in str(refused.value)


def test_a_counter_that_raises_is_refused_with_what_it_raised() -> None:
    def counter(message: Message) -> int:
        raise LookupError("no such word")

    with pytest.raises(CounterRefused, match=r"token_counter raised LookupError: no such word, for Message\(.*'hello'"):
        decide(Summarization(TERCET, Trigger("tokens", 5), token_counter=counter), said("hello"))


@pytest.mark.parametrize("system", [None, Message("system", "prompt")])
def test_a_count_of_what_is_not_stored_is_refused_too(system: Message | None) -> None:
    counted: Callable[[Message], int] = lambda message: 1 if message.id else -1  # noqa: E731
    summarization = Summarization(TERCET, Trigger("tokens", 5), token_counter=counted)
    with pytest.raises(CounterRefused, match="token_counter returned -1"):
        decide(summarization, said("a", "b"), Summary("text", "h0"), system)


def test_a_refusal_shows_the_beginning_of_a_long_message() -> None:
    long = said("word " * 1000)
    with pytest.raises(CounterRefused) as refused:
        Ledger(TERCET, lambda _: -1).extended(long)
    assert str(refused.value).endswith(" …")
    assert len(str(refused.value)) < 300


def test_a_refusal_spoils_no_ledger() -> None:
    strict = Ledger(TERCET, lambda message: len(message.content) or -1)
    ledger = strict.extended(said("a", "b"))
    calls = Message("assistant", "c", (ToolCall("x"),), id="h2")
    with pytest.raises(CounterRefused):
        ledger.extended([*said("a", "b"), calls, Message("tool", "", answers=("x",), id="h3")])
    mended = [*said("a", "b"), calls, Message("tool", "d", answers=("x",), id="h3")]
    assert ledger.extended(mended).tokens(0) == 4
    assert latest_cut(ledger.extended(mended), mended, 0, 1) == 2
    assert ledger.tokens(0) == 2


class Guarded(list[Message]):
    """A history of which nothing before ``first`` may be looked at any more."""

    first = 0

    def __getitem__(self, index: Any) -> Any:
        if index != slice(None, 0, None):
            assert (index.start if isinstance(index, slice) else index) >= self.first
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Message]:
        raise AssertionError("all of the history is looked at")


@pytest.mark.parametrize("limit", [1, 100], ids=["firing", "quiet"])
def test_nothing_that_the_summary_covers_is_looked_at(limit: int) -> None:
    history = Guarded(said(*"abcdefgh"))
    history += [Message("tool", "orphan", answers=("x",), id="orphan")]
    ledger = Ledger(TERCET).extended(history)
    history.append(Message("user", "new", id="new"))
    history.first = 4
    plan = decide(Summarization(TERCET, Trigger("messages", limit), 1), history, Summary("text", "h4"), ledger=ledger)
    send = plan.answer("text") if isinstance(plan, Ask) else plan
    assert send.ledger is not None
    assert send.ledger.book is ledger.book
    assert send.request[-1] is list.__getitem__(history, -1)

"""The reference and the spec's naive definitions agree on every small thread, and on every length around a bound.

The threads are all those of up to six messages of seven kinds; each is decided under every
keepRecent from 1 to 4, every stored anchor and none, past the limit and not. None is left out. What
the definitions say is worked out once for all threads that are the same to them, on a history of
blanks, so that they cannot see more than what makes those the same.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from operator import itemgetter
from typing import cast, get_args

import pytest
from attrs import evolve, frozen

from tercet import TERCET, Ask, Ledger, Send, Summarization, Summary, Trigger, decide
from tercet.bound import bounded
from tercet_spec import characters
from tercet_spec.pairs import Pairs, pair
from tercet_spec.requests import Standing, as_sent, called_back, measure, standing, summary_message, usable_cuts
from tercet_spec.vocabulary import (
    CHARACTERS_PER_TOKEN,
    LEAST_MAX_SUMMARY_TOKENS,
    Character,
    Configuration,
    Description,
    Message,
    ToolCall,
)

LONGEST = 6
KEEPS = (1, 2, 3, 4)
KINDS = (
    Message("user"),
    Message("assistant"),
    Message("assistant", calls=(ToolCall("x"),)),
    Message("assistant", calls=(ToolCall("x"), ToolCall("y"))),
    Message("assistant", calls=(ToolCall("x"), ToolCall("x"))),
    Message("tool", answers=("x",)),
    Message("tool", answers=("y",)),
)
MESSAGES = [[evolve(kind, id=f"h{position}") for kind in KINDS] for position in range(LONGEST)]
ALWAYS, NEVER = 1, 10**9
"""Limits of messages: with the system prompt, every request is past one, and none past the other."""
BEFORE, STORED, NEW = "before ", "stored", "new"
DESCRIPTION = Description("small scope", "1", capabilities=frozenset({"bound"}), before=BEFORE)
SYSTEM = Message("system", "prompt")
BESIDE = (SYSTEM, summary_message(STORED, DESCRIPTION), summary_message(NEW, DESCRIPTION))
"""What a request may hold beside the history's messages."""


@frozen
class Keepless:
    """A configuration that is never past its limit, and has no keepRecent: what is decided so holds for every one."""

    dialect = TERCET
    trigger = Trigger("messages", NEVER)
    counter = None
    max_summary_tokens = 1000
    character = "code point"
    before = BEFORE
    after = ""


FIRING = [Summarization(TERCET, Trigger("messages", ALWAYS), keep, before=BEFORE) for keep in KEEPS]
QUIET = cast("Summarization[Message]", Keepless())
STORES = [Summary(STORED, f"h{position}") for position in range(LONGEST)]

Pick = Callable[[Sequence[Message]], tuple[Message, ...]]
"""Picks some messages out of a history's, with those beside it at the end."""


def pick(positions: Sequence[int]) -> Pick:
    """Make a pick of these positions."""
    if len(positions) == 1:
        return lambda pool: (pool[positions[0]],)
    return cast("Pick", itemgetter(*positions))


@frozen
class Cut:
    """What is expected of a cut: what the compressor is given, the request that follows, the summary."""

    position: int
    given: Pick
    request: Pick
    summary: Summary


@frozen
class Case:
    """What is expected with one stored anchor or none: the request as sent, and for each keepRecent its cut."""

    stored: Summary | None
    so_far: str | None
    as_sent: Pick
    cuts: tuple[Cut | None, ...]


def cases(blanks: Sequence[Message], pairs: Pairs) -> Iterator[Case]:
    """Work out what the spec's definitions say, one anchor after the other."""
    places = {(message.id, message.content): place for place, message in enumerate([*blanks, *BESIDE])}
    always, never = (Configuration(Trigger("messages", limit), 1) for limit in (ALWAYS, NEVER))

    def request(stands: Standing | None) -> Pick:
        sent = as_sent(SYSTEM.content, blanks, pairs, stands, DESCRIPTION)
        assert measure(sent, never, DESCRIPTION) <= NEVER
        assert measure(sent, always, DESCRIPTION) > ALWAYS or not blanks
        return pick([places[message.id, message.content] for message in sent])

    @cache
    def expected(start: int, cut: int) -> Cut:
        given = (*called_back(blanks, pairs, start, cut), *range(start, cut))
        return Cut(cut, pick(given), request(Standing(NEW, cut)), Summary(NEW, f"h{cut - 1}"))

    for stored in (None, *STORES[: len(blanks)]):
        stands = standing(blanks, pairs, stored, always, DESCRIPTION)
        start = stands.start if stands else 0
        usable = [usable_cuts(blanks, pairs, start, keep) for keep in KEEPS]
        cuts = tuple(expected(start, cuts[-1]) if cuts else None for cuts in usable)
        yield Case(stored, stands.text if stands else None, request(stands), cuts)


def check(case: Case, history: Sequence[Message], pool: Sequence[Message], ledger: Ledger[Message]) -> None:
    """Decide a thread with one anchor, and compare with what is expected."""
    sent = case.as_sent(pool)
    assert is_sent(decide(QUIET, history, case.stored, SYSTEM, ledger), sent, None)
    before = None
    for firing, cut in zip(FIRING, case.cuts, strict=True):
        plan = decide(firing, history, case.stored, SYSTEM, ledger)
        if cut is None:
            assert is_sent(plan, sent, None)
            continue
        assert type(plan) is Ask
        assert (plan.cut, plan.so_far) == (cut.position, case.so_far)
        assert plan.messages == cut.given(pool)
        if cut is not before:
            before = cut
            assert is_sent(plan.as_measured, sent, None)
            assert is_sent(plan.answer(NEW), cut.request(pool), cut.summary)


def is_sent(plan: Send[Message] | Ask[Message], request: tuple[Message, ...], summary: Summary | None) -> bool:
    return type(plan) is Send and plan.request == request and plan.summary == summary


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Nothing here makes cycles."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def check_all(threads: Iterable[tuple[int, ...]]) -> int:
    """Check threads, each given by the kinds of its messages, under everything; count the decided requests."""
    known: dict[object, list[Case]] = {}
    decided = 0
    with without_garbage_collection():
        for kinds in threads:
            history = [MESSAGES[position][kind] for position, kind in enumerate(kinds)]
            pairs = pair(history)
            calls = tuple(len(message.calls) for message in history)
            same = (calls, tuple(pairs.items()))
            if same not in known:
                blanks = [Message("user", "", (ToolCall(None),) * n, (), f"h{p}") for p, n in enumerate(calls)]
                known[same] = list(cases(blanks, pairs))
            pool = [*history, *BESIDE]
            ledger = Ledger(TERCET).extended(history)
            for case in known[same]:
                check(case, history, pool, ledger)
                decided += len(KEEPS) + 1
    return decided


def test_every_thread_of_up_to_five_messages() -> None:
    shorter = (kinds for length in range(LONGEST) for kinds in product(range(len(KINDS)), repeat=length))
    assert check_all(shorter) == sum(7**length * (length + 1) * 5 for length in range(6))


@pytest.mark.parametrize("first", range(len(KINDS)))
def test_every_thread_of_six_messages_that_begins_with(first: int) -> None:
    threads = ((first, *others) for others in product(range(len(KINDS)), repeat=LONGEST - 1))
    assert check_all(threads) == 7**5 * 7 * 5


WIDTHS = "aé漢😀"
"""Characters of one to four bytes; the last is two UTF-16 units."""
HALF = "\ud83d"
AROUND = range(-3, 4)
UNITS = get_args(Character)


@pytest.mark.parametrize("unit", UNITS)
def test_the_bound_of_one_token_on_every_text_up_to_three_characters_longer(unit: Character) -> None:
    lengths = range(CHARACTERS_PER_TOKEN + AROUND.stop)
    texts = ("".join(text) for length in lengths for text in product(WIDTHS + HALF, repeat=length))
    assert all(bounded(text, 1, unit) == characters.bounded(text, 1, unit) for text in texts)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("most", [LEAST_MAX_SUMMARY_TOKENS, 1000])
def test_a_configurable_bound_on_every_length_around_it(unit: Character, most: int) -> None:
    limit = most * CHARACTERS_PER_TOKEN
    reached = set()
    for filler, end in product(WIDTHS, product(WIDTHS, repeat=3)):
        ends = "".join(end)
        for past in AROUND:
            room = limit + past - characters.length(ends, unit)
            text = filler * (room // characters.length(filler, unit)) + ends
            reached.add(characters.length(text, unit) - limit)
            assert bounded(text, most, unit) == characters.bounded(text, most, unit)
    assert reached.issuperset(AROUND)


@pytest.mark.parametrize("unit", UNITS)
def test_the_bound_on_the_first_and_last_character_of_each_width(unit: Character) -> None:
    edges = "\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"
    texts = ("".join(text) for text in product(edges, repeat=CHARACTERS_PER_TOKEN))
    assert all(bounded(text, 1, unit) == characters.bounded(text, 1, unit) for text in texts)

"""A ledger that is carried along decides as the spec's naive definitions do, however the thread came to be.

Threads grow, fork, are cut back and edited; their histories come as the same objects or as copies;
steps fail, and configurations and summaries change. Whatever ledger is at hand is handed in.
"""

from collections.abc import Sequence
from functools import partial

from attrs import define, evolve, frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tercet import TERCET, Ask, Ledger, Send, Summarization, Summary, SummaryRefused, Trigger, Unstored, decide
from tercet_spec.characters import is_blank, size
from tercet_spec.pairs import Call, pair
from tercet_spec.requests import Standing, as_bounded, as_sent, called_back, measure, opening, standing, usable_cuts
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, TokenCounter, ToolCall

BEFORE, AFTER = "before ", " after"
DESCRIPTION = Description("growth", "1", capabilities=frozenset({"bound"}), before=BEFORE, after=AFTER)
COUNTERS = (TokenCounter(), TokenCounter(2, 3))
COUNTS = {counter: partial(size, counter=counter, character="code point") for counter in COUNTERS}

IDS = st.sampled_from(["x", "y", "", None])
CONTENTS = st.sampled_from(["", "word", "é" * 30])
MESSAGES = st.one_of(
    st.builds(Message, st.just("system"), CONTENTS),
    st.builds(Message, st.sampled_from(["user", "assistant"]), CONTENTS),
    st.builds(
        Message, st.just("assistant"), CONTENTS, st.lists(st.builds(ToolCall, IDS), min_size=1, max_size=3).map(tuple)
    ),
    st.builds(Message, st.just("tool"), CONTENTS, st.just(()), st.one_of(IDS.map(lambda i: (i,)), st.tuples(IDS, IDS))),
)
TEXTS = st.sampled_from(["k", "漢" * 129, "x" * 150, " " * 128 + "late", ""])
NUMBERS = st.integers(0, 30)


@frozen
class Ways:
    """How a step is taken: its limit is set so that the request is ``past`` it by so much."""

    kind: str
    past: int
    keep_recent: int
    most: int
    counter: TokenCounter
    system: str | None
    text: str
    commits: bool
    noted: tuple[int, ...]
    waits: tuple[int, ...]

    def notes(self, history: Sequence[Message]) -> list[Note]:
        """An unstored message before each of some places."""
        places = [place % (len(history) + 1) for place in self.noted]
        return [Note(history[at - 1].id if at else None, Message("user", f"note {n}")) for n, at in enumerate(places)]

    def pending(self, history: Sequence[Message]) -> list[PendingCall]:
        """Some of the calls, of which the host still waits for the last result."""
        calls = [PendingCall(m.id or "", place) for m in history for place in range(len(m.calls))]
        return [calls[number % len(calls)] for number in self.waits if calls]

    def configuration(self, history: Sequence[Message], summary: Summary | None) -> Configuration:
        unlimited = Configuration(Trigger(self.kind, 1), self.keep_recent, self.most, self.counter)
        stands = standing(history, pair(history), summary, unlimited, DESCRIPTION)
        request = as_sent(self.system, history, pair(history), stands, DESCRIPTION, self.notes(history))
        limit = max(1, measure(request, unlimited, DESCRIPTION) - self.past)
        return evolve(unlimited, trigger=Trigger(self.kind, limit))


WAYS = st.builds(
    Ways,
    kind=st.sampled_from(["messages", "tokens"]),
    past=st.sampled_from([0, 1, 1000]),
    keep_recent=st.integers(1, 5),
    most=st.sampled_from([32, 40]),
    counter=st.sampled_from(COUNTERS),
    system=st.sampled_from([None, "", "the prompt"]),
    text=TEXTS,
    commits=st.booleans(),
    noted=st.just(()) | st.lists(st.integers(0, 30), max_size=3).map(tuple),
    waits=st.just(()) | st.lists(st.integers(0, 30), max_size=2).map(tuple),
)


@frozen
class Expected:
    """What the spec's definitions say of one request: as it is sent or, where it fires, what follows."""

    request: tuple[Message, ...]
    given: tuple[Message, ...] | None = None
    so_far: str | None = None
    follows: Send[Message] | None = None


def expected(ways: Ways, history: Sequence[Message], summary: Summary | None, configuration: Configuration) -> Expected:
    """Put the spec's definitions together, naively."""
    pairs = pair(history)
    stands = standing(history, pairs, summary, configuration, DESCRIPTION)
    start = stands.start if stands else opening(history)
    notes = ways.notes(history)
    request = as_sent(ways.system, history, pairs, stands, DESCRIPTION, notes)
    waiting = [Call(int(call.message[1:]), call.place) for call in ways.pending(history)]
    usable = usable_cuts(history, pairs, start, configuration.keep_recent, waiting)
    if measure(request, configuration, DESCRIPTION) <= configuration.trigger.limit or not usable:
        return Expected(request)
    cut = usable[-1]
    so_far = stands.text if stands else None
    back = called_back(history, pairs, start, cut) if stands else ()
    given = tuple(history[position] for position in (*back, *range(start, cut)))
    kept = as_bounded(ways.text, configuration, DESCRIPTION)
    if is_blank(kept):
        return Expected(request, given, so_far)
    after = as_sent(ways.system, history, pairs, Standing(kept, cut), DESCRIPTION, notes)
    return Expected(request, given, so_far, Send(after, Summary(kept, history[cut - 1].id or "")))


def configured(configuration: Configuration) -> Summarization[Message]:
    return Summarization(
        TERCET,
        configuration.trigger,
        configuration.keep_recent,
        configuration.max_summary_tokens,
        COUNTS[configuration.token_counter],
        before=BEFORE,
        after=AFTER,
    )


@define
class Branch:
    """A thread, and the ledger that is at hand for it."""

    history: list[Message]
    summary: Summary | None = None
    ledger: Ledger[Message] | None = None

    def copy(self) -> "Branch":
        return Branch(list(self.history), self.summary, self.ledger)


class Growth(RuleBasedStateMachine):
    """A few threads that began as one."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = [Branch([])]

    def branch(self, number: int) -> Branch:
        return self.branches[number % len(self.branches)]

    def step(self, branch: Branch, ways: Ways) -> None:
        configuration = ways.configuration(branch.history, branch.summary)
        prompt = None if ways.system is None else Message("system", ways.system)
        plan = decide(
            configured(configuration),
            branch.history,
            branch.summary,
            prompt,
            branch.ledger,
            notes=[Unstored(note.message, note.after) for note in ways.notes(branch.history)],
            pending=ways.pending(branch.history),
        )
        right = expected(ways, branch.history, branch.summary, configuration)
        if isinstance(plan, Ask):
            assert (plan.messages, plan.so_far) == (right.given, right.so_far)
            assert plan.as_measured == Send(right.request)
            if ways.commits:
                branch.ledger = plan.as_measured.ledger
            try:
                plan = plan.answer(ways.text)
            except SummaryRefused:
                assert right.follows is None
                return
            assert plan == right.follows
        else:
            assert right.given is None
            assert plan == Send(right.request)
        if ways.commits:
            branch.ledger = plan.ledger
            branch.summary = plan.summary or branch.summary

    @rule(number=NUMBERS, messages=st.lists(MESSAGES, max_size=6), ways=WAYS)
    def grow(self, number: int, messages: list[Message], ways: Ways) -> None:
        branch = self.branch(number)
        for message in messages:
            branch.history.append(evolve(message, id=f"h{len(branch.history)}"))
        self.step(branch, ways)

    @rule(number=NUMBERS)
    def fork(self, number: int) -> None:
        if len(self.branches) < 3:
            self.branches.append(self.branch(number).copy())

    @rule(number=NUMBERS, text=TEXTS, back=NUMBERS, ways=WAYS)
    def store(self, number: int, text: str, back: int, ways: Ways) -> None:
        branch = self.branch(number)
        branch.summary = Summary(text, f"h{len(branch.history) - back % (len(branch.history) + 1)}")
        self.step(branch, ways)

    @rule(number=NUMBERS, ways=WAYS)
    def copy_the_messages(self, number: int, ways: Ways) -> None:
        branch = self.branch(number)
        branch.history = [evolve(message) for message in branch.history]
        self.step(branch, ways)

    @rule(number=NUMBERS, length=NUMBERS, ways=WAYS)
    def go_back(self, number: int, length: int, ways: Ways) -> None:
        branch = self.branch(number)
        del branch.history[length:]
        branch.summary = None
        self.step(branch, evolve(ways, commits=True))  # a ledger trusts what a later summary covers

    @rule(number=NUMBERS, at=NUMBERS, message=MESSAGES, ways=WAYS)
    def edit(self, number: int, at: int, message: Message, ways: Ways) -> None:
        branch = self.branch(number)
        if at < len(branch.history):
            branch.history[at] = evolve(message, id=f"h{at}")
            branch.summary = None
            self.step(branch, evolve(ways, commits=True))


TestGrowth = Growth.TestCase
TestGrowth.settings = settings(max_examples=400, stateful_step_count=20, deadline=None)

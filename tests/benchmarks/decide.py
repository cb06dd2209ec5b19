"""What deciding one request costs, in a thread of LangChain's messages that grows by one a step.

Run ``python tests/benchmarks/decide.py``, or with ``--json``. Whatever is compared is measured in
the same loop: each round every contender takes a burst of steps in a thread of its own, one
contender after the other. Figures are medians, of the times in microseconds and of the ratios of
paired steps, in two measures:

- in a row: the steps of a burst but the first;
- after another: the first, when the processor's caches hold the data of another contender. What
  that adds is the machine's doing as much as the contender's (on a shared one, a pause of as many
  milliseconds adds as much), and it weighs most on what takes least.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from statistics import median
from time import perf_counter_ns
from typing import Any, Literal, cast, get_args

from attrs import asdict, define, field, frozen
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.runtime import Runtime

from tercet import Ask, Ledger, Send, Summarization, Summary, Trigger, decide
from tercet.integrations.langchain import LANGCHAIN

KEEP_RECENT = 20
NEVER, ALWAYS = 10**9, 1
"""Token limits that no request, and that every request, is past."""
TEXT = "The user asked for the weather in several towns, and was told that of most. " * 5
AFTER = 50
"""How many messages stand after the summary in force, at least."""
TURN = 4
"""A turn's messages: the user's, the call, its result, the answer."""
EVERY = 25
"""In a tail with an odd result, one message in so many is one."""
LATE_BY = 200
"""How many messages before a late result its call's turn begins."""
WARM_UP, BURST = 3, 5
Tail = Literal["plain", "orphan", "late result"]
"""What a thread is made of: plain turns, or now and then an odd result between them."""


def message(position: int, tail: Tail) -> BaseMessage:
    """Make the message of a position: its place in a turn or, now and then, an odd result."""
    stored_id, text = f"m{position}", f"Message {position}. ".ljust(120, ".")
    if tail != "plain" and position % EVERY == 0:
        answered = "never called" if tail == "orphan" else f"call {(position - LATE_BY) // TURN}"
        return ToolMessage(text, tool_call_id=answered, id=stored_id)
    turn, place = divmod(position, TURN)
    if place == 1:
        call = {"name": "weather", "args": {"town": f"town {turn}", "days": 3}, "id": f"call {turn}"}
        return AIMessage("", tool_calls=[call], id=stored_id)
    if place == 2:
        return ToolMessage(text, tool_call_id=f"call {turn}", id=stored_id)
    return HumanMessage(text, id=stored_id) if place == 0 else AIMessage(text, id=stored_id)


class Growing:
    """A history that grows by one message a step, out of a pool, and a summary that may be in force for it.

    The summary ends with a turn and leaves at least ``AFTER`` messages.
    """

    def __init__(self, pool: Sequence[BaseMessage], size: int) -> None:
        self.pool = pool
        self.size = size
        self.messages = list(pool[:size])
        self.summary = self.summarized()

    def shrink(self) -> None:
        """Begin again with the size at first."""
        self.messages = list(self.pool[: self.size])

    def grow(self) -> None:
        """Append the next message."""
        self.messages.append(self.pool[len(self.messages)])
        self.summary = self.summarized()

    def summarized(self) -> Summary:
        """Make the summary."""
        covered = (len(self.messages) - AFTER) // TURN * TURN
        return Summary(TEXT, self.messages[covered - 1].id or "")


@define
class Tercet:
    """The reference, its ledger carried on from step to step."""

    summarization: Summarization[BaseMessage]
    ledger: Ledger[BaseMessage] | None = None

    def decide(self, history: Sequence[BaseMessage], summary: Summary | None = None) -> Send[BaseMessage]:
        """Decide one request, the compressor's answer being at hand."""
        plan = decide(self.summarization, history, summary, ledger=self.ledger)
        if isinstance(plan, Ask):
            plan = plan.answer(TEXT)
        self.ledger = plan.ledger
        return plan


def tercet(limit: int) -> Tercet:
    """Set the reference up with a token trigger and its default counter."""
    return Tercet(Summarization(LANGCHAIN, Trigger("tokens", limit), keep_recent=KEEP_RECENT))


def langchain(limit: int, **settings: Any) -> SummarizationMiddleware[Any, Any]:
    """Set LangChain's middleware up with a token trigger and its default counter."""
    model = FakeListChatModel(responses=[TEXT])
    return SummarizationMiddleware(model, trigger=("tokens", limit), keep=("messages", KEEP_RECENT), **settings)


@frozen
class Contender:
    """Something that decides a request in a growing thread of its own, and readies itself after a burst."""

    thread: Growing
    decide: Callable[[Growing], object]
    ready: Callable[[], None] = lambda: None


@frozen
class Times:
    """Nanoseconds of the first steps of each burst, and of those that followed in a row."""

    first: list[int] = field(factory=list)
    later: list[int] = field(factory=list)


def measured(contenders: Mapping[str, Contender], rounds: int) -> dict[str, Times]:
    """Let every contender take a burst of steps each round, one after the other, and time each step.

    A round begins with garbage collection, and with a burst that is not timed: so all contenders
    come after another one, and none of them straight after the collection.
    """
    times = {name: Times() for name in contenders}
    gc.collect()
    gc.freeze()
    gc.disable()
    for number in range(WARM_UP + rounds):
        gc.collect(0)
        burst(list(contenders.values())[-1], Times())
        for name, contender in contenders.items():
            burst(contender, times[name] if number >= WARM_UP else Times())
    gc.enable()
    gc.unfreeze()
    return times


def burst(contender: Contender, times: Times) -> None:
    """Let a contender take a burst of steps, and time each."""
    thread, decides = contender.thread, contender.decide
    for step in range(BURST):
        thread.grow()
        begun = perf_counter_ns()
        decides(thread)
        took = perf_counter_ns() - begun
        (times.later if step else times.first).append(took)
    contender.ready()


@frozen
class Comparison:
    """Medians of two contenders in microseconds, and the median ratio of the second to the first."""

    microseconds: tuple[float, float]
    ratio: float
    met: bool | None


@frozen
class Figure:
    """Two contenders of one loop: in a row, and in their first step after another contender ran."""

    case: str
    messages: str
    step: str
    contenders: tuple[str, str]
    in_a_row: Comparison
    after_another: Comparison
    target: str


def compared(first: Sequence[int], second: Sequence[int], met: Callable[[float], bool | None]) -> Comparison:
    """Compare two contenders' times, pair by pair."""
    ratio = median(b / a for a, b in zip(first, second, strict=True))
    return Comparison((median(first) / 1000, median(second) / 1000), ratio, met(ratio))


def figure(
    case: tuple[str, str, str],
    times: Mapping[str, Times],
    names: tuple[str, str],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """Compare two contenders of one loop with a target for their ratio, if there is one."""

    def met(ratio: float) -> bool | None:
        if at_least is not None:
            return ratio >= at_least
        return None if at_most is None else ratio <= at_most

    first, second = (times[name] for name in names)
    target = f"at least {at_least:g}" if at_least else f"at most {at_most:g}" if at_most else ""
    return Figure(
        *case, names, compared(first.later, second.later, met), compared(first.first, second.first, met), target
    )


def against_langchain(size: int, limit: int, rounds: int) -> list[Figure]:
    """Compare Tercet with LangChain's middleware, set up in two ways, with no summary in force."""
    reference = tercet(limit)
    trimming = langchain(limit)
    plain = langchain(limit, trim_tokens_to_summarize=None, summarizer=lambda messages: TEXT)
    fires = limit == ALWAYS
    pool = [message(position, "plain") for position in range(size + BURST)]

    def hooked(middleware: SummarizationMiddleware[Any, Any]) -> Contender:
        thread = Growing(pool, size)
        runtime: Runtime[Any] = Runtime()
        return Contender(
            thread,
            lambda thread: middleware.before_model(cast("Any", {"messages": thread.messages}), runtime),
            thread.shrink,
        )

    def begin_again() -> None:
        thread.shrink()
        reference.ledger = None
        reference.decide(thread.messages)

    thread = Growing(pool, size)
    contenders = {
        "Tercet": Contender(thread, lambda thread: reference.decide(thread.messages).summary, begin_again),
        "LangChain": hooked(trimming),
        "LangChain, no trim": hooked(plain),
    }
    assert all((contender.decide(contender.thread) is not None) == fires for contender in contenders.values())
    times = measured(contenders, rounds)
    target = (20.0 if fires else 50.0) if size == 1000 else None
    case = ("no summary", f"{size}", "firing" if fires else "quiet")
    return [figure(case, times, ("Tercet", name), at_least=target) for name in list(contenders)[1:]]


def by_what_is_covered(sizes: Sequence[int], tail: Tail, limit: int, rounds: int) -> list[Figure]:
    """Compare Tercet with itself on longer histories, with a summary in force and ``AFTER`` messages after it."""

    pool = [message(position, tail) for position in range(max(sizes) + 2 * BURST * (WARM_UP + rounds))]

    def contender(size: int) -> Contender:
        reference = tercet(limit)
        return Contender(Growing(pool, size), lambda thread: reference.decide(thread.messages, thread.summary))

    contenders = {f"{size}": contender(size) for size in sizes}
    requests = [contender.decide(contender.thread) for contender in contenders.values()]
    assert all(isinstance(send, Send) and (send.summary is not None) == (limit == ALWAYS) for send in requests)
    assert len({len(send.request) for send in requests if isinstance(send, Send)}) == 1
    times = measured(contenders, rounds)
    shortest, *longer = contenders
    case = f"summary, tail {'plain' if tail == 'plain' else f'with {tail}'}"
    step = "firing" if limit == ALWAYS else "quiet"
    return [
        figure((case, f"{shortest} / {name}", step), times, (shortest, name), at_most=1.5 if name == "100000" else None)
        for name in longer
    ]


def figures(rounds: int) -> list[Figure]:
    """Take all measurements."""
    taken: list[Figure] = []
    for size in (100, 1_000, 10_000):
        for limit in (NEVER, ALWAYS):
            taken += against_langchain(size, limit, rounds if size <= 1_000 else max(rounds // 10, 5))
    for tail in get_args(Tail):
        for limit in (NEVER, ALWAYS):
            taken += by_what_is_covered((1_000, 10_000, 100_000), tail, limit, rounds)
    return taken


def cells(comparison: Comparison) -> tuple[str, str]:
    """Write a comparison: both medians, and the ratio with what came of its target."""
    first, second = comparison.microseconds
    met = {None: "", True: " met", False: " MISSED"}[comparison.met]
    return f"{first:.1f} / {second:.1f}", f"{comparison.ratio:.2f}{met}"


def table(taken: Sequence[Figure]) -> str:
    """Write the figures as a table."""
    heads = ("case", "messages", "step", "of", "in a row, µs", "ratio", "after another, µs", "ratio", "target")
    rows = [
        (
            *(figure.case, figure.messages, figure.step, " / ".join(figure.contenders)),
            *(*cells(figure.in_a_row), *cells(figure.after_another), figure.target),
        )
        for figure in taken
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (heads, *rows)
    )


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")
    parser.add_argument("--rounds", type=int, default=200, help="rounds of each loop (default: 200)")
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error("rounds must be at least 1")
    taken = figures(chosen.rounds)
    if chosen.json:
        json.dump([asdict(figure) for figure in taken], sys.stdout, indent=1)
        print()
    else:
        print(f"Python {sys.version.split()[0]}, langchain {version('langchain')}, {chosen.rounds} rounds")
        print(table(taken))


if __name__ == "__main__":
    main()

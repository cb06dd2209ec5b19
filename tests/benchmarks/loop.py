"""What it costs the loop to decide its next action, beside what the hooks themselves cost.

Run ``python tests/benchmarks/loop.py``, or with ``--json``. Threads of so many messages take turns of two
model steps and a tool call, so many by one thread and then by the next in each round; the first of
them are not counted, for they pay for what the other threads left in the processor's caches. Each of
a turn's four decisions is timed: the first, after a model's answer that calls a tool, after the tool's
outcome, and after the last answer; and in each the hooks that it asks. Figures are medians in
microseconds. The loop's own share is what the hooks leave, with what it costs to time them, and the
target is for it.

- bare: no middleware;
- summary: summarization alone, with a summary in force that leaves ``AFTER`` messages when a turn begins;
- hooks: three middleware that each have all five hooks, which change nothing.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter_ns
from typing import Any, Literal, get_args

from attrs import Factory, asdict, define, evolve, field, frozen

from tercet import (
    SUMMARIZATION,
    SUMMARY_KEY,
    TERCET,
    TERCET_FORMS,
    Agent,
    Finished,
    Message,
    Middleware,
    Next,
    Passed,
    Stack,
    Success,
    Summarization,
    Summary,
    Thread,
    Tool,
    ToolCall,
    Trigger,
    Usage,
    begin,
)
from tercet.loop import Run
from tercet.middleware import HOOKS

SIZES = (10, 1_000, 100_000)
AT_MOST = 20.0
"""The target for the loop's own share of a decision, in microseconds."""
AFTER = 6
TURNS = 20
"""So many turns one thread takes in a round."""
WARM_UP = 8
"""So many of them are not counted."""
NEVER = 10**9
DECISIONS = ("first", "after an answer that calls", "after a tool", "after the last answer")
Case = Literal["bare", "summary", "hooks"]


def passing(name: str) -> Middleware[Message]:
    """Make a middleware that has all hooks and changes nothing."""
    return Middleware(
        name,
        before_agent=lambda incoming: Passed(),
        section=lambda state: "A section.",
        wrap_model=lambda call: call.results[-1] if call.results else Next(),
        wrap_tool=lambda use: use.outcomes[-1] if use.outcomes else Next(),
        after_agent=lambda outgoing: Passed(),
    )


def timing(middleware: Middleware[Message], spent: list[int]) -> Middleware[Message]:
    """Make the same middleware again, whose hooks note the nanoseconds that they take."""

    def timed(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def ask(seen: Any) -> Any:
            begun = perf_counter_ns()
            move = hook(seen)
            spent.append(perf_counter_ns() - begun)
            return move

        return ask

    hooks = {name: getattr(middleware, name) for name in HOOKS}
    changes: dict[str, Any] = {name: timed(hook) for name, hook in hooks.items() if hook is not None}
    return evolve(middleware, **changes)


def stack(case: Case) -> tuple[Middleware[Message], ...]:
    """Put a case's middleware together."""
    return {"bare": (), "summary": (SUMMARIZATION,), "hooks": tuple(map(passing, "abc"))}[case]


def thread(size: int) -> Thread[Message]:
    """Make a thread of so many messages."""
    messages = [Message("assistant" if number % 2 else "user", "Hello.", id=f"m{number}") for number in range(size)]
    return Thread(Summarization(TERCET, Trigger("messages", NEVER))).append(*messages)


def ready(case: Case, thread: Thread[Message]) -> Thread[Message]:
    """Ready a thread for a turn: where the case is of a summary, it covers all but the last messages."""
    if case != "summary":
        return thread
    through = thread.history[len(thread.history) - AFTER - 1].id or ""
    return evolve(thread, state={SUMMARY_KEY: Summary("What was said.", through)})


@frozen
class Figure:
    """Medians of one decision in microseconds: all of it, the hooks alone, the loop's own share."""

    case: Case
    messages: int
    decision: str
    total: float
    hooks: float
    own: float
    met: bool = field(init=False)

    @met.default
    def is_met(self) -> bool:
        return self.own < AT_MOST


def decisions(agent: Agent[Message], thread: Thread[Message], turn: int) -> tuple[Callable[[Any], Run[Message]], ...]:
    """List a turn's decisions: how it begins, and what is told of it then."""
    question = Message("user", "And then?", id=f"question {turn}")
    calling = Message("assistant", "", (ToolCall(f"call {turn}", "look"),), id=f"calling {turn}")
    last, usage, outcome = Message("assistant", "Done.", id=f"last {turn}"), Usage(1, 100), Success("Seen.")
    return (
        lambda _: begin(agent, thread, question),
        lambda run: run.answered(calling, usage),
        lambda run: run.returned(outcome),
        lambda run: run.answered(last, usage),
    )


@define
class Growing:
    """A thread of a case that grows by a turn at a time, and the nanoseconds of its decisions and of their hooks."""

    case: Case
    size: int
    spent: list[int] = Factory(list)
    agent: Agent[Message] = field(init=False)
    thread: Thread[Message] = field(init=False)
    times: dict[str, list[tuple[int, int]]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        wrapped = tuple(timing(middleware, self.spent) for middleware in stack(self.case))
        self.agent = Agent(TERCET_FORMS, Stack(wrapped), (Tool("look"),), prompt="You are a careful assistant.")
        self.thread = thread(self.size)
        self.times = {name: [] for name in DECISIONS}

    def take(self, turn: int, counts: bool) -> None:
        """Take a turn, and time its decisions; keep the times where it counts."""
        run = None
        for name, decide in zip(DECISIONS, decisions(self.agent, ready(self.case, self.thread), turn), strict=True):
            self.spent.clear()
            begun = perf_counter_ns()
            run = decide(run)
            took = perf_counter_ns() - begun
            if counts:
                self.times[name].append((took, sum(self.spent)))
        assert run is not None
        assert isinstance(run.action, Finished)
        self.thread = run.thread

    def figures(self) -> list[Figure]:
        """Make the figures of what was timed after the warm-up."""
        return [
            Figure(
                *(self.case, self.size, name),
                median(took for took, _ in times) / 1000,
                median(hooks for _, hooks in times) / 1000,
                median(took - hooks for took, hooks in times) / 1000,
            )
            for name, times in self.times.items()
        ]


def figures(rounds: int) -> list[Figure]:
    """Take all measurements, one thread after the other in each round."""
    cases = [Growing(case, size) for case in get_args(Case) for size in SIZES]
    gc.collect()
    gc.freeze()
    gc.disable()
    for first in range(0, rounds * TURNS, TURNS):
        for case in cases:
            gc.collect(0)
            for turn in range(TURNS):
                case.take(first + turn, turn >= WARM_UP)
    gc.enable()
    gc.unfreeze()
    return [figure for case in cases for figure in case.figures()]


def table(taken: Sequence[Figure]) -> str:
    """Write the figures as a table."""
    heads = ("case", "messages", "decision", "total, µs", "hooks, µs", "own, µs", f"under {AT_MOST:g}")
    rows = [
        (
            *(figure.case, str(figure.messages), figure.decision),
            *(f"{each:.1f}" for each in (figure.total, figure.hooks, figure.own)),
            "met" if figure.met else "MISSED",
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
    parser.add_argument("--rounds", type=int, default=40, help=f"each of {TURNS} turns of each thread (default: 40)")
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error("rounds must be at least 1")
    taken = figures(chosen.rounds)
    if chosen.json:
        json.dump([asdict(figure) for figure in taken], sys.stdout, indent=1)
        print()
    else:
        print(f"Python {sys.version.split()[0]}, {chosen.rounds} rounds")
        print(table(taken))


if __name__ == "__main__":
    main()

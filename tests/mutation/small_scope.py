"""All that the reference decides in an exhaustive small scope, to tell a mutant of it from the original.

Threads are walked through: each walk is a way through a tree of moves, and all that go on from one
thread share its ledger's book, as forks do. After each move decisions are asked for, with and
without what a request may hold beside the history.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from attrs import evolve, frozen

from tercet_spec.vocabulary import Message, PendingCall, ToolCall, Trigger

LETTERS = {
    "u": Message("user", "hello"),
    "w": Message("user", "a long message of more tokens"),
    "s": Message("system", "a rule"),
    "a": Message("assistant", "", (ToolCall("x"),)),
    "t": Message("tool", "done", answers=("x",)),
}
"""What is said, each with the letter that a walk has for it."""
MOVES = (*LETTERS, "step", "recount", "drop")
"""To say something; to take a step; to be configured otherwise; to lose the last message to another party's edit."""
ROOTS = ((), ("s", "u"), ("a", "w", "u", "step"), ("recount", "a", "w", "w", "step"))
"""Where walks begin; the last two have fired, and left a call open."""
DEPTH = 4
"""How many moves they go on for."""
PROMPT = Message("system", "prompt")
ANSWER = Message("assistant", "ok")
NOTES = tuple(Message("user", f"note {number}") for number in range(3))


def five(_: Message) -> int:
    return 5


def of_content(message: Message) -> int:
    return 1 + len(message.content)


WAYS = ((Trigger("messages", 3), None), (Trigger("tokens", 20), of_content), (Trigger("tokens", 20), five))
"""The triggers of a thread, and their counters, in turn."""


@frozen
class Walker:
    """Walks with one copy of the package, the original or a mutant."""

    tercet: ModuleType

    def summarization(self, way: int) -> Any:
        trigger, counter = WAYS[way % len(WAYS)]
        made = self.tercet.Summarization(self.tercet.TERCET, trigger, keep_recent=1, before="", after=".")
        return made if counter is None else evolve(made, token_counter=counter)

    def moved(self, thread: Any, way: int, move: str) -> tuple[Any, int]:
        """Make one move."""
        history = thread.history
        match move:
            case "step":
                plan = thread.decide()
                if isinstance(plan, self.tercet.Ask):
                    plan = plan.answer(f"S{len(history)}")
                return thread.commit(plan, evolve(ANSWER, id=f"h{len(history)}")), way
            case "recount":
                return evolve(thread, summarization=self.summarization(way + 1)), way + 1
            case "drop":
                return thread.edited(history[:-1]), way
        return thread.append(evolve(LETTERS[move], id=f"h{len(history)}")), way

    def walks(self) -> Iterator[tuple[str, str, Any]]:
        """Give what is decided on every walk: the walk, what was asked, the outcome."""
        for root in ROOTS:
            thread, way = self.tercet.Thread(self.summarization(0)), 0
            for move in root:
                thread, way = self.moved(thread, way, move)
            yield from self.go_on(thread, way, root, DEPTH)

    def go_on(self, thread: Any, way: int, walk: tuple[str, ...], depth: int) -> Iterator[tuple[str, str, Any]]:
        for asked, outcome in self.decisions(thread):
            yield " ".join(walk), asked, outcome
        for move in MOVES if depth else ():
            yield from self.go_on(*self.moved(thread, way, move), (*walk, move), depth - 1)

    def decisions(self, thread: Any) -> Iterator[tuple[str, Any]]:
        """Ask for what a thread would send."""
        ids = [message.id for message in thread.history]
        yield "nothing else", self.outcome(thread.decide)
        for place in ids[-3:] or (None,):
            notes = [self.tercet.Unstored(note, after) for note, after in zip(NOTES, (place, None, place), strict=True)]
            yield f"a prompt, and notes after {place}", self.outcome(partial(thread.decide, PROMPT, notes))
        for message in thread.history[-3:]:
            if message.calls:
                yield (
                    f"pending {message.id}",
                    self.outcome(partial(thread.decide, pending=[PendingCall(message.id, 0)])),
                )

    def outcome(self, decide: Callable[[], Any]) -> Any:
        """Write down what was decided."""
        try:
            plan = decide()
            if isinstance(plan, self.tercet.Send):
                return self.sent(plan)
            return named(plan.messages), plan.so_far, self.sent(plan.as_measured), self.sent(plan.answer("new"))
        except Exception as error:
            return type(error).__name__

    def sent(self, send: Any) -> Any:
        summary = send.summary
        return named(send.request), None if summary is None else (summary.text, summary.through)


def named(messages: Sequence[Message]) -> tuple[str, ...]:
    return tuple(message.id or message.content for message in messages)

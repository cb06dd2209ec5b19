"""Plays the compressor and the model by a scenario's script, and records every call."""

from collections.abc import Callable, Sequence
from typing import NoReturn

from tercet_conformance.garbage import Garbage, as_messages
from tercet_conformance.interface import Cancelled, CompressorFailed, ModelFailed, Suspended
from tercet_spec.scenarios import Answer, Reply, reply_text
from tercet_spec.trace import Event, Failure, Requested, Summarized
from tercet_spec.vocabulary import Message


class ScriptedHost:
    """Plays the compressor and the model by a scenario's script, and records every call.

    It is one run's own, and in a run it answers only while a step is under way: what a step leaves
    behind must not be taken for a part of a later one. ``tell`` is told of what is refused after the run.
    """

    is_asked = True
    tell: Callable[[str], object] | None = None

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.replies: list[Reply] = []
        self.answers: list[Answer] = []
        self.asked = 0
        self.answered = 0
        self.failures = 0
        self.usage = 0
        self.garbage: Garbage | None = None
        self.last_request: tuple[Message, ...] = ()

    def summarize(self, given: Sequence[Message], so_far: str | None = None) -> str:
        """Answer as the compressor, by the script."""
        given = self.accepted(given, "host.summarize")
        if so_far is not None and not isinstance(so_far, str):
            self.refuse(Garbage(f"host.summarize was given {so_far!r} as the summary so far; it is a text or None"))
        self.asked += 1
        self.usage = self.weight()
        reply = self.replies.pop(0) if self.replies else Reply()
        text = None if reply.failure else reply_text(reply, self.asked)
        self.events.append(Summarized(tuple(given), so_far, text, reply.failure, self.usage))
        if text is None:
            self.fail(reply.failure, CompressorFailed("the compressor failed, as scripted"))
        if reply.blank is not None:
            self.failures += 1
        return text

    def answer(self, request: Sequence[Message]) -> Message:
        """Answer as the model, by the script."""
        request = self.last_request = self.accepted(request, "host.answer", self.last_request)
        self.answered += 1
        self.usage = self.weight()
        answer = self.answers.pop(0) if self.answers else Answer()
        message = None if answer.failure else answer.message or Message("assistant", f"n{self.answered}z")
        self.events.append(Requested(tuple(request), message, answer.failure, self.usage))
        if message is None:
            self.fail(answer.failure, ModelFailed("the model failed, as scripted"))
        return message

    def accepted(self, messages: object, what: str, known: Sequence[Message] = ()) -> tuple[Message, ...]:
        """Take what the implementation hands over; it is told at once where that cannot be read."""
        if not self.is_asked:
            self.refuse(Garbage(f"{what} was called when no step was under way; it is called within step only"))
        try:
            return as_messages(messages, f"{what} was given", known)
        except Garbage as garbage:
            self.refuse(garbage)

    def refuse(self, garbage: Garbage) -> NoReturn:
        """Remember what cannot be read, in case the implementation swallows the error."""
        self.garbage = garbage
        if self.tell is not None:
            self.tell(str(garbage))
        raise garbage

    def weight(self) -> int:
        """Say what a call reports: each of twenty in a row another power of four, so that a sum tells them apart."""
        return 1 << 2 * ((self.asked + self.answered) % 20)

    def fail(self, failure: Failure | None, error: Exception) -> NoReturn:
        """Raise what a scripted failure is."""
        self.failures += 1
        if failure == "cancelled":
            raise Cancelled
        raise Suspended if failure == "suspended" else error

"""Serves an implementation of this language over the wire, as a program of any other language does.

Run ``python -m tercet_conformance.wire module:factory``.
"""

import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, TypeVar

from attrs import define, field, fields_dict

from tercet_conformance.driver import said
from tercet_conformance.interface import (
    Cancelled,
    CompressorFailed,
    FullSession,
    Implementation,
    ModelFailed,
    Refused,
    StepEnd,
    Suspended,
    Unsupported,
)
from tercet_conformance.wire.lines import line_of, object_of, value_of
from tercet_spec import wire
from tercet_spec.trace import Outcome
from tercet_spec.vocabulary import Description, Message

Answered = TypeVar("Answered", wire.Text, wire.Said)
OUTCOMES: tuple[tuple[tuple[type[BaseException], ...], Outcome], ...] = (
    ((CompressorFailed, ModelFailed), "failed"),
    ((Suspended,), "suspended"),
    ((Cancelled,), "cancelled"),
)


@define
class Line:
    """The wire, from the process's end."""

    reading: BinaryIO
    writing: BinaryIO
    asks: int = 0

    def write(self, envelope: dict[str, object]) -> None:
        """Write a line."""
        self.writing.write(line_of(envelope))
        self.writing.flush()

    def read(self) -> dict[str, Any] | None:
        """Read a line; nothing at the end of the input."""
        line = self.reading.readline()
        return object_of(line) if line else None

    def ask(self, session: int, question: wire.QuestionName, fields: dict[str, object]) -> dict[str, Any]:
        """Ask the suite, and wait for its answer."""
        self.asks += 1
        self.write({"ask": self.asks, "session": session, "question": question, **fields})
        told = self.read()
        if told is None:
            raise EOFError("the input ended while a question was open")
        return told


@define
class RemoteHost:
    """The suite, as an implementation sees it from its own process."""

    line: Line
    session: int
    usage: int = 0
    failures: int = 0
    request: tuple[Message, ...] = ()

    def summarize(self, given: Sequence[Message], so_far: str | None = None) -> str:
        """Ask the compressor."""
        told = self.line.ask(self.session, "summarize", {"given": tuple(given), "so_far": so_far})
        return self.taken(told, wire.Text, CompressorFailed("the compressor failed, as scripted")).text

    def answer(self, request: Sequence[Message]) -> Message:
        """Ask the model."""
        before, self.request = self.request, tuple(request)
        told = self.line.ask(self.session, "answer", {"request": wire.splice_of(before, self.request)})
        return self.taken(told, wire.Said, ModelFailed("the model failed, as scripted")).message

    def taken(self, told: dict[str, Any], kind: type[Answered], failed: Exception) -> Answered:
        """Take an answer; raises what a failure is."""
        if "failed" in told:
            failure = value_of(told["failed"], wire.Failed, "failed")
            self.usage = failure.usage
            self.failures += 1
            if failure.failure == "cancelled":
                raise Cancelled
            raise Suspended if failure.failure == "suspended" else failed
        answered = value_of(told["answered"], kind, "answered")
        self.usage = answered.usage
        return answered


@define
class Served:
    """A thread that is served, and what was shown of it last."""

    session: FullSession
    host: RemoteHost
    history: tuple[Message, ...] = ()

    def shown(self) -> wire.Shown:
        """Show the thread."""
        state = self.session.state()
        before, self.history = self.history, tuple(state.history)
        return wire.Shown(wire.splice_of(before, self.history), state.summary, state.usage, tuple(state.warnings))

    def step(self, call: wire.Step) -> wire.Ended:
        """Take a step; a failure of the host's may pass through it, as it is or as another error."""
        self.host.failures = 0
        try:
            end = self.session.step(call.system, call.notes, call.pending)
        except Unsupported:
            raise
        except BaseException as error:
            passed = next((outcome for kinds, outcome in OUTCOMES if isinstance(error, kinds)), None)
            if passed is None and not (self.host.failures and isinstance(error, Exception)):
                raise
            end = StepEnd(passed or "failed")
        return wire.Ended(end.outcome, self.shown(), end.answer_id, end.attempt)

    def called(self, call: wire.Call) -> wire.Returned:
        """Make one call."""
        session = self.session
        match call:
            case wire.Append(messages):
                return wire.Stored(tuple(session.append(messages)), self.shown())
            case wire.Step():
                return self.step(call)
            case wire.Configure(configuration):
                session.configure(configuration)
            case wire.BeginTurn():
                session.begin_turn()
            case wire.EndTurn(blocked):
                session.end_turn(blocked)
            case wire.Checkpoint():
                return wire.PutBy(session.checkpoint(), self.shown())
            case wire.Restore(checkpoint):
                session.restore(checkpoint)
            case wire.Edit(history):
                session.edit(wire.spliced(self.history, history))
            case wire.Close():
                close = getattr(session, "close", None)
                if close is not None:
                    close()
                return wire.Closed()
        return wire.Changed(self.shown())


@define
class Server:
    """An implementation that is served until the input ends."""

    implementation: Implementation
    line: Line
    sessions: dict[int, Served] = field(factory=dict)

    def serve(self) -> None:
        """Answer calls until there are no more."""
        while (told := self.line.read()) is not None:
            try:
                envelope: dict[str, object] = {"returned": self.returned(told)}
            except Refused as refused:
                envelope = {"refused": refused.problems}
            except Unsupported as unsupported:
                envelope = {"unsupported": unsupported.reason}
            except (Exception, Cancelled) as error:
                envelope = {"raised": said(error)}
            self.line.write({"id": told["id"], **envelope})

    def returned(self, told: dict[str, Any]) -> wire.Returned:
        """Make one call."""
        name: wire.CallName = told["call"]
        call = value_of(told, wire.CALLS[name], name)
        if isinstance(call, wire.Hello):
            return introduction(self.implementation.describe())
        number = told["session"]
        if isinstance(call, wire.Open):
            host = RemoteHost(self.line, number)
            self.sessions[number] = served = Served(self.implementation.open(call.configuration, host), host)  # type: ignore[arg-type]
            return wire.Changed(served.shown())
        served = self.sessions[number]
        if isinstance(call, wire.Close):
            del self.sessions[number]
        return served.called(call)


def introduction(description: Description) -> wire.Introduction:
    """Say what a description says."""
    said_of_it = {name: getattr(description, name) for name in fields_dict(Description)}
    said_of_it["capabilities"] = tuple(sorted(description.capabilities))
    return wire.Introduction(wire=wire.VERSION, **said_of_it)


def serve(implementation: Implementation) -> None:
    """Serve an implementation over stdin and stdout; what it prints goes to stderr."""
    line = Line(sys.stdin.buffer, sys.stdout.buffer)
    sys.stdout = sys.stderr
    Server(implementation, line).serve()

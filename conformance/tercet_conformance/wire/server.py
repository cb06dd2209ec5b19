"""Serves an implementation of this language over the wire, as a program of any other language does.

Run ``python -m tercet_conformance.wire module:factory``.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO, Generic, TypeVar

from attrs import define, field, fields_dict

from tercet_conformance.driver import said
from tercet_conformance.interface import (
    Cancelled,
    CompressorFailed,
    FullSession,
    Implementation,
    Loop,
    ModelFailed,
    Refused,
    RunEnd,
    StepEnd,
    Suspended,
    Unsupported,
)
from tercet_conformance.wire.lines import fields_of, line_of, object_of, value_of
from tercet_spec import wire
from tercet_spec.agents import ModelMove, Passed, Request, Response, Result, ToolMove
from tercet_spec.trace import Outcome
from tercet_spec.vocabulary import Description, Message, ToolCall, Update

Answered = TypeVar("Answered", bound=wire.Answered)
Counted = TypeVar("Counted", wire.Text, wire.Said)
Asked = TypeVar("Asked", FullSession, Loop)
MODEL = "the model failed, as scripted"
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
    """The suite, as an implementation sees it from its own process.

    ``failures`` counts what a step or a run may fail after, and ``questions`` those since a run last went on.
    """

    line: Line
    session: int
    usage: int = 0
    failures: int = 0
    questions: int = 0
    request: tuple[Message, ...] = ()

    def summarize(self, given: Sequence[Message], so_far: str | None = None) -> str:
        """Ask the compressor."""
        asked = wire.Summarize(tuple(given), so_far)
        return self.counted("summarize", asked, wire.Text, CompressorFailed("the compressor failed, as scripted")).text

    def answer(self, request: Sequence[Message]) -> Message:
        """Ask the model."""
        before, self.request = self.request, tuple(request)
        asked = wire.Ask(wire.splice_of(before, self.request))
        return self.counted("answer", asked, wire.Said, ModelFailed(MODEL)).message

    def counted(
        self, name: wire.QuestionName, question: wire.Question, kind: type[Counted], failed: Exception
    ) -> Counted:
        """Ask for what costs tokens; raises what a failure is."""
        told = self.line.ask(self.session, name, fields_of(question))
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
class RemoteLoopHost(RemoteHost):
    """The suite, as an agent's loop sees it from its own process.

    ``requests`` are the messages of the last request that each model wrapper, or the model (``None``), was shown.
    """

    requests: dict[str | None, tuple[Message, ...]] = field(factory=dict)

    def before_agent(self, middleware: str, message: Message, entries: Update) -> Passed:
        """Ask a hook that sees the input."""
        passed = self.told("before_agent", wire.BeforeAgent(middleware, message, tuple(entries)), Passed)
        self.may_end(passed.blocked, passed.update)
        return passed

    def after_agent(self, middleware: str, message: Message, entries: Update) -> Passed:
        """Ask a hook that sees the output."""
        passed = self.told("after_agent", wire.AfterAgent(middleware, message, tuple(entries)), Passed)
        self.may_end(passed.blocked, passed.update)
        return passed

    def section(self, middleware: str, entries: Update) -> str | None:
        """Ask for a prompt section."""
        text = self.told("section", wire.AskSection(middleware, tuple(entries)), wire.Section).text
        self.may_end(text is None)
        return text

    def wrap_model(
        self, middleware: str, request: Request, responses: Sequence[Response], replies: Sequence[str], entries: Update
    ) -> ModelMove:
        """Ask a model wrapper."""
        asked = wire.WrapModel(
            middleware, self.change(middleware, request), tuple(responses), tuple(replies), tuple(entries)
        )
        wrapped = self.told("wrap_model", asked, wire.Wrapped)
        response, change = wrapped.response, wrapped.request
        self.questions += wrapped.question is not None
        self.may_end(response is not None and response.message is None, response.update if response else ())
        if change is None:
            return ModelMove(None, response, wrapped.question)
        messages = wire.spliced(tuple(request.messages), change.messages)
        return ModelMove(Request(change.system, messages, change.tools))

    def ask_model(self, request: Request) -> Message:
        """Ask the model."""
        return self.counted(
            "ask_model", wire.AskModel(self.change(None, request)), wire.Said, ModelFailed(MODEL)
        ).message

    def wrap_tool(
        self, middleware: str, call: ToolCall, approved: bool, results: Sequence[Result], entries: Update
    ) -> ToolMove:
        """Ask a tool wrapper."""
        asked = wire.WrapTool(middleware, call, approved, tuple(results), tuple(entries))
        move = self.told("wrap_tool", asked, ToolMove)
        if move.result is not None:
            self.questions += move.result.kind == "approval"
            self.may_end(move.result.kind == "fatal", move.result.update)
        return move

    def run_tool(self, call: ToolCall) -> Result:
        """Ask for a tool to be run."""
        result = self.told("run_tool", wire.RunTool(call), Result)
        self.may_end(result.kind == "fatal")
        return result

    def told(self, name: wire.QuestionName, question: wire.Question, kind: type[Answered]) -> Answered:
        """Ask what is always answered."""
        return value_of(self.line.ask(self.session, name, fields_of(question))["answered"], kind, "answered")

    def change(self, shown_to: str | None, request: Request) -> wire.RequestChange:
        """Say a request as what became of the last one of the same."""
        before, self.requests[shown_to] = self.requests.get(shown_to, ()), tuple(request.messages)
        return wire.request_change(before, request)

    def may_end(self, ends: bool, update: Update = ()) -> None:
        """Note an answer after which the run may end otherwise than finished."""
        self.failures += ends or bool(update)


@define
class Served(Generic[Asked]):
    """A thread that is served, and what was shown of it last."""

    session: Asked
    host: RemoteHost
    history: tuple[Message, ...] = ()

    def shown(self) -> wire.Shown:
        """Show the thread."""
        state = self.session.state()
        before, self.history = self.history, tuple(state.history)
        change = wire.splice_of(before, self.history)
        return wire.Shown(change, state.summary, state.usage, tuple(state.warnings), tuple(state.entries))

    def failed_as(self, error: BaseException) -> Outcome | None:
        """Say how a step or a run ends that an error passes through; it may be the host's, or another after that."""
        if isinstance(error, Unsupported):
            return None
        passed = next((outcome for kinds, outcome in OUTCOMES if isinstance(error, kinds)), None)
        may_fail = self.host.failures + self.host.questions > 0
        return passed or ("failed" if may_fail and isinstance(error, Exception) else None)

    def close(self) -> wire.Closed:
        """End the thread, where it wants to know of it."""
        close = getattr(self.session, "close", None)
        if close is not None:
            close()
        return wire.Closed()


@define
class ServedThread(Served[FullSession]):
    """A thread that takes steps."""

    def step(self, call: wire.Step) -> wire.Ended:
        """Take a step."""
        self.host.failures = 0
        try:
            end = self.session.step(call.system, call.notes, call.pending)
        except BaseException as error:
            outcome = self.failed_as(error)
            if outcome is None:
                raise
            end = StepEnd(outcome)
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
        return wire.Changed(self.shown())


@define
class ServedLoop(Served[Loop]):
    """A thread that an agent's loop runs over."""

    def called(self, call: wire.Call) -> wire.Returned:
        """Make one call."""
        if isinstance(call, wire.Run):
            self.host.failures = self.host.questions = 0
            return self.ran(partial(self.session.run, call.message))
        assert isinstance(call, wire.Resume)
        self.host.questions = 0
        return self.ran(partial(self.session.resume, call.reply, call.approved))

    def ran(self, go: Callable[[], RunEnd]) -> wire.Ran:
        """Let the run go on until it ends or waits."""
        try:
            end = go()
        except BaseException as error:
            outcome = self.failed_as(error)
            if outcome is None:
                raise
            end = RunEnd("cancelled" if outcome == "cancelled" else "failed")
        return wire.Ran(end.outcome, self.shown(), end.question, tuple(end.waiting))


@define
class Server:
    """An implementation that is served until the input ends."""

    implementation: Implementation
    line: Line
    sessions: dict[int, ServedThread | ServedLoop] = field(factory=dict)

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
        if isinstance(call, wire.Open | wire.OpenLoop):
            self.sessions[number] = opened = self.opened(call, number)
            return wire.Changed(opened.shown())
        if isinstance(call, wire.Close):
            return self.sessions.pop(number).close()
        return self.sessions[number].called(call)

    def opened(self, call: wire.Open | wire.OpenLoop, number: int) -> ServedThread | ServedLoop:
        """Begin a thread."""
        implementation: Any = self.implementation
        if isinstance(call, wire.OpenLoop):
            loop_host = RemoteLoopHost(self.line, number)
            return ServedLoop(implementation.open_loop(call.configuration, call.agent, loop_host), loop_host)
        host = RemoteHost(self.line, number)
        return ServedThread(implementation.open(call.configuration, host), host)


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

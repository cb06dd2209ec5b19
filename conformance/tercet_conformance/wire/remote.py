"""An implementation that is a process: what the suite asks of it travels as lines."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import finalize

from attrs import fields_dict

from tercet_conformance.garbage import Broken, Garbage, described
from tercet_conformance.interface import (
    Cancelled,
    CompressorFailed,
    Host,
    LoopHost,
    ModelFailed,
    Refused,
    RunEnd,
    StepEnd,
    Suspended,
    Unsupported,
)
from tercet_conformance.limits import Overdue
from tercet_conformance.wire.lines import fields_of, line_of, object_of, value_of, written
from tercet_conformance.wire.process import Process, command_text
from tercet_spec import wire
from tercet_spec.agents import Agent, Request
from tercet_spec.trace import Failure
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, State

Returned = TypeVar("Returned", bound=wire.Returned)
AnyHost = TypeVar("AnyHost", bound=Host)
FAILURES: dict[type[BaseException], Failure] = {
    CompressorFailed: "failed",
    ModelFailed: "failed",
    Cancelled: "cancelled",
    Suspended: "suspended",
}
REFUSABLE: tuple[wire.CallName, ...] = ("open", "open_loop", "configure")
UNSUPPORTABLE: tuple[wire.CallName, ...] = ("append", "step", "run", "resume")


class Raised(Garbage):
    """An error of the process, as it tells it."""


class Remote:
    """An implementation behind a command; one process serves one thread after another, until it breaks.

    ``whole`` is another command's, which drives all of a library of which this one drives a part.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)
        self.process: Process | None = None
        self.description: Description | None = None
        self.calls = 0
        self.asks = -1
        self.sessions = 0
        self.whole: Remote | None = None

    def whole_road(self) -> "Remote | None":
        """The slower way that drives all of it, where this is the fast one."""
        return self.whole

    def describe(self) -> Description:
        """Start the process, if it is not running, and ask what it is."""
        if self.description is None or self.process is None:
            self.start()
        assert self.description is not None
        return self.description

    def open(self, configuration: Configuration, host: Host) -> "RemoteSession":
        """Begin a thread; raises Refused."""
        self.describe()
        self.sessions += 1
        return RemoteSession(self, self.sessions, configuration, host)

    def open_loop(self, configuration: Configuration, agent: Agent, host: LoopHost) -> "RemoteLoop":
        """Begin a thread with an agent's loop over it; raises Refused."""
        self.describe()
        self.sessions += 1
        return RemoteLoop(self, self.sessions, configuration, agent, host)

    def close(self) -> None:
        """Let the process end; raises Garbage where it does not, as it should."""
        process, self.process = self.process, None
        if process is not None and (problem := process.end()):
            raise Garbage(f"{command_text(self.command)}: {problem}")

    def start(self) -> None:
        """Start the process and let it introduce itself; raises Broken."""
        self.calls, self.asks = 0, -1
        run = f"{command_text(self.command)}: "
        try:
            self.process = process = Process(self.command)
        except Broken as error:
            raise Broken(f"{run}{error}; is it installed, and on the PATH?") from error
        finalize(self, process.finish)
        try:
            told = self.call("hello", wire.Hello(wire.VERSION), wire.Introduction, prepared=introduced)
        except Broken as error:
            self.end_at_once()
            raise Broken(f"{run}{error}; it was asked to introduce itself: {HELLO}") from error
        except Raised as error:
            self.end_at_once()
            raise Broken(f"{run}it was asked to introduce itself, and {error}") from error
        names = fields_dict(Description)
        described_now = Description(
            **{
                **{name: getattr(told, name) for name in names},
                "capabilities": frozenset(told.capabilities),
            }
        )
        if self.description not in (None, described_now):
            self.end_at_once()
            raise Broken(f"{run}it was started again, and describes itself otherwise: {described(described_now)}")
        self.description = described_now

    def end_at_once(self) -> None:
        """End the process: nothing more can be asked of it."""
        process, self.process = self.process, None
        if process is not None:
            process.finish()

    def call(
        self,
        name: wire.CallName,
        value: wire.Call,
        kind: type[Returned],
        session: int | None = None,
        ask: Callable[[dict[str, Any]], bytes] | None = None,
        prepared: Callable[[object], object] = lambda returned: returned,
    ) -> Returned:
        """Call the process, answer what it asks, and return what it returns.

        Raises Refused, Unsupported, Raised, or Broken, after which the process is at its end.
        """
        process = self.process
        if process is None:
            raise Broken(f"{name} was called on a thread whose process has ended")
        self.calls += 1
        envelope: dict[str, object] = {"id": self.calls, "call": name}
        if session is not None:
            envelope["session"] = session
        try:
            process.write(line_of({**envelope, **fields_of(value)}))
            while True:
                told = object_of(process.read())
                if "ask" in told and ask is not None:
                    process.write(ask(told))
                    continue
                returned = self.returned(name, told)
                return value_of(prepared(returned), kind, f"{name} returned")
        except (Refused, Unsupported, Raised):
            raise
        except Overdue as error:
            self.end_at_once()
            hint = "was its line ended with a line feed, and flushed?"
            raise Overdue(f"hangs: {name} did not return in time{process.said()}; {hint}") from error
        except BaseException:
            self.end_at_once()
            raise

    def returned(self, name: wire.CallName, told: dict[str, Any]) -> object:
        """Take what a call returned; raises Refused, Unsupported or Raised where it says so."""
        if type(told.get("id")) is int and told["id"] == self.calls and "returned" in told:
            return told["returned"]
        what = written(told)
        if "ask" in told:
            raise Broken(f"{name} asked {what}; only {listed(wire.ASKING)} ask")
        if type(told.get("id")) is not int:
            raise Broken(f'{what}, which has neither "id" nor "ask", each a whole number: a line is one or the other')
        if told["id"] != self.calls:
            kind = "again" if told["id"] < self.calls else "before it was asked"
            now = f"call {self.calls} ({name}) is under way"
            raise Broken(f"call {told['id']} is returned {kind}, while {now}; it was {what}")
        if "raised" in told:
            raise Raised(f"raised {text_in(told, 'raised', name).rstrip()}")
        if "refused" in told:
            problems = value_of(told["refused"], tuple[str, ...], f"{name} refused with")
            if name not in REFUSABLE:
                raise Broken(f"{name} returned {what}; only {listed(REFUSABLE)} may refuse")
            raise Refused(problems)
        if "unsupported" in told:
            if name not in UNSUPPORTABLE:
                problem = f"only {listed(UNSUPPORTABLE)} may; what is not declared is not asked of it"
                raise Broken(f"{name} returned {what}; {problem}")
            raise Unsupported(text_in(told, "unsupported", name))
        raise Broken(f'{what}, which has none of "returned", "raised", "refused" and "unsupported"')


def listed(names: Iterable[str]) -> str:
    """List names as a sentence does."""
    *before, last = names
    return f"{', '.join(before)} and {last}"


HELLO = f'{{"id": 1, "returned": {{"wire": {wire.VERSION}, "name": ..., "version": ..., ...}}}} is one line on stdout'


def introduced(returned: object) -> object:
    """Look at the version of the wire before anything else; raises Broken."""
    version = returned.get("wire") if isinstance(returned, dict) else None
    if version is not None and type(version) is not int:
        raise Broken(f'"wire" is {written(version)}; it is a whole number, here {wire.VERSION}')
    if version is not None and version != wire.VERSION:
        raise Broken(f"it speaks version {version!r} of the wire; this release speaks version {wire.VERSION}")
    return returned


def text_in(told: dict[str, Any], field: str, name: str) -> str:
    """Take a text of an envelope."""
    return value_of(told[field], str, f"{name} returned {field}")


class RemoteThread(Generic[AnyHost]):
    """One thread of a process: what is shown of it, and what its process asks while a call is under way."""

    def __init__(self, remote: Remote, number: int, host: AnyHost) -> None:
        self.remote, self.number, self.host = remote, number, host
        self.process = remote.process
        self.shown = State()

    def state(self) -> State:
        """Show the thread, as every call returns it."""
        return self.shown

    def close(self) -> None:
        """End the thread, if its process did not end before."""
        if self.remote.process is self.process and self.process is not None:
            self.call("close", wire.Close(), wire.Closed)

    def changed(self, name: wire.CallName, value: wire.Call) -> None:
        """Make a call that returns the state alone."""
        self.show(self.call(name, value, wire.Changed).state, name)

    def call(self, name: wire.CallName, value: wire.Call, kind: type[Returned]) -> Returned:
        """Call the thread's process, which is no other than it was."""
        if self.remote.process is not self.process:
            raise Broken(f"{name} was called on a thread whose process has ended")
        answer = partial(self.answer, name) if name in wire.ASKING else None
        return self.remote.call(name, value, kind, self.number, answer)

    def show(self, shown: wire.Shown, name: str) -> None:
        """Take the state that a call returned."""
        history = self.spliced(self.shown.history, shown.history, f"{name} returned a history")
        self.shown = State(history, shown.summary, shown.usage, shown.warnings, shown.entries)

    def spliced(self, before: tuple[Message, ...], splice: wire.Splice, what: str) -> tuple[Message, ...]:
        """Apply what became of a list of messages; raises Broken."""
        try:
            return wire.spliced(before, splice)
        except ValueError as error:
            self.remote.end_at_once()
            raise Broken(f"{what} that cannot be: {error}, which the last one had") from error

    def answer(self, name: wire.CallName, told: dict[str, Any]) -> bytes:
        """Put a question of the process to the host, and write the line that answers it; ``name`` is under way."""
        number, session = told["ask"], told.get("session")
        if type(number) is not int or number <= self.remote.asks:
            before = f"that of the question before, {self.remote.asks}"
            raise Broken(f'"ask" is a whole number, greater than {before}; it was asked {written(told)}')
        if session != self.number:
            under_way = f"{name} of session {self.number} is under way"
            whose = f"of session {written(session)}" if "session" in told else 'without "session"'
            raise Broken(f"a question is {whose}, while {under_way}; it was {written(told)}")
        names = wire.ASKING[name]
        question = next((each for each in names if each == told.get("question")), None)
        if question is None:
            raise Broken(f'"question" is one of {", ".join(names)}, within {name}; it was asked {written(told)}')
        self.remote.asks = number
        asked: wire.Question = value_of(told, wire.QUESTIONS[question], f"{name} asked")
        try:
            answered = self.answered(asked, f"{name} asked for a request")
        except tuple(FAILURES) as error:
            return line_of({"ask": number, "failed": wire.Failed(FAILURES[type(error)], self.host.usage)})
        return line_of({"ask": number, "answered": answered})

    def answered(self, asked: wire.Question, what: str) -> wire.Answered:
        """Let the host answer; ``what`` is said of a request that cannot be. Raises what the host does, and Broken."""
        if isinstance(asked, wire.Summarize):
            text = self.host.summarize(asked.given, asked.so_far)
            return wire.Text(text, self.host.usage)
        raise AssertionError(f"{type(asked).__name__} is no question of this call")


class RemoteSession(RemoteThread[Host]):
    """One thread of a process, which is asked for its steps."""

    def __init__(self, remote: Remote, number: int, configuration: Configuration, host: Host) -> None:
        super().__init__(remote, number, host)
        self.request: tuple[Message, ...] = ()
        self.changed("open", wire.Open(configuration))

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages."""
        stored = self.call("append", wire.Append(tuple(messages)), wire.Stored)
        self.show(stored.state, "append")
        return stored.ids

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take one model step; the host is asked while it is under way."""
        ended = self.call("step", wire.Step(system, tuple(notes), tuple(pending)), wire.Ended)
        self.show(ended.state, "step")
        return StepEnd(ended.outcome, ended.answer_id, ended.attempt)

    def configure(self, configuration: Configuration) -> None:
        """Change the configuration."""
        self.changed("configure", wire.Configure(configuration))

    def begin_turn(self) -> None:
        """Begin a turn."""
        self.changed("begin_turn", wire.BeginTurn())

    def end_turn(self, blocked: bool) -> None:
        """End the turn."""
        self.changed("end_turn", wire.EndTurn(blocked))

    def checkpoint(self) -> str:
        """Put the thread by."""
        put_by = self.call("checkpoint", wire.Checkpoint(), wire.PutBy)
        self.show(put_by.state, "checkpoint")
        return put_by.checkpoint

    def restore(self, checkpoint: str) -> None:
        """Put the thread back."""
        self.changed("restore", wire.Restore(checkpoint))

    def edit(self, history: Sequence[Message]) -> None:
        """Say what became of the history as it was shown last."""
        self.changed("edit", wire.Edit(wire.splice_of(self.shown.history, tuple(history))))

    def answered(self, asked: wire.Question, what: str) -> wire.Answered:
        """Let the host answer as the model too."""
        if not isinstance(asked, wire.Ask):
            return super().answered(asked, what)
        self.request = self.spliced(self.request, asked.request, what)
        message = self.host.answer(self.request)
        return wire.Said(message, self.host.usage)


class RemoteLoop(RemoteThread[LoopHost]):
    """One thread of a process, and the loop of an agent over it.

    ``requests`` are the messages of the last request that each model wrapper, or the model (``None``), was shown.
    """

    def __init__(self, remote: Remote, number: int, configuration: Configuration, agent: Agent, host: LoopHost) -> None:
        super().__init__(remote, number, host)
        self.requests: dict[str | None, tuple[Message, ...]] = {}
        self.changed("open_loop", wire.OpenLoop(configuration, agent))

    def run(self, message: Message) -> RunEnd:
        """Run with an input; the host is asked while that is under way."""
        return self.ran("run", wire.Run(message))

    def resume(self, reply: str | None, approved: Sequence[bool]) -> RunEnd:
        """Go on with the run that waits."""
        return self.ran("resume", wire.Resume(reply, tuple(approved)))

    def ran(self, name: wire.CallName, value: wire.Call) -> RunEnd:
        """Make a call that lets a run go on."""
        ran = self.call(name, value, wire.Ran)
        self.show(ran.state, name)
        return RunEnd(ran.outcome, ran.question, ran.waiting)

    def answered(self, asked: wire.Question, what: str) -> wire.Answered:
        """Let the host answer as a hook, the model or a tool too."""
        host = self.host
        match asked:
            case wire.BeforeAgent(middleware, message, entries):
                return host.before_agent(middleware, message, entries)
            case wire.AskSection(middleware, entries):
                return wire.Section(host.section(middleware, entries))
            case wire.WrapModel(middleware, request, responses, replies, entries):
                seen = self.requested(middleware, request, what)
                move = host.wrap_model(middleware, seen, responses, replies, entries)
                passed_on = None if move.request is None else wire.request_change(seen.messages, move.request)
                return wire.Wrapped(passed_on, move.response, move.question)
            case wire.AskModel(request):
                answer = host.ask_model(self.requested(None, request, what))
                return wire.Said(answer, host.usage)
            case wire.WrapTool(middleware, tool_call, approved, results, entries):
                return host.wrap_tool(middleware, tool_call, approved, results, entries)
            case wire.RunTool(tool_call):
                return host.run_tool(tool_call)
            case wire.AfterAgent(middleware, message, entries):
                return host.after_agent(middleware, message, entries)
        return super().answered(asked, what)

    def requested(self, shown_to: str | None, request: wire.RequestChange, what: str) -> Request:
        """Take a request, which is said as what became of the one that the same was shown last; raises Broken."""
        messages = self.spliced(self.requests.get(shown_to, ()), request.messages, what)
        self.requests[shown_to] = messages
        return Request(request.system, messages, request.tools)

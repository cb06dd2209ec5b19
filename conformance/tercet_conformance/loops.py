"""Runs an agent's loop by a scenario: plays its hooks, its model and its tools, and records what each is asked."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec
from attrs import define, evolve

from tercet_conformance.garbage import Garbage, as_run_end, as_state, described
from tercet_conformance.hosts import ScriptedHost
from tercet_conformance.interface import Cancelled, Loop, ModelFailed, RunEnd, Unsupported
from tercet_spec import trace
from tercet_spec.agents import DENIED, HookName, ModelMove, Passed, Request, Response, Result, ToolMove
from tercet_spec.scenarios import Answer, Move, Operation, Resume, RunAgent
from tercet_spec.vocabulary import Entry, Message, State, ToolCall, Update

Kind = TypeVar("Kind")


class ScriptedLoopHost(ScriptedHost):
    """Plays the hooks and the tools of an agent's loop too, of the middleware of these ids.

    ``questions`` counts those since the run last went on.
    """

    def __init__(self, ids: Sequence[str] = ()) -> None:
        super().__init__()
        self.ids = ids
        self.moves: dict[tuple[str, HookName], list[Move]] = {}
        self.results: list[Result] = []
        self.ran = self.questions = 0

    def begin(self, run: RunAgent) -> None:
        """Take the scripts of a run."""
        self.moves = {(script.middleware, script.hook): list(script.moves) for script in run.scripts}
        self.replies, self.answers, self.results = list(run.replies), list(run.answers), list(run.results)
        self.failures = self.questions = 0

    @property
    def may_end(self) -> bool:
        """Whether something was scripted after which a run may end otherwise than finished."""
        return self.failures + self.questions > 0

    def move(self, middleware: str, hook: HookName) -> Move:
        """Take the next move that is scripted for a hook; the loop is told at once where the stack has none of it."""
        if middleware not in self.ids:
            known = ", ".join(self.ids) or "nobody"
            self.refuse(Garbage(f"host.{hook} was asked of {described(middleware)}; in the stack there is {known}"))
        moves = self.moves.get((middleware, hook))
        move = moves.pop(0) if moves else Move()
        self.questions += move.does == "ask"
        if move.update or move.does == "fail":
            self.failures += 1
        return move

    def taken(self, value: object, kind: type[Kind], what: str) -> Kind:
        """Take what the loop hands over to a hook; it is told at once where that cannot be read."""
        if not self.is_asked:
            self.refuse(Garbage(f"{what} was asked when no run was under way; hooks are asked within a run only"))
        try:
            return msgspec.convert(msgspec.to_builtins(value), kind, strict=True)
        except (msgspec.ValidationError, TypeError, RecursionError) as error:
            self.refuse(Garbage(f"{what} was given {described(value)}: {error}"))

    def before_agent(self, middleware: str, message: Message, entries: Update) -> Passed:
        """Answer as a hook that sees the input."""
        seen = self.taken(message, Message, "host.before_agent")
        passed = passed_by(self.move(middleware, "before_agent"), seen)
        told = evolve(passed, message=passed.message and unnamed(passed.message))
        self.events.append(trace.InputSeen(middleware, unnamed(seen), self.state(entries), told))
        return passed

    def after_agent(self, middleware: str, message: Message, entries: Update) -> Passed:
        """Answer as a hook that sees the output."""
        seen = unnamed(self.taken(message, Message, "host.after_agent"))
        passed = evolve(passed_by(self.move(middleware, "after_agent"), seen), message=None)
        self.events.append(trace.OutputSeen(middleware, seen, self.state(entries), passed))
        return passed

    def section(self, middleware: str, entries: Update) -> str | None:
        """Give a prompt section."""
        move = self.move(middleware, "section")
        text = None if move.does == "fail" else move.text or ""
        self.events.append(trace.SectionAsked(middleware, self.state(entries), text))
        return text

    def wrap_model(
        self, middleware: str, request: Request, responses: Sequence[Response], replies: Sequence[str], entries: Update
    ) -> ModelMove:
        """Answer as a model wrapper."""
        seen = self.taken(request, Request, "host.wrap_model")
        told = self.taken(tuple(responses), tuple[Response, ...], "host.wrap_model")
        replied = self.taken(tuple(replies), tuple[str, ...], "host.wrap_model")
        move = model_move(self.move(middleware, "wrap_model"), seen, told)
        self.events.append(
            trace.ModelWrapped(
                middleware,
                plainly(seen),
                tuple(map(of_nobody, told)),
                replied,
                self.state(entries),
                ModelMove(
                    move.request and plainly(move.request), move.response and of_nobody(move.response), move.question
                ),
            )
        )
        return move

    def ask_model(self, request: Request) -> Message:
        """Answer as the model, by the script."""
        seen = plainly(self.taken(request, Request, "host.ask_model"))
        self.answered += 1
        self.usage = self.weight()
        answer = self.answers.pop(0) if self.answers else Answer()
        message = None if answer.failure else answer.message or Message("assistant", f"n{self.answered}z")
        self.events.append(trace.ModelAsked(seen, message, answer.failure, self.usage))
        if message is None:
            self.fail(answer.failure, ModelFailed("the model failed, as scripted"))
        return message

    def wrap_tool(
        self, middleware: str, call: ToolCall, approved: bool, results: Sequence[Result], entries: Update
    ) -> ToolMove:
        """Answer as a tool wrapper."""
        seen = self.taken(call, ToolCall, "host.wrap_tool")
        told = self.taken(tuple(results), tuple[Result, ...], "host.wrap_tool")
        is_approved = self.taken(approved, bool, "host.wrap_tool")
        move = tool_move(self.move(middleware, "wrap_tool"), told)
        self.events.append(trace.ToolWrapped(middleware, seen, is_approved, told, self.state(entries), move))
        return move

    def run_tool(self, call: ToolCall) -> Result:
        """Run a tool, by the script."""
        seen = self.taken(call, ToolCall, "host.run_tool")
        self.ran += 1
        result = self.results.pop(0) if self.results else Result("success", f"r{self.ran}z")
        if result.kind == "fatal":
            self.failures += 1
        self.events.append(trace.ToolRun(seen, result))
        return result

    def state(self, entries: Update) -> Update:
        """Take the state that a hook is shown."""
        return by_key(self.taken(tuple(entries), Update, "a hook"))


def passed_by(move: Move, message: Message) -> Passed:
    """Make what a hook around the run answers."""
    if move.does == "fail":
        return Passed(blocked=True)
    changed = None if move.text is None else evolve(message, content=move.text)
    return Passed(changed, move.update)


def model_move(move: Move, request: Request, responses: Sequence[Response]) -> ModelMove:
    """Make what a model wrapper answers."""
    match move.does:
        case "ask":
            return ModelMove(question=move.text or "Go on?")
        case "fail":
            return ModelMove(response=Response(None))
        case "next":
            notes = () if move.text is None else (Message("user", move.text),)
            tools = tuple(name for name in request.tools if name not in move.tools)
            return ModelMove(request=Request(request.system, request.messages + notes, tools))
        case "answer":
            return ModelMove(response=Response(Message("assistant", move.text or "at once"), move.update))
        case "return" if responses:
            chosen = responses[-1 if move.of is None else move.of % len(responses)]
            if chosen.message is None:
                return ModelMove(response=chosen)
            message = chosen.message if move.text is None else evolve(chosen.message, content=move.text)
            return ModelMove(response=Response(message, added(chosen.update, move.update)))
    return ModelMove(response=responses[-1]) if responses else ModelMove(request=request)


def tool_move(move: Move, results: Sequence[Result]) -> ToolMove:
    """Make what a tool wrapper answers."""
    match move.does:
        case "ask":
            return ToolMove(Result("approval", move.text or "it costs"))
        case "fail":
            return ToolMove(Result("fatal", move.text or "no more"))
        case "deny":
            return ToolMove(Result("error", f"{DENIED}{move.text or 'not now'}"))
        case "next":
            return ToolMove()
        case "answer":
            return ToolMove(Result("success", move.text or "at once", move.update))
        case "return" if results:
            chosen = results[-1 if move.of is None else move.of % len(results)]
            text = chosen.text if move.text is None else move.text
            update = added(chosen.update, move.update) if chosen.kind == "success" else ()
            return ToolMove(Result(chosen.kind, text, update))
    return ToolMove(results[-1] if results else None)


def added(carried: Update, own: Update) -> Update:
    """Add a hook's own writes to an update."""
    keys = {entry.key for entry in own}
    return (*(entry for entry in carried if entry.key not in keys), *own)


def unnamed(message: Message) -> Message:
    """Leave out the id that a message is stored under: hooks are judged by what they see."""
    return message if message.id is None else evolve(message, id=None)


def plainly(request: Request) -> Request:
    """Leave out stored ids in a request."""
    return evolve(request, messages=tuple(map(unnamed, request.messages)))


def of_nobody(response: Response) -> Response:
    """Leave out the stored id in a response."""
    return response if response.message is None else evolve(response, message=unnamed(response.message))


def by_key(update: Iterable[Entry]) -> Update:
    """Put the state in the order of its keys."""
    return tuple(sorted(update, key=lambda entry: entry.key))


@define
class LoopPerformance:
    """A loop, and what its run waits for while a scenario is performed."""

    loop: Loop
    host: ScriptedLoopHost
    waiting: RunEnd | None = None

    def perform(self, operation: Operation) -> str | None:
        """Perform one operation and record what it did; return what went wrong beside the rules."""
        if isinstance(operation, RunAgent) and self.waiting is None:
            self.host.begin(operation)
            self.host.events.append(trace.RunBegun(operation.message, self.state()))
            return self.end(lambda: self.loop.run(operation.message))
        if isinstance(operation, Resume) and self.waiting is not None:
            waiting, self.host.questions = self.waiting, 0
            reply = operation.reply if waiting.question is not None else None
            places = range(len(waiting.waiting))
            approved = tuple(operation.approved[n] if n < len(operation.approved) else True for n in places)
            self.host.events.append(trace.Resumed(reply, approved))
            return self.end(lambda: self.loop.resume(reply, approved))
        return None

    def end(self, go: Callable[[], object]) -> str | None:
        """Let the loop go on until its run ends or waits, and record that; raises Garbage."""
        host = self.host
        try:
            returned = go()
        except Cancelled:
            returned = RunEnd("cancelled")
        except (Unsupported, Garbage):
            raise
        except Exception:
            if not host.may_end or host.garbage is not None:
                raise
            returned = RunEnd("failed")
        if host.garbage is not None:
            raise host.garbage
        end = as_run_end(returned)
        waits_again = self.waiting is not None and end.outcome == "suspended"
        self.waiting = end if end.outcome == "suspended" else None
        host.events.append(trace.RunEnded(end.outcome, self.state(), end.question, end.waiting))
        if end.outcome != "finished" and not host.may_end and not waits_again:
            return f"the run is {end.outcome} where nothing was scripted that ends it so"
        return None

    def state(self) -> State:
        """Look at the thread; its state by key in the order of the keys."""
        state = as_state(self.loop.state())
        return evolve(state, entries=by_key(state.entries))

"""A right agent's loop in small steps, naive and obvious; its thread is a plain summarizer's.

Every wrong loop in the gallery overrides a step or two of it. A run is a generator: it yields where it must wait.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import ClassVar, TypeVar

from attrs import evolve, frozen

from tercet_conformance.gallery.plain import CAPABILITIES, Plain, Saved, View
from tercet_conformance.interface import CompressorFailed, Host, LoopHost, ModelFailed, RunEnd, Session
from tercet_spec.agents import (
    DENIED,
    SEPARATOR,
    SUMMARY,
    Agent,
    HookName,
    Middleware,
    Passed,
    Request,
    Response,
    Result,
)
from tercet_spec.characters import bounded
from tercet_spec.vocabulary import (
    LOOP_CAPABILITIES,
    Capability,
    Configuration,
    Description,
    Entry,
    Message,
    Note,
    State,
    ToolCall,
    Update,
)

Reply = tuple[str | None, Sequence[bool]]
R = TypeVar("R")
Waits = Generator[RunEnd, Reply, R]
"""Something that may have to wait for a person before it comes to its end."""


class Failed(Exception):
    """The run fails."""


class Blocked(Exception):
    """The run is blocked."""


class PlainLoop:
    """Keeps every rule of the hooks."""

    capabilities: ClassVar[frozenset[Capability]] = CAPABILITIES | LOOP_CAPABILITIES
    thread_class: ClassVar[type[Plain]] = Plain

    def __init__(self, thread: Plain, agent: Agent, host: LoopHost) -> None:
        self.thread = thread
        self.agent = agent
        self.host = host
        self.entries: dict[str, str] = {}
        self.written: dict[str, View] = {}
        self.going: Waits[RunEnd] | None = None

    # What a loop is asked.

    def run(self, message: Message) -> RunEnd:
        """Run with an input."""
        self.going = self.course(message)
        return self.go_on(None)

    def resume(self, reply: str | None, approved: Sequence[bool]) -> RunEnd:
        """Go on with the run that waits."""
        return self.go_on((reply, approved))

    def go_on(self, reply: Reply | None) -> RunEnd:
        """Let the run go on until it waits or ends."""
        assert self.going is not None
        try:
            return self.going.send(reply)  # type: ignore[arg-type]
        except StopIteration as end:
            ended: RunEnd = end.value
            return ended

    def state(self) -> State:
        """Show the thread."""
        return evolve(self.thread.state(), entries=self.shown())

    def shown(self) -> Update:
        """Show the state by key."""
        return tuple(Entry(key, value) for key, value in self.entries.items())

    # The run.

    def course(self, message: Message) -> Waits[RunEnd]:
        """Run from the input to the end."""
        began = self.thread.saved(), dict(self.entries)
        try:
            yield from self.turn(message)
        except Failed:
            return RunEnd("failed")
        except Blocked:
            self.put_back(*began)
            return RunEnd("blocked")
        return RunEnd("finished")

    def put_back(self, thread: Saved, entries: dict[str, str]) -> None:
        """Undo a turn."""
        self.thread.put_back(thread)
        self.entries = entries

    def turn(self, message: Message) -> Waits[None]:
        """Let the input in, take steps until the model calls no tool, let the output out."""
        self.enter(message)
        answer = yield from self.model_step()
        while answer.calls:
            yield from self.tool_step(answer.calls)
            answer = yield from self.model_step()
        self.leave(answer)

    def having(self, hook: HookName) -> Sequence[Middleware]:
        """Choose who has a hook, outermost first."""
        return self.agent.having(hook)

    def enter(self, message: Message) -> None:
        """Let each see the input, then store it."""
        raw = message
        update: Update = ()
        for middleware in self.entering():
            passed = self.host.before_agent(middleware.id, self.passed_on(raw, message), self.shown())
            self.look_for_a_block(passed)
            update += self.own(middleware, passed.update)
            message = passed.message or message
        self.store_input(message)
        self.write(update)

    def entering(self) -> Iterable[Middleware]:
        """Say in which order the input is seen."""
        return self.having("before_agent")

    def look_for_a_block(self, passed: Passed) -> None:
        """End the run where the input is blocked."""
        if passed.blocked:
            raise Blocked

    def passed_on(self, raw: Message, message: Message) -> Message:
        """Choose the input that the next one sees."""
        return message

    def store_input(self, message: Message) -> None:
        """Store the input."""
        self.thread.store(message)

    def leave(self, answer: Message) -> None:
        """Let each see the output, innermost first."""
        update: Update = ()
        for middleware in self.leaving():
            passed = self.host.after_agent(middleware.id, answer, self.shown())
            if passed.blocked:
                raise Blocked
            update += self.own(middleware, passed.update)
        self.write(update)

    def leaving(self) -> Iterable[Middleware]:
        """Say in which order the output is seen."""
        return reversed(self.having("after_agent"))

    def own(self, middleware: Middleware, update: Update) -> Update:
        """Look whether all that a hook writes is its own."""
        for entry in update:
            if entry.key not in middleware.writes:
                raise Failed
        return update

    def write(self, update: Update) -> None:
        """Write into the state."""
        self.entries.update((entry.key, entry.value) for entry in update if entry.key != SUMMARY)

    # A model step.

    def model_step(self) -> Waits[Message]:
        """Take a model step, and commit it."""
        self.written = {}
        request = Request(self.prompt(), tuple(self.thread.history), tuple(tool.name for tool in self.agent.tools))
        response = yield from self.wrapped(self.wrappers(), request)
        if response.message is None:
            raise Failed
        self.commit(response.message, response.update)
        return response.message

    def wrappers(self) -> Sequence[Middleware]:
        """Choose who wraps model calls, outermost first."""
        return [each for each in self.agent.stack if each.summarizes or "wrap_model" in each.hooks]

    def commit(self, message: Message, update: Update) -> None:
        """Store an answer and what is written with it."""
        for entry in update:
            if entry.key == SUMMARY:
                self.thread.summary = self.thread.key(self.written[entry.value])
        self.thread.store(message)
        self.write(update)

    def prompt(self) -> str | None:
        """Make the system prompt."""
        parts = [self.agent.prompt] if self.agent.prompt else []
        return SEPARATOR.join([*parts, *self.sections()]) or None

    def sections(self) -> list[str]:
        """Collect the prompt sections, each and all within their bounds."""
        texts = []
        for middleware in self.having("section"):
            text = self.host.section(middleware.id, self.shown())
            if text is None:
                raise Failed
            texts.append(self.within_its_bound(text, middleware))
        return [text for text in self.within_bound_of_all(texts) if text]

    def within_its_bound(self, text: str, middleware: Middleware) -> str:
        """Cut a section to its own bound."""
        return bounded(text, middleware.section_tokens, self.thread.character)

    def within_bound_of_all(self, texts: Sequence[str]) -> list[str]:
        """Cut sections to the bound of all, the later ones first."""
        left = bounded("".join(texts), self.agent.prompt_section_tokens, self.thread.character)
        kept = []
        for text in texts:
            kept.append(left[: len(text)])
            left = left[len(text) :]
        return kept

    def wrapped(self, stack: Sequence[Middleware], request: Request) -> Waits[Response]:
        """Let a stack of wrappers, and the model within, have a request."""
        if not stack:
            return self.ask_model(request)
        middleware, within = stack[0], stack[1:]
        if middleware.summarizes:
            return (yield from self.summarized(within, request))
        responses: list[Response] = []
        replies: list[str] = []
        while True:
            move = self.host.wrap_model(middleware.id, request, tuple(responses), tuple(replies), self.shown())
            if move.request is not None:
                responses.append((yield from self.wrapped(within, move.request)))
            elif move.question is not None:
                replies.append((yield from self.asked(middleware, move.question)))
            else:
                response = move.response or Response(None)
                self.own_of(middleware, response.update, responses)
                return response

    def own_of(self, middleware: Middleware, update: Update, carried: Sequence[Response] | Sequence[Result]) -> None:
        """Look whether what rides on a response, and did not before, is a wrapper's own."""
        known = {entry for each in carried for entry in each.update}
        self.own(middleware, tuple(entry for entry in update if entry not in known))

    def asked(self, middleware: Middleware, question: str) -> Waits[str]:
        """Wait for a reply."""
        if not middleware.asks:
            raise Failed
        reply, _ = yield RunEnd("suspended", question)
        return reply or ""

    def summarized(self, within: Sequence[Middleware], request: Request) -> Waits[Response]:
        """Let summarization have a request, and those within what it sends."""
        thread = self.thread
        last = thread.history[-1].id if thread.history else None
        thread.notes = [Note(last, message) for message in request.messages if message not in thread.history]
        view = thread.applies()
        try:
            new = thread.decide(request.system, view)
        except CompressorFailed:
            return Response(None)
        messages = tuple(thread.send(request.system, view, new))[len(thread.prompt(request.system)) :]
        response = yield from self.wrapped(within, evolve(request, messages=messages))
        return response if new is None else evolve(response, update=(*response.update, self.summary_entry(new)))

    def summary_entry(self, new: View) -> Entry:
        """Name a new summary in an update."""
        name = str(len(self.written))
        self.written[name] = new
        return Entry(SUMMARY, name)

    def ask_model(self, request: Request) -> Response:
        """Ask the model, and count the call."""
        try:
            return Response(self.host.ask_model(request))
        except ModelFailed:
            return Response(None)
        finally:
            self.thread.spend_on_model(self.host.usage)

    # A tool step.

    def tool_step(self, calls: Sequence[ToolCall]) -> Waits[None]:
        """Run tools, and commit their results together."""
        results = self.used(calls)
        waiting = tuple(place for place, result in enumerate(results) if result.kind == "approval")
        if waiting:
            _, approved = yield RunEnd("suspended", waiting=waiting)
            for place, is_approved in zip(waiting, approved, strict=True):
                results[place] = self.decided(calls[place], results[place], is_approved=is_approved)
        for call, result in zip(calls, results, strict=True):
            self.store_result(call, result)

    def used(self, calls: Sequence[ToolCall]) -> list[Result]:
        """Let each call come to something."""
        return [self.use(call, approved=False) for call in calls]

    def decided(self, call: ToolCall, waiting: Result, *, is_approved: bool) -> Result:
        """Run a call that was approved; one that was not has an error for a result."""
        return self.use(call, approved=True) if is_approved else Result("error", DENIED + waiting.text)

    def store_result(self, call: ToolCall, result: Result) -> None:
        """Store a result, and what is written with it."""
        self.thread.store(Message("tool", result.text, answers=(call.id,)))
        self.write(result.update)

    def use(self, call: ToolCall, *, approved: bool) -> Result:
        """Let the wrappers, and the tool within, have a valid call."""
        if not self.is_valid(call):
            return Result("error", f"there is no {call.name} that takes {call.arguments}")
        result = self.wrapped_tool(self.having("wrap_tool"), call, approved=approved)
        if result.kind == "fatal" or (result.kind == "approval" and approved):
            raise Failed
        return result

    def is_valid(self, call: ToolCall) -> bool:
        """Validate a call."""
        return self.agent.accepts(call)

    def wrapped_tool(self, stack: Sequence[Middleware], call: ToolCall, *, approved: bool) -> Result:
        """Let a stack of wrappers, and the tool within, have a call."""
        if not stack:
            return self.host.run_tool(call)
        middleware, within = stack[0], stack[1:]
        results: list[Result] = []
        while True:
            move = self.host.wrap_tool(middleware.id, call, approved, tuple(results), self.shown())
            if move.result is not None:
                self.own_of(middleware, move.result.update, results)
                return move.result
            results.append(self.wrapped_tool(within, call, approved=approved))


@frozen
class PlainLoopImplementation:
    """An implementation whose loops are of one class of the gallery."""

    name: str
    loop: type[PlainLoop]

    def describe(self) -> Description:
        """Say what the loop's class declares."""
        thread = self.loop.thread_class
        return Description(
            self.name,
            "0",
            capabilities=self.loop.capabilities,
            character=thread.character,
            before=thread.before,
            after=thread.after,
            failed_compressor=thread.failed_compressor,
        )

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Begin a thread."""
        return self.loop.thread_class(configuration, host)

    def open_loop(self, configuration: Configuration, agent: Agent, host: LoopHost) -> PlainLoop:
        """Begin a thread with an agent's loop over it."""
        return self.loop(self.loop.thread_class(configuration, host), agent, host)

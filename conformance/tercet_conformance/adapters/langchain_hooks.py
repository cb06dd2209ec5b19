"""LangChain's middleware hooks as the suite's host plays them: each asks the host, and does in LangChain what it says.

Every hook is its asynchronous form, so that the tools of one answer run in an order that is the same each time.
Importing this module needs ``langchain``.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NotRequired, TypeVar, cast

from attrs import define, evolve, field
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AnyMessage, SystemMessage, ToolMessage
from langchain_core.messages import ToolCall as ValidToolCall
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from tercet_conformance.adapters.langchain import from_langchain, to_langchain, translated
from tercet_conformance.interface import LoopHost, ModelFailed
from tercet_spec.agents import DENIED, HookName, Middleware, ModelMove, Request, Response, Result, ToolMove
from tercet_spec.vocabulary import Entry, ToolCall, Update

Written = ToolMessage | Command[Any]
"""What a tool call returns in LangChain: a message, or a command that writes one and more."""
Place = tuple[str, str | None]
"""Where a move is made: the middleware, and the call that it wraps, if it is a tool's."""
Moves = dict[Place, list[ModelMove | ToolMove]]
M = TypeVar("M", ModelMove, ToolMove)


class Blocked(Exception):
    """A hook blocks the run. LangChain's own word for it: ``PIIMiddleware(strategy="block")`` raises."""


class HookFailed(Exception):
    """A wrapper, or a tool, fails the run, for this reason."""


Outcome = Written | HookFailed | GraphInterrupt
"""What a tool call comes to: what it returns, an error that fails the run, or a need for approval within."""


# Values, from LangChain's to the suite's and back.


def written(update: Update) -> dict[str, str]:
    """Make a state update."""
    return {entry.key: entry.value for entry in update}


def request_of(request: ModelRequest[Any]) -> Request:
    """Read a model request."""
    return Request(prompt_of(request), translated(request.messages), tuple(map(tool_name, request.tools)))


def prompt_of(request: ModelRequest[Any]) -> str | None:
    """Read the system prompt of a model request."""
    return None if request.system_message is None else str(request.system_message.text)


def tool_name(tool: Any) -> str:
    """Name a tool that a request offers."""
    return str(tool.name)


def overridden(request: ModelRequest[Any], asked: Request) -> ModelRequest[Any]:
    """Make the request that a wrapper asks for of the one that it had; what it left as it was stays the very object."""
    known = dict(zip(translated(request.messages), request.messages, strict=True))
    messages = [known.get(message) or to_langchain(message) for message in asked.messages]
    tools = [tool for name in asked.tools for tool in request.tools if tool_name(tool) == name]
    changed = request.override(messages=messages, tools=tools)
    if asked.system == prompt_of(request):
        return changed
    return changed.override(system_message=None if asked.system is None else SystemMessage(asked.system))


def response_of(response: ModelResponse[Any] | None) -> Response:
    """Read a model response; LangChain hands no wrapper what those within wrote."""
    return Response(None if response is None else from_langchain(response.result[-1]))


def call_of(call: ValidToolCall) -> ToolCall:
    """Read a tool call."""
    return ToolCall(call["id"], call["name"], json.dumps(call["args"]))


def result_of(outcome: Outcome) -> Result:
    """Read what a tool call came to."""
    match outcome:
        case HookFailed():
            return Result("fatal", str(outcome))
        case GraphInterrupt():
            return Result("approval", outcome.args[0][0].value["reason"])
        case ToolMessage():
            return Result("error" if outcome.status == "error" else "success", str(outcome.text))
    values = dict(cast("Mapping[str, Any]", outcome.update))
    (message,) = values.pop("messages")
    return evolve(result_of(message), update=tuple(Entry(key, value) for key, value in values.items()))


def outcome_of(result: Result, call: ToolCall) -> Outcome:
    """Make what a tool call comes to."""
    if result.kind == "fatal":
        return HookFailed(result.text)
    status = "error" if result.kind == "error" else "success"
    message = ToolMessage(result.text, tool_call_id=call.id, name=call.name, status=status)
    return Command(update={"messages": [message], **written(result.update)}) if result.update else message


# Steps that wait.


@define
class Replay:
    """The moves that a hook makes in one call; ``again`` are those that it made before it had to wait.

    LangGraph runs a step that waited from its start, and asks that code do there what it did: a hook that asked
    makes the same moves up to its question, and has the reply.
    """

    again: list[ModelMove | ToolMove]
    made: list[ModelMove | ToolMove] = field(factory=list)
    asked: int = 0

    def move(self, ask: Callable[[], M]) -> M:
        """Make the next move: one of those before, or what the host is asked for."""
        move = cast("M", self.again.pop(0)) if self.again else ask()
        self.made.append(move)
        return move

    def wait(self, what: Mapping[str, str | None]) -> Any:
        """Wait for a reply."""
        self.asked = len(self.made)
        return interrupt(what)


@define
class Playing:
    """What the hooks of one thread share: the host, the keys of the state, the moves of a step that waits.

    ``waited`` are those of this run; ``again`` those that were made before it went on.
    """

    host: LoopHost
    keys: tuple[str, ...]
    waited: Moves = field(factory=dict)
    again: Moves = field(factory=dict)

    def begin(self) -> None:
        """Begin a run."""
        self.waited, self.again = {}, {}

    def go_on(self) -> None:
        """Go on with a run that waited."""
        self.waited, self.again = {}, self.waited

    def entries(self, state: Any) -> Update:
        """Read the state by key."""
        return tuple(Entry(key, state[key]) for key in self.keys if key in state)

    @contextmanager
    def replay(self, place: Place) -> Iterator[Replay]:
        """Begin a hook's call; where the step comes to wait, the moves up to the hook's own question are kept."""
        replay = Replay(self.again.pop(place, []))
        try:
            yield replay
        except GraphInterrupt:
            self.waited[place] = replay.made[: replay.asked]
            raise


# Hooks.


class Hooked(AgentMiddleware[Any, Any]):
    """A middleware without hooks; its state schema has the keys that it may write."""

    def __init__(self, middleware: Middleware, playing: Playing) -> None:
        super().__init__()
        self.tools = []
        self.middleware = middleware
        self.playing = playing
        self.host = playing.host
        self.state_schema = TypedDict("Keys", dict.fromkeys(middleware.writes, NotRequired[str]))  # type: ignore

    @property
    def name(self) -> str:
        """The middleware's id."""
        return self.middleware.id


class SeesInput(Hooked):
    """Sees the input, which is the latest message, and may put another in its place."""

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        message = from_langchain(state["messages"][-1])
        passed = self.host.before_agent(self.name, evolve(message, id=None), self.playing.entries(state))
        if passed.blocked:
            raise Blocked
        changed = [] if passed.message is None else [to_langchain(evolve(passed.message, id=message.id))]
        return {"messages": changed, **written(passed.update)}


class WrapsModel(Hooked):
    """Wraps model calls."""

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        shown, entries = request_of(request), self.playing.entries(request.state)
        responses: list[ModelResponse[Any] | None] = []
        replies: list[str] = []

        def ask() -> ModelMove:
            told = tuple(map(response_of, responses))
            return self.host.wrap_model(self.name, shown, told, tuple(replies), entries)

        with self.playing.replay((self.name, None)) as replay:
            while True:
                move = replay.move(ask)
                if move.request is not None:
                    responses.append(await answered(handler, overridden(request, move.request)))
                elif move.question is not None:
                    replies.append(replay.wait({"question": move.question}))
                else:
                    return returned(move.response or Response(None), responses)


async def answered(
    handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]], request: ModelRequest[Any]
) -> ModelResponse[Any] | None:
    """Call next with a request; nothing where that raised."""
    try:
        return await handler(request)
    except (ModelFailed, HookFailed):
        return None


def returned(
    response: Response, responses: Sequence[ModelResponse[Any] | None]
) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
    """Make what a model wrapper returns: the very response that it had, where it is that; raises HookFailed."""
    if response.message is None:
        raise HookFailed("the wrapper returned an error")
    known = {response_of(each).message: each for each in responses}
    made = known.get(response.message) or ModelResponse([to_langchain(response.message)])
    return ExtendedModelResponse(made, Command(update=written(response.update))) if response.update else made


class WrapsTools(Hooked):
    """Wraps tool calls."""

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Written]]
    ) -> Written:
        call, entries = call_of(request.tool_call), self.playing.entries(request.state)
        is_approved = False
        outcomes: list[Outcome] = []

        def ask() -> ToolMove:
            return self.host.wrap_tool(self.name, call, is_approved, tuple(map(result_of, outcomes)), entries)

        with self.playing.replay((self.name, call.id)) as replay:
            while True:
                result = replay.move(ask).result
                known = {result_of(outcome): outcome for outcome in outcomes}
                if result is None:
                    outcomes.append(await come_to(handler, request))
                elif result in known:
                    return settled(known[result])
                elif result.kind != "approval":
                    return settled(outcome_of(result, call))
                elif replay.wait({"call": call.id, "reason": result.text}):
                    is_approved, outcomes = True, []
                else:
                    return settled(outcome_of(Result("error", DENIED + result.text), call))


async def come_to(handler: Callable[[ToolCallRequest], Awaitable[Written]], request: ToolCallRequest) -> Outcome:
    """Call next with a tool call."""
    try:
        return await handler(request)
    except (HookFailed, GraphInterrupt) as stopped:
        return stopped


def settled(outcome: Outcome) -> Written:
    """Return what a tool call came to, or raise it."""
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


class SeesOutput(Hooked):
    """Sees the output, which is the latest message."""

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        passed = self.host.after_agent(
            self.name, from_langchain(cast("AnyMessage", state["messages"][-1])), self.playing.entries(state)
        )
        if passed.blocked:
            raise Blocked
        return written(passed.update)


HOOKS: Mapping[HookName, type[Hooked]] = {
    "before_agent": SeesInput,
    "wrap_model": WrapsModel,
    "wrap_tool": WrapsTools,
    "after_agent": SeesOutput,
}


def hooked(middleware: Middleware, playing: Playing) -> AgentMiddleware[Any, Any]:
    """Make LangChain's middleware of one of the suite's, with its hooks and no others."""
    kinds = tuple(HOOKS[hook] for hook in middleware.hooks) or (Hooked,)
    made: Hooked = type("Scripted", kinds, {})(middleware, playing)
    return made

"""LangChain's ``SummarizationMiddleware`` under the suite, on two roads.

The fast road calls the hook ``before_model`` and the reducer ``add_messages``; the whole one runs
``create_agent`` with a checkpointer in memory. Importing this module needs ``langchain``.
"""

import json
from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from itertools import count
from typing import Any, cast

from attrs import evolve, frozen
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages import ToolCall as ValidToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import START
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from tercet_conformance.interface import Host, Refused, Session, StepEnd, Unsupported
from tercet_spec.characters import is_half, size
from tercet_spec.vocabulary import (
    Capability,
    Configuration,
    Description,
    Message,
    Note,
    PendingCall,
    Role,
    State,
    TokenCounter,
    ToolCall,
)

BEFORE = "Here is a summary of the conversation to date:\n\n"
CAPABILITIES: frozenset[Capability] = frozenset(
    {"message-trigger", "token-trigger", "system", "exact-input", "configure", "refuses"}
)
ROLES: dict[str, Role] = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
TOOL = {"type": "function", "function": {"name": "tool", "parameters": {"type": "object", "properties": {}}}}
"""A tool declared to the model only, as providers' own are: the agent never runs it, the suite brings its results."""

Agent = CompiledStateGraph[Any, Any, Any, Any]


def divided(calls: Sequence[ToolCall]) -> tuple[list[ValidToolCall], list[InvalidToolCall]]:
    """Divide calls as LangChain does: those whose arguments are a JSON object, and the invalid ones."""
    valid, invalid = [], []
    for call in calls:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            arguments = None
        if isinstance(arguments, dict):
            valid.append(tool_call(name=call.name, args=arguments, id=call.id))
        else:
            invalid.append(invalid_tool_call(name=call.name, args=call.arguments, id=call.id))
    return valid, invalid


def calls_of(message: AIMessage) -> tuple[ToolCall, ...]:
    """Read an assistant message's calls, as they were written if it still says the same."""
    written = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.additional_kwargs.get("tool_calls", ())
    )
    if written and divided(written) == (message.tool_calls, message.invalid_tool_calls):
        return written
    valid = (ToolCall(call["id"], call["name"], json.dumps(call["args"])) for call in message.tool_calls)
    invalid = (ToolCall(call["id"], call["name"] or "", call["args"] or "") for call in message.invalid_tool_calls)
    return (*valid, *invalid)


def assistant_message(message: Message) -> AIMessage:
    """Make an assistant message.

    Where LangChain's form of the calls would lose how they were written (spacing, order), they
    stand in ``additional_kwargs`` too, as a chat provider returned them.
    """
    valid, invalid = divided(message.calls)
    made = AIMessage(message.content, tool_calls=valid, invalid_tool_calls=invalid, id=message.id)
    if message.calls and calls_of(made) != message.calls:
        made.additional_kwargs["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return made


def to_langchain(message: Message) -> AnyMessage:
    """Translate a message into LangChain's; raises Unsupported for a result that does not answer exactly one id."""
    match message.role:
        case "system":
            return SystemMessage(message.content, id=message.id)
        case "user":
            return HumanMessage(message.content, id=message.id)
        case "assistant":
            return assistant_message(message)
        case "tool":
            if len(message.answers) != 1 or message.answers[0] is None:
                raise Unsupported(f"a ToolMessage answers one call id; this message answers {message.answers!r}")
            return ToolMessage(message.content, tool_call_id=message.answers[0], id=message.id)


def from_langchain(message: BaseMessage) -> Message:
    """Translate a message of LangChain's: the text of its content, its calls, the id that it answers, its id."""
    return Message(
        ROLES[message.type],
        message.content if isinstance(message.content, str) else str(message.text),
        calls_of(message) if isinstance(message, AIMessage) else (),
        (message.tool_call_id,) if isinstance(message, ToolMessage) else (),
        message.id,
    )


def translated(messages: Sequence[BaseMessage]) -> tuple[Message, ...]:
    """Translate messages of LangChain's."""
    return tuple(from_langchain(message) for message in messages)


class HostModel(BaseChatModel):
    """A chat model that the suite's host answers for."""

    respond: Callable[[Sequence[BaseMessage]], AIMessage]

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **settings: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.respond(messages))])

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **settings: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools as a provider's model does."""
        return self.bind(tools=tools, tool_choice=tool_choice, **settings)

    @property
    def _llm_type(self) -> str:
        return "host"


class Player:
    """The suite's host in LangChain's terms; it names what has no stored id ``h1``, ``h2`` and so on."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.ids = (f"h{number}" for number in count(1))
        self.model = HostModel(respond=self.respond)

    def named(self, message: Message) -> AnyMessage:
        """Translate a message that is about to be stored."""
        return to_langchain(evolve(message, id=next(self.ids) if message.id is None else message.id))

    def respond(self, request: Sequence[BaseMessage]) -> AIMessage:
        """Answer as the model."""
        return cast("AIMessage", self.named(self.host.answer(translated(request))))

    def summarize(self, messages: list[AnyMessage]) -> str:
        """Answer as the compressor."""
        return self.host.summarize(translated(messages))

    def middleware(self, configuration: Configuration) -> SummarizationMiddleware[Any, Any]:
        """Set up the middleware; what its constructor does not accept is Refused."""
        try:
            return SummarizationMiddleware(
                self.model,
                trigger=cast("Any", (configuration.trigger.kind, configuration.trigger.limit)),
                keep=("messages", configuration.keep_recent),
                token_counter=token_counter(configuration.token_counter),
                summarizer=self.summarize,
            )
        except ValueError as error:
            raise Refused((str(error),)) from error


def token_counter(counter: TokenCounter) -> Callable[[Any], int]:
    """Make the counter that LangChain asks for the size of a list of messages."""

    def count_tokens(messages: Sequence[BaseMessage]) -> int:
        return sum(size(message, counter, "code point") for message in translated(messages))

    return count_tokens


class HookSession:
    """One thread on the fast road: the hook, the reducer, and the host as the model."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.player = Player(host)
        self.middleware = self.player.middleware(configuration)
        self.messages: list[AnyMessage] = []

    def reduce(self, messages: Sequence[BaseMessage]) -> None:
        """Put messages into the thread as the graph does."""
        self.messages = cast("list[AnyMessage]", add_messages(cast("Any", self.messages), cast("Any", list(messages))))

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages."""
        named = [self.player.named(message) for message in messages]
        self.reduce(named)
        return [message.id or "" for message in named]

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take one model step."""
        state: AgentState[Any] = {"messages": self.messages}
        update = self.middleware.before_model(state, Runtime())
        if update is not None:
            self.reduce(update["messages"])
        prompt = [] if system is None else [SystemMessage(system)]
        answer = self.player.respond([*prompt, *self.messages])
        self.reduce([answer])
        return StepEnd("committed", answer.id)

    def state(self) -> State:
        """Show the thread's messages, among them the summary message where LangChain stored one."""
        return State(translated(self.messages))

    def configure(self, configuration: Configuration) -> None:
        """Set up a new middleware over the same thread."""
        self.middleware = self.player.middleware(configuration)


class AgentSession:
    """One thread on the whole road: an agent, its model played by the host, and its checkpointer."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.player = Player(host)
        self.middleware = self.player.middleware(configuration)
        self.saver = InMemorySaver()
        self.agents: dict[str | None, Agent] = {}
        self.config: RunnableConfig = {"configurable": {"thread_id": "1"}}

    def agent(self, system: str | None = None) -> Agent:
        """The agent with this system prompt; all of them share the checkpointer, and so the thread."""
        if system not in self.agents:
            self.agents[system] = create_agent(
                self.player.model,
                [TOOL],
                system_prompt=system,
                middleware=[self.middleware],
                checkpointer=self.saver,
            )
        return self.agents[system]

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages, as an input of the agent's would be; raises Unsupported for what no checkpoint holds.

        It is UTF-8, and puts another character in the place of half a one.
        """
        if any(is_half(character) for message in messages for character in message.content):
            raise Unsupported("a checkpoint cannot hold half a character")
        named = [self.player.named(message) for message in messages]
        self.agent().update_state(self.config, {"messages": named}, as_node=START)
        return [message.id or "" for message in named]

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Run the agent from its start to the model's answer; what the host raises passes through."""
        after = self.agent(system).invoke({"messages": []}, self.config)
        return StepEnd("committed", after["messages"][-1].id)

    def state(self) -> State:
        """Show the checkpointed messages, among them the summary message where LangChain stored one."""
        return State(translated(self.agent().get_state(self.config).values.get("messages", ())))

    def configure(self, configuration: Configuration) -> None:
        """Set up a new middleware, and new agents, over the same checkpoints."""
        self.middleware = self.player.middleware(configuration)
        self.agents.clear()


@frozen
class LangChain:
    """The middleware as an implementation; ``begin`` opens a thread on one of the two roads."""

    name: str
    capabilities: frozenset[Capability]
    begin: Callable[[Configuration, Host], Session]
    whole: "LangChain | None" = None

    def describe(self) -> Description:
        """Say what the middleware can do."""
        return Description(
            self.name,
            version("langchain"),
            capabilities=self.capabilities,
            before=BEFORE,
            failed_compressor="fails",
        )

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Begin a thread."""
        return self.begin(configuration, host)

    def whole_road(self) -> "LangChain | None":
        """The slower way that drives all of it, where this is the fast one."""
        return self.whole


def whole() -> LangChain:
    """Make the whole road: the agent with its store."""
    return LangChain("langchain (create_agent)", CAPABILITIES | {"model-step"}, AgentSession)


def implementation() -> LangChain:
    """Make the fast road, the hook and its reducer, with the whole one beside it."""
    return LangChain("langchain", CAPABILITIES, HookSession, whole())

"""LangChain's ``create_agent`` under the suite: its loop, its middleware hooks, its tools, its checkpointer in memory.

Importing this module needs ``langchain``.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import version
from itertools import count
from typing import Annotated, Any, cast
from warnings import catch_warnings, filterwarnings

from attrs import evolve, frozen
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt
from pydantic import create_model

from tercet_conformance.adapters.langchain import assistant_message, to_langchain, translated
from tercet_conformance.adapters.langchain_hooks import Blocked, HookFailed, Playing, hooked, tool_name
from tercet_conformance.interface import Cancelled, Host, LoopHost, ModelFailed, Refused, RunEnd, Session, Unsupported
from tercet_spec.agents import Agent, Request, Tool
from tercet_spec.vocabulary import Capability, Configuration, Description, Message, State, ToolCall

CAPABILITIES: frozenset[Capability] = frozenset(
    {
        "hooks",
        "tools",
        "writes",  # each middleware has a state schema, with the keys that are its own
        "input-blocks",  # a hook that raises: what PIIMiddleware calls to block
        "output-blocks",
        "suspends",
        "questions",  # interrupt(), in any hook
        "approvals",  # interrupt() in a tool wrapper: HumanInTheLoopMiddleware(interrupt_mode="per_call")
    }
)
"""What LangChain has a notion of, whether or not it keeps the rules of it.

It has none of prompt sections: ``dynamic_prompt`` puts one system prompt in the place of another. It keeps no usage
with the thread. Its ``SummarizationMiddleware`` is no wrapper, and its thread without the loop is another
implementation: neither trigger is declared.
"""
CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}, "max_concurrency": 1}
"""One thread, and one tool call after another: the order in which they run is that of the calls."""
UNAWAITED = "coroutine 'arun_with_retry' was never awaited"
"""What Python says of the tool calls that LangGraph still holds back when one before them fails the run."""


class Inline(ThreadPoolExecutor):
    """Does at once what is to be done in another thread: tracing goes there at each hook, even where it is off."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class LoopModel(BaseChatModel):
    """A chat model that is asked with the names of the tools that are bound to it."""

    ask: Callable[[Sequence[BaseMessage], tuple[str, ...]], AIMessage]
    cancel: Callable[[], object]

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **settings: Any
    ) -> ChatResult:
        tools = tuple(map(tool_name, settings.get("tools", ())))
        return ChatResult(generations=[ChatGeneration(message=self.ask(messages, tools))])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **settings: Any
    ) -> ChatResult:
        try:
            return self._generate(messages, stop, run_manager, **settings)
        except Cancelled:
            self.cancel()
        return cast("ChatResult", await asyncio.get_running_loop().create_future())

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **settings: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools as a provider's model does."""
        return self.bind(tools=tools, tool_choice=tool_choice, **settings)

    @property
    def _llm_type(self) -> str:
        return "host"


def made_tool(tool: Tool, host: LoopHost) -> BaseTool:
    """Make a tool that the host runs, with a schema of its required arguments."""

    async def run(tool_call_id: str, **arguments: str) -> Any:
        result = host.run_tool(ToolCall(tool_call_id, tool.name, json.dumps(arguments)))
        if result.kind == "success" and not result.update:
            return result.text
        if result.kind == "error":
            raise ToolException(result.text)
        if result.kind == "fatal":
            raise HookFailed(result.text)
        raise Unsupported("a tool of the suite's that writes, or needs approval")

    fields: dict[str, Any] = dict.fromkeys(tool.required, (str, ...))
    fields["tool_call_id"] = (Annotated[str, InjectedToolCallId], ...)
    return StructuredTool(
        name=tool.name,
        description=f"The tool {tool.name}.",
        args_schema=create_model(tool.name, **fields),
        coroutine=run,
        handle_tool_error=True,
    )


class AgentLoop:
    """One thread of an agent."""

    def __init__(self, agent: Agent, host: LoopHost) -> None:
        self.host = host
        self.ids = (f"h{number}" for number in count(1))
        keys = {key for middleware in agent.stack for key in middleware.writes}
        self.playing = Playing(host, tuple(sorted(keys)))
        self.saver = InMemorySaver()
        self.waiting: tuple[Interrupt, ...] = ()
        self.task: asyncio.Task[Any] | None = None
        try:
            self.agent = create_agent(
                LoopModel(ask=self.ask, cancel=self.cancel),
                [made_tool(tool, host) for tool in agent.tools],
                system_prompt=agent.prompt,
                middleware=[hooked(middleware, self.playing) for middleware in agent.stack],
                checkpointer=self.saver,
            )
        except (AssertionError, ValueError) as error:
            raise Refused((str(error),)) from error

    def ask(self, messages: Sequence[BaseMessage], tools: tuple[str, ...]) -> AIMessage:
        """Ask the host as the model."""
        system = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
        sent = translated(messages[1:] if system else messages)
        answer = self.host.ask_model(Request(str(system.text) if system else None, sent, tools))
        return assistant_message(evolve(answer, id=next(self.ids)))

    def run(self, message: Message) -> RunEnd:
        """Run with an input."""
        self.playing.begin()
        return self.go_on({"messages": [to_langchain(evolve(message, id=next(self.ids)))]})

    def resume(self, reply: str | None, approved: Sequence[bool]) -> RunEnd:
        """Go on with a reply, or with a decision on each call that waits."""
        self.playing.go_on()
        decisions = approved if reply is None else (reply,)
        return self.go_on(
            Command(resume={each.id: decision for each, decision in zip(self.waiting, decisions, strict=True)})
        )

    def go_on(self, given: Any) -> RunEnd:
        """Let the agent run until it ends or waits; what it raises beside the hooks' own errors passes through."""
        try:
            with catch_warnings():
                filterwarnings("ignore", UNAWAITED, RuntimeWarning)
                after = asyncio.run(self.invoke(given))
        except Blocked:
            return RunEnd("blocked")
        except (ModelFailed, HookFailed):
            return RunEnd("failed")
        except asyncio.CancelledError:
            return RunEnd("cancelled")
        return self.end(after.get("__interrupt__", ()))

    async def invoke(self, given: Any) -> Mapping[str, Any]:
        """Run the agent in a task that can be cancelled, and in one thread: it does the same each time."""
        asyncio.get_running_loop().set_default_executor(Inline())
        self.task = asyncio.current_task()
        return await self.agent.ainvoke(given, CONFIG)

    def cancel(self) -> None:
        """Cancel the run from outside, as whoever started it would."""
        assert self.task is not None
        self.task.cancel()

    def end(self, waiting: Sequence[Interrupt]) -> RunEnd:
        """Say how a run ended that raised nothing."""
        self.waiting = tuple(waiting)
        if not waiting:
            return RunEnd("finished")
        if "question" in waiting[0].value:
            return RunEnd("suspended", waiting[0].value["question"])
        waits = {each.value["call"]: each for each in waiting}
        calls = next(message.calls for message in reversed(self.state().history) if message.calls)
        places = tuple(place for place, call in enumerate(calls) if call.id in waits)
        self.waiting = tuple(waits[calls[place].id] for place in places)
        return RunEnd("suspended", waiting=places)

    def state(self) -> State:
        """Show the messages and keys of the latest checkpoint, which is what the next run goes on from.

        ``get_state`` of the agent shows besides what the finished tasks of a step that failed or waits wrote, and
        raises where two of them wrote one key.
        """
        saved = self.saver.get_tuple(CONFIG)
        values = saved.checkpoint["channel_values"] if saved else {}
        return State(translated(values.get("messages", ())), entries=self.playing.entries(values))


@frozen
class LangChainAgent:
    """The agent as an implementation."""

    def describe(self) -> Description:
        """Say what the agent can do."""
        return Description("langchain-agent", version("langchain"), capabilities=CAPABILITIES)

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Refuse a thread without a loop: the adapter ``langchain`` has that."""
        raise Unsupported("a thread without an agent's loop is what the adapter langchain drives")

    def open_loop(self, configuration: Configuration, agent: Agent, host: LoopHost) -> AgentLoop:
        """Begin a thread with an agent's loop over it; raises Refused, and Unsupported where the stack summarizes.

        ``SummarizationMiddleware`` has the hook ``before_model``, which runs before all wrappers wherever its
        middleware stands: it has no place among them.
        """
        if any(middleware.summarizes for middleware in agent.stack):
            raise Unsupported("SummarizationMiddleware is no wrapper: it has no place in a stack of them")
        return AgentLoop(agent, host)


def implementation() -> LangChainAgent:
    """Make the agent."""
    return LangChainAgent()

"""A host for runs of the reference's loop, with a scripted model, tools and compressor."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from attrs import Factory, define

from tercet import (
    TERCET,
    TERCET_FORMS,
    Agent,
    Approved,
    AskApproval,
    AskCompressor,
    AskQuestion,
    CallModel,
    Denied,
    Failed,
    Message,
    Middleware,
    RunTool,
    Stack,
    Success,
    Summarization,
    Thread,
    Tool,
    ToolCall,
    Trigger,
    Usage,
    begin,
)
from tercet.loop import Run
from tercet.tools import Outcome

NEVER = Summarization(TERCET, Trigger("messages", 1000))
MOST = 1000
LOOK, TAKE = Tool("look"), Tool("take")


def agent(*middleware: Middleware[Message], **settings: Any) -> Agent[Message]:
    return Agent(TERCET_FORMS, Stack(middleware), **{"tools": (LOOK, TAKE), **settings})


def thread(*contents: str, state: Mapping[str, Any] | None = None) -> Thread[Message]:
    return Thread(NEVER, state=state or {}).append(*(Message("user", content) for content in contents))


def says(content: str, *calls: str | ToolCall) -> Message:
    """Make an answer; a call is named by the tool it calls."""
    made = (call if isinstance(call, ToolCall) else ToolCall(f"call {n}", call) for n, call in enumerate(calls, 1))
    return Message("assistant", content, tuple(made))


def contents(thread: Thread[Message]) -> list[str]:
    return [message.content for message in thread.history]


@define
class Host:
    """Does what a run asks, and keeps what it was asked.

    ``model`` and ``compressor`` give what comes next: an answer or a text, or an Exception for a call that failed;
    ``tools`` gives the outcomes. Each call reports as many tokens as calls there were.
    """

    model: Iterator[Message | Exception] = Factory(lambda: iter(()))
    tools: Iterator[Outcome] = Factory(lambda: iter(()))
    compressor: Iterator[str | Exception] = Factory(lambda: iter(()))
    decide: Callable[[str], Approved | Denied] = lambda reason: Approved()
    calls: int = 0
    asked: list[Any] = Factory(list)

    def sent(self) -> list[list[str]]:
        """The texts of each request that the model was sent."""
        requests = [action.request for action in self.asked if isinstance(action, CallModel)]
        return [[message.content for message in request.sent(TERCET)] for request in requests]

    def of(self, kind: type) -> list[Any]:
        return [action for action in self.asked if isinstance(action, kind)]

    def usage(self) -> Usage:
        self.calls += 1
        return Usage(1, self.calls)

    def step(self, run: Run[Message]) -> Run[Message]:
        action = run.action
        self.asked.append(action)
        if isinstance(action, CallModel):
            answer = next(self.model)
            if isinstance(answer, Exception):
                return run.failed(str(answer), self.usage())
            return run.answered(answer, self.usage())
        if isinstance(action, AskCompressor):
            text = next(self.compressor)
            if isinstance(text, Exception):
                return run.failed(str(text), self.usage())
            return run.compressed(text, self.usage())
        if isinstance(action, AskQuestion):
            return run.replied(action.number, f"reply to {action.text}")
        if isinstance(action, RunTool):
            return run.returned(next(self.tools, Success(f"result of {action.call.name}")))
        assert isinstance(action, AskApproval)
        return run.settled({waiting.place: self.decide(waiting.reason) for waiting in action.waiting})

    def finish(self, run: Run[Message]) -> Run[Message]:
        for _ in range(MOST):
            if run.is_over:
                return run
            run = self.step(run)
        raise AssertionError(f"the run is not over after {MOST} actions")


def nothing(*_: object) -> None:
    """Return nothing, as a hook that forgot to."""


def played(
    agent: Agent[Message],
    thread: Thread[Message],
    *model: Message | Exception,
    tools: Iterable[Outcome] = (),
    compressor: Iterable[str | Exception] = (),
    decide: Callable[[str], Approved | Denied] = lambda reason: Approved(),
) -> tuple[Run[Message], Host]:
    """Run an agent on the input "input"; the model answers "output" where nothing else is left."""
    host = Host(chain(model, [says("output")]), iter(tools), iter(compressor), decide)
    return host.finish(begin(agent, thread, Message("user", "input"))), host


def problem(run: Run[Message]) -> str:
    assert isinstance(run.action, Failed)
    return run.action.problem

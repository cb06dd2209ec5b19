"""The loop does what a plain recursion would, that calls model and tools itself: one wrapper calls the next."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from loops import Host, agent
from scripts import Log, stacks
from tercet import (
    TERCET,
    Agent,
    Ask,
    AskCompressor,
    AskQuestion,
    Block,
    CallModel,
    Denied,
    Error,
    Fail,
    Fatal,
    Incoming,
    Message,
    ModelCall,
    ModelRequest,
    ModelResponse,
    NeedsApproval,
    Next,
    Outgoing,
    Passed,
    Question,
    RunTool,
    Success,
    Summarization,
    Thread,
    ToolCall,
    ToolUse,
    Trigger,
    begin,
)
from tercet.tools import Outcome
from test_reference_loop_going_on import hosted, scripted


class Ended(Exception):
    """The run failed or was blocked."""


@define
class Recursion:
    """Runs an agent by recursion, on what a host does; its thread is changed in place."""

    agent: Agent[Message]
    thread: Thread[Message]
    host: Host

    def run(self, message: Message) -> str:
        began = self.thread
        try:
            return self.turn(message)
        except Ended as ended:
            if str(ended) == "Blocked":
                self.thread = self.thread.back_to(began)
            return str(ended)

    def store(self, messages: Iterable[Message], update: Mapping[str, Any]) -> None:
        self.thread = evolve(self.thread.append(*messages), state={**self.thread.state, **update})

    def checked(self, middleware: Any, update: Mapping[str, Any], carried: Iterable[Mapping[str, Any]] = ()) -> None:
        for key, value in update.items():
            if key not in middleware.writes and not any(other.get(key, ...) == value for other in carried):
                raise Ended("Failed")

    def hook(self, hook: Any, seen: Any, *allowed: type) -> Any:
        try:
            answer = hook(seen)
        except Exception:
            raise Ended("Failed") from None
        if not isinstance(answer, allowed):
            raise Ended("Failed")
        return answer

    def passed(self, middleware: Any, hook: Any, seen: Any) -> Passed[Message]:
        answer = self.hook(hook, seen, Passed, Block)
        if isinstance(answer, Block):
            raise Ended("Blocked")
        self.checked(middleware, answer.update)
        passed: Passed[Message] = answer
        return passed

    def turn(self, message: Message) -> str:
        update: dict[str, Any] = {}
        for middleware in self.agent.stack.middleware:
            if middleware.before_agent:
                passed = self.passed(middleware, middleware.before_agent, Incoming(self.thread, message))
                message = passed.message or message
                update |= passed.update
        self.store([message], update)
        while (answer := self.step()).calls:
            self.tools(answer.calls)
        update = {}
        for middleware in reversed(self.agent.stack.middleware):
            if middleware.after_agent:
                update |= self.passed(middleware, middleware.after_agent, Outgoing(self.thread, answer)).update
        self.store([], update)
        return "Finished"

    def step(self) -> Message:
        texts = [self.agent.prompt or ""]
        left = 4 * self.agent.max_prompt_section_tokens
        for middleware in self.agent.stack.middleware:
            if middleware.section:
                text = self.hook(middleware.section, self.thread.state, str, Fail)
                if isinstance(text, Fail):
                    raise Ended("Failed")
                texts.append(text[: 4 * middleware.max_section_tokens][:left])
                left -= len(texts[-1])
        system = Message("system", "\n\n".join(filter(None, texts)))
        result = self.wrapped(0, ModelRequest(system, self.thread.history, (), self.agent.tool_names))
        if isinstance(result, Fail):
            raise Ended("Failed")
        self.store([result.message], result.update)
        return result.message

    def wrapped(self, place: int, request: ModelRequest[Message]) -> ModelResponse[Message] | Fail:
        if place == len(self.agent.stack.middleware):
            self.host.asked.append(CallModel(request))
            answer = next(self.host.model)
            self.thread = self.thread.fail(self.host.usage())
            return Fail(str(answer), "model") if isinstance(answer, Exception) else ModelResponse(answer)
        middleware = self.agent.stack.middleware[place]
        if not middleware.wrap_model:
            return self.wrapped(place + 1, request)
        results: list[Any] = []
        replies: list[Any] = []
        while True:
            call = ModelCall(self.thread, request, tuple(results), tuple(replies))
            try:
                move = middleware.wrap_model(call)
            except Exception:
                return Fail("raised")
            if isinstance(move, Next):
                results.append(self.wrapped(place + 1, move.request or request))
            elif isinstance(move, Question) and middleware.asks:
                self.host.asked.append(AskQuestion(middleware.id, 0, move.text))
                replies.append(f"reply to {move.text}")
            elif isinstance(move, Ask):
                self.host.asked.append(AskCompressor(move.messages, move.so_far))
                text = next(self.host.compressor)
                self.thread = self.thread.fail(self.host.usage())
                replies.append(text if isinstance(text, str) else Fail("compressor"))
            elif isinstance(move, Fail):
                return move
            elif isinstance(move, ModelResponse):
                self.checked(middleware, move.update, [r.update for r in results if isinstance(r, ModelResponse)])
                return move
            else:
                raise Ended("Failed")

    def tools(self, calls: tuple[ToolCall, ...]) -> None:
        outcomes = [self.called(call, approved=False) for call in calls]
        decisions = [self.host.decide(o.reason) if isinstance(o, NeedsApproval) else None for o in outcomes]
        for place, decision in enumerate(decisions):
            if isinstance(decision, Denied):
                outcomes[place] = Error(f"Denied: {decision.reason}")
            elif decision:
                outcomes[place] = self.called(calls[place], approved=True)
        if any(isinstance(outcome, NeedsApproval) for outcome in outcomes):
            raise Ended("Failed")
        update: dict[str, Any] = {}
        results = []
        for call, outcome in zip(calls, outcomes, strict=True):
            assert isinstance(outcome, (Success, Error))
            update |= outcome.update if isinstance(outcome, Success) else {}
            text = outcome.content if isinstance(outcome, Success) else outcome.text
            results.append(Message("tool", text, answers=(call.id,)))
        self.store(results, update)

    def called(self, call: ToolCall, *, approved: bool) -> Outcome:
        if call.name not in self.agent.tool_names:
            return Error(f"There is no tool {call.name!r}; the tools are 'look', 'take'.")
        outcome = self.use(0, call, approved)
        if isinstance(outcome, Fatal) or (approved and isinstance(outcome, NeedsApproval)):
            raise Ended("Failed")
        return outcome

    def use(self, place: int, call: ToolCall, approved: bool) -> Outcome:
        if place == len(self.agent.stack.middleware):
            self.host.asked.append(RunTool(0, call))
            return next(self.host.tools)
        middleware = self.agent.stack.middleware[place]
        if not middleware.wrap_tool:
            return self.use(place + 1, call, approved)
        outcomes: list[Outcome] = []
        while True:
            try:
                move = middleware.wrap_tool(ToolUse(self.thread, call, approved, tuple(outcomes)))
            except Exception:
                return Fatal("raised")
            if isinstance(move, Next):
                outcomes.append(self.use(place + 1, call, approved))
                continue
            if not isinstance(move, (Success, Error, NeedsApproval, Fatal)):
                raise Ended("Failed")
            if isinstance(move, Success):
                self.checked(middleware, move.update, [o.update for o in outcomes if isinstance(o, Success)])
            return move


def kinds(host: Host) -> list[str]:
    return [type(action).__name__ for action in host.asked if type(action).__name__ != "AskApproval"]


def compressed(host: Host) -> list[Any]:
    return [(action.messages, action.so_far) for action in host.of(AskCompressor)]


def shapes(log: Log) -> list[Any]:
    """What hooks saw, but for the words of failures."""
    return [(name, repr(seen).count("Fail("), repr(seen).count("Response(")) for name, seen in log]


@settings(max_examples=300, deadline=None)
@given(makers=stacks(), script=scripted(), limit=st.integers(2, 8), turns=st.integers(1, 4))
def test_the_loop_does_what_a_recursion_does(makers: Any, script: dict[str, Any], limit: int, turns: int) -> None:
    began = Thread(Summarization(TERCET, Trigger("messages", limit), keep_recent=2))
    logs: tuple[Log, Log] = ([], [])
    first, second = (agent(*(make(log) for make in makers), prompt="Be.", max_prompt_section_tokens=6) for log in logs)
    recursion, host, thread = Recursion(first, began, hosted(script)), hosted(script), began
    for turn in range(turns):
        message = Message("user", f"input {turn}")
        end = recursion.run(message)
        run = host.finish(begin(second, thread, message))
        thread = run.thread
        assert type(run.action).__name__ == end
        assert list(thread.history) == list(recursion.thread.history)
        assert thread.state == recursion.thread.state
        assert thread.usage == recursion.thread.usage
        assert kinds(host) == kinds(recursion.host)
        assert compressed(host) == compressed(recursion.host)
        assert host.sent() == recursion.host.sent()
        assert shapes(logs[0]) == shapes(logs[1])

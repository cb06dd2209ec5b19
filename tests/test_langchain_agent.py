"""LangChain's create_agent under the rules of hooks: each finding by its smallest scenario, and by LangChain alone."""

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NotRequired

import pytest

pytest.importorskip("langchain", reason="langchain is not installed")
pytest.importorskip("hypothesis", reason="Hypothesis is not installed")
from attrs import evolve, frozen
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.types import Command, interrupt

from tercet_conformance.adapters import langchain_agent as adapter
from tercet_conformance.adapters.langchain_agent import implementation
from tercet_conformance.agent_macros import agent_burst
from tercet_conformance.check import Plan, check
from tercet_conformance.driver import Run, run
from tercet_conformance.interface import Refused, Unsupported
from tercet_conformance.loading import load
from tercet_conformance.loops import ScriptedLoopHost
from tercet_conformance.repeating import difference
from tercet_conformance.requirements import needs
from tercet_conformance.search import BUDGETS, Budget
from tercet_conformance.suite import Suite, applicable
from tercet_conformance.verdicts import Verdict
from tercet_spec.agents import Agent, HookName, Middleware, ModelMove, Request, Result, Tool
from tercet_spec.judgement import findings
from tercet_spec.notation import DEFAULT
from tercet_spec.rules import RULES
from tercet_spec.scenarios import Answer, Move, Operation, Resume, RunAgent, Scenario, Script
from tercet_spec.trace import (
    InputSeen,
    ModelAsked,
    ModelWrapped,
    OutputSeen,
    RunBegun,
    RunEnded,
    ToolRun,
    ToolWrapped,
)
from tercet_spec.vocabulary import Entry, Message, ToolCall

DESCRIPTION = implementation().describe()
TOOLS = (Tool("look", ("q",)), Tool("act"))
NEXT, BLOCK, ASK = Move("next"), Move("fail"), Move("ask")
OWN = (Entry("own", "w1"),)
WRITE = Move("return", update=OWN)


def has(name: str, *hooks: HookName, asks: bool = False) -> Middleware:
    return Middleware(name, hooks, ("own",), asks=asks)


def does(middleware: str, hook: HookName, *moves: Move) -> Script:
    return Script(middleware, hook, moves)


def calls(*made: ToolCall) -> Answer:
    return Answer(Message("assistant", "", made))


def call(call_id: str = "x", name: str = "look", arguments: str = '{"q": "x"}') -> ToolCall:
    return ToolCall(call_id, name, arguments)


def runs(*scripts: Script, answers: Sequence[Answer] = (), results: Sequence[Result] = ()) -> RunAgent:
    return RunAgent(Message("user", "m1z"), scripts, (), tuple(answers), tuple(results))


def ran(stack: Sequence[Middleware], *operations: Operation, prompt: str | None = None) -> Run:
    scenario = Scenario(DEFAULT, operations, Agent(tuple(stack), TOOLS, prompt))
    assert needs(scenario) <= DESCRIPTION.capabilities
    done = run(implementation(), DESCRIPTION, scenario)
    assert done.diagnosis is None
    assert done.unsupported is None
    return done


def broken(done: Run) -> list[str]:
    """The rules that a run breaks, in the order in which it does."""
    found = findings(done.trace, applicable(RULES, DESCRIPTION))
    return list(dict.fromkeys(finding.rule.id.removeprefix("hooks.") for finding in found))


# What it keeps.

WRAPS = (has("a", "wrap_model"), has("b", "wrap_model"))
WRAPS_TOOLS = (has("a", "wrap_tool"), has("b", "wrap_tool"))
AROUND = (has("a", "before_agent", "after_agent"), has("b", "before_agent", "after_agent"))
TWICE = does("a", "wrap_model", NEXT, NEXT, Move("return", of=0))
KEPT: dict[str, tuple[Sequence[Middleware], Sequence[Operation]]] = {
    "nothing at all": ((), [runs(), runs()]),
    "hooks around the run nest": (AROUND, [runs(answers=[calls(call())])]),
    "wrappers nest": (WRAPS, [runs()]),
    "wrappers of tools nest": (WRAPS_TOOLS, [runs(answers=[calls(call("x"), call("y", "act"))])]),
    "an input is changed": (AROUND, [runs(does("a", "before_agent", Move(text="changed")))]),
    "an input hook writes": (
        (*AROUND, has("c", "wrap_model")),
        [runs(does("a", "before_agent", Move(update=OWN)))],
    ),
    "a request is rewritten": (WRAPS, [runs(does("a", "wrap_model", Move("next", "a note")))]),
    "a wrapper tries again": (WRAPS, [runs(TWICE)]),
    "a wrapper answers at once": (WRAPS, [runs(does("a", "wrap_model", Move("answer", "at once")))]),
    "a response is changed": (WRAPS, [runs(does("b", "wrap_model", NEXT, Move("return", "changed")))]),
    "the outermost wrapper writes": (WRAPS, [runs(does("a", "wrap_model", NEXT, WRITE))]),
    "a wrapper mends a failure": (
        WRAPS,
        [runs(does("a", "wrap_model", NEXT, NEXT, WRITE), answers=[Answer(failure="failed")])],
    ),
    "a wrapper's error fails the run": (WRAPS, [runs(does("a", "wrap_model", NEXT, Move("fail"))), runs()]),
    "the model fails": (WRAPS, [runs(answers=[Answer(failure="failed")]), runs()]),
    "the run is cancelled": (WRAPS, [runs(answers=[calls(call()), Answer(failure="cancelled")]), runs()]),
    "a call is denied": (WRAPS_TOOLS, [runs(does("a", "wrap_tool", Move("deny")), answers=[calls(call())])]),
    "a wrapper fails a call": (WRAPS_TOOLS, [runs(does("b", "wrap_tool", Move("fail")), answers=[calls(call())])]),
    "a tool runs again": (WRAPS_TOOLS, [runs(does("a", "wrap_tool", NEXT, NEXT), answers=[calls(call())])]),
    "no tool runs": (WRAPS_TOOLS, [runs(does("a", "wrap_tool", Move("answer", "r", OWN)), answers=[calls(call())])]),
    "a result is changed": (
        WRAPS_TOOLS,
        [runs(does("b", "wrap_tool", NEXT, Move("return", "changed", OWN)), answers=[calls(call())])],
    ),
    "a tool fails": (WRAPS_TOOLS, [runs(answers=[calls(call())], results=[Result("error", "broken")])]),
    "a tool fails the run": (
        WRAPS_TOOLS,
        [runs(answers=[calls(call("x"), call("y"), call("z"))], results=[Result("fatal", "gone")]), runs()],
    ),
    "calls that are not valid, and no wrapper": ((), [runs(answers=[calls(call(arguments="{}"), call("y", "no"))])]),
    "a tool that was filtered is called": (
        (*WRAPS, has("c", "wrap_tool")),
        [runs(does("a", "wrap_model", Move("next", tools=("look", "act"))), answers=[calls(call())])],
    ),
    "a question": (
        (has("a", "wrap_model", asks=True),),
        [runs(does("a", "wrap_model", ASK)), Resume("yes")],
    ),
    "an approval": ((has("a", "wrap_tool"),), [runs(does("a", "wrap_tool", ASK), answers=[calls(call())]), Resume()]),
    "approvals beside another call": (
        (has("a", "wrap_tool"),),
        [runs(does("a", "wrap_tool", ASK), answers=[calls(call("x"), call("y"))]), Resume()],
    ),
    "a decision against": (
        (has("a", "wrap_tool"),),
        [runs(does("a", "wrap_tool", ASK), answers=[calls(call())]), Resume(approved=(False,))],
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_it_keeps(name: str) -> None:
    stack, operations = KEPT[name]
    assert broken(ran(stack, *operations)) == []


# What it breaks, each with LangChain alone beneath it.


class Scripted(BaseChatModel):
    """A chat model with answers in order, and ``done`` after them."""

    answers: list[AIMessage]
    asked: list[list[BaseMessage]]

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **settings: Any
    ) -> ChatResult:
        self.asked.append(messages)
        answer = self.answers.pop(0) if self.answers else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **settings: Any) -> Any:
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


class Keyed(AgentState[Any]):
    """A state with a key of its own, and one more."""

    own: NotRequired[str]


class Named(AgentMiddleware[Any, Any]):
    """A middleware with a name and the key."""

    state_schema = Keyed

    def __init__(self, name: str = "only") -> None:
        super().__init__()
        self.tools = []
        self.called = name

    @property
    def name(self) -> str:
        return self.called


class Refusal(Exception):
    """A hook refuses."""


@tool
def look(q: str) -> str:
    """Look."""
    return f"looked for {q}"


CONFIG: RunnableConfig = {"configurable": {"thread_id": "1"}}


@frozen
class Alone:
    """LangChain's agent without the suite."""

    model: Scripted
    agent: Any

    def run(self, given: Any = "m1z") -> Any:
        return self.agent.invoke({"messages": [given]} if isinstance(given, str) else given, CONFIG)

    def values(self) -> dict[str, Any]:
        values: dict[str, Any] = self.agent.get_state(CONFIG).values
        return values

    def texts(self) -> list[str]:
        return [str(message.text) for message in self.values()["messages"]]


def alone(*middleware: AgentMiddleware[Any, Any], answers: Sequence[AIMessage] = ()) -> Alone:
    model = Scripted(answers=list(answers), asked=[])
    return Alone(model, create_agent(model, [look], middleware=list(middleware), checkpointer=InMemorySaver()))


CALLED = AIMessage("", tool_calls=[tool_call(name="look", args={"q": "x"}, id="x")])


def test_an_input_that_a_hook_refuses_stays_in_the_thread() -> None:
    stack = [has("a", "before_agent")]
    assert broken(ran(stack, runs(does("a", "before_agent", BLOCK)))) == ["input-block"]

    class Refuses(Named):
        def before_agent(self, state: Any, runtime: Any) -> None:
            if state["messages"][-1].text == "bad":
                raise Refusal

    agent = alone(Refuses())
    with pytest.raises(Refusal):
        agent.run("bad")
    agent.run("good")
    assert [str(message.text) for message in agent.model.asked[0]] == ["bad", "good"]


def test_an_output_that_a_hook_refuses_stays_in_the_thread_with_what_was_written() -> None:
    stack = [has("a", "before_agent", "after_agent")]
    done = ran(stack, runs(does("a", "before_agent", Move(update=OWN)), does("a", "after_agent", BLOCK)))
    assert broken(done) == ["output-block"]
    ended = done.trace.events[-1]
    assert isinstance(ended, RunEnded)
    assert [message.content for message in ended.shown.history] == ["m1z", "n1z"]
    assert ended.shown.entries == OWN

    class Refuses(Named):
        def after_agent(self, state: Any, runtime: Any) -> None:
            raise Refusal

    agent = alone(Refuses())
    with pytest.raises(Refusal):
        agent.run()
    assert agent.texts() == ["m1z", "done"]


@pytest.mark.parametrize("hook", ["before_agent", "after_agent", "wrap_model", "wrap_tool"])
def test_a_key_that_nobody_declares_is_left_out_in_silence(hook: HookName) -> None:
    other = (Entry("another's", "w1"),)
    moves = [NEXT, Move("return", update=other)] if "wrap" in hook else [Move(update=other)]
    done = ran([has("a", hook)], runs(does("a", hook, *moves), answers=[calls(call())]))
    assert broken(done) == ["writes"]
    ended = done.trace.events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.outcome, ended.shown.entries) == ("finished", ())


def test_a_key_of_another_middleware_is_written_by_anybody() -> None:
    stack = [Middleware("a", ("after_agent",)), Middleware("b", (), ("own",))]
    done = ran(stack, runs(does("a", "after_agent", Move(update=OWN))))
    assert broken(done) == ["writes"]
    ended = done.trace.events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.outcome, ended.shown.entries) == ("finished", OWN)


def test_an_output_hook_sees_what_the_one_before_it_wrote_which_is_left_open() -> None:
    assert broken(ran(AROUND, runs(does("b", "after_agent", Move(update=OWN))))) == []
    seen: list[str | None] = []

    class Writes(Named):
        def after_agent(self, state: Any, runtime: Any) -> dict[str, str]:
            seen.append(state.get("own"))
            return {"own": self.name}

    alone(Writes("outer"), Writes("inner")).run()
    assert seen == [None, "inner"]


def writing(value: str) -> AgentMiddleware[Any, Any]:
    class Writes(Named):
        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            return ExtendedModelResponse(handler(request), Command(update={"own": value}))

    return Writes(value)


def test_what_a_wrapper_within_wrote_is_hidden_and_kept_though_its_response_was_not() -> None:
    within = does("b", "wrap_model", NEXT, WRITE)
    done = ran(WRAPS, runs(does("a", "wrap_model", NEXT, Move("answer", "instead")), within))
    assert broken(done) == ["model-rewrite"]
    ended = done.trace.events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.shown.history[-1].content, ended.shown.entries) == ("instead", OWN)
    told: list[Any] = []

    class Instead(Named):
        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            told.append(handler(request))
            return AIMessage("instead")

    agent = alone(Instead(), writing("within"))
    agent.run()
    assert not hasattr(told[0], "command")
    assert (agent.texts()[-1], agent.values()["own"]) == ("instead", "within")


def test_the_first_response_is_kept_with_what_was_written_with_the_second() -> None:
    second = (Entry("own", "w2"),)
    within = does("b", "wrap_model", NEXT, WRITE, NEXT, Move("return", update=second))
    done = ran(WRAPS, runs(TWICE, within))
    assert broken(done) == ["model-rewrite"]
    ended = done.trace.events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.shown.history[-1].content, ended.shown.entries) == ("n1z", second)


def test_two_wrappers_that_write_one_key_fail_the_run() -> None:
    within = does("b", "wrap_model", NEXT, WRITE)
    outer = does("a", "wrap_model", NEXT, Move("return", update=(Entry("own", "w2"),)))
    done = ran(WRAPS, runs(outer, within))
    ended = done.trace.events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.outcome, len(ended.shown.history)) == ("failed", 1)
    assert "model-rewrite" in broken(done)
    with pytest.raises(InvalidUpdateError, match="'own'"):
        alone(writing("outer"), writing("within")).run()


def test_two_calls_that_write_one_key_fail_the_run() -> None:
    stack = [has("a", "wrap_tool")]
    second = Move("return", update=(Entry("own", "w2"),))
    writes = does("a", "wrap_tool", NEXT, WRITE, NEXT, second)
    done = ran(stack, runs(writes, answers=[calls(call("x"), call("y"))]))
    ended = done.trace.events[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.outcome, len(ended.shown.history)) == ("failed", 2)
    assert broken(done) == ["tool-outcomes"]


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (call(arguments="{}"), AIMessage("", tool_calls=[tool_call(name="look", args={}, id="x")])),
        (call(name="nothing"), AIMessage("", tool_calls=[tool_call(name="nothing", args={"q": "x"}, id="x")])),
    ],
)
def test_a_tool_wrapper_sees_a_call_that_is_not_valid(made: ToolCall, answer: AIMessage) -> None:
    assert broken(ran([has("a", "wrap_tool")], runs(answers=[calls(made)]))) == ["tool-validated"]
    seen: list[Any] = []

    class Wraps(Named):
        def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            seen.append(request.tool_call["id"])
            return handler(request)

    alone(Wraps(), answers=[answer]).run()
    assert seen == ["x"]


MALFORMED = AIMessage("", invalid_tool_calls=[invalid_tool_call(name="look", args="look", id="x")])


def test_an_answer_with_a_malformed_call_only_ends_the_run_and_the_next_run_answers_it() -> None:
    malformed = runs(answers=[calls(call(arguments="look"))])
    done = ran([], malformed)
    assert broken(done) == ["tool-validated"]
    assert isinstance(done.trace.events[-1], RunEnded)
    assert done.trace.events[-1].outcome == "finished"
    assert broken(ran([], malformed, runs())) == ["tool-validated", "tool-outcomes"]
    agent = alone(answers=[MALFORMED])
    agent.run()
    assert agent.texts() == ["m1z", ""]
    agent.run("m2z")
    assert [message.type for message in agent.values()["messages"]] == ["human", "ai", "tool", "human", "ai"]


def test_the_result_of_a_malformed_call_stands_before_those_of_earlier_calls() -> None:
    answer = calls(call("x"), call("y", arguments="look"))
    assert broken(ran([], runs(answers=[answer]))) == ["tool-outcomes"]
    both = AIMessage("", tool_calls=CALLED.tool_calls, invalid_tool_calls=MALFORMED.invalid_tool_calls)
    both.invalid_tool_calls[0]["id"] = "y"
    agent = alone(answers=[both])
    agent.run()
    results = [message for message in agent.values()["messages"] if message.type == "tool"]
    assert [message.tool_call_id for message in results] == ["y", "x"]


def test_any_wrapper_may_ask() -> None:
    assert broken(ran([has("a", "wrap_model")], runs(does("a", "wrap_model", ASK)))) == ["suspends"]


class Asks(Named):
    """A model wrapper that asks after the model was called."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        response = handler(request)
        interrupt("Go on?")
        return response


def test_a_reply_has_the_model_called_again() -> None:
    asks = [has("a", "wrap_model", asks=True)]
    done = ran(asks, runs(does("a", "wrap_model", NEXT, ASK)), Resume())
    assert broken(done) == ["suspends"]
    assert sum(isinstance(event, ModelAsked) for event in done.trace.events) == 2
    agent = alone(Asks())
    agent.run()
    agent.run(Command(resume="yes"))
    assert len(agent.model.asked) == 2


def test_a_reply_has_the_wrappers_around_it_called_again() -> None:
    asks = [has("a", "wrap_model"), has("b", "wrap_model", asks=True)]
    assert broken(ran(asks, runs(does("b", "wrap_model", ASK)), Resume())) == ["suspends"]
    called: list[str] = []

    class Around(Named):
        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            called.append(self.name)
            return handler(request)

    agent = alone(Around(), Asks("within"))
    agent.run()
    agent.run(Command(resume="yes"))
    assert called == ["only", "only"]


def test_a_call_is_approved_for_the_wrapper_that_asked_only() -> None:
    done = ran(WRAPS_TOOLS, runs(does("b", "wrap_tool", ASK), answers=[calls(call())]), Resume())
    assert broken(done) == ["tool-outcomes"]
    began = [event for event in done.trace.events if isinstance(event, ToolWrapped) and not event.results]
    assert [(event.middleware, event.approved) for event in began[2:]] == [("a", False), ("b", True)]
    called: list[str] = []

    class Around(Named):
        def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            called.append(self.name)
            return handler(request)

    class Approves(Named):
        def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            interrupt("May it?")
            return handler(request)

    agent = alone(Around(), Approves("within"), answers=[CALLED])
    agent.run()
    agent.run(Command(resume=True))
    assert called == ["only", "only"]


def test_a_decision_against_a_call_is_told_to_the_wrappers_around() -> None:
    asks = does("b", "wrap_tool", ASK)
    done = ran(WRAPS_TOOLS, runs(asks, answers=[calls(call())]), Resume(approved=(False,)))
    assert broken(done) == ["tool-outcomes"]
    told = [event.results for event in done.trace.events if isinstance(event, ToolWrapped) and event.middleware == "a"]
    assert told[-1] == (Result("error", "Denied: it costs"),)


def test_an_approved_call_may_be_asked_for_once_more() -> None:
    asks = does("a", "wrap_tool", ASK, ASK)
    done = ran([has("a", "wrap_tool")], runs(asks, answers=[calls(call())]), Resume())
    assert broken(done) == ["suspends"]
    assert isinstance(done.trace.events[-1], RunEnded)
    assert done.trace.events[-1].outcome == "suspended"


# The adapter.


def test_generated_runs_go_without_a_diagnosis() -> None:
    suite = Suite(implementation(), DESCRIPTION, applicable(RULES, DESCRIPTION))
    for seed in range(200):
        scenario = agent_burst(DESCRIPTION.capabilities, seed)
        assert needs(scenario) <= DESCRIPTION.capabilities
        done, _ = suite.judge(scenario)
        assert (seed, done.diagnosis, done.unsupported) == (seed, None, None)


def test_a_run_is_the_same_each_time() -> None:
    for seed in range(500, 530):
        scenario = agent_burst(DESCRIPTION.capabilities, seed)
        one, other = (run(implementation(), DESCRIPTION, scenario) for _ in range(2))
        assert difference(one, other) is None


def test_hooks_see_what_langchain_shows() -> None:
    stack = [has("a", "before_agent", "wrap_model", "wrap_tool", "after_agent")]
    note = does("a", "wrap_model", Move("next", "a note", tools=("act",)))
    done = ran(stack, runs(does("a", "before_agent", Move(update=OWN)), note, answers=[calls(call())]), prompt="Go.")
    events = [event for event in done.trace.events if not isinstance(event, RunBegun | RunEnded)][1:]
    kinds = [InputSeen, ModelWrapped, ModelAsked, ModelWrapped, ToolWrapped, ToolRun, ToolWrapped]
    assert [type(event) for event in events] == [*kinds, ModelWrapped, ModelAsked, ModelWrapped, OutputSeen]
    wrapped, asked = events[1], events[2]
    assert isinstance(wrapped, ModelWrapped)
    assert wrapped.request == Request("Go.", (Message("user", "m1z"),), ("look", "act"))
    assert wrapped.entries == OWN
    assert isinstance(asked, ModelAsked)
    assert asked.request == Request("Go.", (Message("user", "m1z"), Message("user", "a note")), ("look",))
    assert isinstance(events[5], ToolRun)
    assert events[5].call == call()


def test_a_rewritten_system_prompt_is_sent() -> None:
    class Prompts(ScriptedLoopHost):
        def wrap_model(self, *given: Any) -> ModelMove:
            _, request, responses, *_ = given
            asked = None if responses else evolve(request, system=f"{request.system} Slowly.")
            return ModelMove(asked, responses[-1] if responses else None)

    host = Prompts()
    agent = Agent((has("a", "wrap_model"),), TOOLS, "Go.")
    assert implementation().open_loop(DEFAULT, agent, host).run(Message("user", "m1z")).outcome == "finished"
    (asked,) = (event for event in host.events if isinstance(event, ModelAsked))
    assert asked.request.system == "Go. Slowly."


def test_a_tool_that_needs_approval_itself_is_unsupported() -> None:
    stack = [has("a", "before_agent")]
    operations = (runs(answers=[calls(call())], results=[Result("approval", "it costs")]),)
    done = run(implementation(), DESCRIPTION, Scenario(DEFAULT, operations, Agent(tuple(stack), TOOLS)))
    assert done.unsupported == "a tool of the suite's that writes, or needs approval"


def test_summarization_has_no_place_among_wrappers() -> None:
    agent = Agent((*WRAPS, Middleware("s", summarizes=True)), TOOLS)
    with pytest.raises(Unsupported, match="no wrapper"):
        implementation().open_loop(DEFAULT, agent, ScriptedLoopHost())


def test_a_thread_without_a_loop_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="adapter langchain"):
        implementation().open(DEFAULT, ScriptedLoopHost())


def test_two_middleware_of_one_name_are_refused() -> None:
    with pytest.raises(Refused, match="duplicate"):
        implementation().open_loop(DEFAULT, Agent((WRAPS[0], WRAPS[0]), TOOLS), ScriptedLoopHost())


def test_a_check_judges_the_rules_of_hooks_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "quick", Budget(40, 3, 3, 40))
    only = frozenset({"hooks.input-block", "hooks.sections", "hooks.model-usage", "cut.pairs", "trigger.fires"})
    report = check(load("langchain-agent"), Plan(budget="quick", only=only, shrinks=1))
    assert report.diagnoses == ()
    verdicts = {each.rule.id: each for each in report.verdicts}
    assert verdicts.pop("hooks.input-block").verdict is Verdict.FAIL
    assert {each.verdict for each in verdicts.values()} == {Verdict.NOT_APPLICABLE}
    (broken_rule,) = (each for each in report.verdicts if each.verdict is Verdict.FAIL)
    (example,) = broken_rule.counterexamples
    assert len(example.scenario.operations) == 1


def test_without_langchain_the_import_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, adapter.__name__)
    monkeypatch.setitem(sys.modules, "langchain.agents", None)
    with pytest.raises(ImportError, match="langchain"):
        importlib.import_module(adapter.__name__)

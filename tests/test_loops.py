"""An agent's loop under the suite: what is observed, what is diagnosed, how its scenarios are shrunk."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet_conformance.adapters.reference import Reference
from tercet_conformance.adapters.reference_by_loop import ReferenceByLoop
from tercet_conformance.agent_macros import agent_burst
from tercet_conformance.agent_reductions import smaller, weight
from tercet_conformance.driver import Run, run
from tercet_conformance.gallery.plain_loop import PlainLoop, PlainLoopImplementation
from tercet_conformance.gallery.wrong.hooks import AsksOnce
from tercet_conformance.interface import Cancelled, RunEnd
from tercet_conformance.requirements import needs
from tercet_conformance.search import generated_loops, generated_scenarios
from tercet_conformance.shrinking import shrink
from tercet_conformance.suite import Suite
from tercet_spec.agents import Agent, Middleware, Passed, Request, Response, Tool
from tercet_spec.judgement import judge
from tercet_spec.notation import DEFAULT
from tercet_spec.rules import BY_ID, RULES
from tercet_spec.runs import AgentRun, runs
from tercet_spec.scenarios import Answer, Move, Operation, Resume, RunAgent, Scenario, Script
from tercet_spec.trace import ModelAsked, OutputSeen, RunEnded, ToolRun
from tercet_spec.vocabulary import ALL_CAPABILITIES, Entry, Message, State, ToolCall

HOOKS = [rule for rule in RULES if rule.family == "hooks"]
INPUT = Message("user", "m1z")
CALLS = Answer(Message("assistant", "", (ToolCall("x", "look", '{"q": "x"}'),)))
LOOK = Tool("look", ("q",))


def scenario(*operations: Operation, stack: Sequence[Middleware] = (), tools: Sequence[Tool] = (LOOK,)) -> Scenario:
    return Scenario(DEFAULT, operations, Agent(tuple(stack), tuple(tools)))


def ran(loop: type[PlainLoop], asked: Scenario) -> Run:
    implementation = PlainLoopImplementation(loop.__name__, loop)
    return run(implementation, implementation.describe(), asked)


def problem(loop: type[PlainLoop], asked: Scenario | None = None) -> str:
    diagnosis = ran(loop, asked or scenario(RunAgent(INPUT), stack=[Middleware("a", ("wrap_model",))])).diagnosis
    assert diagnosis is not None
    return diagnosis.problem


def test_a_run_without_hooks_asks_the_model_and_runs_the_tools() -> None:
    events = ran(PlainLoop, scenario(RunAgent(INPUT, answers=(CALLS,)))).trace.events
    kinds = [type(event) for event in events if isinstance(event, ModelAsked | ToolRun | RunEnded)]
    assert kinds == [ModelAsked, ToolRun, ModelAsked, RunEnded]
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert [message.role for message in ended.shown.history] == ["user", "assistant", "tool", "assistant"]


def test_a_run_that_waits_goes_on_with_what_was_decided() -> None:
    asks = Script("a", "wrap_tool", (Move("ask", "it costs"),))
    stack = [Middleware("a", ("wrap_tool",))]
    for approved, content in ((True, "r1z"), (False, "Denied: it costs")):
        asked = scenario(RunAgent(INPUT, (asks,), answers=(CALLS,)), Resume(approved=(approved,)), stack=stack)
        ended = [event for event in ran(PlainLoop, asked).trace.events if isinstance(event, RunEnded)]
        assert [end.outcome for end in ended] == ["suspended", "finished"]
        assert ended[-1].shown.history[2].content == content


def test_where_none_waits_nothing_goes_on_and_where_one_waits_none_begins() -> None:
    asks = Script("a", "wrap_model", (Move("ask", "Go on?"),))
    stack = [Middleware("a", ("wrap_model",), asks=True)]
    begun = RunAgent(INPUT, (asks,))
    events = ran(PlainLoop, scenario(Resume(), begun, begun, Resume(), Resume(), stack=stack)).trace.events
    assert [event.outcome for event in events if isinstance(event, RunEnded)] == ["suspended", "finished"]


def test_a_trace_is_divided_into_runs() -> None:
    trace = ran(PlainLoop, scenario(RunAgent(INPUT), RunAgent(INPUT))).trace
    happened: Any = [event for event in trace.events if not hasattr(event, "configuration")]
    assert [each.number for each in runs(trace.description, Agent(), happened)] == [0, 1]
    assert list(runs(trace.description, Agent(), ())) == []


def test_what_breaks_off_leaves_no_course() -> None:
    trace = ran(PlainLoop, scenario(RunAgent(INPUT, answers=(CALLS,)))).trace
    for length in range(1, len(trace.events)):
        assert judge(evolve(trace, events=trace.events[:length]), HOOKS).findings == ()


class Raising(PlainLoop):
    def run(self, message: Message) -> RunEnd:
        raise RuntimeError("offline")


class ReturningNothing(PlainLoop):
    def run(self, message: Message) -> Any:
        return None


class EndingOddly(PlainLoop):
    def run(self, message: Message) -> RunEnd:
        return RunEnd("done")  # type: ignore[arg-type]


class FailingUnasked(PlainLoop):
    def run(self, message: Message) -> RunEnd:
        return RunEnd("failed")


class AskingNobody(PlainLoop):
    def run(self, message: Message) -> RunEnd:
        self.host.wrap_model("SummarizationMiddleware", Request(None, (), ()), (), (), ())
        return RunEnd("finished")


class AskingWithGarbage(PlainLoop):
    def run(self, message: Message) -> RunEnd:
        self.host.wrap_model("a", "a request", (), (), ())  # type: ignore[arg-type]
        return RunEnd("finished")


class RespondingWithGarbage(PlainLoop):
    def run(self, message: Message) -> RunEnd:
        request = Request(None, (), ())
        self.host.wrap_model("a", request, [Response("text")], (), ())  # type: ignore[arg-type]
        return RunEnd("finished")


class Swallowing(PlainLoop):
    def run(self, message: Message) -> RunEnd:
        try:
            self.host.section("a", [("k", 1)])  # type: ignore[arg-type]
        except Exception:
            return RunEnd("finished")
        raise AssertionError("garbage is refused")


class AskingLate(PlainLoop):
    def state(self) -> State:
        self.host.before_agent("a", INPUT, ())
        return super().state()


class ShowingNumbers(PlainLoop):
    def state(self) -> State:
        return evolve(super().state(), entries=(Entry("k", 1),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        (Raising, "raised RuntimeError: offline"),
        (ReturningNothing, "the run returned None; it returns a RunEnd"),
        (EndingOddly, "the run ended as 'done'; it is one of finished, blocked, failed, cancelled, suspended"),
        (FailingUnasked, "the run is failed where nothing was scripted that ends it so"),
        (AskingNobody, "host.wrap_model was asked of 'SummarizationMiddleware'; in the stack there is a"),
        (AskingWithGarbage, "host.wrap_model was given 'a request': Expected `object`, got `str`"),
        (RespondingWithGarbage, "host.wrap_model was given"),
        (Swallowing, "a hook was given"),
        (AskingLate, "host.before_agent was asked when no run was under way; hooks are asked within a run only"),
        (ShowingNumbers, "state showed the entries"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_what_cannot_be_read_is_diagnosed(loop: type[PlainLoop], said: str) -> None:
    assert said in problem(loop)


def test_a_loop_without_the_methods_of_one_is_diagnosed() -> None:
    class Odd(PlainLoopImplementation):
        def open_loop(self, *_: object) -> Any:
            return object()

    implementation = Odd("odd", PlainLoop)
    diagnosis = run(implementation, implementation.describe(), scenario(RunAgent(INPUT))).diagnosis
    assert diagnosis is not None
    assert diagnosis.problem == "open_loop returned object, which has no run and no state and no resume"


def test_a_cancellation_may_pass_through_a_run() -> None:
    class Passing(PlainLoop):
        def run(self, message: Message) -> RunEnd:
            raise Cancelled

    asked = scenario(RunAgent(INPUT, answers=(Answer(failure="cancelled"),)))
    events = ran(Passing, asked).trace.events
    assert isinstance(events[-1], RunEnded)
    assert events[-1].outcome == "cancelled"


def test_a_hook_cannot_change_what_is_recorded() -> None:
    class Changing(PlainLoop):
        def leave(self, answer: Message) -> None:
            entries = [Entry("own", "as it was")]
            passed = self.host.after_agent("a", answer, entries)  # type: ignore[arg-type]
            entries.clear()
            assert passed == Passed()

    asked = scenario(RunAgent(INPUT), stack=[Middleware("a", ("after_agent",))])
    seen = [event for event in ran(Changing, asked).trace.events if isinstance(event, OutputSeen)]
    assert seen[0].entries == (Entry("own", "as it was"),)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sets(st.sampled_from(sorted(ALL_CAPABILITIES - {"hooks"}))))
def test_nothing_is_generated_that_is_not_declared(seed: int, lacking: set[Any]) -> None:
    capabilities = ALL_CAPABILITIES - lacking
    assert needs(agent_burst(capabilities, seed)) <= capabilities | {"message-trigger"}


def test_no_loop_is_generated_for_those_who_have_none() -> None:
    assert list(generated_loops(ALL_CAPABILITIES - {"hooks"}, 10, 0)) == []
    assert len(list(generated_loops(ALL_CAPABILITIES, 10, 0))) == 10


def test_the_reference_s_loop_summarises_as_the_reference_does() -> None:
    direct, by_loop = Reference(), ReferenceByLoop()
    description = direct.describe()
    for asked in generated_scenarios(description.capabilities, 200, 5):
        one, other = (run(each, description, asked) for each in (direct, by_loop))
        assert one.diagnosis is None
        assert one.trace.events == other.trace.events


Fault = Callable[[AgentRun], bool]
FAULTS: dict[str, Fault] = {
    "a retry": lambda run: any(len(e.responses) > 1 for e in run.events if hasattr(e, "responses")),
    "a denial": lambda run: any(getattr(getattr(e, "move", None), "result", None) is not None for e in run.events),
    "a block": lambda run: run.ended is not None and run.ended.outcome == "blocked",
    "a result": lambda run: any(isinstance(e, ToolRun) and e.result.kind == "success" for e in run.events),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_nothing_more_can_be_taken_away(fault: Fault) -> None:
    implementation = PlainLoopImplementation("plain", PlainLoop)
    suite = Suite(implementation, implementation.describe(), ())

    def shows(asked: Scenario) -> bool:
        trace = suite.run(asked).trace
        happened: Any = [event for event in trace.events if not hasattr(event, "configuration")]
        return asked.agent is not None and any(map(fault, runs(trace.description, asked.agent, happened)))

    found = [each for each in generated_loops(suite.capabilities, 60, 9) if shows(each)][:3]
    assert found
    for each in found:
        small = shrink(each, shows)
        assert shows(small)
        assert [other for other in smaller(small) if weight(other) < weight(small) and shows(other)] == []


def test_a_shrunk_loop_still_breaks_its_rule_and_holds_little_else() -> None:
    implementation = PlainLoopImplementation("asks-once", AsksOnce)
    rule = BY_ID["hooks.model-rewrite"]
    suite = Suite(implementation, implementation.describe(), (rule,))
    found = next(each for each in generated_loops(suite.capabilities, 300, 0) if suite.breaks(each, rule))
    small = shrink(found, lambda each: suite.breaks(each, rule))
    assert suite.breaks(small, rule)
    assert sum(len(operation.scripts) for operation in small.operations if isinstance(operation, RunAgent)) <= 1

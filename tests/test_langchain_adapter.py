"""LangChain's middleware as an implementation, on both roads, and LangChain's messages as a dialect."""

import importlib
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("langchain", reason="langchain is not installed")
hypothesis = pytest.importorskip("hypothesis", reason="Hypothesis is not installed")
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from langchain.agents.middleware import SummarizationMiddleware  # noqa: E402
from langchain_core.messages import (  # noqa: E402
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from tercet import Ask, Send, Summarization, decide  # noqa: E402
from tercet.integrations.langchain import LANGCHAIN  # noqa: E402
from tercet_conformance.adapters import langchain as adapter  # noqa: E402
from tercet_conformance.adapters.langchain import (  # noqa: E402
    BEFORE,
    LangChain,
    from_langchain,
    implementation,
    to_langchain,
    whole,
)
from tercet_conformance.driver import Run, run  # noqa: E402
from tercet_conformance.hosts import ScriptedHost  # noqa: E402
from tercet_conformance.interface import (  # noqa: E402
    Cancelled,
    CompressorFailed,
    ModelFailed,
    Refused,
    Suspended,
    Unsupported,
)
from tercet_spec.notation import parse, scenario_of  # noqa: E402
from tercet_spec.scenarios import Append, Scenario, Step  # noqa: E402
from tercet_spec.trace import Appended, Event, Requested, StepBegun, StepEnded, Summarized  # noqa: E402
from tercet_spec.vocabulary import Configuration, Message, ToolCall, Trigger  # noqa: E402

Make = Callable[[], LangChain]
ROADS = pytest.mark.parametrize("make", [implementation, whole])
CONFIGURATION = Configuration(Trigger("messages", 4), keep_recent=2)
LINES = (
    "limit 5 keep 3: u a(x) a(y) t(x) t(y) u",
    "limit 5 keep 3: u a step u a step u a step u a step",
    "limit 4 keep 1 system: u a u step u a u step u a u",
    "limit 30 tokens keep 2: u:100 a step a(x) t(x) u step u",
    "limit 60 tokens keep 2 counter 3+/3: u a u a u step u:80 step u",
    "limit 4 keep 2: s u a u a u",
    "limit 4 keep 2: u a(x,x) t(x) t(x) t(x) u step[a(x,'')] t('') t(z) u:0 a:0 u:3",
    "limit 4 keep 2: u a(-) u a u step",
    "limit 6 keep 2: u a(c) t(c) u a(c) t(c) u step a(c) u t(c) step t(c) step",
    "limit 9 keep 2: u a u a(x) u u configure[limit 3 keep 1] u",
    "limit 4 keep 2: u step[a(x,y)] t(x) t(y) step[a(x)] t(x) step",
    "limit 3 keep 1: u a(x) t(x) a(y) t(y) step u step",
    "limit 4 keep 2: u a u a u step[S fails] step[S blank] step u step[S cancelled] step",
    "limit 4 keep 2: u a u a u step[a fails] step u step[a cancelled] step[a suspended] u step",
    "limit 0 keep 3: u",
    "limit 3 keep 0: u",
)


def run_line(make: Make, line: str) -> Run:
    road = make()
    return run(road, road.describe(), scenario_of(parse(line)))


def without_random_ids(events: Sequence[Event]) -> str:
    """Write events with the ids that LangChain draws numbered in the order in which they appear."""
    text = "\n".join(map(repr, events))
    drawn = dict.fromkeys(re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text))
    for number, random_id in enumerate(drawn, 1):
        text = text.replace(random_id, f"drawn {number}")
    return text


@pytest.mark.parametrize("line", LINES)
def test_both_roads_give_the_same_trace(line: str) -> None:
    fast, agent = run_line(implementation, line), run_line(whole, line)
    assert fast.diagnosis == agent.diagnosis
    assert without_random_ids(fast.trace.events) == without_random_ids(agent.trace.events)


TEXTS = st.text(st.characters(), max_size=5)
ARGUMENTS = st.one_of(
    st.sampled_from(['{"q": "m1z"}', '{"q":"m1z"}', "{}", "", "[]", "null", '{"a": 1, "a": 2}', '{"a": NaN}', "{" * 9]),
    TEXTS,
    TEXTS.map(lambda text: '{"q": "' + text + '"}'),
)
IDS = st.sampled_from(["", "call_0", "x"])
CALLS = st.lists(st.builds(ToolCall, st.none() | IDS, TEXTS, ARGUMENTS), max_size=4).map(tuple)
STORED = st.none() | st.sampled_from(["h1", "h2"])
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), TEXTS, id=STORED),
    st.builds(Message, st.just("assistant"), TEXTS, CALLS, id=STORED),
    st.builds(Message, st.just("tool"), TEXTS, answers=st.tuples(IDS), id=STORED),
)


@given(MESSAGES)
def test_translation_there_and_back(message: Message) -> None:
    assert from_langchain(to_langchain(message)) == message


def test_a_call_with_an_object_for_its_arguments_is_valid_and_any_other_invalid() -> None:
    calls = (ToolCall("x", "f", '{"q": 1}'), ToolCall("y", "g", "{"))
    made = to_langchain(Message("assistant", "", calls))
    assert isinstance(made, AIMessage)
    assert made.tool_calls == [{"name": "f", "args": {"q": 1}, "id": "x", "type": "tool_call"}]
    assert [call["id"] for call in made.invalid_tool_calls] == ["y"]
    assert not made.additional_kwargs


def test_what_a_library_changed_in_a_call_is_seen() -> None:
    made = to_langchain(Message("assistant", "", (ToolCall("x", "f", '{"q":1}'),)))
    assert isinstance(made, AIMessage)
    made.tool_calls[0]["args"] = {}
    assert from_langchain(made).calls == (ToolCall("x", "f", "{}"),)


@pytest.mark.parametrize("answers", [(), ("x", "y"), (None,)])
def test_a_result_that_langchain_cannot_hold_is_unsupported(answers: tuple[str | None, ...]) -> None:
    with pytest.raises(Unsupported, match="answers one call id"):
        to_langchain(Message("tool", "", answers=answers))


def test_content_blocks_are_read_as_their_text() -> None:
    assert from_langchain(HumanMessage(["a", {"type": "text", "text": "b"}])).content == "ab"


@ROADS
def test_the_hook_of_the_library_is_what_runs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    hook = SummarizationMiddleware.before_model

    def counted(self: SummarizationMiddleware[Any, Any], state: Any, runtime: Any) -> dict[str, Any] | None:
        sizes.append(len(state["messages"]))
        return hook(self, state, runtime)

    monkeypatch.setattr(SummarizationMiddleware, "before_model", counted)
    run_line(make, "limit 4 keep 2: u a step u step u")
    assert sizes == [2, 4, 5]


@ROADS
def test_stored_ids_are_langchains_and_the_stored_summary_is_shown_as_it_is_stored(make: Make) -> None:
    events = run_line(make, "limit 4 keep 2: u a u a u step").trace.events
    appended = next(event for event in events if isinstance(event, Appended))
    requested = next(event for event in events if isinstance(event, Requested))
    ended = next(event for event in events if isinstance(event, StepEnded))
    assert [message.id for message in appended.messages] == ["h1", "h2", "h3", "h4", "h5"]
    summary, *kept = requested.request
    assert summary.role == "user"
    assert summary.content == BEFORE + "k1zxxxxxxxxx"
    assert [message.id for message in kept] == ["h4", "h5"]
    assert ended.shown.history == (*requested.request, Message("assistant", "n1z", id="h6"))
    assert ended.answer_id == "h6"
    assert ended.shown.summary is None


@ROADS
def test_proposed_ids_are_kept(make: Make) -> None:
    session = make().open(CONFIGURATION, ScriptedHost())
    assert session.append([Message("user", "a", id="mine"), Message("user", "b")]) == ["mine", "h1"]


@ROADS
def test_the_system_prompt_is_sent_first_and_not_stored(make: Make) -> None:
    road = make()
    events = run(
        road,
        road.describe(),
        Scenario(CONFIGURATION, (Append((Message("user", "a"),)), Step("one"), Step("two"), Step(None))),
    ).trace.events
    first = [event.request[0].content for event in events if isinstance(event, Requested)]
    assert first == ["one", "two", "a"]
    assert all(
        message.role != "system" for event in events if isinstance(event, StepEnded) for message in event.shown.history
    )


class Raising(ScriptedHost):
    """A host whose compressor or model raises."""

    def __init__(self, where: str, error: BaseException) -> None:
        super().__init__()
        self.where, self.error = where, error

    def summarize(self, given: Sequence[Message], so_far: str | None = None) -> str:
        if self.where == "summarize":
            self.asked += 1
            raise self.error
        return super().summarize(given, so_far)

    def answer(self, request: Sequence[Message]) -> Message:
        if self.where == "answer":
            self.answered += 1
            raise self.error
        return super().answer(request)


@ROADS
@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("summarize", CompressorFailed("no text")),
        ("summarize", Cancelled()),
        ("answer", ModelFailed("no answer")),
        ("answer", Suspended()),
        ("answer", Cancelled()),
    ],
)
def test_failures_pass_through_at_once(
    make: Make, where: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps: list[float] = []
    monkeypatch.setattr(time, "sleep", naps.append)
    host = Raising(where, error)
    session = make().open(CONFIGURATION, host)
    session.append([Message("user", f"m{number}z") for number in range(6)])
    with pytest.raises(type(error)) as raised:
        session.step(None, (), ())
    assert raised.value is error
    assert (host.asked, host.answered) == ((1, 0) if where == "summarize" else (1, 1))
    assert naps == []


def test_the_agent_runs_no_tools() -> None:
    session = whole().open(CONFIGURATION, ScriptedHost())
    assert isinstance(session, adapter.AgentSession)
    host = session.player.host
    assert isinstance(host, ScriptedHost)
    (step,) = (
        operation
        for operation in scenario_of(parse("limit 9 keep 2: step[a(x,y)]")).operations
        if isinstance(operation, Step)
    )
    host.answers = list(step.answers)
    session.append([Message("user", "m1z")])
    session.step(None, (), ())
    assert host.answered == 1
    assert [call.id for call in session.state().history[-1].calls] == ["x", "y"]
    assert session.agent().get_state(session.config).next == ()


@ROADS
@pytest.mark.parametrize(
    "configuration",
    [
        Configuration(Trigger("messages", 0), keep_recent=2),
        Configuration(Trigger("tokens", -1), keep_recent=2),
        Configuration(Trigger("characters", 9), keep_recent=2),
        Configuration(Trigger("messages", 4), keep_recent=0),
    ],
)
def test_an_invalid_configuration_is_refused(make: Make, configuration: Configuration) -> None:
    with pytest.raises(Refused) as refused:
        make().open(configuration, ScriptedHost())
    assert refused.value.problems
    session = make().open(CONFIGURATION, ScriptedHost())
    with pytest.raises(Refused):
        session.configure(configuration)
    session.append([Message("user", "m1z")])
    assert session.step(None, (), ()).outcome == "committed"


@pytest.mark.parametrize("content", ["\ud83d", "text\ude00"])
def test_half_a_character_is_unsupported_where_a_checkpoint_would_change_it(content: str) -> None:
    road = adapter.whole()
    halved, whole = (
        Scenario(Configuration(Trigger("messages", 9), keep_recent=1), (Append((Message("user", text),)),))
        for text in (content, "😀")
    )
    assert run(road, road.describe(), halved).unsupported == "a checkpoint cannot hold half a character"
    assert run(road, road.describe(), whole).unsupported is None


def test_half_a_character_breaks_nothing_on_the_fast_road() -> None:
    road = implementation()
    halved = Message("assistant", "m1z\ud83d", (ToolCall("x", arguments='{"q": "\udc00"}'),))
    scenario = Scenario(
        Configuration(Trigger("tokens", 2), keep_recent=1), (Append((Message("user", "m0z"), halved)), Step("\ud83d"))
    )
    result = run(road, road.describe(), scenario)
    assert result.diagnosis is None
    begun = next(event for event in result.trace.events if isinstance(event, StepBegun))
    assert begun.shown.history[1].equals(halved)
    assert any(isinstance(event, Summarized) for event in result.trace.events)


def test_only_the_whole_road_has_the_model_step() -> None:
    fast, agent = implementation().describe(), whole().describe()
    assert agent.capabilities - fast.capabilities == {"model-step"}
    assert fast.version == agent.version == importlib.import_module("langchain").__version__


def test_without_langchain_the_import_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, adapter.__name__)
    monkeypatch.setitem(sys.modules, "langchain.agents", None)
    with pytest.raises(ImportError, match="langchain"):
        importlib.import_module(adapter.__name__)


def test_the_dialect_reads_langchains_messages() -> None:
    calls = [{"name": "f", "args": {"q": "é"}, "id": "x"}]
    invalid = [{"name": "g", "args": "{", "id": "y", "error": None}]
    message = AIMessage("hi", tool_calls=calls, invalid_tool_calls=invalid, id="a")
    assert LANGCHAIN.id(message) == "a"
    assert LANGCHAIN.calls(message) == ["x", "y"]
    assert LANGCHAIN.texts(message) == ["hi", "f", '{"q": "é"}', "g", "{"]
    assert LANGCHAIN.answers(ToolMessage("r", tool_call_id="x")) == ["x"]
    assert not LANGCHAIN.answers(message)
    assert not LANGCHAIN.calls(HumanMessage("hi"))
    assert LANGCHAIN.texts(HumanMessage(["a", {"type": "text", "text": "b"}])) == ["ab"]
    kinds = [
        SystemMessage(""),
        HumanMessage(""),
        message,
        AIMessageChunk(content=""),
        ToolMessage("", tool_call_id="x"),
    ]
    assert [LANGCHAIN.role(kind) for kind in kinds] == ["system", "user", "assistant", "assistant", "tool"]


def test_the_reference_sends_langchains_very_own_objects() -> None:
    history: list[BaseMessage] = [
        HumanMessage("one", id="1"),
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "x"}], id="2"),
        ToolMessage("r", tool_call_id="x", id="3"),
        HumanMessage("two", id="4"),
    ]
    summarization = Summarization(LANGCHAIN, Trigger("messages", 3), keep_recent=2)
    ask = decide(summarization, history, system=SystemMessage("prompt"))
    assert isinstance(ask, Ask)
    assert all(given is stored for given, stored in zip(ask.messages, history[:1], strict=True))
    send = ask.answer("what was said")
    assert isinstance(send, Send)
    assert isinstance(send.request[1], HumanMessage)
    assert all(sent is stored for sent, stored in zip(send.request[2:], history[1:], strict=True))

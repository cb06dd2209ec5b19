"""Middleware whose hooks do what a script says: pure functions of what they see, that keep what they saw in a log."""

from collections.abc import Callable
from typing import Any, cast

from attrs import evolve
from hypothesis import strategies as st

from loops import says
from tercet import (
    SUMMARIZATION,
    TERCET,
    Block,
    Error,
    Fail,
    Fatal,
    Message,
    Middleware,
    ModelCall,
    ModelResponse,
    NeedsApproval,
    Next,
    Passed,
    Question,
    Success,
    ToolUse,
    Unstored,
)

Log = list[tuple[Any, ...]]
NOTE = Message("user", "note")


def came(call: ModelCall[Message]) -> Any:
    return call.results[-1] if call.results else Next()


def rewriting(call: ModelCall[Message]) -> Any:
    notes = (*call.request.notes, Unstored(NOTE, None))
    return call.results[-1] if call.results else Next(evolve(call.request, notes=notes, tools=call.request.tools[:1]))


def replacing(call: ModelCall[Message]) -> Any:
    messages = [*call.request.messages[-2:], NOTE]
    return call.results[-1] if call.results else Next(evolve(call.request, messages=messages))


def retrying(call: ModelCall[Message]) -> Any:
    if not call.results or (isinstance(call.results[-1], Fail) and len(call.results) < 3):
        return Next()
    return call.results[-1]


def twice(call: ModelCall[Message]) -> Any:
    return call.results[0] if len(call.results) == 2 else Next()


def falling_back(call: ModelCall[Message]) -> Any:
    return ModelResponse(says("fallback")) if call.results and isinstance(call.results[-1], Fail) else came(call)


def short(call: ModelCall[Message]) -> Any:
    length = len(call.thread.history)
    return ModelResponse(says("short", *["look"] * (length % 4 == 1))) if length % 4 < 2 else came(call)


def asking(call: ModelCall[Message]) -> Any:
    if len(call.replies) < (2 if call.results else 1):
        return Question(f"{len(call.results)}?")
    response = came(call)
    if isinstance(response, ModelResponse):
        return evolve(response, message=evolve(response.message, content=f"{call.replies} {response.message.content}"))
    return response


def failing(call: ModelCall[Message]) -> Any:
    return Fail("scripted") if len(call.results) == len(call.thread.history) % 2 else came(call)


def raising(seen: Any) -> Any:
    raise ValueError("scripted")


def nothing(seen: Any) -> Any:
    return None


def writing(key: str) -> Callable[[ModelCall[Message]], Any]:
    def wrap(call: ModelCall[Message]) -> Any:
        response = came(call)
        if isinstance(response, ModelResponse):
            return evolve(response, update={**response.update, key: ("at", len(call.thread.history))})
        return response

    return wrap


def use_came(use: ToolUse[Message]) -> Any:
    return use.outcomes[-1] if use.outcomes else Next()


def denying(use: ToolUse[Message]) -> Any:
    return Error("Denied: scripted") if use.call.name == "take" else use_came(use)


def needing(use: ToolUse[Message]) -> Any:
    return NeedsApproval(f"scripted {use.call.id}") if not use.approved and use.call.id != "call 1" else use_came(use)


def always_needing(use: ToolUse[Message]) -> Any:
    return NeedsApproval("always")


def tool_retrying(use: ToolUse[Message]) -> Any:
    if not use.outcomes or (isinstance(use.outcomes[-1], Error) and len(use.outcomes) < 2):
        return Next()
    return use.outcomes[-1]


def tool_turning(use: ToolUse[Message]) -> Any:
    return Success("turned") if use.outcomes and isinstance(use.outcomes[-1], Fatal) else use_came(use)


def fatal(use: ToolUse[Message]) -> Any:
    return Fatal("scripted") if len(use.outcomes) == 1 else Next()


def tool_writing(key: str) -> Callable[[ToolUse[Message]], Any]:
    def wrap(use: ToolUse[Message]) -> Any:
        outcome = use_came(use)
        if isinstance(outcome, Success):
            return Success(f"<{outcome.content}>", {**outcome.update, key: {"by": use.call.id}})
        return outcome

    return wrap


def passing(key: str) -> Callable[[Any], Any]:
    return lambda seen: Passed(update={key: [len(seen.thread.history)]})


def changing(seen: Any) -> Any:
    return Passed(Message("user", seen.message.content + "!"))


def blocking(seen: Any) -> Any:
    return Block("scripted") if len(seen.thread.history) % 4 == 2 else Passed()


def section(state: Any) -> Any:
    return f"keys: {sorted(state)}"


def weighted(usual: list[Any], rare: list[Any]) -> st.SearchStrategy[Any]:
    """Draw a hook: none, a usual one, or seldom one that ends most runs."""
    often = st.sampled_from([None, None, *usual])
    return st.integers(0, 29).flatmap(lambda number: st.sampled_from(rare) if number == 17 else often)


def logged(log: Log, name: str, hook: Any, told: Callable[[Any], Any]) -> Any:
    """Keep in a log what a hook sees."""
    if hook is None:
        return None

    def wrapped(seen: Any) -> Any:
        log.append((name, told(seen)))
        return hook(seen)

    return wrapped


def of_model(call: ModelCall[Message]) -> Any:
    thread, request = call.thread, call.request
    sent = [message.content for message in request.sent(TERCET)]
    committed = len(thread.history), dict(thread.state), thread.usage
    return committed, sent, request.tools, call.results, call.replies


def of_tool(use: ToolUse[Message]) -> Any:
    return len(use.thread.history), dict(use.thread.state), use.call, use.approved, use.outcomes


def of_thread(seen: Any) -> Any:
    return len(seen.thread.history), dict(seen.thread.state), seen.message


@st.composite
def scripts(draw: st.DrawFn, name: str) -> Callable[[Log], Middleware[Message]]:
    """Draw a middleware that writes to its own key, named as it is; it is made with the log to keep."""
    own, foreign = writing(name), writing("foreign")
    models = [rewriting, retrying, twice, falling_back, short, asking, own]
    wrap_model = draw(weighted(models, [replacing, failing, raising, nothing, foreign]))
    tools = [denying, needing, tool_retrying, tool_turning, tool_writing(name)]
    wrap_tool = draw(weighted(tools, [always_needing, fatal, raising, nothing, tool_writing("foreign")]))
    before = draw(weighted([passing(name), changing], [blocking, raising, nothing, passing("foreign")]))
    after = draw(weighted([passing(name), lambda seen: Passed()], [blocking, raising, nothing, passing("foreign")]))
    text = draw(weighted([section], [nothing, raising, lambda state: Fail("scripted")]))

    def make(log: Log) -> Middleware[Message]:
        return Middleware(
            name,
            frozenset({name}),
            logged(log, f"{name} before", before, of_thread),
            logged(log, f"{name} section", text, dict),
            logged(log, f"{name} model", wrap_model, of_model),
            logged(log, f"{name} tool", wrap_tool, of_tool),
            logged(log, f"{name} after", after, of_thread),
            asks=wrap_model is asking,
            max_section_tokens=4,
        )

    return make


def summarizing(log: Log) -> Middleware[Message]:
    wrap = logged(log, "summarization", SUMMARIZATION.wrap_model, of_model)
    return cast("Middleware[Message]", evolve(SUMMARIZATION, wrap_model=wrap))


@st.composite
def stacks(draw: st.DrawFn) -> list[Callable[[Log], Middleware[Message]]]:
    """Draw a stack of up to four scripted middleware, with summarization at any place or at none."""
    makers = [draw(scripts(f"m{number}")) for number in range(draw(st.integers(1, 4)))]
    place = draw(st.none() | st.integers(0, len(makers)))
    return makers if place is None else [*makers[:place], summarizing, *makers[place:]]

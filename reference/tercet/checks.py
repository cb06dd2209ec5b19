"""What may be wrong with what a hook returned or a host decided, in words that follow where it happened."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tercet.actions import Approved, Denied
from tercet.errors import shown
from tercet.middleware import Block, Fail, Middleware, ModelCall, ModelResponse, Next, Passed, Question
from tercet.plan import Ask
from tercet.request import ModelRequest
from tercet.tools import NOTHING, OUTCOMES, Error, Fatal, NeedsApproval, Success, ToolUse

M = TypeVar("M")
PASSES = (Passed, Block)
SECTIONS = (str, Fail)
MODEL_MOVES = (Next, ModelResponse, Fail, Question, Ask)
TOOL_MOVES = (Next, *OUTCOMES)
TEXTS: Mapping[type, str] = {
    Success: "content",
    Error: "text",
    NeedsApproval: "reason",
    Fatal: "error",
    Fail: "error",
    Block: "reason",
    Question: "text",
}
"""The field of each value that must be a text."""


def place_of(middleware: Middleware[M], hook: str, step: int) -> str:
    """Name the middleware, the hook and the step."""
    return f"middleware {middleware.id!r}, {hook}, step {step}"


def raised(error: Exception) -> str:
    """Say that something raised."""
    return f"raised {type(error).__name__}: {error}"


def malformed(value: object, allowed: tuple[type, ...]) -> str | None:
    """Say what is wrong with the type of what was returned, or of what it holds, if anything is."""
    kind = type(value)
    if kind not in allowed:
        *most, last = (each.__name__ for each in allowed)
        return f"returned {shown(value)}; it returns {', '.join(most)} or {last}"
    if (name := TEXTS.get(kind)) is not None and not isinstance(text := getattr(value, name), str):
        return f"returned {kind.__name__} with {name} {shown(text)}; it must be a text"
    update = getattr(value, "update", NOTHING)
    if update is not NOTHING and not isinstance(update, Mapping):
        return f"returned {kind.__name__} with update {shown(update)}; it must be a mapping of keys to values"
    return None


def foreign(
    middleware: Middleware[M], update: Mapping[str, Any], carried: Iterable[Mapping[str, Any]] = ()
) -> str | None:
    """Say which key was written by somebody whose it is not, if any; keeps ``hooks.writes``.

    What a result of next ``carried`` with an equal value is not written, but passed on.
    """
    for key, value in update.items():
        if key not in middleware.writes and not any(key in other and are_equal(other[key], value) for other in carried):
            allowed = ", ".join(map(repr, sorted(middleware.writes))) or "none"
            return f"wrote the key {key!r}, which is not among its writes: {allowed}"
    return None


def are_equal(one: object, other: object) -> bool:
    """Tell whether two values are one or are equal, where they can be compared."""
    try:
        return one is other or bool(one == other)
    except Exception:
        return False


def wrong_pass(middleware: Middleware[M], passed: object) -> str | None:
    """Say what is wrong with what ``before_agent`` or ``after_agent`` returned, if anything is."""
    if problem := malformed(passed, PASSES):
        return problem
    return foreign(middleware, passed.update) if isinstance(passed, Passed) and passed.update else None


def wrong_model_move(middleware: Middleware[M], call: ModelCall[M], move: object) -> str | None:
    """Say what is wrong with what ``wrap_model`` returned, if anything is."""
    if isinstance(move, Next):
        return wrong_request(move.request)
    if call.results and move is call.results[-1]:
        return None
    if problem := malformed(move, MODEL_MOVES):
        return problem
    if isinstance(move, ModelResponse):
        if move.message is None:
            return "returned ModelResponse with message None; it must be a message"
        carried = [each.update for each in call.results if isinstance(each, ModelResponse)]
        return foreign(middleware, move.update, carried) if move.update else None
    if isinstance(move, Question) and not middleware.asks:
        return "asked a question, which only middleware with asks=True may"
    return None


def wrong_request(request: object) -> str | None:
    """Say what is wrong with a request that is given to next, if anything is."""
    if request is None or isinstance(request, ModelRequest):
        return None
    return f"returned Next with request {shown(request)}; it must be a ModelRequest"


def wrong_tool_move(middleware: Middleware[M], use: ToolUse[M], move: object) -> str | None:
    """Say what is wrong with what ``wrap_tool`` returned, if anything is."""
    if isinstance(move, Next):
        request = move.request
        return None if request is None else f"returned Next with request {shown(request)}; a tool call has none"
    if use.outcomes and move is use.outcomes[-1]:
        return None
    if problem := malformed(move, TOOL_MOVES):
        return problem
    if isinstance(move, Success) and move.update:
        carried = [each.update for each in use.outcomes if isinstance(each, Success)]
        return foreign(middleware, move.update, carried)
    return None


def wrong_decisions(decisions: object, places: Sequence[int]) -> str | None:
    """Say what is wrong with the decisions on the calls at these places, if anything is."""
    if not isinstance(decisions, Mapping):
        return f"the decisions are {shown(decisions)}; they must be a mapping"
    if set(decisions) != set(places):
        return f"decisions are given for the calls {[*decisions]}; those that wait are {places}"
    for place, decision in decisions.items():
        if not isinstance(decision, (Approved, Denied)):
            return f"the decision on call {place} is {shown(decision)}; it must be Approved or Denied"
        if isinstance(decision, Denied) and not isinstance(decision.reason, str):
            return f"the decision on call {place} is {shown(decision)}; its reason must be a text"
    return None

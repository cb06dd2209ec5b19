"""A run in short words, one for each thing that happened: ``a> b> model b< a< finished``."""

from collections.abc import Sequence
from typing import Literal

from tercet_spec.agents import Result
from tercet_spec.course import Happening
from tercet_spec.reader import format_id
from tercet_spec.trace import (
    InputSeen,
    ModelAsked,
    ModelWrapped,
    OutputSeen,
    Resumed,
    RunBegun,
    RunEnded,
    SectionAsked,
    Summarized,
    ToolRun,
    ToolWrapped,
)

SIGNS = {">": "calls next", "<": "returns", "?": "asks", "!": "fails or blocks"}
"""The signs behind a name, and what is done there."""
Sign = Literal[">", "<", "?", "!", ""]


def words(events: Sequence[Happening]) -> tuple[str, ...]:
    """Write what happened in a run, a word for each event but its beginning."""
    return tuple(word(event) for event in events if not isinstance(event, RunBegun))


def word(event: Happening) -> str:
    """Write one event of a run."""
    match event:
        case RunBegun():
            return "run"
        case InputSeen(middleware, passed=passed):
            return f"{middleware}.before{'!' * passed.blocked}"
        case SectionAsked(middleware, text=text):
            return f"{middleware}.section{'!' * (text is None)}"
        case ModelWrapped(middleware):
            return f"{middleware}{model_sign(event)}"
        case ModelAsked(answer=answer):
            return f"model{'!' * (answer is None)}"
        case Summarized(reply=reply):
            return f"S{'!' * (reply is None)}"
        case ToolWrapped(middleware, call, move=move):
            return f"{middleware}{'>' if move.result is None else result_sign(move.result) or '<'}{format_id(call.id)}"
        case ToolRun(call, result):
            return f"{call.name}({format_id(call.id)}){result_sign(result)}"
        case OutputSeen(middleware, passed=passed):
            return f"{middleware}.after{'!' * passed.blocked}"
        case RunEnded(outcome):
            return outcome
        case Resumed():
            return "resumed"


def model_sign(event: ModelWrapped) -> Sign:
    """Say what a model wrapper did."""
    move = event.move
    if move.request is not None:
        return ">"
    if move.question is not None:
        return "?"
    return "<" if move.response is not None and move.response.message is not None else "!"


def result_sign(result: Result) -> Sign:
    """Say what a result does to the run; an error is told to the model, and does nothing to it."""
    return "?" if result.kind == "approval" else "!" if result.kind == "fatal" else ""

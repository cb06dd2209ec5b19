"""A run as JSON can hold it, so that it is gone on with elsewhere, from where it was.

The history is stored once; a message of it that stands elsewhere is stored as its position there.
The hooks are not stored: a run is restored with the agent, whose wrappers must be those of then.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from attrs import Factory, frozen

from tercet.actions import (
    ENDS,
    Action,
    AskApproval,
    AskCompressor,
    AskQuestion,
    Blocked,
    CallModel,
    Cancelled,
    Failed,
    Finished,
    RunTool,
    Waiting,
)
from tercet.agent import Agent
from tercet.configuration import Summarization
from tercet.errors import StoredRefused, shown
from tercet.loop import ModelStep, Run, ToolStep, Turn
from tercet.middleware import Fail, ModelCall, ModelResponse
from tercet.plan import Unstored
from tercet.request import ModelRequest, Summarized
from tercet.thread import History, Thread, Usage
from tercet.tools import Error, Fatal, NeedsApproval, Success, ToolUse
from tercet_spec.vocabulary import Message, PendingCall, Summary, ToolCall

M = TypeVar("M")
VERSION = 1
"""The version of the form, which a stored run names."""
KIND = "is"
"""The key under which a stored value names what it is."""


@frozen
class Codec(Generic[M]):
    """How a message is stored: ``write`` makes what JSON can hold of it, ``read`` a message of that."""

    write: Callable[[M], Any]
    read: Callable[[Any], M]


CHAT_CODEC: Codec[Mapping[str, Any]] = Codec(dict, dict)
"""Chat dicts, which are stored as they are."""


@frozen
class Desk(Generic[M]):
    """What is at hand where a run is stored or restored: the thread, and where its messages stand."""

    codec: Codec[M]
    thread: Thread[M]
    positions: Mapping[int, int] = Factory(dict)


@frozen
class Kind:
    """How values of one kind are written and read; each is given the desk, the value and the value's path."""

    write: Callable[[Desk[Any], Any, str], Any]
    read: Callable[[Desk[Any], Any, str], Any]


def refusal(path: str, value: object, allowed: str) -> StoredRefused:
    """Say what is wrong with a stored value."""
    return StoredRefused(f"{path} is {shown(value)}; it must be {allowed}")


def plain(allowed: str, is_allowed: Callable[[Any], bool]) -> Kind:
    """Make the kind of values that are stored as they are."""

    def read(_: Desk[Any], value: Any, path: str) -> Any:
        if not is_allowed(value):
            raise refusal(path, value, allowed)
        return value

    return Kind(lambda desk, value, path: value, read)


def optional(kind: Kind) -> Kind:
    """Make the kind of values that may be missing."""
    return Kind(
        lambda desk, value, path: None if value is None else kind.write(desk, value, path),
        lambda desk, value, path: None if value is None else kind.read(desk, value, path),
    )


def several(kind: Kind, make: Callable[[Iterator[Any]], Any] = tuple) -> Kind:
    """Make the kind of tuples, or of other collections, of one kind of values."""

    def read(desk: Desk[Any], value: Any, path: str) -> Any:
        listed = as_list(value, path)
        return make(kind.read(desk, each, f"{path}[{place}]") for place, each in enumerate(listed))

    return Kind(lambda desk, value, path: [kind.write(desk, each, path) for each in value], read)


def as_list(value: Any, path: str) -> list[Any]:
    """Take a stored list."""
    if not isinstance(value, list):
        raise refusal(path, value, "a list")
    return value


def as_mapping(value: Any, path: str, *keys: str) -> Mapping[str, Any]:
    """Take a stored mapping that has these keys."""
    if not isinstance(value, Mapping):
        raise refusal(path, value, "a mapping")
    for key in keys:
        if key not in value:
            raise StoredRefused(f"{path} has no {key!r}; it must have {', '.join(map(repr, keys))}")
    return value


def write_message(desk: Desk[M], message: M, path: str) -> Any:
    """Store a message."""
    return desk.codec.write(message)


def read_message(desk: Desk[M], value: Any, path: str) -> M:
    """Restore a message."""
    try:
        return desk.codec.read(value)
    except Exception as error:
        problem = f"{path} is {shown(value)}, which cannot be read: {type(error).__name__}: {error}"
        raise StoredRefused(problem) from error


def write_messages(desk: Desk[M], messages: Sequence[M], path: str) -> list[Any]:
    """Store messages: those of the history as the ends of a run of positions, others as they are."""
    parts: list[Any] = []
    for message in messages:
        position = desk.positions.get(id(message))
        if position is None:
            parts.append({"message": desk.codec.write(message)})
        elif parts and isinstance(parts[-1], list) and parts[-1][1] == position:
            parts[-1][1] = position + 1
        else:
            parts.append([position, position + 1])
    return parts


def read_messages(desk: Desk[M], value: Any, path: str) -> tuple[M, ...]:
    """Restore messages."""
    messages: list[M] = []
    for place, part in enumerate(as_list(value, path)):
        here = f"{path}[{place}]"
        if isinstance(part, list):
            numbers = len(part) == 2 and all(map(is_number, part))
            if not numbers or not part[0] <= part[1] <= len(desk.thread.history):
                raise refusal(here, part, f"two positions from 0 to {len(desk.thread.history)}")
            messages += desk.thread.history[part[0] : part[1]]
        else:
            message = as_mapping(part, here, "message")["message"]
            messages.append(read_message(desk, message, f"{here}.message"))
    return tuple(messages)


def write_request_messages(desk: Desk[M], messages: Sequence[M], path: str) -> Any:
    """Store the messages of a request: the thread's history itself, that under a summary, or others."""
    history = desk.thread.history
    if messages is history:
        return "history"
    if isinstance(messages, Summarized) and messages.history is history:
        first = write_messages(desk, messages.first, path)
        return {"first": first, "opening": messages.opening, "start": messages.start}
    return write_messages(desk, messages, path)


def read_request_messages(desk: Desk[M], value: Any, path: str) -> Sequence[M]:
    """Restore the messages of a request."""
    if value == "history":
        return desk.thread.history
    if isinstance(value, list):
        return read_messages(desk, value, path)
    parts = as_mapping(value, path, "first", "opening", "start")
    length = len(desk.thread.history)
    for name in ("opening", "start"):
        if not is_number(parts[name]) or parts[name] > length:
            raise refusal(f"{path}.{name}", parts[name], f"a whole number from 0 to {length}")
    first = read_messages(desk, parts["first"], f"{path}.first")
    return Summarized(desk.thread.history, parts["opening"], first, parts["start"])


def write_value(desk: Desk[Any], value: Any, path: str) -> Any:
    """Store a value of the state: what JSON holds, tuples, and a summary."""
    if value is None or type(value) in (bool, int, str) or (type(value) is float and isfinite(value)):
        return value
    if type(value) is list:
        return [write_value(desk, each, f"{path}[{place}]") for place, each in enumerate(value)]
    if type(value) is tuple:
        return {KIND: "tuple", "of": write_value(desk, list(value), path)}
    if type(value) in (dict, MappingProxyType) and all(type(key) is str for key in value):
        return {KIND: "mapping", "of": {key: write_value(desk, each, f"{path}.{key}") for key, each in value.items()}}
    if type(value) is Summary:
        return record(Summary).write(desk, value, path)
    allowed = "None, a bool, a finite number, a text, a list, tuple or mapping with texts as keys, or a Summary"
    raise refusal(path, value, allowed)


def read_value(desk: Desk[Any], value: Any, path: str) -> Any:
    """Restore a value of the state."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [read_value(desk, each, f"{path}[{place}]") for place, each in enumerate(value)]
    kind = as_mapping(value, path, KIND)[KIND]
    if kind == "Summary":
        return record(Summary).read(desk, value, path)
    of = as_mapping(value, path, KIND, "of")["of"]
    if kind == "tuple":
        return tuple(read_value(desk, as_list(of, path), path))
    if kind == "mapping":
        return {key: read_value(desk, each, f"{path}.{key}") for key, each in as_mapping(of, path).items()}
    raise refusal(f"{path}.{KIND}", kind, "'tuple', 'mapping' or 'Summary'")


def record(*classes: type) -> Kind:
    """Make the kind of values of these classes, which are stored by name with the fields of the table."""

    def write(desk: Desk[Any], value: Any, path: str) -> Any:
        fields = FIELDS[type(value)]
        written = {name: kind.write(desk, getattr(value, name), f"{path}.{name}") for name, kind in fields.items()}
        return {KIND: type(value).__name__, **written}

    def read(desk: Desk[Any], value: Any, path: str) -> Any:
        by_name = {each.__name__: each for each in classes}
        name = as_mapping(value, path, KIND)[KIND]
        made = by_name.get(name) if isinstance(name, str) else None
        if made is None:
            raise refusal(f"{path}.{KIND}", name, f"one of {', '.join(map(repr, by_name))}")
        fields = FIELDS[made]
        as_mapping(value, path, *fields)
        given = {field: kind.read(desk, value[field], f"{path}.{field}") for field, kind in fields.items()}
        return made(**given, **({"thread": desk.thread} if made in OF_THREADS else {}))

    return Kind(write, read)


def is_number(value: object) -> bool:
    """Tell whether a value is a whole number from 0 up."""
    return type(value) is int and value >= 0


TEXT = plain("a text", lambda value: isinstance(value, str))
FLAG = plain("true or false", lambda value: isinstance(value, bool))
NUMBER = plain("a whole number from 0 up", is_number)
FROM_ONE = plain("a whole number from 1 up", lambda value: is_number(value) and value >= 1)
MESSAGE = Kind(write_message, read_message)
MESSAGES = Kind(write_messages, read_messages)
VALUE = Kind(write_value, read_value)


def read_state(desk: Desk[Any], value: Any, path: str) -> Mapping[str, Any]:
    """Restore a state or an update."""
    state = read_value(desk, value, path)
    if not isinstance(state, dict):
        raise refusal(path, value, "a mapping")
    return MappingProxyType(state)


STATE = Kind(lambda desk, value, path: write_value(desk, dict(value), path), read_state)
TOOL_CALL = record(ToolCall)
REQUEST = record(ModelRequest)
OUTCOME = record(Success, Error, NeedsApproval, Fatal)
REPLY = Kind(
    lambda desk, reply, path: reply if isinstance(reply, str) else record(Fail).write(desk, reply, path),
    lambda desk, reply, path: reply if isinstance(reply, str) else record(Fail).read(desk, reply, path),
)
OF_THREADS = (ModelCall, ToolUse)
"""What holds the run's thread, which is stored once."""
ACTIONS = (CallModel, AskCompressor, AskQuestion, RunTool, AskApproval, *ENDS)
FIELDS: dict[type, dict[str, Kind]] = {
    ToolCall: {"id": optional(TEXT), "name": TEXT, "arguments": TEXT},
    PendingCall: {"message": TEXT, "place": NUMBER},
    Summary: {"text": TEXT, "through": TEXT},
    Usage: {"calls": NUMBER, "tokens": NUMBER},
    Unstored: {"message": MESSAGE, "after": optional(TEXT)},
    ModelRequest: {
        "system": optional(MESSAGE),
        "messages": Kind(write_request_messages, read_request_messages),
        "notes": several(record(Unstored)),
        "tools": several(TEXT),
        "pending": several(record(PendingCall)),
    },
    ModelResponse: {"message": MESSAGE, "update": STATE},
    Fail: {"error": TEXT, "where": TEXT},
    ModelCall: {"request": REQUEST, "results": several(record(ModelResponse, Fail)), "replies": several(REPLY)},
    Success: {"content": TEXT, "update": STATE},
    Error: {"text": TEXT},
    NeedsApproval: {"reason": TEXT},
    Fatal: {"error": TEXT, "where": TEXT},
    ToolUse: {"call": TOOL_CALL, "approved": FLAG, "outcomes": several(OUTCOME)},
    ModelStep: {"calls": several(record(ModelCall))},
    ToolStep: {
        "calls": several(TOOL_CALL),
        "outcomes": several(optional(OUTCOME)),
        "approved": Kind(lambda desk, value, path: sorted(value), several(NUMBER, frozenset).read),
        "uses": several(record(ToolUse)),
    },
    CallModel: {"request": REQUEST},
    AskCompressor: {"messages": MESSAGES, "so_far": optional(TEXT)},
    AskQuestion: {"middleware": TEXT, "number": FROM_ONE, "text": TEXT},
    RunTool: {"place": NUMBER, "call": TOOL_CALL},
    Waiting: {"place": NUMBER, "call": TOOL_CALL, "reason": TEXT},
    AskApproval: {"waiting": several(record(Waiting))},
    Finished: {"output": MESSAGE},
    Blocked: {"middleware": TEXT, "hook": TEXT, "reason": TEXT},
    Failed: {"problem": TEXT},
    Cancelled: {},
}
"""The table of what is stored: each class by its name, each field with its kind."""
STEP = optional(record(ModelStep, ToolStep))


def wrappers(agent: Agent[M]) -> dict[str, list[str]]:
    """Name the wrappers of an agent, in order."""
    stack = agent.stack
    return {hook: [middleware.id for middleware in getattr(stack, hook)] for hook in ("wrap_model", "wrap_tool")}


def stored(run: Run[M], codec: Codec[M]) -> dict[str, Any]:
    """Make what JSON can hold of a run; raises StoredRefused for a value of the state that it cannot hold."""
    thread, turn = run.thread, run.turn
    positions = {id(message): position for position, message in enumerate(thread.history)}
    desk = Desk(codec, thread, positions)
    return {
        "version": VERSION,
        "wrappers": wrappers(turn.agent),
        "history": [codec.write(message) for message in thread.history],
        "state": STATE.write(desk, thread.state, "state"),
        "usage": record(Usage).write(desk, thread.usage, "usage"),
        "began": {"length": len(turn.began.history), "state": STATE.write(desk, turn.began.state, "began.state")},
        "number": turn.step,
        "questions": turn.questions,
        "step": STEP.write(desk, run.step, "step"),
        "action": record(*ACTIONS).write(desk, run.action, "action"),
    }


def restored(agent: Agent[M], summarization: Summarization[M], data: Mapping[str, Any], codec: Codec[M]) -> Run[M]:
    """Make a run of what was stored of it; no hook is asked again. Raises StoredRefused."""
    fields = ("version", "wrappers", "history", "state", "usage", "began", "number", "questions", "step", "action")
    if as_mapping(data, "the stored run", "version")["version"] != VERSION:
        raise refusal("version", data["version"], f"{VERSION}")
    as_mapping(data, "the stored run", *fields)
    desk = Desk(codec, Thread(summarization))
    history = History(several(MESSAGE, list).read(desk, data["history"], "history"))
    state, usage = STATE.read(desk, data["state"], "state"), record(Usage).read(desk, data["usage"], "usage")
    desk = Desk(codec, Thread(summarization, history, state, usage))
    turn = Turn(
        agent,
        read_beginning(desk, data["began"]),
        FROM_ONE.read(desk, data["number"], "number"),
        NUMBER.read(desk, data["questions"], "questions"),
    )
    step, action = STEP.read(desk, data["step"], "step"), record(*ACTIONS).read(desk, data["action"], "action")
    if problem := unfit(agent, data["wrappers"], step, action):
        raise StoredRefused(problem)
    return Run(turn, desk.thread, action, step)


def read_beginning(desk: Desk[M], value: object) -> Thread[M]:
    """Restore what the thread was when the run began."""
    began = as_mapping(value, "began", "length", "state")
    length, history = began["length"], desk.thread.history
    if not is_number(length) or length > len(history):
        raise refusal("began.length", length, f"a whole number from 0 to {len(history)}")
    state = STATE.read(desk, began["state"], "began.state")
    return Thread(desk.thread.summarization, History(history.shared, length), state)


def unfit(agent: Agent[M], of_then: object, step: ModelStep[M] | ToolStep[M] | None, action: Action[M]) -> str | None:
    """Say why a run cannot go on with an agent, or what in it does not go together, if anything does not."""
    if isinstance(action, ENDS):
        return None if step is None else f"step is {shown(step)}; it must be null where the run is over"
    now = wrappers(agent)
    if of_then != now:
        return f"wrappers is {of_then!r}; it must be those of the agent: {now!r}"
    if isinstance(action, (CallModel, AskCompressor, AskQuestion)):
        most = len(now["wrap_model"])
        least = most if isinstance(action, CallModel) else 1
        if not isinstance(step, ModelStep) or not least <= len(step.calls) <= most:
            return f"step is {shown(step)}; it must be a ModelStep with {least} to {most} calls"
        return None
    if not isinstance(step, ToolStep) or len(step.calls) != len(step.outcomes):
        return f"step is {shown(step)}; it must be a ToolStep with an outcome, or null, for each call"
    if isinstance(action, RunTool):
        if step.place != action.place or len(step.uses) != len(now["wrap_tool"]):
            return f"action is {shown(action)}; it must be to run the call in hand, at {step.place}"
        return None
    places = [place for place, outcome in enumerate(step.outcomes) if isinstance(outcome, NeedsApproval)]
    if step.place is not None or [waiting.place for waiting in action.waiting] != places:
        return f"action is {shown(action)}; it must be to approve the calls that wait, at {places}"
    return None


def write_tercet(message: Message) -> dict[str, Any]:
    """Store one of Tercet's own messages."""
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.calls]
    rest = {"calls": calls, "answers": list(message.answers), "id": message.id}
    return {"role": message.role, "content": message.content, **rest}


def read_tercet(value: Mapping[str, Any]) -> Message:
    """Restore one of Tercet's own messages."""
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in value["calls"])
    return Message(value["role"], value["content"], calls, tuple(value["answers"]), value["id"])


TERCET_CODEC: Codec[Message] = Codec(write_tercet, read_tercet)
"""Tercet's own messages."""

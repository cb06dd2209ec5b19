"""A scenario: a configuration, concrete operations, and what the host answers, as plain data.

Any language can replay one; no seed is needed. What is not scripted is answered by default: the
compressor with a text of twelve code points, the model with a short message.
"""

from typing import Literal

from attrs import frozen

from tercet_spec.trace import Failure
from tercet_spec.vocabulary import Configuration, Message


@frozen
class Reply:
    """What the compressor answers: a text of ``length`` code points, a blank one, or a failure.

    The text begins with the tag of its ordinal and goes on with ``fill``, again and again; ``ends`` is put
    at its end.
    """

    length: int = 12
    fill: str = "x"
    ends: str = ""
    blank: str | None = None
    failure: Failure | None = None


@frozen
class Answer:
    """What the model answers: a message, or a failure."""

    message: Message | None = None
    failure: Failure | None = None


@frozen
class Append:
    """Messages are appended to the history."""

    messages: tuple[Message, ...]


@frozen
class PlacedNote:
    """An unstored message for a step: it stands before the last ``back`` messages of the history."""

    message: Message
    back: int = 0


@frozen
class Step:
    """One model step, with the host's script for it, used up in order.

    ``pending`` holds ids of calls: of each, the latest call of the history is named as pending.
    """

    system: str | None = None
    replies: tuple[Reply, ...] = ()
    answers: tuple[Answer, ...] = ()
    notes: tuple[PlacedNote, ...] = ()
    pending: tuple[str | None, ...] = ()


@frozen
class Configure:
    """The configuration changes."""

    configuration: Configuration


@frozen
class BeginTurn:
    """A turn begins; one that is still under way is kept first."""


@frozen
class EndTurn:
    """The turn under way ends, and is kept or blocked; where there is none, nothing happens."""

    blocked: bool = False


@frozen
class Checkpoint:
    """The thread, as it is, is put by under a name."""

    name: str = "x"


@frozen
class Restore:
    """The thread is put back to what it was at the checkpoint of this name; without one, nothing happens.

    A turn that is under way is kept first.
    """

    name: str = "x"


@frozen
class Edit:
    """Another party removes ``count`` messages from position ``first`` on or, with ``content``, rewrites one.

    A turn that is under way is kept first. Where there is no such message, nothing happens.
    """

    first: int = 0
    count: int = 1
    content: str | None = None


Operation = Append | Step | Configure | BeginTurn | EndTurn | Checkpoint | Restore | Edit
OperationName = Literal["append", "step", "configure", "begin_turn", "end_turn", "checkpoint", "restore", "edit"]
OPERATIONS: dict[OperationName, type[Operation]] = {
    "append": Append,
    "step": Step,
    "configure": Configure,
    "begin_turn": BeginTurn,
    "end_turn": EndTurn,
    "checkpoint": Checkpoint,
    "restore": Restore,
    "edit": Edit,
}


@frozen
class Scenario:
    """A configuration and the operations that are performed under it."""

    configuration: Configuration
    operations: tuple[Operation, ...] = ()


def reply_text(reply: Reply, ordinal: int) -> str:
    """Make the text of the compressor's answer of this ordinal, counted from 1 in a scenario."""
    if reply.blank is not None:
        return reply.blank
    tag = f"k{ordinal}z"
    room = max(0, reply.length - len(tag) - len(reply.ends))
    return tag + (reply.fill * room)[:room] + reply.ends


def content_text(ordinal: int, length: int | None = None) -> str:
    """Make the content of the message of this ordinal: its marker, filled up to ``length`` code points."""
    marker = f"m{ordinal}z"
    return marker if length is None else marker.ljust(length, ".")[:length]


def call_arguments(ordinal: int) -> str:
    """Make the arguments of a call that carries its message's marker."""
    return f'{{"q": "m{ordinal}z"}}'

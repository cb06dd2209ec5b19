"""A scenario: a configuration, concrete operations, and what the host answers, as plain data.

Any language can replay one; no seed is needed. What is not scripted is answered by default: the
compressor with a text of twelve code points, the model with a short message.
"""

from typing import Literal

from attrs import frozen

from tercet_spec.trace import Failure
from tercet_spec.vocabulary import Configuration, Message, Note, PendingCall


@frozen
class Reply:
    """What the compressor answers: a text of ``length`` code points, a blank one, or a failure.

    The text begins with the tag of its ordinal and goes on with ``fill``; ``ends`` is put at its end.
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
class Step:
    """One model step, with the host's script for it, used up in order."""

    system: str | None = None
    replies: tuple[Reply, ...] = ()
    answers: tuple[Answer, ...] = ()
    notes: tuple[Note, ...] = ()
    pending: tuple[PendingCall, ...] = ()


@frozen
class Configure:
    """The configuration changes."""

    configuration: Configuration


Operation = Append | Step | Configure
OperationName = Literal["append", "step", "configure"]
OPERATIONS: dict[OperationName, type[Operation]] = {"append": Append, "step": Step, "configure": Configure}


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
    return tag + reply.fill * max(0, reply.length - len(tag) - len(reply.ends)) + reply.ends


def content_text(ordinal: int, length: int | None = None) -> str:
    """Make the content of the message of this ordinal: its marker, filled up to ``length`` code points."""
    marker = f"m{ordinal}z"
    return marker if length is None else marker.ljust(length, ".")[:length]


def call_arguments(ordinal: int) -> str:
    """Make the arguments of a call that carries its message's marker."""
    return f'{{"q": "m{ordinal}z"}}'

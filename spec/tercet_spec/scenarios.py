"""A scenario: a configuration, concrete operations, and what the host answers, as plain data.

Any language can replay one; no seed is needed. What is not scripted is answered by default: the
compressor with a text of twelve code points, the model with a short message.
"""

from typing import Literal

from attrs import frozen

from tercet_spec.agents import Agent, HookName, Result
from tercet_spec.trace import Failure
from tercet_spec.vocabulary import Configuration, Message, Update


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


MoveName = Literal["pass", "next", "return", "answer", "fail", "ask", "deny"]


@frozen
class Move:
    """What a hook is scripted to do when it is asked once.

    ``does`` is one of these; what is not said is left as it is:

    - ``pass``: goes on as if the hook were not there. ``before_agent`` may change the input to ``text`` and write
      ``update``, ``after_agent`` may write, a section is ``text``.
    - ``next``: a wrapper calls next; a model wrapper with an unstored message ``text``, without the ``tools``.
    - ``return``: a wrapper returns what its call of next numbered ``of`` came to, the last if that is ``None``, with
      ``text`` for its content and ``update`` added.
    - ``answer``: a wrapper returns a message or a success of its own: ``text``, with ``update``.
    - ``fail``: a block of the input or the output, a failed section, an error of a model wrapper, a fatal one of a
      tool wrapper; ``text`` says why.
    - ``ask``: a model wrapper asks the question ``text``, a tool wrapper needs approval, for the reason ``text``.
    - ``deny``: a tool wrapper returns an error that says so, with ``text`` for the reason.
    """

    does: MoveName = "pass"
    text: str | None = None
    update: Update = ()
    tools: tuple[str, ...] = ()
    of: int | None = None


@frozen
class Script:
    """What one hook of a middleware does in a run, each time that it is asked; after that it passes."""

    middleware: str
    hook: HookName
    moves: tuple[Move, ...] = ()


@frozen
class RunAgent:
    """A run of the agent's loop with this input, and the host's scripts for it; where one waits, nothing happens."""

    message: Message
    scripts: tuple[Script, ...] = ()
    replies: tuple[Reply, ...] = ()
    answers: tuple[Answer, ...] = ()
    results: tuple[Result, ...] = ()


@frozen
class Resume:
    """A run that waits goes on, with a reply or a decision on each call, approval where none is given.

    Where none waits, nothing happens.
    """

    reply: str = "yes"
    approved: tuple[bool, ...] = ()


Operation = Append | Step | Configure | BeginTurn | EndTurn | Checkpoint | Restore | Edit | RunAgent | Resume
OperationName = Literal[
    "append",
    "step",
    "configure",
    "begin_turn",
    "end_turn",
    "checkpoint",
    "restore",
    "edit",
    "run_agent",
    "resume",
]
OPERATIONS: dict[OperationName, type[Operation]] = {
    "append": Append,
    "step": Step,
    "configure": Configure,
    "begin_turn": BeginTurn,
    "end_turn": EndTurn,
    "checkpoint": Checkpoint,
    "restore": Restore,
    "edit": Edit,
    "run_agent": RunAgent,
    "resume": Resume,
}


@frozen
class Scenario:
    """A configuration and the operations that are performed under it; with an ``agent``, they run its loop."""

    configuration: Configuration
    operations: tuple[Operation, ...] = ()
    agent: Agent | None = None


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

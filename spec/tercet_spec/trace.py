"""What was observed of one implementation in one thread: a list of events, in order."""

from typing import Literal

from attrs import frozen

from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, State

Failure = Literal["failed", "cancelled", "suspended"]
Outcome = Literal["committed", "failed", "cancelled", "suspended"]


@frozen
class Opened:
    """The implementation accepted a configuration, with these warnings."""

    configuration: Configuration
    warnings: tuple[str, ...] = ()


@frozen
class Refused:
    """The implementation refused a configuration, for these reasons."""

    configuration: Configuration
    problems: tuple[str, ...] = ()


@frozen
class Appended:
    """Messages were appended to the history, each under its stored id."""

    messages: tuple[Message, ...]


@frozen
class StepBegun:
    """A model step began; ``shown`` is the state just before it."""

    shown: State
    system: str | None = None
    notes: tuple[Note, ...] = ()
    pending: tuple[PendingCall, ...] = ()


@frozen
class Summarized:
    """The compressor was given messages and a summary so far, and returned a text or failed.

    ``usage`` are the tokens that the call reported, however it ended.
    """

    given: tuple[Message, ...]
    so_far: str | None = None
    reply: str | None = None
    failure: Failure | None = None
    usage: int = 0


@frozen
class Requested:
    """A request was handed to the model, which answered or failed; ``usage`` as of the compressor."""

    request: tuple[Message, ...]
    answer: Message | None = None
    failure: Failure | None = None
    usage: int = 0


@frozen
class StepEnded:
    """The step ended; ``shown`` is the state just after it.

    A committed step names the attempt whose response it returned, counted from 0, and the stored
    id of the answer that it appended.
    """

    outcome: Outcome
    shown: State
    attempt: int | None = None
    answer_id: str | None = None


@frozen
class TurnBegun:
    """A turn began; ``shown`` is the state just before it."""

    shown: State


@frozen
class TurnEnded:
    """A turn ended: it was kept, or an output block removed it; states just before and after."""

    blocked: bool
    before: State
    shown: State


@frozen
class Checkpointed:
    """The thread, as it is, was put by under a name."""

    name: str
    shown: State


@frozen
class Restored:
    """The thread was put back to what it was at a checkpoint; states just before and after."""

    name: str
    before: State
    shown: State


@frozen
class Edited:
    """Another party changed the stored history to this; states just before and after."""

    history: tuple[Message, ...]
    before: State
    shown: State


Event = (
    Opened
    | Refused
    | Appended
    | StepBegun
    | Summarized
    | Requested
    | StepEnded
    | TurnBegun
    | TurnEnded
    | Checkpointed
    | Restored
    | Edited
)


@frozen
class Trace:
    """All that was observed of one implementation in one thread."""

    description: Description
    events: tuple[Event, ...]

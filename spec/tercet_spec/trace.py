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
    """The compressor was given messages and a summary so far, and returned a text or failed."""

    given: tuple[Message, ...]
    so_far: str | None = None
    reply: str | None = None
    failure: Failure | None = None


@frozen
class Requested:
    """A request was handed to the model, which answered or failed."""

    request: tuple[Message, ...]
    answer: Message | None = None
    failure: Failure | None = None


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


Event = Opened | Refused | Appended | StepBegun | Summarized | Requested | StepEnded


@frozen
class Trace:
    """All that was observed of one implementation in one thread."""

    description: Description
    events: tuple[Event, ...]

"""What was observed of one implementation in one thread: a list of events, in order."""

from typing import Literal

from attrs import frozen

from tercet_spec.agents import Agent, ModelMove, Passed, Request, Response, Result, ToolMove
from tercet_spec.vocabulary import (
    Configuration,
    Description,
    Message,
    Note,
    PendingCall,
    State,
    ToolCall,
    Update,
)

Failure = Literal["failed", "cancelled", "suspended"]
Outcome = Literal["committed", "failed", "cancelled", "suspended"]
RunOutcome = Literal["finished", "blocked", "failed", "cancelled", "suspended"]


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


@frozen
class RunBegun:
    """A run of the agent's loop began with this input; ``shown`` is the state just before it."""

    message: Message
    shown: State


@frozen
class InputSeen:
    """A hook ``before_agent`` saw the run's input and the thread's state, and answered."""

    middleware: str
    message: Message
    entries: Update
    passed: Passed


@frozen
class SectionAsked:
    """A middleware was asked for its prompt section, and gave a text, or ``None``: it failed."""

    middleware: str
    entries: Update
    text: str | None


@frozen
class ModelWrapped:
    """A model wrapper saw a request, what its calls of next and its questions came to so far, and answered."""

    middleware: str
    request: Request
    responses: tuple[Response, ...]
    replies: tuple[str, ...]
    entries: Update
    move: ModelMove


@frozen
class ModelAsked:
    """The innermost next handed a request to the model, which answered or failed; ``usage`` as of ``Requested``."""

    request: Request
    answer: Message | None
    failure: Failure | None
    usage: int


@frozen
class ToolWrapped:
    """A tool wrapper saw a call, whether it is approved, what its calls of next came to so far, and answered."""

    middleware: str
    call: ToolCall
    approved: bool
    results: tuple[Result, ...]
    entries: Update
    move: ToolMove


@frozen
class ToolRun:
    """The innermost next ran a tool, and this came of it."""

    call: ToolCall
    result: Result


@frozen
class OutputSeen:
    """A hook ``after_agent`` saw the run's output and the thread's state, and answered."""

    middleware: str
    message: Message
    entries: Update
    passed: Passed


@frozen
class RunEnded:
    """The run ended, or is suspended; ``shown`` is the state just after that.

    A suspended one waits for a reply to ``question``, or for a decision on the calls in the places ``waiting`` of
    the latest answer.
    """

    outcome: RunOutcome
    shown: State
    question: str | None = None
    waiting: tuple[int, ...] = ()


@frozen
class Resumed:
    """A suspended run goes on with the reply to its question, or with a decision on each call that waits."""

    reply: str | None = None
    approved: tuple[bool, ...] = ()


RunEvent = (
    RunBegun
    | InputSeen
    | SectionAsked
    | ModelWrapped
    | ModelAsked
    | ToolWrapped
    | ToolRun
    | OutputSeen
    | RunEnded
    | Resumed
)
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
    | RunEvent
)


@frozen
class Trace:
    """All that was observed of one implementation in one thread; ``agent`` is what it runs, where it runs one."""

    description: Description
    events: tuple[Event, ...]
    agent: Agent | None = None

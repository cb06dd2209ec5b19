"""The messages between the suite and a process that holds an implementation: JSON objects, one a line.

The suite calls, and the process returns; during a step, or a run, the process asks, and the suite answers. A
line is one of six envelopes, each around the values that the tables of this module name::

    suite    {"id": 4, "call": "append", "session": 1, …}     one of CALLS
    process  {"id": 4, "returned": {…}}                       what RETURNS says of the call
    process  {"id": 4, "refused": ["…"]}                      what begins or configures a thread, for these reasons
    process  {"id": 4, "unsupported": "…"}                    what takes messages: its own cannot say this
    process  {"id": 4, "raised": "…"}                         an error: what it says
    process  {"ask": 2, "session": 1, "question": "answer", …}  one of QUESTIONS
    suite    {"ask": 2, "answered": {…}}                      what ANSWERS says of the question
    suite    {"ask": 2, "failed": {…}}                        a Failed
"""

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from tercet_spec.agents import Agent, Passed, Request, Response, Result, ToolMove
from tercet_spec.trace import Failure, Outcome, RunOutcome
from tercet_spec.vocabulary import (
    Capability,
    Character,
    Configuration,
    Message,
    Note,
    PendingCall,
    Summary,
    ToolCall,
    Update,
)

VERSION = 1
"""The version of the wire that this release speaks."""


@frozen
class Splice:
    """What became of a list of messages: its first ``keep`` are kept, the next ``drop`` are gone, ``add`` comes there.

    Where ``drop`` is null, all the rest is gone.
    """

    keep: int = 0
    add: tuple[Message, ...] = ()
    drop: int | None = None


@frozen
class Hello:
    """The first call: says which version of the wire the suite speaks."""

    wire: int


@frozen
class Open:
    """Begins the thread that is named ``session`` from now on."""

    configuration: Configuration


@frozen
class OpenLoop:
    """Begins a thread as ``open`` does, with an agent's loop over it; asked of who declares ``hooks``."""

    configuration: Configuration
    agent: Agent


@frozen
class Append:
    """Stores messages."""

    messages: tuple[Message, ...]


@frozen
class Step:
    """Takes one model step."""

    system: str | None = None
    notes: tuple[Note, ...] = ()
    pending: tuple[PendingCall, ...] = ()


@frozen
class Configure:
    """Changes the configuration."""

    configuration: Configuration


@frozen
class BeginTurn:
    """Begins a turn."""


@frozen
class EndTurn:
    """Ends the turn; a block removes its messages and restores the key."""

    blocked: bool


@frozen
class Checkpoint:
    """Puts the thread by."""


@frozen
class Restore:
    """Puts the thread back to what it was at a checkpoint."""

    checkpoint: str


@frozen
class Edit:
    """Says what another party made of the stored history."""

    history: Splice


@frozen
class Run:
    """Lets the loop run with an input, to the end, or until it must wait."""

    message: Message


@frozen
class Resume:
    """Lets the run that waits go on: with the reply to its question, or a decision on each call that waits."""

    reply: str | None = None
    approved: tuple[bool, ...] = ()


@frozen
class Close:
    """Ends the thread."""


@frozen
class Introduction:
    """What a process says of itself: the version of the wire that it speaks, and what a Description holds."""

    wire: int
    name: str
    version: str
    language: str
    capabilities: tuple[Capability, ...]
    character: Character = "code point"
    before: str = ""
    after: str = ""
    failed_compressor: Literal["fails", "sends"] = "fails"
    parts: bool = False
    sets_aside: bool = False


@frozen
class Shown:
    """The thread as it is after a call; the history as what became of the one that was shown last.

    ``entries`` are the state by key that middleware wrote.
    """

    history: Splice
    summary: Summary | None = None
    usage: int = 0
    warnings: tuple[str, ...] = ()
    entries: Update = ()


@frozen
class Changed:
    """What most calls return."""

    state: Shown


@frozen
class Stored:
    """What append returns: the stored id of each message."""

    ids: tuple[str, ...]
    state: Shown


@frozen
class Ended:
    """What step returns; ``attempt`` is the number, from 0, of the answer that it returned, null for the last."""

    outcome: Outcome
    state: Shown
    answer_id: str | None = None
    attempt: int | None = None


@frozen
class Ran:
    """What run and resume return; a suspended run waits for a reply, or for a decision on the calls in these places."""

    outcome: RunOutcome
    state: Shown
    question: str | None = None
    waiting: tuple[int, ...] = ()


@frozen
class PutBy:
    """What checkpoint returns."""

    checkpoint: str
    state: Shown


@frozen
class Closed:
    """What close returns."""


@frozen
class Summarize:
    """Asks the compressor."""

    given: tuple[Message, ...]
    so_far: str | None = None


@frozen
class Ask:
    """Asks the model; the request as what became of the session's last one."""

    request: Splice


@frozen
class RequestChange:
    """A model request; its messages as what became of another one's."""

    messages: Splice
    system: str | None = None
    tools: tuple[str, ...] = ()


@frozen
class BeforeAgent:
    """Asks a middleware's hook that sees the input; ``entries`` are the committed state by key, here and below."""

    middleware: str
    message: Message
    entries: Update = ()


@frozen
class AskSection:
    """Asks a middleware for its prompt section."""

    middleware: str
    entries: Update = ()


@frozen
class WrapModel:
    """Asks a model wrapper, first and after each call of next and each reply, with what these came to so far.

    The request is what became of the one that this middleware was shown last in the session.
    """

    middleware: str
    request: RequestChange
    responses: tuple[Response, ...] = ()
    replies: tuple[str, ...] = ()
    entries: Update = ()


@frozen
class AskModel:
    """Asks the model, within a run; the request as what became of the one that it was shown last in the session."""

    request: RequestChange


@frozen
class WrapTool:
    """Asks a tool wrapper, first and after each call of next, with what these came to so far."""

    middleware: str
    tool_call: ToolCall
    approved: bool = False
    results: tuple[Result, ...] = ()
    entries: Update = ()


@frozen
class RunTool:
    """Asks for a tool to be run."""

    tool_call: ToolCall


@frozen
class AfterAgent:
    """Asks a middleware's hook that sees the output."""

    middleware: str
    message: Message
    entries: Update = ()


@frozen
class Text:
    """The compressor's answer; ``usage`` are the tokens that the call cost."""

    text: str
    usage: int


@frozen
class Said:
    """The model's answer; ``usage`` are the tokens that the call cost."""

    message: Message
    usage: int


@frozen
class Section:
    """A prompt section; without a text it failed, and the run does."""

    text: str | None


@frozen
class Wrapped:
    """What a model wrapper answers: a request to call next with, a response to return, or a question to ask.

    The request is what became of the one that the wrapper was shown.
    """

    request: RequestChange | None = None
    response: Response | None = None
    question: str | None = None


@frozen
class Failed:
    """No answer: it failed, the step is cancelled, or it is suspended until a person has answered something."""

    failure: Failure
    usage: int


Call = (
    Hello
    | Open
    | OpenLoop
    | Append
    | Step
    | Configure
    | BeginTurn
    | EndTurn
    | Checkpoint
    | Restore
    | Edit
    | Run
    | Resume
    | Close
)
CallName = Literal[
    "hello",
    "open",
    "open_loop",
    "append",
    "step",
    "configure",
    "begin_turn",
    "end_turn",
    "checkpoint",
    "restore",
    "edit",
    "run",
    "resume",
    "close",
]
CALLS: Mapping[CallName, type[Call]] = {
    "hello": Hello,
    "open": Open,
    "open_loop": OpenLoop,
    "append": Append,
    "step": Step,
    "configure": Configure,
    "begin_turn": BeginTurn,
    "end_turn": EndTurn,
    "checkpoint": Checkpoint,
    "restore": Restore,
    "edit": Edit,
    "run": Run,
    "resume": Resume,
    "close": Close,
}
Returned = Introduction | Changed | Stored | Ended | Ran | PutBy | Closed
RETURNS: Mapping[CallName, type[Returned]] = {
    "hello": Introduction,
    "open": Changed,
    "open_loop": Changed,
    "append": Stored,
    "step": Ended,
    "configure": Changed,
    "begin_turn": Changed,
    "end_turn": Changed,
    "checkpoint": PutBy,
    "restore": Changed,
    "edit": Changed,
    "run": Ran,
    "resume": Ran,
    "close": Closed,
}
Question = Summarize | Ask | BeforeAgent | AskSection | WrapModel | AskModel | WrapTool | RunTool | AfterAgent
QuestionName = Literal[
    "summarize",
    "answer",
    "before_agent",
    "section",
    "wrap_model",
    "ask_model",
    "wrap_tool",
    "run_tool",
    "after_agent",
]
QUESTIONS: Mapping[QuestionName, type[Question]] = {
    "summarize": Summarize,
    "answer": Ask,
    "before_agent": BeforeAgent,
    "section": AskSection,
    "wrap_model": WrapModel,
    "ask_model": AskModel,
    "wrap_tool": WrapTool,
    "run_tool": RunTool,
    "after_agent": AfterAgent,
}
Answered = Text | Said | Passed | Section | Wrapped | ToolMove | Result
ANSWERS: Mapping[QuestionName, type[Answered]] = {
    "summarize": Text,
    "answer": Said,
    "before_agent": Passed,
    "section": Section,
    "wrap_model": Wrapped,
    "ask_model": Said,
    "wrap_tool": ToolMove,
    "run_tool": Result,
    "after_agent": Passed,
}
OF_A_RUN: tuple[QuestionName, ...] = tuple(name for name in QUESTIONS if name != "answer")
ASKING: Mapping[CallName, tuple[QuestionName, ...]] = {
    "step": ("summarize", "answer"),
    "run": OF_A_RUN,
    "resume": OF_A_RUN,
}
"""The calls in which the process may ask, and what."""


def spliced(before: tuple[Message, ...], splice: Splice) -> tuple[Message, ...]:
    """Apply what became of a list of messages to what it was; raises ValueError where it is too short for that."""
    keep, drop = splice.keep, splice.drop
    rest = len(before) - keep
    if keep < 0 or rest < (drop or 0) or (drop or 0) < 0:
        raise ValueError(f"keep {keep}, drop {drop} of {len(before)} messages")
    behind = () if drop is None else before[keep + drop :]
    return before[:keep] + splice.add + behind


def splice_of(before: tuple[Message, ...], after: tuple[Message, ...]) -> Splice:
    """Say what became of a list of messages: the longest beginning that both share is kept, then the longest end."""
    most = min(len(before), len(after))
    shares_all = before[:most] == after[:most]
    keep = most if shares_all else next((n for n in range(most) if not is_same(before[n], after[n])), most)
    rest = most - keep
    end = next((n for n in range(rest) if not is_same(before[-n - 1], after[-n - 1])), rest)
    return Splice(keep, after[keep : len(after) - end], len(before) - keep - end if end else None)


def request_change(before: tuple[Message, ...], request: Request) -> RequestChange:
    """Say a request as what became of another's messages."""
    return RequestChange(splice_of(before, request.messages), request.system, request.tools)


def is_same(one: Message, other: Message) -> bool:
    """Tell whether two messages are equal; most are one object."""
    return one is other or one == other

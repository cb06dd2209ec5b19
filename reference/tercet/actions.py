"""What a run asks its host to do next, and how it ends."""

from typing import Generic, TypeAlias, TypeVar

from attrs import field, frozen

from tercet.request import ModelRequest
from tercet_spec.vocabulary import ToolCall

M = TypeVar("M")


@frozen
class CallModel(Generic[M]):
    """Call the model with what ``request.sent`` puts together; then ``answered`` or ``failed``."""

    request: ModelRequest[M]


@frozen
class AskCompressor(Generic[M]):
    """Give the compressor these messages and the summary so far; then ``compressed`` or ``failed``."""

    messages: tuple[M, ...] = field(repr=False)
    so_far: str | None


@frozen
class AskQuestion:
    """Put a middleware's question, the run's ``number``th from 1; then ``replied``."""

    middleware: str
    number: int
    text: str


@frozen
class RunTool:
    """Run a tool call, the response's at this ``place``; then ``returned``."""

    place: int
    call: ToolCall


@frozen
class Waiting:
    """A tool call that waits for approval, the response's at this ``place``."""

    place: int
    call: ToolCall
    reason: str


@frozen
class AskApproval:
    """Have somebody approve or deny each of these calls; then ``settled``."""

    waiting: tuple[Waiting, ...]


@frozen
class Approved:
    """A waiting call may run."""


@frozen
class Denied:
    """A waiting call may not run; the model is told the reason."""

    reason: str


@frozen
class Finished(Generic[M]):
    """The run ended with this answer of the model."""

    output: M


@frozen
class Blocked:
    """A middleware blocked the run in ``before_agent`` or ``after_agent``: of the turn only its usage is kept."""

    middleware: str
    hook: str
    reason: str


@frozen
class Failed:
    """The run failed: of the step only its usage is kept. ``problem`` says where, and why."""

    problem: str


@frozen
class Cancelled:
    """The host cancelled the run: of the step only its usage is kept."""


Action: TypeAlias = (
    CallModel[M] | AskCompressor[M] | AskQuestion | RunTool | AskApproval | Finished[M] | Blocked | Failed | Cancelled
)
ENDS = (Finished, Blocked, Failed, Cancelled)

"""What an implementation is, as the suite sees it, and what the suite is to it.

Nothing is inherited: a factory returns an object that has these methods.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from attrs import frozen

from tercet_spec.agents import ModelMove, Passed, Request, Response, Result, ToolMove
from tercet_spec.trace import Outcome, RunOutcome
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, State, ToolCall, Update


class CompressorFailed(Exception):
    """The compressor gave no text. An implementation may let it pass through ``step``: the step failed."""


class ModelFailed(Exception):
    """The model gave no answer. An implementation may let it pass through ``step``: the step failed."""


class Suspended(Exception):
    """The model asks a question before it answers; the step is suspended."""


class Cancelled(BaseException):
    """The step is cancelled. No ``Exception``, so that nothing that handles errors swallows it."""


@frozen
class Refused(Exception):
    """Raised by ``open`` and ``configure``: the configuration is not accepted, for these reasons."""

    problems: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.problems)


@frozen
class Unsupported(Exception):
    """Raised by what takes messages: the implementation's own cannot say this; no rule is broken by that."""

    reason: str


class Host(Protocol):
    """The suite, to an implementation: it plays the compressor and the model.

    The thread's messages come to it with their stored ids. One that comes without is known by what
    it says, and two that say the same may be taken for one another.
    """

    @property
    def usage(self) -> int:
        """The tokens that the latest call of either method reported, however it ended."""
        ...

    def summarize(self, given: Sequence[Message], so_far: str | None = None) -> str:
        """Answer as the compressor.

        ``given`` is what the compressor really receives, unedited: the thread's messages, prose,
        the implementation's own prompt. ``so_far`` is the text of the summary so far, where it is
        handed over beside the messages. Raises CompressorFailed or Cancelled.
        """
        ...

    def answer(self, request: Sequence[Message]) -> Message:
        """Answer as the model. Raises ModelFailed, Suspended or Cancelled."""
        ...


@frozen
class StepEnd:
    """How a step ended.

    A committed step appended the model's answer itself: ``answer_id`` is its stored id, and
    ``attempt`` names, from 0, the call of ``answer`` whose response it returned (the last, if None).
    """

    outcome: Outcome
    answer_id: str | None = None
    attempt: int | None = None


class Session(Protocol):
    """One thread of an implementation.

    It may have a method ``close()`` too, which is called when the thread is done with.
    """

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages; return their stored ids, which are the implementation's own. Raises Unsupported."""
        ...

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take one model step."""
        ...

    def state(self) -> State:
        """Show the thread: the history as it is stored, a summary only where there is a key that holds one.

        A message that the implementation itself put into the history may have no stored id.
        """
        ...

    def configure(self, configuration: Configuration) -> None:
        """Change the configuration; needed where ``configure`` is declared. Raises Refused."""
        ...


class FullSession(Session, Protocol):
    """What a session can be asked besides, each where its capability is declared."""

    def begin_turn(self) -> None:
        """Begin a turn (``turns``)."""
        ...

    def end_turn(self, blocked: bool) -> None:
        """End the turn; a block removes its messages and restores the key (``turns``)."""
        ...

    def checkpoint(self) -> str:
        """Put the thread by as it is, and return what names it (``checkpoint``)."""
        ...

    def restore(self, checkpoint: str) -> None:
        """Put the thread back to what it was then; that may happen more than once (``checkpoint``)."""
        ...

    def edit(self, history: Sequence[Message]) -> None:
        """Take what another party made of the stored history: messages with their stored ids (``edit``)."""
        ...


class LoopHost(Host, Protocol):
    """The suite, to an agent's loop: it plays the hooks and the tools too.

    ``entries`` are the thread's state by key, as it is committed, without the key of summarization.
    """

    def before_agent(self, middleware: str, message: Message, entries: Update) -> Passed:
        """Answer as a hook that sees the input."""
        ...

    def section(self, middleware: str, entries: Update) -> str | None:
        """Give a prompt section; ``None`` is a failure, which fails the run."""
        ...

    def wrap_model(
        self,
        middleware: str,
        request: Request,
        responses: Sequence[Response],
        replies: Sequence[str],
        entries: Update,
    ) -> ModelMove:
        """Answer as a model wrapper.

        It is asked again after each call of next, and after each reply to a question, with all that it had before.
        """
        ...

    def ask_model(self, request: Request) -> Message:
        """Answer as the model. Raises ModelFailed or Cancelled."""
        ...

    def wrap_tool(
        self, middleware: str, call: ToolCall, approved: bool, results: Sequence[Result], entries: Update
    ) -> ToolMove:
        """Answer as a tool wrapper; it is asked again after each call of next."""
        ...

    def run_tool(self, call: ToolCall) -> Result:
        """Run a tool."""
        ...

    def after_agent(self, middleware: str, message: Message, entries: Update) -> Passed:
        """Answer as a hook that sees the output."""
        ...


@frozen
class RunEnd:
    """How a run ended; a suspended one waits for a reply, or for a decision on the calls in these places."""

    outcome: RunOutcome
    question: str | None = None
    waiting: tuple[int, ...] = ()


class Loop(Protocol):
    """One thread, and the loop of an agent over it. It may have a method ``close()`` too."""

    def run(self, message: Message) -> RunEnd:
        """Run with an input, to the end, or until it must wait."""
        ...

    def resume(self, reply: str | None, approved: Sequence[bool]) -> RunEnd:
        """Go on with the run that waits: with the reply to its question, or a decision on each call (``suspends``)."""
        ...

    def state(self) -> State:
        """Show the thread."""
        ...


class Implementation(Protocol):
    """What a factory returns.

    It may have a method ``close()`` too, which is called when all is done, and, where ``hooks`` is declared, a
    method ``open_loop(configuration, agent, host)`` that begins a thread with an agent's loop over it.
    """

    def describe(self) -> Description:
        """Say what it is and what it can do; what it cannot do is not declared."""
        ...

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Begin a thread. Raises Refused."""
        ...


Factory = Callable[[], Implementation]

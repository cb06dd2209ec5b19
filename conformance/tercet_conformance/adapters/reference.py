"""The reference as one more implementation under the suite."""

from collections.abc import Collection, Sequence
from functools import partial

from attrs import evolve, frozen

from tercet import (
    TERCET,
    Ask,
    ConfigurationRefused,
    Dialect,
    Send,
    Summarization,
    SummaryRefused,
    Thread,
    Unstored,
    Usage,
)
from tercet_conformance.adapters.reference_loop import ReferenceLoop
from tercet_conformance.interface import Host, Loop, LoopHost, ModelFailed, Refused, Session, StepEnd
from tercet_spec.agents import Agent
from tercet_spec.characters import size
from tercet_spec.vocabulary import (
    ALL_CAPABILITIES,
    Character,
    Configuration,
    Description,
    Message,
    Note,
    PendingCall,
    State,
)

BEFORE = "What was said before: "


BY_PLACE: Dialect[Message] = evolve(TERCET, id=lambda _: None)
"""Tercet's own messages, read as if they had no id: a message's place names it, as it does a chat dict."""


@frozen
class Reference:
    """The package ``tercet``, on its own messages, counting in one character.

    Where places name the messages, nobody edits the history: a message would come under another's name.
    """

    character: Character = "code point"
    dialect: Dialect[Message] = TERCET

    def describe(self) -> Description:
        """Say what the reference can do."""
        capabilities = ALL_CAPABILITIES - {"edit"} if self.dialect is BY_PLACE else ALL_CAPABILITIES
        return Description("tercet", "0.1.0", capabilities=capabilities, character=self.character, before=BEFORE)

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Begin a thread."""
        thread = Thread(summarization(configuration, self.character, self.dialect))
        return ReferenceSession(thread, host, self.character)

    def open_loop(self, configuration: Configuration, agent: Agent, host: LoopHost) -> Loop:
        """Begin a thread with an agent's loop over it."""
        thread = Thread(summarization(configuration, self.character, self.dialect))
        return ReferenceLoop(thread, agent, host)


def summarization(
    configuration: Configuration, character: Character, dialect: Dialect[Message] = TERCET
) -> Summarization[Message]:
    """Configure the reference as the suite asks."""
    try:
        return Summarization(
            dialect,
            trigger=configuration.trigger,
            keep_recent=configuration.keep_recent,
            max_summary_tokens=configuration.max_summary_tokens,
            token_counter=partial(size, counter=configuration.token_counter, character=character),
            character=character,
            before=BEFORE,
            beside=configuration.beside,
        )
    except ConfigurationRefused as refused:
        raise Refused(refused.problems) from refused


class ReferenceSession:
    """One thread of the reference, driven synchronously; a model that fails is tried once more."""

    def __init__(self, thread: Thread[Message], host: Host, character: Character, tries: int = 2) -> None:
        self.thread = thread
        self.host = host
        self.character = character
        self.tries = tries
        self.spent = Usage()
        self.began = thread
        self.checkpoints: list[Thread[Message]] = []

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages, each under an id of its own."""
        stored = [message.stored_under(self.new_id(number)) for number, message in enumerate(messages)]
        self.thread = self.thread.append(*stored)
        return [message.id or "" for message in stored]

    def new_id(self, place: int = 0) -> str:
        """Make the stored id of a new message: one more than the last, which may be one that a block removed."""
        if self.thread.summarization.dialect is BY_PLACE:
            return str(len(self.thread.history) + 1 + place)
        last = self.thread.history[-1].id if self.thread.history else None
        return f"h{int((last or 'h0')[1:]) + 1 + place}"

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take one model step: whatever comes of it, the thread counts its calls."""
        self.spent = Usage()
        prompt = None if system is None else Message("system", system)
        unstored = [Unstored(note.message, note.after) for note in notes]
        try:
            plan, answer = self.attempt(prompt, unstored, pending)
        except SummaryRefused:
            self.thread = self.thread.fail(self.spent)
            return StepEnd("failed")
        except BaseException:
            self.thread = self.thread.fail(self.spent)
            raise
        answer_id = self.new_id()
        self.thread = self.thread.commit(plan, answer.stored_under(answer_id), self.spent)
        return StepEnd("committed", answer_id)

    def attempt(
        self, system: Message | None, notes: Sequence[Unstored[Message]], pending: Collection[PendingCall]
    ) -> tuple[Send[Message], Message]:
        """Decide and ask until the model answers."""
        for left in reversed(range(self.tries)):
            plan = self.thread.decide(system, notes, pending)
            if isinstance(plan, Ask):
                plan = plan.answer(self.summarize(plan))
            try:
                return plan, self.answer(plan)
            except ModelFailed:
                if not left:
                    raise
        raise AssertionError("a session tries at least once")

    def summarize(self, ask: Ask[Message]) -> str:
        """Ask the compressor, and count the call."""
        try:
            return self.host.summarize(ask.messages, ask.so_far)
        finally:
            self.spent += Usage(1, self.host.usage)

    def answer(self, send: Send[Message]) -> Message:
        """Ask the model, and count the call."""
        try:
            return self.host.answer(send.request)
        finally:
            self.spent += Usage(1, self.host.usage)

    def state(self) -> State:
        """Show the thread."""
        thread = self.thread
        return State(tuple(thread.history), thread.summary, thread.usage.tokens, thread.summarization.warnings)

    def configure(self, configuration: Configuration) -> None:
        """Change the configuration."""
        dialect = self.thread.summarization.dialect
        self.thread = evolve(self.thread, summarization=summarization(configuration, self.character, dialect))

    def begin_turn(self) -> None:
        """Begin a turn: a thread is a value, so keeping it is all there is to do."""
        self.began = self.thread

    def end_turn(self, blocked: bool) -> None:
        """End the turn; a blocked one was never."""
        if blocked:
            self.thread = self.thread.back_to(self.began)

    def checkpoint(self) -> str:
        """Put the thread by."""
        self.checkpoints.append(self.thread)
        return str(len(self.checkpoints) - 1)

    def restore(self, checkpoint: str) -> None:
        """Put the thread back."""
        self.thread = self.thread.back_to(self.checkpoints[int(checkpoint)])

    def edit(self, history: Sequence[Message]) -> None:
        """Take what another party made of the history."""
        self.thread = self.thread.edited(history)


def implementation() -> Reference:
    """Make the reference."""
    return Reference()

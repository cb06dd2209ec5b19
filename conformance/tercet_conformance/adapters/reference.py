"""The reference as one more implementation under the suite."""

from collections.abc import Collection, Sequence
from functools import partial

from attrs import evolve, frozen

from tercet import TERCET, Ask, ConfigurationRefused, Summarization, SummaryRefused, Thread
from tercet_conformance.interface import Host, Refused, Session, StepEnd
from tercet_spec.characters import size
from tercet_spec.vocabulary import (
    Capability,
    Character,
    Configuration,
    Description,
    Message,
    Note,
    PendingCall,
    State,
)

BEFORE = "What was said before: "
CAPABILITIES: frozenset[Capability] = frozenset(
    {
        "message-trigger",
        "token-trigger",
        "bound",
        "system",
        "summary-shown",
        "exact-input",
        "missing-ids",
        "model-step",
        "suspend",
        "configure",
        "refuses",
        "beside",
        "warns",
    }
)


@frozen
class Reference:
    """The package ``tercet``, on its own messages, counting in one character."""

    character: Character = "code point"

    def describe(self) -> Description:
        """Say what the reference can do."""
        return Description("tercet", "0.1.0", capabilities=CAPABILITIES, character=self.character, before=BEFORE)

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Begin a thread."""
        return ReferenceSession(Thread(summarization(configuration, self.character)), host, self.character)


def summarization(configuration: Configuration, character: Character) -> Summarization[Message]:
    """Configure the reference as the suite asks."""
    try:
        return Summarization(
            TERCET,
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
    """One thread of the reference, driven synchronously."""

    def __init__(self, thread: Thread[Message], host: Host, character: Character) -> None:
        self.thread = thread
        self.host = host
        self.character = character

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages, each under its place in the history."""
        first = len(self.thread.history) + 1
        stored = [evolve(message, id=f"h{number}") for number, message in enumerate(messages, first)]
        self.thread = self.thread.append(*stored)
        return [message.id or "" for message in stored]

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take one model step: a failure of either call leaves the thread as it was."""
        plan = self.thread.decide(None if system is None else Message("system", system))
        if isinstance(plan, Ask):
            try:
                plan = plan.answer(self.host.summarize(plan.messages, plan.so_far))
            except SummaryRefused:
                return StepEnd("failed")
        answer_id = f"h{len(self.thread.history) + 1}"
        answer = self.host.answer(plan.request)
        self.thread = self.thread.commit(plan, evolve(answer, id=answer_id))
        return StepEnd("committed", answer_id)

    def state(self) -> State:
        """Show the thread."""
        return State(tuple(self.thread.history), self.thread.summary, warnings=self.thread.summarization.warnings)

    def configure(self, configuration: Configuration) -> None:
        """Change the configuration."""
        self.thread = evolve(self.thread, summarization=summarization(configuration, self.character))


def implementation() -> Reference:
    """Make the reference."""
    return Reference()

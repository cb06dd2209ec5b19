"""A right summarizer in small steps: naive and obvious, with nothing of the reference in it.

Every wrong one in the gallery overrides a step or two of it, so that its fault is all there is to read.
"""

from collections.abc import Collection, Sequence
from itertools import count
from typing import ClassVar, Literal, NamedTuple

from attrs import evolve, frozen

from tercet_conformance.interface import CompressorFailed, Host, Refused, Session, StepEnd
from tercet_spec.characters import bounded, is_blank, size
from tercet_spec.pairs import pair
from tercet_spec.vocabulary import (
    ALL_CAPABILITIES,
    LEAST_MAX_SUMMARY_TOKENS,
    LOOP_CAPABILITIES,
    Capability,
    Character,
    Configuration,
    Description,
    Message,
    Note,
    PendingCall,
    State,
    Summary,
)

CAPABILITIES: frozenset[Capability] = ALL_CAPABILITIES - LOOP_CAPABILITIES - {"attempts"}


class Link(NamedTuple):
    """A result and the call that it answers: the positions of their messages, and the call's place in its own."""

    result: int
    call: int
    place: int


@frozen
class Saved:
    """A thread at a turn's beginning, or at a checkpoint."""

    history: tuple[Message, ...]
    summary: Summary | None


@frozen
class View:
    """A thread under a summary: its text, if there is one, and the position of the first message after it."""

    text: str | None
    start: int


class Plain:
    """Keeps every rule, working all of it out from the history and the key at each step."""

    capabilities: ClassVar[frozenset[Capability]] = CAPABILITIES
    character: ClassVar[Character] = "code point"
    before: ClassVar[str] = "Earlier in this conversation: "
    after: ClassVar[str] = ""
    failed_compressor: ClassVar[Literal["fails", "sends"]] = "fails"
    parts: ClassVar[bool] = False
    sets_aside: ClassVar[bool] = False

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.host = host
        self.history: list[Message] = []
        self.summary: Summary | None = None
        self.usage = 0
        self.notes: Sequence[Note] = ()
        self.pending: Collection[PendingCall] = ()
        self.began = self.saved()
        self.checkpoints: list[Saved] = []
        self.configure(configuration)

    # What a session is asked.

    def configure(self, configuration: Configuration) -> None:
        """Change the configuration."""
        if problems := self.problems(configuration):
            raise Refused(tuple(problems))
        self.configuration = configuration

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages."""
        return [self.store(message) for message in messages]

    def state(self) -> State:
        """Show the thread."""
        shown = self.summary if "summary-shown" in self.capabilities else None
        return State(tuple(self.history), shown, self.usage, tuple(self.warnings()))

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take one model step."""
        self.notes, self.pending = notes, pending
        view = self.applies()
        new = self.decide(system, view)
        answer = self.call_model(self.send(system, view, new))
        return self.commit(new, answer)

    def begin_turn(self) -> None:
        """Begin a turn."""
        self.began = self.saved()

    def end_turn(self, blocked: bool) -> None:
        """End the turn."""
        if blocked:
            self.block(self.began)

    def checkpoint(self) -> str:
        """Put the thread by."""
        self.checkpoints.append(self.saved())
        return f"c{len(self.checkpoints) - 1}"

    def restore(self, checkpoint: str) -> None:
        """Put the thread back."""
        self.put_back(self.checkpoints[int(checkpoint[1:])])

    def edit(self, history: Sequence[Message]) -> None:
        """Take what another party made of the history."""
        if self.summary is not None and self.touches_covered(history, self.summary):
            self.summary = None
        self.history = list(history)

    # What is put by, and put back.

    def saved(self) -> Saved:
        """Put the thread by."""
        return Saved(tuple(self.history), self.summary)

    def block(self, began: Saved) -> None:
        """Undo a turn."""
        self.put_back(began)

    def put_back(self, saved: Saved) -> None:
        """Go back to what was put by."""
        self.history, self.summary = list(saved.history), saved.summary

    def touches_covered(self, history: Sequence[Message], summary: Summary) -> bool:
        """Tell whether a new history lacks a message that the summary covers."""
        covered = self.history[self.opening() : self.position(summary.through) + 1]
        return any(message not in history for message in covered)

    # The calls, which usage counts.

    def call_model(self, request: Sequence[Message]) -> Message:
        """Ask the model."""
        try:
            return self.host.answer(request)
        finally:
            self.spend_on_model(self.host.usage)

    def call_compressor(self, given: Sequence[Message], so_far: str | None = None) -> str:
        """Ask the compressor."""
        try:
            return self.host.summarize(given, so_far)
        finally:
            self.spend_on_compressor(self.host.usage)

    def spend_on_model(self, tokens: int) -> None:
        """Count a call of the model."""
        self.usage += tokens

    def spend_on_compressor(self, tokens: int) -> None:
        """Count a call of the compressor."""
        self.usage += tokens

    # The steps of a step.

    def decide(self, system: str | None, view: View) -> View | None:
        """Write a new summary where one is due."""
        if not self.is_past(self.measure(self.measured(system, view))):
            return self.quiet(view)
        cut = self.cut(view)
        if cut is None:
            return self.nothing_to_cover(view)
        try:
            return self.fire(system, view, cut)
        except CompressorFailed as error:
            return self.failed(view, cut, error)

    def fire(self, system: str | None, view: View, cut: int) -> View:
        """Ask the compressor, and keep what the bound leaves of its text."""
        text = self.bounded(self.ask(self.span(system, view, cut), self.so_far(view)))
        if self.is_blank(text):
            raise CompressorFailed("the compressor's text is blank")
        return View(text, cut)

    def quiet(self, view: View) -> View | None:
        """Do what is to be done where the trigger is not passed: nothing."""
        return None

    def nothing_to_cover(self, view: View) -> View | None:
        """Do what is to be done where no cut is usable: nothing."""
        return None

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        """Do what is to be done where the compressor failed: the step fails."""
        raise error

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        """Ask the compressor."""
        return self.call_compressor(span, so_far)

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        """Store the answer and, with it, the new summary."""
        if new is not None:
            self.summary = self.key(new)
        return StepEnd("committed", self.store(answer))

    def key(self, new: View) -> Summary:
        """Make what is stored of a new summary."""
        return Summary(new.text or "", self.stored_id(new.start - 1))

    # The stored summary.

    def applies(self) -> View:
        """Apply the stored summary, where it applies."""
        if self.summary is not None:
            text = self.bounded(self.summary.text)
            anchor = self.position(self.summary.through)
            if self.opening() <= anchor < len(self.history) - 1 and not self.is_blank(text):
                return View(text, anchor + 1)
        return View(None, self.opening())

    def position(self, stored_id: str) -> int:
        """Find a message by its stored id; -1 where there is none."""
        return next((at for at, message in enumerate(self.history) if message.id == stored_id), -1)

    def stored_id(self, position: int) -> str:
        """Return the id that a message is stored under."""
        return self.history[position].id or ""

    def opening(self) -> int:
        """Count the system messages that open the history."""
        return next((at for at, message in enumerate(self.history) if message.role != "system"), len(self.history))

    def store(self, message: Message) -> str:
        """Put a message at the end of the history, under an id of its own."""
        stored_id = self.new_id(len(self.history))
        self.history.append(evolve(message, id=stored_id))
        return stored_id

    def new_id(self, position: int) -> str:
        """Make the stored id of a message: one that is free, and may have been another's that is gone."""
        held = {message.id for message in self.history}
        return next(f"p{number}" for number in count(position) if f"p{number}" not in held)

    # The trigger.

    def measured(self, system: str | None, view: View) -> Sequence[Message]:
        """Make the request that the trigger is measured on."""
        return self.request(system, view)

    def measure(self, request: Sequence[Message]) -> int:
        """Measure a request in the trigger's unit."""
        if self.configuration.trigger.kind == "messages":
            return self.count(request)
        return sum(self.tokens(message) for message in request)

    def count(self, request: Sequence[Message]) -> int:
        """Count the messages of a request."""
        return len(request)

    def tokens(self, message: Message) -> int:
        """Count the tokens of a message."""
        return size(message, self.configuration.token_counter, self.character)

    def is_past(self, measured: int) -> bool:
        """Tell whether a size is past the limit."""
        return measured > self.configuration.trigger.limit

    # The cut.

    def cut(self, view: View) -> int | None:
        """Choose the latest usable cut, as the position of the first message kept."""
        links = self.links()
        usable = (cut for cut in range(self.latest(view), view.start, -1) if self.is_legal(links, view, cut))
        return next(usable, None)

    def latest(self, view: View) -> int:
        """Find the latest cut that keepRecent and pending calls allow."""
        waiting = [at for at in map(self.position, self.waiting()) if at >= view.start]
        return min([len(self.history) - self.configuration.keep_recent, *waiting])

    def waiting(self) -> list[str]:
        """List the stored ids of the messages whose calls are pending."""
        return [call.message for call in self.pending]

    def is_legal(self, links: Sequence[Link], view: View, cut: int) -> bool:
        """Tell whether no result at or after a cut answers a call of the tail before it."""
        return not any(view.start <= call < cut <= result for result, call, _ in links)

    def links(self) -> list[Link]:
        """Find the call that each result of the history answers."""
        answered = pair(self.history).items()
        return [Link(result.position, call.position, call.place) for result, call in answered if call is not None]

    # The compressor's input and its text.

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        """Choose what the compressor is given."""
        return [*self.called_back(view, cut), *self.history[view.start : cut]]

    def so_far(self, view: View) -> str | None:
        """Choose the summary so far that the compressor is given."""
        return view.text

    def bounded(self, text: str) -> str:
        """Cut a text to the bound."""
        return bounded(text, self.configuration.max_summary_tokens, self.character)

    def is_blank(self, text: str) -> bool:
        """Tell whether a text says nothing."""
        return is_blank(text)

    # The request.

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        """Make the request that is sent: under the new summary where one was written."""
        return self.request(system, new or view)

    def request(self, system: str | None, view: View) -> list[Message]:
        """Put a request together."""
        first = self.opening()
        displaced = [] if view.text is None else [note for note in self.notes if self.is_displaced(note, view)]
        return [
            *self.prompt(system),
            *self.with_notes(0, first, displaced),
            *self.summaries(view),
            *self.called_back(view, len(self.history)),
            *(note.message for note in displaced),
            *self.with_notes(view.start, len(self.history), displaced),
            *self.notes_at(len(self.history), displaced),
        ]

    def gap(self, note: Note) -> int:
        """Find the message before which a note stands."""
        return 0 if note.after is None else self.position(note.after) + 1

    def is_displaced(self, note: Note, view: View) -> bool:
        """Tell whether a neighbour of a note is covered."""
        return self.opening() <= self.gap(note) <= view.start

    def notes_at(self, position: int, displaced: Sequence[Note]) -> list[Message]:
        """Find the notes before a message."""
        return [note.message for note in self.notes if note not in displaced and self.gap(note) == position]

    def with_notes(self, start: int, stop: int, displaced: Sequence[Note]) -> list[Message]:
        """Give some of the history's messages with the notes before each."""
        if not self.notes:
            return self.history[start:stop]
        pieces = ([*self.notes_at(at, displaced), self.history[at]] for at in range(start, stop))
        return [message for piece in pieces for message in piece]

    def prompt(self, system: str | None) -> list[Message]:
        """Make the system message of a request, where there is a system prompt."""
        return [] if system is None else [Message("system", system)]

    def summaries(self, view: View) -> list[Message]:
        """Make the summary message, where there is a summary."""
        return [] if view.text is None else [Message("user", self.before + view.text + self.after)]

    def called_back(self, view: View, until: int) -> list[Message]:
        """Find the covered messages that late results before ``until`` call back."""
        return [self.history[position] for position in self.late(view.start, until)] if view.text is not None else []

    def late(self, start: int, until: int) -> list[int]:
        """Find the positions before ``start`` that results from there to ``until`` call back."""
        links = self.links()
        back = {link.call for link in links if link.call < start <= link.result < until}
        while True:
            last = {(link.call, link.place): link.result for link in links if link.call in back and link.result < start}
            results = set(last.values())
            more = back | results | {link.call for link in links if link.result in results}
            if more == back:
                return sorted(back)
            back = more

    # The configuration.

    def problems(self, configuration: Configuration) -> list[str]:
        """Say what is wrong with a configuration."""
        problems = []
        if self.keeps_too_few(configuration):
            problems.append(f"keepRecent is {configuration.keep_recent}; the least is 1")
        if self.bounds_too_much(configuration):
            problems.append(f"maxSummaryTokens is {configuration.max_summary_tokens}; the least is 32")
        if self.has_bad_trigger(configuration):
            problems.append(f"the trigger is {configuration.trigger}; it is of tokens or messages, from 1 up")
        if self.has_company(configuration):
            problems.append(f"there is a {' and a '.join(configuration.beside)} beside summarization")
        return problems

    def keeps_too_few(self, configuration: Configuration) -> bool:
        """Tell whether keepRecent must be refused."""
        return configuration.keep_recent < 1

    def bounds_too_much(self, configuration: Configuration) -> bool:
        """Tell whether maxSummaryTokens must be refused."""
        return configuration.max_summary_tokens < LEAST_MAX_SUMMARY_TOKENS

    def has_bad_trigger(self, configuration: Configuration) -> bool:
        """Tell whether the trigger must be refused."""
        return configuration.trigger.kind not in ("messages", "tokens") or configuration.trigger.limit < 1

    def has_company(self, configuration: Configuration) -> bool:
        """Tell whether what stands beside summarization must be refused."""
        return bool(configuration.beside)

    def warnings(self) -> list[str]:
        """Warn of a limit that every added message passes."""
        return ["every added message may pass this limit"] if self.thrashes() else []

    def thrashes(self) -> bool:
        """Tell whether every added message passes the limit; a system prompt may come with any request."""
        configuration = self.configuration
        if configuration.trigger.kind == "messages":
            return configuration.trigger.limit <= configuration.keep_recent + 2
        return configuration.trigger.limit <= configuration.max_summary_tokens


@frozen
class PlainImplementation:
    """An implementation whose threads are of one class of the gallery."""

    name: str
    thread: type[Plain]

    def describe(self) -> Description:
        """Say what the thread's class declares."""
        thread = self.thread
        return Description(
            self.name,
            "0",
            capabilities=thread.capabilities,
            character=thread.character,
            before=thread.before,
            after=thread.after,
            failed_compressor=thread.failed_compressor,
            parts=thread.parts,
            sets_aside=thread.sets_aside,
        )

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Begin a thread."""
        return self.thread(configuration, host)

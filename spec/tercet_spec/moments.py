"""A trace folded into moments: one for each configuration, one for each model step.

A moment holds everything that a rule may look at, so that a rule is one relation over a moment
and the one before it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from attrs import evolve, frozen

from tercet_spec.characters import is_blank, trimmings
from tercet_spec.pairs import Pairs, pair
from tercet_spec.readings import Given, Made, Part, Thread, origin, read_given, read_request
from tercet_spec.requests import Standing, as_bounded, as_sent, called_back, measure, opening, standing, usable_cuts
from tercet_spec.trace import (
    Appended,
    Failure,
    Opened,
    Outcome,
    Refused,
    Requested,
    StepBegun,
    StepEnded,
    Summarized,
    Trace,
)
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, State, Summary


@frozen
class Configured:
    """A configuration was accepted with ``warnings``, or refused for ``problems`` (then not ``None``)."""

    description: Description
    configuration: Configuration
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] | None = None


@frozen
class Exchange:
    """One question to the compressor and its answer; ``reply`` is ``None`` where it failed."""

    given: Given
    reply: str | None
    failure: Failure | None
    made: Made | None
    covers: frozenset[int]

    def failed(self, configuration: Configuration, description: Description) -> bool:
        """Tell whether nothing may come of it: it failed, or its bounded text is blank."""
        return self.reply is None or is_blank(as_bounded(self.reply, configuration, description))


@frozen
class Attempt:
    """One request handed to the model, after ``asked`` of the step's exchanges."""

    parts: tuple[Part, ...]
    asked: int
    failure: Failure | None

    @property
    def summary(self) -> Part | None:
        """The first summary message of the request."""
        return next((part for part in self.parts if part.kind == "summary"), None)

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of the history's messages in the request, in its order."""
        return tuple(part.position for part in self.parts if part.position is not None)


@frozen
class Step:
    """One model step: what was before it, what was asked and sent, how it ended, what is after it.

    ``history`` is the suite's own, before the step. ``stored`` is the summary in the thread: the
    one shown or, where none is ever shown, the one that the last committed request carried;
    ``stored_made`` is where its text came from. ``attempt`` counts from 0, and is the last where it
    is ``None``.
    """

    number: int
    description: Description
    configuration: Configuration
    warnings: tuple[str, ...]
    system: str | None
    notes: tuple[Note, ...]
    pending: tuple[PendingCall, ...]
    history: tuple[Message, ...]
    stored: Summary | None
    stored_made: Made | None
    exchanges: tuple[Exchange, ...]
    attempts: tuple[Attempt, ...]
    outcome: Outcome
    attempt: int | None
    shown_before: State
    shown_after: State
    history_after: tuple[Message, ...]
    stored_after: Summary | None

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of the history."""
        return pair(self.history)

    @cached_property
    def opening(self) -> int:
        """How many system messages open the history."""
        return opening(self.history)

    @cached_property
    def stands(self) -> Standing | None:
        """The stored summary as it applies before the step."""
        return standing(self.history, self.stored, self.configuration, self.description)

    @cached_property
    def start(self) -> int:
        """The position of the tail's first message before the step."""
        return self.stands.start if self.stands else self.opening

    @cached_property
    def as_sent(self) -> tuple[Message, ...]:
        """The request as it would be sent with the stored summary applied."""
        notes = tuple(note.message for note in self.notes)
        return as_sent(self.system, self.history, self.pairs, self.stands, self.description) + notes

    @cached_property
    def size(self) -> int:
        """The size of that request, in the trigger's unit."""
        return measure(self.as_sent, self.configuration, self.description)

    @property
    def limit(self) -> int:
        """The trigger's limit."""
        return self.configuration.trigger.limit

    @cached_property
    def usable(self) -> tuple[int, ...]:
        """The usable cuts of the tail, earliest first."""
        return usable_cuts(self.history, self.pairs, self.start, self.configuration.keep_recent)

    @property
    def fired(self) -> bool:
        """Whether a compressor was asked in this step."""
        return bool(self.exchanges)

    @cached_property
    def written(self) -> Exchange | None:
        """The last exchange of the step that gave a text to send."""
        good = (e for e in reversed(self.exchanges) if not e.failed(self.configuration, self.description))
        return next(good, None)

    @cached_property
    def cut(self) -> int | None:
        """The position of the first message that the new summary does not cover, where one was written."""
        if self.written is None:
            return None
        span = [position for position in self.written.covers if position >= self.start]
        return max(span) + 1 if span else self.start

    def firings(self, exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
        """Group questions to the compressor by firing.

        One that is asked again after a failure belongs to the same firing; so do, where the
        implementation declares it, consecutive parts of one span.
        """
        firings: list[list[Exchange]] = []
        for exchange in exchanges:
            if firings and self.is_same_firing(firings[-1], exchange):
                firings[-1].append(exchange)
            else:
                firings.append([exchange])
        return firings

    def is_same_firing(self, earlier: Sequence[Exchange], exchange: Exchange) -> bool:
        """Tell whether a question goes on with a firing, asks again what failed in it, or begins it again."""
        last, parts = earlier[-1], self.description.parts
        if last.failed(self.configuration, self.description):
            return exchange.given.asks_as(last.given) or (parts and exchange.given.asks_as(earlier[0].given))
        return parts and max(last.given.positions, default=-1) < min(exchange.given.positions, default=-1)

    def called_back(self, start: int, until: int | None = None) -> tuple[int, ...]:
        """The covered messages that late results of ``history[start:until]`` call back."""
        return called_back(self.history, self.pairs, start, until)

    def replaces(self, attempt: Attempt) -> bool:
        """Tell whether a request carries a summary that is not the stored one, whether that applies or not."""
        part = attempt.summary
        if part is None or part.text is None:
            return False
        texts = [text for text in (self.stored and self.stored.text, self.stands and self.stands.text) if text]
        known = any(part.text in trimmings(text) for text in texts)
        return not known and (part.made is None or part.made is not self.stored_made)

    def is_new(self, part: Part) -> bool:
        """Tell whether a summary message's text was written in this step."""
        return part.made is not None and any(part.made is exchange.made for exchange in self.exchanges)

    def covered(self, attempt: Attempt) -> int:
        """The position of the first message that the summary in a request does not stand for.

        A new summary stands for what it was made from, the stored one for what its key says, an
        unknown text for nothing.
        """
        part = attempt.summary
        if part is None:
            return self.opening
        if self.is_new(part) and part.made is not None:
            return max(part.made.covers, default=self.opening - 1) + 1
        if self.stands and (part.made is None or part.made is self.stored_made):
            return self.stands.start
        return max(part.made.covers, default=self.opening - 1) + 1 if part.made else self.opening


Moment = Configured | Step


@frozen
class Memory:
    """What the fold carries from one event to the next."""

    configuration: Configuration | None = None
    warnings: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()
    made: tuple[Made, ...] = ()
    inferred: Summary | None = None
    steps: int = 0


def moments(trace: Trace) -> Iterator[Moment]:
    """Fold a trace into its moments, in order; a step that never ended yields none."""
    memory = Memory()
    step: list[Summarized | Requested] = []
    begun: StepBegun | None = None
    for event in trace.events:
        match event:
            case Opened(configuration, warnings):
                memory = evolve(memory, configuration=configuration, warnings=warnings)
                yield Configured(trace.description, configuration, warnings)
            case Refused(configuration, problems):
                yield Configured(trace.description, configuration, problems=problems)
            case Appended(messages):
                memory = evolve(memory, history=memory.history + messages)
            case StepBegun():
                begun, step = event, []
            case Summarized() | Requested():
                step.append(event)
            case StepEnded():
                if begun is not None and memory.configuration is not None:
                    moment, memory = fold_step(trace.description, memory.configuration, memory, begun, step, event)
                    yield moment
                begun = None


def fold_step(
    description: Description,
    configuration: Configuration,
    memory: Memory,
    begun: StepBegun,
    events: Sequence[Summarized | Requested],
    ended: StepEnded,
) -> tuple[Step, Memory]:
    """Make the moment of one step, and what is remembered after it."""
    shown = "summary-shown" in description.capabilities
    notes = tuple(note.message for note in begun.notes)
    made = memory.made
    before = Thread(memory.history, None, (), made, description)
    stored = begun.shown.summary if shown else kept(begun.shown, before, memory.inferred)
    exchanges: list[Exchange] = []
    attempts: list[Attempt] = []
    for event in events:
        thread = Thread(memory.history, begun.system, notes, made, description)
        if isinstance(event, Summarized):
            exchange = read_exchange(event, thread)
            made += (exchange.made,) if exchange.made else ()
            exchanges.append(exchange)
        else:
            attempts.append(Attempt(read_request(event.request, thread), len(exchanges), event.failure))
    history = memory.history
    inferred = memory.inferred
    if ended.outcome == "committed":
        attempt = ended.attempt if ended.attempt is not None else len(attempts) - 1
        answers = [event.answer for event in events if isinstance(event, Requested)]
        answer = answers[attempt] if 0 <= attempt < len(answers) else None
        if answer is not None:
            history += (evolve(answer, id=ended.answer_id),)
            inferred = infer(attempts[attempt], memory.history, inferred, memory.made)
    moment = Step(
        number=memory.steps,
        description=description,
        configuration=configuration,
        warnings=memory.warnings,
        system=begun.system,
        notes=begun.notes,
        pending=begun.pending,
        history=memory.history,
        stored=stored,
        stored_made=origin(stored.text, memory.made) if stored else None,
        exchanges=tuple(exchanges),
        attempts=tuple(attempts),
        outcome=ended.outcome,
        attempt=ended.attempt,
        shown_before=begun.shown,
        shown_after=ended.shown,
        history_after=history,
        stored_after=ended.shown.summary
        if shown
        else kept(ended.shown, evolve(before, history=history, made=made), inferred),
    )
    return moment, evolve(memory, history=history, made=made, inferred=inferred, steps=memory.steps + 1)


def read_exchange(event: Summarized, thread: Thread) -> Exchange:
    """Read one exchange; its text is made from what was given for it and, through the summary so far, before."""
    given = read_given(event.given, event.so_far, thread)
    covers = frozenset(given.positions) - given.changed | (given.extends.covers if given.extends else frozenset())
    text = event.reply
    made = Made(text, covers) if text is not None and not is_blank(text) else None
    return Exchange(given, text, event.failure, made, covers)


def kept(shown: State, thread: Thread, inferred: Summary | None) -> Summary | None:
    """Find the summary that a thread keeps: one in the history, where that is edited, else the inferred."""
    if shown.history == thread.history:
        return inferred
    part = next((part for part in read_request(shown.history, thread) if part.kind == "summary"), None)
    if part is not None and part.text is not None and part.made is not None and part.made.covers:
        return Summary(part.text, thread.history[max(part.made.covers)].id or "")
    if part is not None and inferred is not None and part.text == inferred.text:
        return inferred
    ids = {message.id for message in shown.history}
    return inferred if all(message.id in ids for message in thread.history) else None


def infer(attempt: Attempt, history: Sequence[Message], before: Summary | None, made: Sequence[Made]) -> Summary | None:
    """Infer the summary that a thread keeps, where none is shown, from the request that was committed.

    A stored text that is sent again, cut to a bound that was lowered since, stays as it was; ``made``
    are the texts that the compressor returned before this step.
    """
    part = attempt.summary
    if part is None or part.text is None:
        return None
    sent_again = before is not None and part.made is not None and part.made is origin(before.text, made)
    if before is not None and sent_again and any(text.startswith(part.text) for text in trimmings(before.text)):
        return before
    if part.made is not None and part.made.covers:
        through = max(part.made.covers)
    elif before is not None and before.text == part.text:
        return before
    else:
        first = min(attempt.positions, default=len(history))
        through = first - 1
    return Summary(part.text, history[through].id or "") if through >= 0 else None

"""A trace folded into moments: one for each configuration, each model step, and each change from outside.

A moment holds everything that a rule may look at, so that a rule is one relation over a moment
and the one before it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from attrs import evolve, field, frozen

from tercet_spec.characters import is_blank, trimmings
from tercet_spec.course import Happening
from tercet_spec.pairs import Call, Pairs, pair
from tercet_spec.readings import Given, Made, Part, Thread, origin, read_given, read_request
from tercet_spec.requests import (
    Standing,
    as_bounded,
    as_sent,
    called_back,
    gap,
    measure,
    opening,
    position_of,
    standing,
    usable_cuts,
)
from tercet_spec.runs import AgentRun, runs
from tercet_spec.trace import (
    Appended,
    Checkpointed,
    Edited,
    Failure,
    Opened,
    Outcome,
    Refused,
    Requested,
    Restored,
    StepBegun,
    StepEnded,
    Summarized,
    Trace,
    TurnBegun,
    TurnEnded,
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
class Key:
    """A summary as it was stored, and the messages that it covered then."""

    summary: Summary
    covered: tuple[Message, ...]


@frozen
class Change:
    """What happened to a thread between two steps: a turn ended, a checkpoint was restored, another party edited it.

    ``history`` and ``history_after`` are the suite's own. ``key`` is the stored summary before it,
    ``then`` the one at the turn's beginning or at the checkpoint, ``earlier`` are those that the
    thread had before. ``number`` is that of the last step.
    """

    kind: Literal["kept", "blocked", "restored", "edited"]
    number: int
    description: Description
    history: tuple[Message, ...]
    history_after: tuple[Message, ...]
    key: Key | None
    then: Summary | None
    earlier: tuple[Key, ...]
    shown_before: State
    shown_after: State


@frozen
class Exchange:
    """One question to the compressor and its answer; ``reply`` is ``None`` where it failed."""

    given: Given
    reply: str | None
    failure: Failure | None
    made: Made | None
    covers: frozenset[Message]
    usage: int = 0

    def failed(self, configuration: Configuration, description: Description) -> bool:
        """Tell whether nothing may come of it: it failed, or its bounded text is blank."""
        return self.reply is None or is_blank(as_bounded(self.reply, configuration, description))


@frozen
class Attempt:
    """One request handed to the model, after ``asked`` of the step's exchanges."""

    parts: tuple[Part, ...]
    asked: int
    failure: Failure | None
    usage: int = 0

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
    ``stored_made`` is where its text came from. ``left`` is what was shown after the step or the block
    before, where nothing was restored or edited since. ``attempt`` counts from 0, and is the last where it
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
    left: State | None
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
    def places(self) -> Mapping[Message, int]:
        """The position of each message of the history."""
        return {message: position for position, message in enumerate(self.history)}

    def made_from(self, covers: Collection[Message]) -> frozenset[int]:
        """The positions of those messages, of what a text was made from, that the history still holds."""
        return frozenset(self.places[message] for message in covers if message in self.places)

    @cached_property
    def stands(self) -> Standing | None:
        """The stored summary as it applies before the step."""
        return standing(self.history, self.pairs, self.stored, self.configuration, self.description)

    @cached_property
    def start(self) -> int:
        """The position of the tail's first message before the step."""
        return self.stands.start if self.stands else self.opening

    @cached_property
    def as_sent(self) -> tuple[Message, ...]:
        """The request as it would be sent with the stored summary applied."""
        return as_sent(self.system, self.history, self.pairs, self.stands, self.description, self.notes)

    @cached_property
    def size(self) -> int:
        """The size of that request, in the trigger's unit."""
        return measure(self.as_sent, self.configuration, self.description)

    @property
    def limit(self) -> int:
        """The trigger's limit."""
        return self.configuration.trigger.limit

    @cached_property
    def gaps(self) -> tuple[int, ...]:
        """Where each unstored message stands: the position of the message before which it comes."""
        return tuple(gap(self.history, note) for note in self.notes)

    @cached_property
    def pending_calls(self) -> tuple[Call, ...]:
        """The calls that the host names as pending."""
        named = ((position_of(self.history, call.message), call.place) for call in self.pending)
        return tuple(Call(position, place) for position, place in named if position is not None)

    @cached_property
    def usable(self) -> tuple[int, ...]:
        """The usable cuts of the tail, earliest first."""
        return usable_cuts(self.history, self.pairs, self.start, self.configuration.keep_recent, self.pending_calls)

    @property
    def fired(self) -> bool:
        """Whether a compressor was asked in this step."""
        return bool(self.exchanges)

    def failed(self, exchange: Exchange) -> bool:
        """Tell whether nothing may come of an exchange."""
        return exchange.failed(self.configuration, self.description)

    def asked_for(self, number: int) -> tuple[Exchange, ...]:
        """The exchanges of one attempt's own request: those since the attempt before."""
        since = self.attempts[number - 1].asked if number else 0
        return self.exchanges[since : self.attempts[number].asked]

    @cached_property
    def written(self) -> Exchange | None:
        """The last exchange of the step that gave a text to send."""
        return next((exchange for exchange in reversed(self.exchanges) if not self.failed(exchange)), None)

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """For each firing that gave a text, the position of the first message that it does not cover."""
        ends = [firing[-1] for firing in self.firings(self.exchanges) if not self.failed(firing[-1])]
        spans = [[p for p in self.made_from(exchange.covers) if p >= self.start] for exchange in ends]
        return tuple(max(span) + 1 if span else self.start for span in spans)

    @property
    def cut(self) -> int | None:
        """The last of these."""
        return self.cuts[-1] if self.cuts else None

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
        """Tell whether a question goes on with a firing, asks again what failed in it, or begins it again.

        What goes in parts may begin again in others, or as a whole.
        """
        last, parts = earlier[-1], self.description.parts
        if self.failed(last):
            return exchange.given.asks_as(last.given) or (parts and exchange.given.begins_as(earlier[0].given))
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
        if not self.is_new(part) and self.stands and (part.made is None or part.made is self.stored_made):
            return self.stands.start
        return max(self.made_from(part.made.covers), default=self.opening - 1) + 1 if part.made else self.opening

    @property
    def returned(self) -> Attempt | None:
        """The attempt whose response a committed step returned."""
        if self.outcome != "committed" or not self.attempts:
            return None
        return self.attempts[-1 if self.attempt is None else self.attempt]


Moment = Configured | Step | Change | AgentRun


@frozen
class Point:
    """What a thread was at a turn's beginning, or at a checkpoint."""

    history: tuple[Message, ...]
    summary: Summary | None
    inferred: Summary | None


@frozen
class Memory:
    """What the fold carries from one event to the next."""

    configuration: Configuration | None = None
    warnings: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()
    made: tuple[Made, ...] = ()
    inferred: Summary | None = None
    steps: int = 0
    turn: Point | None = None
    checkpoints: Mapping[str, Point] = field(factory=dict)
    keys: tuple[Key, ...] = ()
    left: State | None = None

    def point(self, shown: State) -> Point:
        """What the thread is now."""
        return Point(self.history, shown.summary, self.inferred)

    def back_at(self, point: Point) -> "Memory":
        """What is remembered once the thread is what it was."""
        return evolve(self, history=point.history, inferred=point.inferred, turn=None)


def moments(trace: Trace) -> Iterator[Moment]:
    """Fold a trace into its moments, in order, runs of an agent last; a step that never ended yields none."""
    memory = Memory()
    step: list[Summarized | Requested] = []
    begun: StepBegun | None = None
    description = trace.description
    for event in trace.events:
        match event:
            case Opened(configuration, warnings):
                memory = evolve(memory, configuration=configuration, warnings=warnings)
                yield Configured(description, configuration, warnings)
            case Refused(configuration, problems):
                yield Configured(description, configuration, problems=problems)
            case Appended(messages):
                memory = evolve(memory, history=memory.history + messages)
            case StepBegun():
                begun, step = event, []
            case Summarized() | Requested():
                step.append(event)
            case StepEnded():
                if begun is not None and memory.configuration is not None:
                    moment, memory = fold_step(description, memory.configuration, memory, begun, step, event)
                    yield moment
                begun = None
            case TurnBegun(shown):
                memory = evolve(memory, turn=memory.point(shown))
            case Checkpointed(name, shown):
                memory = evolve(memory, checkpoints={**memory.checkpoints, name: memory.point(shown)})
            case TurnEnded(blocked=True) if memory.turn is None:
                pass
            case Restored(name) if name not in memory.checkpoints:
                pass
            case TurnEnded() | Restored() | Edited():
                change, memory = fold_change(description, memory, event)
                yield change
    if trace.agent is not None:
        happened = [event for event in trace.events if isinstance(event, Happening)]
        yield from runs(description, trace.agent, happened)


def fold_change(
    description: Description, memory: Memory, event: TurnEnded | Restored | Edited
) -> tuple[Change, Memory]:
    """Make the moment of one change, and what is remembered after it."""
    kind: Literal["kept", "blocked", "restored", "edited"]
    point: Point | None
    match event:
        case TurnEnded(blocked=blocked):
            kind, point = ("blocked", memory.turn) if blocked else ("kept", None)
        case Restored(name):
            kind, point = "restored", memory.checkpoints[name]
        case Edited(history):
            kind, point = "edited", Point(history, None, memory.inferred)
    after = memory.back_at(point) if point else evolve(memory, turn=None)
    if kind != "kept":
        after = evolve(after, left=event.shown if kind == "blocked" else None)
    if kind == "edited" and "restores-key" not in description.capabilities:
        after = evolve(after, made=tuple(covering_edited(made, memory, after) for made in memory.made))
    change = Change(
        kind=kind,
        number=memory.steps - 1,
        description=description,
        history=memory.history,
        history_after=after.history,
        key=key_of(event.before.summary, memory.history),
        then=point.summary if point else None,
        earlier=memory.keys,
        shown_before=event.before,
        shown_after=event.shown,
    )
    return change, after


def covering_edited(made: Made, before: Memory, after: Memory) -> Made:
    """Let a text cover what became of the messages that it was made from: nobody told the implementation."""
    ids = {message.id for message in made.covers}
    last = max((n for n, message in enumerate(after.history) if message.id in ids), default=-1)
    return evolve(made, covers=made.covers | frozenset(after.history[opening(after.history) : last + 1]))


def key_of(summary: Summary | None, history: Sequence[Message]) -> Key | None:
    """Say what a stored summary covers in a history that holds its last covered message."""
    anchor = None if summary is None else position_of(history, summary.through)
    if summary is None or anchor is None:
        return None
    return Key(summary, tuple(history[opening(history) : anchor + 1]))


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
            attempts.append(Attempt(read_request(event.request, thread), len(exchanges), event.failure, event.usage))
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
        left=memory.left,
        shown_before=begun.shown,
        shown_after=ended.shown,
        history_after=history,
        stored_after=ended.shown.summary
        if shown
        else kept(ended.shown, evolve(before, history=history, made=made), inferred),
    )
    key = key_of(ended.shown.summary, history)
    is_new_key = key is not None and ended.shown.summary != begun.shown.summary
    keys = (*memory.keys, key) if is_new_key and key else memory.keys
    after = evolve(memory, history=history, made=made, inferred=inferred, steps=memory.steps + 1, keys=keys)
    return moment, evolve(after, left=ended.shown)


def read_exchange(event: Summarized, thread: Thread) -> Exchange:
    """Read one exchange; its text is made from what was given for it and, through the summary so far, before."""
    given = read_given(event.given, event.so_far, thread)
    own = frozenset(thread.history[position] for position in given.positions if position not in given.changed)
    covers = own | (given.extends.covers if given.extends else frozenset())
    text = event.reply
    made = Made(text, covers) if text is not None and not is_blank(text) else None
    return Exchange(given, text, event.failure, made, covers, event.usage)


def last_of(covers: Collection[Message], history: Sequence[Message]) -> int:
    """Find the last of some messages in a history; -1 where it holds none of them."""
    return max((position for position, message in enumerate(history) if message in covers), default=-1)


def kept(shown: State, thread: Thread, inferred: Summary | None) -> Summary | None:
    """Find the summary that a thread keeps: one in the history, where that is edited, else the inferred."""
    if shown.history == thread.history:
        return inferred
    part = next((part for part in read_request(shown.history, thread) if part.kind == "summary"), None)
    if part is not None and part.text is not None and part.made is not None:
        through = last_of(part.made.covers, thread.history)
        if through >= 0:
            return Summary(part.text, thread.history[through].id or "")
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
    through = last_of(part.made.covers, history) if part.made else -1
    if through < 0:
        if before is not None and before.text == part.text:
            return before
        through = min(attempt.positions, default=len(history)) - 1
    return Summary(part.text, history[through].id or "") if through >= 0 else None

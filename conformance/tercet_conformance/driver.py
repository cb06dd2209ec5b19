"""Runs a scenario against an implementation and records its trace."""

from collections.abc import Sequence
from contextlib import suppress
from traceback import TracebackException
from typing import Any

from attrs import define, evolve, field, fields, frozen, has

from tercet_conformance import interrupts
from tercet_conformance.garbage import (
    Broken,
    Garbage,
    as_checkpoint,
    as_ids,
    as_loop,
    as_problems,
    as_session,
    as_state,
    as_step_end,
    described,
    shortened,
)
from tercet_conformance.guard import Guarded, settled
from tercet_conformance.hosts import ScriptedHost
from tercet_conformance.interface import (
    Cancelled,
    CompressorFailed,
    FullSession,
    Implementation,
    Loop,
    ModelFailed,
    Refused,
    Session,
    StepEnd,
    Suspended,
    Unsupported,
)
from tercet_conformance.limits import Limits, Overdue
from tercet_conformance.loops import LoopPerformance, ScriptedLoopHost
from tercet_spec import scenarios, trace
from tercet_spec.agents import Agent
from tercet_spec.scenarios import (
    OPERATIONS,
    Append,
    BeginTurn,
    Checkpoint,
    Configure,
    Edit,
    EndTurn,
    PlacedNote,
    Restore,
    Scenario,
)
from tercet_spec.trace import Appended, Event, Opened, Requested, StepBegun, StepEnded, Trace
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, State

NAMES = {kind: name for name, kind in OPERATIONS.items()}


@frozen
class Diagnosis:
    """What went wrong that is no rule's violation: where, what was seen, and how many times, differing in details."""

    operation: str
    problem: str
    raised: TracebackException | None = field(default=None, eq=False, repr=False)
    is_hang: bool = False
    is_broken: bool = False
    times: int = 1

    @property
    def detail(self) -> str:
        """The traceback, where something was raised; it is written only when it is asked for, since that is slow."""
        return "" if self.raised is None else "".join(self.raised.format())


@frozen
class Run:
    """One scenario, run: its trace and, where it had to be broken off, why."""

    trace: Trace
    diagnosis: Diagnosis | None = None
    unsupported: str | None = None

    @property
    def steps(self) -> int:
        """How many steps came to an end."""
        return sum(isinstance(event, StepEnded) for event in self.trace.events)


def run(
    implementation: Implementation, description: Description, scenario: Scenario, limits: Limits | None = None
) -> Run:
    """Run a scenario; whatever the implementation raises ends it with a diagnosis, never this call.

    Only a person's Ctrl-C passes through.
    """
    with limits or Limits() as kept:
        return run_within(kept, implementation, description, scenario)


def run_within(limits: Limits, implementation: Implementation, description: Description, scenario: Scenario) -> Run:
    """Run a scenario, each operation within the limits."""
    interrupts.forget()
    limits.scenario = scenario
    host = ScriptedHost() if scenario.agent is None else ScriptedLoopHost([each.id for each in scenario.agent.stack])
    host.is_asked = False
    diagnosis = unsupported = None
    session: Guarded | None = None
    operation = "open"
    try:
        try:
            configuration, agent = given = copied((scenario.configuration, scenario.agent))
            with limits.call("open"):
                session = Guarded(begun(implementation, description, configuration, agent, host), host, limits)
        except Refused as refused:
            host.events.append(trace.Refused(scenario.configuration, as_problems(refused.problems)))
            return Run(Trace(description, tuple(host.events), scenario.agent))
        with limits.call(operation):
            unchanged(given, (scenario.configuration, scenario.agent))
            host.events.append(Opened(scenario.configuration, as_state(session.state()).warnings))
        performance = (
            LoopPerformance(session, host) if isinstance(host, ScriptedLoopHost) else Performance(session, host)
        )
        for number, step in enumerate(scenario.operations, 1):
            operation = f"operation {number} ({NAMES[type(step)]})"
            with limits.call(operation):
                problem = performance.perform(step)
            if problem:
                diagnosis = Diagnosis(operation, problem)
                break
    except Unsupported as error:
        unsupported = text_of(error.reason) or "no reason was given"
    except BaseException as error:  # asyncio's CancelledError and a panic in Rust are no Exception
        if interrupts.is_persons(error):
            with suppress(Exception):
                close(session)
            raise
        diagnosis = broken_off(operation, error)
    try:
        with limits.call("close"):
            close(session)
    except BaseException as error:
        if interrupts.is_persons(error):
            raise
        diagnosis = diagnosis or broken_off("close", error)
    host.tell = lambda problem: limits.late.setdefault(problem, scenario)
    if host.garbage is not None and diagnosis is None:
        diagnosis = Diagnosis(operation, str(host.garbage))
    interrupts.raise_swallowed()
    return Run(Trace(description, tuple(host.events), scenario.agent), diagnosis, unsupported)


def begun(
    implementation: Any, description: Description, configuration: Configuration, agent: Agent | None, host: ScriptedHost
) -> Session | Loop:
    """Begin a thread, with an agent's loop over it where there is one; raises Refused and Garbage."""
    if agent is None:
        return as_session(settled(implementation.open(configuration, host), "open"), description.capabilities)
    return as_loop(settled(implementation.open_loop(configuration, agent, host), "open_loop"), description.capabilities)


def copied(value: Any) -> Any:
    """Copy a value of the vocabulary wholly: an implementation that changes what it is given changes a copy."""
    kind = type(value)
    if kind is str or not value:
        return value
    if kind is tuple:
        return tuple(map(copied, value))
    names = field_names(value)
    return kind(*[copied(getattr(value, name)) for name in names]) if names else value


FIELDS: dict[type, tuple[str, ...]] = {}


def field_names(value: object) -> tuple[str, ...]:
    """The names of the fields of a value; none where it is of no attrs class."""
    kind = type(value)
    if kind not in FIELDS:
        FIELDS[kind] = tuple(field.name for field in fields(kind)) if has(kind) else ()
    return FIELDS[kind]


def unchanged(given: object, original: object) -> None:
    """See to it that what was given is as it was; raises Garbage, which names the innermost change."""
    if given == original:
        return
    if isinstance(given, tuple) and isinstance(original, tuple) and len(given) == len(original):
        for one, other in zip(given, original, strict=True):
            unchanged(one, other)
    names = field_names(given) if type(given) is type(original) else ()
    for name in names:
        unchanged(getattr(given, name), getattr(original, name))
    raise Garbage(f"it was given {described(original)}, and changed that to {described(given)}; values are not changed")


def broken_off(operation: str, error: BaseException) -> Diagnosis:
    """Say what an operation raised, or handed over that cannot be read."""
    raised = TracebackException.from_exception(error, lookup_lines=False)
    error.with_traceback(None)  # one that is raised again and again would carry an ever longer one
    problem = str(error) if isinstance(error, Garbage | Overdue) else f"raised {said(error)}"
    return Diagnosis(operation, shortened(problem), raised, isinstance(error, Overdue), isinstance(error, Broken))


def said(error: BaseException) -> str:
    """Say what an error is, and what it says, even if it cannot say it."""
    name, text = type(error).__name__, text_of(error)
    return f"{name}: {text}" if text else name


def text_of(value: object) -> str:
    """Write what an implementation made as a text, even if it cannot be written."""
    try:
        return str(value)
    except BaseException as error:
        if interrupts.is_persons(error):
            raise
        return f"its text cannot be had: that raised {type(error).__name__}"


def close(session: Session | None) -> None:
    """Let a session end, where it wants to know of it."""
    end = getattr(session, "close", None)
    if end is not None:
        end()


@define
class Performance:
    """A session, and what is known of its thread while a scenario is performed.

    ``began`` is the history when the turn that is under way began; ``held`` are the ids of the history.
    """

    session: FullSession
    host: ScriptedHost
    history: tuple[Message, ...] = ()
    held: set[str | None] = field(factory=set)
    began: tuple[Message, ...] | None = None
    checkpoints: dict[str, tuple[str, tuple[Message, ...]]] = field(factory=dict)
    shown: State = field(factory=State)

    def perform(self, operation: scenarios.Operation) -> str | None:
        """Perform one operation and record what it did; return what went wrong beside the rules."""
        given: scenarios.Operation = copied(operation)
        problem = None
        match given:
            case Append(messages):
                ids = self.stored(as_ids(self.session.append(messages), len(messages)))
                unchanged(given, operation)
                stored = tuple(map(Message.stored_under, messages, ids))
                self.extend(stored)
                self.record(Appended(stored))
            case Configure(configuration):
                self.configure(configuration)
            case scenarios.Step():
                problem = self.take_step(given)
            case BeginTurn():
                self.end_turn(blocked=False)
                self.record(trace.TurnBegun(self.state()))
                self.began = self.history
                self.session.begin_turn()
            case EndTurn(blocked):
                self.end_turn(blocked=blocked)
            case Checkpoint(label):
                shown = self.state()
                self.checkpoints[label] = (as_checkpoint(self.session.checkpoint()), self.history)
                self.record(trace.Checkpointed(label, shown))
            case Restore(label):
                self.restore(label)
            case Edit():
                self.edit(given)
        unchanged(given, operation)
        return problem

    def record(self, event: Event) -> None:
        """Add to the trace."""
        self.host.events.append(event)

    def state(self) -> State:
        """Look at the thread."""
        self.shown = as_state(self.session.state(), self.shown.history)
        return self.shown

    def stored(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Take the stored ids of new messages: no two messages of a history have the same."""
        new: set[str] = set()
        for stored_id in ids:
            if stored_id in self.held or stored_id in new:
                raise Garbage(
                    f"a second message is stored under the id {stored_id!r}; stored ids are unique in a thread"
                )
            new.add(stored_id)
        return tuple(ids)

    def extend(self, messages: tuple[Message, ...]) -> None:
        """Let the history go on with messages."""
        self.history += messages
        self.held.update(message.id for message in messages)

    def put(self, history: tuple[Message, ...]) -> None:
        """Put another history in the place of this one."""
        self.history, self.held = history, {message.id for message in history}

    def configure(self, configuration: Configuration) -> None:
        """Change the configuration."""
        try:
            self.session.configure(configuration)
        except Refused as refused:
            self.record(trace.Refused(configuration, as_problems(refused.problems)))
        else:
            self.record(Opened(configuration, self.state().warnings))

    def end_turn(self, *, blocked: bool) -> None:
        """End the turn that is under way, if there is one."""
        if self.began is None:
            return
        before = self.state()
        self.session.end_turn(blocked)
        if blocked:
            self.put(self.began)
        self.began = None
        self.record(trace.TurnEnded(blocked, before, self.state()))

    def restore(self, label: str) -> None:
        """Go back to a checkpoint, if there is one of this name."""
        self.end_turn(blocked=False)
        if label not in self.checkpoints:
            return
        before = self.state()
        named, history = self.checkpoints[label]
        self.put(history)
        self.session.restore(named)
        self.record(trace.Restored(label, before, self.state()))

    def edit(self, edit: Edit) -> None:
        """Let another party edit the history, if it holds such messages."""
        self.end_turn(blocked=False)
        first, last = edit.first, edit.first + (edit.count if edit.content is None else 1)
        if not 0 <= first < min(last, len(self.history)):
            return
        rewritten = [] if edit.content is None else [evolve(self.history[first], content=edit.content)]
        before = self.state()
        self.put((*self.history[:first], *rewritten, *self.history[last:]))
        self.session.edit(copied(self.history))
        self.record(trace.Edited(self.history, before, self.state()))

    def take_step(self, step: scenarios.Step) -> str | None:
        """Take one model step; the host's own failures may pass through it, as they are or as another error."""
        host = self.host
        host.replies, host.answers, host.failures = list(step.replies), list(step.answers), 0
        notes, pending = self.placed(step.notes), self.named(step.pending)
        self.record(StepBegun(self.state(), step.system, notes, pending))
        began = len(host.events)
        end = as_step_end(self.stepped(step.system, copied(notes), copied(pending)))
        answers = [event.answer for event in host.events[began:] if isinstance(event, Requested)]
        if end.outcome == "committed":
            self.commit(end, answers)
        self.record(StepEnded(end.outcome, self.state(), end.attempt, end.answer_id))
        if end.outcome != "committed" and not host.failures:
            return f"the step ended as {end.outcome} where nothing was scripted to fail"
        return None

    def stepped(self, system: str | None, notes: tuple[Note, ...], pending: tuple[PendingCall, ...]) -> object:
        """Return what the implementation's step returns, or how it ended that raised."""
        returned: object
        try:
            returned = self.session.step(system, notes, pending)
        except (CompressorFailed, ModelFailed):
            returned = StepEnd("failed")
        except Suspended:
            returned = StepEnd("suspended")
        except Cancelled:
            returned = StepEnd("cancelled")
        except (Unsupported, Garbage):
            raise
        except Exception:
            if not self.host.failures or self.host.garbage is not None:
                raise
            returned = StepEnd("failed")
        if self.host.garbage is not None:
            raise self.host.garbage
        return returned

    def commit(self, end: StepEnd, answers: Sequence[Message | None]) -> None:
        """Take the answer of a committed step into the history; raises Garbage."""
        if not answers:
            raise Garbage("step committed without a call of host.answer; a step asks the model for its answer")
        if end.attempt is not None and not 0 <= end.attempt < len(answers):
            raise Garbage(f"step returned the attempt {end.attempt}; host.answer was called {len(answers)} times")
        if end.answer_id is None:
            raise Garbage("step committed without answer_id; name the stored id of the model's answer")
        answer = answers[-1 if end.attempt is None else end.attempt]
        self.stored((end.answer_id,))
        if answer is not None:
            self.extend((answer.stored_under(end.answer_id),))

    def placed(self, notes: Sequence[PlacedNote]) -> tuple[Note, ...]:
        """Name the stored message that each note follows."""
        places = [max(0, len(self.history) - note.back) for note in notes]
        return tuple(
            Note(self.history[place - 1].id if place else None, note.message)
            for note, place in zip(notes, places, strict=True)
        )

    def named(self, ids: Sequence[str | None]) -> tuple[PendingCall, ...]:
        """Name the latest call of each id by its message and its place there; none where there is no such call."""
        if not ids:
            return ()
        calls = {
            call.id: PendingCall(message.id or "", place)
            for message in self.history
            for place, call in enumerate(message.calls)
        }
        return tuple(calls[call_id] for call_id in ids if call_id in calls)

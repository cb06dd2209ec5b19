"""Runs a scenario against an implementation and records its trace."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from traceback import TracebackException
from typing import Any, NoReturn

from attrs import evolve, field, fields, frozen, has

from tercet_conformance import interrupts
from tercet_conformance.garbage import (
    Garbage,
    as_ids,
    as_messages,
    as_problems,
    as_session,
    as_state,
    as_step_end,
    described,
    shortened,
)
from tercet_conformance.guard import Guarded, settled
from tercet_conformance.interface import (
    Cancelled,
    CompressorFailed,
    Implementation,
    ModelFailed,
    Refused,
    Session,
    StepEnd,
    Suspended,
    Unsupported,
)
from tercet_conformance.limits import Limits, Overdue
from tercet_spec import scenarios, trace
from tercet_spec.scenarios import Answer, Append, Configure, Reply, Scenario, reply_text
from tercet_spec.trace import Appended, Event, Failure, Opened, Requested, StepBegun, StepEnded, Summarized, Trace
from tercet_spec.vocabulary import Configuration, Description, Message


@frozen
class Diagnosis:
    """What went wrong that is no rule's violation: where, what was seen, and how many times, differing in details."""

    operation: str
    problem: str
    raised: TracebackException | None = field(default=None, eq=False, repr=False)
    is_hang: bool = False
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


class ScriptedHost:
    """Plays the compressor and the model by a scenario's script, and records every call.

    It is one run's own, and in a run it answers only while a step is under way: what a step leaves
    behind must not be taken for a part of a later one. ``tell`` is told of what is refused after the run.
    """

    is_asked = True
    tell: Callable[[str], object] | None = None

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.replies: list[Reply] = []
        self.answers: list[Answer] = []
        self.asked = 0
        self.answered = 0
        self.failures = 0
        self.ids: set[str] = set()
        self.garbage: Garbage | None = None

    def summarize(self, given: Sequence[Message], so_far: str | None = None) -> str:
        """Answer as the compressor, by the script."""
        given = self.accepted(given, "host.summarize")
        if so_far is not None and not isinstance(so_far, str):
            self.refuse(Garbage(f"host.summarize was given {so_far!r} as the summary so far; it is a text or None"))
        self.asked += 1
        reply = self.replies.pop(0) if self.replies else Reply()
        text = None if reply.failure else reply_text(reply, self.asked)
        self.events.append(Summarized(tuple(given), so_far, text, reply.failure))
        if text is None:
            self.fail(reply.failure, CompressorFailed("the compressor failed, as scripted"))
        if reply.blank is not None:
            self.failures += 1
        return text

    def answer(self, request: Sequence[Message]) -> Message:
        """Answer as the model, by the script."""
        request = self.accepted(request, "host.answer")
        self.answered += 1
        answer = self.answers.pop(0) if self.answers else Answer()
        message = None if answer.failure else answer.message or Message("assistant", f"n{self.answered}z")
        self.events.append(Requested(tuple(request), message, answer.failure))
        if message is None:
            self.fail(answer.failure, ModelFailed("the model failed, as scripted"))
        return message

    def accepted(self, messages: object, what: str) -> tuple[Message, ...]:
        """Take what the implementation hands over; it is told at once where that cannot be read."""
        if not self.is_asked:
            self.refuse(Garbage(f"{what} was called when no step was under way; it is called within step only"))
        try:
            return as_messages(messages, f"{what} was given")
        except Garbage as garbage:
            self.refuse(garbage)

    def refuse(self, garbage: Garbage) -> NoReturn:
        """Remember what cannot be read, in case the implementation swallows the error."""
        self.garbage = garbage
        if self.tell is not None:
            self.tell(str(garbage))
        raise garbage

    def stored(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Take the stored ids of new messages: each is new to the thread."""
        for stored_id in ids:
            if stored_id in self.ids:
                raise Garbage(
                    f"a second message is stored under the id {stored_id!r}; stored ids are unique in a thread"
                )
            self.ids.add(stored_id)
        return tuple(ids)

    def fail(self, failure: Failure | None, error: Exception) -> NoReturn:
        """Raise what a scripted failure is."""
        self.failures += 1
        if failure == "cancelled":
            raise Cancelled
        raise Suspended if failure == "suspended" else error


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
    host = ScriptedHost()
    host.is_asked = False
    diagnosis = unsupported = session = None
    operation = "open"
    try:
        try:
            configuration: Configuration = copied(scenario.configuration)
            with limits.call("open"):
                opened = settled(implementation.open(configuration, host), "open")
                session = Guarded(as_session(opened, description.capabilities), host, limits)
        except Refused as refused:
            host.events.append(trace.Refused(scenario.configuration, as_problems(refused.problems)))
            return Run(Trace(description, tuple(host.events)))
        with limits.call(operation):
            unchanged(configuration, scenario.configuration)
            host.events.append(Opened(scenario.configuration, as_state(session.state()).warnings))
        for number, step in enumerate(scenario.operations, 1):
            operation = f"operation {number} ({type(step).__name__.lower()})"
            with limits.call(operation):
                diagnosis = perform(session, host, step, operation)
            if diagnosis:
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
    return Run(Trace(description, tuple(host.events)), diagnosis, unsupported)


def copied(value: Any) -> Any:
    """Copy a value of the vocabulary wholly: an implementation that changes what it is given changes a copy."""
    if type(value) is tuple:
        return tuple(map(copied, value))
    names = field_names(value)
    return type(value)(*[copied(getattr(value, name)) for name in names]) if names else value


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
    return Diagnosis(operation, shortened(problem), raised, isinstance(error, Overdue))


def said(error: BaseException) -> str:
    """Say what an error is, and what it says, even if it cannot say it."""
    name, text = type(error).__name__, text_of(error)
    return f"{name}: {text}" if text else name


def text_of(value: object) -> str:
    """Write what an implementation made as a text, even if it cannot be written."""
    try:
        return str(value)
    except Exception as error:
        return f"its text cannot be had: that raised {type(error).__name__}"


def close(session: Session | None) -> None:
    """Let a session end, where it wants to know of it."""
    end = getattr(session, "close", None)
    if end is not None:
        end()


def perform(session: Session, host: ScriptedHost, operation: scenarios.Operation, name: str) -> Diagnosis | None:
    """Perform one operation and record what it did."""
    given: scenarios.Operation = copied(operation)
    diagnosis = None
    match given:
        case Append(messages):
            ids = host.stored(as_ids(session.append(messages), len(messages)))
            unchanged(given, operation)
            host.events.append(Appended(tuple(evolve(m, id=i) for m, i in zip(messages, ids, strict=True))))
        case Configure(configuration):
            try:
                session.configure(configuration)
            except Refused as refused:
                host.events.append(trace.Refused(configuration, as_problems(refused.problems)))
            else:
                host.events.append(Opened(configuration, as_state(session.state()).warnings))
        case scenarios.Step():
            diagnosis = take_step(session, host, given, name)
    unchanged(given, operation)
    return diagnosis


def take_step(session: Session, host: ScriptedHost, step: scenarios.Step, name: str) -> Diagnosis | None:
    """Take one model step; the host's own failures may pass through it, as they are or as another error."""
    host.replies, host.answers, host.failures = list(step.replies), list(step.answers), 0
    host.events.append(StepBegun(as_state(session.state()), step.system, step.notes, step.pending))
    answered = host.answered
    returned: object
    try:
        returned = session.step(step.system, step.notes, step.pending)
    except (CompressorFailed, ModelFailed):
        returned = StepEnd("failed")
    except Suspended:
        returned = StepEnd("suspended")
    except Cancelled:
        returned = StepEnd("cancelled")
    except Unsupported:
        raise
    except Exception:
        if not host.failures or host.garbage is not None:
            raise
        returned = StepEnd("failed")
    if host.garbage is not None:
        raise host.garbage
    end = as_step_end(returned)
    if end.outcome == "committed":
        if host.answered == answered:
            raise Garbage("step committed without a call of host.answer; a step asks the model for its answer")
        if end.attempt is not None and not 0 <= end.attempt < host.answered - answered:
            raise Garbage(
                f"step returned the attempt {end.attempt}; host.answer was called {host.answered - answered} times"
            )
        if end.answer_id is None:
            raise Garbage("step committed without answer_id; name the stored id of the model's answer")
        host.stored((end.answer_id,))
    host.events.append(StepEnded(end.outcome, as_state(session.state()), end.attempt, end.answer_id))
    if end.outcome != "committed" and not host.failures:
        return Diagnosis(name, f"the step ended as {end.outcome} where nothing was scripted to fail")
    return None

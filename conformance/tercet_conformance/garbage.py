"""Checks what an implementation hands over, so that no rule is asked to judge what cannot be read."""

from collections.abc import Collection, Sequence
from operator import is_
from typing import Any, TypeGuard, get_args

from tercet_conformance.interface import FullSession, Loop, RunEnd, StepEnd
from tercet_conformance.interrupts import is_persons
from tercet_spec.trace import Outcome, RunOutcome
from tercet_spec.vocabulary import Entry, Message, Role, State, Summary, ToolCall, Update

ROLES = get_args(Role)
OUTCOMES = get_args(Outcome)
RUN_OUTCOMES = get_args(RunOutcome)
LONGEST = 4_000_000
"""The longest text that a message may hold, which is more than is ever scripted: it is judged in a moment."""


MOST = 50_000
"""The most messages that are read at once, for the same reason."""


class Garbage(Exception):
    """What an implementation handed over is not what the interface says: what it was, what is allowed."""


class Broken(Garbage):
    """Garbage after which nothing more can be asked of a process: the next thread has a new one."""


def described(value: object) -> str:
    """Write a value shortly."""
    try:
        written = repr(value)
    except BaseException as error:
        if is_persons(error):
            raise
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return shortened(written, 80)


def shortened(text: str, most: int = 1000) -> str:
    """Leave out the end of a long text."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def kind_of(value: object) -> str:
    """Name what a value is."""
    return "None" if value is None else type(value).__name__


def is_text(value: object) -> bool:
    """Tell whether a value is a text."""
    return isinstance(value, str)


def is_id(value: object) -> bool:
    """Tell whether a value is an id, or a missing one."""
    return value is None or isinstance(value, str)


def is_sound(call: ToolCall) -> bool:
    """Tell whether the fields of a call are what they are to be."""
    return is_id(call.id) and isinstance(call.name, str) and isinstance(call.arguments, str)


def message_problem(message: object) -> str | None:
    """Say what keeps a value from being a message."""
    if type(message) is not Message:
        return f"{described(message)}, which is no Message"  # nor is one of a subclass, which equals none
    if message.role not in ROLES:
        return f"a message of role {message.role!r}; it is one of {', '.join(ROLES)}"
    if not isinstance(message.content, str):
        return f"a message with content {described(message.content)}; it is a text"
    if len(message.content) > LONGEST:
        longest = f"{len(message.content)} characters; the longest that is read has {LONGEST}"
        return f"a message with a content of {longest}"
    calls, answers = message.calls, message.answers
    if not isinstance(calls, tuple) or (calls and not all(isinstance(call, ToolCall) for call in calls)):
        return f"a message with calls {described(calls)}; they are a tuple of ToolCall"
    if calls and not all(map(is_sound, calls)):
        return f"a message with calls {described(calls)}; name and arguments are texts, an id a text or None"
    if not isinstance(answers, tuple) or (answers and not all(map(is_id, answers))) or not is_id(message.id):
        return f"a message with answers {described(answers)} and id {message.id!r}; ids are texts or None"
    return None


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is a sequence, and no text; most are tuples, and an abstract class is slow to ask."""
    return type(value) is tuple or (isinstance(value, Sequence) and not isinstance(value, str | bytes))


def as_messages(messages: object, what: str, known: Sequence[Message] = ()) -> tuple[Message, ...]:
    """Take messages; where they begin with those that are ``known``, these are not read again; raises Garbage."""
    if not is_sequence(messages):
        raise Garbage(f"{what} {described(messages)}; it takes a sequence of Message")
    taken = tuple(messages)
    if len(taken) > MOST:
        raise Garbage(f"{what} {len(taken)} messages; the most that are read are {MOST}")
    read_before = len(known) if len(known) <= len(taken) and all(map(is_, known, taken)) else 0
    for message in taken[read_before:]:
        if problem := message_problem(message):
            raise Garbage(f"{what} {problem}")
    return taken


METHODS = {
    "configure": ("configure",),
    "turns": ("begin_turn", "end_turn"),
    "checkpoint": ("checkpoint", "restore"),
    "edit": ("edit",),
}
"""The methods that a session has where a capability is declared."""


def as_session(session: Any, capabilities: Collection[str]) -> FullSession:
    """Take the session that open returned; raises Garbage."""
    declared = [method for capability, methods in METHODS.items() if capability in capabilities for method in methods]
    lacking = [m for m in ("append", "step", "state", *declared) if not callable(getattr(session, m, None))]
    if lacking:
        raise Garbage(f"open returned {kind_of(session)}, which has no {' and no '.join(lacking)}")
    taken: FullSession = session
    return taken


def as_loop(loop: Any, capabilities: Collection[str]) -> Loop:
    """Take the loop that open_loop returned; raises Garbage."""
    needed = ("run", "state", *(("resume",) if "suspends" in capabilities else ()))
    if lacking := [method for method in needed if not callable(getattr(loop, method, None))]:
        raise Garbage(f"open_loop returned {kind_of(loop)}, which has no {' and no '.join(lacking)}")
    taken: Loop = loop
    return taken


def as_checkpoint(checkpoint: object) -> str:
    """Take what names a checkpoint; raises Garbage."""
    if not isinstance(checkpoint, str):
        raise Garbage(f"checkpoint returned {described(checkpoint)}; it returns a text that names it")
    return checkpoint


def as_texts(texts: object, what: str) -> tuple[str, ...]:
    """Take a sequence of texts; raises Garbage."""
    if not is_sequence(texts) or not all(map(is_text, texts)):
        raise Garbage(f"{what} {described(texts)}; they are a sequence of texts")
    return tuple(texts)


def as_problems(problems: object) -> tuple[str, ...]:
    """Take the reasons of a refusal; raises Garbage."""
    return as_texts(problems, "Refused was raised with the problems")


def as_ids(ids: object, count: int) -> tuple[str, ...]:
    """Take the stored ids that append returned; raises Garbage."""
    if not is_sequence(ids) or not all(map(is_text, ids)):
        raise Garbage(f"append returned {described(ids)}; it returns the stored ids, each a text, in a sequence")
    if len(ids) != count:
        raise Garbage(f"append returned {len(ids)} stored ids for {count} messages")
    return tuple(ids)


def as_state(state: object, known: Sequence[Message] = ()) -> State:
    """Take what state returned, where messages of the history may be ``known``; raises Garbage."""
    if not isinstance(state, State):
        raise Garbage(f"state returned {described(state)}; it returns a State")
    history = as_messages(state.history, "state showed a history with", known)
    summary = state.summary
    if summary is not None and not (
        isinstance(summary, Summary) and isinstance(summary.text, str) and isinstance(summary.through, str)
    ):
        raise Garbage(f"state showed the summary {described(summary)}; it is a Summary of two texts, or None")
    if type(state.usage) is not int or state.usage < 0:
        raise Garbage(f"state showed the usage {described(state.usage)}; it is a whole number from 0 up")
    return State(
        history, summary, state.usage, as_texts(state.warnings, "state showed the warnings"), as_entries(state.entries)
    )


def as_entries(entries: object) -> Update:
    """Take a thread's state by key; raises Garbage."""
    if not is_sequence(entries) or not all(
        isinstance(entry, Entry) and isinstance(entry.key, str) and isinstance(entry.value, str) for entry in entries
    ):
        raise Garbage(f"state showed the entries {described(entries)}; they are a sequence of Entry, of two texts each")
    return tuple(entries)


def as_run_end(end: object) -> RunEnd:
    """Take what run or resume returned; raises Garbage."""
    if not isinstance(end, RunEnd):
        raise Garbage(f"the run returned {described(end)}; it returns a RunEnd")
    if end.outcome not in RUN_OUTCOMES:
        raise Garbage(f"the run ended as {end.outcome!r}; it is one of {', '.join(RUN_OUTCOMES)}")
    if not (end.question is None or isinstance(end.question, str)):
        raise Garbage(f"the run waits for a reply to {described(end.question)}; a question is a text, or None")
    if not is_sequence(end.waiting) or not all(type(place) is int for place in end.waiting):
        raise Garbage(f"the run waits for the calls {described(end.waiting)}; they are places, whole numbers from 0 up")
    return RunEnd(end.outcome, end.question, tuple(end.waiting))


def as_step_end(end: object) -> StepEnd:
    """Take what step returned; raises Garbage."""
    if not isinstance(end, StepEnd):
        raise Garbage(f"step returned {described(end)}; it returns a StepEnd")
    if end.outcome not in OUTCOMES:
        raise Garbage(f"step ended as {end.outcome!r}; it is one of {', '.join(OUTCOMES)}")
    if not is_id(end.answer_id):
        raise Garbage(
            f"step returned the answer_id {end.answer_id!r}; it is a text, or None where nothing was committed"
        )
    if end.attempt is not None and type(end.attempt) is not int:
        raise Garbage(f"step returned the attempt {end.attempt!r}; it is a whole number from 0 up, or None")
    return end

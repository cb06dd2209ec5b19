"""What an implementation raises or hands over never ends the suite: each kind is a diagnosis of its own."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pytest
from attrs import evolve

from stand_ins import Changed, Passing, giving
from tercet_conformance import interrupts
from tercet_conformance.driver import Run, run
from tercet_conformance.interface import Cancelled, Refused, StepEnd, Unsupported
from tercet_spec.judgement import judge
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import RULES
from tercet_spec.trace import Opened, Requested, StepEnded
from tercet_spec.trace import Refused as RefusedEvent
from tercet_spec.vocabulary import Configuration, Message, Note, PendingCall, State, Summary, ToolCall

LINE = "limit 3 keep 1: u a(x) t(x) u step configure[limit 4] u"
USER = Message("user", "Hello.")
wrongly: Any = evolve


def driven(implementation: Any, line: str = LINE) -> Run:
    return run(implementation, implementation.describe(), scenario_of(parse(line)))


def problem(implementation: Any, line: str = LINE) -> str:
    ran = driven(implementation, line)
    assert ran.diagnosis is not None
    judge(ran.trace, RULES)
    return f"{ran.diagnosis.operation}: {ran.diagnosis.problem}"


class Told(Passing):
    """Lets a test say what a step hands to the host."""

    tell: Callable[[Any], Any]

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        return StepEnd("committed", type(self).tell(self.host))


def telling(tell: Callable[[Any], Any]) -> Changed:
    return Changed(type("Telling", (Told,), {"tell": staticmethod(tell)}))


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (operation, error)
        for operation in ("append", "state", "configure", "close")
        for error in (RuntimeError("broken"), SystemExit(3), Cancelled(), Refused(("no",)))
        if (operation, type(error)) != ("configure", Refused)
    ],
)
def test_whatever_an_operation_raises_is_a_diagnosis(operation: str, error: BaseException) -> None:
    assert type(error).__name__ in problem(giving(operation, error))


def test_a_step_may_not_fail_where_nothing_was_scripted_to() -> None:
    assert problem(giving("step", RuntimeError("no network"))) == "operation 2 (step): raised RuntimeError: no network"
    assert "where nothing was scripted to fail" in problem(giving("step", Cancelled()))
    assert "where nothing was scripted to fail" in problem(giving("step", StepEnd("failed")))


def test_what_was_observed_until_then_is_kept() -> None:
    ran = driven(giving("configure", RuntimeError("fixed")), "limit 3 keep 1: u a step u configure[limit 9] u")
    assert ran.diagnosis is not None
    assert sum(isinstance(event, StepEnded) for event in ran.trace.events) == 1


@pytest.mark.parametrize(
    ("operation", "value", "said"),
    [
        ("append", None, "append returned None"),
        ("append", "h1", "append returned 'h1'"),
        ("append", [1, 2, 3, 4], "each a text"),
        ("append", ["a"], "append returned 1 stored ids for 4 messages"),
        ("append", ["a", "b", "a", "c"], "a second message is stored under the id 'a'"),
        ("state", None, "state returned None"),
        ("state", State((USER, {"role": "user"})), "which is no Message"),  # type: ignore[arg-type]
        ("state", State(summary=("text", "h1")), "state showed the summary"),  # type: ignore[arg-type]
        ("state", State(summary=Summary("text", None)), "state showed the summary"),  # type: ignore[arg-type]
        ("state", State(usage=1.5), "the usage 1.5; it is a whole number"),  # type: ignore[arg-type]
        ("state", State(usage=-1), "the usage -1"),
        ("state", State(warnings="no"), "the warnings 'no'"),  # type: ignore[arg-type]
        ("state", State(warnings=None), "the warnings None"),  # type: ignore[arg-type]
        ("state", State(warnings=(3,)), "a sequence of texts"),  # type: ignore[arg-type]
        ("step", None, "step returned None"),
        ("step", StepEnd("done", "h9"), "step ended as 'done'; it is one of"),  # type: ignore[arg-type]
        ("step", StepEnd("committed", "h9"), "without a call of host.answer"),
        ("step", StepEnd("committed", 9), "answer_id 9"),  # type: ignore[arg-type]
        ("step", StepEnd("committed", "h9", 0.5), "attempt 0.5"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_read_is_named_with_what_is_allowed(operation: str, value: object, said: str) -> None:
    assert said in problem(giving(operation, value))


class Own(Message):
    """A message of one's own."""


class Shifting(list[Message]):
    """A list that holds something else the second time."""

    seen = False

    def __iter__(self) -> Iterator[Any]:
        if self.seen:
            return iter([None])
        self.seen = True
        return super().__iter__()


def test_more_messages_than_can_be_judged_are_refused() -> None:
    said = problem(telling(lambda host: host.answer([USER] * 50_001)))
    assert "was given 50001 messages; the most that are read are 50000" in said


def test_what_is_handed_over_is_read_once() -> None:
    ran = driven(telling(lambda host: host.answer(Shifting([USER]))))
    (requested,) = (event for event in ran.trace.events if isinstance(event, Requested))
    assert requested.request == (USER,)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "user"}, "which is no Message"),
        (Own("user"), "which is no Message"),
        (wrongly(USER, role="human"), "role 'human'; it is one of system, user, assistant, tool"),
        (wrongly(USER, content=None), "content None; it is a text"),
        (wrongly(USER, calls=[ToolCall("x")]), "they are a tuple of ToolCall"),
        (wrongly(USER, calls=(ToolCall(3),)), "an id a text or None"),  # type: ignore[arg-type]
        (wrongly(USER, answers=("x", 3)), "ids are texts or None"),
        (wrongly(USER, id=3), "ids are texts or None"),
    ],
)
def test_a_message_that_cannot_be_read_is_refused(message: Any, said: str) -> None:
    assert said in problem(telling(lambda host: host.answer([message])))
    assert said in problem(telling(lambda host: host.summarize([message])))


def test_garbage_is_diagnosed_though_the_implementation_swallows_the_error() -> None:
    def swallow(host: Any) -> str:
        host.answer([USER])
        try:
            host.answer("Hello.")
        except Exception:
            return "h9"
        return "h8"

    assert "host.answer was given 'Hello.'; it takes a sequence of Message" in problem(telling(swallow))
    assert "as the summary so far" in problem(telling(lambda host: host.summarize([USER], 3)))


def test_an_attempt_that_was_not_made_cannot_be_the_one_returned() -> None:
    class Later(Passing):
        def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
            return evolve(self.inner.step(system, notes, pending), attempt=1)

    assert "host.answer was called 1 times" in problem(Changed(Later))


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_a_value_that_cannot_be_shown_is_named_by_its_kind() -> None:
    assert "state returned a Mute whose repr raises RuntimeError" in problem(giving("state", Mute()))


def test_a_persons_interrupt_while_a_session_ends_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        driven(giving("close", KeyboardInterrupt()))


def test_a_configuration_may_be_refused_when_it_changes() -> None:
    ran = driven(giving("configure", Refused(("fixed",))))
    assert ran.diagnosis is None
    assert [event.problems for event in ran.trace.events if isinstance(event, RefusedEvent)] == [("fixed",)]


def test_a_committed_step_names_its_answer() -> None:
    assert "committed without answer_id" in problem(telling(lambda host: host.answer([USER]) and None))


def test_what_is_not_supported_in_a_step_is_no_diagnosis() -> None:
    assert driven(giving("step", Unsupported("no steps"))).unsupported == "no steps"


def test_a_long_value_is_shown_shortly() -> None:
    assert len(problem(giving("state", "x" * 10_000))) < 200


def test_a_refused_configuration_is_observed() -> None:
    ran = driven(Changed(), "limit 0 keep 0: u")
    assert ran.diagnosis is None
    (event,) = ran.trace.events
    assert isinstance(event, RefusedEvent)
    assert len(event.problems) == 2
    assert any(isinstance(event, Opened) for event in driven(Changed()).trace.events)


def test_what_an_implementation_cannot_say_is_no_diagnosis() -> None:
    ran = driven(giving("append", Unsupported("no tools")))
    assert (ran.diagnosis, ran.unsupported) == (None, "no tools")
    assert driven(giving("append", Unsupported(""))).unsupported == "no reason was given"


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        driven(giving("step", KeyboardInterrupt()))


def test_a_session_is_closed_however_it_ends() -> None:
    closed = []

    class Closing(Passing):
        def close(self) -> None:
            closed.append(self)

    driven(Changed(Closing))
    assert len(closed) == 1


def test_a_configuration_is_what_open_is_given() -> None:
    seen: list[Configuration] = []

    class Watching(Passing):
        def configure(self, configuration: Configuration) -> None:
            seen.append(configuration)
            super().configure(configuration)

    driven(Changed(Watching))
    assert [configuration.trigger.limit for configuration in seen] == [4]


def test_a_message_that_is_changed_in_place_is_named_and_harms_nothing() -> None:
    class Editing(Passing):
        def append(self, messages: Sequence[Message]) -> Sequence[str]:
            ids = self.inner.append(messages)
            object.__setattr__(messages[0], "content", "[removed]")
            return ids

    scenario = scenario_of(parse(LINE))
    ran = run(Changed(Editing), Changed().describe(), scenario)
    assert ran.diagnosis is not None
    assert "it was given 'm1z', and changed that to '[removed]'" in ran.diagnosis.problem
    assert scenario == scenario_of(parse(LINE))


class Panic(BaseException):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [Panic(), GeneratorExit(), asyncio.CancelledError()])
def test_what_is_no_exception_is_a_diagnosis_too(error: BaseException) -> None:
    assert f"raised {type(error).__name__}" in problem(giving("step", error))


def test_an_interrupt_that_nobody_pressed_is_the_implementations_own() -> None:
    with interrupts.watched():
        assert "raised KeyboardInterrupt" in problem(giving("step", KeyboardInterrupt()))


@pytest.mark.parametrize("swallows", [True, False])
def test_a_persons_interrupt_ends_the_run_even_if_it_is_swallowed(swallows: bool) -> None:
    class Pressed(Passing):
        def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)
            except BaseException:
                if not swallows:
                    raise
            return self.inner.step(system, notes, pending)

    with interrupts.watched():
        with pytest.raises(KeyboardInterrupt):
            driven(Changed(Pressed))
        assert driven(Changed()).diagnosis is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_scripted_failure_may_leave_a_step_as_another_error() -> None:
    class Wrapping(Passing):
        def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
            try:
                return self.inner.step(system, notes, pending)
            except Exception as error:
                raise RuntimeError("the model is down") from error

    ran = driven(Changed(Wrapping), "limit 3 keep 1: u a step[a fails, a fails] u")
    assert ran.diagnosis is None
    ends = [event.outcome for event in ran.trace.events if isinstance(event, StepEnded)]
    assert ends == ["failed", "committed"]


@pytest.mark.parametrize(
    ("session", "said"),
    [(None, "open returned None, which has no append and no step"), ({}, "open returned dict, which has no append")],
)
def test_a_session_has_its_methods(session: object, said: str) -> None:
    class Opening(Changed):
        def open(self, *_: object) -> Any:
            return session

    assert said in problem(Opening())


@pytest.mark.parametrize("problems", ["no", (3,), None])
def test_a_refusal_has_its_reasons(problems: Any) -> None:
    class Refusing(Changed):
        def open(self, *_: object) -> Any:
            raise Refused(problems)

    assert "Refused was raised with the problems" in problem(Refusing())

"""A call that hangs is broken off in its process, the suite goes on, and what cannot be had again is said."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from attrs import evolve

from stand_ins import Changed, Dropping, Passing, giving
from tercet_conformance import interrupts, limits
from tercet_conformance.check import Plan, check
from tercet_conformance.driver import Diagnosis, Run, run
from tercet_conformance.interface import CompressorFailed, Host, StepEnd
from tercet_conformance.limits import Limits, Overdue
from tercet_conformance.loading import LoadingError, description_of
from tercet_conformance.repeating import difference
from tercet_conformance.search import BUDGETS, MOST_KINDS, Budget, fold
from tercet_conformance.verdicts import Verdict
from tercet_spec.notation import parse, scenario_of
from tercet_spec.scenarios import Scenario
from tercet_spec.trace import StepEnded
from tercet_spec.vocabulary import Configuration, Message, Note, PendingCall, State

LIMIT = 0.1
QUICK = Plan(budget="quick", limit=LIMIT)
LINE = "limit 3 keep 1: u a(x) t(x) u step configure[limit 4] u"
FOREVER = 3600


def scenario(line: str = LINE) -> Scenario:
    return scenario_of(parse(line))


def driven(implementation: Any, line: str = LINE, seconds: float = LIMIT) -> Run:
    return run(implementation, implementation.describe(), scenario(line), Limits(seconds))


def problem(ran: Run) -> str:
    assert ran.diagnosis is not None
    return ran.diagnosis.problem


def overriding(operation: str, method: Any) -> Changed:
    return Changed(type("Overriding", (Passing,), {operation: method}))


def sleep(*_: object) -> Any:
    time.sleep(FOREVER)


def spin(*_: object) -> Any:
    while True:
        pass


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "quick", Budget(60, 6, 6))


@pytest.fixture(autouse=True)
def _nothing_stays_behind() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM), sys.gettrace()
    yield
    assert (signal.getsignal(signal.SIGALRM), sys.gettrace()) == before
    assert not [thread for thread in threading.enumerate() if thread.name == "tercet-limits"]


# One call.


@pytest.mark.parametrize("hang", [sleep, spin])
@pytest.mark.parametrize("operation", ["append", "step", "state", "configure", "close"])
def test_an_operation_that_hangs_is_broken_off_and_named(operation: str, hang: Any) -> None:
    begun = time.monotonic()
    ran = driven(overriding(operation, hang))
    assert problem(ran).startswith(f"hangs: {operation} took longer than 0.1 s; it was in {hang.__name__} (test_limits")
    assert ran.diagnosis is not None
    assert ran.diagnosis.is_hang
    assert "in sleep" in ran.diagnosis.detail or "in spin" in ran.diagnosis.detail
    assert time.monotonic() - begun < 3


def test_what_hangs_when_it_is_opened_or_described_is_named() -> None:
    class Hanging(Changed):
        open: Any = sleep
        describe: Any = sleep

    assert "hangs: open took" in problem(run(Hanging(), Changed().describe(), scenario(), Limits(LIMIT)))
    with pytest.raises(LoadingError, match=r"^describe\(\) of mine: hangs: describe took longer than 0.1 s"):
        description_of(Hanging(), Limits(LIMIT), "mine")


def test_what_was_observed_until_then_is_kept_and_the_session_is_closed() -> None:
    closed = []

    class Hanging(Passing):
        configure: Any = sleep

        def close(self) -> None:
            closed.append(self)

    ran = driven(Changed(Hanging))
    assert sum(isinstance(event, StepEnded) for event in ran.trace.events) == 1
    assert len(closed) == 1


def doze() -> None:
    for _ in range(10**6):
        time.sleep(0.01)


def step_around(hang: Any) -> Changed:
    def step(self: Passing, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        hang()
        return self.inner.step(system, notes, pending)

    return overriding("step", step)


def swallow() -> None:
    with suppress(BaseException):
        time.sleep(FOREVER)


def swallow_for_ever() -> None:
    while True:
        try:
            time.sleep(FOREVER)
        except BaseException as error:
            str(error)


def raise_another() -> None:
    try:
        time.sleep(FOREVER)
    except BaseException as error:
        raise CompressorFailed("timed out") from error


def go_on_finally() -> None:
    while True:
        try:
            time.sleep(FOREVER)
        finally:
            continue  # noqa: B012


@pytest.mark.parametrize("hang", [swallow, swallow_for_ever, raise_another, go_on_finally])
def test_what_is_raised_is_no_use_to_swallow(hang: Any) -> None:
    assert "hangs: step took longer than 0.1 s" in problem(driven(step_around(hang)))


def test_what_handles_errors_does_not_see_it() -> None:
    seen = []

    def handle() -> None:
        try:
            time.sleep(FOREVER)
        except Exception as error:
            seen.append(error)

    assert "hangs" in problem(driven(step_around(handle)))
    assert seen == []


def test_a_call_that_was_late_hangs_though_nothing_was_raised() -> None:
    class Blind(Limits):
        def watch(self) -> None:
            self.ended.wait()

    late = step_around(lambda: time.sleep(2 * LIMIT))
    assert "took longer than 0.1 s" in problem(run(late, late.describe(), scenario(), Blind(LIMIT)))


def test_another_error_that_comes_of_it_does_not_hide_it() -> None:
    def fail(*_: object) -> Any:
        swallow()
        raise ValueError("no time")

    assert "hangs: append took longer than 0.1 s" in problem(driven(overriding("append", fail)))


def test_what_takes_its_time_is_no_hang() -> None:
    ran = driven(step_around(lambda: time.sleep(LIMIT)), seconds=5 * LIMIT)
    assert ran.diagnosis is None


def test_of_a_thread_what_runs_is_broken_off_too() -> None:
    found: list[str] = []
    for hang in (spin, doze):
        thread = threading.Thread(target=lambda hang=hang: found.append(problem(driven(step_around(hang)))))
        thread.start()
        thread.join(20)
    assert [text.partition(";")[0] for text in found] == ["hangs: step took longer than 0.1 s"] * 2


def test_a_signal_that_is_used_already_stays_as_it_is() -> None:
    def ring(*_: object) -> None:
        raise AssertionError("nobody rang")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        assert "hangs: step" in problem(driven(step_around(spin)))
        assert signal.getsignal(signal.SIGALRM) is ring
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_implementation_that_takes_the_signal_is_broken_off_without_it() -> None:
    def take() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        spin()

    before = signal.getsignal(signal.SIGALRM)
    try:
        assert "hangs: step" in problem(driven(step_around(take)))
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGALRM, before)


def test_limits_in_limits_are_both_kept() -> None:
    inner: list[Run] = []

    def drive() -> None:
        inner.append(driven(step_around(spin)))

    outer = driven(step_around(drive), "limit 9 keep 1: u", seconds=5)
    assert outer.diagnosis is None
    assert "hangs: step took longer than 0.1 s" in problem(inner[0])
    assert "hangs: step took longer than 0.2 s" in problem(
        driven(step_around(lambda: driven(step_around(spin), seconds=FOREVER)), seconds=0.2)
    )


def test_a_person_who_looks_with_a_debugger_is_not_broken_off() -> None:
    stop: dict[str, Any] = {"__name__": "pdb", "sleep": time.sleep}
    exec("def interaction(seconds): sleep(seconds)", stop)
    assert driven(step_around(lambda: stop["interaction"](5 * LIMIT)), "limit 9 keep 1: u").diagnosis is None


@pytest.mark.parametrize("watching", [interrupts.watched, nullcontext])
def test_ctrl_c_in_a_call_that_hangs_is_the_persons(watching: Any) -> None:
    def press_and_hang() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            swallow()

    with watching(), pytest.raises(KeyboardInterrupt):
        driven(step_around(press_and_hang))


def test_a_call_is_broken_off_only_while_it_is_under_way() -> None:
    with Limits(LIMIT) as kept:
        for _ in range(3):
            with pytest.raises(Overdue), kept.call("step"):
                time.sleep(FOREVER)
            time.sleep(2 * LIMIT)
        with kept.call("step"):
            pass


# A search.


def test_a_search_that_hangs_ends_soon_and_says_so() -> None:
    begun = time.monotonic()
    report = check(step_around(sleep), QUICK)
    assert time.monotonic() - begun < 5
    hang, end = (diagnosis for diagnosis, _ in report.diagnoses)
    assert (hang.times, hang.is_hang) == (limits.MOST_HANGS, True)
    assert "the search ends here, since 3 scenarios hung" in end.problem
    asked = [each for each in report.verdicts if each.rule.family != "hooks"]
    assert {each.verdict for each in asked} == {Verdict.COULD_NOT_RUN}
    assert report.exit_code == 4


def test_a_rule_that_broke_before_is_reported_though_shrinking_hangs() -> None:
    opened = count()

    class Later(Changed):
        def open(self, configuration: Configuration, host: Host) -> Any:
            if next(opened) > 60:
                time.sleep(FOREVER)
            return super().open(configuration, host)

    begun = time.monotonic()
    report = check(Later(Dropping), QUICK)
    assert time.monotonic() - begun < 5
    assert report.exit_code == 1
    (broken,) = (each for each in report.verdicts if each.rule.id == "send.system-first")
    assert (broken.verdict, len(broken.counterexamples), broken.counterexamples[0].seen_once) == (
        Verdict.FAIL,
        1,
        False,
    )


def test_a_search_that_ended_early_still_shrinks_what_it_found() -> None:
    opened = count()

    class Seldom(Changed):
        def open(self, configuration: Configuration, host: Host) -> Any:
            if next(opened) in (50, 55, 60):
                time.sleep(FOREVER)
            return super().open(configuration, host)

    report = check(Seldom(Dropping), QUICK)
    (broken,) = (each for each in report.verdicts if each.rule.id == "send.system-first")
    assert [len(each.scenario.operations) for each in broken.counterexamples] == [1]
    assert any("the search ends here" in diagnosis.problem for diagnosis, _ in report.diagnoses)


def test_rules_that_a_search_did_not_come_to_could_not_run() -> None:
    hanging = evolve(step_around(sleep), whole=Passing, fewer=frozenset({"model-step", "suspend"}))
    report = check(hanging, evolve(QUICK, only=frozenset({"key.commits-with-step"})))
    assert [each.verdict for each in report.verdicts] == [Verdict.COULD_NOT_RUN]


COMMAND = f"""
import sys
from functools import partial
from tercet_conformance import check, command, limits, replaying
check.Plan = partial(check.Plan, limit={LIMIT})
replaying.Limits = partial(limits.Limits, {LIMIT})
limits.MOST_RAISED, command.PATIENCE = 6, 0.2
sys.exit(command.main())
"""


def commanded(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=60,
        check=False,
    )


def test_what_lets_nobody_end_it_is_reported_and_left(tmp_path: Path) -> None:
    done = commanded(tmp_path, "check", "stand_ins:stuck", "--budget", "quick")
    assert done.returncode == 4
    assert re.search(
        r"hangs: step took longer than 0.1 s; it was in step \(stand_ins.py:\d+\), and lets nobody end it", done.stdout
    )
    assert "exit code 4" in done.stdout
    assert "Traceback" not in done.stderr
    (saved,) = (tmp_path / ".tercet").glob("*.json")
    again = commanded(tmp_path, "replay", str(saved), "stand_ins:stuck")
    assert (again.returncode, again.stderr) == (4, "")
    assert "lets nobody end it" in again.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="locks a mutex of the C library by its name")
def test_what_broke_before_is_in_the_report_of_one_that_waits_in_c(tmp_path: Path) -> None:
    done = commanded(tmp_path, "check", "stand_ins:locked", "--budget", "quick", "--only", "send.system-first")
    assert done.returncode == 1, done.stderr
    assert "send.system-first is broken" in done.stdout
    assert "and lets nobody end it" in done.stdout


def test_a_thread_that_is_left_behind_does_not_keep_the_command(tmp_path: Path) -> None:
    done = commanded(tmp_path, "replay", "limit 9 keep 1: u", "stand_ins:lingering")
    assert "exit code" in done.stdout, done.stderr
    assert done.returncode == 0


# Calls of the host when no step is under way.


class Asking(Passing):
    """Lets a test have the host asked."""

    def ask(self) -> None:
        self.host.answer(self.inner.state().history)


@pytest.mark.parametrize("operation", ["append", "state", "configure", "close"])
def test_the_host_is_asked_within_step_only(operation: str) -> None:
    def ask(self: Asking, *given: Any) -> Any:
        self.ask()
        return getattr(self.inner, operation)(*given)

    ran = driven(Changed(type("Early", (Asking,), {operation: ask})))
    assert "host.answer was called when no step was under way" in problem(ran)


def test_the_host_is_not_asked_when_a_session_is_opened() -> None:
    class Opening(Changed):
        def open(self, configuration: Configuration, host: Host) -> Any:
            host.answer([])
            return super().open(configuration, host)

    assert "host.answer was called when no step was under way" in problem(driven(Opening()))


def test_that_it_was_asked_is_said_though_the_error_was_swallowed_and_no_step_came_after() -> None:
    def ask(self: Asking, configuration: Configuration) -> None:
        with suppress(Exception):
            self.ask()

    quiet = Changed(type("Quiet", (Asking,), {"configure": ask}))
    whole = scenario("limit 3 keep 1: u step configure[limit 4]")
    ran = run(quiet, quiet.describe(), evolve(whole, operations=whole.operations[:-1]))
    assert "host.answer was called when no step was under way" in problem(ran)


def test_a_call_that_is_left_behind_is_diagnosed_and_breaks_nobody_elses_trace() -> None:
    hosts: list[Host] = []
    raised: list[BaseException] = []

    class Leaving(Passing):
        def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
            if hosts:
                thread = threading.Thread(target=self.ask_late)
                thread.start()
                thread.join()
            hosts.append(self.host)
            return self.inner.step(system, notes, pending)

        def ask_late(self) -> None:
            try:
                hosts[0].summarize([Message("user", "stale")])
            except Exception as error:
                raised.append(error)

    alone = driven(Changed())
    with Limits() as kept:
        first = run(Changed(Leaving), Changed().describe(), scenario(), kept)
        assert "host.summarize" not in str(first.diagnosis)
        hosts[1:] = []
        second = run(Changed(Leaving), Changed().describe(), scenario(), kept)
    assert second.trace.events == alone.trace.events
    assert second.diagnosis is None
    assert raised
    assert list(kept.late.values()) == [scenario()]
    assert "host.summarize was called when no step was under way" in next(iter(kept.late))


# Diagnoses.


def diagnosis(number: int, text: str) -> Diagnosis:
    return Diagnosis(f"operation {number} (step)", text)


def test_diagnoses_that_differ_in_details_are_counted_as_one_and_the_shortest_stays() -> None:
    found: list[tuple[Diagnosis, Scenario]] = []
    lines = ("limit 9 keep 1: u step a step u", "limit 9 keep 1: u", "limit 9 keep 1: u a step u")
    for number, line in enumerate(lines):
        fold(
            found,
            diagnosis(number, f"raised KeyError: {object()!r} of message m{number} {uuid4().hex}"),
            scenario(line),
        )
    ((one, where),) = found
    assert (one.times, one.operation, where) == (3, "operation 1 (step)", scenario(lines[1]))
    fold(found, diagnosis(1, "raised ValueError: no"), scenario())
    fold(found, Diagnosis("close", "raised ValueError: no"), scenario())
    assert len(found) == 3


def test_texts_without_an_end_do_not_fill_the_report() -> None:
    found: list[tuple[Diagnosis, Scenario]] = []
    for letters in range(100):
        fold(found, diagnosis(1, "raised Error: " + "x" * letters), scenario())
    assert len(found) == MOST_KINDS
    assert sum(one.times for one, _ in found) == 100


@pytest.mark.parametrize("operation", ["append", "step", "state", "configure", "close"])
def test_what_is_async_is_told_how_to_run(operation: str) -> None:
    async def later(*_: object) -> None:
        await asyncio.sleep(0)

    said = problem(driven(overriding(operation, later)))
    assert said == (
        f"{operation} returned a coroutine; {operation} is called synchronously: run it to its end,"
        " e.g. with asyncio.run"
    )


def test_an_async_open_is_told_how_to_run() -> None:
    class Opening(Changed):
        async def open(self, *_: object) -> Any:  # type: ignore[override]
            return None

    assert "open returned a coroutine" in problem(driven(Opening()))


def test_a_long_text_of_an_error_is_shortened() -> None:
    assert len(problem(driven(giving("step", RuntimeError("x" * 10**6))))) <= 1000


# The same again.


class Drawn(Passing):
    """Draws its ids, and writes the time into its requests."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        return self.inner.append(messages)

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        return self.inner.step(f"It is {time.perf_counter_ns()}.", notes, pending)

    def state(self) -> State:
        shown = self.inner.state()
        drawn = tuple(evolve(message, id=uuid4().hex) for message in shown.history)
        return evolve(shown, history=drawn, warnings=(uuid4().hex,))


def test_ids_and_texts_may_be_drawn() -> None:
    one, other = driven(Changed(Drawn)), driven(Changed(Drawn))
    assert one.trace != other.trace
    assert difference(one, other) is None


def test_what_is_done_may_not_be_drawn() -> None:
    steps = count()

    class Drawing(Passing):
        def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
            return self.inner.step(system if next(steps) % 3 else None, notes, pending)

    report = check(Changed(Drawing), evolve(QUICK, only=frozenset({"send.system-first"}), limit=10))
    assert any("answers differently each time" in each.problem for each, _ in report.diagnoses)
    assert report.exit_code == 1


def test_what_is_drawn_is_found_though_it_breaks_no_rule() -> None:
    steps = count()

    class Drawing(Passing):
        def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
            return self.inner.step(system if next(steps) % 3 else None, notes, pending)

    report = check(Changed(Drawing), evolve(QUICK, only=frozenset({"config.keep-recent"}), limit=10))
    assert [each.operation for each, _ in report.diagnoses] == ["the same again"]
    assert report.exit_code == 4


def test_what_broke_once_and_not_again_is_said_so() -> None:
    steps = count()

    class Once(Passing):
        def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
            return self.inner.step(None if system is not None and next(steps) == 60 else system, notes, pending)

    report = check(Changed(Once), evolve(QUICK, only=frozenset({"send.system-first"}), limit=10))
    (broken,) = report.verdicts
    assert (broken.verdict, [each.seen_once for each in broken.counterexamples]) == (Verdict.FAIL, [True])
    assert [each.problem.partition(":")[0] for each, _ in report.diagnoses] == ["answers differently each time"]
    assert "send.system-first broke, and not when the thread was run again" in report.diagnoses[0][0].problem


def test_one_that_does_the_same_again_is_not_blamed() -> None:
    assert check(Changed(Dropping), evolve(QUICK, only=frozenset({"send.system-first"}), limit=10)).diagnoses == ()

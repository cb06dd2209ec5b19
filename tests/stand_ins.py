"""Implementations that stand in for others' in tests: the reference, with one thing of a session changed."""

import ctypes
import threading
import time
from collections.abc import Collection, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from tercet_conformance.adapters.reference import Reference
from tercet_conformance.interface import Host, Implementation, Session, StepEnd
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, State


@frozen
class Passing:
    """A session that passes everything on."""

    inner: Session
    host: Host

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        return self.inner.append(messages)

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        return self.inner.step(system, notes, pending)

    def state(self) -> State:
        return self.inner.state()

    def configure(self, configuration: Configuration) -> None:
        self.inner.configure(configuration)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Dropping(Passing):
    """Sends no system prompt."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        return self.inner.step(None, notes, pending)


class Raising(Passing):
    """Raises in every step that follows a tool call."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        if any(message.calls for message in self.inner.state().history):
            raise RuntimeError("tools are not supported")
        return self.inner.step(system, notes, pending)


@frozen
class Changed:
    """The reference, with another session around its own; ``whole`` is the other road's."""

    around: type[Passing] = Passing
    whole: type[Passing] | None = None
    fewer: frozenset[str] = frozenset()
    name: str = "changed"

    def describe(self) -> Description:
        described = Reference().describe()
        return evolve(described, name=self.name, capabilities=described.capabilities - {"hooks", *self.fewer})

    def open(self, configuration: Configuration, host: Host) -> Session:
        return self.around(Reference().open(configuration, host), host)

    def whole_road(self) -> Implementation | None:
        return None if self.whole is None else Changed(self.whole)


def giving(operation: str, value: Any) -> Changed:
    """Make an implementation that gives a value for an operation; an exception is raised."""

    def give(*_: object) -> Any:
        if isinstance(value, BaseException):
            raise value
        return value

    return Changed(
        type("Giving", (Passing,), {operation: give, "close": give if operation == "close" else lambda _: None})
    )


def dropping() -> Changed:
    """A factory, to be named as ``stand_ins:dropping``."""
    return Changed(Dropping)


def raising() -> Changed:
    """A factory, to be named as ``stand_ins:raising``."""
    return Changed(Raising)


class Chatty(Passing):
    """Prints in every step."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        print("a step talks")
        return self.inner.step(system, notes, pending)


def chatty() -> Changed:
    """A factory, to be named as ``stand_ins:chatty``."""
    print("a factory talks")
    return Changed(Chatty)


class Hanging(Passing):
    """Never ends a step, and lets nobody end it."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        while True:
            try:
                Path("started").touch()
                time.sleep(60)
            except BaseException:
                Path("swallowed").touch()


def hanging() -> Changed:
    """A factory, to be named as ``stand_ins:hanging``."""
    return Changed(Hanging)


class Announcing(Changed):
    """Writes a file when it has broken a rule some hundred times, so that a test knows that it runs."""

    def open(self, configuration: Configuration, host: Host) -> Session:
        OPENED.append(configuration)
        if len(OPENED) == 300:
            Path("started").touch()
        return super().open(configuration, host)


OPENED: list[Configuration] = []


def announcing() -> Changed:
    """A factory, to be named as ``stand_ins:announcing``."""
    return Announcing(Dropping)


def failing() -> Changed:
    """A factory that fails."""
    raise RuntimeError("no licence")


NOT_CALLABLE = 3


class Stuck(Passing):
    """Never ends a step, and swallows what would end it twice over."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        while True:
            try:
                try:
                    time.sleep(60)
                except BaseException:
                    continue
            except BaseException:
                continue


def stuck() -> Changed:
    """A factory, to be named as ``stand_ins:stuck``."""
    return Changed(Stuck)


class Locked(Dropping):
    """Waits for ever in C in the sixtieth step with a system prompt, where no signal wakes it."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        if system is not None and next(LOCKED_STEPS) == 60:
            mutex = ctypes.create_string_buffer(64)
            for _ in range(2):
                ctypes.CDLL(None).pthread_mutex_lock(mutex)
        return super().step(system, notes, pending)


LOCKED_STEPS = count()


def locked() -> Changed:
    """A factory, to be named as ``stand_ins:locked``."""
    return Changed(Locked)


class Lingering(Dropping):
    """Leaves a thread behind that never ends."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        threading.Thread(target=threading.Event().wait).start()
        return super().step(system, notes, pending)


def lingering() -> Changed:
    """A factory, to be named as ``stand_ins:lingering``."""
    return Changed(Lingering)

"""Hostile implementations, which must never take the suite down: each with the diagnosis that it must be given.

Their threads are ``Plain``'s but for what they do to the suite. What ends its own process, or holds the
interpreter's lock for ever in C, is not among them: that cannot be outlived in the same process.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, ClassVar, TypeVar

from attrs import evolve, frozen

from tercet_conformance.gallery.entry import ENTERED, enter
from tercet_conformance.gallery.plain import Plain, PlainImplementation, View
from tercet_conformance.interface import Cancelled, CompressorFailed, Host, StepEnd
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall, State

Thread = TypeVar("Thread", bound=type[Plain])
HALF = "\ud83d"
HUGE = 10_000_000


@frozen
class HostileImplementation(PlainImplementation):
    """An implementation whose name and version may hurt too."""

    described: Mapping[str, str]

    def describe(self) -> Description:
        """Say what the thread's class declares."""
        described: Any = self.described
        return evolve(super().describe(), **described)


def hostile(diagnosis: str, **described: str) -> Callable[[Thread], Thread]:
    """Enter a class of threads as hostile: what its diagnosis must say, and what it is described as."""

    def put(thread: Thread) -> Thread:
        enter(thread, "hostile", None, "")
        entry = ENTERED[-1]
        make = partial(HostileImplementation, entry.name, thread, described)
        ENTERED[-1] = evolve(entry, diagnosis=diagnosis, make=make)
        return thread

    return put


# What raises.


@hostile("raised RuntimeError: no licence")
class RaisesAtOpen(Plain):
    """Raises when it is opened."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        raise RuntimeError("no licence")


@hostile("raised KeyError")
class RaisesAtAppend(Plain):
    """Raises when messages are stored."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store nothing."""
        raise KeyError("role")


@hostile("raised RuntimeError: no network")
class RaisesAtStep(Plain):
    """Raises in every step."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take no step."""
        raise RuntimeError("no network")


@hostile("raised AttributeError")
class RaisesAtState(Plain):
    """Raises when it is looked at."""

    def state(self) -> State:
        """Show nothing."""
        raise AttributeError("messages")


@hostile("raised ConnectionError")
class RaisesAtClose(Plain):
    """Raises when it is done with."""

    def close(self) -> None:
        """End badly."""
        raise ConnectionError("the store is gone")


class Raises(Plain):
    """Raises in every step what is no ``Exception``."""

    error: ClassVar[type[BaseException]]

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take no step."""
        raise self.error


@hostile("raised KeyboardInterrupt")
class RaisesKeyboardInterrupt(Raises):
    """Raises KeyboardInterrupt where nobody pressed Ctrl-C."""

    error = KeyboardInterrupt


@hostile("raised SystemExit")
class RaisesSystemExit(Raises):
    """Raises SystemExit, as ``sys.exit`` does."""

    error = SystemExit


@hostile("raised CancelledError")
class RaisesCancelledError(Raises):
    """Raises asyncio's CancelledError."""

    error = asyncio.CancelledError


@hostile("raised GeneratorExit")
class RaisesGeneratorExit(Raises):
    """Raises GeneratorExit."""

    error = GeneratorExit


@hostile("raised RecursionError")
class RecursesForEver(Plain):
    """Calls itself without an end."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take a step by taking it."""
        return self.step(system, notes, pending)


@hostile("raised RuntimeError: the summary cannot be stored")
class FailsAfterASummary(Plain):
    """Raises after the compressor gave a good summary."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        """Ask the compressor, and fail."""
        super().fire(system, view, cut)
        raise RuntimeError("the summary cannot be stored")


@hostile("raised WordyError: HTTP 500")
class SaysOtherWordsEachTime(Plain):
    """Raises with another address, number and half character each time, in a text of a million characters."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take no step."""
        number = next(COUNT)
        raise WordyError(f"HTTP 500 {HALF} request {number} of {object()!r} {'x' * (HUGE // 10)}")


class WordyError(Exception):
    """Says much."""


COUNT = count()


# What hangs.


@hostile("hangs: step took longer than")
class HangsInALoop(Plain):
    """Never ends a step, and is busy."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take no step."""
        while True:
            pass


@hostile("hangs: step took longer than")
class HangsAsleep(Plain):
    """Never ends a step, and sleeps."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take no step."""
        time.sleep(10**6)
        return StepEnd("failed")


@hostile("hangs: step took longer than")
class HangsAndSwallows(Plain):
    """Never ends a step, and swallows what would end it."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take no step."""
        while True:
            try:
                time.sleep(10**6)
            except BaseException:
                continue


@hostile("hangs: step took longer than")
class HangsAndReturns(Plain):
    """Takes long over a step, swallows what would end it, and goes on as if nothing was."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take a step, late."""
        try:
            time.sleep(10**6)
        except BaseException:
            self.history = list(self.history)
        return super().step(system, notes, pending)


@hostile("hangs: state took longer than")
class HangsAtState(Plain):
    """Never shows its state."""

    def state(self) -> State:
        """Show nothing."""
        threading.Event().wait()
        return State()


@hostile("hangs: open took longer than")
class HangsAtOpen(Plain):
    """Never opens."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        threading.Event().wait()


@hostile("hangs: close took longer than")
class HangsAtClose(Plain):
    """Never closes."""

    def close(self) -> None:
        """Wait for ever."""
        threading.Event().wait()


class Endless(list[str]):
    """A list that never ends."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Any:
        while True:
            yield "p1"


@hostile("hangs: append took longer than")
class ReturnsWithoutEnd(Plain):
    """Returns stored ids without an end."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages."""
        super().append(messages)
        return Endless()


# What cannot be read.


@hostile("step returned a coroutine; step is called synchronously")
class StepsLater(Plain):
    """Its step is async."""

    async def step(  # type: ignore[override]
        self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]
    ) -> StepEnd:
        """Take a step, later."""
        return super().step(system, notes, pending)


@hostile("step returned {")
class ReturnsAnotherType(Plain):
    """Returns a dict from a step."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take a step."""
        end = super().step(system, notes, pending)
        return {"outcome": end.outcome}  # type: ignore[return-value]


class Mute:
    """Cannot be written."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


@hostile("state returned a Mute whose repr raises RuntimeError")
class ShowsWhatCannotBeWritten(Plain):
    """Shows a state that is none, and cannot be written."""

    def state(self) -> State:
        """Show something else."""
        return Mute()  # type: ignore[return-value]


@hostile("characters; the longest that is read has")
class SendsAHugeText(Plain):
    """Sends ten million characters before each request."""

    def prompt(self, system: str | None) -> list[Message]:
        """Make a huge system message."""
        return [Message("system", "x" * HUGE)]


@hostile("raised ValueError: cannot write", name=f"half {HALF}\x07", version=f"1{HALF}\x1b[31m")
class WritesHalfCharacters(Plain):
    """Has half characters and control characters in its name, its ids, its texts and its errors."""

    before = f"{HALF}\x1b[2J[bold]"

    def new_id(self, position: int) -> str:
        """Make the stored id of a message."""
        return f"{HALF}\x1b[31m{position}"

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take a step, and fail in the second."""
        if any(message.role == "assistant" for message in self.history):
            raise ValueError(f"cannot write {HALF}\x1b[2J\r")
        return super().step(system, notes, pending)


# What does more, or less, than it was asked.


@hostile("answers differently each time")
class AnswersDifferentlyEachTime(Plain):
    """Leaves out the system prompt of every third step, whatever thread it is of."""

    def prompt(self, system: str | None) -> list[Message]:
        """Make the system message, or leave it out."""
        return super().prompt(system if next(COUNT) % 3 else None)


@hostile("it was given")
class ChangesWhatItIsGiven(Plain):
    """Changes the messages that it is given."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages, and empty them."""
        ids = super().append(messages)
        for message in messages:
            object.__setattr__(message, "content", "[removed]")
        return ids


@hostile("key.history-untouched is broken")
class ChangesWhatItHolds(Plain):
    """Changes stored messages in their place, which are those that the suite was shown."""

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        """Store the answer, and cut it off."""
        end = super().commit(new, answer)
        object.__setattr__(self.history[-1], "content", "[removed]")
        return end


@hostile("host.answer was called when no step was under way")
class CallsTheHostFromAThread(Plain):
    """Asks the model once more in a thread that outlives the session."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        super().__init__(configuration, host)
        self.closed = threading.Event()
        threading.Thread(target=self.ask_later, daemon=True).start()

    def close(self) -> None:
        """Let the thread ask."""
        self.closed.set()

    def ask_later(self) -> None:
        """Ask the model when all is over."""
        self.closed.wait()
        with suppress(Exception):
            self.host.answer(list(self.history))


@hostile("host.summarize was called when no step was under way")
class CallsTheHostFromClose(Plain):
    """Asks the compressor once more when it is closed."""

    def close(self) -> None:
        """Summarise all of it."""
        self.host.summarize(list(self.history))


@hostile("host.answer was called when no step was under way")
class AsksWhenMessagesAreStored(Plain):
    """Asks the model when messages are stored, and swallows the error."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store messages, and ask."""
        ids = super().append(messages)
        with suppress(Exception):
            self.host.answer(list(self.history))
        return ids


@hostile("the step ended as failed where nothing was scripted to fail")
class CommitsNothing(Plain):
    """Swallows every error, scripted ones too, and commits nothing."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Ask the model, and forget the answer."""
        with suppress(Exception):
            self.host.answer(self.request(system, View(None, self.opening())))
        return StepEnd("failed")


@hostile("step committed without answer_id")
class SwallowsCancellation(Plain):
    """Swallows a cancelled step and says that it committed."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take a step, whatever comes."""
        try:
            return super().step(system, notes, pending)
        except CompressorFailed:
            raise
        except BaseException:
            return StepEnd("committed")


@hostile("raised Cancelled")
class CancelsItself(Plain):
    """Raises the suite's own Cancelled when messages are stored."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        """Store nothing."""
        raise Cancelled


@hostile("raised OSError: the streams are gone")
class TakesTheStreams(Plain):
    """Writes to both streams, and then takes them away."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take no step."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.write("noise\n")
        sys.stdout = sys.stderr = None
        raise OSError("the streams are gone")


class Exiting(Exception):
    """An error that ends the process when it is read."""

    def __str__(self) -> str:
        raise SystemExit(0)


@hostile("its text cannot be had: that raised SystemExit")
class RaisesWhatExits(Plain):
    """Raises an error whose text ends the process."""

    def call_model(self, request: Sequence[Message]) -> Message:
        raise Exiting


class Incomparable(str):
    """A text that cannot be compared."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")


@hostile("raised RuntimeError: no comparison")
class SendsWhatCannotBeCompared(Plain):
    """Sends messages whose contents raise where they are compared."""

    def call_model(self, request: Sequence[Message]) -> Message:
        return super().call_model([evolve(message, content=Incomparable(message.content)) for message in request])

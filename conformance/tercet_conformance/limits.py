"""Breaks off a call into an implementation that takes too long, in its own process.

What is raised there is no ``Exception``, again and again until the call ends. In the main thread a
signal raises it, so that what sleeps wakes; elsewhere, or where SIGALRM is in use already, it is
raised before the thread's next bytecode: what waits in C is not woken. Code in C that holds the
interpreter's lock is broken off by nobody in its own process.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Lock, Thread, current_thread, get_ident, main_thread
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, Self

from tercet_conformance.interrupts import is_persons
from tercet_spec.scenarios import Scenario

SECONDS = 10.0
"""How long one call may take."""
GAP = 0.05
"""Seconds from one time that a call is broken off to the next, where it goes on."""
MOST_RAISED = 40
"""So often is a call broken off that goes on, before it is given up."""
MOST_HANGS = 3
"""After so many calls that hang nothing more is asked of an implementation."""
MOST_BROKEN = 10
"""After so many processes that broke nothing more is asked of an implementation."""
DEBUGGERS = frozenset({"bdb", "pdb", "pydevd", "_pydevd_bundle"})
OURS = frozenset({__name__, "tercet_conformance.driver", "tercet_conformance.guard"})
"""The modules between a run and the implementation, which are not broken off."""


class Overdue(BaseException):
    """Raised into a call that takes too long. No ``Exception``, so that nothing that handles errors swallows it."""


class GivenUp(BaseException):
    """Raised where an implementation hung, or broke, so often that nothing more is asked of it."""


class Limits:
    """A time limit for every call into one implementation, kept by a thread of its own while it is entered.

    ``abandon`` is called in that thread where a call lets nobody end it: it may report what hangs,
    and end the process. ``late`` has what was called after a run, and in which scenario.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.abandon: Callable[[], None] | None = None
        self.hangs = self.broken = 0
        self.late: dict[str, Scenario] = {}
        self.scenario: Scenario | None = None
        self.operation = self.what = self.hung = self.place = ""
        self.deadline: float | None = None
        self.raised = 0
        self.tracer: Any = None
        self.lock = Lock()
        self.depth = 0
        self.one = Call(self)

    def __enter__(self) -> Self:
        self.depth += 1
        if self.depth == 1:
            self.thread = get_ident()
            self.ended = Event()
            self.is_signalled = is_free()
            if self.is_signalled:
                signal.signal(signal.SIGALRM, self.interrupt)
            self.watchdog = Thread(target=self.watch, name="tercet-limits", daemon=True)
            self.watchdog.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.ended.set()
            self.watchdog.join()
            if self.is_signalled and signal.getsignal(signal.SIGALRM) == self.interrupt:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def call(self, what: str) -> "Call":
        """Limit what is done in this context; raises Overdue if it took too long, whatever it raised itself."""
        self.operation = self.what = what
        return self.one

    @property
    def has_given_up(self) -> bool:
        """Whether the implementation hung or broke so often that nothing more is asked of it."""
        return self.hangs >= MOST_HANGS or self.broken >= MOST_BROKEN

    def problem(self) -> str:
        """Say what hangs."""
        what, place = (self.hung, self.place) if self.raised else (self.operation, "")
        return f"hangs: {what} took longer than {self.seconds:g} s{place}"

    def is_overdue(self) -> bool:
        """Tell whether the call that is under way takes too long."""
        return self.deadline is not None and monotonic() > self.deadline

    def watch(self) -> None:
        """Break off what takes too long."""
        longest = min(self.seconds / 4, 1.0)
        pause = longest
        while not self.ended.wait(pause):
            pause = longest
            with self.lock:
                if not self.is_overdue():
                    continue
                frames = list(frames_of(sys._current_frames().get(self.thread)))
                if any(module_of(frame).partition(".")[0] in DEBUGGERS for frame in frames):
                    self.deadline = None  # a person looks at it
                    continue
                if not self.raised:
                    self.hung, self.place = self.what, place_of(frames)
                self.raised += 1
                self.break_off()
                pause = GAP
            if self.raised == MOST_RAISED and self.abandon is not None:
                self.abandon()

    def break_off(self) -> None:
        """Raise Overdue in the thread that is watched."""
        if self.is_signalled and signal.getsignal(signal.SIGALRM) == self.interrupt:
            signal.pthread_kill(self.thread, signal.SIGALRM)
        else:
            raise_in(self.thread, Overdue)

    def interrupt(self, _: int, frame: FrameType | None) -> None:
        """Raise Overdue, if the call is still under way; nothing of this module is broken off."""
        if not self.is_overdue() or frame is None or module_of(frame) == __name__:
            return
        if self.raised > 1:
            self.trace(frame)
        raise Overdue(self.problem())

    def trace(self, frame: FrameType) -> None:
        """Raise Overdue once more in the next line, which is the one that handles the first, to swallow it."""
        if self.tracer is None:
            self.tracer = (sys.gettrace(),)
        for outer in frames_of(frame):
            if module_of(outer) in OURS:
                break
            outer.f_trace = self.raise_at
        sys.settrace(self.raise_at)

    def raise_at(self, frame: FrameType, event: str, _: object) -> Any:
        """Raise Overdue at a line of what hangs."""
        if event in ("line", "call") and self.is_overdue() and module_of(frame) not in OURS:
            raise Overdue(self.problem())
        return self.raise_at

    def end(self) -> None:
        """End a call: nothing is raised any more."""
        with self.lock:
            self.deadline = None
        if self.tracer is not None:
            sys.settrace(*self.tracer)
            self.tracer = None


class Call:
    """One call into an implementation, under its limit."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.last = 0.0

    def __enter__(self) -> None:
        limits = self.limits
        limits.raised = 0
        self.last = limits.deadline = monotonic() + limits.seconds

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        is_debugged = self.limits.deadline is None
        while True:
            try:
                self.limits.end()
                for _ in range(3):
                    pass  # what was raised for this thread, and is still to come, comes here
                break
            except Overdue:
                continue
        is_late = self.limits.raised > 0 or monotonic() > self.last
        is_pressed = error is not None and is_persons(error)
        if is_late and not is_debugged and not is_pressed:
            if isinstance(error, Overdue) and error.args:
                return
            raise Overdue(self.limits.problem()) from error


def is_free() -> bool:
    """Tell whether SIGALRM can be used: in the main thread, where nobody else does."""
    if current_thread() is not main_thread() or not hasattr(signal, "pthread_kill"):
        return False
    return signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an error before the next bytecode of a thread.

    It is not taken back, which would leave the interpreter looking for it for ever.
    """
    import ctypes  # is needed where something hangs only

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def frames_of(frame: FrameType | None) -> Iterator[FrameType]:
    """Walk from a frame to its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def module_of(frame: FrameType) -> str:
    """Name the module that a frame's code is of."""
    return str(frame.f_globals.get("__name__"))


def place_of(frames: list[FrameType]) -> str:
    """Say where a call is, and through which functions it came there."""
    inner = []
    for frame in frames:
        if module_of(frame) in OURS:
            break
        inner.append(frame)
    if not inner:
        return ""
    names = " > ".join(frame.f_code.co_name for frame in reversed(inner[:4]))
    return f"; it was in {names} ({Path(inner[0].f_code.co_filename).name}:{inner[0].f_lineno})"

"""A process that is talked to by lines: started, written to, read from, and ended."""

import os
import signal
import subprocess
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from shlex import join
from threading import Event, Thread
from time import monotonic

from tercet_conformance.garbage import Broken, shortened
from tercet_conformance.limits import SECONDS, Overdue

LONGEST_LINE = 32 * 2**20
"""The longest line that is read, in bytes."""
LAST_LINES = 8
"""So many of the last lines of stderr are shown."""
PATIENCE = 1.25
"""How much longer than the limit of a call a read waits: it ends what nobody else could."""
END_SECONDS = 5.0
"""How long a process may take to end, after its input has ended."""


class Process:
    """A process in a session of its own, so that nobody's Ctrl-C but ours ends it; its stderr is read all the time."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)
        self.overdue = self.is_finished = False
        try:
            self.popen = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Broken(f"it cannot be started: {error.strerror or error}") from error
        except ValueError as error:
            raise Broken(f"it cannot be started: {error}") from error
        self.last: deque[str] = deque(maxlen=LAST_LINES)
        self.listener = Thread(target=self.listen, name="tercet-stderr", daemon=True)
        self.listener.start()
        self.deadline: float | None = None
        self.ended = Event()
        Thread(target=self.watch, name="tercet-deadline", daemon=True).start()

    def watch(self) -> None:
        """End what does not answer; in the main thread of a check its own limit comes first."""
        while not self.ended.wait(1.0):
            if self.deadline is not None and monotonic() > self.deadline:
                self.overdue = True
                self.kill()

    def listen(self) -> None:
        """Keep the last lines of stderr, and let nothing of it pile up."""
        assert self.popen.stderr is not None
        rest = b""
        with suppress(OSError, ValueError):
            while read := os.read(self.popen.stderr.fileno(), 65536):
                *lines, rest = (rest + read).split(b"\n")
                self.last.extend(shown(line) for line in lines if line.strip())
                rest = rest[:4096]
        if rest:
            self.last.append(shown(rest))

    def write(self, line: bytes) -> None:
        """Write a line; raises Broken where nobody reads it any more."""
        assert self.popen.stdin is not None
        try:
            self.popen.stdin.write(line)
            self.popen.stdin.flush()
        except OSError as error:
            raise Broken(self.ending()) from error

    def read(self) -> bytes:
        """Read a line; raises Broken where there is none, and Overdue where none comes."""
        assert self.popen.stdout is not None
        self.deadline = monotonic() + PATIENCE * SECONDS
        try:
            line = self.popen.stdout.readline(LONGEST_LINE)
        finally:
            self.deadline = None
        if self.overdue:
            raise Overdue(f"hangs: no line came within {PATIENCE * SECONDS:g} s{self.said()}")
        if not line:
            raise Broken(self.ending())
        if not line.endswith(b"\n"):
            if len(line) >= LONGEST_LINE:
                raise Broken(f"a line of more than {LONGEST_LINE} bytes; that is the most that is read")
            raise Broken(f"half a line, {shown(line)!r}, and then {self.ending()}")
        return line

    def ending(self) -> str:
        """Say how it ended."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(1)
        self.listener.join(1)
        return f"{ended_with(self.popen.returncode)}{self.said()}"

    def said(self) -> str:
        """Show the last lines of its stderr."""
        if not self.last:
            return "; it wrote nothing to stderr"
        return f"; the last lines of its stderr: {shortened(' | '.join(self.last))}"

    def kill(self) -> None:
        """End it, and what it started, at once."""
        self.ended.set()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def finish(self) -> None:
        """End it, and let go of it, once."""
        if self.is_finished:
            return
        self.is_finished = True
        self.kill()
        self.listener.join(1)
        streams = [self.popen.stdin, self.popen.stdout]
        if not self.listener.is_alive():  # what left the process's group may hold its stderr
            streams.append(self.popen.stderr)
        for stream in streams:
            assert stream is not None
            with suppress(OSError):
                stream.close()

    def end(self) -> str | None:
        """End its input and wait until it ends; say what went wrong with that."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        try:
            with suppress(OSError):
                self.popen.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self.popen.wait(END_SECONDS)
            code = self.popen.returncode
            if code is None:
                return f"it did not end within {END_SECONDS:g} s after its input had ended{self.said()}"
            os.set_blocking(self.popen.stdout.fileno(), False)
            left = self.popen.stdout.read(4096)
            if left:
                return f"it wrote more than it was asked for: {shown(left)!r}"
            return f"at the end of its input, {ended_with(code)}{self.said()}" if code else None
        finally:
            self.finish()


def ended_with(code: int | None) -> str:
    """Say how a process ended."""
    if code is None:
        return "the process closed its stdout, and goes on"
    if code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with code {code}"


def shown(line: bytes) -> str:
    """Show what a process wrote."""
    return shortened(line.decode(errors="backslashreplace").strip(), 300)


def command_text(command: Sequence[str]) -> str:
    """Write a command as it is typed."""
    return join(command)

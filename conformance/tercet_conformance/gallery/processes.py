"""Hostile processes: each speaks the wire for a right implementation, and spoils a line of it, or ends, or does not.

``main`` is one of them, by its name.
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import define, frozen

from tercet_conformance.gallery.entry import ENTERED, Entry
from tercet_conformance.gallery.plain import Plain, PlainImplementation
from tercet_conformance.gallery.plain_loop import PlainLoop, PlainLoopImplementation
from tercet_conformance.interface import Implementation
from tercet_conformance.wire.lines import line_of
from tercet_conformance.wire.remote import Remote
from tercet_conformance.wire.server import Line, Server
from tercet_spec import wire

HUGE = 100_000_000
FLOOD = 4_000_000


@define
class Spoiled(Line):
    """The wire, as a hostile process writes it: every line goes through its fault."""

    spoil: Callable[[Line, dict[str, Any]], bytes] = lambda _, envelope: line_of(envelope)

    def write(self, envelope: dict[str, object]) -> None:
        """Write a line, or what comes of it."""
        self.writing.write(self.spoil(self, envelope))
        self.writing.flush()


Fault = Callable[[Line, dict[str, Any]], bytes]


@frozen
class Process:
    """A hostile process: its fault, what is done at the end of its input, and what it is but for the fault."""

    fault: Fault
    last: Callable[[], object]
    make: Callable[[str], Implementation]


PROCESSES: dict[str, Process] = {}


def plain(name: str) -> Implementation:
    """Make a right implementation of threads."""
    return PlainImplementation(name, Plain)


def plain_loop(name: str) -> Implementation:
    """Make a right implementation of threads and of an agent's loop."""
    return PlainLoopImplementation(name, PlainLoop)


def process(
    diagnosis: str, last: Callable[[], object] = lambda: None, make: Callable[[str], Implementation] = plain
) -> Callable[[Fault], Fault]:
    """Enter a fault as a hostile process, under its name, with what its diagnosis must say."""

    def put(fault: Fault) -> Fault:
        name = fault.__name__.replace("_", "-")
        PROCESSES[name] = Process(fault, last, make)
        says = (fault.__doc__ or "").partition("\n")[0]
        command = (sys.executable, "-c", f"from {__name__} import main; main({name!r})")
        ENTERED.append(Entry(name, "process", None, "", says, partial(Remote, command), diagnosis))
        return fault

    return put


def asks(envelope: dict[str, Any]) -> bool:
    """Tell whether a line asks the model: a step is under way."""
    return envelope.get("question") == "answer"


def ends_a_step(envelope: dict[str, Any]) -> bool:
    """Tell whether a line returns from a step."""
    return isinstance(envelope.get("returned"), wire.Ended)


def wraps(envelope: dict[str, Any]) -> bool:
    """Tell whether a line asks a model wrapper: a run is under way."""
    return envelope.get("question") == "wrap_model"


def ends_a_run(envelope: dict[str, Any]) -> bool:
    """Tell whether a line returns from a run."""
    return isinstance(envelope.get("returned"), wire.Ran)


# What is no line of the wire.


@process("'Summarizing 4 messages...', which is not JSON")
def noise_on_stdout(_: Line, envelope: dict[str, Any]) -> bytes:
    """Prints what it does on stdout."""
    return (b"Summarizing 4 messages...\n" if asks(envelope) else b"") + line_of(envelope)


@process("which is not JSON")
def split_lines(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes an object in several lines."""
    line = line_of(envelope)
    return line.replace(b",", b",\n") if asks(envelope) else line


@process("after an object comes more")
def joined_lines(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes two objects in one line."""
    line = line_of(envelope)
    return line.rstrip() * 2 + b"\n" if asks(envelope) else line


@process("which is not UTF-8")
def latin_1(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes texts in Latin-1."""
    return line_of(envelope).replace(b'"question"', b'"caf\xe9":1,"question"')


@process("a line of more than")
def line_of_100_mb(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes a line of a hundred megabytes."""
    return b'{"ask": "' + b"x" * HUGE + b'"}\n' if asks(envelope) else line_of(envelope)


@process("nested too deep")
def nested(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes a hundred thousand brackets."""
    return b'{"ask":' + b"[" * 100_000 + b"\n" if asks(envelope) else line_of(envelope)


@process("beyond 2^53")
def large_number(_: Line, envelope: dict[str, Any]) -> bytes:
    """Counts its questions from 2^60 on."""
    return line_of({**envelope, "ask": 2**60}) if asks(envelope) else line_of(envelope)


@process("which holds NaN")
def not_a_number(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes a number that is none."""
    return line_of(envelope).replace(b'{"ask":', b'{"ask":NaN,"asked":')


@process("which has the field 'ask' twice")
def field_twice(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes a field twice."""
    return line_of(envelope).replace(b'{"ask"', b'{"ask":1,"ask"')


@process("which is no JSON object")
def array(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes a line that is no object."""
    return b"[1, 2]\n" if asks(envelope) else line_of(envelope)


# What is a line, and not the one that is waited for.


@process("is returned before it was asked")
def wrong_id(_: Line, envelope: dict[str, Any]) -> bytes:
    """Returns from another call."""
    return line_of({**envelope, "id": envelope["id"] + 7}) if ends_a_step(envelope) else line_of(envelope)


@process("is returned again")
def repeated_id(_: Line, envelope: dict[str, Any]) -> bytes:
    """Returns from the call before."""
    return line_of({**envelope, "id": envelope["id"] - 1}) if ends_a_step(envelope) else line_of(envelope)


@process("is returned again")
def two_answers(_: Line, envelope: dict[str, Any]) -> bytes:
    """Returns twice from a step."""
    return line_of(envelope) * (2 if ends_a_step(envelope) else 1)


@process("has neither")
def no_id(_: Line, envelope: dict[str, Any]) -> bytes:
    """Returns from no call."""
    return line_of({"returned": envelope["returned"]}) if ends_a_step(envelope) else line_of(envelope)


@process('which has none of "returned"')
def nothing_returned(_: Line, envelope: dict[str, Any]) -> bytes:
    """Returns from a step, and says nothing."""
    return line_of({"id": envelope["id"]}) if ends_a_step(envelope) else line_of(envelope)


@process("cannot be read")
def wrong_type(_: Line, envelope: dict[str, Any]) -> bytes:
    """Names an outcome that there is not."""
    return line_of(envelope).replace(b'"committed"', b'"done"')


@process("which the last one had")
def keeps_too_many(_: Line, envelope: dict[str, Any]) -> bytes:
    """Keeps messages of a history that has not so many."""
    return line_of(envelope).replace(b'"keep":', b'"keep":9') if ends_a_step(envelope) else line_of(envelope)


@process("is of session")
def another_session(_: Line, envelope: dict[str, Any]) -> bytes:
    """Asks for another session."""
    return line_of({**envelope, "session": envelope["session"] + 1}) if asks(envelope) else line_of(envelope)


@process('a question is without "session"')
def no_session(_: Line, envelope: dict[str, Any]) -> bytes:
    """Asks for no session."""
    asked = {name: value for name, value in envelope.items() if name != "session"}
    return line_of(asked if asks(envelope) else envelope)


@process("greater than that of the question before")
def same_question(line: Line, envelope: dict[str, Any]) -> bytes:
    """Numbers all questions alike."""
    return line_of({**envelope, "ask": 1}) if "ask" in envelope else line_of(envelope)


@process('"question" is one of summarize, answer')
def unknown_question(_: Line, envelope: dict[str, Any]) -> bytes:
    """Asks what there is not to ask."""
    return line_of({**envelope, "question": "embed"}) if asks(envelope) else line_of(envelope)


@process("only step, run and resume ask")
def asks_while_it_stores(_: Line, envelope: dict[str, Any]) -> bytes:
    """Asks the compressor when messages are stored."""
    if not isinstance(envelope.get("returned"), wire.Stored):
        return line_of(envelope)
    return line_of({"ask": 10_000, "session": 1, "question": "summarize", "given": []})


@process("what is not declared is not asked of it")
def declares_and_declines(_: Line, envelope: dict[str, Any]) -> bytes:
    """Declares that it can be configured anew, and says that it does not support that."""
    if not isinstance(envelope.get("returned"), wire.Changed) or envelope["id"] < 3:
        return line_of(envelope)
    return line_of({"id": envelope["id"], "unsupported": "not yet"})


# What is wrong within a run.


@process('"question" is one of summarize, before_agent', make=plain_loop)
def asks_as_in_a_step(_: Line, envelope: dict[str, Any]) -> bytes:
    """Asks the model within a run as it does within a step."""
    if envelope.get("question") != "ask_model":
        return line_of(envelope)
    return line_of({**envelope, "question": "answer", "request": {"add": []}})


@process("missing required field `middleware`", make=plain_loop)
def nobodys_hook(_: Line, envelope: dict[str, Any]) -> bytes:
    """Asks a hook of no middleware."""
    asked = {name: value for name, value in envelope.items() if name != "middleware"}
    return line_of(asked if "question" in envelope else envelope)


@process("host.wrap_model was asked of 'nobody'; in the stack there is", make=plain_loop)
def hook_of_a_stranger(_: Line, envelope: dict[str, Any]) -> bytes:
    """Asks a hook of a middleware that is not in the stack."""
    return line_of({**envelope, "middleware": "nobody"} if wraps(envelope) else envelope)


@process("run asked for a request that cannot be: keep 9", make=plain_loop)
def request_of_too_many(_: Line, envelope: dict[str, Any]) -> bytes:
    """Keeps messages of a request that has not so many."""
    line = line_of(envelope)
    return line.replace(b'"keep":', b'"keep":9000') if wraps(envelope) else line


@process("Invalid enum value 'done' - at `$.outcome`; there are: finished, blocked, failed", make=plain_loop)
def run_that_is_done(_: Line, envelope: dict[str, Any]) -> bytes:
    """Names an outcome of a run that there is not."""
    return line_of(envelope).replace(b'"outcome":"finished"', b'"outcome":"done"')


@process("raised no such model", make=plain_loop)
def raises_within_a_run(_: Line, envelope: dict[str, Any]) -> bytes:
    """Tells of an error of its own where a run ends."""
    return line_of({"id": envelope["id"], "raised": "no such model"} if ends_a_run(envelope) else envelope)


@process("the process ended with code 4", make=plain_loop)
def death_mid_run(_: Line, envelope: dict[str, Any]) -> bytes:
    """Ends when it would ask a model wrapper."""
    if wraps(envelope):
        os._exit(4)
    return line_of(envelope)


# What ends, or does not.


@process("hangs: step did not return in time")
def no_answer(_: Line, envelope: dict[str, Any]) -> bytes:
    """Never returns from a step."""
    if ends_a_step(envelope):
        time.sleep(3600)
    return line_of(envelope)


@process("the process ended with code 3; it wrote nothing to stderr")
def death_mid_step(_: Line, envelope: dict[str, Any]) -> bytes:
    """Ends in the middle of a step."""
    if ends_a_step(envelope):
        os._exit(3)
    return line_of(envelope)


@process("half a line")
def death_mid_line(line: Line, envelope: dict[str, Any]) -> bytes:
    """Ends in the middle of a line."""
    if ends_a_step(envelope):
        line.writing.write(line_of(envelope)[:20])
        line.writing.flush()
        os._exit(0)
    return line_of(envelope)


@process("describes itself otherwise")
def another_each_time(_: Line, envelope: dict[str, Any]) -> bytes:
    """Ends in a step, and comes again under another name."""
    if ends_a_step(envelope):
        os._exit(1)
    return line_of(envelope).replace(b'"name":"another', b'"name":"%d' % os.getpid())


@process("the last lines of its stderr: y | y")
def flood_on_stderr(_: Line, envelope: dict[str, Any]) -> bytes:
    """Writes more to stderr than anybody reads, and ends."""
    if ends_a_step(envelope):
        sys.stderr.write("x" * FLOOD + "\n" + "y\n" * 100_000 + "\n" * 10 + "the last word\n")
        sys.stderr.flush()
        os._exit(1)
    return line_of(envelope)


@process("the process closed its stdout, and goes on")
def closes_stdout(line: Line, envelope: dict[str, Any]) -> bytes:
    """Closes stdout, and goes on."""
    if ends_a_step(envelope):
        os.close(line.writing.fileno())
        time.sleep(3600)
    return line_of(envelope)


@process("it did not end within", last=lambda: time.sleep(3600))
def never_ends(_: Line, envelope: dict[str, Any]) -> bytes:
    """Goes on when its input has ended."""
    return line_of(envelope)


@process("at the end of its input, the process ended with code 5", last=lambda: os._exit(5))
def ends_badly(_: Line, envelope: dict[str, Any]) -> bytes:
    """Ends with a code that says that something went wrong."""
    return line_of(envelope)


@process("it wrote more than it was asked for: 'Goodbye'", last=lambda: os.write(1, b"Goodbye\n"))
def says_goodbye(_: Line, envelope: dict[str, Any]) -> bytes:
    """Prints a line at its end."""
    return line_of(envelope)


def main(name: str) -> None:
    """Be one of the hostile processes."""
    chosen = PROCESSES[name]
    line = Spoiled(sys.stdin.buffer, sys.stdout.buffer, spoil=chosen.fault)
    Server(chosen.make(name), line).serve()
    chosen.last()

"""What the wire costs: operations a second through a pipe, and the suite's memory for a long thread.

Run ``python tests/benchmarks/wire.py``, or with ``--json``. An operation is one append of a message or
one step; half are appends, and a step sends twenty messages on average. The process is the reference
in Python, served by ``python -m tercet_conformance.wire``. The same scenarios in this process stand
beside it. Suite and process take turns, so where each has a processor to itself, it sleeps while the
other works, and is woken for each line: what that costs is the machine's, and a line sent there and back
with nothing done shows it. On one processor for both it all but goes away; the target is for that
figure. Figures are medians over the rounds; memory is the peak of a process of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import Any

from tercet_conformance.adapters.reference import implementation
from tercet_conformance.driver import run
from tercet_conformance.interface import Implementation
from tercet_conformance.wire.remote import Remote
from tercet_spec.scenarios import Append, Operation, Scenario, Step
from tercet_spec.vocabulary import Configuration, Message, Trigger

SERVED = [sys.executable, "-m", "tercet_conformance.wire", "reference"]
CYCLES = 100
SESSIONS = 20
LONG = 10_000
EACH = 50
AT_LEAST = 5_000
"""The target, in operations a second."""
LINES = 2_000


def grown(cycles: int) -> Scenario:
    """A thread that a message is stored in and a step is taken on, in turn."""
    first = Append(tuple(Message("user", f"m{number}z said at first") for number in range(18)))
    operations: list[Operation] = [first]
    for number in range(cycles):
        operations += [Append((Message("user", f"m{number + 18}z and so on"),)), Step()]
    return Scenario(Configuration(Trigger("messages", 29), keep_recent=10), tuple(operations))


def long_thread() -> Scenario:
    """A thread of ten thousand messages, stored a few at a time, with a step after each."""
    operations: list[Operation] = []
    for first in range(0, LONG, EACH):
        messages = tuple(Message("user", f"m{number}z {'x' * 200}") for number in range(first, first + EACH - 1))
        operations += [Append(messages), Step()]
    return Scenario(Configuration(Trigger("messages", 200), keep_recent=40), tuple(operations))


def operations_a_second(implemented: Implementation, scenario: Scenario) -> float:
    """Run a scenario in several sessions, one after another."""
    description = implemented.describe()
    begun = perf_counter()
    for _ in range(SESSIONS):
        assert run(implemented, description, scenario).diagnosis is None
    return SESSIONS * len(scenario.operations) / (perf_counter() - begun)


@contextmanager
def one_processor() -> Iterator[None]:
    """Hold this process, and what it starts, to one processor, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def line_microseconds() -> float:
    """Send a line to a process that sends it back, many times; say how long each took."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        begun = perf_counter()
        for _ in range(LINES):
            echo.stdin.write(b"x" * 200 + b"\n")
            echo.stdin.flush()
            echo.stdout.readline()
        took = perf_counter() - begun
        echo.stdin.close()
    return took / LINES * 1e6


def figures(rounds: int) -> dict[str, Any]:
    """Take the measurement; each round has all roads, so that they share what else runs."""
    here, scenario = implementation(), grown(CYCLES)
    apart = Remote(SERVED)
    with one_processor():
        together = Remote(SERVED)
        operations_a_second(together, scenario)
    operations_a_second(apart, scenario)
    speeds: dict[str, list[float]] = {"pipe": [], "pipe, one processor": [], "in process": []}
    lines: dict[str, list[float]] = {"pipe": [], "pipe, one processor": []}
    for _ in range(rounds):
        speeds["pipe"].append(operations_a_second(apart, scenario))
        lines["pipe"].append(line_microseconds())
        with one_processor():
            speeds["pipe, one processor"].append(operations_a_second(together, scenario))
            lines["pipe, one processor"].append(line_microseconds())
        speeds["in process"].append(operations_a_second(here, scenario))
    apart.close()
    together.close()
    peak = subprocess.run([sys.executable, __file__, "--peak"], check=True, capture_output=True, text=True)
    return {
        "operations_a_second": {road: median(taken) for road, taken in speeds.items()},
        "line_microseconds": {road: median(taken) for road, taken in lines.items()},
        "met": median(speeds["pipe, one processor"]) >= AT_LEAST,
        "peak_megabytes": {"messages": LONG, "suite": float(peak.stdout)},
    }


def peak_megabytes() -> float:
    """Run the long thread over the pipe, and say how much memory this process took at most."""
    remote = Remote(SERVED)
    assert run(remote, remote.describe(), long_thread()).diagnosis is None
    remote.close()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peak", action="store_true", help="print the peak of the long thread alone, in megabytes")
    chosen = parser.parse_args()
    if chosen.peak:
        sys.stdout.write(f"{peak_megabytes():.1f}\n")
        return
    taken = figures(chosen.rounds)
    if chosen.json:
        sys.stdout.write(json.dumps(taken, indent=1) + "\n")
        return
    for road, speed in taken["operations_a_second"].items():
        line = taken["line_microseconds"].get(road)
        bare = "" if line is None else f"; a line there and back takes {line:.0f} µs"
        sys.stdout.write(f"{road:<19} {speed:>7,.0f} operations a second{bare}\n")
    sys.stdout.write(f"at least {AT_LEAST:,} through a pipe: {'met' if taken['met'] else 'MISSED'}\n")
    sys.stdout.write(f"{LONG} messages: {taken['peak_megabytes']['suite']:.0f} MB at most\n")


if __name__ == "__main__":
    main()

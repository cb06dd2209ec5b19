"""What the wire costs: operations a second through a pipe, and the suite's memory for a long thread.

Run ``python tests/benchmarks/wire.py``, or with ``--json``. An operation is one append of a message or
one step; half are appends, and a step sends twenty messages on average. The process is the reference
in Python, served by ``python -m tercet_conformance.wire``. The same scenarios in this process stand
beside it. Figures are medians over the rounds; memory is the peak of a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
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


def figures(rounds: int) -> dict[str, Any]:
    """Take the measurement; each round has both, so that they share what else runs."""
    remote, here, scenario = Remote(SERVED), implementation(), grown(CYCLES)
    operations_a_second(remote, scenario)
    taken = [(operations_a_second(remote, scenario), operations_a_second(here, scenario)) for _ in range(rounds)]
    remote.close()
    piped, in_process = zip(*taken, strict=True)
    peak = subprocess.run([sys.executable, __file__, "--peak"], check=True, capture_output=True, text=True)
    return {
        "operations_a_second": {"pipe": median(piped), "in process": median(in_process)},
        "ratio": median(here / far for far, here in taken),
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
        sys.stdout.write(f"{road:<12} {speed:>9,.0f} operations a second\n")
    sys.stdout.write(f"in this process it is {taken['ratio']:.2f} times as fast\n")
    sys.stdout.write(f"{LONG} messages: {taken['peak_megabytes']['suite']:.0f} MB at most\n")


if __name__ == "__main__":
    main()

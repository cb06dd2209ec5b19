"""What ``import tercet`` costs beside ``import attrs``.

Run ``python tests/benchmarks/import_time.py``, or with ``--json``. Each import is timed in a new
interpreter, one after the other in each round; the figures are medians, of the times in
milliseconds and of each round's ratio. ``--modules`` adds what each of Tercet's modules costs.
"""

import argparse
import json
import subprocess
import sys
from statistics import median
from typing import Any

AT_MOST = 2.5
"""The target: so many times what ``import attrs`` costs."""
TIMED = "from time import perf_counter_ns as now; begun = now(); import {module}; print(now() - begun)"


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an interpreter of the same kind."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)


def importing(module: str) -> int:
    """Time an import in a new interpreter; nanoseconds."""
    return int(python("-c", TIMED.format(module=module)).stdout)


def figures(rounds: int) -> dict[str, Any]:
    """Take the measurement."""
    importing("tercet")
    pairs = [(importing("attrs"), importing("tercet")) for _ in range(rounds)]
    ratio = median(tercet / attrs for attrs, tercet in pairs)
    return {
        "attrs_milliseconds": median(attrs for attrs, _ in pairs) / 1e6,
        "tercet_milliseconds": median(tercet for _, tercet in pairs) / 1e6,
        "ratio": ratio,
        "target": f"at most {AT_MOST}",
        "met": ratio <= AT_MOST,
    }


def modules() -> dict[str, float]:
    """List the milliseconds that each of Tercet's modules takes by itself, the dearest first."""
    lines = [line.split("|") for line in python("-X", "importtime", "-c", "import tercet").stderr.splitlines()]
    own = {name.strip(): int(spent.split(":")[1]) / 1000 for spent, _, name in lines[1:] if "tercet" in name}
    return dict(sorted(own.items(), key=lambda item: -item[1]))


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")
    parser.add_argument("--modules", action="store_true", help="add what each module costs")
    parser.add_argument("--rounds", type=int, default=30, help="rounds (default: 30)")
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error("rounds must be at least 1")
    taken = figures(chosen.rounds)
    if chosen.modules:
        taken["modules_milliseconds"] = modules()
    if chosen.json:
        json.dump(taken, sys.stdout, indent=1)
        print()
        return
    print(f"import attrs   {taken['attrs_milliseconds']:6.1f} ms")
    print(f"import tercet  {taken['tercet_milliseconds']:6.1f} ms")
    print(f"ratio          {taken['ratio']:6.2f}     {taken['target']}: {'met' if taken['met'] else 'MISSED'}")
    for name, spent in taken.get("modules_milliseconds", {}).items():
        print(f"  {name:24} {spent:6.1f} ms")


if __name__ == "__main__":
    main()

"""What the terminal's report says, for the others: as plain text, and for readers elsewhere.

Who reads a report on another machine has no file that was saved here. So a thread that can be typed
is replayed from its line, and from its file only where notation cannot say it.
"""

from collections.abc import Callable, Mapping
from io import StringIO

from attrs import evolve
from rich.console import Console

from tercet_conformance.report import Printer, line_for, replayed, shown
from tercet_conformance.verdicts import RuleVerdict
from tercet_spec.scenarios import Scenario

WIDE = 1_000_000_000


def plain(write: Callable[[Printer], None]) -> str:
    """Return what is printed, without colours, whatever the environment asks of a terminal."""
    console = Console(file=StringIO(), width=WIDE, force_terminal=False, color_system=None)
    with console.capture() as captured:
        write(Printer(console))
    return captured.get().strip("\n")


def elsewhere(scenario: Scenario, saved: str | None) -> str | None:
    """Return the file that a reader elsewhere needs to replay a scenario: none where it can be typed."""
    return None if line_for(scenario) else saved


def verdict_elsewhere(verdict: RuleVerdict) -> RuleVerdict:
    """Return a verdict as a reader elsewhere needs it."""
    examples = tuple(evolve(each, saved=elsewhere(each.scenario, each.saved)) for each in verdict.counterexamples)
    return evolve(verdict, counterexamples=examples)


def files_elsewhere(saved: Mapping[Scenario, str]) -> dict[Scenario, str]:
    """Return the files that a reader elsewhere needs."""
    return {scenario: path for scenario, path in saved.items() if elsewhere(scenario, path)}


def replay_of(scenario: Scenario, saved: str | None, name: str) -> str | None:
    """Write the command that replays a scenario elsewhere, where there is one."""
    command = replayed(scenario, elsewhere(scenario, saved), name)
    return None if command is None else shown(command)

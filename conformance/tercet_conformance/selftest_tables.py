"""What a measurement of the suite says: on the terminal, and as the Markdown table that the repository keeps."""

from collections.abc import Sequence
from statistics import median

from rich.console import Console

from tercet_conformance.report import Printer, counted
from tercet_conformance.selftest import AT_ONCE, BY_MACHINES, LARGE, Catch, Measurement, Row, rows
from tercet_spec.rules import RULES, Level


def print_measurement(measured: Measurement, console: Console) -> None:
    """Print each wrong implementation, and what all of them say of the suite."""
    printer = Printer(console)
    table = rows(measured.catches)
    width = max((len(row.entry.name) for row in table), default=0)
    wide = max(len(rule.id) for rule in RULES)
    for row in table:
        style = "green" if row.caught == row.seeds else "bold red"
        said = f"{row.scenarios:>6g} scenarios  {row.seconds:>6.2f} s  {row.operations:>3g} operations"
        if row.caught == 0:
            said = "not caught" + (f", but by {', '.join(sorted(row.others))}" if row.others else "")
        printer.line(
            "  ",
            (f"{row.caught:>3} of {row.seeds:<3}", style),
            f" {row.entry.name:<{width}}  ",
            f"{row.entry.rule or '':<{wide}}  ",
            (said, "dim"),
        )
    printer.line()
    for line in summary(measured):
        printer.paragraph(line, "")


def summary(measured: Measurement) -> list[str]:
    """Say what a measurement shows, in a few lines."""
    lines = [*caught_lines(measured.catches)]
    if measured.misses:
        missed = sorted({catch.task.entry for catch in measured.misses})
        lines.append(f"missed, or later than within {AT_ONCE} scenarios where at once is asked: {', '.join(missed)}")
    if measured.floors:
        best = max(measured.floors, key=lambda floor: floor.passed)
        lines.append(f"the floor: {best.entry}, which does nothing, passes {best.passed} of {best.musts} MUST rules")
        for floor in measured.floors:
            if floor.profile or floor.whole:
                lines.append(f"{floor.entry} does nothing, and keeps {floor.profile or ', '.join(floor.whole)}")
    if measured.alarms:
        blamed = [alarms for alarms in measured.alarms if alarms.rules]
        run = min(alarms.scenarios for alarms in measured.alarms)
        lines.append(
            f"{counted(len(measured.alarms), 'right implementation')} in {counted(run, 'scenario')} each or more: "
            f"{counted(len(blamed), 'false alarm')}"
        )
        lines += [f"{alarms.entry} is right, and was blamed: {', '.join(sorted(alarms.rules))}" for alarms in blamed]
    return lines


def caught_lines(catches: Sequence[Catch]) -> list[str]:
    """Sum up what was caught."""
    if not catches:
        return []
    good = [catch for catch in catches if catch.scenarios is not None]
    table = rows(catches)
    lines = [
        f"caught by its own rule: {len(good)} of {len(catches)} times, {100 * len(good) / len(catches):.1f} %; "
        f"with every seed {sum(row.caught == row.seeds for row in table)} of {len(table)} wrong implementations"
    ]
    if good:
        seconds = [catch.seconds for catch in good]
        sizes = [catch.operations for catch in good]
        lines.append(f"time to catch: {median(seconds):.3f} s in the median, {max(seconds):.1f} s at most")
        lines.append(f"counterexample: {median(sizes):g} operations in the median, {max(sizes)} at most")
        if large := [f"{row.entry.name} ({row.most})" for row in table if row.most > LARGE]:
            lines.append(f"with one of more than {LARGE} operations: {', '.join(large)}")
    return lines


def markdown(alone: Measurement, saved: Measurement, machines: Measurement, command: str) -> str:
    """Write the table that the repository keeps: generated scenarios alone, with saved ones, the machines alone."""
    seeds = max((row.seeds for row in rows(alone.catches)), default=0)
    with_saved = {row.entry.name: row for row in rows(saved.catches)}
    by_machines = {row.entry.name: row for row in rows(machines.catches)}
    musts = sum(rule.level is Level.MUST for rule in RULES)
    lines = [
        "# What the suite catches",
        "",
        f"Made by `{command}`: {counted(seeds, 'seed')}, standard",
        "budget. Of each wrong implementation: how often its own rule caught it, and the medians of scenarios and",
        "seconds until then and of the operations of the shrunk counterexample (an append of n messages counts n).",
        "",
        *(f"- {line}" for line in summary(alone)),
        f"- with saved scenarios first: {caught_lines(saved.catches)[0]}",
        f"- the state machines alone, without bursts, in {BY_MACHINES} examples: {caught_lines(machines.catches)[0]}",
        "",
        "| wrong implementation | its rule | caught | scenarios | seconds | operations | saved first | by machines |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows(alone.catches):
        name = row.entry.name
        lines.append(
            f"| {name} | {row.entry.rule} | {share(row)} | {row.scenarios:g} | {row.seconds:.2f} | {row.operations:g} "
            f"| {share(with_saved.get(name))} | {share(by_machines.get(name))} |"
        )
    lines += ["", "| null implementation | what it does | MUST rules passed |", "|---|---|---|"]
    lines += [f"| {floor.entry} | {floor.says} | {floor.passed} of {musts} |" for floor in alone.floors]
    return "\n".join(lines) + "\n"


def share(row: Row | None) -> str:
    """Write how many seeds caught a wrong implementation."""
    return "" if row is None else f"{row.caught} of {row.seeds}"

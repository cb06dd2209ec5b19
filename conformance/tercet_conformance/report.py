"""The terminal report: a line a rule, then each broken one with the threads that break it.

Texts of an implementation are shown as they are, never read as markup; what a terminal cannot show
or would obey is escaped.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote
from textwrap import wrap
from types import MappingProxyType

from rich.console import Console
from rich.text import Text

from tercet_conformance.drawing import Drawing, draw, sent
from tercet_conformance.driver import Diagnosis
from tercet_conformance.garbage import shortened
from tercet_conformance.smoke import Stage
from tercet_conformance.verdicts import (
    BROKEN,
    EXIT_BROKEN,
    EXIT_FAULT,
    EXIT_INTERRUPTED,
    EXIT_KEPT,
    EXIT_UNDECIDED,
    FLOOR,
    MOST_NAMED,
    STRONGER,
    Counterexample,
    KnownFailure,
    Report,
    RuleVerdict,
    Verdict,
    keeps,
)
from tercet_spec.moments import Change, Configured, Step
from tercet_spec.notation import format_line, line_of, sketch_of
from tercet_spec.rules import AnyRule, Level, Origin, Profile
from tercet_spec.run_words import SIGNS
from tercet_spec.runs import AgentRun
from tercet_spec.scenarios import Scenario

STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.KNOWN: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
}
MEANINGS = {
    EXIT_KEPT: "every applicable MUST is kept",
    EXIT_BROKEN: "a MUST is broken",
    EXIT_UNDECIDED: "a MUST could not be decided, or the asked profile is not wholly applicable",
    EXIT_FAULT: "the implementation or its adapter crashed, hung, or gave what cannot be read",
    EXIT_INTERRUPTED: "interrupted; this is what was found until then",
}
CHANGES = {
    "kept": "the end of the turn",
    "blocked": "the block of the turn",
    "restored": "the restore",
    "edited": "the edit",
}
LEGENDS: Mapping[str, Mapping[str, str]] = {
    "thread": {"|": "the cut", "~": "covered by the summary", "^": "at fault"},
    "run": {**SIGNS, "^": "where it left its course"},
}
WIDTH = 100


def shown(text: str) -> str:
    """Escape what a terminal cannot show, or would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def number(count: int) -> str:
    """Write a count with its thousands apart."""
    return f"{count:,}".replace(",", " ")


def counted(count: int, thing: str) -> str:
    """Write a count of things."""
    return f"{number(count)} {thing}{'' if count == 1 else 's'}"


class Printer:
    """Prints lines, in colour where the console has any."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of parts, each a text or a text with its style; it is not broken."""
        self.console.print(Text.assemble(*parts), soft_wrap=True, highlight=False)

    def paragraph(self, text: str, indent: str) -> None:
        """Print prose within the width of the report."""
        for line in wrap(shown(text), WIDTH - len(indent)):
            self.line(indent, line)


def print_report(
    report: Report,
    name: str,
    console: Console,
    *,
    debug: bool = False,
    saved: Mapping[Scenario, str] = MappingProxyType({}),
) -> None:
    """Print a report; ``name`` is the implementation's on the command line, ``saved`` the files of what broke off."""
    printer = Printer(console)
    print_heading(report, printer)
    print_rules(report.verdicts, printer)
    for verdict in report.broken:
        print_broken(verdict, printer, name)
    print_known(report, name, printer)
    print_diagnoses(report.diagnoses, name, printer, debug=debug, saved=saved)
    print_end(report, printer)


def searched(report: Report) -> str:
    """Say by which budget and seeds was searched."""
    return f"{report.budget} budget, seed{'' if len(report.seeds) == 1 else 's'} {', '.join(map(str, report.seeds))}"


def print_heading(report: Report, printer: Printer) -> None:
    """Print what was checked and how."""
    described = report.description
    printer.line((shown(f"{described.name} {described.version}"), "bold"), shown(f" ({described.language})"))
    declared = ", ".join(sorted(described.capabilities))
    for line in wrap(f"declares {declared}; counts characters as {described.character}s", WIDTH - 2):
        printer.line("  ", (shown(line), "dim"))
    ran = f"{counted(report.scenarios, 'scenario')}, {counted(report.steps, 'step')} in {report.seconds:.1f} s"
    printer.line("  ", (f"{ran} · {searched(report)}", "dim"))
    if report.unsupported:
        left_out = counted(report.unsupported, "more scenario")
        printer.line("  ", (f"{left_out} could not be said in its messages, and said nothing of it", "dim"))


def print_rules(verdicts: Sequence[RuleVerdict], printer: Printer) -> None:
    """Print a line a rule, family by family."""
    width = max((len(verdict.rule.id) for verdict in verdicts), default=0)
    family = None
    for verdict in verdicts:
        rule = verdict.rule
        begins = rule.family != family
        if begins:
            family = rule.family
            printer.line()
        name = f"{family}.*" if is_beside(rule, verdicts) else rule.id
        if begins or name == rule.id:
            printer.line(
                "  ",
                (f"{verdict.verdict.value:<14}", STYLES.get(verdict.verdict, "yellow")),
                f"  {name:<{width}}  {rule.level.value:<6}  {rule.profile!s:<7}  ",
                (remark(verdict), "dim"),
            )


def is_beside(rule: AnyRule, verdicts: Sequence[RuleVerdict]) -> bool:
    """Tell whether a rule is of a family that stands beside the others, and of which no rule is applicable."""
    return rule.profile is Profile.HOOKS and all(
        each.verdict is Verdict.NOT_APPLICABLE for each in verdicts if each.rule.profile is Profile.HOOKS
    )


def remark(verdict: RuleVerdict) -> str:
    """Say the least that makes a verdict understood."""
    if verdict.verdict is Verdict.FAIL:
        shapes = counted(len(verdict.unlisted), "thread")
        if known := len(verdict.counterexamples) - len(verdict.unlisted):
            shapes += f" and {number(known)} known"
        return shapes + (f", each after {verdict.following} broke" if verdict.following else "")
    if verdict.verdict is Verdict.PASS and verdict.reached:
        return f"reached at least {counted(min(verdict.reached.values()), 'time')}"
    return shown(verdict.reason)


def print_broken(verdict: RuleVerdict, printer: Printer, name: str | None = None) -> None:
    """Print a broken rule: what it says, the threads that break it and, for a ``name``, how to see one again."""
    rule = verdict.rule
    printer.line()
    printer.line((rule.id, "bold red"), f" is broken: {rule.level.value}, profile {rule.profile}, {origin_of(rule)}")
    printer.paragraph(rule.statement, "  ")
    printer.paragraph(f"Why: {rule.why}", "  ")
    if verdict.following:
        printer.paragraph(f"It breaks only after {verdict.following} broke in an earlier step.", "  ")
    drawings = [draw(example.finding) for example in verdict.unlisted]
    legend = legend_of(drawing for drawing in drawings if drawing is not None)
    said: tuple[str, str] | None = None
    for ordinal, (example, drawing) in enumerate(zip(verdict.unlisted, drawings, strict=True), 1):
        print_thread(example, ordinal, drawing, legend, printer)
        legend = ""
        violation = example.finding.violation
        printer.line("     where     ", where(example))
        if request := sent(example.finding):
            printer.line("     sent      ", shown(request))
        if said != (said := (violation.expected, violation.seen)):
            printer.line("     expected  ", (shown(violation.expected), "green"))
            printer.line("     seen      ", (shown(violation.seen), "red"))
        if example.seen_once:
            printer.line("     once only  run again, this did not break the rule")
        if example.saved:
            printer.line("     saved     ", shown(example.saved))
    for example in verdict.counterexamples[:1]:
        if name is not None and (command := replayed(example.scenario, example.saved, name)):
            printer.line()
            printer.line("  To see one again: ", (shown(command), "bold"))


def print_known(report: Report, name: str, printer: Printer) -> None:
    """Print what the baseline lists: what is known to break and why, and what lists nothing here."""
    examples: dict[KnownFailure, Counterexample] = {}
    for verdict in report.verdicts:
        for example in verdict.counterexamples:
            if example.known is not None:
                examples.setdefault(example.known, example)
    if examples:
        printer.line()
        printer.line(("Known failures", "bold yellow"))
    for entry, example in examples.items():
        print_entry(entry, printer)
        if command := replayed(example.scenario, example.saved, name):
            printer.line("    To see one again: ", (shown(command), "bold"))
    if excused := [entry for entry in report.idle if entry not in report.stale]:
        printer.line()
        printer.line(("Flaky, and not seen to break in this run", "bold yellow"))
        for entry in excused:
            print_entry(entry, printer)
    if report.stale:
        printer.line()
        printer.line(("Stale: delete these entries from the baseline", "bold red"))
        verdicts = {verdict.rule.id: verdict.verdict for verdict in report.verdicts}
        for entry in report.stale:
            print_entry(entry, printer)
            broken = verdicts[entry.rule] in BROKEN
            printer.line("    ", "no thread shows its signature" if broken else f"now: {verdicts[entry.rule].value}")


def print_entry(entry: KnownFailure, printer: Printer) -> None:
    """Print an entry of a baseline."""
    printer.line()
    printer.line("  ", (entry.rule, "bold"), f" ({entry.kind})")
    printer.paragraph(entry.reason, "    ")
    if entry.signature is not None:
        printer.line("    signature  ", shown(entry.signature))
    if entry.link is not None:
        printer.line("    link       ", shown(entry.link))


def legend_of(drawings: Iterable[Drawing]) -> str:
    """Explain the signs that some drawings use."""
    drawn: dict[str, str] = {}
    for drawing in drawings:
        drawn[drawing.kind] = drawn.get(drawing.kind, "") + drawing.line + drawing.marks
    return "   ".join(
        f"{sign} {meaning}" for kind, text in drawn.items() for sign, meaning in LEGENDS[kind].items() if sign in text
    )


def print_thread(example: Counterexample, ordinal: int, drawing: Drawing | None, legend: str, printer: Printer) -> None:
    """Print a scenario as a line of notation, and as a drawing of where it broke."""
    line, nearly = in_notation(example.scenario)
    printer.line()
    printer.line(f"  {ordinal}  ", (line, "bold"), (nearly, "dim"))
    if drawing is not None and drawing.line:
        printer.line("       ", shown(drawing.line))
        if drawing.marks:
            printer.line("       ", (drawing.marks, "red"))
    if legend:
        printer.line("       ", (legend, "dim"))


def replayed(scenario: Scenario, saved: str | None, name: str) -> str | None:
    """Write the command that replays a scenario, where there is one."""
    what = saved or line_for(scenario)
    return f"tercet replay {quote(what)} {as_typed(name)}" if what else None


def where(example: Counterexample) -> str:
    """Say in which run, step, request and message a rule broke."""
    moment, violation = example.finding.moment, example.finding.violation
    if isinstance(moment, Configured):
        return "the configuration"
    if isinstance(moment, Change):
        places = [
            f"{CHANGES[moment.kind]} after step {moment.number + 1}" if moment.number >= 0 else CHANGES[moment.kind]
        ]
    elif isinstance(moment, AgentRun):
        places = [f"run {moment.number + 1}"]
        if violation.attempt is not None and violation.attempt >= 0:
            places.append(f"model step {violation.attempt + 1}")
    else:
        places = [f"step {moment.number + 1}"]
    if isinstance(moment, Step) and violation.attempt is not None and len(moment.attempts) > 1:
        places.append(f"request {violation.attempt + 1}")
    if violation.position is not None:
        places.append(f"message {violation.position + 1}")
    return ", ".join(places)


def line_for(scenario: Scenario) -> str | None:
    """Write a scenario as a line that can be typed, where there is one."""
    line = line_of(scenario)
    text = "" if line is None else format_line(line)
    return text if text and text == shown(text) else None


def in_notation(scenario: Scenario) -> tuple[str, str]:
    """Write a scenario as a line, and say where that is not all of it."""
    if line := line_for(scenario):
        return line, ""
    return shown(format_line(sketch_of(scenario))), "  (nearly: notation cannot say all of its texts)"


def print_diagnoses(
    diagnoses: Sequence[tuple[Diagnosis, Scenario | None]],
    name: str,
    printer: Printer,
    *,
    debug: bool,
    saved: Mapping[Scenario, str] = MappingProxyType({}),
) -> None:
    """Print what went wrong that is no rule's violation."""
    if not diagnoses:
        return
    printer.line()
    printer.line(("What went wrong beside the rules", "bold yellow"))
    for diagnosis, scenario in diagnoses:
        printer.line()
        times = f", {counted(diagnosis.times, 'time')} alike" if diagnosis.times > 1 else ""
        printer.line("  ", (shown(diagnosis.operation), "bold"), times)
        printer.paragraph(diagnosis.problem, "    ")
        if scenario is not None:
            line, nearly = in_notation(scenario)
            printer.line("    in  ", line, (nearly, "dim"))
            if command := replayed(scenario, saved.get(scenario), name):
                printer.line("    To see it again: ", (shown(command), "bold"))
        if debug:
            for each in diagnosis.detail.rstrip().splitlines():
                printer.line("    ", (shown(shortened(each)), "dim"))
    if not debug and any(diagnosis.raised for diagnosis, _ in diagnoses):
        printer.line()
        printer.line("  ", ("--debug shows where each was raised", "dim"))


def print_end(report: Report, printer: Printer) -> None:
    """Print the counts of verdicts, the profile kept, and what the exit code means."""
    counts = Counter(verdict.verdict for verdict in report.verdicts)
    printer.line()
    words: list[str | tuple[str, str]] = []
    for verdict in Verdict:
        if counts[verdict]:
            words += [", " if words else "", (f"{counts[verdict]} {verdict.value}", STYLES.get(verdict, "yellow"))]
    printer.line(*words)
    if report.is_whole:
        kept = report.kept
        known = kept and any(each.is_known_must and kept.contains(each.rule.profile) for each in report.verdicts)
        but = ", but for what is known" if known else ""
        passed, musts = passed_of(report, STRONGER)
        printer.line(f"MUST rules passed: {passed} of {musts}; an implementation that does nothing passes {FLOOR}")
        printer.line("profile kept: ", (str(kept) if kept else "none", "bold"), but, hindered(report))
        if "hooks" in report.description.capabilities:
            passed, musts = passed_of(report, (Profile.HOOKS,))
            beside = "kept" if report.keeps_hooks else "not kept"
            printer.line("profile hooks, beside it: ", (beside, "bold"), f"; MUST rules passed: {passed} of {musts}")
    if len(report.broken) > 1:
        printer.line("start with ", (report.broken[0].rule.id, "bold"), ": what breaks of itself is shown first")
    if report.asked is not None and (report.lacking or report.is_whole):
        lacking = ", ".join(rule.id for rule in report.lacking)
        is_kept = keeps(report.verdicts, report.asked)
        said = f"of which is not applicable: {lacking}" if lacking else "kept" if is_kept else "not kept"
        printer.paragraph(f"profile asked for: {report.asked}, {said}", "")
    printer.line(f"exit code {report.exit_code}: {meaning(report)}")


def passed_of(report: Report, profiles: Collection[Profile]) -> tuple[int, int]:
    """Count the MUSTs of some profiles that passed, and all of them."""
    musts = [each for each in report.verdicts if each.rule.level is Level.MUST and each.rule.profile in profiles]
    return sum(each.verdict is Verdict.PASS for each in musts), len(musts)


def hindered(report: Report) -> str:
    """Say which rules keep the next profile from being kept."""
    if report.hindrances is None:
        return ""
    profile, hindering = report.hindrances
    named = [
        verdict.rule.id + ("" if verdict.verdict is Verdict.FAIL else f" ({verdict.verdict.value})")
        for verdict in hindering[:MOST_NAMED]
    ]
    more = len(hindering) - MOST_NAMED
    return f"; {profile} is not: {', '.join(named)}{f' and {more} more' if more > 0 else ''}"


def meaning(report: Report) -> str:
    """Say what the exit code means, and what of it is due to the baseline."""
    if report.exit_code == EXIT_BROKEN and report.stale:
        is_broken = any(verdict.is_broken_must for verdict in report.verdicts)
        return f"{MEANINGS[EXIT_BROKEN]}, and the baseline is stale" if is_broken else "the baseline is stale"
    if report.exit_code == EXIT_KEPT and any(verdict.is_known_must for verdict in report.verdicts):
        return f"{MEANINGS[EXIT_KEPT]}, or known to break"
    return MEANINGS[report.exit_code]


def print_replay(
    report: Report,
    name: str,
    scenario: Scenario,
    console: Console,
    *,
    debug: bool = False,
    asked: Collection[str] = (),
) -> None:
    """Print what one scenario shows: what it breaks, what that speaks of it is kept, what became of the asked."""
    printer = Printer(console)
    line, nearly = in_notation(scenario)
    printer.line((shown(f"{report.description.name} {report.description.version}"), "bold"))
    printer.line("  ", line, (nearly, "dim"))
    for verdict in report.verdicts:
        if verdict.verdict is Verdict.FAIL:
            print_broken(verdict, printer)
    print_diagnoses(report.diagnoses, name, printer, debug=debug)
    printer.line()
    kept = [verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASS]
    if kept or report.diagnoses or any(verdict.verdict is Verdict.FAIL for verdict in report.verdicts):
        printer.paragraph(f"kept here: {', '.join(kept) or 'no rule'}", "")
    else:
        printer.paragraph("nothing was judged: no rule that applies speaks of this thread", "")
    for verdict in report.verdicts:
        if verdict.verdict is Verdict.NOT_APPLICABLE and verdict.rule.id in asked:
            printer.paragraph(f"not applicable: {verdict.rule.id} ({verdict.reason})", "")
    spoken = {verdict.rule.id for verdict in report.verdicts}
    if silent := [rule_id for rule_id in asked if rule_id not in spoken]:
        printer.paragraph(f"does not speak of this thread: {', '.join(silent)}", "")
    meaning = (
        "nothing that was judged here breaks a MUST" if report.exit_code == EXIT_KEPT else MEANINGS[report.exit_code]
    )
    printer.line(f"exit code {report.exit_code}: {meaning}")


def print_rule(rule: AnyRule, console: Console) -> None:
    """Print all that a rule is."""
    printer = Printer(console)
    printer.line((rule.id, "bold"), f"  {rule.level.value}, profile {rule.profile}, {origin_of(rule)}")
    printer.line()
    printer.paragraph(rule.statement, "  ")
    printer.line()
    printer.paragraph(f"Why: {rule.why}", "  ")
    printer.line()
    printer.line("  speaks about  ", "; ".join(rule.situations))
    printer.line("  needs         ", ", ".join(sorted(rule.needs)) or "nothing")
    printer.line("  chapter       ", f"spec/{rule.family}.md")
    printer.line("  checked by    ", f"{rule.relation.__module__}.{rule.relation.__qualname__.partition('.')[0]}")


def print_walk(stages: Sequence[Stage], name: str, console: Console) -> None:
    """Print what came of each stage of a walk, and what to do next; ``name`` is the implementation's."""
    printer = Printer(console)
    for stage in stages:
        said = stage.skipped or ("wrong" if stage.problem else "ok")
        style = {"wrong": "bold red", "ok": "green"}.get(said, "dim")
        beside = f"  breaks {', '.join(stage.broken)}" if stage.broken else ""
        lacks = f"  ({', '.join(stage.undeclared)})" if stage.undeclared else ""
        printer.line("  ", (f"{said:<12}", style), f"  {stage.name}", (lacks, "dim"), (beside, "yellow"))
        if stage.problem:
            printer.paragraph(stage.problem, " " * 16)
        if stage.line and (stage.problem or stage.broken):
            printer.line(" " * 16, (shown(f"again: tercet replay {quote(stage.line)} {as_typed(name)}"), "dim"))
    printer.line()
    wrong = sum(bool(stage.problem) for stage in stages)
    broken = dict.fromkeys(rule for stage in stages for rule in stage.broken)
    if wrong:
        printer.paragraph(f"{counted(wrong, 'stage')} went wrong: mend the first one first", "")
    else:
        driven = f"it can be driven, and breaks {', '.join(broken)}" if broken else "it can be driven"
        printer.paragraph(f"{driven}; which rules it keeps: tercet check {as_typed(name)}", "")


def as_typed(name: str) -> str:
    """Write an implementation's name as it is typed; a command after ``--`` is quoted already."""
    return name if name.startswith("-- ") else quote(name)


def print_all_rules(rules: Sequence[AnyRule], console: Console) -> None:
    """Print a line a rule."""
    printer = Printer(console)
    width = max(len(rule.id) for rule in rules)
    for rule in rules:
        first = rule.statement.split(". ")[0].rstrip(".")
        printer.line((f"{rule.id:<{width}}", "bold"), f"  {rule.level.value:<6}  {rule.profile!s:<7}  ", (first, "dim"))


def origin_of(rule: AnyRule) -> str:
    """Say whose a rule is."""
    return "stated by the source" if rule.origin is Origin.SOURCE else "a decision of ours"

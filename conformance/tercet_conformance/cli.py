"""The subcommands of ``tercet``, their options and their help."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from tempfile import gettempdir
from traceback import format_exc
from typing import Any

import click
from attrs import evolve, frozen
from click.core import ParameterSource
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tercet_conformance import baseline as baselines
from tercet_conformance.files import Saved, ScenarioFileError, read, write, write_wholly
from tercet_conformance.interface import Implementation
from tercet_conformance.interrupts import watched
from tercet_conformance.loading import LoadingError, load
from tercet_conformance.names import near
from tercet_conformance.options import (
    debug_option,
    known_failures,
    known_rule,
    only_option,
    reported_profile,
    writable_file,
    writable_folder,
    writable_reports,
)
from tercet_conformance.replaying import CannotRun, replay
from tercet_conformance.report import print_all_rules, print_replay, print_report, print_rule, print_walk, shown
from tercet_conformance.reports import files as report_files
from tercet_conformance.search import BudgetName
from tercet_conformance.skeletons import SKELETONS, Language, Occupied, write_skeleton
from tercet_conformance.smoke import STAGES, walk
from tercet_conformance.verdicts import (
    EXIT_BROKEN,
    EXIT_FAULT,
    EXIT_INTERRUPTED,
    EXIT_KEPT,
    EXIT_UNDECIDED,
    EXIT_USAGE,
    KnownFailure,
    Report,
)
from tercet_conformance.wire.process import command_text
from tercet_spec.notation import parse, scenario_of
from tercet_spec.reader import NotationError
from tercet_spec.rules import RULES, Profile
from tercet_spec.scenarios import Scenario

SAVED = Path(".tercet")
WIDE = 10_000
"""Columns where the output is no terminal: nothing is broken or cut off."""
EXIT_UNREAD = 141
"""What a shell reports of a program whose output nobody reads on."""
HALF = re.compile(r"\\u(d[89a-f][0-9a-f]{2})")
COMMAND = "tercet.command"
"""Where the command after ``--`` is kept while the command line is read."""
BEFORE, BEHIND = 60, 30
"""How much of a line of notation is shown before the place at fault, and behind it."""


def run(arguments: Sequence[str]) -> int:
    """Run the command with these arguments, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with watched():
            code = tercet.main(list(arguments), "tercet", standalone_mode=False)
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        be_silent()
        return EXIT_UNREAD
    except Exception as error:
        click.echo(f"This is a fault of the suite: {type(error).__name__}: {shown(str(error))}", err=True)
        click.echo(format_exc() if "--debug" in arguments else "--debug shows where it was raised.", err=True)
        return EXIT_FAULT


def be_silent() -> None:
    """Send what is still to be written nowhere, since nobody reads on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Output(Console):
    """A console that goes on in silence where nobody reads on: the exit code is the report's."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, as long as somebody reads; rich before 13.8 has no on_broken_pipe."""
        try:
            super().print(*objects, **options)
        except BrokenPipeError:
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Be silent."""
        self.quiet = True
        be_silent()


def output() -> Console:
    """Make the console of the report: as wide as need be where it is no terminal."""
    return Output() if sys.stdout.isatty() else Output(width=WIDE)


def installed() -> str:
    """Return the version that is installed."""
    try:
        return version("tercet")
    except PackageNotFoundError:
        return "not installed"


class NotFound(click.ClickException):
    """Ends the command where what it was to check cannot be had."""

    exit_code = EXIT_USAGE


class Commanding(click.Command):
    """A command that takes, after ``--``, another one in the place of an implementation's name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what stands after ``--`` as it is."""
        if "--" in args:
            place = args.index("--")
            args, command = args[:place], args[place + 1 :]
            if not command:
                raise click.UsageError(
                    "after -- comes the command of a process that speaks the wire: spec/wire.md", ctx
                )
            ctx.meta[COMMAND] = tuple(command)
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            if COMMAND not in ctx.meta and error.message.startswith("Got unexpected extra argument"):
                raise click.UsageError(f"{error.message}; a process's command stands behind --", ctx) from error
            raise
        if COMMAND in ctx.meta and ctx.get_parameter_source("implementation") is not ParameterSource.DEFAULT:
            raise click.UsageError("name an implementation, or a command after --: one of both", ctx)
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show that a command may stand there."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND ARGS]"]


@frozen
class Chosen:
    """The implementation that the command line names, and how it is named there."""

    name: str
    implementation: Implementation


def chosen(context: click.Context, name: str, *, debug: bool) -> Chosen:
    """Load the implementation that is named, or start the command, or say what is wrong with it."""
    if COMMAND in context.meta:
        name = f"-- {command_text(context.meta[COMMAND])}"
    try:
        with redirect_stdout(sys.stderr):
            return Chosen(name, load(name))
    except LoadingError as error:
        if debug and error.cause is not None:
            click.echo(format_exc(), err=True)
        see = "" if debug or error.cause is None else "; --debug shows where it was raised"
        raise NotFound(shown(f"{error}{see}")) from error


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(installed(), message="tercet %(version)s")
def tercet() -> None:
    """Check how an agent's thread is summarised: when, where it is cut, how long the summary is.

    \b
    tercet check                       the reference, against every rule
    tercet check langchain             LangChain's SummarizationMiddleware
    tercet check langchain-agent       the loop of its create_agent, with middleware of its own
    tercet check langchain-js          LangChain.js's; deepagents-js: that of deepagents
    tercet check my_adapter:Mine       your own code: a module, and what makes the implementation
    tercet check -- node adapter.js    a program of any language that speaks the wire
    tercet replay 'limit 5 keep 3: u a(x) a(y) t(x) t(y) u' langchain
    tercet explain cut.pairs           what a rule says, and why
    """


@tercet.command(cls=Commanding)
@click.argument("implementation", default="reference")
@click.option(
    "--profile",
    type=click.Choice([str(profile) for profile in Profile]),
    callback=reported_profile,
    help="Ask for a profile: the run ends with 3 where a MUST of it is not applicable. All rules are judged as ever.",
)
@click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    default="standard",
    show_default=True,
    help="How many scenarios are run: some hundreds, some thousands, some ten thousands.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same run.")
@only_option
@click.option("--no-saved", is_flag=True, help="Leave out the scenarios that come with the suite: generate all.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    default=SAVED,
    show_default=True,
    callback=writable_folder,
    help="Save counterexamples in this folder.",
)
@click.option(
    "--report",
    "reports",
    type=click.Path(path_type=Path, readable=False),
    multiple=True,
    metavar="FILE",
    callback=writable_reports,
    help=f"Write the report to this file too, which ends in {report_files.ENDINGS}; may be given again.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=known_failures,
    help="Failures that are known, as above: they do not fail the run; one that is gone does.",
)
@debug_option
@click.pass_context
def check(
    context: click.Context,
    implementation: str,
    profile: Profile | None,
    budget: str,
    seed: int,
    only: frozenset[str],
    no_saved: bool,
    save: Path,
    reports: tuple[Path, ...],
    baseline: tuple[KnownFailure, ...],
    debug: bool,
) -> int:
    """Search for threads that break a rule, and shrink what is found.

    IMPLEMENTATION is a bundled name (reference, langchain, langchain-agent, langchain-js,
    deepagents-js) or module:factory, where the factory returns an object with describe() and
    open(configuration, host). After -- stands in its place the command of a program, of any
    language, that speaks the wire (spec/wire.md).

    \b
    tercet check langchain --budget quick           some hundreds of scenarios, in a moment
    tercet check my_adapter:Mine --only cut.pairs   one rule; the module lies in this folder
    tercet check my_adapter:Mine --profile safe     ask for every rule of a profile
    tercet check my_adapter:Mine --seed 7           other scenarios than seed 0's
    tercet check my_adapter:Mine --report tercet.xml --report tercet.md   for CI, and a pull request
    tercet check my_adapter:Mine --baseline known.toml

    \b
    [[known]]                                # an entry of known.toml
    rule = "cut.pairs"
    kind = "bug"                             # or "wont-fix", or "flaky": it may hold as well
    reason = "The cut goes by position."
    link = "https://example.org/issues/7"    # optional
    signature = "left without its call"      # optional: lists only what shows this text

    \b
    Ends with 0 every applicable MUST is kept   1 a MUST is broken   2 wrong usage
              3 a MUST could not be decided     4 the implementation crashed, or a report could not be written
              130 interrupted
    """
    # Hypothesis would keep what it looks up in a folder of its own, here.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(gettempdir()) / "tercet-hypothesis"))
    try:
        from tercet_conformance.check import Plan
        from tercet_conformance.check import check as check_implementation
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise click.UsageError("check needs Hypothesis; install it with: pip install 'tercet[check]'") from error
    found = chosen(context, implementation, debug=debug)
    plan = Plan(budget=budget, seed=seed, only=only, saved=not no_saved, profile=profile)  # type: ignore[arg-type]

    def publish(report: Report) -> int:
        report = with_files(baselines.apply(baseline, report), save)
        broken_off = {scenario: None for _, scenario in report.diagnoses if scenario is not None}
        saved = {scenario: path for scenario in broken_off if (path := save_in(save, scenario))}
        lost = False
        for file in reports:  # before printing, which a second Ctrl-C may end
            try:
                report_files.write(report, file, found.name, saved)
            except OSError as error:
                click.echo(f"no report in {shown(str(file))}: {shown(error.strerror or str(error))}", err=True)
                lost = True
        print_report(report, found.name, output(), debug=debug, saved=saved)
        return EXIT_FAULT if lost and report.exit_code in (EXIT_KEPT, EXIT_UNDECIDED) else report.exit_code

    abandon = abandoned(publish)
    try:
        with own_streams(), progress_bar() as advance:
            report = check_implementation(found.implementation, plan, advance, abandon)
    except LoadingError as error:
        raise NotFound(shown(str(error))) from error
    return publish(report)


@contextmanager
def own_streams() -> Iterator[None]:
    """Let an implementation print to stderr; whatever it puts in the streams' place, they are ours again."""
    with redirect_stderr(sys.stderr), redirect_stdout(sys.stderr):
        yield


def abandoned(publish: Callable[[Report], int]) -> Callable[[Report], None]:
    """Make what reports and ends the process where an implementation lets nobody end a call of it."""
    stdout = sys.stdout

    def abandon(report: Report) -> None:
        code = report.exit_code
        try:
            sys.stdout = stdout
            Console(stderr=True).show_cursor()
            code = publish(report)
            stdout.flush()
        finally:
            os._exit(code)

    return abandon


def with_files(report: Report, folder: Path) -> Report:
    """Write every counterexample to a file of its own."""
    verdicts = []
    for verdict in report.verdicts:
        examples = tuple(
            evolve(example, saved=save_in(folder, example.scenario, verdict.rule.id))
            for example in verdict.counterexamples
        )
        verdicts.append(evolve(verdict, counterexamples=examples))
    return evolve(report, verdicts=tuple(verdicts))


def save_in(folder: Path, scenario: Scenario, rule: str | None = None) -> str | None:
    """Write a scenario to a file; one that cannot be written costs nobody the report. Git is told to leave ours out."""
    try:
        if folder == SAVED and not folder.exists():
            folder.mkdir()
            (folder / ".gitignore").write_text("*\n")
        return str(write(Saved(scenario, rule), folder))
    except OSError as error:
        click.echo(f"not saved: {shown(str(error))}", err=True)
        return None


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show how far a run is, on a terminal; elsewhere nothing."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("")
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


@tercet.command("selftest")
@click.option("--power", type=click.IntRange(1, 1000), default=1, show_default=True, metavar="N", help="So many seeds.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--budget",
    type=click.Choice(["quick", "standard", "thorough"]),
    default="standard",
    show_default=True,
    help="How many scenarios are run until a fault counts as missed.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="ENTRY|KIND",
    help="Measure only this entry of the gallery, or this kind: wrong, right, null or guard; again for more.",
)
@click.option("--saved", is_flag=True, help="Run the scenarios that come with the suite first, as a check does.")
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=writable_file,
    help="Write the table to this file, as Markdown; with saved scenarios, and by the machines alone, too.",
)
@click.option("--debug", is_flag=True, help="Show the suite's own tracebacks.")
def selftest_command(
    power: int, seed: int, budget: BudgetName, only: tuple[str, ...], saved: bool, table: Path | None, debug: bool
) -> int:
    """Check the check: what it catches of the wrong implementations in the gallery, and whom it blames.

    A wrong one is caught where its own rule breaks. The null ones do nothing: what they pass is the floor
    under every verdict. The right ones must never be blamed.

    \b
    tercet selftest                          all of the gallery, with one seed
    tercet selftest --only cuts-anywhere     one entry of it
    tercet selftest --only wrong --power 30 --table power.md   thirty seeds, and the table as a file
    tercet selftest --only right --power 40                    100 000 scenarios of each right one

    \b
    Ends with 0 all is caught and nothing right is blamed   1 a miss, a false alarm, or more than the floor
              2 wrong usage                                 130 interrupted, after what was measured
    """
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(gettempdir()) / "tercet-hypothesis"))
    try:
        from tercet_conformance import selftest
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise click.UsageError("selftest needs Hypothesis; install it with: pip install 'tercet[check]'") from error
    from tercet_conformance.selftest_tables import markdown, print_measurement

    kinds: dict[str, list[str]] = {}
    for entry in selftest.MEASURED:
        kinds.setdefault(entry.kind, []).append(entry.name)
    names = [entry.name for entry in selftest.MEASURED]
    chosen: set[str] = set()
    for name in only:
        if name not in (*names, *kinds):
            kinds_are = f"the kinds are {', '.join(kinds)}; {near(name, [*kinds, *names], 'a run without --only')}"
            raise click.BadParameter(
                f"no entry or kind that is measured is named {name!r}; {kinds_are}", param_hint="'--only'"
            )
        chosen.update(kinds.get(name, [name]))

    def run_all(*, with_saved: bool, machines: bool) -> tuple[selftest.Measurement, bool]:
        seeds = min(power, selftest.MACHINE_SEEDS) if machines else power
        tasks = selftest.tasks(
            range(seed, seed + seeds),
            budget,
            saved=with_saved,
            machines=machines,
            only=frozenset(chosen),
        )
        results: list[selftest.Catch | selftest.Floor | selftest.Alarms] = []
        try:
            with progress_bar() as advance:
                for result in selftest.measured(tasks, os.cpu_count() or 1):
                    results.append(result)
                    advance(tasks[len(results) - 1].entry, len(results), len(tasks))
        except KeyboardInterrupt:
            return selftest.gathered(results), True
        return selftest.gathered(results), False

    measured, interrupted = run_all(with_saved=saved, machines=False)
    print_measurement(measured, output())
    if interrupted:
        return EXIT_INTERRUPTED
    if table is not None:
        others = [run_all(with_saved=True, machines=False), run_all(with_saved=False, machines=True)]
        if any(broken_off for _, broken_off in others):
            return EXIT_INTERRUPTED
        words = [*(f"--only {name}" for name in only), f"--power {power}", f"--table {table.name}"]
        command = f"tercet selftest {' '.join(words)}"
        write_wholly(markdown(measured, others[0][0], others[1][0], command), table)
    return EXIT_KEPT if measured.is_good else EXIT_BROKEN


@tercet.command("smoke", cls=Commanding)
@click.argument("implementation", default="reference")
@debug_option
@click.pass_context
def smoke_command(context: click.Context, implementation: str, debug: bool) -> int:
    """Walk an implementation through one thread of each kind that it declares, and say what is wrong.

    For a new adapter: nothing is searched. What goes wrong is no broken rule, but what keeps the
    suite from driving it; rules that break all the same are named.

    \b
    tercet smoke -- node adapter.js
    tercet smoke my_adapter:Mine

    \b
    Ends with 0 it can be driven   2 wrong usage, or it does not introduce itself   4 something went wrong
    """
    found = chosen(context, implementation, debug=debug)
    stages = []
    with own_streams(), progress_bar() as advance:
        for each in walk(found.implementation):
            stages.append(each)
            advance(each.name, len(stages), len(STAGES) + 2)
    print_walk(stages, found.name, output())
    return EXIT_FAULT if any(each.problem for each in stages) else EXIT_KEPT


@tercet.command("init")
@click.option("--language", type=click.Choice(list(SKELETONS)), required=True, help="What the adapter is written in.")
@click.argument("folder", type=click.Path(path_type=Path), default=".", callback=writable_folder)
def init_command(language: Language, folder: Path) -> int:
    """Write a working adapter to fill with your own summarizer, into FOLDER (here, if none is named).

    \b
    tercet init --language js my-adapter
    """
    try:
        for path in write_skeleton(language, folder):
            click.echo(f"wrote {shown(str(path))}")
    except Occupied as error:
        raise click.UsageError(shown(str(error))) from error
    except OSError as error:
        raise click.UsageError(f"{shown(str(folder))}: {error.strerror or error}") from error
    click.echo(f"next: cd {quote(str(folder))} && tercet smoke {SKELETONS[language].implementation}")
    return EXIT_KEPT


@tercet.command("replay", cls=Commanding)
@click.argument("scenario")
@click.argument("implementation", default="reference")
@only_option
@debug_option
@click.pass_context
def replay_command(
    context: click.Context, scenario: str, implementation: str, only: frozenset[str], debug: bool
) -> int:
    """Run one scenario, and judge it by every rule that speaks of it.

    SCENARIO is a file that check saved, or a line of notation:

    \b
    tercet replay .tercet/cut.pairs-0123456789.json langchain
    tercet replay 'limit 5 keep 3: u a(x) a(y) t(x) t(y) u' langchain

    \b
    limit 5 keep 3    fire past five messages, keep the last three
    u a s             a user's, an assistant's, a system message
    a(x,y) t(x)       an assistant's with two tool calls, the result of call x
    step              a model step between messages; one more is taken at the end
    """
    saved = read_scenario(scenario)
    rules = [rule for rule in RULES if not only or rule.id in only]
    rules.sort(key=lambda rule: rule.id != saved.rule)
    file = scenario if is_file(scenario) else None
    asked = [rule.id for rule in rules if rule.id in only or rule.id == saved.rule]

    found = chosen(context, implementation, debug=debug)

    def publish(report: Report) -> int:
        print_replay(report, found.name, saved.scenario, output(), debug=debug, asked=asked)
        return report.exit_code

    abandon = abandoned(publish)
    try:
        with own_streams():
            report = replay(found.implementation, saved.scenario, rules, file, abandon)
    except CannotRun as error:
        click.echo(f"{found.name}: {error}", err=True)
        return EXIT_UNDECIDED
    except LoadingError as error:
        raise NotFound(shown(str(error))) from error
    return publish(report)


def is_file(scenario: str) -> bool:
    """Tell a file's name from a line of notation."""
    try:
        return scenario.endswith(".json") or Path(scenario).exists()
    except OSError:  # a line is too long for a name
        return False


def read_scenario(scenario: str) -> Saved:
    """Read a scenario from a file or from a line of notation, where half a character may be written as it is shown."""
    if not is_file(scenario):
        scenario = HALF.sub(lambda half: chr(int(half[1], 16)), scenario)
    try:
        return read(Path(scenario)) if is_file(scenario) else Saved(scenario_of(parse(scenario)))
    except ScenarioFileError as error:
        raise click.UsageError(shown(str(error))) from error
    except NotationError as error:
        if not any(map(str.isspace, scenario)):
            raise click.UsageError(
                f"{shown(scenario)} is no file, and no line of notation, such as 'limit 5 keep 3: u a(x) t(x) u'"
            ) from error
        raise click.UsageError(pointed_at(error)) from error


def pointed_at(error: NotationError) -> str:
    """Show the place in a line of notation that does not parse."""
    start, end = max(0, error.place - BEFORE), error.place + BEHIND
    before = ("…" if start else "") + shown(error.line[start : error.place])
    behind = shown(error.line[error.place : end]) + ("…" if end < len(error.line) else "")
    return f"{error.problem}\n  {before}{behind}\n  {' ' * cell_len(before)}^"


@tercet.command()
@click.argument("rule", required=False)
def explain(rule: str | None) -> None:
    """Say what a rule demands, why, and what checks it; without RULE, list all rules.

    \b
    tercet explain
    tercet explain cut.reaches
    """
    if rule is None:
        print_all_rules(RULES, output())
    else:
        print_rule(known_rule(rule), output())

"""A process is driven as an implementation in this process is, and what is said is what the chapter says."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from processes import is_running
from tercet_conformance import cli, loading, suite
from tercet_conformance.check import Plan, check
from tercet_conformance.driver import Run, run
from tercet_conformance.gallery import BY_NAME, ENTRIES, Entry
from tercet_conformance.limits import Limits
from tercet_conformance.search import BUDGETS, Budget, generated_loops
from tercet_conformance.verdicts import Report, Verdict
from tercet_conformance.wire import schema
from tercet_conformance.wire.lines import object_of, read_fast, read_strictly
from tercet_conformance.wire.process import Process
from tercet_conformance.wire.remote import Remote
from tercet_spec import vocabulary, wire
from tercet_spec.agents import Agent, Middleware, Tool
from tercet_spec.judgement import findings
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID
from tercet_spec.scenarios import Answer, Move, Resume, RunAgent, Scenario, Script
from tercet_spec.trace import RunEnded
from tercet_spec.vocabulary import Message, ToolCall

SPEC = Path(__file__).parents[1] / "spec"
SCHEMA = SPEC / "tercet_spec" / "schemas" / "wire.json"
CONVERSATION = "limit 3 keep 1: u a(x) t(x) u step"
CALLS_A_TOOL = (Answer(Message("assistant", calls=(ToolCall("x", "look", '{"q": "m1z"}'),))),)
QUIET = scenario_of(parse("limit 100 keep 1:")).configuration
TURN = Scenario(
    QUIET,
    (
        RunAgent(
            Message("user", "m1z"),
            (
                Script(
                    "notes",
                    "wrap_model",
                    (Move("next", "be brief"), Move("return", update=(vocabulary.Entry("seen", "1"),))),
                ),
            ),
            answers=CALLS_A_TOOL,
        ),
    ),
    Agent((Middleware("notes", ("wrap_model",), ("seen",)),), (Tool("look", ("q",)),)),
)
"""One run: a wrapper that adds a note and calls next, a tool call, a second model step."""
ASKED = (
    'stack a(wrap_tool): run[a.wrap_tool ask "it costs" ask "it writes", model look(x)+look(y)] resume[approve deny]'
)
WAITING = Scenario(
    QUIET,
    scenario_of(parse(ASKED)).operations,
    Agent((Middleware("a", ("wrap_tool",), ("own",)),), (Tool("look", ("q",)),)),
)
"""A run that waits for the approval of two calls, and goes on."""
WHOLE_TURN = Scenario(
    QUIET,
    (
        RunAgent(
            Message("user", "m1z"),
            (
                Script("a", "before_agent", (Move(text="changed", update=(vocabulary.Entry("seen", "\ud83d"),)),)),
                Script("a", "section", (Move(text="Be brief."),)),
                Script("a", "wrap_model", (Move("ask"), Move("next"))),
                Script("b", "wrap_model", (Move("next", tools=("look",)), Move("next"), Move("return", "said"))),
                Script("a", "wrap_tool", (Move("ask"),)),
            ),
            answers=(Answer(failure="failed"), *CALLS_A_TOOL),
        ),
        Resume("yes"),
        Resume(approved=(True,)),
        RunAgent(Message("user", "m2z"), (Script("b", "after_agent", (Move("fail"),)),)),
        RunAgent(Message("user", "m3z"), (Script("a", "section", (Move("fail"),)),)),
    ),
    Agent(
        (
            Middleware("a", ("before_agent", "section", "wrap_model", "wrap_tool"), ("seen",), asks=True),
            Middleware("b", ("wrap_model", "after_agent")),
        ),
        (Tool("look", ("q",)),),
        "You are careful.",
    ),
)
"""Every hook, a question and a call that waits, a run that is blocked and one that fails."""
SERVE = "from tercet_conformance.gallery import BY_NAME; from tercet_conformance.wire.server import serve; "
DRIVEN = [entry for entry in ENTRIES if entry.kind in ("wrong", "right", "null", "guard")]
SHELF = """
import sys
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.wire.server import Line, Server
class UntilAnEmptyLine(Line):
    def read(self):
        return super().read() if self.reading.peek(1)[:1] == b"{" else None
line = UntilAnEmptyLine(sys.stdin.buffer, sys.stdout.buffer)
while name := line.reading.readline().decode().strip():
    Server(BY_NAME[name].make(), line).serve()
    line.reading.readline()
"""

RAISING = """
from tercet_conformance.gallery.plain_loop import PlainLoop, PlainLoopImplementation
from tercet_spec.agents import Response
class Raises(PlainLoop):
    def ask_model(self, request):
        return Response(self.host.ask_model(request))
    def look_for_a_block(self, passed):
        if passed.blocked:
            raise PermissionError("blocked")
    def store_result(self, call, result):
        raise KeyError(call.name)
    def resume(self, reply, approved):
        raise TimeoutError(reply)
made = PlainLoopImplementation("raises", Raises)
"""
"""A loop that lets pass what the model raises, raises where the input is blocked, and where a result is stored."""


def served(name: str) -> Remote:
    return Remote([sys.executable, "-c", f"{SERVE}serve(BY_NAME[{name!r}].make())"])


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All lines that are written and read, as the chapter shows them."""
    lines: list[str] = []
    write, read = Process.write, Process.read

    def noted_write(self: Process, line: bytes) -> None:
        lines.append(f"> {line.decode().strip()}")
        write(self, line)

    def noted_read(self: Process) -> bytes:
        line = read(self)
        lines.append(f"< {line.decode().strip()}")
        return line

    monkeypatch.setattr(Process, "write", noted_write)
    monkeypatch.setattr(Process, "read", noted_read)
    return lines


def blocks(language: str) -> list[str]:
    chapter = (SPEC / "wire.md").read_text("utf-8")
    return [each.partition("```")[0] for each in chapter.split(f"```{language}\n")[1:]]


@pytest.mark.parametrize(
    ("place", "name", "scenario", "left_out"),
    [
        (0, "declares-little", scenario_of(parse(CONVERSATION)), 0),
        (1, "runs-hooks", TURN, 0),
        (2, "runs-hooks", WAITING, 2),
    ],
    ids=["of a step", "of a run", "of a run that waits"],
)
def test_a_conversation_in_the_chapter_is_what_is_said(
    place: int, name: str, scenario: Scenario, left_out: int, said: list[str]
) -> None:
    remote = served(name)
    ran = run(remote, remote.describe(), scenario)
    remote.close()
    assert ran.diagnosis is None
    shown = blocks("wire")[place]
    assert [meaning(line) for line in shown.strip().split("\n")] == [meaning(line) for line in said[left_out:]]


def meaning(line: str) -> tuple[str, Any]:
    """Who says what: what has its default, or is empty, is left out."""
    return line[0], filled(json.loads(line[2:]))


def filled(value: Any) -> Any:
    if isinstance(value, list):
        return [filled(each) for each in value]
    if not isinstance(value, dict):
        return value
    defaults: tuple[Any, ...] = (None, 0, "", [], "code point", "fails")
    return {name: filled(each) for name, each in value.items() if each not in defaults}


def test_the_published_schema_is_made_from_the_types() -> None:
    published = json.loads(SCHEMA.read_text("ascii"))
    assert published == json.loads(json.dumps(schema.schema()))
    Draft202012Validator.check_schema(published)


def test_all_that_is_said_is_as_the_schema_says(said: list[str]) -> None:
    remote = served("lazy")
    for line in (
        CONVERSATION,
        "limit 4 keep 0: u",
        "limit 4 keep 2 system: turn u a(-) u checkpoint[x] step[S fails, note u] a(x) u step[pending x] restore[x]",
        "limit 4 keep 2: turn u a u a u step blocked u edit[1] configure[limit 9] u a u kept",
    ):
        assert run(remote, remote.describe(), scenario_of(parse(line))).diagnosis is None
    remote.close()
    remote = served("runs-hooks")
    for scenario in (TURN, WHOLE_TURN):
        assert run(remote, remote.describe(), scenario).diagnosis is None
    remote.close()
    shown = [f"< {line}" for block in blocks("json") for line in block.strip().split("\n")]
    for line in (*said, *shown):
        told = json.loads(line[2:])
        part = "FromSuite" if line.startswith("> ") or "call" in told else "FromProcess"
        validator = Draft202012Validator({**schema.schema(), "anyOf": [{"$ref": f"#/$defs/{part}"}]})
        assert [error.message for error in validator.iter_errors(told)] == [], line
    told_of = [json.loads(line[2:]) for line in said]
    assert {told["call"] for told in told_of if "call" in told} == set(wire.CALLS)
    assert {told["question"] for told in told_of if "question" in told} == set(wire.QUESTIONS)


@pytest.mark.parametrize(
    "line", ['{"id": 3}', '{"ask": 1, "session": 1, "question": "embed"}', '{"id": "3", "raised": "x"}', "[]"]
)
def test_the_schema_refuses_what_the_suite_refuses(line: str) -> None:
    validator = Draft202012Validator({**schema.schema(), "anyOf": [{"$ref": "#/$defs/FromProcess"}]})
    assert not validator.is_valid(json.loads(line))


NUMBERS = ["9007199254740992", "9007199254740993", "[1,-9007199254740993]", "1e400", "1E2", "-0", "1.0"]
VALUES = [*NUMBERS, "NaN", "12", "null", '"\\ud83d"', '"é"', '"1234567890123456"', '{"b":1,"b":2}', '{"b":1,"c":2}']
SPACES = ["", " "]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(SPACES), st.sampled_from(VALUES)), max_size=3))
def test_what_is_read_fast_is_what_is_read_strictly(fields: list[tuple[str, str, str]]) -> None:
    line = "{" + ",".join(f'"{name}":{space}{value}' for name, space, value in fields) + "}\n"
    found = read_fast(line.encode())
    assert found is None or repr(found) == repr(read_strictly(line.encode()))


@pytest.mark.parametrize("value", ["12", "[]", '"é"', '{"b":1,"c":null}'])
def test_a_line_as_it_is_written_here_is_read_fast(value: str) -> None:
    assert read_fast(f'{{"a":{value}}}\n'.encode()) == {"a": json.loads(value)}


MESSAGES = st.lists(st.sampled_from([Message("user", text) for text in "abc"]), max_size=6).map(tuple)


@given(MESSAGES, MESSAGES)
def test_a_splice_makes_the_one_list_the_other(before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
    splice = wire.splice_of(before, after)
    assert wire.spliced(before, splice) == after
    assert len(splice.add) + splice.keep <= len(after)
    if before[:1] == after[:1] != ():
        assert splice.keep > 0


@pytest.mark.parametrize("splice", [wire.Splice(4), wire.Splice(-1), wire.Splice(1, (), 3), wire.Splice(1, (), -1)])
def test_a_splice_of_more_than_there_is_is_refused(splice: wire.Splice) -> None:
    with pytest.raises(ValueError, match="of 3 messages"):
        wire.spliced((Message("user"),) * 3, splice)


def test_a_message_at_the_end_is_sent_alone() -> None:
    before = tuple(Message("user", str(number)) for number in range(50))
    new = Message("user", "new")
    assert wire.splice_of(before, (*before, new)) == wire.Splice(50, (new,))
    assert wire.splice_of(before, before[:20]) == wire.Splice(20)
    assert wire.splice_of(before, (*before[:20], new, *before[21:])) == wire.Splice(20, (new,), 1)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"id": 1, "raised": "a\u2028b\u2029c"}'.encode(), "a\u2028b\u2029c"),
        (b'{"id": 1, "raised": "a\\u2028b"}\r\n', "a\u2028b"),
        (b'{"id": 1, "raised": "\\ud83d"}', "\ud83d"),
        ('{"id": 1, "raised": "😀", "later": 1.5}'.encode(), "😀"),
    ],
)
def test_a_line_may_be_written_so(line: bytes, text: str) -> None:
    assert object_of(line)["raised"] == text


class Shelf(Process):
    """All that is driven in one process, an entry until an empty line, then the next: Python is slow to start."""

    def begin(self, command: Sequence[str]) -> Process:
        self.write(f"{command[-1]}\n".encode())
        return self

    def end(self) -> None:
        self.write(b"\n")

    def finish(self) -> None:
        """Go on: the next entry comes."""


@pytest.fixture(scope="module")
def shelf() -> Iterator[Shelf]:
    process = Shelf([sys.executable, "-c", SHELF])
    yield process
    Process.finish(process)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """All that a check runs."""
    noted: list[Run] = []

    def noted_run(*asked: Any) -> Run:
        noted.append(run(*asked))
        return noted[-1]

    monkeypatch.setattr(suite, "run", noted_run)
    return noted


@pytest.mark.parametrize("entry", DRIVEN, ids=lambda entry: entry.name)
def test_over_a_pipe_a_check_sees_and_says_what_it_does_in_process(
    entry: Entry, shelf: Shelf, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tercet_conformance.wire.remote.Process", shelf.begin)
    monkeypatch.setitem(BUDGETS, "quick", Budget(10, 1, 1, loops_enough_for(entry)))
    plan = Plan("quick", seed=3, only=frozenset({entry.rule} if entry.rule else ()), shrinks=1)
    here = check(entry.make(), plan)
    seen = list(runs)
    runs.clear()
    assert judged(check(Remote([entry.name]), plan)) == judged(here)
    assert runs == seen != []
    if entry.rule:
        (verdict,) = here.verdicts
        assert verdict.verdict is Verdict.FAIL
        assert verdict.counterexamples


def loops_enough_for(entry: Entry) -> int:
    """Count the loops that are generated until one breaks the rule of a wrong one; of a right one some will do."""
    implementation = entry.make()
    description = implementation.describe()
    if entry.rule is None or not entry.rule.startswith("hooks."):
        return 12
    for number, scenario in enumerate(generated_loops(description.capabilities, 1500, 3), 1):
        if any(findings(run(implementation, description, scenario).trace, (BY_ID[entry.rule],))):
            return number
    raise AssertionError(f"nothing that is generated shows the fault of {entry.name}")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "quick", Budget(30, 2, 2, 30))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "name",
    [
        *("cuts-anywhere", "never-stored", "lazy", "sends-nothing", "reference-in-utf8-bytes"),
        *("last-outermost", "keeps-what-failed", "reference-by-loop"),
    ],
)
def test_and_so_does_one_of_every_rule_in_a_process_of_its_own(name: str) -> None:
    plan = Plan("quick", seed=3, saved=False, shrinks=2)
    assert judged(check(served(name), plan)) == judged(check(BY_NAME[name].make(), plan))


def judged(report: Report) -> list[object]:
    """What a report says, timings aside."""
    verdicts = [(v.rule.id, v.verdict, v.reached, v.counterexamples, v.reason) for v in report.verdicts]
    return [report.description, report.scenarios, report.steps, verdicts, [d.problem for d, _ in report.diagnoses]]


@pytest.mark.parametrize(
    ("asked", "ends"),
    [
        (
            RunAgent(Message("user", "m1z"), (Script("notes", "wrap_model", (Move("ask"),)),)),
            "operation 2 (resume): raised TimeoutError: yes",
        ),
        (RunAgent(Message("user", "m1z"), answers=(Answer(failure="failed"),)), "failed"),
        (RunAgent(Message("user", "m1z"), answers=(Answer(failure="cancelled"),)), "cancelled"),
        (RunAgent(Message("user", "m1z"), (Script("notes", "before_agent", (Move("fail"),)),)), "failed"),
        (RunAgent(Message("user", "m1z"), answers=CALLS_A_TOOL), "operation 1 (run_agent): raised KeyError: 'look'"),
    ],
    ids=["going on", "the model failed", "cancelled", "blocked", "of its own"],
)
def test_what_is_raised_within_a_run_ends_it_as_it_does_in_process(asked: RunAgent, ends: str) -> None:
    made: dict[str, Any] = {}
    exec(RAISING, made)
    remote = Remote([sys.executable, "-c", f"{RAISING}{SERVE}serve(made)"])
    middleware = Middleware("notes", ("before_agent", "wrap_model"), asks=True)
    scenario = Scenario(QUIET, (asked, Resume()), Agent((middleware,), (Tool("look"),)))
    ran = run(remote, remote.describe(), scenario)
    remote.close()
    assert ran == run(made["made"], remote.describe(), scenario)
    last = ran.trace.events[-1]
    seen = f"{ran.diagnosis.operation}: {ran.diagnosis.problem}" if ran.diagnosis else last
    assert ends == (seen.outcome if isinstance(seen, RunEnded) else seen)


def test_a_request_is_said_as_what_became_of_the_one_that_the_same_wrapper_was_shown(said: list[str]) -> None:
    scripts = (Script("a", "wrap_model", (Move("next", "a note"),)),)
    runs_of = tuple(RunAgent(Message("user", f"m{number}z"), scripts) for number in range(1, 30))
    stack = (Middleware("a", ("wrap_model",)), Middleware("s", summarizes=True), Middleware("b", ("wrap_model",)))
    configuration = scenario_of(parse("limit 5 keep 2:")).configuration
    remote = served("runs-hooks")
    ran = run(remote, remote.describe(), Scenario(configuration, runs_of, Agent(stack)))
    remote.close()
    assert ran.diagnosis is None
    told_of = [json.loads(line[2:]) for line in said]
    asked = [told["request"]["messages"] for told in told_of if told.get("question") in ("wrap_model", "ask_model")]
    answered = [told["answered"]["request"]["messages"] for told in told_of if told.get("answered", {}).get("request")]
    assert max(len(splice["add"]) for splice in (*asked, *answered)) <= 6
    assert max(splice["keep"] for splice in asked) > 50


def returning(introduction: str) -> str:
    """Write a command of a shell that returns from the first call."""
    return f"read line; echo '{{\"id\": 1, {introduction}}}'"


SHELL = '"returned": {"wire": 1, "name": "x", "version": "1", "language": "sh", "capabilities": [CAPABILITIES]}'
BAD_COMMANDS = {
    "tercet-nosuch-command": "it cannot be started: No such file or directory; is it installed",
    "exit 3": "the process ended with code 3; it wrote nothing to stderr",
    "echo no licence >&2; exit 1": "the process ended with code 1; the last lines of its stderr: no licence",
    "read line; echo hello": "'hello', which is not JSON",
    returning('"returned": {"wire": 2}'): "it speaks version 2 of the wire; this release speaks version 1",
    returning('"raised": "no model"'): "raised no model",
    returning('"returned": {"wire": 1}'): "Object missing required field `name`",
    returning(SHELL.replace("CAPABILITIES", '"fly"')): "Invalid enum value 'fly' - at `$.capabilities[0]`; there are: ",
    returning(SHELL.replace("CAPABILITIES", '"token_trigger"')): "; did you mean token-trigger or message-trigger?",
    returning(
        SHELL.replace("CAPABILITIES", '"notes"')
    ): "introduces itself with neither the capability message-trigger",
    returning('"returned": {"wire": "1"}'): '"wire" is "1"; it is a whole number, here 1',
    "read line; printf 'caf\\351\\n'": "which is not UTF-8 at byte 4; write UTF-8, or ASCII with escapes",
}


@pytest.mark.parametrize("command", BAD_COMMANDS)
def test_a_command_that_does_not_introduce_itself_is_said_to(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sh", "-c", command] if " " in command else [command]
    assert cli.run(["check", "--", *words]) == 2
    err = capsys.readouterr().err
    assert BAD_COMMANDS[command] in err
    assert err.startswith("Error: ")
    assert err.count(shlex.join(words)) == 1
    assert ("it was asked to introduce itself" in err) == (len(words) > 1 and "introduces itself" not in err)


def test_a_handshake_without_an_end_is_broken_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loading, "Limits", partial(Limits, 0.3))
    assert cli.run(["check", "--", "sleep", "3600"]) == 2
    err = capsys.readouterr().err
    assert "sleep 3600" in err
    assert "hangs: hello did not return in time; it wrote nothing to stderr" in err


def test_a_name_and_a_command_are_one_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "langchain", "--", "node", "adapter.js"]) == 2
    assert "one of both" in capsys.readouterr().err
    assert cli.run(["check", "--"]) == 2
    assert "after -- comes the command" in capsys.readouterr().err


def test_a_counterexample_over_the_wire_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", f"{SERVE}serve(BY_NAME['cuts-anywhere'].make())"]
    asked = ["--budget", "quick", "--only", "cut.pairs", "--save", str(tmp_path)]
    assert cli.run(["check", *asked, "--", *command]) == 1
    out = capsys.readouterr().out
    (line,) = {line.partition(": ")[2] for line in out.splitlines() if "To see one again" in line}
    assert line.endswith("-- " + shlex.join(command))
    for file in tmp_path.glob("cut.pairs-*.json"):
        assert cli.run(["replay", str(file), "--", *command]) == 1
        assert "cut.pairs is broken" in capsys.readouterr().out


def test_a_command_is_a_name_too() -> None:
    command = [sys.executable, "-c", f"{SERVE}serve(BY_NAME['lazy'].make())"]
    remote = loading.load(f"-- {shlex.join(command)}")
    assert isinstance(remote, Remote)
    assert (remote.command, remote.describe()) == (tuple(command), BY_NAME["lazy"].make().describe())
    assert remote.process is not None
    child = remote.process.popen.pid
    del remote
    assert not is_running(child)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    told = tmp_path / "id"
    noting = f"import os; open({str(told)!r}, 'w').write(str(os.getpid())); "
    command = [sys.executable, "-c", f"{noting}{SERVE}serve(BY_NAME['lazy'].make())"]
    suite = subprocess.Popen(
        [sys.executable, "-m", "tercet_conformance", "check", "--save", str(tmp_path), "--", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    child = int(within(30, lambda: told.exists() and told.read_text()))
    time.sleep(1)
    suite.send_signal(number)
    suite.wait(60)
    within(10, lambda: not is_running(child))


def within(seconds: float, find: Any) -> Any:
    """Wait until something is there."""
    end = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found

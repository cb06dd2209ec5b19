"""The command, as a person uses it: what it prints, where, and how it ends."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tercet_conformance import cli, command, loading, options
from tercet_conformance.files import Saved, read, write
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import RULES

STRANDED = "limit 5 keep 3: u a(x) a(y) t(x) t(y) u"
QUICK = ("--budget", "quick", "--only", "send.system-first")
ROOT = Path(__file__).parent.parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("spec", "reference", "conformance", "tests")),
}
COMMAND = [sys.executable, "-m", "tercet_conformance.command"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Ended:
    """How a command ended."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = cli.run(arguments)
        self.out, self.err = capsys.readouterr()


def run(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env={**ENVIRONMENT, **options}, check=False
    )


def test_the_reference_is_checked_by_default(folder: Path) -> None:
    done = run("check", "--budget", "quick")
    assert done.returncode == 0
    assert all(f" {rule.id} " in done.stdout for rule in RULES)
    assert "profile kept: durable" in done.stdout
    assert done.stderr == ""
    assert list(folder.iterdir()) == []


def test_a_broken_rule_is_saved_and_its_file_replays(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    ended = Ended(capsys, "check", "stand_ins:dropping", *QUICK, "--save", "threads")
    assert ended.code == 1
    files = list((folder / "threads").iterdir())
    assert files
    assert all(read(file).rule == "send.system-first" for file in files)
    (command,) = re.findall(r"tercet (replay .*)$", ended.out, re.MULTILINE)
    again = Ended(capsys, *command.split(" "))
    assert again.code == 1
    assert "send.system-first is broken" in again.out
    assert Ended(capsys, "replay", str(files[0])).code == 0


def test_the_same_seed_gives_the_same_report_but_for_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    def report(seed: str) -> str:
        ended = Ended(capsys, "check", "stand_ins:dropping", *QUICK, "--seed", seed)
        return re.sub(r"in [\d.]+ s", "", ended.out)

    assert report("4") == report("4")
    assert report("4") != report("5")


def test_what_an_implementation_prints_is_not_in_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["check", "stand_ins:chatty", *QUICK], ["replay", STRANDED, "stand_ins:chatty"]):
        ended = Ended(capsys, *arguments)
        assert ended.code == 0
        assert "a factory talks" in ended.err
        assert "a step talks" in ended.err
        assert "talks" not in ended.out


def test_a_crash_is_a_diagnosis_with_a_traceback_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    ended = Ended(capsys, "check", "stand_ins:raising", *QUICK)
    assert ended.code == 4
    assert "raised RuntimeError: tools are not supported" in ended.out
    assert "Traceback" not in ended.out + ended.err
    assert "Traceback" in Ended(capsys, "check", "stand_ins:raising", *QUICK, "--debug").out


def test_why_a_factory_failed_is_shown_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    told = Ended(capsys, "check", "stand_ins:failing").err
    assert "Traceback" not in told
    assert told.endswith("no licence; --debug shows where it was raised\n")
    shown = Ended(capsys, "check", "stand_ins:failing", "--debug")
    assert shown.code == 2
    assert "in failing" in shown.err


def test_a_profile_that_is_not_wholly_applicable_ends_with_three(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langchain", reason="langchain is not installed")
    only = ("--only", "bound.sent", "--budget", "quick")
    assert Ended(capsys, "check", "langchain", *only).code == 0
    assert Ended(capsys, "check", "langchain", *only, "--profile", "bounded").code == 3


def test_git_leaves_out_what_is_saved_of_itself_and_nothing_else(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    broken = ("check", "stand_ins:dropping", "--budget", "quick", "--only", "send.system-first")
    assert Ended(capsys, *broken).code == 1
    assert (folder / ".tercet" / ".gitignore").read_text() == "*\n"
    assert Ended(capsys, *broken, "--save", "threads").code == 1
    assert not (folder / "threads" / ".gitignore").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "langchian"], "did you mean langchain or langchain-js or langchain-agent?"),
        (["check", "nonesuch:Mine"], "cannot import nonesuch"),
        (["check", "stand_ins:droping"], "did you mean dropping"),
        (["check", "stand_ins:failing"], "raised RuntimeError: no licence"),
        (["check", "stand_ins:NOT_CALLABLE"], "cannot be called"),
        (["check", "--only", "cuts"], "did you mean"),
        (["check", "--only", "xyz"], "there are 59, which tercet explain lists"),
        (["check", "--only", "cut.pair"], "there is no rule 'cut.pair'; did you mean cut.pairs"),
        (["check", "--seed", "-1"], "-1 is not in the range"),
        (["check", "--seed", "one"], "'one' is not a valid integer"),
        (["check", "--budget", "huge"], "'quick', 'standard', 'thorough'"),
        (["check", "--profile", "best"], "'safe', 'bounded', 'exact', 'durable'"),
        (["check", "--save", "file/threads"], "file is no folder"),
        (["check", "--sav"], "No such option"),
        (["replay", "limit 5 keep: u"], "          ^"),
        (["replay", "limit 5 keep 3: u b"], "                  ^"),
        (["replay", "limit 5 keep 3: u\t\x1bb"], "\\t\\x1bb\n                     ^"),
        (["replay", "limit 5 keep 3: " + "u a " * 200 + "b"], "u a u a b\n"),
        (["replay", "thread.txt"], "thread.txt is no file, and no line of notation, such as 'limit 5"),
        (["replay", "nothing.json"], "nothing.json: No such file"),
        (["replay", "file"], "not JSON"),
        (["replay", STRANDED, "--only", "cut"], "there is no rule 'cut'"),
        (["replay"], "Missing argument 'SCENARIO'"),
        (["explain", "cut.reach"], "did you mean cut.reaches"),
        (["judge"], "No such command"),
    ],
)
def test_wrong_usage_says_what_is_allowed(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], said: str
) -> None:
    (folder / "file").write_text("no scenario")
    ended = Ended(capsys, *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_a_folder_that_cannot_be_written_to_is_said_before_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(options, "TemporaryFile", refuse)
    ended = Ended(capsys, "check", *QUICK)
    assert ended.code == 2
    assert "cannot be written to" in ended.err


def test_a_folder_that_is_gone_is_named(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    ended = Ended(capsys, "check", *QUICK)
    assert ended.code == 2
    assert ".tercet: No such file or directory; name another folder" in ended.err


def test_what_cannot_be_saved_costs_nobody_the_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(cli, "write", fail)
    ended = Ended(capsys, "check", "stand_ins:dropping", *QUICK)
    assert ended.code == 1
    assert "not saved: disk full" in ended.err
    assert "send.system-first is broken" in ended.out
    assert "saved  " not in ended.out
    assert "tercet replay 'limit " in ended.out


def test_a_line_that_is_too_long_for_a_name_replays(capsys: pytest.CaptureFixture[str]) -> None:
    assert Ended(capsys, "replay", "limit 500 keep 3: " + "u a " * 200).code == 0


def test_a_run_that_broke_off_is_saved_and_replays(capsys: pytest.CaptureFixture[str]) -> None:
    ended = Ended(capsys, "check", "stand_ins:raising", *QUICK)
    (command,) = re.findall(r"To see it again: tercet (replay .*)$", ended.out, re.MULTILINE)
    again = Ended(capsys, *command.split(" "))
    assert again.code == 4
    assert "raised RuntimeError: tools are not supported" in again.out


def test_a_line_of_notation_replays(capsys: pytest.CaptureFixture[str]) -> None:
    ended = Ended(capsys, "replay", STRANDED)
    assert ended.code == 0
    assert "cut.pairs" in ended.out.partition("kept here: ")[2]


def test_a_reported_thread_is_judged_broken_in_langchain(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langchain", reason="langchain is not installed")
    ended = Ended(capsys, "replay", STRANDED, "langchain")
    assert ended.code == 1
    assert "cut.pairs is broken" in ended.out
    assert "u a(x) | a(y) t(x) t(y) u" in ended.out


def test_a_replay_judges_on_the_whole_road_what_is_judged_there_only(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langchain", reason="langchain is not installed")
    ended = Ended(capsys, "replay", "limit 3 keep 1: u a u step[a fails]", "langchain")
    assert ended.code == 1
    assert "key.commits-with-step is broken" in ended.out


def test_a_replay_that_needs_what_is_not_declared_could_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langchain", reason="langchain is not installed")
    ended = Ended(capsys, "replay", "limit 3 keep 1 bound 40: u u u u", "langchain")
    assert ended.code == 3
    assert "the scenario needs what is not declared: bound" in ended.err


def test_a_saved_file_shows_its_own_rule_first(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    pytest.importorskip("langchain", reason="langchain is not installed")
    path = write(Saved(scenario_of(parse(STRANDED)), "key.history-untouched"), folder)
    ended = Ended(capsys, "replay", str(path), "langchain")
    first, second = (ended.out.index(f"{rule} is broken") for rule in ("key.history-untouched", "cut.pairs"))
    assert first < second


def test_rules_are_explained_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the latest usable one" in Ended(capsys, "explain", "cut.reaches").out
    assert len(Ended(capsys, "explain").out.splitlines()) == len(RULES)


@pytest.mark.parametrize("arguments", [[], ["check"], ["replay"], ["explain"]])
def test_help_teaches(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    ended = Ended(capsys, *arguments, "--help")
    assert ended.code == 0
    assert "Usage: tercet" in ended.out
    assert "tercet " in ended.out.partition("Usage:")[2] or "Ends with" in ended.out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert Ended(capsys, "--version").out.startswith("tercet ")


def test_a_fault_of_the_suite_is_called_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(cli, "replay", fail)
    ended = Ended(capsys, "replay", STRANDED)
    assert ended.code == 4
    assert "This is a fault of the suite: ZeroDivisionError: oh" in ended.err
    assert "Traceback" not in ended.err
    assert "Traceback" in Ended(capsys, "replay", STRANDED, "--debug").err


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )


def wait_for(path: Path, running: subprocess.Popen[str]) -> None:
    while not path.exists() and running.poll() is None:
        time.sleep(0.02)


def test_an_interrupt_ends_the_search_and_reports_what_was_found(folder: Path) -> None:
    only = ("--budget", "thorough", "--only", "send.system-first")
    with started("check", "stand_ins:announcing", *only) as running:
        wait_for(folder / "started", running)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "exit code 130: interrupted" in out
    assert "send.system-first is broken" in out
    assert "Traceback" not in err
    assert list((folder / ".tercet").glob("*.json"))


def test_an_implementation_that_never_lets_go_is_left(folder: Path) -> None:
    with started("replay", STRANDED, "stand_ins:hanging") as running:
        wait_for(folder / "started", running)
        for _ in range(3):
            running.send_signal(signal.SIGINT)
            wait_for(folder / "swallowed", running)
            (folder / "swallowed").unlink(missing_ok=True)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "did not let go" in err


@pytest.mark.parametrize("pressed", ["import_module", "is_file"])
def test_an_interrupt_before_anything_was_found_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, pressed: str
) -> None:
    def press(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    monkeypatch.setattr(cli if pressed == "is_file" else loading, pressed, press)
    ended = Ended(capsys, "replay", STRANDED)
    assert ended.code == 130
    assert ended.err.strip() == "interrupted"
    monkeypatch.setattr(cli, "run", press)
    monkeypatch.setattr(sys, "argv", ["tercet", "explain"])
    assert command.main() == 130


def test_a_command_may_run_in_a_thread(capsys: pytest.CaptureFixture[str]) -> None:
    ended: list[Ended] = []
    thread = threading.Thread(target=lambda: ended.append(Ended(capsys, "replay", STRANDED)))
    thread.start()
    thread.join()
    assert [each.code for each in ended] == [0]


def test_output_that_nobody_reads_on_changes_no_exit_code() -> None:
    for arguments, code in ((["explain"], 0), (["replay", STRANDED], 0), (["check", "stand_ins:dropping", *QUICK], 1)):
        with subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.close()
            assert running.stderr.read() == b""
        assert running.returncode == code


def test_the_package_is_the_command_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tercet_conformance", "explain", "cut.pairs"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("cut.pairs")


def test_a_terminal_that_knows_only_ascii_is_written_to() -> None:
    done = run("check", *QUICK, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_nothing_is_coloured_and_no_progress_shown_where_there_is_no_terminal() -> None:
    done = run("check", *QUICK)
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""


BLOCKED = """
import sys
blocked = sys.argv.pop(1).split(",")
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
sys.argv[0] = "tercet"
from tercet_conformance.command import main
sys.exit(main())
"""


def run_without(blocked: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, blocked, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)


@pytest.mark.parametrize(
    ("arguments", "code"), [(["replay", STRANDED], 0), (["explain", "cut.pairs"], 0), (["check"], 2)]
)
def test_only_a_check_needs_hypothesis(arguments: list[str], code: int) -> None:
    done = run_without("hypothesis,pytest,_pytest", *arguments)
    assert done.returncode == code, done.stderr
    assert (code == 2) == ("pip install 'tercet[check]'" in done.stderr)


@pytest.mark.parametrize("library", ["click", "rich", "msgspec"])
def test_the_command_says_what_it_needs(library: str) -> None:
    done = run_without(library, "explain")
    assert done.returncode == 2
    said = f"The command needs {library}, which is not installed. Install it with: pip install 'tercet[cli]'\n"
    assert done.stderr == said
    assert done.stdout == ""


def test_a_bundled_adapter_without_its_library_says_what_to_install() -> None:
    done = run_without("langchain,langchain_core", "check", "langchain")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "install it with: pip install 'tercet[check,langchain]'" in done.stderr

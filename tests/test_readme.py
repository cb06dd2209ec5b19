"""What the README shows is so: its Python runs, its links lead somewhere, its commands are the ones that CI runs."""

import re
from pathlib import Path

import pytest

from examples import blocks
from tercet_conformance import adapters, gallery
from tercet_conformance.check import Plan, check
from tercet_conformance.drawing import draw
from tercet_conformance.gallery import ENTRIES
from tercet_conformance.replaying import replay
from tercet_conformance.verdicts import FLOOR, Verdict
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID

README = Path(__file__).parent.parent / "README.md"
POWER = Path(gallery.__file__).parent / "POWER.md"
PYTHON = [body for _, body in blocks(README, "python")]
ADAPTER = next(body for body in PYTHON if body.startswith("# my_adapter.py"))
OWN_TESTS = next(body for body in PYTHON if body.startswith("# test_my_agent.py"))
SKELETON = Path(adapters.__file__).parent / "python"
COMPACT = (SKELETON / "my_agent.py").read_text()


def test_the_adapter_as_shown_is_the_one_that_init_writes() -> None:
    assert (SKELETON / "my_adapter.py").read_text() == ADAPTER
    assert COMPACT in PYTHON


@pytest.mark.parametrize(
    "body", [body for body in PYTHON if body not in (ADAPTER, COMPACT, OWN_TESTS)], ids=["sync", "async", "loop"]
)
def test_the_reference_runs_as_shown(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(body, str(README), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.split("\n")[:-1] == re.findall(r"(?m)^print\(.*\)  # (.*)$", body)


def test_an_adapter_as_shown_is_checked_and_its_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_agent.py").write_text(COMPACT)
    (tmp_path / "my_adapter.py").write_text(ADAPTER)
    monkeypatch.syspath_prepend(str(tmp_path))
    from my_adapter import Mine  # type: ignore[import-not-found]

    report = check(Mine(), Plan(budget="quick", only=frozenset({"cut.pairs"})))
    assert report.verdicts[0].verdict is Verdict.FAIL
    assert report.diagnoses == ()


def test_tests_of_one_s_own_run_as_shown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(my_agent=COMPACT, my_adapter=ADAPTER, test_my_agent=OWN_TESTS)
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(passed=1, failed=1)
    said = ran.stdout.str()
    assert " is broken: MUST" in said
    assert "To see one again: tercet replay 'limit" in said


def test_an_adapter_takes_some_fifteen_lines() -> None:
    lines = [line for line in ADAPTER.splitlines() if line.strip() and not re.match(r"#|from |import ", line)]
    assert len(lines) <= 18


def test_the_threads_of_its_report_break_what_it_says() -> None:
    pytest.importorskip("langchain", reason="langchain is not installed")
    from tercet_conformance.adapters.langchain import implementation

    (report,) = (body for _, body in blocks(README, "text"))
    threads = re.findall(r"^  \d  (limit .*)$", report, re.MULTILINE)
    assert threads
    for thread in threads:
        judged = replay(implementation(), scenario_of(parse(thread)), [BY_ID["cut.pairs"]])
        assert judged.verdicts[0].verdict is Verdict.FAIL
        drawing = draw(judged.verdicts[0].counterexamples[0].finding)
        assert drawing is not None
        assert f"       {drawing.line}\n       {drawing.marks}\n" in report


def test_its_two_commands_set_everything_up() -> None:
    commands = [line for _, body in blocks(README, "sh") for line in body.splitlines()]
    for needed in ("tercet check", "pytest"):
        command = next(line for line in commands if needed in line)
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install")


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", README.read_text())
    assert links
    assert [link for link in links if "://" not in link and not (README.parent / link).exists()] == []


def test_the_power_that_is_told_of_is_the_tables() -> None:
    pattern = r"each of (\d+) is caught .+?within ([\d.]+) s and with a thread of (\d+) operations"
    told = re.search(pattern, README.read_text(), re.DOTALL)
    table = POWER.read_text()
    assert told is not None
    assert f"with every seed {told[1]} of {told[1]} wrong implementations" in table
    assert f"time to catch: {float(told[2]):.3f} s in the median" in table
    assert f"counterexample: {told[3]} operations in the median" in table
    assert f"passes {FLOOR} of 42 MUST rules" in table
    rows = re.findall(r"^\| ([a-z-]+) \| ([a-z]+\.[a-z-]+) \|", table, re.MULTILINE)
    assert rows == [(entry.name, entry.rule) for entry in ENTRIES if entry.rule is not None]

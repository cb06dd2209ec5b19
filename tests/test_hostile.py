"""No hostile implementation takes the suite down: each is given its diagnosis, in the time that it may take."""

import sys
from functools import partial
from pathlib import Path
from time import monotonic

import pytest

from tercet_conformance import check as check_module
from tercet_conformance import cli, replaying
from tercet_conformance.check import Plan
from tercet_conformance.gallery import ENTRIES, Entry
from tercet_conformance.limits import Limits
from tercet_conformance.search import BUDGETS, Budget
from tercet_conformance.verdicts import EXIT_BROKEN, EXIT_FAULT

HOSTILE = {entry.name: entry for entry in ENTRIES if entry.kind == "hostile"}
LIMIT = 0.15
LONGEST = 60.0
"""Seconds, where much else runs; alone the slowest takes one."""
STRANDED = "limit 3 keep 1: u a step u a(x) t(x)"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(BUDGETS, "quick", Budget(12, 2, 2))
    monkeypatch.setattr(check_module, "Plan", partial(Plan, limit=LIMIT, shrinks=1))
    monkeypatch.setattr(replaying, "Limits", partial(Limits, LIMIT))
    monkeypatch.setattr(cli, "load", lambda name: HOSTILE[name].make())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Overdue in a callback comes again
@pytest.mark.parametrize("entry", HOSTILE.values(), ids=lambda entry: entry.name)
def test_a_hostile_one_is_given_its_diagnosis(entry: Entry, capsys: pytest.CaptureFixture[str]) -> None:
    begun, streams = monotonic(), (sys.stdout, sys.stderr)
    code = cli.run(["check", entry.name, "--budget", "quick", "--debug"])
    out, err = capsys.readouterr()
    assert entry.diagnosis in out
    assert code in (EXIT_BROKEN, EXIT_FAULT)
    assert f"exit code {code}" in out
    assert "fault of the suite" not in err
    assert monotonic() - begun < LONGEST
    assert (sys.stdout, sys.stderr) == streams
    assert out == out.encode(errors="replace").decode()
    assert all(character.isprintable() or character == "\n" for character in out)
    assert len(out) < 50_000


@pytest.mark.parametrize("entry", HOSTILE.values(), ids=lambda entry: entry.name)
def test_a_replay_outlives_it_too(entry: Entry, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.run(["replay", STRANDED, entry.name, "--debug"])
    out, err = capsys.readouterr()
    assert f"exit code {code}" in out
    assert "fault of the suite" not in err

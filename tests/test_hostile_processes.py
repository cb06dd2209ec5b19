"""No hostile process takes the suite down or breaks a rule: each is given its diagnosis, and none is left behind."""

from time import monotonic

import pytest

from processes import is_running
from tercet_conformance import limits
from tercet_conformance.check import Plan, check
from tercet_conformance.gallery import ENTRIES, Entry
from tercet_conformance.search import BUDGETS, Budget
from tercet_conformance.verdicts import EXIT_FAULT, Verdict
from tercet_conformance.wire import process

PROCESSES = [entry for entry in ENTRIES if entry.kind == "process"]
LIMIT = 3.0
LONGEST = 60.0
"""Seconds, where much else runs."""


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that are started."""
    ids: list[int] = []
    start = process.Process.__init__

    def counted(self: process.Process, command: tuple[str, ...]) -> None:
        start(self, command)
        ids.append(self.popen.pid)

    monkeypatch.setattr(process.Process, "__init__", counted)
    monkeypatch.setattr(process, "END_SECONDS", 1.0)
    monkeypatch.setattr(limits, "MOST_BROKEN", 3)
    monkeypatch.setitem(BUDGETS, "quick", Budget(12, 2, 2, 12))
    return ids


@pytest.mark.parametrize("entry", PROCESSES, ids=lambda entry: entry.name)
def test_a_hostile_process_is_given_its_diagnosis(entry: Entry, started: list[int]) -> None:
    begun = monotonic()
    report = check(entry.make(), Plan("quick", limit=LIMIT, saved=False, shrinks=1))
    problems = [diagnosis.problem for diagnosis, _ in report.diagnoses]
    assert any(entry.diagnosis in problem for problem in problems), problems
    assert report.exit_code == EXIT_FAULT
    assert [verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.FAIL] == []
    assert monotonic() - begun < LONGEST
    assert started
    assert not [process_id for process_id in started if is_running(process_id)]

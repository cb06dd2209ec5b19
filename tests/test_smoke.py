"""Smoke walks what is declared, and says in words what keeps the suite from driving an adapter."""

import pytest

from tercet_conformance import cli, smoke
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.limits import Limits
from tercet_conformance.smoke import STAGES, walk
from tercet_spec.notation import parse, scenario_of
from tercet_spec.scenarios import OPERATIONS


def test_the_reference_can_be_driven(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["smoke"]) == 0
    out = capsys.readouterr().out
    assert out.count("  ok  ") == len(STAGES) + 1
    assert out.endswith("it can be driven; which rules it keeps: tercet check reference\n")


def test_each_operation_has_a_stage() -> None:
    performed = {type(each) for _, line in STAGES for each in scenario_of(parse(line)).operations}
    assert performed == set(OPERATIONS.values())


def test_a_line_replays_as_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = [line for name, line in STAGES if "half a character" in name]
    assert cli.run(["replay", line.replace("\ud83d", "\\ud83d")]) == 0
    assert "step[S 12 of \\ud83d]" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["declares-little", "tokens-only"])
def test_what_is_not_declared_is_skipped(name: str) -> None:
    stages = list(walk(BY_NAME[name].make()))
    assert [stage for stage in stages if stage.problem or stage.broken] == []
    assert {stage.skipped for stage in stages} == {"not declared", ""}
    assert not stages[0].skipped
    (refusing,) = [stage for stage in stages if stage.name == "refuses what must be refused"]
    assert bool(refusing.skipped) == ("refuses" not in BY_NAME[name].make().describe().capabilities)


def test_a_rule_that_breaks_is_named_and_is_no_problem() -> None:
    stages = {stage.name: stage for stage in walk(BY_NAME["never-stored"].make())}
    assert "key.commits-with-step" in stages["asks the compressor past the limit"].broken
    assert not any(stage.problem for stage in stages.values())


def test_what_went_wrong_is_said_with_the_line_that_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "load", lambda name: BY_NAME[name].make())
    assert cli.run(["smoke", "raises-at-append"]) == 4
    out = " ".join(capsys.readouterr().out.split())
    assert "wrong stores messages, calls and results operation 1 (append): raised KeyError" in out
    assert "again: tercet replay 'limit 100 keep 1: u a(x,y) t(x) t(y) a' raises-at-append" in out
    assert "mend the first one first" in out


class EndsBadly(Reference):
    """Cannot let go of what it holds."""

    def close(self) -> None:
        raise OSError("the store is locked")


def test_what_goes_wrong_at_the_end_is_said() -> None:
    *before, last = walk(EndsBadly())
    assert not any(stage.problem for stage in before)
    assert last.name == "ends when all is done"
    assert "OSError: the store is locked" in last.problem


def test_what_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "Limits", lambda: Limits(0.1))
    stages = list(walk(BY_NAME["hangs-asleep"].make()))
    assert "hangs" in stages[0].problem
    assert (stages[10].problem, stages[10].skipped) == ("", "not asked")

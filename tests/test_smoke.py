"""Smoke walks what is declared, and says in words what keeps the suite from driving an adapter."""

from collections.abc import Sequence

import pytest
from attrs import evolve

from tercet_conformance import cli, smoke
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.gallery.plain_loop import PlainLoop, PlainLoopImplementation
from tercet_conformance.interface import Host, RunEnd, Session
from tercet_conformance.limits import Limits
from tercet_conformance.smoke import STAGES, scenarios, walk
from tercet_spec.notation import parse, scenario_of
from tercet_spec.scenarios import OPERATIONS
from tercet_spec.vocabulary import Configuration


def test_the_reference_can_be_driven(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["smoke"]) == 0
    out = capsys.readouterr().out
    assert out.count("  ok  ") == len(STAGES) + 2
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
    assert all(bool(stage.undeclared) == bool(stage.skipped) for stage in stages)
    assert not stages[0].skipped
    refusing = [stage for stage in stages if stage.name.startswith("refuses ")]
    assert len(refusing) == 3
    for stage in refusing:
        assert bool(stage.skipped) == ("refuses" not in BY_NAME[name].make().describe().capabilities)


def test_a_rule_that_breaks_is_named_and_is_no_problem() -> None:
    stages = {stage.name: stage for stage in walk(BY_NAME["never-stored"].make())}
    assert "key.commits-with-step" in stages["asks the compressor past the limit"].broken
    assert not any(stage.problem for stage in stages.values())


def test_a_loop_without_a_trigger_is_asked_for_one_of_messages() -> None:
    lines = {name: line for name, line, _ in scenarios(frozenset({"hooks"}))}
    assert lines["summarises within an agent's loop"] == "stack S limit 4 keep 2: run run run"


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (
            "never-stored",
            0,
            (
                "again: tercet replay 'limit 4 keep 2: u a u a u' never-stored",
                "it can be driven, and breaks ",
                "not declared runs an agent's loop (hooks)",
            ),
        ),
        (
            "raises-at-append",
            4,
            (
                "wrong stores messages, calls and results operation 1 (append): raised KeyError",
                "again: tercet replay 'limit 100 keep 1: u a(x,y) t(x) t(y) a' raises-at-append",
                "mend the first one first",
            ),
        ),
    ],
)
def test_it_is_told_what_broke_what_went_wrong_and_what_is_not_declared(
    name: str, code: int, said: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "load", lambda name: BY_NAME[name].make())
    assert cli.run(["smoke", name]) == code
    out = " ".join(capsys.readouterr().out.split())
    assert [each for each in said if each not in out] == []


def test_a_command_without_its_dashes_is_told_where_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["smoke", "node", "adapter.js"]) == 2
    assert "unexpected extra argument (adapter.js); a process's command stands behind --" in capsys.readouterr().err


class StopsAtQuestions(PlainLoop):
    """Cannot go on with a run that waits."""

    def resume(self, reply: str | None, approved: Sequence[bool]) -> RunEnd:
        raise NotImplementedError("a run that waits is lost")


def test_a_run_is_walked_where_hooks_are_declared() -> None:
    stages = {stage.name: stage for stage in walk(PlainLoopImplementation("stops", StopsAtQuestions))}
    wrong = {name: stage.problem for name, stage in stages.items() if stage.problem}
    assert set(wrong) == {"waits for the reply to a question", "waits until a call is approved"}
    assert all("operation 2 (resume): raised NotImplementedError" in problem for problem in wrong.values())
    assert not any(stage.broken or stage.skipped for stage in stages.values())
    skipped = {stage.name for stage in walk(BY_NAME["lazy"].make()) if stage.skipped}
    assert skipped == {name for name, line in STAGES if line.startswith("stack")}


class LooksItsTriggerUp(Reference):
    """Has no trigger of another kind, and says so as any lookup does; takes a limit of nothing for the least one."""

    def open(self, configuration: Configuration, host: Host) -> Session:
        limit = {"messages": 1, "tokens": 1}[configuration.trigger.kind]
        trigger = evolve(configuration.trigger, limit=max(configuration.trigger.limit, limit))
        return super().open(evolve(configuration, trigger=trigger), host)


def test_a_trigger_that_may_not_be_is_to_be_refused() -> None:
    stages = {stage.name: stage for stage in walk(LooksItsTriggerUp())}
    assert stages["refuses a limit of nothing"].broken == ("config.trigger",)
    (wrong,) = [stage for stage in stages.values() if stage.problem]
    assert wrong.name == "refuses a trigger of neither messages nor tokens"
    assert "KeyError: 'words'" in wrong.problem


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

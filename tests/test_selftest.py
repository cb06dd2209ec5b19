"""The suite's own power is measured by the gallery, and a measurement that goes wrong is noticed."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import evolve

from tercet_conformance import cli, selftest
from tercet_conformance.gallery import BY_NAME, ENTRIES
from tercet_conformance.macros import refusals
from tercet_conformance.search import BUDGETS
from tercet_conformance.selftest import (
    Alarms,
    Catch,
    Floor,
    Measurement,
    Task,
    gathered,
    measure,
    measured,
    operations_of,
    rows,
    tasks,
)
from tercet_conformance.selftest_tables import markdown, summary
from tercet_conformance.verdicts import FLOOR
from tercet_spec.notation import parse, scenario_of

QUICK = Task("cuts-anywhere", 0, "quick")
NULLS = [entry.name for entry in ENTRIES if entry.kind == "null"]


def catch(task: Task) -> Catch:
    result = measure(task)
    assert isinstance(result, Catch)
    return result


def test_a_wrong_one_is_caught_by_its_own_rule_with_a_small_counterexample() -> None:
    caught = catch(QUICK)
    assert caught.scenarios is not None
    assert 1 <= caught.operations <= 15
    assert (caught.others, caught.task) == (frozenset(), QUICK)


def test_the_same_seed_measures_the_same() -> None:
    one, other = catch(QUICK), catch(QUICK)
    assert evolve(one, seconds=0) == evolve(other, seconds=0)


def test_what_another_rule_catches_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_NAME, "elsewhere", evolve(BY_NAME["never-stored"], name="elsewhere", rule="cut.pairs"))
    missed = catch(evolve(QUICK, entry="elsewhere"))
    assert missed.scenarios is None
    assert "key.commits-with-step" in missed.others
    assert gathered([missed]).misses == [missed]


def test_saved_scenarios_come_first_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = scenario_of(parse("limit 3 keep 1: u a(x) u t(x)"))
    monkeypatch.setattr(selftest, "saved_scenarios", lambda _: [shown])
    assert [catch(evolve(QUICK, saved=saved)).scenarios == 1 for saved in (False, True)] == [False, True]


def test_the_machines_alone_draw_no_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "generated_scenarios", lambda *_: pytest.fail("a burst was made"))
    assert catch(evolve(QUICK, machines=True)).scenarios is not None


def test_the_guards_are_told_apart() -> None:
    must_die = catch(Task("must-die", 0, "quick"))
    assert gathered([must_die]).is_good
    late = evolve(must_die, scenarios=selftest.AT_ONCE + 1)
    assert gathered([late]).misses == [late]
    no_op = measure(Task("no-op", 0, "quick"))
    assert isinstance(no_op, Alarms)
    assert no_op.rules == frozenset()


def test_what_is_blamed_is_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_NAME, "blamed", evolve(BY_NAME["cuts-anywhere"], name="blamed", kind="right", rule=None))
    blamed = measure(Task("blamed", 0, "quick"))
    assert isinstance(blamed, Alarms)
    assert "cut.pairs" in blamed.rules
    assert not gathered([blamed]).is_good


@pytest.fixture(scope="module")
def floors() -> list[Floor]:
    return [floor for floor in measured([Task(name, 0) for name in NULLS], workers=1) if isinstance(floor, Floor)]


def test_what_does_nothing_keeps_no_profile_and_no_family(floors: list[Floor]) -> None:
    assert [(floor.profile, floor.whole) for floor in floors] == [(None, ())] * len(NULLS)
    assert max(floor.passed for floor in floors) == FLOOR


def test_a_null_one_that_keeps_something_is_a_fault(floors: list[Floor]) -> None:
    assert Measurement(floors=tuple(floors)).is_good
    for kept in (evolve(floors[0], profile="safe"), evolve(floors[0], whole=("config",))):
        bad = Measurement(floors=(kept,))
        assert not bad.is_good
        assert any(f"{kept.entry} does nothing, and keeps" in line for line in summary(bad))


def test_every_null_one_declares_everything() -> None:
    declared = {entry.make().describe().capabilities for entry in ENTRIES if entry.kind == "null"}
    assert len(declared) == 1
    assert "turns" in declared.pop()


def test_an_append_counts_its_messages() -> None:
    assert operations_of(scenario_of(parse("limit 3 keep 1: u a u step configure[limit 4] u"))) == 7


def test_every_one_is_measured_with_every_seed_and_the_null_ones_once() -> None:
    listed = tasks(range(3), "quick", saved=False, machines=False)
    wrong = [entry.name for entry in ENTRIES if entry.rule is not None]
    right = [entry.name for entry in ENTRIES if entry.kind in ("right", "guard") and entry.rule is None]
    assert sorted(task.entry for task in listed) == sorted((wrong + right) * 3 + NULLS)
    assert {task.entry for task in tasks(range(1), "quick", saved=False, machines=True)} == set(wrong)


def test_a_right_one_is_blamed_where_one_seed_blames_it() -> None:
    seeds = [
        Alarms("lazy", 10, frozenset()),
        Alarms("eager", 10, frozenset()),
        Alarms("lazy", 5, frozenset({"cut.pairs"})),
    ]
    assert gathered(seeds).alarms == (
        Alarms("lazy", 15, frozenset({"cut.pairs"})),
        Alarms("eager", 10, frozenset()),
    )


def test_results_come_in_order_from_several_processes() -> None:
    asked = [Task(name, seed, "quick") for seed in (0, 1) for name in ("cuts-anywhere", "never-stored", "must-die")]
    assert [result.task for result in measured(asked, 2) if isinstance(result, Catch)] == asked


def test_a_row_sums_up_the_seeds() -> None:
    caught = [Catch(evolve(QUICK, seed=seed), seed, seed / 10, 4 + seed) for seed in (1, 2, 3)]
    missed = Catch(evolve(QUICK, seed=4), None, 9.0, others=frozenset({"cut.reaches"}))
    (row,) = rows([*caught, missed])
    assert (row.caught, row.seeds, row.scenarios, row.seconds, row.operations) == (3, 4, 2, 0.2, 6)
    assert row.others == {"cut.reaches"}


def test_the_command_prints_a_table_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "power.md"
    only = [word for name in ("cuts-anywhere", "lazy", "sends-nothing") for word in ("--only", name)]
    assert cli.run(["selftest", "--budget", "quick", "--power", "2", "--table", str(table), *only]) == 0
    out = capsys.readouterr().out
    assert "2 of 2   cuts-anywhere" in out
    assert "caught by its own rule: 2 of 2 times, 100.0 %" in out
    assert "the floor: sends-nothing" in out
    scenarios = 2 * (BUDGETS["quick"].bursts + len(refusals(BY_NAME["lazy"].make().describe().capabilities)))
    assert f"1 right implementation in {scenarios} scenarios each or more: 0 false alarms" in out
    assert "| cuts-anywhere | cut.pairs | 2 of 2 |" in table.read_text()


def test_a_kind_stands_for_its_entries(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    taken: list[Task] = []

    def nothing(tasks: Sequence[Task], _: int) -> list[Catch]:
        taken.extend(tasks)
        return []

    monkeypatch.setattr(selftest, "measured", nothing)
    assert cli.run(["selftest", "--only", "null", "--only", "lazy"]) == 0
    assert sorted(task.entry for task in taken) == sorted([*NULLS, "lazy"])


def test_a_miss_ends_with_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    entry = evolve(BY_NAME["never-stored"], rule="cut.pairs")
    monkeypatch.setitem(BY_NAME, entry.name, entry)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert cli.run(["selftest", "--budget", "quick", "--only", entry.name]) == 1
    out = capsys.readouterr().out
    assert "not caught, but by" in out
    assert "key.commits-with-step" in out


def test_an_interrupt_ends_it_after_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(task: Task) -> Catch:
        if task.seed:
            raise KeyboardInterrupt
        return Catch(task, 3, 0.1, 4)

    monkeypatch.setattr(selftest, "measure", interrupted)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert cli.run(["selftest", "--power", "2", "--only", "cuts-anywhere"]) == 130
    assert "1 of 1   cuts-anywhere" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--only", "cuts-anywere"], "is named 'cuts-anywere'; the kinds are "),
        (["--only", "cuts-anywere"], "did you mean cuts-anywhere"),
        (["--only", "hostile"], "the kinds are guard, null, right, wrong; "),
        (["--only", "hangs-asleep"], "no entry or kind that is measured is named 'hangs-asleep'"),
        (["--power", "0"], "1<=x<=1000"),
        (["--table", "."], "is a folder; name a file"),
        (["--seed", "-1"], "x>=0"),
    ],
)
def test_wrong_usage_is_said(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["selftest", *arguments]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())


def test_the_table_names_what_it_was_made_by() -> None:
    alone = gathered([catch(QUICK)])
    text = markdown(alone, alone, alone, "tercet selftest --power 1 --table power.md")
    assert "Made by `tercet selftest --power 1 --table power.md`: 1 seed" in text

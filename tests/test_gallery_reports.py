"""Each public report is caught by a wrong implementation that has its fault, or the file says why not."""

import tomllib
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from tercet_conformance import gallery
from tercet_conformance.directed import LINES
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.suite import Suite, applicable
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID
from tercet_spec.scenarios import Scenario

REPORTS: list[dict[str, Any]] = tomllib.loads((files(gallery) / "reports.toml").read_text(encoding="utf-8"))["report"]
CAUGHT = {report["link"]: report["caught"] for report in REPORTS if "caught" in report}
WITH_A_THREAD = [report for report in REPORTS if "thread" in report]
SENTENCES = [(report["link"], report[key]) for report in REPORTS for key in ("fault", "outside") if key in report]


def test_links_are_unique() -> None:
    assert [link for link, count in Counter(report["link"] for report in REPORTS).items() if count > 1] == []
    assert all(report["link"].startswith("https://") for report in REPORTS)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["link"])
def test_a_report_is_caught_or_outside(report: dict[str, Any]) -> None:
    assert report.keys() - {"thread"} in ({"link", "fault", "caught"}, {"link", "fault", "outside"})
    assert "thread" not in report or "caught" in report
    assert report.get("caught") != []


@pytest.mark.parametrize(("link", "sentence"), SENTENCES)
def test_what_is_said_of_it_is_one_short_sentence(link: str, sentence: str) -> None:
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert len(sentence) <= 120


def test_what_catches_it_is_a_wrong_implementation_of_the_gallery() -> None:
    names = {name for caught in CAUGHT.values() for name in caught}
    assert {name for name in names if name not in BY_NAME or BY_NAME[name].kind != "wrong"} == set()


def test_the_gallery_and_the_file_name_the_same_reports() -> None:
    reported = [entry for entry in BY_NAME.values() if entry.report]
    assert [entry.name for entry in reported if entry.name not in CAUGHT.get(entry.report, ())] == []


@pytest.mark.parametrize("report", WITH_A_THREAD, ids=lambda report: report["link"])
def test_its_thread_is_directed_and_catches_it(report: dict[str, Any]) -> None:
    assert report["thread"] in LINES
    scenario = scenario_of(parse(report["thread"]))
    assert any(is_caught(name, scenario) for name in report["caught"])


def is_caught(name: str, scenario: Scenario) -> bool:
    """Tell whether a wrong implementation breaks its own rule in a scenario."""
    entry = BY_NAME[name]
    assert entry.rule is not None
    implementation = entry.make()
    description = implementation.describe()
    suite = Suite(implementation, description, applicable([BY_ID[entry.rule]], description))
    return bool(suite.judge(scenario)[1].findings)

"""What the suite finds in LangChain.js and deepagents, each a process of Node.js that speaks the wire."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("hypothesis", reason="Hypothesis is not installed")
from attrs import frozen

from tercet_conformance import cli, loading
from tercet_conformance.check import Plan, check
from tercet_conformance.files import Saved, write
from tercet_conformance.interface import Host, Session
from tercet_conformance.loading import JAVASCRIPT, LoadingError, load, load_javascript
from tercet_conformance.replaying import replay
from tercet_conformance.verdicts import Report, Verdict
from tercet_conformance.wire.remote import Remote
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID, RULES
from tercet_spec.vocabulary import Configuration, Description

BROKEN = {
    "langchain-js": {
        # the search for a safe cut stops at the first call that any result at the cut answers
        "limit 3 keep 1: a(x) a(y) t(x) t(y)": "cut.pairs",
        # the limit itself fires
        "limit 3 keep 1: u u u": "trigger.strictly-past",
        # the hook does not see the system prompt
        "limit 3 tokens keep 1 system: u u": "trigger.as-sent",
        # an error of the compressor's is caught, and its text is the summary
        "limit 3 keep 1: u a u step[S fails]": "compress.failure",
        # a system message that opens the history is summarised with the rest
        "limit 3 keep 1: s s u": "compress.span",
        # the history is replaced
        "limit 3 keep 1: u a u": "key.history-untouched",
        # it is replaced in a step of its own, before the model's
        "limit 3 keep 1: u u u step[a fails]": "key.commits-with-step",
        # keep may be 0
        "limit 2 keep 0:": "config.keep-recent",
    },
    "deepagents-js": {
        # the search for a safe cut stops at the first call that any result at the cut answers
        "limit 4 keep 2: a(x) a(y) t(x) t(y)": "cut.pairs",
        # where the call is far, all results at the cut are covered
        "limit 3 keep 1: u a(x) u t(x)": "cut.keeps-recent",
        # the limit itself fires
        "limit 3 keep 1: u u u": "trigger.strictly-past",
        # a blank text is a summary
        "limit 3 keep 1: u u u step[S blank]": "compress.failure",
        # a system message that opens the history is summarised with the rest
        "limit 3 keep 1: s s u": "compress.span",
        # the summary stands for a number of messages, whichever they are
        "limit 3 keep 1: u u u step remove[1] step": "send.nothing-lost",
        # and for all that there are, where there are fewer
        "limit 3 keep 1: u u u u step remove[1-3] step": "send.applies",
    },
}
KEPT = {
    "langchain-js": {"send.system-first", "send.rest-unchanged", "trigger.once"},
    "deepagents-js": {"send.system-first", "send.rest-unchanged", "key.history-untouched", "key.commits-with-step"},
}
NAMES = pytest.mark.parametrize("name", JAVASCRIPT)


@frozen
class Running:
    """An implementation whose processes go on when a check or a replay has ended."""

    remote: Remote

    def describe(self) -> Description:
        return self.remote.describe()

    def open(self, configuration: Configuration, host: Host) -> Session:
        return self.remote.open(configuration, host)

    def whole_road(self) -> "Running | None":
        whole = self.remote.whole_road()
        return Running(whole) if whole else None


@pytest.fixture(scope="module")
def libraries() -> Iterator[dict[str, Running]]:
    started: dict[str, Remote] = {}
    try:
        for name in JAVASCRIPT:
            try:
                started[name] = load_javascript(name)
            except LoadingError as error:
                pytest.skip(str(error))
        yield {name: Running(remote) for name, remote in started.items()}
    finally:
        for remote in started.values():
            for road in (remote, remote.whole):
                if road is not None:
                    road.end_at_once()


@pytest.fixture(scope="module")
def reports(libraries: dict[str, Running]) -> dict[str, Report]:
    return {name: check(library, Plan(budget="quick", shrinks=4)) for name, library in libraries.items()}


def failing(report: Report) -> set[str]:
    return {each.rule.id for each in report.verdicts if each.verdict is Verdict.FAIL}


@NAMES
def test_a_check_finds_what_is_broken_and_nothing_goes_wrong_beside_the_rules(
    reports: dict[str, Report], name: str
) -> None:
    report = reports[name]
    assert report.diagnoses == ()
    assert report.exit_code == 1
    assert set(BROKEN[name].values()) <= failing(report)
    assert not KEPT[name] & failing(report)


@NAMES
def test_every_counterexample_breaks_its_rule_again(
    libraries: dict[str, Running], reports: dict[str, Report], name: str
) -> None:
    for verdict in reports[name].verdicts:
        assert verdict.counterexamples or verdict.verdict is not Verdict.FAIL
        for example in verdict.counterexamples:
            assert verdict.rule.id in failing(replay(libraries[name], example.scenario, (verdict.rule,)))


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in BROKEN.items() for line in lines])
def test_what_the_code_of_the_library_shows_is_found(libraries: dict[str, Running], name: str, line: str) -> None:
    rule = BROKEN[name][line]
    assert rule in failing(replay(libraries[name], scenario_of(parse(line)), RULES))


@NAMES
def test_what_a_library_cannot_do_is_not_applicable(reports: dict[str, Report], name: str) -> None:
    verdicts = {each.rule.id: each.verdict for each in reports[name].verdicts}
    assert verdicts["bound.sent"] is Verdict.NOT_APPLICABLE
    assert verdicts["usage.every-call"] is Verdict.NOT_APPLICABLE


@NAMES
def test_a_file_replays_by_the_bundled_name(
    libraries: dict[str, Running], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, rule = next(iter(BROKEN[name].items()))
    file = write(Saved(scenario_of(parse(line)), rule), tmp_path)
    assert cli.run(["replay", str(file), name]) == 1
    assert f"{rule} is broken" in capsys.readouterr().out


@NAMES
def test_without_node_it_is_said_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "which", lambda _: None)
    with pytest.raises(LoadingError, match=rf"{name} needs Node\.js 20 or newer"):
        load(name)


@NAMES
def test_without_the_packages_it_is_said_what_to_install_and_how(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "langchain").mkdir()
    (tmp_path / "langchain" / "package.json").write_text("{}")
    monkeypatch.setattr(loading, "which", lambda _: "node")
    monkeypatch.setenv("TERCET_NODE_MODULES", str(tmp_path))
    with pytest.raises(LoadingError) as refused:
        load(name)
    said = str(refused.value)
    assert f"{name} needs @langchain/core, @langchain/langgraph, deepagents in {tmp_path}" in said
    assert f"npm install --prefix {loading.ADAPTERS}" in said
    assert "npm install @langchain/core@1.4.0" in said
    assert "TERCET_NODE_MODULES" in said


def test_a_name_that_is_nearly_one_of_them_is_answered_with_it() -> None:
    with pytest.raises(LoadingError, match="did you mean langchain-js"):
        load("langchainjs")


def test_versions_are_pinned() -> None:
    package = json.loads((loading.ADAPTERS / "package.json").read_text())
    assert package["private"] is True
    assert all(version[0].isdigit() for version in package["dependencies"].values())
    assert set(BROKEN) == set(KEPT) == set(JAVASCRIPT)
    assert {rule for lines in BROKEN.values() for rule in lines.values()} <= set(BY_ID)

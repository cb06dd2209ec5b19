"""Reports beside the terminal's: whole, the same for the same run, and broken by no text of an implementation."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import msgspec
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from markdown_it import MarkdownIt

import tercet_spec
from stand_ins import Changed, Dropping, Raising
from tercet_conformance import check as checking
from tercet_conformance import cli, files
from tercet_conformance.check import Plan, check
from tercet_conformance.drawing import draw
from tercet_conformance.driver import Diagnosis
from tercet_conformance.files import Saved, decode
from tercet_conformance.report import MEANINGS, in_notation, shown, where
from tercet_conformance.reports import document, junit, markdown
from tercet_conformance.reports import files as report_files
from tercet_conformance.reports.files import RENDERERS, write
from tercet_conformance.verdicts import Counterexample, Report, RuleVerdict, Verdict
from tercet_spec.agents import Agent
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID, RULES, Level, Profile
from tercet_spec.scenarios import OPERATIONS, Append, Operation, Scenario
from tercet_spec.vocabulary import Configuration, Description, Message, Trigger

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((Path(tercet_spec.__file__).parent / "schemas" / "report.json").read_text("ascii"))
VALIDATOR = Draft202012Validator(SCHEMA)
PLAN = Plan(budget="quick", only=frozenset({"send.system-first", "cut.pairs", "config.thrash", "bound.sent"}))
BROKEN = evolve(check(Changed(Dropping, fewer=frozenset({"bound"})), PLAN), seconds=1.5)
CRASHED = check(Changed(Raising), PLAN)
(FAILED,) = (verdict for verdict in BROKEN.verdicts if verdict.counterexamples)
EXAMPLE = FAILED.counterexamples[0]
CRASH = (Diagnosis("open", "raised RuntimeError: no"), scenario_of(parse("limit 3 keep 1: u a u")))
MUST, SHOULD = "cut.pairs", "send.calls-back"


def whole(changes: Mapping[str, RuleVerdict] = {}, **fields: Any) -> Report:
    verdicts = tuple(changes.get(rule.id, RuleVerdict(rule, Verdict.PASS)) for rule in RULES)
    made = Report(Description("mine", "1"), verdicts)
    return evolve(made, **fields)


def said(rule: str, verdict: Verdict, reason: str = "") -> RuleVerdict:
    examples = (EXAMPLE,) if verdict is Verdict.FAIL else ()
    return RuleVerdict(BY_ID[rule], verdict, counterexamples=examples, reason=reason)


REAL = {
    "broken": BROKEN,
    "crashed": CRASHED,
    "interrupted": evolve(BROKEN, interrupted=True),
    "asked": evolve(BROKEN, asked=Profile.EXACT),
    "known": whole({MUST: said(MUST, Verdict.KNOWN, "we know")}),
    "kept": whole(),
    "elsewhere": whole(diagnoses=((Diagnosis("both roads", "they disagree"), None),)),
}


def written(report: Report, ending: str, saved: Mapping[Scenario, str] = {}) -> str:
    return RENDERERS[ending](report, "stand_ins:dropping", saved)


def documented(report: Report, saved: Mapping[Scenario, str] = {}) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(written(report, ".json", saved))
    return read


def is_allowed(read: object) -> bool:
    return not list(VALIDATOR.iter_errors(read))


def test_the_published_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", REAL)
def test_a_real_report_is_as_the_published_schema_says(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(documented(REAL[name]))] == []


def places(within: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """List the place of every field of a document."""
    for key, value in within.items() if isinstance(within, dict) else enumerate(within):
        if isinstance(within, dict):
            yield (*place, key)
        if isinstance(value, dict | list):
            yield from places(value, (*place, key))


def small() -> dict[str, Any]:
    some = evolve(BROKEN, verdicts=(evolve(FAILED, counterexamples=(EXAMPLE,)),), diagnoses=(CRASH,))
    return documented(some, {CRASH[1]: "one.json"})


def holder(read: Any, place: tuple[str | int, ...]) -> Any:
    for key in place[:-1]:
        read = read[key]
    return read


def test_a_report_with_a_missing_an_unknown_or_a_mistyped_field_is_refused() -> None:
    listed = list(places(small()))
    assert ("rules", 0, "counterexamples", 0, "scenario", "operations", 0, "do") in listed
    for place in listed:
        read = small()
        holder(read, place)[place[-1]] = [[]]
        assert not is_allowed(read), f"mistyped: {place}"
        if "reached" in place[:-1]:
            continue
        read = small()
        holder(read, place)["news"] = 1
        assert not is_allowed(read), f"unknown beside {place}"
        if "scenario" not in place[:-1]:
            read = small()
            del holder(read, place)[place[-1]]
            assert not is_allowed(read), f"missing: {place}"


def closed(kind: dict[str, Any]) -> dict[str, Any]:
    """What the schema says of a class, but for its prose: an object with no other fields."""
    return {name: value for name, value in kind.items() if name not in ("title", "description")}


def test_scenarios_are_published_as_the_vocabulary_has_them() -> None:
    _, derived = msgspec.json.schema_components([Configuration, Agent, *get_args(Operation)])
    for name, kind in OPERATIONS.items():
        definition = derived[kind.__name__]
        definition["properties"]["do"] = {"const": name}
        definition["required"] = ["do", *definition["required"]]
    for name, definition in json.loads(json.dumps(derived)).items():
        assert closed(SCHEMA["$defs"][name]) == closed({**definition, "additionalProperties": False})


def test_names_are_published_as_the_code_has_them() -> None:
    rule = SCHEMA["$defs"]["Rule"]["properties"]
    assert rule["verdict"]["enum"] == [verdict.value for verdict in Verdict]
    assert rule["level"]["enum"] == [level.value for level in Level]
    assert SCHEMA["$defs"]["Profile"]["enum"] == [str(profile) for profile in Profile]
    assert SCHEMA["properties"]["exit"]["properties"]["code"]["enum"] == sorted(MEANINGS)
    assert SCHEMA["properties"]["version"] == {**SCHEMA["properties"]["version"], "const": document.VERSION}
    scenario = SCHEMA["$defs"]["Scenario"]["properties"]
    assert tuple(scenario) == files.FIELDS
    assert scenario["version"]["const"] == files.VERSION


def test_a_scenario_in_a_report_is_a_file_that_replays() -> None:
    read = documented(evolve(BROKEN, diagnoses=(CRASH,)), {CRASH[1]: "one.json"})
    entry = next(rule for rule in read["rules"] if rule["counterexamples"])
    for example, held in zip(FAILED.counterexamples, entry["counterexamples"], strict=True):
        assert decode(json.dumps(held["scenario"])) == Saved(example.scenario, entry["id"])
    assert decode(json.dumps(read["diagnoses"][0]["scenario"])) == Saved(CRASH[1])
    assert read["diagnoses"][0]["saved"] == "one.json"


def test_all_that_depends_on_time_stands_at_the_end_of_the_document() -> None:
    one, other = (written(evolve(BROKEN, seconds=seconds), ".json") for seconds in (1.0, 200.25))
    assert one != other
    assert one.partition('"timings"')[0] == other.partition('"timings"')[0]
    assert list(json.loads(one))[-1] == "timings"


def test_a_comment_does_not_depend_on_time() -> None:
    assert written(evolve(BROKEN, seconds=1.0), ".md") == written(evolve(BROKEN, seconds=2.0), ".md")


def test_the_document_says_what_the_run_says() -> None:
    read = documented(evolve(BROKEN, asked=Profile.BOUNDED))
    assert read["implementation"]["argument"] == "stand_ins:dropping"
    assert read["implementation"]["capabilities"] == sorted(BROKEN.description.capabilities)
    assert (read["seeds"], read["scenarios"], read["steps"]) == ([0], BROKEN.scenarios, BROKEN.steps)
    assert read["exit"] == {"code": 1, "meaning": MEANINGS[1]}
    assert read["profile"] == {"kept": None, "hooks": None, "asked": "bounded", "lacking": ["bound.sent"]}
    assert [(rule["id"], rule["verdict"]) for rule in read["rules"]] == [
        (verdict.rule.id, verdict.verdict.value) for verdict in BROKEN.verdicts
    ]
    assert documented(whole())["profile"]["kept"] == "durable"
    assert documented(whole())["profile"]["hooks"]
    assert documented(whole({"hooks.writes": said("hooks.writes", Verdict.FAIL)}))["profile"]["hooks"] is False
    assert documented(whole({MUST: said(MUST, Verdict.FAIL)}))["profile"]["kept"] is None
    passed = next(rule for rule in read["rules"] if rule["verdict"] == "pass")
    assert passed["reached"]
    assert all(passed["reached"].values())


def suite_of(report: Report) -> ElementTree.Element:
    suite = ElementTree.fromstring(written(report, ".xml")).find("testsuite")
    assert suite is not None
    return suite


def case_of(report: Report, name: str) -> ElementTree.Element:
    (case,) = (case for case in suite_of(report).findall("testcase") if case.get("name") == name)
    return case


def kinds(case: ElementTree.Element) -> list[str]:
    return [element.tag for element in case]


@pytest.mark.parametrize(
    ("rule", "verdict", "kind"),
    [
        (MUST, Verdict.PASS, []),
        (MUST, Verdict.FAIL, ["failure"]),
        (MUST, Verdict.NOT_EXERCISED, ["error"]),
        (MUST, Verdict.BLOCKED, ["error"]),
        (MUST, Verdict.COULD_NOT_RUN, ["error"]),
        (MUST, Verdict.NOT_APPLICABLE, ["skipped"]),
        (MUST, Verdict.KNOWN, ["skipped"]),
        (SHOULD, Verdict.FAIL, ["system-out"]),
        (SHOULD, Verdict.BLOCKED, ["skipped"]),
    ],
)
def test_a_rule_is_a_test_case_that_ends_as_its_verdict_says(rule: str, verdict: Verdict, kind: list[str]) -> None:
    case = case_of(whole({rule: said(rule, verdict, "because")}), rule)
    assert case.get("classname") == f"tercet.{BY_ID[rule].family}"
    assert kinds(case) == kind
    if kind in (["error"], ["skipped"]):
        assert case[0].get("message") == f"{verdict.value}: because"


def test_a_test_case_shows_all_that_is_needed_to_see_a_thread_again() -> None:
    failure = case_of(BROKEN, FAILED.rule.id)[0]
    text, violation = failure.text or "", EXAMPLE.finding.violation
    assert failure.get("message", "").endswith(f"expected: {violation.expected}; seen: {violation.seen}")
    for part in (in_notation(EXAMPLE.scenario)[0], where(EXAMPLE), violation.expected, violation.seen):
        assert part in text
    assert "tercet replay 'limit " in text


def test_a_crash_is_a_test_case_of_its_own() -> None:
    case = case_of(whole(diagnoses=(CRASH,)), "1: open")
    assert kinds(case) == ["error"]
    assert case[0].get("message") == "raised RuntimeError: no"
    assert "tercet replay 'limit 3 keep 1: u a u' stand_ins:dropping" in (case[0].text or "")


def test_a_rule_that_the_asked_profile_lacks_is_in_error() -> None:
    case = case_of(whole({MUST: said(MUST, Verdict.NOT_APPLICABLE, "because")}, asked=Profile.SAFE), MUST)
    assert kinds(case) == ["error"]
    assert case[0].get("message") == "not applicable: because; profile asked for: safe"


@pytest.mark.parametrize("ending", RENDERERS)
@pytest.mark.parametrize("line", ["limit 3 keep 1: u a u", "limit 3 keep 1: u a u step[S 40 of \x07]"])
def test_a_reader_elsewhere_replays_a_line_where_there_is_one(ending: str, line: str) -> None:
    scenario = scenario_of(parse(line))
    failed = evolve(FAILED, counterexamples=(evolve(EXAMPLE, scenario=scenario, saved="rule.json"),))
    crash = (Diagnosis("open", "raised RuntimeError: no"), scenario)
    text = written(evolve(BROKEN, verdicts=(failed,), diagnoses=(crash,)), ending, {scenario: "crash.json"})
    commands = re.findall(r"tercet replay (.*?) stand_ins:dropping", text)
    assert commands == (["rule.json", "crash.json"] if "\x07" in line else [f"'{line}'"] * 2)


def test_an_interrupted_run_does_not_pass_a_ci() -> None:
    assert case_of(whole(interrupted=True), "exit code")[0].get("message") == MEANINGS[130]
    assert kinds(case_of(evolve(BROKEN, interrupted=True), "exit code")) == ["error"]


@given(
    st.dictionaries(st.sampled_from(sorted(BY_ID)), st.sampled_from(Verdict), max_size=6),
    st.none() | st.sampled_from(Profile),
    st.booleans(),
    st.booleans(),
)
def test_a_ci_fails_exactly_where_the_command_does(
    changes: dict[str, Verdict], asked: Profile | None, crashed: bool, interrupted: bool
) -> None:
    made = whole({rule: said(rule, verdict) for rule, verdict in changes.items()}, asked=asked, interrupted=interrupted)
    report = evolve(made, diagnoses=(CRASH,) if crashed else ())
    suite = suite_of(report)
    counts = {}
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts[attribute] = len(suite.findall(f"testcase/{tag}"))
        assert suite.get(attribute) == str(counts[attribute])
    assert suite.get("tests") == str(len(suite.findall("testcase")))
    assert bool(counts["failures"] + counts["errors"]) == bool(report.exit_code)


@pytest.mark.parametrize("ending", RENDERERS)
def test_what_broke_once_and_never_again_is_reported_without_a_thread(ending: str) -> None:
    assert "cut.pairs" in written(whole({MUST: RuleVerdict(BY_ID[MUST], Verdict.FAIL)}), ending)


NASTY = [
    *(
        "`",
        "```",
        "~~~~",
        "|",
        "</details>",
        "<script>",
        "<!--",
        "]]>",
        "&amp;",
        "\\",
        "@everyone",
        "#1",
        "*a*",
        "[a](b)",
    ),
    *("\n\n# no\n", "\r", "\u2028", "\x00", "\x1b[2J", "\ud83d", "\ufffe", "\uffff", "\x85", " ", "", "\t- a", "$$x$$"),
]
texts = st.lists(st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=()), max_size=6), max_size=4).map(
    "".join
)


def hostile(text: str) -> tuple[Report, dict[Scenario, str]]:
    """Make a report in which an implementation, or who wrote a baseline, had a say wherever they may."""
    scenario = Scenario(Configuration(Trigger("messages", 3), 1), (Append((Message("user", text),)),))
    violation = evolve(EXAMPLE.finding.violation, expected=text, seen=text)
    example = Counterexample(scenario, evolve(EXAMPLE.finding, violation=violation), "x" + text)
    verdicts = (
        evolve(FAILED, counterexamples=(example,)),
        RuleVerdict(BY_ID[SHOULD], Verdict.FAIL, counterexamples=(example,)),
        RuleVerdict(BY_ID["cut.reaches"], Verdict.KNOWN, reason=text, counterexamples=(example,)),
        said(MUST, Verdict.COULD_NOT_RUN, text),
        said("bound.sent", Verdict.NOT_APPLICABLE, text),
    )
    description = evolve(BROKEN.description, name=text, version=text, language=text, before=text, after=text)
    diagnoses = ((Diagnosis(text, text), None), (Diagnosis(text, text), scenario))
    return evolve(BROKEN, description=description, verdicts=verdicts, diagnoses=diagnoses), {scenario: "x" + text}


@given(texts)
def test_whatever_an_implementation_says_the_document_holds_it(text: str) -> None:
    report, saved = hostile(text)
    rendered = document.render(report, text, saved)
    assert rendered.isascii()
    read = json.loads(rendered)
    assert is_allowed(read)
    assert read["implementation"]["name"] == text
    example = read["rules"][0]["counterexamples"][0]
    assert (example["expected"], example["seen"], example["saved"]) == (text, text, "x" + text)
    assert decode(json.dumps(example["scenario"])).scenario == report.verdicts[0].counterexamples[0].scenario
    assert read["diagnoses"][0]["problem"] == text


@given(texts)
def test_whatever_an_implementation_says_the_xml_is_read(text: str) -> None:
    report, saved = hostile(text)
    root = ElementTree.fromstring(junit.render(report, text, saved).encode())
    cases = root.findall("testsuite/testcase")
    assert [kinds(case) for case in cases] == [
        ["failure"],
        ["system-out"],
        ["skipped"],
        ["error"],
        ["skipped"],
        ["error"],
        ["error"],
    ]
    assert cases[0][0].get("message", "").endswith(f"seen: {shown(text)}")
    assert cases[5][0].get("message") == shown(text)
    assert cases[5].get("name") == f"1: {shown(text)}"


VIEWER = MarkdownIt("commonmark", {"html": True}).enable("table")


def seen_by_a_reader(rendered: str) -> tuple[list[object], list[str]]:
    """What a viewer makes of a comment: all but what stands in code, and what stands in code."""
    around: list[object] = []
    code: list[str] = []
    for token in VIEWER.parse(rendered):
        for part in [token, *(token.children or [])]:
            is_code = part.type in ("code_inline", "fence")
            if is_code:
                code.append(part.content)
            around.append((part.type, part.tag, part.info, "" if is_code or part.children else part.content))
    return around, code


ORDINARY = markdown.render(hostile("x")[0], "x", hostile("x")[1])


@given(texts)
def test_whatever_an_implementation_says_it_stands_in_code(text: str) -> None:
    report, saved = hostile(text)
    rendered = markdown.render(report, text, saved)
    rendered.encode()
    around, code = seen_by_a_reader(rendered)
    ordinary, _ = seen_by_a_reader(ORDINARY)
    assert around == ordinary
    assert code[0] == f"{shown(text)} {shown(text)} ({shown(text)})"
    assert (shown(text) or " ") in code
    assert not re.search("[^\n -\U0010ffff]", rendered)


def test_a_comment_shows_all_that_is_needed_to_see_a_thread_again() -> None:
    around, code = seen_by_a_reader(written(BROKEN, ".md"))
    assert ("html_block", "", "", f"<details><summary>1: {where(EXAMPLE)}</summary>\n") in around
    violation = EXAMPLE.finding.violation
    assert violation.expected in code
    assert violation.seen in code
    drawing = draw(EXAMPLE.finding)
    assert drawing is not None
    assert any(in_notation(EXAMPLE.scenario)[0] in part and f" {drawing.line}" in part for part in code)
    assert any(part.startswith("tercet replay 'limit ") for part in code)


def test_a_comment_says_the_verdict_first_and_lists_what_is_undecided_and_known() -> None:
    undecided, known = (said(MUST, Verdict.BLOCKED, "seldom"), said(SHOULD, Verdict.KNOWN, "we `know`"))
    text = written(whole({MUST: undecided, SHOULD: known}), ".md")
    assert text.startswith(f"### `mine 1 (Python)`: {MEANINGS[3]}\n")
    assert "#### Not decided\n\n- cut.pairs (MUST, blocked): `seldom`\n" in text
    assert "#### Known\n\n- send.calls-back (SHOULD, known): ``we `know` ``\n" in text.replace("`` we", "``we")
    assert "profile kept: none" in text
    assert "| broken |" not in text


@pytest.mark.parametrize("length", [1, 3_000, 100_000])
def test_a_comment_is_never_longer_than_github_takes(length: int) -> None:
    report, saved = hostile("`" * length)
    many = evolve(report, verdicts=tuple(evolve(report.verdicts[0], rule=rule) for rule in RULES))
    rendered = markdown.render(many, "x" * length, saved)
    assert len(rendered) <= markdown.MOST
    left_out = re.search(r"\n\n(\d+) more threads are left out here: a comment holds 65 536 characters.\n", rendered)
    assert bool(left_out) == (length > 1)
    if left_out:
        assert int(left_out[1]) + rendered.count("<details>") == len(RULES) + 2


@pytest.mark.parametrize("ending", RENDERERS)
def test_a_file_is_written_wholly_or_not_at_all(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / f"report{ending}"
    write(BROKEN, path, "stand_ins:dropping", {})
    assert path.read_text("utf-8") == written(BROKEN, ending)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(whole(), path, "mine", {})
    assert path.read_text("utf-8") == written(BROKEN, ending)
    assert list(path.parent.iterdir()) == [path]


QUICK = ("check", "stand_ins:dropping", "--budget", "quick", "--only", "send.system-first")
FILES = ("report.json", "report.xml", "report.md")
REPORTS = [word for name in FILES for word in ("--report", f"out/{name}")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_same_seed_writes_the_same_files_but_for_the_time(folder: Path) -> None:
    sources = [str(ROOT / name) for name in ("spec", "reference", "conformance", "tests")]
    running = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sources), "PYTHONHASHSEED": seed}
        reports = [word.replace("out/", f"{seed}/") for word in REPORTS]
        command = [sys.executable, "-m", "tercet_conformance.command", *QUICK, *reports]
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for process in running:
        assert process.communicate()[1] == b""
        assert process.returncode == 1
    for name in FILES:
        one, other = ((folder / seed / name).read_text("utf-8") for seed in ("1", "2"))
        assert timeless(one) == timeless(other)
    assert (folder / "1" / "report.md").read_bytes() == (folder / "2" / "report.md").read_bytes()


def timeless(text: str) -> str:
    return re.sub(r'("seconds": |time=")[\d.]+', r"\1", text)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("report", "no format of a report ends so"),
        ("report.txt", "no format of a report ends so"),
        (".json", "no format of a report ends so"),
        ("folder.json", "it is a folder"),
        ("file/report.json", "file is no folder"),
        ("x" * 300 + "/report.json", "File name too long"),
        ("\x1b/report.txt", "no format"),
    ],
)
def test_a_report_that_cannot_be_written_is_said_before_the_run(
    path: str, problem: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "folder.json").mkdir()
    (folder / "file").touch()
    monkeypatch.setattr(checking, "check", None)
    assert cli.run([*QUICK, "--report", path]) == 2
    captured = capsys.readouterr()
    assert problem in captured.err
    assert f"'--report': {shown(path)}: " in captured.err
    assert "a report is a file that ends in .json, .xml (JUnit) or .md" in captured.err
    assert captured.out == ""


def test_what_may_not_be_written_to_is_said_before_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "report.json").touch()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).absolute() != folder / "report.json")
    assert cli.run([*QUICK, "--report", "report.json"]) == 2
    assert "report.json: it cannot be written to" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such folder but on Linux")
@pytest.mark.parametrize("path", ["/proc/report.json", "/proc/nowhere/report.json"])
def test_a_folder_that_takes_nothing_is_said_before_the_run_whoever_asks(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "check", None)
    assert cli.run([*QUICK, "--report", path]) == 2
    assert f"{path}: /proc cannot be written to; name another folder" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_after_all_costs_nobody_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(report: Report, path: Path, *rest: Any) -> None:
        if path.suffix == ".xml":
            raise OSError("disk full")
        write(report, path, *rest)

    monkeypatch.setattr(report_files, "write", fail)
    assert cli.run([*QUICK, *REPORTS]) == 1
    captured = capsys.readouterr()
    assert "no report in out/report.xml: disk full" in captured.err
    assert "send.system-first is broken" in captured.out
    assert {path.name for path in (folder / "out").iterdir()} == {"report.json", "report.md"}
    assert cli.run(["check", "reference", *QUICK[2:], *REPORTS]) == 4
    assert "no report in out/report.xml: disk full" in capsys.readouterr().err


def test_an_interrupted_run_writes_its_reports(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "explore", interrupt)
    assert cli.run([*QUICK, *REPORTS]) == 130
    read = json.loads((folder / "out" / "report.json").read_text("ascii"))
    assert read["exit"]["code"] == 130
    assert read["rules"][0]["verdict"] == "fail"
    assert is_allowed(read)
    assert all((folder / "out" / name).stat().st_size for name in FILES)

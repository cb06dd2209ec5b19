"""A baseline lists what is known to break: it is read strictly, hides nothing else, and never outlives its reason."""

import re
from io import StringIO
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console

from stand_ins import Changed, Dropping
from tercet_conformance import baseline, cli
from tercet_conformance.baseline import BaselineError, apply, decode, read
from tercet_conformance.check import Plan, check
from tercet_conformance.gallery import BY_NAME
from tercet_conformance.replaying import replay
from tercet_conformance.report import print_report
from tercet_conformance.verdicts import Counterexample, KnownFailure, Report, RuleVerdict, Verdict
from tercet_spec.judgement import Finding
from tercet_spec.moments import Configured
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID, Profile, Violation
from tercet_spec.vocabulary import Configuration, Description, Trigger

RULE, SHOULD = "send.system-first", "send.calls-back"
ENTRY = '[[known]]\nrule = "send.system-first"\nkind = "bug"\nreason = "It has no place for one."\n'
KNOWN = KnownFailure(RULE, "bug", "It has no place for one.")
SCENARIO = scenario_of(parse("limit 3 keep 1 system: u a u a"))
STRANDED = "limit 5 keep 3: u a(x) a(y) t(x) t(y) u"
QUICK = ("--budget", "quick", "--only", RULE)


def example(seen: str, expected: str = "the system prompt stands first", rule: str = RULE) -> Counterexample:
    moment = Configured(Description("mine", "1"), Configuration(Trigger("messages", 3), keep_recent=1))
    return Counterexample(SCENARIO, Finding(BY_ID[rule], Violation(expected, seen), moment))


def failing(*examples: Counterexample, rule: str = RULE) -> RuleVerdict:
    return RuleVerdict(BY_ID[rule], Verdict.FAIL, counterexamples=examples)


def report(*verdicts: RuleVerdict, asked: Profile | None = None, interrupted: bool = False) -> Report:
    return Report(Description("mine", "1"), verdicts, asked=asked, interrupted=interrupted)


def printed(shown: Report) -> str:
    console = Console(file=StringIO(), width=10_000)
    print_report(shown, "mine", console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


MISSING, LAST = example("no system prompt is sent"), example("the system prompt stands last")


def test_all_of_an_entry_is_read() -> None:
    (entry,) = decode(ENTRY + 'link = "https://example.org/7"\nsignature = "stands last"\n')
    assert entry == evolve(KNOWN, link="https://example.org/7", signature="stands last")


@pytest.mark.parametrize("text", [cli.check.help, baseline.__doc__])
def test_the_entry_that_is_shown_is_one(text: str) -> None:
    (entry,) = decode(text[text.index("[[known]]") :].split("\n\n")[0])
    broken = replay(BY_NAME["cuts-anywhere"].make(), scenario_of(parse(STRANDED)), [BY_ID["cut.pairs"]])
    assert entry.link
    assert apply([entry], broken).verdicts[0].verdict is Verdict.KNOWN


def test_a_baseline_may_be_empty() -> None:
    assert decode("") == decode("# nothing is known\n") == decode("known = []") == ()


def test_a_rule_may_have_entries_of_several_signatures() -> None:
    assert len(decode(f'{ENTRY}signature = "one"\n{ENTRY}signature = "other"\n')) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[known]\n", "not TOML: "),
        ("known = " + "[" * 9999, "not TOML: "),
        ("known = 1" + "0" * 5000, "not a baseline: "),
        (ENTRY + 'rule = "cut.pairs"\n', "not TOML: Cannot overwrite a value (at line 5, column 19)"),
        ('[[knwon]]\nrule = "cut.pairs"\n', "there is no 'knwon' in a baseline; each entry begins with [[known]]"),
        ('[known]\nrule = "cut.pairs"\n', "'known' is {'rule': 'cut.pairs'}; each entry begins with [[known]]"),
        ('known = ["cut.pairs"]', "entry 1 is 'cut.pairs'; each entry begins with [[known]]"),
        (ENTRY + 'by = "me"\n', "entry 1: there is no field 'by'; there are: rule, kind, reason, link, signature"),
        (ENTRY + ENTRY.replace("reason", "raeson"), "entry 2: there is no field 'raeson'; did you mean reason?"),
        (
            ENTRY.replace("-first", "-frist"),
            "entry 1: rule is 'send.system-frist'; there is no such rule; did you mean",
        ),
        (ENTRY.replace('"bug"', '"bugs"'), "entry 1: kind is 'bugs'; it is one of bug, wont-fix, flaky"),
        (ENTRY.replace('"bug"', "3"), "entry 1: kind is 3; it is a text"),
        (ENTRY.replace('"bug"', '["bug"]'), "entry 1: kind is ['bug']; it is a text"),
        (
            ENTRY.replace('"send.system-first"', "1979-05-27"),
            "entry 1: rule is datetime.date(1979, 5, 27); it is a text",
        ),
        (ENTRY.replace("It has no place for one.", " "), "entry 1: reason is ' '; it is not empty"),
        (ENTRY.replace("reason", "link"), "entry 1: link is 'It has no place for one.'; it is an address that begins"),
        (ENTRY + 'link = "ftp://example.org"\n', "entry 1: link is 'ftp://example.org'; it is an address"),
        (ENTRY + 'link = "https://"\n', "entry 1: link is 'https://'; it is an address"),
        (ENTRY + 'signature = ""\n', "entry 1: signature is ''; it is not empty; leave it out"),
        ('[[known]]\nrule = "cut.pairs"\nkind = "bug"\n', "entry 1 has no reason; an entry has rule, kind, reason"),
        ("[[known]]\n", "entry 1 has no rule"),
        (ENTRY + ENTRY, "entry 2: send.system-first is listed by entry 1 already"),
        (ENTRY + ENTRY + 'signature = "last"\n', "entry 2: send.system-first is listed by entry 1 already"),
        (
            f'{ENTRY}signature = "a"\n{ENTRY}signature = "a"\n',
            "entry 2: send.system-first is listed by entry 1 already",
        ),
        (f'{ENTRY}signature = "a"\n{ENTRY}', "entry 2: send.system-first is listed by entry 1 already"),
    ],
)
def test_what_is_wrong_names_entry_field_value_and_what_is_allowed(text: str, problem: str) -> None:
    with pytest.raises(BaselineError, match=f"^known.toml: {re.escape(problem)}"):
        decode(text, "known.toml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    for name, problem in (("none.toml", "No such file"), (".", "Is a directory"), ("latin.toml", "not UTF-8")):
        with pytest.raises(BaselineError, match=problem):
            read(tmp_path / name)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(ENTRY, "utf-8-sig")
    assert read(tmp_path / "known.toml") == (KNOWN,)


def test_a_listed_failure_is_known_with_its_reason_and_its_threads() -> None:
    known = apply([KNOWN], report(failing(MISSING, LAST)))
    (verdict,) = known.verdicts
    assert (verdict.verdict, verdict.reason) == (Verdict.KNOWN, KNOWN.reason)
    assert [example.finding for example in verdict.counterexamples] == [MISSING.finding, LAST.finding]
    assert known.exit_code == 0
    text = printed(known)
    assert "Known failures\n\n  send.system-first (bug)\n    It has no place for one.\n" in text
    assert "To see one again: tercet replay 'limit 3 keep 1 system: u a u a' mine" in text
    assert text.endswith("exit code 0: every applicable MUST is kept, or known to break\n")


def test_a_link_and_a_signature_are_shown_and_obeyed_by_nothing() -> None:
    entry = evolve(KNOWN, link="https://example.org/[7]", signature="no system\x1b")
    text = printed(apply([entry], report(failing(example("no system\x1b prompt")))))
    assert "link       https://example.org/[7]\n" in text
    assert "signature  no system\\x1b\n" in text


@pytest.mark.parametrize("signature", ["no \u202esystem", "no \\u202esystem", "system prompt stands first"])
def test_a_signature_is_found_in_what_was_expected_or_seen_as_a_report_shows_it(signature: str) -> None:
    known = apply([evolve(KNOWN, signature=signature)], report(failing(example("there is no \u202esystem prompt"))))
    assert known.verdicts[0].verdict is Verdict.KNOWN


def test_what_the_signature_does_not_show_still_fails_and_is_shown_alone() -> None:
    entry = evolve(KNOWN, signature="stands last")
    partly = apply([entry], report(failing(LAST, MISSING)))
    (verdict,) = partly.verdicts
    assert (verdict.verdict, verdict.reason) == (Verdict.FAIL, "")
    assert verdict.counterexamples == (MISSING, evolve(LAST, known=entry))
    assert verdict.unlisted == (MISSING,)
    assert (partly.exit_code, partly.stale) == (1, ())
    text = printed(partly)
    assert "1 thread and 1 known" in text
    assert "seen      no system prompt is sent" in text
    assert "seen      the system prompt stands last" not in text
    assert text.endswith("exit code 1: a MUST is broken\n")


def test_two_signatures_list_two_faults_of_one_rule() -> None:
    entries = [evolve(KNOWN, signature="last", reason="One."), evolve(KNOWN, signature="no system", reason="Two.")]
    known = apply(entries, report(failing(MISSING, LAST)))
    assert (known.verdicts[0].verdict, known.verdicts[0].reason) == (Verdict.KNOWN, "Two.; One.")
    assert (known.stale, known.exit_code) == ((), 0)


def test_a_failure_that_no_thread_shows_stays_one() -> None:
    assert apply([KNOWN], report(failing())).verdicts == (failing(),)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (RuleVerdict(BY_ID[RULE], Verdict.PASS), "now: pass"),
        (RuleVerdict(BY_ID[RULE], Verdict.NOT_APPLICABLE), "now: not applicable"),
        (failing(MISSING), "no thread shows its signature"),
    ],
)
def test_a_stale_entry_fails_the_run_and_is_named(verdict: RuleVerdict, said: str) -> None:
    entry = evolve(KNOWN, signature="stands last")
    stale = apply([entry], report(verdict))
    assert (stale.stale, stale.exit_code) == ((entry,), 1)
    text = printed(stale)
    assert "Stale: delete these entries from the baseline\n\n  send.system-first (bug)\n" in text
    assert f"    signature  stands last\n    {said}\n" in text
    also = "a MUST is broken, and " if verdict.verdict is Verdict.FAIL else ""
    assert text.endswith(f"exit code 1: {also}the baseline is stale\n")


def test_a_stale_entry_of_a_should_fails_the_run_too() -> None:
    entry = evolve(KNOWN, rule=SHOULD)
    assert apply([entry], report(RuleVerdict(BY_ID[SHOULD], Verdict.PASS))).exit_code == 1
    assert apply([entry], report(failing(MISSING, rule=SHOULD))).verdicts[0].verdict is Verdict.KNOWN


@pytest.mark.parametrize("verdict", [Verdict.NOT_EXERCISED, Verdict.BLOCKED, Verdict.COULD_NOT_RUN])
def test_of_what_was_not_decided_no_entry_is_stale(verdict: Verdict) -> None:
    undecided = apply([KNOWN], report(RuleVerdict(BY_ID[RULE], verdict)))
    assert (undecided.stale, undecided.exit_code) == ((), 3)


def test_a_rule_that_was_left_out_has_no_stale_entry() -> None:
    assert apply([KNOWN], report(RuleVerdict(BY_ID["cut.pairs"], Verdict.PASS))).exit_code == 0


def test_an_interrupted_run_has_no_stale_entry() -> None:
    interrupted = apply([KNOWN], report(RuleVerdict(BY_ID[RULE], Verdict.PASS), interrupted=True))
    assert (interrupted.stale, interrupted.exit_code) == ((), 130)
    assert "Stale" not in printed(interrupted)


def test_a_flaky_one_may_hold_and_that_is_said() -> None:
    flaky = evolve(KNOWN, kind="flaky")
    holds = apply([flaky], report(RuleVerdict(BY_ID[RULE], Verdict.PASS)))
    assert (holds.stale, holds.exit_code) == ((), 0)
    assert "Flaky, and not seen to break in this run\n\n  send.system-first (flaky)\n" in printed(holds)
    assert apply([flaky], report(failing(MISSING))).verdicts[0].verdict is Verdict.KNOWN


def test_a_flaky_one_that_can_never_break_is_stale() -> None:
    flaky = evolve(KNOWN, kind="flaky")
    assert apply([flaky], report(RuleVerdict(BY_ID[RULE], Verdict.NOT_APPLICABLE))).stale == (flaky,)


def test_what_is_known_is_said_beside_the_profile_that_is_kept() -> None:
    verdicts = tuple(failing(MISSING) if rule == RULE else RuleVerdict(BY_ID[rule], Verdict.PASS) for rule in BY_ID)
    text = printed(apply([KNOWN], report(*verdicts)))
    assert "profile kept: durable, but for what is known\n" in text
    should = tuple(failing(LAST, rule=r) if r == SHOULD else RuleVerdict(BY_ID[r], Verdict.PASS) for r in BY_ID)
    text = printed(apply([evolve(KNOWN, rule=SHOULD)], report(*should)))
    assert "profile kept: durable\n" in text
    assert text.endswith("exit code 0: every applicable MUST is kept\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.toml").write_text(ENTRY)
    return tmp_path


def test_a_check_with_a_baseline_ends_as_it_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def code(*arguments: str) -> int:
        return cli.run(["check", *arguments, "--baseline", "known.toml"])

    assert code("stand_ins:dropping", *QUICK) == 0
    assert "    To see one again: tercet replay .tercet/send.system-first-" in capsys.readouterr().out
    assert code("stand_ins:dropping", *QUICK, "--profile", "safe") == 0
    assert code("reference", *QUICK) == 1
    assert code("reference", "--budget", "quick", "--only", "cut.pairs") == 0


def test_a_baseline_that_cannot_be_read_is_wrong_usage_before_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "known.toml").write_text(ENTRY.replace("reason", "\x1breason"))
    for name, problem in (("known.toml", "not TOML"), ("none.toml", "No such file")):
        assert cli.run(["check", "stand_ins:failing", "--baseline", name]) == 2
        err = capsys.readouterr().err
        assert f"{name}: {problem}" in err
        assert "no licence" not in err


def test_an_interrupted_check_calls_no_entry_stale() -> None:
    ran = 0

    def interrupt(what: str, done: int, total: int) -> None:
        nonlocal ran
        ran += 1
        if ran == 400:
            raise KeyboardInterrupt

    entries = [evolve(KNOWN, rule=rule) for rule in (RULE, "config.keep-recent", "cut.pairs")]
    interrupted = apply(entries, check(Changed(Dropping), Plan(budget="quick"), interrupt))
    assert "cut.pairs" in {v.rule.id for v in interrupted.verdicts if v.verdict is Verdict.PASS}
    assert (interrupted.stale, interrupted.exit_code) == ((), 130)

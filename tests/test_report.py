"""The report is read by people: each part is there, nothing of an implementation's texts is obeyed."""

import re
from collections.abc import Collection, Mapping, Sequence
from io import StringIO
from types import MappingProxyType

import pytest
from attrs import evolve
from rich.console import Console

from stand_ins import Changed, Dropping, Passing, giving
from tercet_conformance.adapters.reference import Reference
from tercet_conformance.check import Plan, check
from tercet_conformance.drawing import Drawing, sent
from tercet_conformance.driver import Diagnosis
from tercet_conformance.gallery import ENTRIES, Entry
from tercet_conformance.interface import Host, Session, StepEnd, Unsupported
from tercet_conformance.replaying import CannotRun, replay
from tercet_conformance.report import legend_of, print_all_rules, print_replay, print_report, print_rule, shown
from tercet_conformance.verdicts import Report, RuleVerdict, Verdict
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import BY_ID, RULES, Profile
from tercet_spec.scenarios import Scenario, Step
from tercet_spec.vocabulary import Configuration, Note, PendingCall


class Twice(Passing):
    """Asks the model a second time, for nothing."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        end = self.inner.step(system, notes, pending)
        if end.outcome == "committed":
            self.host.answer([])
        return evolve(end, attempt=0) if end.outcome == "committed" else end


class Lenient(Changed):
    """Refuses no keepRecent."""

    def open(self, configuration: Configuration, host: Host) -> Session:
        return super().open(evolve(configuration, keep_recent=max(1, configuration.keep_recent)), host)


ONLY = Plan(budget="quick", only=frozenset({"send.system-first", "cut.pairs", "config.thrash"}))


@pytest.fixture(scope="module")
def broken() -> Report:
    return check(Changed(Dropping), ONLY)


def plain() -> Console:
    return Console(file=StringIO(), width=10_000)


def written(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def printed(report: Report, name: str = "stand_ins:dropping", *, debug: bool = False) -> str:
    console = plain()
    print_report(report, name, console, debug=debug)
    return written(console)


def test_every_rule_has_its_line(broken: Report) -> None:
    text = printed(broken)
    assert "fail           " in text
    assert "pass           " in text
    for verdict in broken.verdicts:
        assert f"  {verdict.rule.id} " in text


def test_a_broken_rule_shows_all_that_is_needed_to_see_it_again(broken: Report) -> None:
    (verdict,) = (verdict for verdict in broken.verdicts if verdict.counterexamples)
    saved = evolve(verdict.counterexamples[0], saved="my threads/one.json")
    with_file = evolve(verdict, counterexamples=(saved, *verdict.counterexamples[1:]))
    text = printed(evolve(broken, verdicts=(with_file,)))
    assert verdict.rule.statement.split(".")[0] in text
    assert verdict.rule.why.split(".")[0] in text
    assert "limit 3 keep 1 system:" in text
    assert "expected  " in text
    assert "seen      " in text
    assert "saved     my threads/one.json" in text
    assert "tercet replay 'my threads/one.json' stand_ins:dropping" in text


def test_a_drawing_has_a_legend_of_the_signs_that_it_uses() -> None:
    assert legend_of([Drawing("u a | u", "~~~")]) == "| the cut   ~ covered by the summary"
    assert legend_of([Drawing("u a", "  ^"), Drawing("u | u", "")]) == "| the cut   ^ at fault"
    assert legend_of([Drawing("", "")]) == ""


def test_what_was_asked_for_and_cannot_be_had_is_named(broken: Report) -> None:
    verdicts = [RuleVerdict(BY_ID[rule], Verdict.NOT_APPLICABLE) for rule in ("bound.sent", "cut.reaches")]
    text = printed(evolve(broken, verdicts=tuple(verdicts), asked=Profile.BOUNDED))
    assert "profile asked for: bounded, of which is not applicable: bound.sent\n" in text
    assert "exit code 3" in text
    assert "asked for" not in printed(broken)


def test_a_line_replays_where_nothing_was_saved(broken: Report) -> None:
    assert "tercet replay 'limit " in printed(broken)


def test_the_end_says_what_the_exit_code_means(broken: Report) -> None:
    text = printed(broken)
    assert "profile kept" not in text
    assert text.rstrip().endswith("exit code 1: a MUST is broken")
    assert "2 pass, 1 fail" in text


def test_what_was_interrupted_says_so(broken: Report) -> None:
    assert "exit code 130: interrupted" in printed(evolve(broken, interrupted=True))


def test_a_diagnosis_is_shown_and_where_it_was_raised_if_asked(broken: Report) -> None:
    report = check(giving("step", RuntimeError("no [bold]network[/bold]")), ONLY)
    text = printed(report)
    assert "raised RuntimeError: no [bold]network[/bold]" in text
    assert "Traceback" not in text
    assert "--debug shows where each was raised" in text
    assert "Traceback" in printed(report, debug=True)


def test_a_line_that_cannot_be_typed_is_nearly_said(broken: Report) -> None:
    scenario = scenario_of(parse("limit 3 keep 1: u a u step[S 40 of \x07]"))
    text = printed(evolve(broken, diagnoses=((Diagnosis("open", "raised RuntimeError"), scenario),)))
    assert "in  limit 3 keep 1: u a u step[S 40 of \\x07]  (nearly" in text
    assert "To see it again" not in text


def test_a_run_that_broke_off_can_be_replayed(broken: Report) -> None:
    scenario = scenario_of(parse("limit 3 keep 1: u a u"))
    report = evolve(broken, diagnoses=((Diagnosis("open", "raised RuntimeError"), scenario),))
    assert "To see it again: tercet replay 'limit 3 keep 1: u a u' stand_ins:dropping" in printed(report)
    console = plain()
    print_report(report, "mine", console, saved={scenario: "threads/one.json"})
    assert "To see it again: tercet replay threads/one.json mine" in written(console)


def test_what_broke_once_and_never_again_is_reported_without_a_thread(broken: Report) -> None:
    text = printed(evolve(broken, verdicts=(RuleVerdict(BY_ID["cut.pairs"], Verdict.FAIL),)))
    assert "cut.pairs is broken" in text
    assert "To see one again" not in text


def test_nothing_of_an_implementation_is_read_as_markup_or_sent_to_the_terminal() -> None:
    hostile = "[red]\x1b[2J\ud83d\x00\u202eevil[/red]"
    assert shown(hostile) == "[red]\\x1b[2J\\ud83d\\x00\\u202eevil[/red]"
    described = evolve(Reference().describe(), name=hostile, version=hostile)
    report = Report(described, (), diagnoses=((Diagnosis(hostile, hostile), None),))
    text = printed(report, name=hostile)
    assert "\x1b" not in text
    assert "\ud83d" not in text
    assert "[red]\\x1b[2J" in text
    text.encode()


def test_without_a_terminal_there_are_no_colours(broken: Report) -> None:
    assert "\x1b" not in printed(broken)


def test_a_terminal_has_colours(broken: Report) -> None:
    console = Console(file=StringIO(), force_terminal=True, color_system="standard", width=100)
    print_report(broken, "mine", console)
    assert "\x1b[" in written(console)


def test_a_scenario_that_notation_cannot_say_is_nearly_said(broken: Report) -> None:
    (verdict,) = (verdict for verdict in broken.verdicts if verdict.counterexamples)
    example = verdict.counterexamples[0]
    odd = Scenario(example.scenario.configuration, (*example.scenario.operations, Step(system="Odd.")))
    text = printed(evolve(broken, verdicts=(evolve(verdict, counterexamples=(evolve(example, scenario=odd),)),)))
    assert "limit 3 keep 1 system: " in text
    assert "(nearly: notation cannot say all of its texts)" in text
    assert "To see one again" not in text


def test_a_replay_says_what_is_broken_and_what_is_kept() -> None:
    scenario = scenario_of(parse("limit 3 keep 1 system: u a u a"))
    console = plain()
    print_replay(replay(Changed(Dropping), scenario, RULES), "mine", scenario, console)
    text = written(console)
    assert "limit 3 keep 1 system: u a u a" in text
    assert "send.system-first is broken" in text
    assert "To see one again" not in text
    assert "kept here: " in text
    assert "cut.keeps-recent" in text.partition("kept here: ")[2]


def test_a_replay_says_what_became_of_the_rules_that_were_asked_for() -> None:
    scenario = scenario_of(parse("limit 9 keep 1: u a"))
    asked = ("trigger.quiet", "bound.sent", "bound.whole-characters")
    report = replay(Changed(fewer=frozenset({"bound"})), scenario, [BY_ID[rule] for rule in (*asked, "cut.pairs")])
    console = plain()
    print_replay(report, "mine", scenario, console, asked=(*asked, "cut.pairs"))
    text = written(console)
    assert "kept here: trigger.quiet\n" in text
    assert "not applicable: bound.sent (not declared: bound)" in text
    assert "does not speak of this thread: cut.pairs" in text
    assert "exit code 0: nothing that was judged here breaks a MUST" in text


def test_a_replay_in_which_nothing_is_judged_says_so() -> None:
    scenario = scenario_of(parse("limit 9 keep 1: u a"))
    console = plain()
    print_replay(replay(Changed(), scenario, [BY_ID["cut.pairs"]]), "mine", scenario, console)
    assert "nothing was judged: no rule that applies speaks of this thread" in written(console)


def test_a_replay_says_why_it_cannot_run() -> None:
    with pytest.raises(CannotRun, match="the scenario needs what is not declared: bound, token-trigger"):
        replay(
            Changed(fewer=frozenset({"bound", "token-trigger"})),
            scenario_of(parse("limit 9 tokens bound 40: u")),
            RULES,
        )
    with pytest.raises(CannotRun, match="the scenario cannot be said in its messages: no tools"):
        replay(giving("append", Unsupported("no tools")), scenario_of(parse("u")), RULES)


def test_a_rule_is_explained() -> None:
    console = plain()
    print_rule(BY_ID["bound.sent"], console)
    text = written(console)
    assert "bound.sent  MUST, profile bounded" in text
    assert "Why: " in text
    assert "needs         bound" in text
    assert "spec/bound.md" in text
    assert "tercet_spec.rules.bound.sent" in text


def test_all_rules_are_listed_a_line_each() -> None:
    console = plain()
    print_all_rules(RULES, console)
    lines = written(console).splitlines()
    assert [line.split()[0] for line in lines] == [rule.id for rule in RULES]


def test_where_a_rule_broke_is_said() -> None:
    scenario = scenario_of(parse("limit 3 keep 1: u a"))
    (lost,) = replay(Changed(Twice), scenario, [BY_ID["send.nothing-lost"]]).verdicts
    refused = scenario_of(parse("limit 3 keep 0: u a"))
    (config,) = replay(Lenient(), refused, [BY_ID["config.keep-recent"]]).verdicts
    text = printed(Report(Changed().describe(), (evolve(lost, following="cut.pairs"), config)))
    assert "where     step 1, request 2" in text
    assert "where     the configuration" in text
    assert "each after cut.pairs broke" in text
    assert "It breaks only after cut.pairs broke in an earlier step." in text


def test_of_all_rules_the_profile_kept_is_said() -> None:
    report = all_pass()
    assert "profile kept: durable\n" in printed(report)
    assert "profile asked for: exact, kept\n" in printed(evolve(report, asked=Profile.EXACT))


def test_what_keeps_the_next_profile_from_being_kept_is_named() -> None:
    should = {"send.calls-back": Verdict.FAIL}
    report = all_pass({**should, "key.forward": Verdict.FAIL, "usage.compressor": Verdict.NOT_APPLICABLE})
    text = printed(evolve(report, asked=Profile.DURABLE))
    assert "profile kept: exact; durable is not: key.forward, usage.compressor (not applicable)\n" in text
    assert "profile asked for: durable, of which is not applicable: usage.compressor\n" in text
    many = all_pass(dict.fromkeys([rule.id for rule in RULES], Verdict.FAIL))
    assert re.search(r"profile kept: none; safe is not: \S+, \S+, \S+ and \d+ more\n", printed(many))
    assert "profile asked for: safe, not kept\n" in printed(evolve(many, asked=Profile.SAFE))


def test_what_breaks_of_itself_is_shown_first_and_the_weakest_profile_of_that() -> None:
    exact, safe, durable = "cut.reaches", "key.history-untouched", "key.forward"
    report = all_pass(dict.fromkeys([exact, "send.nothing-lost", safe, durable], Verdict.FAIL))
    after = {"send.nothing-lost": "key.forward"}
    verdicts = tuple(evolve(each, following=after.get(each.rule.id)) for each in report.verdicts)
    text = printed(evolve(report, verdicts=verdicts))
    assert re.findall(r"^(\S+) is broken", text, re.MULTILINE) == [safe, exact, durable, "send.nothing-lost"]
    assert f"\nstart with {safe}: what breaks of itself is shown first\n" in text
    assert "start with" not in printed(all_pass({"cut.reaches": Verdict.FAIL}))


@pytest.mark.parametrize(
    ("line", "rule", "said"),
    [
        ("limit 3 keep 1: a(x) a(y) t(x) t(y)", "cut.pairs", "sent      summary t(y)"),
        ("limit 3 keep 1: u a u a", "key.history-untouched", None),
        ("limit 3 keep 1: u a u a", "trigger.fires", "sent      u a u a"),
        ("limit 3 keep 1: u a u a step[S fails]", "compress.failure", None),
    ],
)
def test_what_was_sent_is_shown_where_a_rule_speaks_of_requests(line: str, rule: str, said: str | None) -> None:
    entry = next(entry for entry in ENTRIES if entry.rule == rule and breaks(entry, line))
    report = replay(entry.make(), scenario_of(parse(line)), [BY_ID[rule]])
    text = printed(report)
    assert f"{rule} is broken" in text
    assert (said in text) if said else ("sent  " not in text)


def test_of_several_requests_the_one_at_fault_is_shown() -> None:
    report = replay(Changed(Twice), scenario_of(parse("limit 9 keep 1: u a u")), [BY_ID["send.nothing-lost"]])
    ((example,),) = (verdict.counterexamples for verdict in report.verdicts)
    violation = example.finding.violation
    shown = [sent(evolve(example.finding, violation=evolve(violation, attempt=n))) for n in (0, 1)]
    assert (shown, violation.attempt) == (["u a u", ""], 1)


def breaks(entry: Entry, line: str) -> bool:
    report = replay(entry.make(), scenario_of(parse(line)), [BY_ID[entry.rule or ""]])
    return report.exit_code == 1


def all_pass(but: Mapping[str, Verdict] = MappingProxyType({})) -> Report:
    verdicts = (RuleVerdict(rule, but.get(rule.id, Verdict.PASS)) for rule in RULES)
    return Report(Changed().describe(), tuple(verdicts))

"""What a run says of each rule, of the profiles, and of itself: verdicts and the exit code."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Literal

from attrs import evolve, field, frozen

from tercet_conformance.driver import Diagnosis
from tercet_spec.judgement import Finding
from tercet_spec.moments import Configured
from tercet_spec.rules import RULES, AnyRule, Level, Profile
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Description


class Verdict(Enum):
    """What is said of one rule."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"
    NOT_EXERCISED = "not exercised"
    BLOCKED = "blocked"
    COULD_NOT_RUN = "could not run"
    KNOWN = "known"


STRONGER = tuple(profile for profile in Profile if profile is not Profile.HOOKS)
"""The profiles of summarization, each of which contains the one before."""
BROKEN = (Verdict.FAIL, Verdict.KNOWN)
UNDECIDED = (Verdict.NOT_EXERCISED, Verdict.BLOCKED, Verdict.COULD_NOT_RUN)
EXIT_KEPT, EXIT_BROKEN, EXIT_USAGE, EXIT_UNDECIDED, EXIT_FAULT, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
ENOUGH_REFUSALS, ENOUGH = 1, 5
"""How often each situation of a rule must be reached for it to pass: every refusal is tried, steps are sampled."""
FLOOR = 12
"""So many of the MUSTs does the best of the null implementations pass, as ``tercet selftest`` finds."""
MOST_NAMED = 3
"""So many of the broken rules are named that may be why another one was not reached."""
Kind = Literal["bug", "wont-fix", "flaky"]


@frozen
class KnownFailure:
    """An entry of a baseline: a rule that is known to break, and why that is left so.

    ``signature`` is a text that occurs in what is expected or seen where it breaks so; without one the
    entry lists all that breaks the rule. A ``flaky`` one may hold in a run as well.
    """

    rule: str
    kind: Kind
    reason: str
    link: str | None = None
    signature: str | None = None


@frozen
class Counterexample:
    """A scenario that breaks a rule, its first finding, the file that it was saved in, the entry that lists it.

    One that was ``seen_once`` broke the rule when it was found, and not when it was run again.
    """

    scenario: Scenario
    finding: Finding
    saved: str | None = None
    known: KnownFailure | None = None
    seen_once: bool = False


@frozen
class RuleVerdict:
    """What is said of one rule: the verdict, how often its situations were reached, what breaks it.

    ``following`` names a rule that broke in an earlier step of every counterexample.
    """

    rule: AnyRule
    verdict: Verdict
    reached: Mapping[str, int] = field(factory=dict)
    counterexamples: tuple[Counterexample, ...] = ()
    following: str | None = None
    reason: str = ""

    @property
    def unlisted(self) -> tuple[Counterexample, ...]:
        """The counterexamples that no baseline lists."""
        return tuple(example for example in self.counterexamples if example.known is None)

    @property
    def is_broken_must(self) -> bool:
        """Whether this fails the run."""
        return self.verdict is Verdict.FAIL and self.rule.level is Level.MUST

    @property
    def is_known_must(self) -> bool:
        """Whether this would fail the run, if no baseline listed it."""
        return self.verdict is Verdict.KNOWN and self.rule.level is Level.MUST

    @property
    def is_undecided_must(self) -> bool:
        """Whether this leaves the run without an answer."""
        return self.verdict in UNDECIDED and self.rule.level is Level.MUST


@frozen
class Report:
    """All that a run says; ``unsupported`` counts scenarios that cannot be said in the implementation's messages.

    ``seeds`` are several where reports were combined; ``baseline`` holds the entries that were applied.
    """

    description: Description
    verdicts: tuple[RuleVerdict, ...]
    diagnoses: tuple[tuple[Diagnosis, Scenario | None], ...] = ()
    scenarios: int = 0
    unsupported: int = 0
    steps: int = 0
    seconds: float = 0.0
    seeds: tuple[int, ...] = ()
    budget: str = ""
    asked: Profile | None = None
    interrupted: bool = False
    baseline: tuple[KnownFailure, ...] = ()

    @property
    def kept(self) -> Profile | None:
        """The strongest profile of summarization that is wholly kept; ``keeps_hooks`` speaks of the one beside."""
        kept = None
        for profile in STRONGER:
            if not keeps(self.verdicts, profile):
                break
            kept = profile
        return kept

    @property
    def keeps_hooks(self) -> bool:
        """Whether the profile ``hooks`` is wholly kept."""
        return keeps(self.verdicts, Profile.HOOKS)

    @property
    def broken(self) -> tuple[RuleVerdict, ...]:
        """The rules that fail, in the order to mend them: what breaks of itself first, the weakest profile first."""
        failing = (verdict for verdict in self.verdicts if verdict.verdict is Verdict.FAIL)
        return tuple(sorted(failing, key=lambda each: (each.following is not None, each.rule.profile.value)))

    @property
    def hindrances(self) -> tuple[Profile, tuple[RuleVerdict, ...]] | None:
        """The weakest profile that is not kept, and the MUSTs of it that keep it from being so."""
        unkept = next((profile for profile in STRONGER if not keeps(self.verdicts, profile)), None)
        if unkept is None:
            return None
        hindering = (each for each in self.verdicts if binds(each.rule, unkept) and not is_good(each))
        return unkept, tuple(hindering)

    @property
    def is_whole(self) -> bool:
        """Whether every rule was asked for; of some of them no profile can be said."""
        return len(self.verdicts) == len(RULES)

    @property
    def exit_code(self) -> int:
        """0 kept, 1 broken or a stale baseline, 3 undecided, 4 the suite's or the adapter's fault, 130 interrupted."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        if any(verdict.is_broken_must for verdict in self.verdicts) or self.stale:
            return EXIT_BROKEN
        if self.diagnoses:
            return EXIT_FAULT
        if any(verdict.is_undecided_must for verdict in self.verdicts) or self.lacking:
            return EXIT_UNDECIDED
        return EXIT_KEPT

    @property
    def lacking(self) -> tuple[AnyRule, ...]:
        """Each MUST of the profile that was asked for that is not applicable here."""
        return tuple(
            verdict.rule
            for verdict in self.verdicts
            if verdict.verdict is Verdict.NOT_APPLICABLE
            and not verdict.rule.where_declared
            and self.asked is not None
            and binds(verdict.rule, self.asked)
        )

    @property
    def idle(self) -> tuple[KnownFailure, ...]:
        """Each entry of the baseline that lists nothing here, though its rule was decided.

        Of a rule that was left out or not decided nothing is known, nor of any in an interrupted run.
        """
        if self.interrupted:
            return ()
        decided = {verdict.rule.id for verdict in self.verdicts if verdict.verdict not in UNDECIDED}
        used = {example.known for verdict in self.verdicts for example in verdict.counterexamples}
        return tuple(entry for entry in self.baseline if entry.rule in decided and entry not in used)

    @property
    def stale(self) -> tuple[KnownFailure, ...]:
        """Each idle entry that is to be deleted: not a flaky one, whose rule may hold, unless it is not applicable."""
        judged = {verdict.rule.id for verdict in self.verdicts if verdict.verdict is not Verdict.NOT_APPLICABLE}
        return tuple(entry for entry in self.idle if entry.kind != "flaky" or entry.rule not in judged)


def binds(rule: AnyRule, profile: Profile) -> bool:
    """Tell whether a rule is a MUST of a profile."""
    return rule.level is Level.MUST and profile.contains(rule.profile)


def is_good(verdict: RuleVerdict) -> bool:
    """Tell whether a rule keeps no profile from being kept."""
    return verdict.verdict in (Verdict.PASS, Verdict.KNOWN) or (
        verdict.verdict is Verdict.NOT_APPLICABLE and verdict.rule.where_declared
    )


def keeps(verdicts: Sequence[RuleVerdict], profile: Profile) -> bool:
    """Tell whether every MUST of a profile was judged, and passes or is known; some count only where declared."""
    good = {verdict.rule.id for verdict in verdicts if is_good(verdict)}
    return all(rule.id in good for rule in RULES if binds(rule, profile))


def enough_for(rule: AnyRule) -> int:
    """Say how often each situation of a rule must be reached for it to pass."""
    return ENOUGH_REFUSALS if rule.about is Configured else ENOUGH


def unbroken(rule: AnyRule, reached: Mapping[str, int], broken: Collection[str], *, went_wrong: bool) -> RuleVerdict:
    """Say the verdict of an applicable rule that nothing broke, by how often each situation asked of it was reached.

    Where that is too seldom, what went wrong beside the rules may be why, or else the rules that are ``broken``.
    """
    enough = enough_for(rule)
    never = [situation for situation, count in reached.items() if count == 0]
    seldom = [f"{situation} ({count} of {enough} times)" for situation, count in reached.items() if 0 < count < enough]
    if not never and not seldom:
        return RuleVerdict(rule, Verdict.PASS, reached)
    why = [f"never reached: {'; '.join(never)}"] if never else []
    why += [f"seldom reached: {'; '.join(seldom)}"] if seldom else []
    verdict = Verdict.NOT_EXERCISED
    if went_wrong:
        verdict = Verdict.COULD_NOT_RUN
        why.append("see what went wrong beside the rules")
    elif broken:
        verdict = Verdict.BLOCKED
        more = len(broken) - MOST_NAMED
        why.append(f"broken: {', '.join(list(broken)[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''}")
    return RuleVerdict(rule, verdict, reached, reason="; ".join(why))


def marked(verdict: RuleVerdict) -> RuleVerdict:
    """Say of a broken rule whether it fails or is known, by the marks of its counterexamples, and sort these by them.

    What no baseline lists comes first. A rule without a counterexample fails: nothing shows that it is the known one.
    """
    examples = sorted(verdict.counterexamples, key=lambda example: example.known is not None)
    reasons = dict.fromkeys(example.known.reason for example in examples if example.known is not None)
    is_known = bool(examples) and examples[0].known is not None
    return evolve(
        verdict,
        verdict=Verdict.KNOWN if is_known else Verdict.FAIL,
        counterexamples=tuple(examples),
        reason="; ".join(reasons) if is_known else "",
    )

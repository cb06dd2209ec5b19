"""What a run says of each rule, of the profiles, and of itself: verdicts and the exit code."""

from collections.abc import Mapping, Sequence
from enum import Enum

from attrs import field, frozen

from tercet_conformance.driver import Diagnosis
from tercet_spec.judgement import Finding
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


UNDECIDED = (Verdict.NOT_EXERCISED, Verdict.BLOCKED, Verdict.COULD_NOT_RUN)
EXIT_KEPT, EXIT_BROKEN, EXIT_USAGE, EXIT_UNDECIDED, EXIT_FAULT, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
INCOMPLETE = frozenset({Profile.DURABLE})
"""Profiles with rules that are not written yet: they are not reported."""


@frozen
class Counterexample:
    """A scenario that breaks a rule, its first finding, and the file that it was saved in.

    One that was ``seen_once`` broke the rule when it was found, and not when it was run again.
    """

    scenario: Scenario
    finding: Finding
    saved: str | None = None
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
    def is_broken_must(self) -> bool:
        """Whether this fails the run."""
        return self.verdict is Verdict.FAIL and self.rule.level is Level.MUST

    @property
    def is_undecided_must(self) -> bool:
        """Whether this leaves the run without an answer."""
        return self.verdict in UNDECIDED and self.rule.level is Level.MUST


@frozen
class Report:
    """All that a run says; ``unsupported`` counts scenarios that cannot be said in the implementation's messages."""

    description: Description
    verdicts: tuple[RuleVerdict, ...]
    diagnoses: tuple[tuple[Diagnosis, Scenario | None], ...] = ()
    scenarios: int = 0
    unsupported: int = 0
    steps: int = 0
    seconds: float = 0.0
    seed: int = 0
    budget: str = "standard"
    asked: Profile | None = None
    interrupted: bool = False

    @property
    def kept(self) -> Profile | None:
        """The strongest profile that is wholly kept, of those whose rules are all written."""
        kept = None
        for profile in Profile:
            if profile in INCOMPLETE or not keeps(self.verdicts, profile):
                break
            kept = profile
        return kept

    @property
    def is_whole(self) -> bool:
        """Whether every rule was asked for; of some of them no profile can be said."""
        return len(self.verdicts) == len(RULES)

    @property
    def exit_code(self) -> int:
        """0 kept, 1 broken, 3 undecided, 4 the suite's or the adapter's fault, 130 interrupted."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        if any(verdict.is_broken_must for verdict in self.verdicts):
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
            if verdict.verdict is Verdict.NOT_APPLICABLE and self.asked is not None and binds(verdict.rule, self.asked)
        )


def binds(rule: AnyRule, profile: Profile) -> bool:
    """Tell whether a rule is a MUST of a profile."""
    return rule.level is Level.MUST and rule.profile <= profile


def keeps(verdicts: Sequence[RuleVerdict], profile: Profile) -> bool:
    """Tell whether every MUST of a profile was judged, and passes or is known."""
    good = {verdict.rule.id for verdict in verdicts if verdict.verdict in (Verdict.PASS, Verdict.KNOWN)}
    return all(rule.id in good for rule in RULES if binds(rule, profile))

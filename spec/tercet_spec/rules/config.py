"""What may be configured: the rules of the family ``config``."""

from collections.abc import Callable, Iterator

from tercet_spec.moments import Configured, Moment, Step
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation
from tercet_spec.vocabulary import LEAST_MAX_SUMMARY_TOKENS, Configuration


def too_few_kept(configuration: Configuration) -> str | None:
    return f"keepRecent {configuration.keep_recent}" if configuration.keep_recent < 1 else None


def too_small_bound(configuration: Configuration) -> str | None:
    bound = configuration.max_summary_tokens
    return f"maxSummaryTokens {bound}" if bound < LEAST_MAX_SUMMARY_TOKENS else None


def bad_trigger(configuration: Configuration) -> str | None:
    trigger = configuration.trigger
    if trigger.kind not in ("messages", "tokens"):
        return f"a trigger of {trigger.kind!r}"
    return f"a limit of {trigger.limit}" if trigger.limit < 1 else None


def two_managers(configuration: Configuration) -> str | None:
    return f"a {' and a '.join(configuration.beside)} beside summarization" if configuration.beside else None


def refuses(wrong: Callable[[Configuration], str | None]) -> Callable[[Configured, Moment | None], Iterator[Violation]]:
    """Make the relation of a rule that says what is refused."""

    def relation(configured: Configured, _: Moment | None) -> Iterator[Violation]:
        what = wrong(configured.configuration)
        if what and configured.problems is None:
            yield Violation(f"{what} is refused when configured", "it was accepted")

    return relation


def is_configured(wrong: Callable[[Configuration], str | None]) -> Callable[[Configured], bool]:
    return lambda configured: wrong(configured.configuration) is not None


def is_accepted(wrong: Callable[[Configuration], str | None]) -> Callable[[Configured], bool]:
    """Make the situation without which refusing everything would be enough."""
    return lambda configured: wrong(configured.configuration) is None and configured.problems is None


def thrashes(step: Step) -> bool:
    configuration = step.configuration
    if configuration.trigger.kind == "messages":
        return step.limit <= configuration.keep_recent + 1 + (step.system is not None)
    return step.limit <= configuration.max_summary_tokens


def thrash(step: Step, _: Moment | None) -> Iterator[Violation]:
    if thrashes(step) and not step.warnings:
        yield Violation(
            f"a limit of {step.limit} {step.configuration.trigger.kind} is warned of", "there was no warning"
        )


RULES = (
    Rule(
        id="config.keep-recent",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="keepRecent is at least 1; anything else is refused when configured.",
        why="With nothing kept, the message that the user just wrote is summarised away.",
        about=Configured,
        relation=refuses(too_few_kept),
        situations={
            "a keepRecent below 1": is_configured(too_few_kept),
            "a keepRecent that is accepted": is_accepted(too_few_kept),
        },
        needs=frozenset({"refuses"}),
    ),
    Rule(
        id="config.max-summary",
        level=Level.MUST,
        profile=Profile.BOUNDED,
        origin=Origin.SOURCE,
        statement="maxSummaryTokens is at least 32; anything else is refused when configured.",
        why="A bound below a sentence leaves a summary that says nothing.",
        about=Configured,
        relation=refuses(too_small_bound),
        situations={
            "a maxSummaryTokens below 32": is_configured(too_small_bound),
            "a maxSummaryTokens that is accepted": is_accepted(too_small_bound),
        },
        needs=frozenset({"refuses", "bound"}),
    ),
    Rule(
        id="config.trigger",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="A trigger's limit is at least 1, and it is of tokens or of messages.",
        why="A limit of nothing, or of something unknown, is a mistake that must not wait for the first long thread.",
        about=Configured,
        relation=refuses(bad_trigger),
        situations={
            "a trigger that may not be": is_configured(bad_trigger),
            "a trigger that is accepted": is_accepted(bad_trigger),
        },
        needs=frozenset({"refuses"}),
    ),
    Rule(
        id="config.one-of-two",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="Summarization and a pruning context window are not used together, nor two summarizers on "
        "one key; such a configuration is refused.",
        why="Two that each leave out messages leave out more than either has covered.",
        about=Configured,
        relation=refuses(two_managers),
        situations={
            "two context managers on one thread": is_configured(two_managers),
            "one alone, accepted": is_accepted(two_managers),
        },
        needs=frozenset({"refuses", "beside"}),
    ),
    Rule(
        id="config.thrash",
        level=Level.SHOULD,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="A limit that every added message passes is warned of when configured: a message limit of at most "
        "keepRecent + 1 (one more with a system prompt), a token limit of at most maxSummaryTokens.",
        why="It fires at every step; nobody wants that, and nobody sees it until the bill.",
        about=Step,
        relation=thrash,
        situations={"a limit that every message passes": thrashes},
        needs=frozenset({"warns"}),
    ),
)

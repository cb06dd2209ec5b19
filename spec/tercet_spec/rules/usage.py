"""Which calls a thread counts: the rules of the family ``usage``."""

from collections.abc import Iterator, Sequence

from attrs import frozen

from tercet_spec.moments import Change, Moment, Step
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation, declares


@frozen
class Counted:
    """A call of a step, and how often its tokens were counted; ``None`` where the sum does not tell."""

    name: str
    of_the_model: bool
    times: int | None


def counted(step: Step) -> list[Counted]:
    """Say of each call of a step how often the thread's usage counts it.

    Where every call reports another power of four, the sum tells it of each; else only whether all
    were counted once.
    """
    calls = [(f"call {n} of the compressor", False, exchange.usage) for n, exchange in enumerate(step.exchanges, 1)]
    calls += [(f"call {n} of the model", True, attempt.usage) for n, attempt in enumerate(step.attempts, 1)]
    grown = step.shown_after.usage - step.shown_before.usage
    return [
        Counted(name, model, n) for (name, model, _), n in zip(calls, times([c[2] for c in calls], grown), strict=True)
    ]


def times(weights: Sequence[int], grown: int) -> Sequence[int | None]:
    """Take a sum apart into how often each weight is in it."""
    if grown == sum(weights):
        return [1] * len(weights)
    found = [grown // weight % 4 if weight > 0 and grown >= 0 else 0 for weight in weights]
    tells = sum(n * weight for n, weight in zip(found, weights, strict=True)) == grown
    return found if tells else [None] * len(weights)


def is_compressors_alone(calls: Sequence[Counted]) -> bool:
    """Tell whether the model's calls are counted once each, and of the compressor's at least one is not counted."""
    model = all(call.times == 1 for call in calls if call.of_the_model)
    return model and any(call.times == 0 for call in calls if not call.of_the_model)


def compressor(step: Step, _: Moment | None) -> Iterator[Violation]:
    calls = counted(step)
    if is_compressors_alone(calls):
        missing = next(call for call in calls if not call.of_the_model and call.times == 0)
        yield Violation("the compressor's calls are counted in the thread's usage", f"{missing.name} is not")


def every_call(moment: Step | Change, _: Moment | None) -> Iterator[Violation]:
    if isinstance(moment, Change):
        if moment.kind in ("kept", "blocked") and moment.shown_after.usage != moment.shown_before.usage:
            fewer = moment.shown_after.usage < moment.shown_before.usage
            yield Violation(
                f"the turn was {moment.kind}: usage stays",
                "it is less than before" if fewer else "it is more than before",
            )
        return
    if moment.left and moment.shown_before.usage != moment.left.usage:
        yield Violation("no call was made in between: usage stays", "it was changed")
    calls = counted(moment)
    wrong = [call for call in calls if call.times != 1 and not (is_compressors_alone(calls) and call.times == 0)]
    if not calls and moment.shown_after.usage != moment.shown_before.usage:
        yield Violation("no call was made: usage stays", "it was changed")
    elif wrong and wrong[0].times is None:
        yield Violation("usage grows by what the step's calls reported, each once", "it grew by another sum")
    elif wrong:
        yield Violation("every call is counted once", f"{wrong[0].name} is counted {wrong[0].times} times")


RULES = (
    Rule(
        id="usage.compressor",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.SOURCE,
        statement="A model compressor's calls are counted in the thread's usage.",
        why="A summary costs what a model call costs; a budget that does not see it is overdrawn.",
        about=Step,
        relation=compressor,
        situations={
            "a firing": lambda step: step.fired,
            "a compressor that failed": lambda step: any(exchange.failure for exchange in step.exchanges),
        },
        needs=frozenset({"usage"}),
    ),
    Rule[Step | Change](
        id="usage.every-call",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.SOURCE,
        statement="Every call is counted, once: also of a failed or cancelled step, of a retried attempt, of a blocked "
        "turn.",
        why="The provider bills what was asked, not what was kept.",
        about=(Step, Change),
        relation=every_call,
        situations={
            "a step that was committed": lambda moment: isinstance(moment, Step) and moment.outcome == "committed",
            "a step that was not committed": lambda moment: (
                isinstance(moment, Step) and moment.outcome != "committed" and bool(moment.attempts or moment.exchanges)
            ),
            "a step that tried more than once": lambda moment: isinstance(moment, Step) and len(moment.attempts) > 1,
            "a turn that was blocked": lambda moment: isinstance(moment, Change) and moment.kind == "blocked",
        },
        needs=frozenset({"usage"}),
        only_with={
            "a step that tried more than once": declares("attempts"),
            "a turn that was blocked": declares("turns", "summary-shown"),
        },
    ),
)

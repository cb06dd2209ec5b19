"""Where the thread is cut: the rules of the family ``cut``."""

from collections.abc import Iterator

from tercet_spec.moments import Moment, Step
from tercet_spec.pairs import is_legal, separated
from tercet_spec.requests import usable_cuts
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation


def keeps_recent(step: Step, _: Moment | None) -> Iterator[Violation]:
    keep = step.configuration.keep_recent
    recent = range(max(step.start, len(step.history) - keep), len(step.history))
    for number, attempt in enumerate(step.attempts):
        sent = {part.position for part in attempt.parts if part.unchanged}
        for position in recent:
            if position not in sent and position < step.covered(attempt):
                yield Violation(
                    f"the last {keep} messages of the tail are sent as they are",
                    "one of them is covered",
                    position,
                    number,
                )
                break


def pairs(step: Step, _: Moment | None) -> Iterator[Violation]:
    for cut in step.cuts:
        if not is_legal(step.pairs, step.start, cut):
            stranded = next(
                result.position
                for result, call in step.pairs.items()
                if call and step.start <= call.position < cut <= result.position
            )
            yield Violation(
                "no result after the cut answers a call before it", "a result is left without its call", stranded
            )
    for number, attempt in enumerate(step.attempts):
        for present, missing in separated(step.pairs, attempt.positions):
            what = "a result" if present > missing else "a call"
            partner = "its call's message" if present > missing else "the last result of it"
            yield Violation(f"{what} is sent only with {partner}", f"{what} is sent without {partner}", present, number)


def reaches(step: Step, _: Moment | None) -> Iterator[Violation]:
    for cut in step.cuts:
        if step.usable and cut < step.usable[-1] and is_legal(step.pairs, step.start, cut):
            yield Violation(
                f"the cut is the latest usable one, before message {step.usable[-1] + 1}",
                f"it is before message {cut + 1}",
                cut,
            )


def nothing_to_cover(step: Step, _: Moment | None) -> Iterator[Violation]:
    if step.usable or only_pending_forbids(step):
        return
    if step.fired:
        yield Violation("with no usable cut the compressor is not called", "it was called")
    elif "summary-shown" in step.description.capabilities and step.shown_after.summary != step.shown_before.summary:
        yield Violation("with no usable cut the key is not written", "it was written")


def only_pending_forbids(step: Step) -> bool:
    """Tell whether a cut would be usable if no call were pending: firing there is cut.pending's to judge."""
    return bool(step.pending_calls and without_pending(step))


def without_pending(step: Step) -> tuple[int, ...]:
    """The cuts that would be usable if no call were pending."""
    return usable_cuts(step.history, step.pairs, step.start, step.configuration.keep_recent)


def pending(step: Step, _: Moment | None) -> Iterator[Violation]:
    waiting = [call.position for call in step.pending_calls if call.position >= step.start]
    for cut in step.cuts:
        if waiting and cut > min(waiting):
            yield Violation(
                f"the cut stays before the pending call of message {min(waiting) + 1}",
                f"it is before message {cut + 1}",
                min(waiting),
            )


def pending_holds_the_cut(step: Step) -> bool:
    """A step past the limit whose latest cut would be later if no call were pending."""
    return bool(step.pending_calls) and step.size > step.limit and without_pending(step) != step.usable


def sends_a_result(step: Step) -> bool:
    return any(step.history[p].answers for attempt in step.attempts for p in attempt.positions)


def cut_would_split(step: Step) -> bool:
    """A firing whose cut had to move: the one that keepRecent alone would give is illegal."""
    cut = len(step.history) - step.configuration.keep_recent
    return step.fired and cut > step.start and not is_legal(step.pairs, step.start, cut)


def late_result(step: Step) -> bool:
    return bool(step.stands and step.called_back(step.start))


RULES = (
    Rule(
        id="cut.keeps-recent",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.SOURCE,
        statement="The last keepRecent messages of the tail (all, if fewer) are sent as they are. "
        "Raising keepRecent uncovers nothing.",
        why="The model acts on the latest messages; a summary in their place makes it answer a paraphrase.",
        about=Step,
        relation=keeps_recent,
        situations={
            "a firing": lambda step: step.cut is not None,
            "a tail shorter than keepRecent": lambda step: (
                len(step.history) - step.start < step.configuration.keep_recent
            ),
        },
    ),
    Rule(
        id="cut.pairs",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.SOURCE,
        statement="A new cut is legal. In every request a result is sent only with its call's message, and a "
        "call's message only with the last result so far of each of its calls.",
        why="Every provider refuses a request that holds a tool result without its call.",
        about=Step,
        relation=pairs,
        situations={
            "a result is sent": sends_a_result,
            "the cut had to move to stay legal": cut_would_split,
        },
    ),
    Rule(
        id="cut.reaches",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="The cut is the latest usable one: it moves earlier to stay legal, never later, and no earlier than "
        "it has to.",
        why="A cut that covers less than it could fires again at once, and pays for each firing.",
        about=Step,
        relation=reaches,
        situations={
            "a firing with a usable cut": lambda step: step.cut is not None and bool(step.usable),
            "the cut had to move to stay legal": lambda step: cut_would_split(step) and bool(step.usable),
        },
    ),
    Rule(
        id="cut.nothing-to-cover",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="With no usable cut, the request is sent as it is, the compressor is not called, the key is not "
        "written.",
        why="A compressor asked for nothing writes a summary of nothing, at a price.",
        about=Step,
        relation=nothing_to_cover,
        situations={"past the limit with no usable cut": lambda step: step.size > step.limit and not step.usable},
    ),
    Rule(
        id="cut.pending",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="A new cut also stays before every call that the host names as pending (an approval, a long job), "
        "answered so far or not; it is named by its message and call. Pending never ends a summary that stands.",
        why="A call that still waits gets its final result later: covered by then, the result finds no call.",
        about=Step,
        relation=pending,
        situations={
            "a pending call holds the cut back": lambda step: pending_holds_the_cut(step) and bool(step.usable),
            "a pending call leaves no usable cut": lambda step: pending_holds_the_cut(step) and not step.usable,
            "a call that the summary covers is pending": lambda step: any(
                call.position < step.start for call in step.pending_calls
            ),
        },
        needs=frozenset({"pending"}),
        where_declared=True,
    ),
)

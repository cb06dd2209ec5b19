"""How long a summary may be: the rules of the family ``bound``."""

from collections.abc import Iterator

from tercet_spec.characters import bounded, is_half, length, tokens, trimmings
from tercet_spec.moments import Moment, Step
from tercet_spec.readings import Part
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation, declares


def summaries(step: Step) -> Iterator[tuple[int, Part, str]]:
    """The summaries in a step's requests: (attempt, part, the text that it is a beginning of)."""
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        if part is None or part.text is None or part.made is None:
            continue
        if step.is_new(part):
            yield number, part, part.made.text
        elif step.stored and part.made is step.stored_made:
            yield number, part, step.stored.text


def excess(text: str, step: Step) -> str | None:
    """Say by how much a text is over the bound, or return ``None``."""
    count = tokens(text, step.description.character)
    limit = step.configuration.max_summary_tokens
    return f"it has {count} tokens" if count > limit else None


def allowed(step: Step) -> str:
    return f"at most {step.configuration.max_summary_tokens} tokens of four {step.description.character}s"


def stored(step: Step, _: Moment | None) -> Iterator[Violation]:
    summary = step.shown_after.summary
    if summary and summary != step.shown_before.summary and (over := excess(summary.text, step)):
        yield Violation(f"the stored summary has {allowed(step)}", over)


def sent(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        if part and part.text is not None and (over := excess(part.text, step)):
            yield Violation(f"the summary in the request has {allowed(step)}", over, attempt=number)
    shown = "summary-shown" in step.description.capabilities
    if shown and cut_when_sent(step) and not step.fired and step.shown_after.summary != step.shown_before.summary:
        yield Violation("a stored summary that is cut when sent stays as it is in the key", "it was changed")


def longest(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, part, answer in summaries(step):
        text = part.text or ""
        kept = beginnings(step, answer)
        spoken_for = text in kept or excess(text, step) or is_broken(text, answer) or by_counter(step, text, answer)
        if not spoken_for:
            count, most = (length(each, step.description.character) for each in (text, kept[0]))
            yield Violation(
                f"the longest beginning within the bound is kept: {most} characters",
                f"{count} characters are kept"
                if any(t.startswith(text) for t in trimmings(answer))
                else "it is another text",
                attempt=number,
            )


def beginnings(step: Step, answer: str) -> list[str]:
    """The texts that may be kept of an answer, with and without outer white space."""
    maximum = step.configuration.max_summary_tokens
    return [bounded(trimmed, maximum, step.description.character) for trimmed in trimmings(answer)]


def is_broken(text: str, answer: str) -> bool:
    """Tell whether a text ends in half a character that the answer does not hold there."""
    head = text.rstrip("\ufffd")
    while head and is_half(head[-1]):
        head = head[:-1]
    return head != text and any(
        trimmed.startswith(head) and not trimmed.startswith(text) for trimmed in trimmings(answer)
    )


def whole_characters(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, part, answer in summaries(step):
        if is_broken(part.text or "", answer):
            yield Violation(
                "the cut leaves whole characters only", f"it ends in {(part.text or '')[-1]!a}", attempt=number
            )


def by_counter(step: Step, text: str, answer: str) -> bool:
    """Tell whether a text is what the tokenCounter, taken for the bound's measure, would have kept."""
    counter, character = step.configuration.token_counter, step.description.character
    maximum = step.configuration.max_summary_tokens
    kept = beginnings(step, answer)
    for frame in ("", step.description.before + step.description.after):
        for base in (counter.base, 0):
            room = (maximum - base) * counter.divisor - length(frame, character)
            for trimmed in trimmings(answer):
                fits = length(text, character) <= room
                more = trimmed[: len(text) + 1]
                if trimmed.startswith(text) and text not in kept and fits and length(more, character) > room:
                    return True
    return False


def own_measure(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, part, answer in summaries(step):
        if by_counter(step, part.text or "", answer):
            yield Violation(
                "the bound is measured at four characters a token",
                "the text was cut where the tokenCounter has the bound",
                attempt=number,
            )


def cut_when_sent(step: Step) -> bool:
    """The stored text is longer than the bound in force."""
    return bool(step.stands and step.stored and step.stored.text != step.stands.text)


def is_cut(step: Step) -> bool:
    return any(excess(answer, step) for _, _, answer in summaries(step))


def is_just_within(step: Step) -> bool:
    room = 4 * step.configuration.max_summary_tokens
    return any(room - 4 < length(answer, step.description.character) <= room for _, _, answer in summaries(step))


def has_wide_character_at_the_cut(step: Step) -> bool:
    """The first character that does not fit is one of several units or bytes."""
    for _, _, answer in summaries(step):
        kept = bounded(answer, step.configuration.max_summary_tokens, step.description.character)
        if answer[len(kept) : len(kept) + 1] > "\uffff":
            return True
    return False


def counters_differ(step: Step) -> bool:
    """The tokenCounter would cut the text at another place than the bound does."""
    counter, maximum = step.configuration.token_counter, step.configuration.max_summary_tokens
    own, others = 4 * maximum, (maximum - counter.base) * counter.divisor
    return own != others and any(
        length(answer, step.description.character) > min(own, others) for _, _, answer in summaries(step)
    )


RULES = (
    Rule(
        id="bound.stored",
        level=Level.MUST,
        profile=Profile.BOUNDED,
        origin=Origin.SOURCE,
        statement="When it is stored, a summary's text has at most the maxSummaryTokens then in force.",
        why="A summary without any bound grows with each firing until it alone is past the limit.",
        about=Step,
        relation=stored,
        situations={
            "a text over the bound was stored": lambda step: is_cut(step) and step.outcome == "committed" and step.fired
        },
        needs=frozenset({"bound", "summary-shown"}),
    ),
    Rule(
        id="bound.sent",
        level=Level.MUST,
        profile=Profile.BOUNDED,
        origin=Origin.SOURCE,
        statement="The text in every request has at most the maxSummaryTokens then in force: a stored one that is "
        "longer (the limit was lowered) is cut when sent, and the key stays as it is.",
        why="A limit that was lowered must hold for the threads that are there already.",
        about=Step,
        relation=sent,
        situations={"a text over the bound": is_cut, "a stored text over a lowered bound": cut_when_sent},
        needs=frozenset({"bound"}),
        only_with={"a stored text over a lowered bound": declares("configure")},
    ),
    Rule(
        id="bound.longest",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="What is kept is the longest beginning of whole characters within the bound; a text within it is not "
        "touched (but outer white space may be left out, before the cut). Of the compressor's answer in the request "
        "that fired, of the stored text later.",
        why="The bound is what a caller pays for: a text cut shorter loses what was promised room.",
        about=Step,
        relation=longest,
        situations={"a text over the bound": is_cut, "a text just within the bound": is_just_within},
        needs=frozenset({"bound"}),
    ),
    Rule(
        id="bound.whole-characters",
        level=Level.MUST,
        profile=Profile.BOUNDED,
        origin=Origin.OURS,
        statement="The cut leaves no half character (Unicode scalar value). A half that the compressor itself returned "
        "is not the cut's.",
        why="A request with half a character is refused, and so is every retry of it.",
        about=Step,
        relation=whole_characters,
        situations={"a wide character at the cut": has_wide_character_at_the_cut},
        needs=frozenset({"bound"}),
    ),
    Rule(
        id="bound.own-measure",
        level=Level.MUST,
        profile=Profile.BOUNDED,
        origin=Origin.SOURCE,
        statement="The bound is measured at four characters a token, never with tokenCounter.",
        why="The counter is made for the trigger and may be anyone's; the bound must mean the same with each.",
        about=Step,
        relation=own_measure,
        situations={"the tokenCounter would cut elsewhere": counters_differ},
        needs=frozenset({"bound", "token-trigger"}),
    ),
)

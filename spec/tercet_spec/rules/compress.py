"""What the compressor is given, and what comes of its failure: the rules of the family ``compress``."""

from collections.abc import Iterator, Sequence

from tercet_spec.characters import trimmings
from tercet_spec.moments import Attempt, Exchange, Moment, Step
from tercet_spec.readings import markers
from tercet_spec.requests import as_bounded
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation, keeps_late_results


def span(step: Step, _: Moment | None) -> Iterator[Violation]:
    for firing in step.firings(step.exchanges):
        given = joined(firing)
        spans = [readable(firing, step, span) for span in spans_of(firing, step, given)]
        if not given or not any(list(given) == span[: len(given)] for span in spans):
            yield Violation(
                "the compressor is given the tail's messages before the cut, each once and in order"
                + (f": {numbers(spans[0])}" if spans[0] else ""),
                f"it was given {numbers(given)}{hint(firing, step)}",
                first_difference(given, spans[0]),
            )
        elif changed := frozenset[int]().union(*(exchange.given.changed for exchange in firing)):
            yield Violation("each of them unchanged", f"message {min(changed) + 1} was changed", min(changed))
        for part in (part for exchange in firing for part in exchange.given.others):
            alien = alien_part(step, part.message.role, part.message.content, part.kind)
            if alien:
                yield Violation("the compressor is given messages of the tail only", f"it was given {alien} too")


def joined(firing: Sequence[Exchange]) -> tuple[int, ...]:
    """Join the parts of one firing; a part that was asked again counts once."""
    given: tuple[int, ...] = ()
    for exchange in firing:
        part = exchange.given.positions
        given = tuple(position for position in given if position < min(part, default=-1)) + part
    return given


def spans_of(firing: Sequence[Exchange], step: Step, given: Sequence[int]) -> list[list[int]]:
    """The spans that a firing may be for: that which ends where it ends; longer ones too, if it failed in a part."""
    cut = max((position for position in given if position >= step.start), default=step.start - 1) + 1
    unfinished = step.description.parts and firing[-1].failed(step.configuration, step.description)
    cuts = range(cut, len(step.history) + 1 if unfinished else cut + 1)
    return [[*step.called_back(step.start, end), *range(step.start, end)] for end in cuts]


def readable(firing: Sequence[Exchange], step: Step, span: Sequence[int]) -> list[int]:
    """Leave out of a span what cannot be known in prose."""
    known = set(markers(step.history).values()) if any(exchange.given.prose for exchange in firing) else set(span)
    return [position for position in span if position in known]


def alien_part(step: Step, role: str, content: str, kind: str) -> str | None:
    """Name what a message is that the compressor may not be given; an implementation's own prompt is none."""
    if role == "system" and content == step.system:
        return "the system prompt"
    if kind == "unstored":
        return "an unstored message"
    return "a summary message" if kind == "summary" and step.stands and step.stands.text in content else None


def numbers(positions: Sequence[int]) -> str:
    """Write positions as a reader counts messages, from 1."""
    return "messages " + ", ".join(str(position + 1) for position in positions) if positions else "none"


def hint(firing: Sequence[Exchange], step: Step) -> str:
    """Say what to declare where all that was given is of other words: prose made from what has no marker, it may be."""
    others = [part for exchange in firing for part in exchange.given.others if part.kind == "other"]
    is_prose = bool(others) and not joined(firing)
    declared = "exact-input" in step.description.capabilities
    return "; where prose is meant, exact-input is not declared" if declared and is_prose else ""


def first_difference(seen: Sequence[int], expected: Sequence[int]) -> int | None:
    missing = [position for position in expected if position not in seen]
    extra = [position for position in seen if position not in expected]
    return next(iter(missing + extra), None)


def so_far(step: Step, _: Moment | None) -> Iterator[Violation]:
    for firing in step.firings(step.exchanges):
        texts = trimmings(step.stands.text) if step.stands else ()
        made = step.stored_made if step.stands else None
        for number, exchange in enumerate(firing):
            given = exchange.given
            if number and given.begins_as(firing[0].given):
                texts, made = trimmings(step.stands.text) if step.stands else (), step.stored_made
            same = given.so_far in texts if texts else given.so_far is None
            if given.prose and texts:
                same = given.extends is not None and given.extends is made
            if not same:
                expected = f"it is given {texts[0][:24]!r}" if texts else "none applies: it is given none"
                seen = "none" if given.so_far is None else repr(given.so_far[:24])
                yield Violation(f"of the summary so far, {expected}", f"it was given {seen}")
            if step.description.parts and exchange.reply and not exchange.failed(step.configuration, step.description):
                texts, made = texts_so_far(exchange.reply, step), exchange.made


def texts_so_far(reply: str, step: Step) -> tuple[str, ...]:
    """The texts that a part may go on from: the answer to the part before, bounded or as it was returned."""
    whole = trimmings(reply)
    return whole + tuple(as_bounded(text, step.configuration, step.description) for text in whole)


def last_failed(step: Step) -> Exchange | None:
    """The step's last question to the compressor, where nothing may come of its answer."""
    if step.exchanges and step.exchanges[-1].failed(step.configuration, step.description):
        return step.exchanges[-1]
    return None


def once_only(step: Step, _: Moment | None) -> Iterator[Violation]:
    if step.stands is None:
        return
    for firing in step.firings(step.exchanges):
        given = joined(firing)
        may_be = {position for span in spans_of(firing, step, given) for position in span}
        again = [position for position in given if step.opening <= position < step.start and position not in may_be]
        if again:
            yield Violation(
                "the summary is extended: no message that it covers is given to the compressor again",
                f"it was given {numbers(again)} again",
                again[0],
            )


def failure(step: Step, _: Moment | None) -> Iterator[Violation]:
    failed = last_failed(step)
    if failed is None:
        return
    after = [(n, attempt) for n, attempt in enumerate(step.attempts) if attempt.asked == len(step.exchanges)]
    for number, attempt in after:
        if wrong := wrong_summary(step, attempt):
            yield Violation("nothing of a failed compressor is a summary", wrong, attempt=number)
            return
    if step.description.failed_compressor == "fails":
        if after:
            yield Violation("the compressor failed: the step fails and no model is called", "the model was called")
        elif step.outcome == "committed":
            yield Violation("the compressor failed: the step fails", "it was committed")
    elif failed.failure in (None, "failed") and not after:
        yield Violation("the compressor failed: the request is sent as measured", "no request was sent")
    if step.shown_after.summary != step.shown_before.summary:
        yield Violation("the compressor failed: the key stays as it was", "it was changed")
    if step.outcome != "committed" and step.shown_after.history != step.shown_before.history:
        yield Violation("the compressor failed: the history stays as it was", "it was changed")


def wrong_summary(step: Step, attempt: Attempt) -> str | None:
    """Say what stands in a request as a summary that may not: a text of this step, or none of a compressor's."""
    part = attempt.summary
    return f"the summary in the request is {(part.text or '')[:40]!r}" if part and step.replaces(attempt) else None


RULES = (
    Rule(
        id="compress.span",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="The compressor is given exactly the tail's messages before the cut, each once, in order, unchanged, "
        "and with a late result among them the messages that it calls back; never the system prompt, the summary "
        "message, an unstored message.",
        why="What is covered and was never given is lost without a trace.",
        about=Step,
        relation=span,
        situations={
            "a firing": lambda step: step.fired,
            "a firing with a summary in force": lambda step: step.fired and step.stands is not None,
            "a late result among the messages before the cut": lambda step: any(
                step.called_back(step.start, cut) for cut in step.cuts
            ),
        },
        only_with={"a late result among the messages before the cut": keeps_late_results},
    ),
    Rule(
        id="compress.so-far",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="The compressor is given the text of the summary so far, bounded; none where none applies. (The "
        "implementation's own summary message at the head of the list counts as that.)",
        why="A summary that does not extend the one before forgets everything that came before the tail.",
        about=Step,
        relation=so_far,
        situations={
            "the first firing": lambda step: step.fired and step.stands is None,
            "a firing with a summary in force": lambda step: step.fired and step.stands is not None,
        },
    ),
    Rule(
        id="compress.once-only",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.SOURCE,
        statement="The summary is extended: while it applies, no message that it covers is given to the compressor "
        "again (called-back ones aside).",
        why="A summary written anew each time costs more with each firing, and forgets what the one before kept.",
        about=Step,
        relation=once_only,
        situations={
            "a firing with a summary in force": lambda step: step.fired and step.stands is not None,
        },
    ),
    Rule(
        id="compress.failure",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.OURS,
        statement="A compressor that fails, or whose bounded text is empty or only white space (Unicode White_Space), "
        "changes nothing: history and key stay, nothing more is covered, its text or error is never a summary, its "
        "calls are counted. The step fails and no model is called, unless the implementation declares that it then "
        "sends the request as measured.",
        why="An outage of the compressor must not cost the thread: an error text kept as the summary replaces it for "
        "good.",
        about=Step,
        relation=failure,
        situations={
            "the compressor failed": lambda step: (e := last_failed(step)) is not None and e.reply is None,
            "the compressor's text was blank": lambda step: (
                (e := last_failed(step)) is not None and e.reply is not None
            ),
            "it failed with a summary in force": lambda step: last_failed(step) is not None and step.stands is not None,
        },
    ),
)

"""What is stored, and when: the rules of the family ``key``."""

from collections.abc import Iterator

from tercet_spec.moments import Change, Moment, Step
from tercet_spec.readings import Part, origin
from tercet_spec.requests import position_of, standing
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation, declares
from tercet_spec.vocabulary import Message, Summary


def history_untouched(step: Step, _: Moment | None) -> Iterator[Violation]:
    own, shown = step.history_after, step.shown_after.history
    if own != shown:
        position, seen = first_change(own, shown)
        yield Violation(f"the stored history holds the {len(own)} messages that were stored", seen, position)


def first_change(own: tuple[Message, ...], shown: tuple[Message, ...]) -> tuple[int, str]:
    """Find the first position where a history is not as it should be, and say what is there."""
    position = next(
        (n for n, (mine, theirs) in enumerate(zip(own, shown, strict=False)) if mine != theirs),
        min(len(own), len(shown)),
    )
    if position == len(own):
        return position, f"a message was added after message {position}"
    if position == len(shown):
        return position, f"the history ends before message {position + 1}"
    return position, f"message {position + 1} is another now"


def committed_summary(step: Step) -> Part | None:
    """The new summary in the request whose response was committed."""
    part = step.returned.summary if step.returned else None
    return part if part and step.is_new(part) else None


def through(step: Step, _: Moment | None) -> Iterator[Violation]:
    part, after = committed_summary(step), step.shown_after.summary
    if part is None or after is None or after == step.shown_before.summary or is_anothers(step):
        return
    exchange = next(exchange for exchange in step.exchanges if exchange.made is part.made)
    last = max(exchange.given.positions, default=None)
    if last is not None and after.through != step.history[last].id:
        position = position_of(step.history, after.through)
        yield Violation(
            f"the key names message {last + 1}, the last that was given to the compressor",
            f"it names {after.through!r}" if position is None else f"it names message {position + 1}",
            last,
        )
    if after.text != part.text:
        yield Violation("the key holds the text that was sent", f"it holds {after.text[:40]!r}")


def is_anothers(step: Step) -> bool:
    """Tell whether the key holds what was written for another request of the step than the one returned."""
    after = step.shown_after.summary
    if after is None or after == step.shown_before.summary or len(step.attempts) < 2 or step.returned is None:
        return False
    part = step.returned.summary
    made = origin(after.text, [exchange.made for exchange in step.exchanges if exchange.made])
    return made is not None and (part is None or part.made is not made)


def of_the_response(step: Step, _: Moment | None) -> Iterator[Violation]:
    if step.returned is not None and is_anothers(step):
        number = next(n for n, attempt in enumerate(step.attempts) if attempt is step.returned)
        expected = (
            "its summary is committed" if committed_summary(step) else "it made no summary, and the key stays as it was"
        )
        yield Violation(
            f"the response to request {number + 1} was returned: {expected}",
            "the summary of another request was committed",
            attempt=number,
        )
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        if part is None or part.made is None or part.made is step.stored_made or step.is_new(part):
            continue
        tail = {position for position in step.made_from(part.made.covers) if position >= step.start}
        is_past = step.size > step.limit
        if not is_past or tail != {position for position in expected_input(step) if position >= step.start}:
            yield Violation(
                "a summary that was not committed, or was taken back, applies to no other request",
                "it is in this one",
                attempt=number,
            )


def used_again(step: Step, before: Moment | None) -> Iterator[Violation]:
    """Find a request under a summary that the step before wrote and did not commit, for another input."""
    if not isinstance(before, Step) or before.outcome == "committed" or step.fired:
        return
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        if part is None or part.made is None or part.made is step.stored_made:
            continue
        made_then = [exchange for exchange in before.exchanges if exchange.made is part.made]
        if made_then and made_then[-1].given.positions != expected_input(step):
            yield Violation(
                f"the step before {ended(before)}: its summary applies to no other request",
                "it is in this one",
                attempt=number,
            )


def commits_with_step(step: Step, before: Moment | None) -> Iterator[Violation]:
    shown = "summary-shown" in step.description.capabilities
    if step.outcome != "committed" and step.stored_after != step.stored:
        yield Violation(f"the step {ended(step)}: the stored summary stays as it was", "it was changed")
    if shown and committed_summary(step) and step.shown_after.summary == step.shown_before.summary:
        yield Violation("the new summary is committed with the step", "the key is as it was")
    if shown and step.left and step.shown_before.summary not in (None, step.left.summary):
        yield Violation("the key is written with a step's commit", "it was written in between")
    if not shown:
        yield from used_again(step, before)


def ended(step: Step) -> str:
    return {"failed": "failed", "cancelled": "was cancelled", "suspended": "was suspended"}.get(step.outcome, "ended")


def expected_input(step: Step) -> tuple[int, ...]:
    """The messages that the compressor would have to be given in this step."""
    if not step.usable:
        return ()
    return (*step.called_back(step.start, step.usable[-1]), *range(step.start, step.usable[-1]))


def forward(step: Step, _: Moment | None) -> Iterator[Violation]:
    left = step.left and step.left.summary
    if left and covered_under(step, left) > covered_under(step, step.stored):
        yield Violation("the key stays from one step's commit to the next", "it was changed in between")
        return
    if step.outcome != "committed" or step.stands is None or step.stored_after == step.stored:
        return
    if step.stored_after is None:
        yield Violation("what is covered only grows", "there is no summary any more")
        return
    position = position_of(step.history, step.stored_after.through)
    if position is not None and position + 1 < step.stands.start:
        yield Violation(
            f"what is covered only grows: it went as far as message {step.stands.start}",
            f"it goes as far as message {position + 1}",
            position,
        )


def covered_under(step: Step, summary: Summary | None) -> int:
    """Where the tail of a step's history would begin under a summary; -1 where that does not apply."""
    stands = standing(step.history, step.pairs, summary, step.configuration, step.description)
    return stands.start if stands else -1


def block(change: Change, _: Moment | None) -> Iterator[Violation]:
    if change.kind != "blocked":
        return
    after = change.shown_after
    if after.summary != change.then:
        expected = "there was none" if change.then is None else f"it was {change.then.text[:24]!r}"
        seen = "there is none" if after.summary is None else f"it is {after.summary.text[:24]!r}"
        same_text = after.summary is not None and change.then is not None and after.summary.text == change.then.text
        yield Violation(
            f"the turn is blocked: the key is what it was when the turn began ({expected})",
            "it names another message" if same_text else seen,
        )
    if after.history != change.history_after:
        position, seen = first_change(change.history_after, after.history)
        yield Violation("the turn is blocked: its messages are removed with it", seen, position)


def restore(change: Change, _: Moment | None) -> Iterator[Violation]:
    after = change.shown_after.summary
    if change.key is None or after is None or not touches_covered(change):
        return
    if change.kind == "restored":
        if after != change.then:
            yield Violation("the key is restored with the history, or cleared", "it is neither that point's nor empty")
        return
    held = set(change.history_after)
    fitting = [key.summary for key in change.earlier if held.issuperset(key.covered)]
    if after not in fitting:
        gone = next(
            n for n, message in enumerate(change.history) if message in change.key.covered and message not in held
        )
        yield Violation(
            f"message {gone + 1}, which the summary covers, was removed or edited: the key is an earlier one, or none",
            "it stands for that message still",
            gone,
        )


def touches_covered(change: Change) -> bool:
    """Tell whether what a thread's summary covers is restored, removed or edited."""
    if change.kind == "restored":
        return change.key is not None and change.key.summary != change.then
    return (
        change.kind == "edited" and change.key is not None and not set(change.key.covered) <= set(change.history_after)
    )


def wrote_in_the_turn(change: Change) -> bool:
    return change.kind == "blocked" and change.shown_before.summary != change.then


def did_not_commit(step: Step) -> bool:
    return step.written is not None and step.outcome != "committed"


def tried_again(step: Step) -> bool:
    """A step of several attempts that fired and was committed."""
    return step.fired and len(step.attempts) > 1 and step.outcome == "committed"


RULES = (
    Rule(
        id="key.history-untouched",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.SOURCE,
        statement="The stored history is never edited: summarising adds, removes and changes no message.",
        why="A history that was edited cannot be summarised again, shown, searched or audited.",
        about=Step,
        relation=history_untouched,
        situations={
            "a firing": lambda step: step.fired,
            "a firing with a summary in force": lambda step: step.fired and step.stands is not None,
        },
    ),
    Rule(
        id="key.through",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="The key names the stored id of the last message given to the compressor, and holds the text "
        "that was sent.",
        why="A key that names a later message hides messages from every later request.",
        about=Step,
        relation=through,
        situations={"a new summary was committed": lambda step: committed_summary(step) is not None},
        needs=frozenset({"summary-shown"}),
    ),
    Rule(
        id="key.commits-with-step",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.SOURCE,
        statement="The key is committed with the model step: a step that fails, is cancelled or is suspended leaves it "
        "as it was.",
        why="A summary kept from a step that never happened speaks of a thread that never was.",
        about=Step,
        relation=commits_with_step,
        situations={
            "a step did not commit after a firing": did_not_commit,
            "a new summary was committed": lambda step: step.written is not None and step.outcome == "committed",
        },
        needs=frozenset({"model-step"}),
    ),
    Rule(
        id="key.of-the-response",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.OURS,
        statement="When a step tries more than once (retry, fallback), what is committed is the summary in the request "
        "whose response the step returned; if that request made none, the key stays. A summary not committed applies "
        "to no other request, though its text may be used again for the same input.",
        why="The model answered one request: what another one covered, that answer never saw.",
        about=Step,
        relation=of_the_response,
        situations={
            "a step fired and tried more than once": tried_again,
            "a step did not commit after a firing": did_not_commit,
        },
        needs=frozenset({"model-step", "summary-shown"}),
        only_with={"a step fired and tried more than once": declares("attempts")},
    ),
    Rule(
        id="key.forward",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.OURS,
        statement="From one step's commit to the next (blocks, restores, edits aside), while the stored "
        "summary applies, what is covered only grows.",
        why="Messages that come back from under a summary are paid for twice, and read as new.",
        about=Step,
        relation=forward,
        situations={
            "a second firing was committed": lambda step: (
                step.fired and step.stands is not None and step.outcome == "committed"
            )
        },
    ),
    Rule(
        id="key.block",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.SOURCE,
        statement="An output Block restores the key to what it was when the turn began. The turn's messages are "
        "removed with it; usage stays. An id may come again later for another message.",
        why="A summary of what was blocked says it after all.",
        about=Change,
        relation=block,
        situations={
            "a turn was blocked": lambda change: change.kind == "blocked",
            "a turn was blocked that had written the key": wrote_in_the_turn,
        },
        needs=frozenset({"turns", "summary-shown"}),
    ),
    Rule(
        id="key.restore",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.OURS,
        statement="Whatever restores, removes or edits covered messages restores that point's key, or clears it, in "
        "the same commit.",
        why="A key that outlives what it covers hides messages, or stands for some that were taken back.",
        about=Change,
        relation=restore,
        situations={
            "a covered message was removed or edited": lambda change: (
                change.kind == "edited" and touches_covered(change)
            ),
            "a thread was restored to before its key was written": lambda change: (
                change.kind == "restored" and touches_covered(change)
            ),
        },
        needs=frozenset({"restores-key", "summary-shown"}),
        only_with={
            "a covered message was removed or edited": declares("edit"),
            "a thread was restored to before its key was written": declares("checkpoint"),
        },
        where_declared=True,
    ),
)

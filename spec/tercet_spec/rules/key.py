"""What is stored, and when: the rules of the family ``key``."""

from collections.abc import Iterator

from tercet_spec.moments import Moment, Step
from tercet_spec.readings import Part
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation
from tercet_spec.vocabulary import Summary


def history_untouched(step: Step, _: Moment | None) -> Iterator[Violation]:
    own, shown = step.history_after, step.shown_after.history
    if own == shown:
        return
    position = next(
        (n for n, (mine, theirs) in enumerate(zip(own, shown, strict=False)) if mine != theirs),
        min(len(own), len(shown)),
    )
    if position == len(own):
        seen = f"a message was added after message {position}"
    elif position == len(shown):
        seen = f"the history ends before message {position + 1}"
    else:
        seen = f"message {position + 1} is another now"
    yield Violation(f"the stored history holds the {len(own)} messages that were stored", seen, position)


def committed_summary(step: Step) -> Part | None:
    """The new summary in the request whose response was committed."""
    if step.outcome != "committed" or not step.attempts:
        return None
    part = step.attempts[-1 if step.attempt is None else step.attempt].summary
    return part if part and step.is_new(part) else None


def through(step: Step, _: Moment | None) -> Iterator[Violation]:
    part, after = committed_summary(step), step.shown_after.summary
    if part is None or after is None or after == step.shown_before.summary:
        return
    exchange = next(exchange for exchange in step.exchanges if exchange.made is part.made)
    last = max(exchange.given.positions, default=None)
    if last is not None and after.through != step.history[last].id:
        position = position_of(step, after)
        yield Violation(
            f"the key names message {last + 1}, the last that was given to the compressor",
            f"it names {after.through!r}" if position is None else f"it names message {position + 1}",
            last,
        )
    if after.text != part.text:
        yield Violation("the key holds the text that was sent", f"it holds {after.text[:40]!r}")


def position_of(step: Step, summary: Summary) -> int | None:
    return next((n for n, message in enumerate(step.history) if message.id == summary.through), None)


def commits_with_step(step: Step, before: Moment | None) -> Iterator[Violation]:
    shown = "summary-shown" in step.description.capabilities
    if step.outcome != "committed" and step.stored_after != step.stored:
        yield Violation(f"the step {ended(step)}: the stored summary stays as it was", "it was changed")
    if shown and committed_summary(step) and step.shown_after.summary == step.shown_before.summary:
        yield Violation("the new summary is committed with the step", "the key is as it was")
    if not shown and isinstance(before, Step) and before.outcome != "committed":
        for number, attempt in enumerate(step.attempts):
            part = attempt.summary
            made_then = [e for e in before.exchanges if part and e.made is not None and e.made is part.made]
            if made_then and not step.fired and made_then[-1].given.positions != expected_input(step):
                yield Violation(
                    f"the step before {ended(before)}: its summary applies to no other request",
                    "it is in this one",
                    attempt=number,
                )


def ended(step: Step) -> str:
    return {"failed": "failed", "cancelled": "was cancelled", "suspended": "was suspended"}.get(step.outcome, "ended")


def expected_input(step: Step) -> tuple[int, ...]:
    """The messages that the compressor would have to be given in this step."""
    if not step.usable:
        return ()
    return (*step.called_back(step.start, step.usable[-1]), *range(step.start, step.usable[-1]))


def forward(step: Step, _: Moment | None) -> Iterator[Violation]:
    if step.outcome != "committed" or step.stands is None or step.stored_after == step.stored:
        return
    if step.stored_after is None:
        yield Violation("what is covered only grows", "there is no summary any more")
        return
    position = position_of(step, step.stored_after)
    if position is not None and position + 1 < step.stands.start:
        yield Violation(
            f"what is covered only grows: it went as far as message {step.stands.start}",
            f"it goes as far as message {position + 1}",
            position,
        )


def did_not_commit(step: Step) -> bool:
    return step.written is not None and step.outcome != "committed"


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
        statement="It is committed with the model step: a step that fails, is cancelled or is suspended leaves "
        "it as it was.",
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
)

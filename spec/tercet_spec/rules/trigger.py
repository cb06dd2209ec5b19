"""When summarization fires: the rules of the family ``trigger``.

They divide the steps among them, so that one fault breaks one rule.
"""

from collections.abc import Callable, Iterator

from attrs import evolve

from tercet_spec.characters import trimmings
from tercet_spec.moments import Moment, Step
from tercet_spec.requests import measure, summary_message
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation
from tercet_spec.vocabulary import Character, Message, TokenCounter


def other_measures(step: Step) -> Iterator[int]:
    """The sizes that a trigger would see which measures another request than the one that is sent."""

    def size(*messages: Message) -> int:
        return measure(messages, step.configuration, step.description)

    system = () if step.system is None else (Message("system", step.system),)
    if system:
        yield step.size - size(*system)
    if step.stands:
        summary = summary_message(step.stands.text, step.description)
        yield step.size - size(summary)
        yield size(*system, *step.history)
        yield size(*system, summary, *step.history)


def miscounts(step: Step) -> Iterator[int]:
    """The sizes that a trigger would see which measures the right request, and counts it wrongly."""
    configuration, description, request = step.configuration, step.description, step.as_sent
    back = [step.history[position] for position in step.called_back(step.start)]
    yield step.size - measure(back, configuration, description)
    if configuration.trigger.kind == "messages":
        yield len([message for message in request if message.role != "tool"])
        yield len([message for message in request if not message.calls])
        return
    yield len(request)
    yield measure((evolve(message, calls=()) for message in request), configuration, description)
    yield measure(request, configuration, evolve(description, character=other_character(step)))
    for counter in (TokenCounter(), evolve(configuration.token_counter, base=0)):
        yield measure(request, evolve(configuration, token_counter=counter), description)


def open_sizes(step: Step) -> Iterator[int]:
    """The sizes of the request with and without the outer white space of its summary, which is left open."""

    def size(text: str) -> int:
        return measure((summary_message(text, step.description),), step.configuration, step.description)

    if step.stands:
        stored = step.stands.text
        yield from (step.size - size(stored) + size(text) for text in trimmings(stored))


def other_character(step: Step) -> Character:
    """A character that the implementation does not count in."""
    return "UTF-8 byte" if step.description.character != "UTF-8 byte" else "code point"


CALLED = {True: "the compressor is called", False: "no compressor is called"}


def is_past(step: Step) -> bool:
    return step.size > step.limit


def decided(step: Step) -> bool:
    """Tell whether the step came as far as asking the compressor or the model."""
    return bool(step.exchanges or step.attempts)


def should_fire(step: Step) -> bool:
    return is_past(step) and bool(step.usable)


def crosses(step: Step, sizes: Iterator[int]) -> bool:
    """Tell whether one of the sizes lies on the other side of the limit."""
    return any((size > step.limit) != is_past(step) for size in sizes)


def owner(step: Step) -> str:
    """Name the trigger rule that a wrong decision in this step belongs to."""
    if step.size == step.limit:
        return "trigger.strictly-past"
    if crosses(step, other_measures(step)):
        return "trigger.as-sent"
    if crosses(step, miscounts(step)):
        return f"trigger.{step.configuration.trigger.kind}"
    return "trigger.fires" if is_past(step) else "trigger.quiet"


def decision(rule: str) -> Callable[[Step, Moment | None], Iterator[Violation]]:
    """Make the relation of one of the rules that say whether the compressor is called."""

    def relation(step: Step, _: Moment | None) -> Iterator[Violation]:
        if not decided(step) or (is_past(step) and not step.usable) or crosses(step, open_sizes(step)):
            return
        unit = step.configuration.trigger.kind
        size = f"the request as sent has {step.size} {unit}, the limit is {step.limit}"
        for number, called, replaced in decisions(step):
            if (called or replaced) != is_past(step) and owner(step) == rule:
                seen = "it was called" if called else "it was not called"
                yield Violation(f"{size}: {CALLED[is_past(step)]}", seen, attempt=number)
                break
            if rule == "trigger.fires" and replaced and not called:
                yield Violation(f"{size}: {CALLED[True]}", "messages were replaced without asking it", attempt=number)
                break
        if rule == "trigger.quiet" and not step.fired and not is_past(step) and wrote_key(step):
            yield Violation(f"{size}: the key is not written", "it was written")

    return relation


def decisions(step: Step) -> Iterator[tuple[int | None, bool, bool]]:
    """Say of each request whether the compressor was called for it, and whether it replaces messages all the same.

    A text that the compressor gave in this step, used again, counts as a call.
    """
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        called = bool(step.asked_for(number)) or (part is not None and step.is_new(part))
        yield number, called, is_past(step) and step.replaces(attempt)
    unsent = step.exchanges[step.attempts[-1].asked if step.attempts else 0 :]
    if unsent or not step.attempts:
        yield None, bool(unsent), False


def wrote_key(step: Step) -> bool:
    shown = "summary-shown" in step.description.capabilities
    return shown and step.shown_after.summary != step.shown_before.summary


def once(step: Step, _: Moment | None) -> Iterator[Violation]:
    """Exchanges before one request are one firing: one span, asked again after failures, or in parts."""
    for number in range(len(step.attempts)):
        if len(step.firings(step.asked_for(number))) > 1:
            yield Violation("the compressor is asked once for a request", "it was asked again", attempt=number)


def small_enough(step: Step) -> bool:
    return decided(step) and not is_past(step)


RULES = (
    Rule(
        id="trigger.as-sent",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="The trigger is measured on the request as sent: stored summary applied, system prompt included. "
        "Covered messages count for nothing.",
        why="A trigger that counts what is covered fires at every step from the first firing on.",
        about=Step,
        relation=decision("trigger.as-sent"),
        situations={
            "a summary in force, and covered messages would cross the limit": lambda step: (
                bool(step.stands) and small_enough(step) and crosses(step, other_measures(step))
            ),
            "past the limit only with all that is sent": lambda step: (
                should_fire(step) and crosses(step, other_measures(step))
            ),
        },
    ),
    Rule(
        id="trigger.strictly-past",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="Summarization fires only when the size has grown past the limit: size > limit. At the limit it is "
        "quiet.",
        why="One message too early is one summary too many, and no two implementations agree.",
        about=Step,
        relation=decision("trigger.strictly-past"),
        situations={
            "exactly at the limit": lambda step: decided(step) and step.size == step.limit and bool(step.usable)
        },
    ),
    Rule(
        id="trigger.tokens",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="A token trigger's size is tokenCounter of that request's messages, tool calls and the summary "
        "message included (a counter of one message is summed); tool definitions are not counted.",
        why="A count that leaves out what is sent lets the request outgrow the window unseen.",
        about=Step,
        relation=decision("trigger.tokens"),
        situations={
            "a miscount of tokens would cross the limit": lambda step: (
                step.configuration.trigger.kind == "tokens"
                and (should_fire(step) or small_enough(step))
                and crosses(step, miscounts(step))
            )
        },
        needs=frozenset({"token-trigger"}),
    ),
    Rule(
        id="trigger.messages",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="A message trigger's size is the number of that request's messages, system prompt and summary "
        "message included.",
        why="Whoever sets a limit of fifty messages means the messages of the request.",
        about=Step,
        relation=decision("trigger.messages"),
        situations={
            "a miscount of messages would cross the limit": lambda step: (
                step.configuration.trigger.kind == "messages"
                and (should_fire(step) or small_enough(step))
                and crosses(step, miscounts(step))
            )
        },
        needs=frozenset({"message-trigger"}),
    ),
    Rule(
        id="trigger.fires",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.SOURCE,
        statement="Past the limit, and with a usable cut, the compressor is called (or a text that it gave in this "
        "step for the same input is used again).",
        why="A thread that is never summarised outgrows the window; one that nobody answers must not stop that.",
        about=Step,
        relation=decision("trigger.fires"),
        situations={
            "past the limit with a usable cut": should_fire,
            "past the limit with an unanswered call in the tail": lambda step: (
                should_fire(step) and has_unanswered(step)
            ),
        },
    ),
    Rule(
        id="trigger.quiet",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="Not past the limit, no compressor is called and the key is not written.",
        why="A summary that nobody needed costs a call, and loses what a summary loses.",
        about=Step,
        relation=decision("trigger.quiet"),
        situations={
            "below the limit": lambda step: decided(step) and step.size < step.limit,
            "below the limit with a summary in force": lambda step: small_enough(step) and bool(step.stands),
        },
    ),
    Rule(
        id="trigger.once",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="At most one firing a request, whatever size it leaves. A compressor asked again for the same span "
        "after a failure is the same firing; so are declared consecutive parts of one span, each given the "
        "text so far.",
        why="What one firing cannot shrink, a second cannot: without this rule it loops.",
        about=Step,
        relation=once,
        situations={
            "a firing that leaves the request past the limit": lambda step: (
                step.cut is not None
                and any(
                    measure([p.message for p in a.parts], step.configuration, step.description) > step.limit
                    for a in step.attempts
                )
            )
        },
    ),
)


def has_unanswered(step: Step) -> bool:
    answered = set(step.pairs.values())
    calls = [
        (position, place)
        for position in range(step.start, len(step.history))
        for place in range(len(step.history[position].calls))
    ]
    return any(call not in {(c.position, c.place) for c in answered if c} for call in calls)

"""Shrinks a scenario as long as it still breaks one rule: nothing of Hypothesis is in it.

A tidy scenario is preferred to a shorter odd one: one whose call ids are neither empty nor
repeated, whose calls are each answered once and later, and whose limit is above keepRecent + 1.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from attrs import define, evolve, field, frozen

from tercet_conformance.drafts import changed
from tercet_spec.characters import size
from tercet_spec.notation import DEFAULT, Written, line_of, message_of
from tercet_spec.pairs import pair
from tercet_spec.scenarios import Answer, Append, Configure, Operation, Reply, Scenario, Step, content_text
from tercet_spec.vocabulary import Configuration, Message, TokenCounter, Trigger

T = TypeVar("T")
StillBroken = Callable[[Scenario], bool]
MOST_RUNS = 1500
"""How often one scenario is run at most to shrink it."""


@frozen
class Unit:
    """The smallest thing that can be taken away: one message, one step, or one change of configuration."""

    operation: Message | Step | Configure


Units = tuple[Unit, ...]


def units_of(scenario: Scenario) -> Units:
    """Take a scenario apart."""
    parts: list[Message | Step | Configure] = []
    for operation in scenario.operations:
        parts += operation.messages if isinstance(operation, Append) else [operation]
    return tuple(map(Unit, parts))


def assemble(configuration: Configuration, units: Sequence[Unit]) -> Scenario:
    """Put a scenario together: messages that follow one another are appended at once."""
    operations: list[Operation] = []
    messages: list[Message] = []
    for unit in units:
        if isinstance(unit.operation, Message):
            messages.append(unit.operation)
            continue
        if messages:
            operations.append(Append(tuple(messages)))
            messages = []
        operations.append(unit.operation)
    if messages:
        operations.append(Append(tuple(messages)))
    return Scenario(configuration, tuple(operations))


def messages_of(scenario: Scenario) -> list[Message]:
    """List the messages of a scenario, those that the model is scripted to answer included."""
    messages: list[Message] = []
    for operation in scenario.operations:
        if isinstance(operation, Append):
            messages += operation.messages
        elif isinstance(operation, Step):
            messages += [answer.message for answer in operation.answers if answer.message]
    return messages


def is_well_formed(scenario: Scenario) -> bool:
    """Tell whether call ids are neither empty nor repeated, and each call is answered once and later."""
    messages = messages_of(scenario)
    called = [call.id for message in messages for call in message.calls]
    answered = [answered_id for message in messages for answered_id in message.answers]
    pairs = pair(messages)
    return (
        all(called)
        and len(set(called)) == len(called)
        and sorted(map(str, called)) == sorted(map(str, answered))
        and None not in pairs.values()
    )


def is_sane(scenario: Scenario) -> bool:
    """Tell whether each limit is above keepRecent + 1."""
    changes = [operation.configuration for operation in scenario.operations if isinstance(operation, Configure)]
    return all(c.trigger.limit > c.keep_recent + 1 for c in (scenario.configuration, *changes))


def oddity(scenario: Scenario) -> int:
    """Count what a maintainer would dismiss a scenario for."""
    return (not is_well_formed(scenario)) + (not is_sane(scenario))


def weight(scenario: Scenario) -> tuple[int, ...]:
    """Weigh a scenario: what is odd first, then how much there is of it."""
    units = units_of(scenario)
    steps = [unit.operation for unit in units if isinstance(unit.operation, Step)]
    messages = messages_of(scenario)
    configuration = scenario.configuration
    return (
        oddity(scenario),
        configuration.trigger.kind != "messages",
        len(units) + sum(len(step.answers) for step in steps),
        sum(len(step.replies) for step in steps),
        sum(len(message.calls) + len(message.answers) for message in messages),
        sum(step.system is not None for step in steps),
        sum(plainness(configuration)),
        sum(len(message.content) for message in messages)
        + sum(reply.length + len(reply.ends) for step in steps for reply in step.replies),
        *plainness(configuration),
    )


def plainness(configuration: Configuration) -> tuple[int, int, int, int, int]:
    """Measure how far a configuration is from a plain one."""
    counter = configuration.token_counter
    return (
        abs(configuration.trigger.limit),
        abs(configuration.keep_recent),
        abs(configuration.max_summary_tokens - DEFAULT.max_summary_tokens) > 0,
        counter.base,
        abs(counter.divisor - TokenCounter().divisor),
    )


def shrink(scenario: Scenario, still_broken: StillBroken, most: int = MOST_RUNS) -> Scenario:
    """Return the smallest scenario found that is still broken, after at most ``most`` runs."""
    return Shrinker(scenario, still_broken, most).shrunk()


@define
class Shrinker:
    """Takes away from the best scenario so far what it can; every candidate is run once."""

    best: Scenario
    still_broken: StillBroken
    runs_left: int
    is_plain: bool = False
    tried: set[Scenario] = field(factory=set)

    def shrunk(self) -> Scenario:
        """Take away until nothing more can go."""
        for shortest in (True, False):
            self.is_plain = self.is_plain or self.turns_plain(shortest=shortest)
        before = None
        while before != self.best and self.runs_left > 0:
            before = self.best
            if oddity(self.best):
                self.take_first(tidier)
            if self.best.configuration.trigger.kind == "tokens":
                self.take_first(by_messages)
            self.take_units()
            for smaller in (without_calls, without_steps, lower, plainer_configurations, plainer_operations):
                while self.take_first(smaller):
                    pass
        self.runs_left += 2
        if not self.turns_plain(shortest=True) and line_of(self.best) is None:
            self.turns_plain(shortest=False)
        return self.best

    def turns_plain(self, *, shortest: bool) -> bool:
        """Write the scenario as a line of notation would, which ends with a step, if it still breaks."""
        candidate = rewritten(self.best, shortest=shortest)
        if isinstance(candidate.operations[-1], Append):
            system = next((o.system for o in candidate.operations if isinstance(o, Step)), None)
            candidate = evolve(candidate, operations=(*candidate.operations, Step(system)))
        if line_of(candidate) is None or not self.is_broken(candidate):
            return False
        self.best = candidate
        return True

    def is_broken(self, candidate: Scenario) -> bool:
        """Run a candidate, unless it was run before."""
        if candidate in self.tried or self.runs_left <= 0:
            return False
        self.tried.add(candidate)
        self.runs_left -= 1
        return self.still_broken(candidate)

    def take(self, candidate: Scenario) -> bool:
        """Go on with a candidate if it weighs less and is still broken."""
        if self.is_plain:
            candidate = rewritten(candidate, shortest=False)
        if weight(candidate) < weight(self.best) and self.is_broken(candidate):
            self.best = candidate
            return True
        return False

    def take_first(self, smaller: Callable[[Scenario], Iterator[Scenario]]) -> bool:
        """Go on with the first of some candidates that will do."""
        return any(self.take(candidate) for candidate in smaller(self.best))

    def take_units(self) -> None:
        """Take away units, many at once and then fewer, from the end to the beginning."""
        length = max(1, len(units_of(self.best)) // 2)
        while length:
            start = len(units_of(self.best)) - length
            while start >= 0:
                taken = self.take_first(lambda scenario: without_units(scenario, start, length))  # noqa: B023
                start = min(start if taken else start - 1, len(units_of(self.best)) - length)
            length //= 2


def without_units(scenario: Scenario, start: int, length: int) -> Iterator[Scenario]:
    """Take some units away, alone or with their partners, as they are or with the limit lowered by as much."""
    units, configuration = units_of(scenario), scenario.configuration
    taken = [unit.operation for unit in units[start : start + length] if isinstance(unit.operation, Message)]
    kept = assemble(configuration, units[:start] + units[start + length :])
    unpaired = assemble(configuration, without_partners(units, start, length))
    for candidate in (kept, unpaired) if unpaired != kept else (kept,):
        yield candidate
        if configuration.trigger.kind == "tokens":
            less = sum(size(message, configuration.token_counter, "code point") for message in taken)
            yield from lowered(candidate, less)
        if length <= 2:
            for less in range(1, length + 1):
                yield from lowered(candidate, less)


def lower(scenario: Scenario) -> Iterator[Scenario]:
    """Lower the limit, keepRecent, and both, by one."""
    return lowered(scenario, 1)


def without_partners(units: Units, start: int, length: int) -> Units:
    """Take units away together with the calls and results that pair with them."""
    taken = [unit.operation for unit in units[start : start + length] if isinstance(unit.operation, Message)]
    ids = {call.id for message in taken for call in message.calls} | {i for message in taken for i in message.answers}
    rest: list[Unit] = []
    for position, unit in enumerate(units):
        operation = unit.operation
        if start <= position < start + length:
            continue
        if isinstance(operation, Message) and (operation.calls or operation.answers):
            kept = without_ids(operation, ids)
            if kept is not None:
                rest.append(Unit(kept))
        else:
            rest.append(unit)
    return tuple(rest)


def without_ids(message: Message, ids: set[str | None]) -> Message | None:
    """Take calls and results of these ids out of a message; nothing is left of a result that answers no call."""
    calls = tuple(call for call in message.calls if call.id not in ids)
    answers = tuple(answered for answered in message.answers if answered not in ids)
    if message.role == "tool" and not answers:
        return None
    if message.calls and not calls and not message.content:
        return None
    return evolve(message, calls=calls, answers=answers)


def lowered(scenario: Scenario, less: int) -> Iterator[Scenario]:
    """Lower the limit, keepRecent, and both."""
    for limit, keep in ((less, 0), (less, 1), (less, less), (0, 1)):
        yield with_configurations(scenario, lambda c, limit=limit, keep=keep: shifted(c, limit, keep))  # type: ignore[misc]


def shifted(configuration: Configuration, limit: int, keep: int) -> Configuration:
    """Lower a limit and keepRecent, each to 1 at least; what is below that already stays."""
    return changed(
        configuration,
        limit=min(configuration.trigger.limit, max(1, configuration.trigger.limit - limit)),
        keep_recent=min(configuration.keep_recent, max(1, configuration.keep_recent - keep)),
    )


def with_configurations(scenario: Scenario, change: Callable[[Configuration], Configuration]) -> Scenario:
    """Change every configuration of a scenario."""
    operations = tuple(
        Configure(change(operation.configuration)) if isinstance(operation, Configure) else operation
        for operation in scenario.operations
    )
    return Scenario(change(scenario.configuration), operations)


def without_calls(scenario: Scenario) -> Iterator[Scenario]:
    """Take away single calls, with their results."""
    units = units_of(scenario)
    ids = {call.id for message in messages_of(scenario) for call in message.calls}
    for call_id in sorted(ids, key=str):
        rest: list[Unit] = []
        for unit in units:
            operation = unit.operation
            if isinstance(operation, Message):
                kept = without_ids(operation, {call_id})
                rest += [Unit(kept)] if kept else []
            elif isinstance(operation, Step):
                rest.append(Unit(evolve(operation, answers=without_answered_calls(operation.answers, {call_id}))))
            else:
                rest.append(unit)
        yield assemble(scenario.configuration, rest)


def without_answered_calls(answers: Sequence[Answer], ids: set[str | None]) -> tuple[Answer, ...]:
    """Take calls of these ids out of what the model is scripted to answer."""
    kept = [evolve(a, message=without_ids(a.message, ids)) if a.message else a for a in answers]
    return tuple(answer for answer in kept if answer.message or answer.failure)


def without_steps(scenario: Scenario) -> Iterator[Scenario]:
    """Append what the model is scripted to answer in a step, instead of taking it."""
    units = units_of(scenario)
    for index, unit in enumerate(units[:-1]):
        if isinstance(unit.operation, Step):
            answered = [Unit(answer.message) for answer in unit.operation.answers if answer.message]
            yield assemble(scenario.configuration, (*units[:index], *answered, *units[index + 1 :]))


def plainer_configurations(scenario: Scenario) -> Iterator[Scenario]:
    """Make a scenario's configurations plainer, one field at a time."""
    now = scenario.configuration
    yield with_configurations(scenario, lambda c: evolve(c, max_summary_tokens=DEFAULT.max_summary_tokens))
    yield with_configurations(scenario, lambda c: evolve(c, token_counter=TokenCounter()))
    yield with_configurations(scenario, lambda c: evolve(c, token_counter=evolve(c.token_counter, base=0)))
    if now.trigger.kind == "tokens":
        for step in (now.trigger.limit // 2, 8, 1):
            yield with_configurations(scenario, lambda c, step=step: shifted(c, step, 0))  # type: ignore[misc]


def by_messages(scenario: Scenario) -> Iterator[Scenario]:
    """Let the trigger count messages."""
    least = scenario.configuration.keep_recent + 2
    for limit in range(least, least + 8):
        trigger = Trigger("messages", limit)
        yield with_configurations(scenario, lambda c, trigger=trigger: evolve(c, trigger=trigger))  # type: ignore[misc]


def plainer_operations(scenario: Scenario) -> Iterator[Scenario]:
    """Make one operation plainer: no system prompt, a shorter script, shorter texts."""
    if any(isinstance(operation, Step) and operation.system for operation in scenario.operations):
        without = (evolve(o, system=None) if isinstance(o, Step) else o for o in scenario.operations)
        yield Scenario(scenario.configuration, tuple(without))
    for index, operation in enumerate(scenario.operations):
        for plainer in plainer_operation(operation):
            operations = (*scenario.operations[:index], plainer, *scenario.operations[index + 1 :])
            yield Scenario(scenario.configuration, operations)


def plainer_operation(operation: Operation) -> Iterator[Operation]:
    match operation:
        case Step(replies=replies, answers=answers):
            for script in without_one(answers):
                yield evolve(operation, answers=script)
            for texts in without_one(replies):
                yield evolve(operation, replies=texts)
            for position, reply in enumerate(replies):
                for plainer in plainer_reply(reply):
                    yield evolve(operation, replies=(*replies[:position], plainer, *replies[position + 1 :]))
        case Append(messages):
            for position, message in enumerate(messages):
                if len(message.content) > 4:
                    for length in (4, len(message.content) // 2, len(message.content) - 1):
                        shorter = evolve(message, content=message.content[: max(4, length)])
                        yield Append((*messages[:position], shorter, *messages[position + 1 :]))


def plainer_reply(reply: Reply) -> Iterator[Reply]:
    if reply.failure or reply.blank is not None:
        if reply.blank:
            yield Reply(blank="")
        return
    yield evolve(reply, fill="x")
    yield evolve(reply, ends="")
    for length in (12, reply.length // 2, reply.length - 8, reply.length - 1):
        if 12 <= length < reply.length:
            yield evolve(reply, length=length)


def without_one(values: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for position in range(len(values) - 1, -1, -1):
        yield values[:position] + values[position + 1 :]


def tidier(scenario: Scenario) -> Iterator[Scenario]:
    """Mend what is odd: give each call an id of its own, drop what has no partner, raise a low limit."""
    units = units_of(scenario)
    renamed = with_own_ids(units)
    yield assemble(scenario.configuration, renamed)
    paired = [unit for unit in renamed if not is_without_partner(unit, renamed)]
    yield assemble(scenario.configuration, paired)
    for limit in range(1, 4):
        yield with_configurations(
            assemble(scenario.configuration, paired),
            lambda c, limit=limit: changed(c, limit=max(c.trigger.limit, c.keep_recent + 1 + limit)),  # type: ignore[misc]
        )
        yield with_configurations(
            scenario, lambda c, limit=limit: changed(c, limit=max(c.trigger.limit, c.keep_recent + 1 + limit))  # type: ignore[misc]
        )


def with_own_ids(units: Units) -> Units:
    """Rename calls so that each has an id of its own, and results with the calls that they answer."""
    positions = [n for n, unit in enumerate(units) if isinstance(unit.operation, Message)]
    messages = [unit.operation for unit in units if isinstance(unit.operation, Message)]
    names: dict[tuple[int, int], str] = {}
    for position, message in enumerate(messages):
        for place in range(len(message.calls)):
            names[position, place] = f"c{len(names) + 1}"
    pairs = pair(messages)
    answers: dict[int, list[str | None]] = {}
    for result, call in pairs.items():
        answers.setdefault(result.position, []).append(names[call.position, call.place] if call else "nobody")
    renamed = list(units)
    for position, message in enumerate(messages):
        calls = tuple(evolve(call, id=names[position, place]) for place, call in enumerate(message.calls))
        renamed[positions[position]] = Unit(evolve(message, calls=calls, answers=tuple(answers.get(position, ()))))
    return tuple(renamed)


def is_without_partner(unit: Unit, units: Units) -> bool:
    """Tell whether a message answers no call of the scenario, or calls what is never answered."""
    if not isinstance(unit.operation, Message):
        return False
    others = [other.operation for other in units if isinstance(other.operation, Message)]
    called = {call.id for message in others for call in message.calls}
    answered = {answered_id for message in others for answered_id in message.answers}
    return any(i not in called for i in unit.operation.answers) or any(
        call.id not in answered for call in unit.operation.calls
    )


def rewritten(scenario: Scenario, *, shortest: bool) -> Scenario:
    """Write every message as notation would; ``shortest`` leaves contents out of account that say hardly more."""
    letters = iter([*"xyzvw", *(f"c{number}" for number in range(1, 1000))])
    names: dict[str | None, str | None] = {"": "", None: None}
    ordinal = 0

    def written(message: Message) -> Message:
        nonlocal ordinal
        ordinal += 1
        ids = tuple(call.id for call in message.calls) or message.answers
        for call_id in ids:
            if call_id not in names:
                names[call_id] = next(letters)
        length: int | None = len(message.content)
        if (message.calls and not length) or message.content == content_text(ordinal) or (shortest and len(message.content) < 6):
            length = None
        return message_of(Written(message.role, tuple(names[i] for i in ids), length), ordinal)

    units: list[Unit] = []
    for unit in units_of(scenario):
        operation = unit.operation
        if isinstance(operation, Message):
            operation = written(operation)
        elif isinstance(operation, Step):
            script = (Answer(written(a.message), a.failure) if a.message else a for a in operation.answers)
            operation = evolve(operation, answers=tuple(script))
        units.append(Unit(operation))
    return assemble(scenario.configuration, units)

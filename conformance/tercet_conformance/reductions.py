"""The ways to make a scenario smaller, plainer or tidier: each yields candidates, and tries none."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from typing import TypeVar

from attrs import evolve, frozen

from tercet_conformance.drafts import changed
from tercet_conformance.tidiness import messages_of
from tercet_spec.characters import size
from tercet_spec.notation import DEFAULT, DEFAULT_SYSTEM, REWRITTEN, Written, message_of
from tercet_spec.pairs import pair
from tercet_spec.readings import MARKER
from tercet_spec.scenarios import (
    Answer,
    Append,
    Configure,
    Edit,
    EndTurn,
    Operation,
    PlacedNote,
    Reply,
    Scenario,
    Step,
    content_text,
)
from tercet_spec.vocabulary import Configuration, Message, TokenCounter, ToolCall, Trigger

T = TypeVar("T")


@frozen
class Unit:
    """The smallest thing that can be taken away: one message, one step, one change."""

    operation: Message | Operation


Units = tuple[Unit, ...]


def units_of(scenario: Scenario) -> Units:
    """Take a scenario apart."""
    parts: list[Message | Operation] = []
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


def without_units(scenario: Scenario, start: int, length: int) -> Iterator[Scenario]:
    """Take some units away, alone or with their partners, as they are or with the limit lowered by as much."""
    units, configuration = units_of(scenario), scenario.configuration
    taken = [unit.operation for unit in units[start : start + length] if isinstance(unit.operation, Message)]
    kept = assemble(configuration, units[:start] + units[start + length :])
    unpaired = assemble(configuration, without_partners(units, start, length))
    candidates = [kept, *([unpaired] if unpaired != kept else [])]
    if any(isinstance(unit.operation, Edit) for unit in units[start + length :]):
        candidates += [with_edits_moved(candidate, length) for candidate in candidates]
    for candidate in candidates:
        yield candidate
        if configuration.trigger.kind == "tokens":
            less = sum(size(message, configuration.token_counter, "code point") for message in taken)
            yield from lowered(candidate, less)
        for less in range(1, length + 1) if length <= 2 else {len(taken)} - {0}:
            yield from lowered(candidate, less)


def with_edits_moved(scenario: Scenario, back: int) -> Scenario:
    """Let edits touch messages so much earlier, as those do that follow what was taken away."""
    moved = (evolve(o, first=max(0, o.first - back)) if isinstance(o, Edit) else o for o in scenario.operations)
    return evolve(scenario, operations=tuple(moved))


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
    """Lower the limit, keepRecent, and both, in every configuration; the limit also where it is highest only."""
    for limit, keep in ((less, 0), (less, 1), (less, less), (0, 1)):
        yield with_configurations(scenario, lambda c, limit=limit, keep=keep: shifted(c, limit, keep))  # type: ignore[misc]
    limits = {c.trigger.limit for c in configurations_of(scenario)}
    if len(limits) > 1:
        yield with_configurations(scenario, lambda c: shifted(c, less, 0) if c.trigger.limit == max(limits) else c)


def shifted(configuration: Configuration, limit: int, keep: int) -> Configuration:
    """Lower a limit and keepRecent, each to 1 at least; what is below that already stays."""
    return changed(
        configuration,
        limit=min(configuration.trigger.limit, max(1, configuration.trigger.limit - limit)),
        keep_recent=min(configuration.keep_recent, max(1, configuration.keep_recent - keep)),
    )


def configurations_of(scenario: Scenario) -> Iterator[Configuration]:
    """Give the first configuration of a scenario, and those that it is changed to."""
    yield scenario.configuration
    yield from (operation.configuration for operation in scenario.operations if isinstance(operation, Configure))


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
    systems = {operation.system for operation in scenario.operations if isinstance(operation, Step)}
    if systems - {None, DEFAULT_SYSTEM}:
        plain = (evolve(o, system=DEFAULT_SYSTEM) if isinstance(o, Step) else o for o in scenario.operations)
        yield Scenario(scenario.configuration, tuple(plain))
    if systems - {None}:
        without = (evolve(o, system=None) if isinstance(o, Step) else o for o in scenario.operations)
        yield Scenario(scenario.configuration, tuple(without))
    for index, operation in enumerate(scenario.operations):
        for plainer in plainer_operation(operation):
            operations = (*scenario.operations[:index], plainer, *scenario.operations[index + 1 :])
            yield Scenario(scenario.configuration, operations)


def plainer_operation(operation: Operation) -> Iterator[Operation]:
    """Make an operation plainer, one thing of it at a time."""
    match operation:
        case Step(replies=replies, answers=answers, notes=notes, pending=pending):
            for fewer in without_one(notes):
                yield evolve(operation, notes=fewer)
            for named in without_one(pending):
                yield evolve(operation, pending=named)
            for position, note in enumerate(notes):
                for back in {0, note.back - 1} if note.back else ():
                    yield evolve(operation, notes=(*notes[:position], evolve(note, back=back), *notes[position + 1 :]))
            for script in without_one(answers):
                yield evolve(operation, answers=script)
            for texts in without_one(replies):
                yield evolve(operation, replies=texts)
            for position, reply in enumerate(replies):
                for plainer in plainer_reply(reply):
                    yield evolve(operation, replies=(*replies[:position], plainer, *replies[position + 1 :]))
        case Edit(first, count, content):
            if content is None and count > 1:
                yield from (Edit(first, 1), Edit(first, count - 1))
            if first:
                yield from (evolve(operation, first=0), evolve(operation, first=first - 1))
        case EndTurn(blocked=True):
            yield EndTurn()
        case Append(messages):
            for position, message in enumerate(messages):
                for other in plainer_message(message):
                    if other != message:
                        yield Append((*messages[:position], other, *messages[position + 1 :]))


def plainer_message(message: Message) -> Iterator[Message]:
    """Make a message plainer and shorter: its marker alone, tools of the usual name, a beginning of its content."""
    marker = MARKER.match(message.content)
    if marker:
        yield evolve(message, content=marker[0])
    yield evolve(message, calls=tuple(evolve(call, name=ToolCall(None).name) for call in message.calls))
    if len(message.content) > 4:
        for length in (4, len(message.content) // 2, len(message.content) - 1):
            yield evolve(message, content=message.content[: max(4, length)])


def plainer_reply(reply: Reply) -> Iterator[Reply]:
    """Make what the compressor answers plainer and shorter."""
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
    """Leave out one value, the last first."""
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
            scenario,
            lambda c, limit=limit: changed(c, limit=max(c.trigger.limit, c.keep_recent + 1 + limit)),  # type: ignore[misc]
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
    latest: dict[str | None, str] = {}
    at = {unit: n for n, unit in enumerate(positions)}
    for n, unit in enumerate(units):
        if isinstance(unit.operation, Message):
            latest |= {call.id: names[at[n], place] for place, call in enumerate(unit.operation.calls)}
        elif isinstance(unit.operation, Step) and unit.operation.pending:
            pending = tuple(latest.get(call_id, call_id) for call_id in unit.operation.pending)
            renamed[n] = Unit(evolve(unit.operation, pending=pending))
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
    letters = chain("xyzvw", (f"c{number}" for number in count(1)))
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
        says_little = shortest and len(message.content) < 6
        if (message.calls and not length) or message.content == content_text(ordinal) or says_little:
            length = None
        return message_of(Written(message.role, tuple(names[i] for i in ids), length), ordinal)

    units: list[Unit] = []
    for unit in units_of(scenario):
        operation = unit.operation
        if isinstance(operation, Message):
            operation = written(operation)
        elif isinstance(operation, Step):
            script = tuple(Answer(written(a.message), a.failure) if a.message else a for a in operation.answers)
            notes = tuple(PlacedNote(written(note.message), note.back) for note in operation.notes)
            pending = tuple(names.get(call_id, call_id) for call_id in operation.pending)
            operation = evolve(operation, answers=script, notes=notes, pending=pending)
        elif isinstance(operation, Edit) and operation.content is not None:
            operation = evolve(operation, count=1, content=REWRITTEN)
        units.append(Unit(operation))
    return assemble(scenario.configuration, units)

"""What a request is made of: the opening, the summary, what is called back, the tail.

Naive definitions over Tercet's own messages. Positions count from the start of the history.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from tercet_spec.characters import bounded, is_blank, size
from tercet_spec.pairs import Call, Pairs, is_legal, last_answers
from tercet_spec.vocabulary import Configuration, Description, Message, Note, Summary


@frozen
class Standing:
    """A summary that applies: the text as it is sent, and the position of the first message after it."""

    text: str
    start: int


def opening(history: Sequence[Message]) -> int:
    """Count the system messages that open a history; they are sent whole and never covered."""
    return next((position for position, message in enumerate(history) if message.role != "system"), len(history))


def as_bounded(text: str, configuration: Configuration, description: Description) -> str:
    """Cut a text to the bound, where the implementation has one."""
    if "bound" not in description.capabilities:
        return text
    return bounded(text, configuration.max_summary_tokens, description.character)


def standing(
    history: Sequence[Message],
    pairs: Pairs,
    summary: Summary | None,
    configuration: Configuration,
    description: Description,
) -> Standing | None:
    """Return the stored summary as it applies to a history, or ``None`` where it does not.

    It applies where the history holds its last covered message, not among those that open it, and
    at least one after it, and where its bounded text is not blank; where the implementation says so,
    only as long as nothing is called back.
    """
    if summary is None:
        return None
    text = as_bounded(summary.text, configuration, description)
    anchor = position_of(history, summary.through)
    if anchor is None or is_blank(text) or not opening(history) <= anchor < len(history) - 1:
        return None
    if description.sets_aside and called_back(history, pairs, anchor + 1):
        return None
    return Standing(text, anchor + 1)


def position_of(history: Sequence[Message], stored_id: str) -> int | None:
    """Find the position of a message by its stored id; ``None`` where the history does not hold it."""
    return next((position for position, message in enumerate(history) if message.id == stored_id), None)


def called_back(history: Sequence[Message], pairs: Pairs, start: int, until: int | None = None) -> tuple[int, ...]:
    """Find the covered messages that late results of ``history[start:until]`` call back.

    A result whose call is covered calls back the call's message and, of each of that message's
    calls, the last covered result; where one message answers several calls, the messages of its
    other calls come too, and so on.
    """
    last_covered = last_answers(pairs, start)
    late = range(start, len(history) if until is None else until)
    back: set[int] = set()
    new = {
        call.position for result, call in pairs.items() if call and result.position in late and call.position < start
    }
    while new - back:
        back |= new
        calls = [Call(position, place) for position in back for place in range(len(history[position].calls))]
        results = {last_covered[call] for call in calls if call in last_covered}
        new = results | {call.position for result, call in pairs.items() if call and result.position in results}
    return tuple(sorted(back))


def summary_message(text: str, description: Description) -> Message:
    """Make the one message that a request carries in place of the covered ones."""
    return Message("user", description.before + text + description.after)


def gap(history: Sequence[Message], note: Note) -> int:
    """Find where a note stands: the position of the message before which it comes."""
    after = None if note.after is None else position_of(history, note.after)
    return 0 if note.after is None else len(history) if after is None else after + 1


def is_displaced(place: int, first: int, start: int) -> bool:
    """Tell whether a neighbour of a note is covered: the messages from ``first`` to before ``start`` are."""
    return first < start and first <= place <= start


def with_notes(
    history: Sequence[Message], notes: Sequence[tuple[int, Message]], first: int, last: int
) -> Iterator[Message]:
    """Give ``history[first:last]`` with each note before the message at its place."""
    for position in range(first, last):
        yield from (note for place, note in notes if place == position)
        yield history[position]


def as_sent(
    system: str | None,
    history: Sequence[Message],
    pairs: Pairs,
    stands: Standing | None,
    description: Description,
    notes: Sequence[Note] = (),
) -> tuple[Message, ...]:
    """Make the request that is sent where no new summary is written.

    A note keeps its neighbours; where one of them is covered, it follows the summary and what is called back.
    """
    first, end = opening(history), len(history)
    start = stands.start if stands else first
    placed = [(gap(history, note), note.message) for note in notes]
    displaced = [note for place, note in placed if is_displaced(place, first, start)]
    kept = [(place, note) for place, note in placed if not is_displaced(place, first, start)]
    return (
        *(() if system is None else (Message("system", system),)),
        *with_notes(history, kept, 0, first),
        *((summary_message(stands.text, description),) if stands else ()),
        *(history[position] for position in called_back(history, pairs, start) if stands),
        *displaced,
        *with_notes(history, kept, start, end),
        *(note for place, note in kept if place == end),
    )


def measure(request: Iterable[Message], configuration: Configuration, description: Description) -> int:
    """Measure a request as the trigger does: in messages, or in tokens by the tokenCounter."""
    messages = tuple(request)
    if configuration.trigger.kind == "messages":
        return len(messages)
    return sum(size(message, configuration.token_counter, description.character) for message in messages)


def usable_cuts(
    history: Sequence[Message], pairs: Pairs, start: int, keep_recent: int, pending: Iterable[Call] = ()
) -> tuple[int, ...]:
    """Find the usable cuts of the tail that begins at ``start``, each as the position of the first message kept.

    A cut is usable when it is legal, covers a message, keeps the last ``keep_recent`` messages and
    stays before every pending call.
    """
    latest = min([len(history) - keep_recent, *(call.position for call in pending if call.position >= start)])
    return tuple(cut for cut in range(start + 1, latest + 1) if is_legal(pairs, start, cut))

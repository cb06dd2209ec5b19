"""What a request, or the compressor's input, is made of: each message sorted by where it comes from.

A message belongs to the thread by its stored id or, where it carries none, by what it says. A
summary message is known by its place or by a text that the compressor returned; never by words
that an implementation writes around it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from attrs import evolve, field, frozen

from tercet_spec.characters import trimmings
from tercet_spec.vocabulary import WHITE_SPACE, Description, Message

MARKER = re.compile(r"[mn]\d+z")
"""Every scripted message carries a marker of its own, so that it is known in prose too."""
RECOGNISED = 8
"""Code points at its start by which a text of the compressor is known, if something was added to it."""

Kind = Literal["prompt", "summary", "stored", "unstored", "other"]


@frozen
class Made:
    """A text that the compressor returned, and the messages that it was made from, as they were given."""

    text: str
    covers: frozenset[Message]


@frozen
class Part:
    """One message of a request: its kind and, where it is stored, its position in the history.

    ``text`` is the text of a summary message, ``made`` its origin where it is known, and
    ``unchanged`` tells whether the message says what the thread, or the declared frame, says.
    """

    message: Message
    kind: Kind
    position: int | None = None
    unchanged: bool = True
    text: str | None = None
    made: Made | None = None


@frozen
class Thread:
    """What a reader knows of a thread: its own history, system prompt and notes, and the texts made so far."""

    history: tuple[Message, ...]
    system: str | None
    notes: tuple[Message, ...]
    made: tuple[Made, ...]
    description: Description


def origin(text: str, made: Iterable[Made]) -> Made | None:
    """Find the compressor's answer that a text is a beginning of, or shares its first code points with."""
    shared = [(shared_beginning(text, t), len(t), answer) for answer in made for t in trimmings(answer.text)]
    longest, whole, answer = max(shared, key=lambda found: found[0], default=(0, 0, None))
    return answer if longest and (longest >= min(RECOGNISED, whole) or longest == len(text)) else None


def shared_beginning(one: str, other: str) -> int:
    """Count the code points with which both texts begin."""
    if one == other:
        return len(one)
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def read_summary(message: Message, thread: Thread) -> Part | None:
    """Read a message as a summary message: framed as declared, or holding a text of the compressor."""
    before, after = thread.description.before, thread.description.after
    content = message.content
    framed = content.startswith(before) and content.endswith(after) and len(content) >= len(before) + len(after)
    if framed:
        text = content[len(before) : len(content) - len(after)]
        made = origin(text, thread.made)
        if made is not None:
            return Part(message, "summary", text=text, made=made)
    for answer in reversed(thread.made):
        if quoted := quotation(content, answer):
            return Part(message, "summary", unchanged=False, text=quoted, made=answer)
    if framed and (before or after):
        return Part(message, "summary", text=content[len(before) : len(content) - len(after)])
    return None


def quotation(content: str, answer: Made) -> str | None:
    """Find how much of a compressor's answer, from its start on, a longer text quotes."""
    text = answer.text.strip(WHITE_SPACE)
    start = content.find(text[:RECOGNISED]) if text else -1
    return content[start : start + shared_beginning(content[start:], text)] if start >= 0 else None


def read_request(request: Sequence[Message], thread: Thread, *, by_place: bool = True) -> tuple[Part, ...]:
    """Sort the messages of a request; an unknown one at the summary's place is read as a summary, if ``by_place``."""
    history = thread.history
    positions = {message.id: position for position, message in enumerate(history) if message.id is not None}
    used: Counter[int] = Counter()
    parts: list[Part] = []

    def stored(position: int, message: Message) -> Part:
        used[position] += 1
        return Part(message, "stored", position, message.equals(history[position]))

    for message in request:
        if not parts and message.role == "system" and message.content == thread.system:
            part = Part(message, "prompt")
        elif message.id in positions:
            part = stored(positions[message.id], message)
        elif any(message.equals(note) for note in thread.notes):
            part = Part(message, "unstored")
        elif same := [position for position, other in enumerate(history) if message.equals(other)]:
            latest = max(used, default=-1)
            later = [position for position in same if position > latest and not used[position]]
            unused = [position for position in same if not used[position]]
            part = stored((later or unused or same)[0], message)
        else:
            at_its_place = not any(p.kind == "summary" for p in parts) and all(
                p.kind == "prompt" or (p.position is not None and history[p.position].role == "system") for p in parts
            )
            part = read_summary(message, thread) or (
                Part(message, "summary", text=message.content)
                if by_place and at_its_place and message.role == "user"
                else Part(message, "other")
            )
        parts.append(part)
    return tuple(parts)


@frozen
class Given:
    """What the compressor received: positions of the thread's messages in order, the rest, the summary so far.

    Where it is prose, the positions are read from markers, and nothing is said of exact form.
    """

    positions: tuple[int, ...]
    so_far: str | None
    prose: bool = False
    changed: frozenset[int] = field(default=frozenset())
    others: tuple[Part, ...] = ()
    extends: Made | None = None

    def asks_as(self, other: "Given") -> bool:
        """Tell whether both ask for the same messages and the same summary so far."""
        return self.positions == other.positions and self.so_far == other.so_far

    def begins_as(self, other: "Given") -> bool:
        """Tell whether both ask from the same message on, with the same summary so far."""
        return self.positions[:1] == other.positions[:1] and self.so_far == other.so_far


def markers(history: Sequence[Message]) -> Mapping[str, int]:
    """Find the marker of each message that carries one, in its content or a call's arguments."""
    texts = (
        (position, text)
        for position, message in enumerate(history)
        for text in (message.content, *(call.arguments for call in message.calls))
    )
    found: dict[str, int] = {}
    for position, text in texts:
        for marker in MARKER.findall(text):
            found.setdefault(marker, position)
    return found


def read_given(given: Sequence[Message], so_far: str | None, thread: Thread) -> Given:
    """Sort what the compressor received."""
    parts = read_request(given, evolve(thread, system=None), by_place=False)
    stored = [part for part in parts if part.position is not None]
    rest = [part for part in parts if part.position is None]
    known = markers(thread.history)
    prose = [part for part in rest if any(marker in known for marker in MARKER.findall(part.message.content))]
    leading = parts[: parts.index(stored[0])] if stored else parts
    head = next((part for part in leading if part.kind == "summary" and part.made and part not in prose), None)
    if so_far is None and head is not None:
        so_far = head.text
    if prose and not stored:
        return read_prose(prose, so_far, rest, thread)
    return Given(
        tuple(part.position for part in stored if part.position is not None),
        so_far,
        changed=frozenset(part.position for part in stored if part.position is not None and not part.unchanged),
        others=tuple(part for part in rest if part is not head),
        extends=extended(so_far, thread.made) if so_far is not None else None,
    )


def extended(so_far: str, made: Sequence[Made]) -> Made | None:
    """Find the compressor's answer that a summary so far is a beginning of or, with words around it, quotes."""
    return origin(so_far, made) or next((answer for answer in reversed(made) if quotation(so_far, answer)), None)


def read_prose(prose: Sequence[Part], so_far: str | None, rest: Sequence[Part], thread: Thread) -> Given:
    """Sort what the compressor received as prose, by the markers in it."""
    known = markers(thread.history)
    text = "\n".join(part.message.content for part in prose)
    found = [known[marker] for marker in MARKER.findall(text) if marker in known]
    quoted = [quote for made in thread.made if (quote := quotation(text, made))]
    if so_far is None and quoted:
        so_far = quoted[-1]
    return Given(
        tuple(without_repeats(found)),
        so_far,
        prose=True,
        others=tuple(part for part in rest if part not in prose and part.kind != "summary"),
        extends=origin(so_far, thread.made) if so_far is not None else None,
    )


def without_repeats(positions: Iterable[int]) -> Iterator[int]:
    """Leave out a position that follows itself: a message may carry its marker more than once."""
    last = None
    for position in positions:
        if position != last:
            yield position
        last = position

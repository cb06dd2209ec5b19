"""What a request holds, and where: the rules of the family ``send``."""

from collections.abc import Iterator

from tercet_spec.characters import trimmings
from tercet_spec.moments import Attempt, Change, Moment, Step
from tercet_spec.pairs import is_legal
from tercet_spec.readings import Part
from tercet_spec.requests import is_displaced, position_of
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation, keeps_late_results


def system_first(step: Step, _: Moment | None) -> Iterator[Violation]:
    if step.system is None:
        return
    for number, attempt in enumerate(step.attempts):
        if not attempt.parts or attempt.parts[0].kind != "prompt":
            seen = (
                f"the first message is of the {attempt.parts[0].message.role}" if attempt.parts else "nothing was sent"
            )
            yield Violation("the system prompt is first and whole", seen, attempt=number)


def placement(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        places = [place for place, part in enumerate(attempt.parts) if part.kind == "summary"]
        if not places:
            continue
        part = attempt.parts[places[0]]
        ahead, behind = attempt.parts[: places[0]], attempt.parts[places[0] + 1 :]
        if len(places) > 1:
            yield Violation("one summary message at most", f"{len(places)} are sent", attempt=number)
        elif part.message.role != "user":
            yield Violation("the summary is a user message", f"its role is {part.message.role}", attempt=number)
        elif not all(opens(step, p) for p in ahead) or any(is_of_opening(step, p) for p in behind):
            yield Violation(
                "the summary stands straight after the system prompt",
                f"it is message {places[0] + 1} of the request",
                attempt=number,
            )
        elif not part.unchanged:
            yield Violation(
                "the summary message is the text between what the description declares as before and after:"
                f" {step.description.before[:40]!r} and {step.description.after[:40]!r}",
                part.message.content[:60],
                attempt=number,
            )


def is_of_opening(step: Step, part: Part) -> bool:
    return part.kind == "prompt" or (part.position is not None and part.position < step.opening)


def opens(step: Step, part: Part) -> bool:
    """Tell whether a message may stand before the summary; where an unstored one stands is send.unstored's."""
    return is_of_opening(step, part) or part.kind == "unstored" or part.message.role == "system"


def in_place(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        if step.stands and not new_text(step, attempt) and not carries_stored(step, attempt):
            yield Violation(
                "the request carries the stored summary, whole", "another" if part else "none", attempt=number
            )
        applies = step.stands is not None or (part is not None and step.is_new(part))
        covered = step.covered(attempt) if applies else step.opening
        back = step.called_back(covered) if part else ()
        for position in attempt.positions:
            if step.opening <= position < covered and position not in back:
                yield Violation("no covered message is sent", f"message {position + 1} is", position, number)
                break


def new_text(step: Step, attempt: Attempt) -> bool:
    """Tell whether a text was written in the step before this request."""
    return any(not e.failed(step.configuration, step.description) for e in step.exchanges[: attempt.asked])


def carries_stored(step: Step, attempt: Attempt) -> bool:
    return attempt.summary is not None and not step.replaces(attempt) and not is_shortened(step, attempt.summary)


def is_shortened(step: Step, part: Part) -> bool:
    """Tell whether a stored text is cut although no bound asks for it; how far a bound does is bound.longest's."""
    if "bound" in step.description.capabilities or step.stands is None or not part.unchanged:
        return False
    return part.text not in trimmings(step.stands.text)


def rest_unchanged(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        covered = step.covered(attempt)
        last = -1
        for part in attempt.parts:
            position = part.position
            if position is None or step.opening <= position < covered:
                continue
            if not part.unchanged:
                yield Violation(
                    "what is not covered is sent unchanged", f"message {position + 1} was changed", position, number
                )
            elif position == last:
                yield Violation(
                    "what is not covered is sent once", f"message {position + 1} is sent again", position, number
                )
            elif position < last:
                yield Violation(
                    "what is not covered is sent in order", f"message {position + 1} comes too late", position, number
                )
            else:
                last = position
                continue
            break


def nothing_lost(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        made = step.made_from(part.made.covers) if part and part.made else frozenset[int]()
        until = step.covered(attempt)
        sent = set(attempt.positions)
        for position in range(len(step.history)):
            if position not in sent and not (position in made and step.opening <= position < until):
                covered = (
                    "it is covered, but was never given to the compressor" if position < until else "it is neither"
                )
                yield Violation(
                    f"message {position + 1} is sent, or the summary was made from it", covered, position, number
                )
                break


def nothing_else(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        for place, part in enumerate(attempt.parts):
            if part.kind == "other":
                yield Violation(
                    "a request holds the thread's messages, its system prompt and its summary, and nothing else",
                    f"message {place + 1} of the request, of the {part.message.role}, is none of them",
                    attempt=number,
                )
                break


def same_request(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        asked = step.asked_for(number)
        if asked and not step.failed(asked[-1]) and (not attempt.summary or attempt.summary.made is not asked[-1].made):
            seen = "it carries another summary" if attempt.summary else "it carries none"
            yield Violation("the new summary goes into the request that fired", seen, attempt=number)
    sent_after = step.attempts[-1].asked if step.attempts else 0
    unsent = step.exchanges[sent_after:]
    if unsent and not step.failed(unsent[-1]) and step.outcome != "cancelled":
        yield Violation("after the compressor's answer a request is sent", "none was")


def applies(step: Step | Change, _: Moment | None) -> Iterator[Violation]:
    if isinstance(step, Change) or step.stored is None or step.stands is not None:
        return
    for number, attempt in enumerate(step.attempts):
        part = attempt.summary
        if part is not None and not step.is_new(part) and (part.made is step.stored_made or part.made is None):
            yield Violation(
                f"the stored summary does not apply ({reason(step)}): the request is sent as if there were none",
                "it carries that summary",
                attempt=number,
            )


def does_not_apply(moment: Step | Change) -> bool:
    """Tell whether a stored summary does not apply to a request, or was cleared with its last covered message."""
    if isinstance(moment, Step):
        return moment.stored is not None and moment.stands is None and bool(moment.attempts)
    gone = moment.key is not None and position_of(moment.history_after, moment.key.summary.through) is None
    return gone and moment.shown_after.summary is None


def reason(step: Step) -> str:
    """Say why the stored summary does not apply."""
    anchor = None if step.stored is None else position_of(step.history, step.stored.through)
    if anchor is None:
        return "its last covered message is gone"
    if anchor >= len(step.history) - 1:
        return "nothing stands after it"
    return "a result after it answers a covered call" if step.description.sets_aside else "its text is blank"


def unstored(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts) if step.notes else ():
        expected, seen = expected_places(step, attempt), seen_places(step, attempt)
        both = {label for label in expected if label in seen}
        expected, seen = [x for x in expected if x in both], [x for x in seen if x in both]
        for note, place in enumerate(step.gaps):
            count = sum(part.kind == "unstored" and part.message == step.notes[note].message for part in attempt.parts)
            if count != 1:
                yield Violation("an unstored message is sent once", f"it is sent {count} times", attempt=number)
            elif is_in_order(expected, seen) and neighbours(expected, note) != neighbours(seen, note):
                displaced = attempt.summary and is_displaced(place, step.opening, step.covered(attempt))
                where = "straight after the summary and what is called back" if displaced else "between its neighbours"
                yield Violation(f"an unstored message is sent {where}", "it is sent elsewhere", attempt=number)


Label = tuple[str, int]
"""What stands at a place of a request: a message of the history by its position, a note by its number, the summary."""


def expected_places(step: Step, attempt: Attempt) -> list[Label]:
    """List what a request with this one's summary holds, in the order in which it should."""
    first, end = step.opening, len(step.history)
    covered = step.covered(attempt) if attempt.summary else first
    after: list[Label] = []
    if attempt.summary:
        after = [("summary", 0), *(("message", position) for position in step.called_back(covered))]
    kept: dict[int, list[Label]] = {}
    for note, place in enumerate(step.gaps):
        (after if is_displaced(place, first, covered) else kept.setdefault(place, [])).append(("note", note))
    labels: list[Label] = []
    for position in range(first):
        labels += [*kept.get(position, ()), ("message", position)]
    labels += after
    for position in range(covered, end):
        labels += [*kept.get(position, ()), ("message", position)]
    return [*labels, *kept.get(end, ())]


def seen_places(step: Step, attempt: Attempt) -> list[Label]:
    """List what a request holds, in its order."""
    notes = [note.message for note in step.notes]
    labels: list[Label] = []
    for part in attempt.parts:
        if part.position is not None:
            labels.append(("message", part.position))
        elif part.kind == "summary":
            labels.append(("summary", 0))
        elif part.kind == "unstored":
            labels.append(("note", next(n for n, note in enumerate(notes) if part.message.equals(note))))
    return labels


def is_in_order(expected: list[Label], seen: list[Label]) -> bool:
    """Tell whether what is stored comes in the order expected: where not, that is another rule's to judge."""
    return [label for label in expected if label[0] != "note"] == [label for label in seen if label[0] != "note"]


def neighbours(labels: list[Label], note: int) -> tuple[list[Label], list[Label]]:
    """What stands before a note, and what after it."""
    place = labels.index(("note", note))
    return labels[:place], labels[place + 1 :]


def calls_back(step: Step, _: Moment | None) -> Iterator[Violation]:
    for number, attempt in enumerate(step.attempts):
        covered = step.covered(attempt)
        expected = step.called_back(covered) if attempt.summary else ()
        if not expected or is_torn(step, attempt):
            continue
        place = next(place for place, part in enumerate(attempt.parts) if part.kind == "summary")
        following = attempt.parts[place + 1 : place + 1 + len(expected)]
        again = [position for position in attempt.positions if step.opening <= position < covered]
        if tuple(part.position for part in following) != expected or len(again) != len(expected):
            listed = ", ".join(str(position + 1) for position in expected)
            seen = ", ".join(str(position + 1) for position in again) or "none"
            yield Violation(
                f"a late result calls back messages {listed}, straight after the summary",
                f"sent again: {seen}",
                expected[0],
                number,
            )
        elif not all(part.unchanged for part in following):
            yield Violation("what is called back is sent unchanged", "it was changed", expected[0], number)


def is_torn(step: Step, attempt: Attempt) -> bool:
    """A request whose own new cut leaves results behind: that is cut.pairs', not a result that came late."""
    new = attempt.summary is not None and step.is_new(attempt.summary)
    return new and not is_legal(step.pairs, step.start, step.covered(attempt))


def has_late_result(step: Step) -> bool:
    return any(attempt.summary and step.called_back(step.covered(attempt)) for attempt in step.attempts)


def sends_stored(step: Step) -> bool:
    return step.stands is not None and any(not new_text(step, attempt) for attempt in step.attempts)


def fires(step: Step) -> bool:
    return step.written is not None and bool(step.attempts)


RULES = (
    Rule(
        id="send.system-first",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.SOURCE,
        statement="The system prompt is first and whole.",
        why="Without it the model forgets who it is and what it may do.",
        about=Step,
        relation=system_first,
        situations={
            "a request with a system prompt": lambda step: step.system is not None and bool(step.attempts),
            "a firing with a system prompt": lambda step: step.system is not None and fires(step),
        },
        needs=frozenset({"system"}),
    ),
    Rule(
        id="send.placement",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="The summary is one user message straight after the system prompt (first, without one); one at most.",
        why="Providers refuse a second system message, and a summary after newer messages reads as news.",
        about=Step,
        relation=placement,
        situations={"a request with a new summary": fires, "a request with a stored summary": sends_stored},
    ),
    Rule(
        id="send.in-place",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="Where the stored summary applies, the request carries it, and none of the messages that it "
        "covers but called-back ones.",
        why="A summary sent beside what it summarises saves nothing.",
        about=Step,
        relation=in_place,
        situations={"a request with a stored summary": sends_stored},
    ),
    Rule(
        id="send.rest-unchanged",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.SOURCE,
        statement="Every message after the covered ones is sent unchanged, in order, once.",
        why="Signed reasoning and call ids are refused when a byte of them changes.",
        about=Step,
        relation=rest_unchanged,
        situations={"a request with a summary": lambda step: fires(step) or sends_stored(step)},
    ),
    Rule(
        id="send.nothing-lost",
        level=Level.MUST,
        profile=Profile.SAFE,
        origin=Origin.SOURCE,
        statement="Every message of the history is covered by the summary in the request, or sent: covered by "
        "what that text was made from, and by the key where one is shown.",
        why="A message that is neither is gone, and nobody is told.",
        about=Step,
        relation=nothing_lost,
        situations={
            "a request without a summary": lambda step: bool(step.attempts) and not step.stands and not step.fired,
            "a request with a new summary": fires,
            "a request with a stored summary": sends_stored,
        },
    ),
    Rule(
        id="send.nothing-else",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="A request holds system prompt, summary message, called-back, later and unstored messages, "
        "and nothing else.",
        why="Words that nobody wrote into the thread are answered as if the user had said them.",
        about=Step,
        relation=nothing_else,
        situations={"a request with a summary": lambda step: fires(step) or sends_stored(step)},
    ),
    Rule(
        id="send.same-request",
        level=Level.MUST,
        profile=Profile.EXACT,
        origin=Origin.SOURCE,
        statement="A new summary goes into the request that fired; after a compressor's good answer a request is sent.",
        why="The request that grew too large is the one that the provider refuses.",
        about=Step,
        relation=same_request,
        situations={"a firing": lambda step: step.written is not None},
    ),
    Rule(
        id="send.calls-back",
        level=Level.SHOULD,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="A result of the tail whose call is covered (it came late) calls its call back: the call's "
        "message and, of each of that message's calls, the last covered result that answers it, are sent again, "
        "in history order, "
        "straight after the summary message. Where one message answers several calls, the messages of its other calls "
        "come too, and so on. They stay covered.",
        why="A late result without its call is refused; a call whose other results stay behind is refused too.",
        about=Step,
        relation=calls_back,
        situations={"a late result": has_late_result},
        only_with={"a late result": keeps_late_results},
    ),
    Rule[Step | Change](
        id="send.applies",
        level=Level.MUST,
        profile=Profile.DURABLE,
        origin=Origin.OURS,
        statement="A stored summary applies where the history holds its last covered message and at least one after "
        "it, and its bounded text is not white space. Elsewhere (the anchor is gone) the request is sent as if there "
        "were none, and the next firing starts a new one. An implementation may declare that it also does not apply "
        "one while a result after the anchor answers a covered call. An edit before the anchor where key.restore is "
        "not declared is not judged.",
        why="A summary whose last message is gone stands for a thread that never was, and hides what took its place.",
        about=(Step, Change),
        relation=applies,
        situations={"a stored summary does not apply": does_not_apply},
        needs=frozenset({"edit", "summary-shown"}),
    ),
    Rule(
        id="send.unstored",
        level=Level.SHOULD,
        profile=Profile.EXACT,
        origin=Origin.OURS,
        statement="An unstored message is never covered: it is sent between the same neighbours or, where either is "
        "covered, straight after the summary message and what is called back, in its order. It counts for the "
        "trigger only.",
        why="What another middleware says for this request is lost if it is summarised, and misread elsewhere.",
        about=Step,
        relation=unstored,
        situations={
            "between two messages that are sent": lambda step: (
                bool(step.attempts)
                and any(place > step.start or (not step.stands and step.opening <= place) for place in step.gaps)
            ),
            "beside a covered message": lambda step: any(
                attempt.summary and is_displaced(place, step.opening, step.covered(attempt))
                for attempt in step.attempts
                for place in step.gaps
            ),
        },
        needs=frozenset({"notes"}),
    ),
)

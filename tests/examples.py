"""The examples of the specification's chapters: read from Markdown, played as traces, judged by the rules.

A block begins with a scenario in thread notation; each ``kept:`` or ``broken:`` line under it draws
what an implementation did in the scenario's last step, or in the block, restore or edit that it ends
with; of an agent, what a loop of the gallery does. ``spec/notation.md`` says how.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from run_examples import played
from tercet_spec.characters import bounded
from tercet_spec.moments import Moment, moments
from tercet_spec.notation import Mark, Written, parse, scenario_of
from tercet_spec.pairs import Call, is_legal, pair
from tercet_spec.requests import (
    Standing,
    as_sent,
    called_back,
    gap,
    is_displaced,
    measure,
    opening,
    position_of,
    standing,
    usable_cuts,
)
from tercet_spec.rules import RULES
from tercet_spec.scenarios import (
    Answer,
    Append,
    BeginTurn,
    Checkpoint,
    Configure,
    Edit,
    EndTurn,
    PlacedNote,
    Reply,
    Restore,
    Scenario,
    Step,
    reply_text,
)
from tercet_spec.trace import (
    Appended,
    Checkpointed,
    Edited,
    Event,
    Opened,
    Outcome,
    Refused,
    Requested,
    Restored,
    StepBegun,
    StepEnded,
    Summarized,
    Trace,
    TurnBegun,
    TurnEnded,
)
from tercet_spec.vocabulary import (
    ALL_CAPABILITIES,
    Configuration,
    Description,
    Message,
    Note,
    PendingCall,
    Role,
    State,
    Summary,
)

SPEC = Path(__file__).parent.parent / "spec"
BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
VERDICT = re.compile(
    r"(?P<kind>kept|broken):\s*(?P<drawn>.*?)(?P<breaks>(?:\s+[a-z]+\.[a-z-]+)*)(?:\s+\((?P<by>[a-z0-9-]+)\))?\s*"
)
TOKEN = re.compile(
    r"(?P<role>[sua])?\[(?:S(?P<asked>\d+)?(?::(?P<length>\d+)(?P<half>½)?)?|(?P<strange>\?))\]"
    r"|(?P<first>\d+)(?:-(?P<last>\d+)|(?P<changed>~))?"
    r"|(?P<prompt>s)(?P<other>~)?|n(?P<note>\d*)|(?P<nobody>\?)"
)
ROLES: dict[str | None, Role] = {None: "user", "s": "system", "u": "user", "a": "assistant"}
ENDS: dict[str, Outcome] = {"fails": "failed", "cancelled": "cancelled", "suspended": "suspended"}
OF_STEPS = ("given", "sent", "returned", "key", "history", "counted", *ENDS)
OF_CHANGES = ("key", "history", "usage")
DRAWN = (*OF_STEPS, *OF_CHANGES, "warned", "accepted", "refused")

NOBODYS = Message("user", "Nobody wrote this into the thread.")
NO_ANSWER = "No compressor wrote this."
NO_STEP = Step()
DESCRIPTION = Description("example", "1", capabilities=ALL_CAPABILITIES, before="The story so far: ", after=" (End.)")
DECLARATIONS: dict[str, dict[str, Any]] = {
    "UTF-16 units": {"character": "UTF-16 unit"},
    "UTF-8 bytes": {"character": "UTF-8 byte"},
    "sends": {"failed_compressor": "sends"},
    "parts": {"parts": True},
    "sets aside": {"sets_aside": True},
    **{f"no {lacked}": {"capabilities": DESCRIPTION.capabilities - {lacked}} for lacked in DESCRIPTION.capabilities},
}


class ExampleError(ValueError):
    """A line of an example that cannot be drawn."""


@frozen
class Example:
    """One ``kept`` or ``broken`` line, with the scenario that it stands under; ``by`` names a loop of the gallery."""

    place: str
    scenario: str
    declares: tuple[str, ...]
    kind: str
    drawn: str
    breaks: frozenset[str]
    by: str = ""

    def __str__(self) -> str:
        return self.place


def blocks(path: Path, info: str) -> Iterator[tuple[int, str]]:
    """Find the fenced blocks of a chapter with this info string: the number of the first line, the text."""
    text = path.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block["info"].strip() == info:
            yield text.count("\n", 0, block.start("body")) + 1, block["body"]


def examples(path: Path) -> Iterator[Example]:
    """Read the examples of a chapter, in order."""
    for first, body in blocks(path, "tercet"):
        scenario, declares = "", tuple[str, ...]()
        for number, line in enumerate(body.splitlines(), first):
            if not line.strip():
                continue
            verdict = VERDICT.fullmatch(line)
            if verdict:
                breaks = frozenset(verdict["breaks"].split())
                place, drawn = f"{path.name}:{number}", verdict["drawn"].strip()
                yield Example(place, scenario, declares, verdict["kind"], drawn, breaks, verdict["by"] or "")
            elif line.startswith("declares:"):
                declares = tuple(word.strip() for word in line.removeprefix("declares:").split(","))
            else:
                scenario, declares = line, ()


def trace(example: Example) -> Trace:
    """Make the trace that an example draws."""
    scenario = scenario_of(parse(example.scenario))
    if scenario.agent is not None:
        return played(scenario, example.by, example.drawn)
    description = DESCRIPTION
    for word in example.declares:
        if word not in DECLARATIONS:
            raise ExampleError(f"unknown declaration {word!r}; known are {', '.join(DECLARATIONS)}")
        description = evolve(description, **DECLARATIONS[word])
    clauses = split(example.drawn)
    if clauses == ["refused"]:
        return Trace(description, (Refused(scenario.configuration, ("refused",)),))
    warnings = ("warned",) if "warned" in clauses else ()
    play = Play(description, scenario.configuration, warnings)
    if clauses != ["accepted"]:
        play.perform(scenario, [clause for clause in clauses if clause != "warned"])
    return Trace(description, tuple(play.events))


def broken(trace: Trace) -> frozenset[str]:
    """Name the rules that a trace breaks, of those that apply to what it is a trace of."""
    found: set[str] = set()
    before: Moment | None = None
    rules = [rule for rule in RULES if rule.applies_to(trace.description.capabilities)]
    for moment in moments(trace):
        found |= {rule.id for rule in rules if rule.judge(moment, before)}
        before = moment
    return frozenset(found)


def split(drawn: str) -> list[str]:
    """Split a line into its clauses, at the commas that stand in no brackets."""
    return [clause.strip() for clause in re.split(r",(?![^(]*\))", drawn)]


@frozen
class Texts:
    """What ``[S]`` stands for at one point of a step: the text, and the same before it was bounded."""

    whole: str
    sent: str

    def of(self, token: re.Match[str]) -> str:
        """Return the text that a ``[S]``, ``[S:n]`` or ``[S:n½]`` says."""
        if token["length"] is None:
            return self.sent
        kept = int(token["length"])
        if kept > len(self.whole):
            raise ExampleError(f"{token[0]}: the text has {len(self.whole)} characters")
        half = self.whole[kept].encode("utf-16-le")[:2].decode("utf-16-le", "surrogatepass") if token["half"] else ""
        return self.whole[:kept] + half


@frozen
class Point:
    """What a thread is put back to: its history and its key."""

    history: tuple[Message, ...]
    summary: Summary | None


class Play:
    """Plays a scenario: every operation but the last rightly, the last as it is drawn."""

    def __init__(self, description: Description, configuration: Configuration, warnings: tuple[str, ...]) -> None:
        self.description = description
        self.configuration = configuration
        self.warnings = warnings
        self.events: list[Event] = [Opened(configuration, warnings)]
        self.history: tuple[Message, ...] = ()
        self.summary: Summary | None = None
        self.usage = 0
        self.asked = 0
        self.answered = 0
        self.said: dict[int, str] = {}
        self.keys: list[Summary] = []
        self.turn: Point | None = None
        self.checkpoints: dict[str, Point] = {}

    def perform(self, scenario: Scenario, drawn: Sequence[str]) -> None:
        """Perform all operations; ``drawn`` are the clauses of the last."""
        *others, last = scenario.operations
        for operation in others:
            match operation:
                case Append(messages):
                    self.append(messages)
                case Configure(configuration):
                    self.configuration = configuration
                    self.events.append(Opened(configuration, self.warnings))
                case Step():
                    self.step(operation, self.rightly(operation))
                case BeginTurn():
                    self.keep_turn()
                    self.events.append(TurnBegun(self.shown()))
                    self.turn = self.point()
                case Checkpoint(name):
                    self.events.append(Checkpointed(name, self.shown()))
                    self.checkpoints[name] = self.point()
                case EndTurn() | Restore() | Edit():
                    self.change(operation)
        match last:
            case Step():
                self.step(last, self.expanded(last, drawn))
            case EndTurn() | Restore() | Edit():
                self.change(last, drawn)
            case _:
                raise ExampleError("an example ends with a step, or with kept, blocked, restore, remove or edit")

    def append(self, messages: Sequence[Message]) -> None:
        """Store messages."""
        held = len(self.history)
        for message in messages:
            self.history += (evolve(message, id=self.new_id()),)
        self.events.append(Appended(self.history[held:]))

    def new_id(self) -> str:
        """Make a stored id that no message of the history has; one that is gone may have had it."""
        held = {message.id for message in self.history}
        return next(f"h{n}" for n in count(len(self.history) + 1) if f"h{n}" not in held)

    def point(self) -> Point:
        """Say what the thread is."""
        return Point(self.history, self.summary)

    def keep_turn(self) -> None:
        """Keep the turn that is under way, if there is one."""
        if self.turn:
            self.change(EndTurn())

    def change(self, operation: EndTurn | Restore | Edit, drawn: Sequence[str] | None = None) -> None:
        """End a turn, go back or let another party edit: rightly, or with what is there afterwards as it is drawn."""
        point: Point | None
        event: Callable[[State, State], Event]
        match operation:
            case EndTurn(blocked):
                point, self.turn = self.turn and (self.turn if blocked else self.point()), None
                event = partial(TurnEnded, blocked)
            case Restore(name):
                self.keep_turn()
                point = self.checkpoints.get(name)
                event = partial(Restored, name)
            case Edit():
                self.keep_turn()
                point = self.edited(operation)
                event = partial(Edited, point.history) if point else partial(Edited, ())
        if point is None:
            raise ExampleError(f"nothing happens: {operation}")
        before = self.shown()
        after = State(point.history, point.summary, self.usage)
        if drawn is not None:
            after = self.left(after, before, drawn)
        self.history, self.summary = point.history, after.summary
        self.events.append(event(before, after))

    def edited(self, edit: Edit) -> Point | None:
        """Say what an edit leaves: where it touches covered messages, the key is cleared by whoever can."""
        first, last = edit.first, edit.first + (edit.count if edit.content is None else 1)
        rewritten = [evolve(message, content=edit.content) for message in self.history[first:last] if edit.content]
        if first >= len(self.history):
            return None
        history = (*self.history[:first], *rewritten, *self.history[last:])
        anchor = position_of(self.history, self.summary.through) if self.summary else None
        stands = anchor is None or set(self.history[opening(self.history) : anchor + 1]) <= set(history)
        is_told = "restores-key" in self.description.capabilities
        return Point(history, self.summary if stands or not is_told else None)

    def left(self, right: State, before: State, drawn: Sequence[str]) -> State:
        """Read what is drawn of the thread after a change; the key is as it was, and all else right, if not said."""
        after = evolve(right, summary=before.summary)
        for clause in drawn:
            word, _, rest = clause.partition(" ")
            match word:
                case "key" if rest == "none":
                    after = evolve(after, summary=None)
                case "key" if rest != "-":
                    through = self.at(int(rest) - 1).id
                    fitting = [key for key in self.keys if key.through == through]
                    if not fitting:
                        raise ExampleError(f"{clause}: no summary ever reached to that message")
                    after = evolve(after, summary=fitting[-1])
                case "history":
                    after = evolve(after, history=tuple(self.messages(rest)))
                case "usage" if rest == "less":
                    after = evolve(after, usage=before.usage - 1)
                case _ if word not in OF_CHANGES or rest != "-":
                    raise ExampleError(f"{clause!r} says nothing of a thread between steps")
        return after

    def expanded(self, step: Step, drawn: Sequence[str]) -> Sequence[str]:
        """Write a picture out in clauses; leave clauses as they are."""
        pictures = [clause for clause in drawn if clause.split()[0] not in DRAWN]
        if not pictures:
            return drawn
        if len(pictures) > 1:
            raise ExampleError(f"two pictures: {pictures}")
        items = parse(pictures[0]).items
        first = len(self.history) - len([item for item in items if isinstance(item, Written)])
        stands = self.standing()
        start = stands.start if stands else 0
        if first != start or (Mark("[S]") in items) != bool(stands):
            raise ExampleError(f"{pictures[0]!r} is no picture of this thread: it begins with message {start + 1}")
        cut, position = None, first
        for item in items:
            match item:
                case Mark("|"):
                    cut = position
                case Written(role, ids):
                    message = self.history[position]
                    position += 1
                    if (message.role, message.answers or tuple(call.id for call in message.calls)) != (role, ids):
                        raise ExampleError(f"message {position} is drawn as another in {pictures[0]!r}")
        return [*self.naturally(step, cut), *(clause for clause in drawn if clause not in pictures)]

    def standing(self) -> Standing | None:
        """Apply the stored summary, where it applies."""
        return standing(self.history, pair(self.history), self.summary, self.configuration, self.description)

    def rightly(self, step: Step) -> Sequence[str]:
        """Write down a step that keeps every rule."""
        pairs, stands = pair(self.history), self.standing()
        request = as_sent(step.system, self.history, pairs, stands, self.description, self.placed(step.notes))
        size = measure(request, self.configuration, self.description)
        start = stands.start if stands else opening(self.history)
        pending = [
            Call(position, call.place)
            for call in self.named(step.pending)
            if (position := position_of(self.history, call.message)) is not None
        ]
        cuts = usable_cuts(self.history, pairs, start, self.configuration.keep_recent, pending)
        fires = size > self.configuration.trigger.limit and bool(cuts)
        return self.naturally(step, cuts[-1] if fires else None)

    def naturally(self, step: Step, cut: int | None) -> Sequence[str]:
        """Write down a step that covers the messages before a cut, or fires at nothing if there is none."""
        pairs, stands = pair(self.history), self.standing()
        start = stands.start if stands else opening(self.history)
        clauses: list[str] = []
        failure = step.answers[0].failure if step.answers else None
        if cut is not None:
            given = numbers((*called_back(self.history, pairs, start, cut), *range(start, cut)))
            clauses.append(" ".join(["given", *["[S]"] * bool(stands), *given]))
            if step.replies and (step.replies[0].failure or step.replies[0].blank is not None):
                return [*clauses, "fails"]
        tears = cut is not None and not is_legal(pairs, start, cut)
        start = start if cut is None else cut
        summary = ["[S]"] * (cut is not None or stands is not None)
        back = numbers(called_back(self.history, pairs, start)) if summary and not tears else []
        clauses.append(" ".join(["sent", *self.request(step, start, [*summary, *back])]))
        if failure:
            return [*clauses, next(word for word, outcome in ENDS.items() if outcome == failure)]
        return [*clauses, f"key {cut}"] if cut is not None else clauses

    def request(self, step: Step, start: int, summary: Sequence[str]) -> Iterator[str]:
        """Write down a request: what opens the history, the summary and what comes with it, the rest; notes between."""
        first, end = opening(self.history), len(self.history)
        places = [(gap(self.history, note), f"n{n}") for n, note in enumerate(self.placed(step.notes), 1)]
        displaced = [name for place, name in places if is_displaced(place, first, start)]

        def between(begin: int, stop: int) -> Iterator[str]:
            for position in range(begin, stop):
                yield from (name for place, name in places if place == position and name not in displaced)
                yield str(position + 1)

        yield from ["s"] * (step.system is not None)
        yield from between(0, first)
        yield from (*summary, *displaced)
        yield from between(start, end)
        yield from (name for place, name in places if place == end and name not in displaced)

    def step(self, step: Step, clauses: Sequence[str]) -> None:
        """Take one step as its clauses draw it."""
        replies, answers = list(step.replies), list(step.answers)
        self.events.append(StepBegun(self.shown(), step.system, self.placed(step.notes), self.named(step.pending)))
        texts = self.texts(self.summary.text) if self.summary else None
        calls: list[int] = []
        sent: list[tuple[str | None, Message | None]] = []
        for clause in clauses:
            word, _, rest = clause.partition(" ")
            match word:
                case "given":
                    self.asked += 1
                    calls.append(self.weight())
                    reply = replies.pop(0) if replies else Reply()
                    said = None if reply.failure else reply_text(reply, self.asked)
                    self.events.append(self.summarized(rest, step, texts, said, reply))
                    if said is not None:
                        self.said[self.asked] = said
                        texts = self.texts(said)
                case "sent":
                    self.answered += 1
                    calls.append(self.weight())
                    scripted = answers.pop(0) if answers else Answer()
                    request = tuple(self.messages(rest, step, texts))
                    answer = None
                    if not scripted.failure:
                        answer = scripted.message or Message("assistant", f"n{self.answered}z")
                    self.events.append(Requested(request, answer, scripted.failure, self.weight()))
                    sent.append((next((self.text(t, texts) for t in tokens(rest) if "[" in t[0]), None), answer))
                case _ if word not in OF_STEPS:
                    raise ExampleError(f"{clause!r} says nothing of a step")
        self.end(clauses, step, texts, calls, sent)

    def end(
        self,
        clauses: Sequence[str],
        step: Step,
        texts: Texts | None,
        calls: Sequence[int],
        sent: Sequence[tuple[str | None, Message | None]],
    ) -> None:
        """End a step: ``calls`` are what its calls reported, ``sent`` each request's summary text and its answer."""
        said = {word: rest for word, _, rest in (clause.partition(" ") for clause in clauses)}
        outcome: Outcome = next((outcome for word, outcome in ENDS.items() if word in said), "committed")
        returned = int(said["returned"]) - 1 if "returned" in said else None
        carried, answer = sent[-1 if returned is None else returned] if sent else (None, None)
        if outcome == "committed" and answer is None:
            raise ExampleError("a step that commits has an answer: nothing was sent, or its attempt failed")
        key = said.get("key", "-")
        summary = self.summary
        if key == "none":
            summary = None
        elif key != "-":
            number, _, written = key.partition(" ")
            text = self.text(next(tokens(written)), texts) if written else carried or (texts and texts.sent)
            summary = Summary(text or NO_ANSWER, self.at(int(number) - 1).id or "")
        stored = (evolve(answer, id=self.new_id()),) if outcome == "committed" and answer else ()
        self.history += stored
        times = [int(n) for n in said["counted"].split()] if "counted" in said else [1] * len(calls)
        if len(times) != len(calls):
            raise ExampleError(f"counted {said['counted']}: the step has {len(calls)} calls")
        self.usage += sum(n * usage for n, usage in zip(times, calls, strict=True))
        self.keys += [summary] if summary and summary != self.summary else []
        self.summary = summary
        shown = tuple(self.messages(said["history"], step, texts)) if "history" in said else self.history
        self.events.append(
            StepEnded(outcome, evolve(self.shown(), history=shown), returned, stored[0].id if stored else None)
        )

    def shown(self) -> State:
        """Show the thread as it is."""
        return State(self.history, self.summary, self.usage)

    def weight(self) -> int:
        """Say what the latest call reported: each another power of four, so that a sum tells them apart."""
        return 1 << 2 * (self.asked + self.answered)

    def placed(self, notes: Sequence[PlacedNote]) -> tuple[Note, ...]:
        """Name the stored message that each note follows."""
        places = [max(0, len(self.history) - note.back) for note in notes]
        return tuple(
            Note(self.history[place - 1].id if place else None, note.message)
            for note, place in zip(notes, places, strict=True)
        )

    def named(self, ids: Sequence[str | None]) -> tuple[PendingCall, ...]:
        """Name the latest call of each id."""
        calls = {call.id: PendingCall(m.id or "", place) for m in self.history for place, call in enumerate(m.calls)}
        return tuple(calls[call_id] for call_id in ids)

    def texts(self, whole: str) -> Texts:
        """Say what ``[S]`` stands for once this text is the summary."""
        return Texts(whole, bounded(whole, self.configuration.max_summary_tokens, self.description.character))

    def text(self, token: re.Match[str], texts: Texts | None) -> str:
        """Return the text that a ``[S]``, ``[S1]``, ``[S:n]``, ``[S:n½]`` or ``[?]`` says."""
        if token["strange"]:
            return NO_ANSWER
        if token["asked"]:
            said = self.said.get(int(token["asked"]))
            texts = self.texts(said) if said is not None else None
        if texts is None:
            raise ExampleError(f"{token[0]} where there is no such text")
        return texts.of(token)

    def summarized(self, drawn: str, step: Step, texts: Texts | None, said: str | None, reply: Reply) -> Summarized:
        """Make one question to the compressor; ``[S]`` at its head is the summary so far."""
        listed = list(tokens(drawn))
        head = listed.pop(0) if listed and "[" in listed[0][0] else None
        rest = drawn[head.end() :] if head else drawn
        so_far = self.text(head, texts) if head else None
        return Summarized(tuple(self.messages(rest, step, texts)), so_far, said, reply.failure, self.weight())

    def messages(self, drawn: str, step: Step = NO_STEP, texts: Texts | None = None) -> Iterator[Message]:
        """Make the messages that are listed."""
        for token in tokens(drawn):
            if token["first"]:
                for position in range(int(token["first"]) - 1, int(token["last"] or token["first"])):
                    message = self.at(position)
                    yield evolve(message, content=message.content + " (changed)") if token["changed"] else message
            elif token["prompt"]:
                yield Message("system", (step.system or "") + (" (changed)" if token["other"] else ""))
            elif token["nobody"]:
                yield NOBODYS
            elif token["note"] is not None:
                yield self.note(int(token["note"] or 1), step)
            else:
                text = self.text(token, texts)
                yield Message(ROLES[token["role"]], f"{self.description.before}{text}{self.description.after}")

    def note(self, number: int, step: Step) -> Message:
        """Give a note of a step, counted from 1."""
        if not 1 <= number <= len(step.notes):
            raise ExampleError(f"the step has no note {number}")
        return step.notes[number - 1].message

    def at(self, position: int) -> Message:
        """The message at a position; after the last one stands the answer, which is not known yet."""
        if not 0 <= position < len(self.history):
            raise ExampleError(f"there is no message {position + 1}")
        return self.history[position]


def tokens(drawn: str) -> Iterator[re.Match[str]]:
    """Read a list of messages, word by word."""
    for word in re.finditer(r"\S+", drawn):
        token = TOKEN.fullmatch(drawn, word.start(), word.end())
        if token is None:
            raise ExampleError(
                f"{word[0]!r} is no message: a number, n-m, n~, s, n, [S], [S1], [S:n], [S:n½], [?] or ?"
            )
        yield token


def numbers(positions: Sequence[int]) -> list[str]:
    """Write positions as a reader counts messages, from 1."""
    return [str(position + 1) for position in positions]

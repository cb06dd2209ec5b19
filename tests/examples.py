"""The examples of the specification's chapters: read from Markdown, played as traces, judged by the rules.

A block begins with a scenario in thread notation; each ``kept:`` or ``broken:`` line under it draws
what an implementation did in the scenario's last step. ``spec/notation.md`` says how.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from attrs import evolve, frozen

from tercet_spec.characters import bounded
from tercet_spec.moments import Moment, moments
from tercet_spec.notation import Mark, Written, parse, scenario_of
from tercet_spec.pairs import is_legal, pair
from tercet_spec.requests import as_sent, called_back, measure, opening, standing, usable_cuts
from tercet_spec.rules import RULES
from tercet_spec.scenarios import Answer, Append, Configure, Reply, Scenario, Step, reply_text
from tercet_spec.trace import (
    Appended,
    Event,
    Opened,
    Outcome,
    Refused,
    Requested,
    StepBegun,
    StepEnded,
    Summarized,
    Trace,
)
from tercet_spec.vocabulary import Capability, Configuration, Description, Message, Role, State, Summary

SPEC = Path(__file__).parent.parent / "spec"
BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
VERDICT = re.compile(r"(?P<kind>kept|broken):\s*(?P<drawn>.*?)(?P<breaks>(?:\s+[a-z]+\.[a-z-]+)*)\s*")
TOKEN = re.compile(
    r"(?P<role>[sua])?\[(?:S(?::(?P<length>\d+)(?P<half>½)?)?|(?P<strange>\?))\]"
    r"|(?P<first>\d+)(?:-(?P<last>\d+)|(?P<changed>~))?"
    r"|(?P<prompt>s)(?P<other>~)?|(?P<nobody>\?)"
)
ROLES: dict[str | None, Role] = {None: "user", "s": "system", "u": "user", "a": "assistant"}
ENDS: dict[str, Outcome] = {"fails": "failed", "cancelled": "cancelled", "suspended": "suspended"}
DRAWN = ("given", "sent", "key", "history", "warned", "accepted", "refused", *ENDS)

NOBODYS = Message("user", "Nobody wrote this into the thread.")
NO_ANSWER = "No compressor wrote this."
DESCRIPTION = Description(
    "example", "1", capabilities=frozenset(get_args(Capability)), before="The story so far: ", after=" (End.)"
)
DECLARATIONS: dict[str, dict[str, Any]] = {
    "UTF-16 units": {"character": "UTF-16 unit"},
    "UTF-8 bytes": {"character": "UTF-8 byte"},
    "sends": {"failed_compressor": "sends"},
    "parts": {"parts": True},
}


class ExampleError(ValueError):
    """A line of an example that cannot be drawn."""


@frozen
class Example:
    """One ``kept`` or ``broken`` line, with the scenario that it stands under."""

    place: str
    scenario: str
    declares: tuple[str, ...]
    kind: str
    drawn: str
    breaks: frozenset[str]

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
                yield Example(
                    f"{path.name}:{number}", scenario, declares, verdict["kind"], verdict["drawn"].strip(), breaks
                )
            elif line.startswith("declares:"):
                declares = tuple(word.strip() for word in line.removeprefix("declares:").split(","))
            else:
                scenario, declares = line, ()


def trace(example: Example) -> Trace:
    """Make the trace that an example draws."""
    scenario = scenario_of(parse(example.scenario))
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
    """Name the rules that a trace breaks."""
    found: set[str] = set()
    before: Moment | None = None
    for moment in moments(trace):
        found |= {rule.id for rule in RULES if rule.judge(moment, before)}
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
        """Return the text that a ``[S]``, ``[S:n]``, ``[S:n½]`` or ``[?]`` says."""
        if token["strange"]:
            return NO_ANSWER
        if token["length"] is None:
            return self.sent
        kept = int(token["length"])
        if kept > len(self.whole):
            raise ExampleError(f"{token[0]}: the text has {len(self.whole)} characters")
        half = self.whole[kept].encode("utf-16-le")[:2].decode("utf-16-le", "surrogatepass") if token["half"] else ""
        return self.whole[:kept] + half


class Play:
    """Plays a scenario: every step but the last rightly, the last as it is drawn."""

    def __init__(self, description: Description, configuration: Configuration, warnings: tuple[str, ...]) -> None:
        self.description = description
        self.configuration = configuration
        self.warnings = warnings
        self.events: list[Event] = [Opened(configuration, warnings)]
        self.history: tuple[Message, ...] = ()
        self.summary: Summary | None = None
        self.asked = 0
        self.answered = 0

    def perform(self, scenario: Scenario, drawn: Sequence[str]) -> None:
        """Perform all operations; ``drawn`` are the clauses of the last step."""
        for number, operation in enumerate(scenario.operations, 1):
            match operation:
                case Append(messages):
                    stored = tuple(evolve(m, id=f"h{n}") for n, m in enumerate(messages, len(self.history) + 1))
                    self.history += stored
                    self.events.append(Appended(stored))
                case Configure(configuration):
                    self.configuration = configuration
                    self.events.append(Opened(configuration, self.warnings))
                case Step():
                    is_last = number == len(scenario.operations)
                    self.step(operation, self.expanded(operation, drawn) if is_last else self.rightly(operation))

    def expanded(self, step: Step, drawn: Sequence[str]) -> Sequence[str]:
        """Write a picture out in clauses; leave clauses as they are."""
        pictures = [clause for clause in drawn if clause.split()[0] not in DRAWN]
        if not pictures:
            return drawn
        if len(pictures) > 1:
            raise ExampleError(f"two pictures: {pictures}")
        items = parse(pictures[0]).items
        first = len(self.history) - len([item for item in items if isinstance(item, Written)])
        stands = standing(self.history, pair(self.history), self.summary, self.configuration, self.description)
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

    def rightly(self, step: Step) -> Sequence[str]:
        """Write down a step that keeps every rule."""
        pairs = pair(self.history)
        stands = standing(self.history, pair(self.history), self.summary, self.configuration, self.description)
        request = as_sent(step.system, self.history, pairs, stands, self.description)
        size = measure(request, self.configuration, self.description)
        start = stands.start if stands else opening(self.history)
        cuts = usable_cuts(self.history, pairs, start, self.configuration.keep_recent)
        fires = size > self.configuration.trigger.limit and bool(cuts)
        return self.naturally(step, cuts[-1] if fires else None)

    def naturally(self, step: Step, cut: int | None) -> Sequence[str]:
        """Write down a step that covers the messages before a cut, or fires at nothing if there is none."""
        pairs = pair(self.history)
        stands = standing(self.history, pair(self.history), self.summary, self.configuration, self.description)
        head = ["s"] * (step.system is not None) + numbers(range(opening(self.history)))
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
        clauses.append(" ".join(["sent", *head, *summary, *back, *numbers(range(start, len(self.history)))]))
        if failure:
            return [*clauses, next(word for word, outcome in ENDS.items() if outcome == failure)]
        return [*clauses, f"key {cut}"] if cut is not None else clauses

    def step(self, step: Step, clauses: Sequence[str]) -> None:
        """Take one step as its clauses draw it."""
        replies, answers = list(step.replies), list(step.answers)
        self.events.append(StepBegun(self.shown(), step.system))
        texts = self.texts(self.summary.text if self.summary else None)
        carried: str | None = None
        outcome: Outcome = "committed"
        answer: Message | None = None
        after = State(self.history, self.summary)
        history: str | None = None
        for clause in clauses:
            word, _, rest = clause.partition(" ")
            match word:
                case "given":
                    self.asked += 1
                    reply = replies.pop(0) if replies else Reply()
                    said = None if reply.failure else reply_text(reply, self.asked)
                    self.events.append(self.summarized(rest, step, texts, said, reply))
                    texts = self.texts(said) if said is not None else texts
                case "sent":
                    self.answered += 1
                    scripted = answers.pop(0) if answers else Answer()
                    request = tuple(self.messages(rest, step, texts))
                    carried = next((texts.of(t) for t in tokens(rest) if "[" in t[0] and texts), carried)
                    answer = None
                    if not scripted.failure:
                        answer = scripted.message or Message("assistant", f"n{self.answered}z")
                    self.events.append(Requested(request, answer, scripted.failure))
                case "key" if rest == "none":
                    after = evolve(after, summary=None)
                case "key" if rest != "-":
                    number, _, written = rest.partition(" ")
                    text = texts.of(next(tokens(written))) if written and texts else carried or (texts and texts.sent)
                    after = evolve(after, summary=Summary(text or NO_ANSWER, self.at(int(number) - 1).id or ""))
                case "history":
                    history = rest
                case _ if word in ENDS:
                    outcome = ENDS[word]
        if outcome == "committed" and answer is None:
            raise ExampleError("a step that commits has an answer: nothing was sent, or the last attempt failed")
        if outcome != "committed":
            answer = None
        stored = () if answer is None else (evolve(answer, id=f"h{len(self.history) + 1}"),)
        self.history += stored
        shown = self.history if history is None else tuple(self.messages(history, step, texts))
        after = evolve(after, history=shown)
        self.events.append(StepEnded(outcome, after, answer_id=stored[0].id if stored else None))
        self.summary = after.summary

    def shown(self) -> State:
        """Show the thread as it is."""
        return State(self.history, self.summary)

    def texts(self, whole: str | None) -> Texts | None:
        """Say what ``[S]`` stands for once this text is the summary."""
        if whole is None:
            return None
        return Texts(whole, bounded(whole, self.configuration.max_summary_tokens, self.description.character))

    def summarized(self, drawn: str, step: Step, texts: Texts | None, said: str | None, reply: Reply) -> Summarized:
        """Make one question to the compressor; ``[S]`` at its head is the summary so far."""
        listed = list(tokens(drawn))
        head = listed.pop(0) if listed and "[" in listed[0][0] else None
        if head and texts is None:
            raise ExampleError(f"{head[0]} where there is no summary so far")
        rest = drawn[head.end() :] if head else drawn
        so_far = texts.of(head) if head and texts else None
        return Summarized(tuple(self.messages(rest, step, texts)), so_far, said, reply.failure)

    def messages(self, drawn: str, step: Step, texts: Texts | None) -> Iterator[Message]:
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
            else:
                text = (token["strange"] and NO_ANSWER) or (texts and texts.of(token))
                if not text and texts is None:
                    raise ExampleError(f"{token[0]} where there is no summary")
                yield Message(ROLES[token["role"]], f"{self.description.before}{text}{self.description.after}")

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
            raise ExampleError(f"{word[0]!r} is no message: a number, n-m, n~, s, [S], [S:n], [S:n½], [?] or ?")
        yield token


def numbers(positions: Sequence[int]) -> list[str]:
    """Write positions as a reader counts messages, from 1."""
    return [str(position + 1) for position in positions]

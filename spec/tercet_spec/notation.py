"""Thread notation: one line that people and programs read, and the scenario that it stands for.

``limit 5 keep 3: u a(x) a(y) t(x) t(y) u`` appends six messages and takes one step. ``step`` inside
the line takes others. A line that begins with ``stack`` is of an agent. The whole grammar stands in
``spec/notation.md``.
"""

import re
from collections.abc import Iterator
from typing import Literal

from attrs import evolve, frozen

from tercet_spec.agent_notation import AgentReader, format_agent, format_runs
from tercet_spec.agents import Agent
from tercet_spec.reader import Ids, NotationError, format_id, format_reply
from tercet_spec.scenarios import (
    Answer,
    Append,
    BeginTurn,
    Checkpoint,
    Configure,
    Edit,
    EndTurn,
    Operation,
    PlacedNote,
    Reply,
    Restore,
    Resume,
    RunAgent,
    Scenario,
    Step,
    call_arguments,
    content_text,
)
from tercet_spec.trace import Failure
from tercet_spec.vocabulary import Configuration, Message, Role, TokenCounter, ToolCall, Trigger

LETTERS: dict[str, Role] = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
FAILURES: dict[str, Failure] = {"fails": "failed", "cancelled": "cancelled", "suspended": "suspended"}
REWRITTEN = "rewritten"
"""The content of a message that another party edited."""
DEFAULT_SYSTEM = "You are a careful assistant."


@frozen
class Written:
    """One message as it is written: its letter's role, the ids of its calls or answers, its content's length."""

    role: Role
    ids: Ids = ()
    length: int | None = None


@frozen
class Mark:
    """``[S]``, a summary that stands for what came before, or ``|``, the place of a cut."""

    sign: Literal["[S]", "|"]


@frozen
class Settings:
    """What stands before the colon, or in ``configure[…]``; ``None`` where nothing is said."""

    limit: int | None = None
    kind: Literal["messages", "tokens"] | None = None
    keep: int | None = None
    bound: int | None = None
    counter: tuple[int, int] | None = None
    beside: tuple[str, ...] = ()
    system: bool = False


@frozen
class Noted:
    """``note u 2 back``: an unstored message for a step, before the last two messages of the history."""

    message: Written
    back: int = 0


@frozen
class Stepped:
    """``step``, with the script of the compressor and the model, notes and pending calls in brackets."""

    replies: tuple[Reply, ...] = ()
    answers: tuple[Written | Failure, ...] = ()
    notes: tuple[Noted, ...] = ()
    pending: Ids = ()


@frozen
class Configured:
    """``configure[…]``: what changes."""

    settings: Settings


Changing = BeginTurn | EndTurn | Checkpoint | Restore | Edit
"""What happens to a thread between steps: ``turn kept blocked checkpoint[x] restore[x] remove[2-3] edit[2]``."""
Item = Written | Mark | Stepped | Configured | Changing | RunAgent | Resume


@frozen
class Line:
    """A line of notation, read; one with an ``agent`` has only runs for items, and how they go on."""

    settings: Settings = Settings()
    items: tuple[Item, ...] = ()
    agent: Agent | None = None


class LineReader(AgentReader):
    """Reads a line of notation."""

    def settings(self) -> Settings:
        settings = Settings()
        while True:
            if self.takes("limit"):
                limit = self.number()
                kind: Literal["messages", "tokens"] = "tokens" if self.takes("tokens") else "messages"
                settings = evolve(settings, limit=limit, kind=kind)
            elif self.takes("keep"):
                settings = evolve(settings, keep=self.number())
            elif self.takes("bound"):
                settings = evolve(settings, bound=self.number())
            elif self.takes("counter"):
                base = self.number(0)
                self.expect("+")
                self.expect("/")
                settings = evolve(settings, counter=(base, self.number(1)))
            elif self.takes("beside"):
                name = self.choice(("window", "summarizer")) or self.fail("expected window or summarizer")
                settings = evolve(settings, beside=(*settings.beside, name))
            elif self.takes("system"):
                settings = evolve(settings, system=True)
            else:
                return settings

    def written(self, letter: str) -> Written:
        role = LETTERS[letter]
        takes_ids = role in ("assistant", "tool") and self.line[self.place : self.place + 1] == "("
        ids = self.ids() if takes_ids else ()
        if role == "tool" and not ids:
            self.fail("a result names the call that it answers: t(x)")
        length = None
        if self.line[self.place : self.place + 1] == ":":
            self.place += 1
            length = self.number(0)
        return Written(role, ids, length)

    def stepped(self) -> Stepped:
        replies: list[Reply] = []
        answers: list[Written | Failure] = []
        notes: list[Noted] = []
        pending: list[str | None] = []
        if self.line[self.place : self.place + 1] != "[":
            return Stepped()
        self.place += 1
        while True:
            if self.takes("S"):
                replies.append(self.reply())
            elif self.takes("a"):
                failure = self.choice(FAILURES)
                answers.append(FAILURES[failure] if failure else self.written("a"))
            elif self.takes("note"):
                notes.append(self.noted())
            elif self.takes("pending"):
                pending.append(self.call_id())
            else:
                self.fail("expected S and what the compressor answers, a and what the model answers, note or pending")
            if not self.takes(","):
                break
        self.expect("]")
        return Stepped(tuple(replies), tuple(answers), tuple(notes), tuple(pending))

    def noted(self) -> Noted:
        letter = self.choice(("s", "u", "a")) or self.fail("expected the letter of the note's role: s, u or a")
        message = self.written(letter)
        if message.ids:
            self.fail("a note calls no tool")
        self.skip()
        if not self.line[self.place : self.place + 1].isdigit():
            return Noted(message)
        back = self.number(0)
        self.expect("back")
        return Noted(message, back)

    def removed(self) -> Edit:
        self.expect("[")
        first = self.number(1)
        last = self.number(first) if self.takes("-") else first
        self.expect("]")
        return Edit(first - 1, last - first + 1)

    def edited(self) -> Edit:
        self.expect("[")
        first = self.number(1)
        self.expect("]")
        return Edit(first - 1, content=REWRITTEN)

    def changing(self) -> Changing | None:
        match self.choice(("turn", "kept", "blocked", "checkpoint", "restore", "remove", "edit")):
            case "turn":
                return BeginTurn()
            case "kept":
                return EndTurn()
            case "blocked":
                return EndTurn(blocked=True)
            case "checkpoint":
                return Checkpoint(self.name())
            case "restore":
                return Restore(self.name())
            case "remove":
                return self.removed()
            case "edit":
                return self.edited()
        return None

    def item(self) -> Item:
        if self.takes("[S]"):
            return Mark("[S]")
        if self.takes("|"):
            return Mark("|")
        if self.takes("step"):
            return self.stepped()
        if self.takes("configure"):
            self.expect("[")
            place, settings = self.skip(), self.settings()
            if settings.system:
                self.fail("the system prompt is said once, before the colon", self.line.index("system", place))
            self.expect("]")
            return Configured(settings)
        if change := self.changing():
            return change
        letter = self.choice(LETTERS)
        if not letter:
            self.fail(
                "expected a message (s, u, a, a(x), t(x)), step, configure[…], turn, kept, blocked, checkpoint[…], "
                "restore[…], remove[…], edit[…], [S] or |"
            )
        return self.written(letter)

    def line_of_agent(self) -> Line:
        agent = self.agent()
        place, settings = self.skip(), self.settings()
        if settings.system:
            self.fail("an agent's system prompt is said with prompt", self.line.index("system", place))
        if not self.takes(":"):
            self.fail("expected a middleware (a(wrap_model)), S, tools, prompt, sections, settings, or the colon")
        items: list[Item] = []
        while not self.at_end():
            if self.takes("run"):
                items.append(self.run(1 + sum(isinstance(item, RunAgent) for item in items)))
            elif self.takes("resume"):
                items.append(self.resume())
            else:
                self.fail("expected run or resume")
        return Line(settings, tuple(items), agent)


def parse(line: str) -> Line:
    """Read a line; raises NotationError with the place of what does not parse."""
    reader = LineReader(line)
    if reader.takes("stack"):
        return reader.line_of_agent()
    settings = reader.settings() if ":" in line else Settings()
    if ":" in line and not reader.takes(":"):
        if settings != Settings():
            reader.fail("expected limit, keep, bound, counter, beside or system, or the colon that ends them")
        reader.place = 0
    items: list[Item] = []
    while not reader.at_end():
        items.append(reader.item())
    return Line(settings, tuple(items))


def format_line(line: Line) -> str:
    """Write a line so that it parses to the same."""
    agent = () if line.agent is None else format_agent(line.agent)
    head = " ".join([*agent, *format_settings(line.settings)])
    body = " ".join(format_runs(line.items) if line.agent else map(format_item, line.items))
    return f"{head}: {body}".rstrip() if head else body


def format_settings(settings: Settings) -> Iterator[str]:
    """Write settings, word by word."""
    if settings.limit is not None:
        yield f"limit {settings.limit}" + (" tokens" if settings.kind == "tokens" else "")
    if settings.keep is not None:
        yield f"keep {settings.keep}"
    if settings.bound is not None:
        yield f"bound {settings.bound}"
    if settings.counter is not None:
        yield "counter {}+/{}".format(*settings.counter)
    for name in settings.beside:
        yield f"beside {name}"
    if settings.system:
        yield "system"


def format_item(item: Item) -> str:
    """Write one item."""
    match item:
        case Written():
            return format_message(item)
        case Mark(sign):
            return sign
        case Configured(settings):
            return f"configure[{' '.join(format_settings(settings))}]"
        case Stepped(replies, answers, notes, pending):
            script = [f"S {format_reply(reply)}" for reply in replies]
            script += [format_answer(answer) for answer in answers]
            script += [format_note(note) for note in notes]
            script += [f"pending {format_id(call_id)}" for call_id in pending]
            return f"step[{', '.join(script)}]" if script else "step"
        case BeginTurn():
            return "turn"
        case EndTurn(blocked):
            return "blocked" if blocked else "kept"
        case Checkpoint(name):
            return f"checkpoint[{name}]"
        case Restore(name):
            return f"restore[{name}]"
        case RunAgent() | Resume():
            return " ".join(format_runs([item]))
        case Edit(first, count, content):
            last = f"-{first + count}" if content is None and count > 1 else ""
            return f"{'remove' if content is None else 'edit'}[{first + 1}{last}]"


def format_note(note: Noted) -> str:
    """Write one note."""
    return f"note {format_message(note.message)}" + (f" {note.back} back" if note.back else "")


def format_message(message: Written) -> str:
    """Write one message."""
    letter = next(letter for letter, role in LETTERS.items() if role == message.role)
    ids = ",".join(map(format_id, message.ids))
    length = "" if message.length is None else f":{message.length}"
    return letter + (f"({ids})" if ids else "") + length


def format_answer(answer: Written | Failure) -> str:
    """Write what the model answers."""
    if isinstance(answer, Written):
        return format_message(answer)
    return "a " + next(word for word, failure in FAILURES.items() if failure == answer)


def message_of(written: Written, ordinal: int) -> Message:
    """Make the message of this ordinal, with its marker in its content or in a call's arguments."""
    in_call = written.role == "assistant" and bool(written.ids) and written.length is None
    calls = (
        tuple(
            ToolCall(call_id, arguments=call_arguments(ordinal) if in_call and place == 0 else "{}")
            for place, call_id in enumerate(written.ids)
        )
        if written.role == "assistant"
        else ()
    )
    return Message(
        written.role,
        "" if in_call else content_text(ordinal, written.length),
        calls,
        written.ids if written.role == "tool" else (),
    )


def configuration_of(settings: Settings, default: Configuration) -> Configuration:
    """Make the configuration that settings change a default into."""
    trigger = default.trigger
    if settings.limit is not None:
        trigger = Trigger(settings.kind or "messages", settings.limit)
    return Configuration(
        trigger=trigger,
        keep_recent=default.keep_recent if settings.keep is None else settings.keep,
        max_summary_tokens=default.max_summary_tokens if settings.bound is None else settings.bound,
        token_counter=default.token_counter if settings.counter is None else TokenCounter(*settings.counter),
        beside=settings.beside or default.beside,
    )


DEFAULT = Configuration(Trigger("messages", 5), keep_recent=3)


def scenario_of(line: Line) -> Scenario:
    """Make the scenario that a line stands for; a last step is taken if the line ends in a message.

    Raises NotationError for a picture: ``[S]`` and ``|`` say what came of a thread, and cannot be run.
    """
    if line.agent is not None:
        runs = tuple(item for item in line.items if isinstance(item, RunAgent | Resume))
        return Scenario(configuration_of(line.settings, DEFAULT), runs, line.agent)
    system = DEFAULT_SYSTEM if line.settings.system else None
    configuration = configuration_of(line.settings, DEFAULT)
    operations: list[Operation] = []
    written: list[Message] = []
    ordinal = 0

    def flush() -> None:
        if written:
            operations.append(Append(tuple(written)))
            written.clear()

    ends = bool(line.items) and not isinstance(line.items[-1], Written | Mark | Configured)
    items = line.items if ends else (*line.items, Stepped())
    for item in items:
        match item:
            case Written():
                ordinal += 1
                written.append(message_of(item, ordinal))
            case Mark(sign):
                text = format_line(line)
                raise NotationError(text, text.index(sign), f"{sign} draws what came of a thread; it cannot be run")
            case Configured(settings):
                flush()
                configuration = configuration_of(settings, configuration)
                operations.append(Configure(configuration))
            case Stepped(replies, answers, notes, pending):
                flush()
                script: list[Answer] = []
                for answer in answers:
                    ordinal += isinstance(answer, Written)
                    script.append(
                        Answer(message_of(answer, ordinal)) if isinstance(answer, Written) else Answer(failure=answer)
                    )
                placed: list[PlacedNote] = []
                for note in notes:
                    ordinal += 1
                    placed.append(PlacedNote(message_of(note.message, ordinal), note.back))
                operations.append(Step(system, replies, tuple(script), tuple(placed), pending))
            case _:
                flush()
                operations.append(item)
    return Scenario(configuration_of(line.settings, DEFAULT), tuple(operations))


def line_of(scenario: Scenario) -> Line | None:
    """Write a scenario as a line, or return ``None`` where notation cannot say all of it."""
    line = sketch_of(scenario)
    try:
        return line if scenario_of(parse(format_line(line))) == scenario else None
    except NotationError:
        return None


def sketch_of(scenario: Scenario) -> Line:
    """Write a scenario as the line that comes nearest to it; it may not parse, or stand for another one."""
    if scenario.agent is not None:
        runs = tuple(operation for operation in scenario.operations if isinstance(operation, RunAgent | Resume))
        summarizes = any(middleware.summarizes for middleware in scenario.agent.stack)
        return Line(settings_of(scenario.configuration, DEFAULT, whole=summarizes), runs, scenario.agent)
    items: list[Item] = []
    configuration = scenario.configuration
    systems = {operation.system for operation in scenario.operations if isinstance(operation, Step)}
    for operation in scenario.operations:
        match operation:
            case Append(messages):
                items += [written_of(message) for message in messages]
            case Configure(after):
                items.append(Configured(settings_of(after, configuration)))
                configuration = after
            case Step(replies=replies, answers=answers, notes=notes, pending=pending):
                script = tuple(
                    answer.failure or (written_of(answer.message) if answer.message else Written("assistant"))
                    for answer in answers
                )
                placed = tuple(Noted(written_of(note.message), note.back) for note in notes)
                items.append(Stepped(replies, script, placed, pending))
            case RunAgent() | Resume():
                pass  # only an agent runs
            case _:
                items.append(operation)
    if items and items[-1] == Stepped() and (len(items) == 1 or isinstance(items[-2], Written | Configured)):
        items.pop()
    settings = evolve(settings_of(scenario.configuration, DEFAULT, whole=True), system=DEFAULT_SYSTEM in systems)
    return Line(settings, tuple(items))


def written_of(message: Message) -> Written:
    """Write one message."""
    ids: Ids = message.answers or tuple(call.id for call in message.calls)
    in_call = message.calls and not message.content and message.calls[0].arguments != "{}"
    plain = in_call or re.fullmatch(r"m\d+z", message.content)
    return Written(message.role, ids, None if plain else len(message.content))


def settings_of(configuration: Configuration, default: Configuration, *, whole: bool = False) -> Settings:
    """Write what differs from a default; limit and keep always, if ``whole``."""
    trigger, counter = configuration.trigger, configuration.token_counter
    says_trigger = whole or trigger != default.trigger
    kind: Literal["messages", "tokens"] = "tokens" if trigger.kind == "tokens" else "messages"
    return Settings(
        limit=trigger.limit if says_trigger else None,
        kind=kind if says_trigger else None,
        keep=configuration.keep_recent if whole or configuration.keep_recent != default.keep_recent else None,
        bound=configuration.max_summary_tokens
        if configuration.max_summary_tokens != default.max_summary_tokens
        else None,
        counter=(counter.base, counter.divisor) if counter != default.token_counter else None,
        beside=configuration.beside if configuration.beside != default.beside else (),
    )

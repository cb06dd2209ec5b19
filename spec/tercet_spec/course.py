"""The course of a run: an agent's loop in its plainest form, walked along what was observed.

What hooks, the model and tools answer is taken from what was observed; what must come next is expected, each
time by the rule that says so. Where another thing comes, nothing after it can be told: the walk ends there.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn, TypeVar

from attrs import Factory, define, evolve, field, frozen

from tercet_spec.agents import (
    DENIED,
    SEPARATOR,
    SUMMARY,
    Agent,
    Middleware,
    ModelMove,
    Passed,
    Request,
    Response,
    Result,
    ToolMove,
)
from tercet_spec.characters import bounded, is_blank
from tercet_spec.trace import (
    InputSeen,
    ModelAsked,
    ModelWrapped,
    OutputSeen,
    Resumed,
    RunBegun,
    RunEnded,
    RunEvent,
    RunOutcome,
    SectionAsked,
    Summarized,
    ToolRun,
    ToolWrapped,
)
from tercet_spec.vocabulary import Description, Entry, Message, State, Summary, ToolCall, Update

E = TypeVar("E", bound=RunEvent)
Happening = RunEvent | Summarized


@frozen
class Departure:
    """Where a run left its course: the rule that was departed from, without its family, and the model step, from 1.

    ``event`` is the place of what was not as it must be among the run's events; that of the input is 0.
    """

    rule: str
    expected: str
    seen: str
    step: int
    event: int


class Lost(Exception):
    """The run went elsewhere, or broke off: there is no telling what must come next."""


@frozen
class Over(Exception):
    """The run must end now, so, by this rule."""

    outcome: RunOutcome
    rule: str


@frozen
class Thread:
    """A thread as it must be; of a message in ``beginnings`` the rules say only how its content begins."""

    history: tuple[Message, ...]
    entries: Update
    usage: int
    summary: Summary | None = None
    beginnings: Mapping[int, str] = field(factory=dict)

    def stored(self, *messages: Message) -> "Thread":
        """Go on with messages."""
        return evolve(self, history=self.history + messages)

    def updated(self, update: Update) -> "Thread":
        """Take over what was written."""
        return evolve(self, entries=merged(self.entries, update))

    def used(self, tokens: int) -> "Thread":
        """Count a call."""
        return evolve(self, usage=self.usage + tokens)

    def differs(self, seen: Sequence[Message]) -> int | None:
        """Find the first place where messages are not those of the history."""
        for place in range(max(len(self.history), len(seen))):
            if place >= min(len(self.history), len(seen)) or not self.holds(place, seen[place]):
                return place
        return None

    def holds(self, place: int, seen: Message) -> bool:
        """Tell whether a message is the one in a place of the history."""
        expected, begins = self.history[place], self.beginnings.get(place)
        if begins is not None and seen.content.startswith(begins):
            expected = evolve(expected, content=seen.content)
        return expected.equals(seen)


def merged(one: Update, other: Update) -> Update:
    """Put two updates together, by key; what the other writes prevails."""
    values = {entry.key: entry.value for entry in (*one, *other)}
    return tuple(Entry(key, value) for key, value in sorted(values.items()))


def without(update: Update, carried: Sequence[Response] | Sequence[Result]) -> Update:
    """Leave out of an update what others carried already: the rest is the hook's own."""
    known = {entry for each in carried for entry in each.update}
    return tuple(entry for entry in update if entry not in known)


def unsummarized(response: Response) -> Response:
    """Leave the summary out of what rides on a response: other families judge it."""
    return evolve(response, update=tuple(entry for entry in response.update if entry.key != SUMMARY))


def walked(agent: Agent, description: Description, events: Sequence[Happening]) -> tuple[Departure, ...]:
    """Walk along one run, from the event that begins it; say where it left its course."""
    begun, *rest = events
    assert isinstance(begun, RunBegun)
    shown = begun.shown
    walk = Walk(agent, description, rest, Thread(shown.history, merged(shown.entries, ()), shown.usage, shown.summary))
    with suppress(Lost):
        walk.run(begun.message)
    return tuple(walk.departures)


@define
class Walk:
    """A walk along what was observed of one run.

    ``offered`` names for each write, committed or not, the rule that says what becomes of it; ``uncommitted`` are
    those since the last commit, and ``latest`` speaks of that where the run ends for it. ``tools`` are those that the
    latest request offered; ``before`` counts the messages before the run, ``answers`` those that it committed.
    """

    agent: Agent
    description: Description
    events: Sequence[Happening] = field(repr=False)
    thread: Thread
    at: int = 0
    step: int = 0
    offered: dict[Entry, str] = field(factory=dict)
    uncommitted: set[Entry] = field(factory=set)
    latest: str | None = None
    answers: int = 0
    tools: tuple[str, ...] = ()
    before: int = field(default=Factory(lambda walk: len(walk.thread.history), takes_self=True))
    departures: list[Departure] = field(factory=list)

    # What is expected, and what comes.

    def peek(self) -> Happening:
        """Look at what comes next; raises Lost where the run broke off."""
        if self.at == len(self.events):
            raise Lost
        return self.events[self.at]

    def take(self, expected: E, rule: str) -> E:
        """Take what comes next: it must be of this kind, and of whom it is expected. Raises Lost."""
        seen = self.peek()
        if type(seen) is type(expected) and name_of(seen) == name_of(expected):
            self.at += 1
            self.latest = None
            return seen
        is_reply = isinstance(expected, ModelWrapped) and self.at > 0 and isinstance(self.events[self.at - 1], Resumed)
        is_suspended = isinstance(seen, RunEnded) and seen.outcome == "suspended"
        if is_reply or is_suspended:
            rule = "suspends"
        elif isinstance(seen, ToolWrapped | ToolRun) and isinstance(expected, SectionAsked | ModelWrapped | ModelAsked):
            rule = "tool-outcomes"
        elif isinstance(seen, RunEnded):
            rule = self.latest or rule
        raise self.lost(rule, name_of(expected), name_of(seen))

    def depart(self, rule: str, expected: str, seen: str) -> None:
        """Say where the run left its course: at what was taken last."""
        self.departures.append(Departure(rule, expected, seen, self.step, self.at))

    def lost(self, rule: str, expected: str, seen: str) -> Lost:
        """Say that what comes next must not come."""
        self.departures.append(Departure(rule, expected, seen, self.step, self.at + 1))
        return Lost()

    def same(self, rule: str, what: str, expected: object, seen: object) -> None:
        """Say so where something is not as it must be."""
        if expected != seen:
            self.depart(rule, f"{what}: {shortened(expected)}", shortened(seen))

    def same_entries(self, what: str, seen: Update, rule: str | None = None) -> None:
        """Say so where the state by key is not as it must be.

        ``rule`` speaks of a write that must not be there, where it is given; else the rule of the write does, as it
        does of one that is missing.
        """
        expected, found = ({entry.key: entry.value for entry in update} for update in (self.thread.entries, seen))
        for key in sorted(expected.keys() | found.keys()):
            mine, theirs = expected.get(key), found.get(key)
            if mine == theirs:
                continue
            write = None if theirs is None else Entry(key, theirs)
            too_much = rule if rule and write in self.uncommitted else self.offered.get(write) if write else None
            missing = self.offered.get(Entry(key, mine)) if mine is not None else None
            speaks = too_much or missing or rule or "writes"
            self.depart(speaks, f"{what}: {key!r} is {mine!r}", f"it is {theirs!r}")

    # The run.

    def run(self, message: Message) -> NoReturn:
        """Walk from the input to the end; raises Lost there."""
        before = self.thread
        try:
            message, update = self.enter(message)
            self.commit((message,), update, "input-update" if update else None)
            answer = self.model_step()
            while answer.calls:
                self.tool_step(answer.calls)
                answer = self.model_step()
            self.leave(answer)
        except Over as over:
            if over.outcome == "blocked":
                self.thread = evolve(before, usage=self.thread.usage)
                self.uncommitted, self.answers = set(self.offered), 0
            seen = self.take(RunEnded(over.outcome, State()), over.rule)
            self.same_thread(seen.shown, None if over.outcome == "finished" else over.rule)
            raise Lost from over

    def enter(self, message: Message) -> tuple[Message, Update]:
        """Let each middleware see the input and change it; what they write is committed with it."""
        update: Update = ()
        for middleware in self.agent.having("before_agent"):
            rule = "nesting" if isinstance(self.peek(), InputSeen) else "input-first"
            seen = self.take(InputSeen(middleware.id, message, (), Passed()), rule)
            self.same("input-first", f"{name_of(seen)} sees the input as it was passed on", message, seen.message)
            if seen.passed.blocked:
                raise Over("blocked", "input-block")
            self.may_write(middleware, seen.passed.update, "input-update")
            message = seen.passed.message or message
            update = merged(update, seen.passed.update)
        return message, update

    def leave(self, answer: Message) -> NoReturn:
        """Let each middleware see the output, in reverse; what they write is committed together."""
        update: Update = ()
        for middleware in reversed(self.agent.having("after_agent")):
            seen = self.take(OutputSeen(middleware.id, answer, (), Passed()), "nesting")
            self.same("model-rewrite", f"{name_of(seen)} sees the output", answer, seen.message)
            if seen.entries != merged(self.thread.entries, update):
                self.same_entries(f"{name_of(seen)} sees what is committed", seen.entries)
            if seen.passed.blocked:
                raise Over("blocked", "output-block")
            self.may_write(middleware, seen.passed.update, "writes")
            update = merged(update, seen.passed.update)
        self.commit((), update, "writes" if update else None)
        raise Over("finished", "nesting")

    def may_write(self, middleware: Middleware, update: Update, rule: str) -> None:
        """Let a hook write where all keys are its own; ``rule`` says what comes of it. Raises Over."""
        for entry in update:
            self.offered[entry] = rule if entry.key in middleware.writes else "writes"
            self.uncommitted.add(entry)
            if entry.key not in middleware.writes:
                raise Over("failed", "writes")

    def commit(self, messages: Sequence[Message], update: Update, rule: str | None) -> None:
        """Commit messages with what was written; ``rule`` speaks of a run that ends for that."""
        self.thread = self.thread.stored(*messages).updated(update)
        self.uncommitted = set()
        self.latest = rule

    # A model step.

    def model_step(self) -> Message:
        """Collect the sections, let the wrappers and the model have the request, commit the response."""
        self.step += 1
        request = Request(self.prompt(), self.thread.history, tuple(tool.name for tool in self.agent.tools))
        response = self.wrapped(self.agent.stack, request, "nesting", is_outermost=True)
        if response.message is None:
            raise Over("failed", "model-left")
        self.answers += 1
        self.commit((response.message,), response.update, "model-rewrite" if response.update else None)
        return response.message

    def prompt(self) -> str | None:
        """Ask for the prompt sections, and make the system prompt: each within its bound, all within theirs."""
        character = self.description.character
        texts = []
        for middleware in self.agent.having("section"):
            seen = self.take(SectionAsked(middleware.id, (), None), "sections")
            self.same_entries(f"{name_of(seen)} sees what is committed", seen.entries)
            if seen.text is None:
                raise Over("failed", "sections")
            texts.append(bounded(seen.text, middleware.section_tokens, character))
        kept = bounded("".join(texts), self.agent.prompt_section_tokens, character)
        parts = [self.agent.prompt or ""]
        for text in texts:
            parts.append(kept[: len(text)])
            kept = kept[len(text) :]
        return SEPARATOR.join(part for part in parts if part) or None

    def wrapped(
        self,
        stack: Sequence[Middleware],
        request: Request,
        rule: str,
        *,
        is_outermost: bool = False,
        is_free: bool = False,
    ) -> Response:
        """Let the wrappers of a stack, and the model within, have a request.

        ``rule`` says that they get it. Its messages are ``free`` where summarization chose them.
        """
        place = next((n for n, each in enumerate(stack) if each.summarizes or "wrap_model" in each.hooks), None)
        if place is None:
            asked = self.take(ModelAsked(request, None, None, 0), rule)
            self.same_request("the model", request, asked.request, is_outermost=is_outermost, is_free=is_free)
            return self.answered(asked)
        middleware, within = stack[place], stack[place + 1 :]
        if middleware.summarizes:
            return self.summarized(within, request, rule, is_outermost=is_outermost)
        responses: list[Response] = []
        replies: list[str] = []
        while True:
            expected = ModelWrapped(middleware.id, request, tuple(responses), tuple(replies), (), ModelMove())
            seen = self.take(expected, "nesting" if responses or replies else rule)
            who = f"wrap_model of {middleware.id!r}"
            if not responses and not replies:
                self.same_request(who, request, seen.request, is_outermost=is_outermost, is_free=is_free)
                self.same_entries(f"{who} sees what is committed", seen.entries)
            came_to = tuple(map(unsummarized, seen.responses))
            self.same("model-rewrite", f"{who} is told what its calls of next came to", expected.responses, came_to)
            self.same("suspends", f"{who} is told the replies to its questions", expected.replies, seen.replies)
            move = seen.move
            if move.request is not None:
                again = "model-rewrite" if responses else "nesting"
                responses.append(self.wrapped(within, move.request, again))
            elif move.question is not None:
                if not middleware.asks:
                    raise Over("failed", "suspends")
                replies.append(self.wait(move.question).reply or "")
            else:
                response = unsummarized(move.response or Response(None))
                self.may_write(middleware, without(response.update, responses), "model-rewrite")
                return response

    def same_request(self, who: str, expected: Request, seen: Request, *, is_outermost: bool, is_free: bool) -> None:
        """Say so where a request is not the one that must be seen."""
        rule = "sections" if is_outermost else "model-rewrite"
        self.same(rule, f"{who} sees the system prompt", expected.system, seen.system)
        self.same("model-rewrite", f"{who} sees the tools", expected.tools, seen.tools)
        if is_free:
            return
        thread = self.thread if is_outermost else Thread(expected.messages, (), 0)
        place = thread.differs(seen.messages)
        if place is not None:
            rule = self.rule_of(place, seen.messages) if is_outermost else "model-rewrite"
            self.depart(rule, f"{who} sees {counted(thread.history)}", told(place, seen.messages))

    def summarized(self, within: Sequence[Middleware], request: Request, rule: str, *, is_outermost: bool) -> Response:
        """Let summarization have a request: what it asks and sends is for the other families to judge."""
        is_failed = False
        while isinstance(asked := self.peek(), Summarized):
            self.at += 1
            self.thread = self.thread.used(asked.usage)
            if asked.failure == "cancelled":
                raise Over("cancelled", "model-left")
            is_failed = asked.reply is None or is_blank(asked.reply)
        if is_failed and self.description.failed_compressor == "fails":
            return Response(None)
        return self.wrapped(within, request, rule, is_outermost=is_outermost, is_free=True)

    def answered(self, asked: ModelAsked) -> Response:
        """Take what the model answers; its call is counted, whatever comes of it."""
        self.tools = asked.request.tools
        self.thread = self.thread.used(asked.usage)
        if asked.failure == "cancelled":
            raise Over("cancelled", "model-left")
        return Response(asked.answer)

    # A tool step.

    def tool_step(self, calls: Sequence[ToolCall]) -> None:
        """Run the tools that an answer calls: the results, and what is written with them, are committed together.

        Whether the calls behind one that waits for a decision run before or after that is left open, and whether
        those run at all that stand behind one that fails the run.
        """
        results: dict[int, Result] = {}
        waiting: list[int] = []
        for place, call in enumerate(calls):
            try:
                result = self.use(call, approved=False)
            except Over:
                self.pass_over(calls[place + 1 :])
                raise
            if result.kind != "approval":
                results[place] = result
                continue
            waiting.append(place)
            if isinstance(ended := self.peek(), RunEnded) and ended.outcome == "suspended":
                results |= self.decided(calls, waiting)
                waiting = []
        if waiting:
            results |= self.decided(calls, waiting)
        first = len(self.thread.history)
        begins = {first + place: self.begins(calls[place], result) for place, result in results.items()}
        messages = [Message("tool", results[place].text, answers=(call.id,)) for place, call in enumerate(calls)]
        known = {place: text for place, text in begins.items() if text is not None}
        self.thread = evolve(self.thread, beginnings={**self.thread.beginnings, **known})
        update: Update = ()
        for _, result in sorted(results.items()):
            update = merged(update, result.update)
        self.commit(messages, update, "tool-outcomes" if all(map(self.agent.accepts, calls)) else "tool-validated")

    def pass_over(self, calls: Sequence[ToolCall]) -> None:
        """Pass over what becomes of calls, of which nothing is said any more."""
        while isinstance(seen := self.peek(), ToolWrapped | ToolRun) and seen.call in calls:
            self.at += 1

    def begins(self, call: ToolCall, result: Result) -> str | None:
        """Say how the content of a result begins, where that is all the rules say: refused calls, denied ones."""
        if not self.agent.accepts(call):
            return ""
        return DENIED if result == DECLINED else None

    def decided(self, calls: Sequence[ToolCall], waiting: Sequence[int]) -> dict[int, Result]:
        """Wait for a decision on calls: approved ones run, denied ones have an error for a result."""
        approved = self.wait(waiting=tuple(waiting)).approved
        results: dict[int, Result] = {}
        for place, is_approved in zip(waiting, approved, strict=True):
            if not is_approved:
                self.must_not_run(calls[place], "tool-outcomes", "is denied")
            results[place] = self.use(calls[place], approved=True) if is_approved else DECLINED
        return results

    def must_not_run(self, call: ToolCall, rule: str, why: str) -> None:
        """Say so where a call goes on that must not, and raise Lost."""
        if isinstance(seen := self.peek(), ToolWrapped | ToolRun) and seen.call == call:
            told = f"{call.name}({call.arguments[:40]}) {why}: no wrapper sees it, and no tool runs"
            raise self.lost(rule, told, name_of(seen))

    def use(self, call: ToolCall, *, approved: bool) -> Result:
        """Let the tool wrappers, and the tool within, have a valid call; raises Over where that fails the run."""
        if not self.agent.accepts(call):
            self.must_not_run(call, "tool-validated", "is not valid")
            return Result("error")
        result = self.wrapped_tool(self.agent.having("wrap_tool"), call, approved=approved)
        if result.kind == "fatal" or (result.kind == "approval" and approved):
            raise Over("failed", "tool-outcomes")
        return result

    def wrapped_tool(self, stack: Sequence[Middleware], call: ToolCall, *, approved: bool) -> Result:
        """Let the tool wrappers of a stack, and the tool within, have a call."""
        rule = "tools-offered" if call.name not in self.tools else "tool-outcomes"
        if not stack:
            return self.take(ToolRun(call, Result("error")), rule).result
        middleware, within = stack[0], stack[1:]
        results: list[Result] = []
        while True:
            if isinstance(peeked := self.peek(), ToolWrapped) and peeked.call == call:
                rule = "nesting"
            expected = ToolWrapped(middleware.id, call, approved, tuple(results), (), ToolMove())
            seen = self.take(expected, rule)
            who = f"wrap_tool of {middleware.id!r}"
            self.same("tool-outcomes", f"{who} sees whether the call is approved", approved, seen.approved)
            self.same("tool-outcomes", f"{who} is told what its calls of next came to", expected.results, seen.results)
            self.same_entries(f"{who} sees what is committed", seen.entries)
            if seen.move.result is not None:
                self.may_write(middleware, without(seen.move.result.update, results), "tool-outcomes")
                return seen.move.result
            results.append(self.wrapped_tool(within, call, approved=approved))

    # Waiting, and what the thread is then.

    def wait(self, question: str | None = None, waiting: tuple[int, ...] = ()) -> Resumed:
        """Wait until the run goes on: nothing of the step is committed meanwhile."""
        ended = self.take(RunEnded("suspended", State()), "suspends")
        self.same("suspends", "it waits for a reply to the question", question, ended.question)
        self.same("suspends", "it waits for a decision on calls, by their places", [*waiting], [*ended.waiting])
        self.same_thread(ended.shown, "suspends")
        if waiting != ended.waiting:
            raise Lost
        return self.take(Resumed(), "suspends")

    def same_thread(self, seen: State, rule: str | None) -> None:
        """Say so where a thread is not as it must be, by one rule or by those that speak of what was written."""
        place = self.thread.differs(seen.history)
        if place is not None:
            is_undone = place == len(seen.history) == self.before
            is_more = place >= len(self.thread.history)
            speaks = rule if rule and (is_undone or is_more) else self.rule_of(place, seen.history)
            self.depart(speaks, f"the history holds {counted(self.thread.history)}", told(place, seen.history))
        self.same_entries("the thread's state", seen.entries, rule)
        if rule and not self.answers and seen.summary != self.thread.summary:
            self.depart(rule, "no answer is committed: the summary is what it was", "it is another")
        if seen.usage != self.thread.usage:
            more = "more" if seen.usage > self.thread.usage else "less"
            self.depart("model-usage", "every call that next makes is counted, once", f"{more} is counted")

    def rule_of(self, place: int, seen: Sequence[Message]) -> str:
        """Name the rule that speaks of the message in a place of the history."""
        if place < len(seen) and seen[place].role == "system":
            return "sections"
        roles = [messages[place].role for messages in (self.thread.history, seen) if place < len(messages)]
        if "tool" in roles:
            return "tool-validated" if self.thread.beginnings.get(place) == "" else "tool-outcomes"
        if place >= len(self.thread.history):
            return "model-rewrite"
        return "input-first" if roles[0] == "user" else "model-rewrite"


DECLINED = Result("error", DENIED)
"""The result of a call that was denied when a decision was asked for: its text begins so."""


def name_of(event: Happening) -> str:
    """Name what happens, and whose it is."""
    match event:
        case RunBegun():
            return "the run begins"
        case InputSeen(middleware):
            return f"before_agent of {middleware!r}"
        case SectionAsked(middleware):
            return f"the section of {middleware!r}"
        case ModelWrapped(middleware, _, responses, replies):
            return f"wrap_model of {middleware!r}{' goes on' if responses or replies else ''}"
        case ModelAsked():
            return "the model is asked"
        case Summarized():
            return "the compressor is asked"
        case ToolWrapped(middleware, call, results=results):
            return f"wrap_tool of {middleware!r} for {call.name}({call.id}){' goes on' if results else ''}"
        case ToolRun(call):
            return f"{call.name}({call.id}) is run"
        case OutputSeen(middleware):
            return f"after_agent of {middleware!r}"
        case RunEnded(outcome):
            return f"the run is {outcome}"
        case Resumed():
            return "the run goes on"


def counted(messages: Sequence[Message]) -> str:
    """Say how many messages there are."""
    return f"{len(messages)} message{'' if len(messages) == 1 else 's'}"


def told(place: int, seen: Sequence[Message]) -> str:
    """Say what is seen in the place of another message, or of none."""
    if place >= len(seen):
        return f"there are {len(seen)}"
    return f"message {place + 1} is {seen[place].role}: {seen[place].content[:40]!r}"


def shortened(value: object) -> str:
    """Write a value so that it fits on a line."""
    whole = repr(value)
    return whole if len(whole) <= 120 else f"{whole[:119]}…"

"""Notation of an agent: its stack of middleware, and the runs that it is given, with what hooks, model and tools do.

``stack a(wrap_model) b(wrap_model): run[a.wrap_model next next]`` is two wrappers and one run, in which
the outer one calls next twice. The whole grammar stands in ``spec/notation.md``.
"""

import re
from collections.abc import Iterable, Iterator
from typing import get_args

from attrs import evolve

from tercet_spec.agents import Agent, HookName, Middleware, Result, ResultKind, Tool
from tercet_spec.reader import Reader, format_id, format_reply
from tercet_spec.scenarios import Answer, Move, MoveName, Resume, RunAgent, Script
from tercet_spec.trace import Failure
from tercet_spec.vocabulary import Entry, Message, ToolCall, Update

HOOKS: tuple[HookName, ...] = get_args(HookName)
OWN = ("own",)
"""The keys that a middleware may write where nothing is said."""
TOOLS = (Tool("look", ("q",)), Tool("act"))
"""The tools of an agent where nothing is said."""
ARGUMENTS = '{"q": "x"}'
"""The arguments of a call where nothing is said."""
SUMMARIZATION = Middleware("summarization", summarizes=True)
FAILURES: dict[str, Failure] = {"fails": "failed", "cancelled": "cancelled"}
MOVES: tuple[MoveName, ...] = get_args(MoveName)
KINDS: tuple[ResultKind, ...] = ("error", "fatal", "approval")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
NAMED = re.compile(rf"{NAME.pattern}\(")
TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
ESCAPE = re.compile(r"\\(?:(?P<sign>[\\\"'])|(?P<line>n)|u\{(?P<code>(?:10|[0-9a-f])?[0-9a-f]{1,4})\}|.?)", re.DOTALL)
ENDED = re.compile(r"[],]|$")
KEY = re.compile(rf"\s*(?:{NAME.pattern}|{TEXT.pattern})=", re.DOTALL)
SCRIPT = re.compile(rf"(?P<middleware>{NAME.pattern})\.(?P<hook>{'|'.join(HOOKS)})\b")


def input_of(ordinal: int) -> Message:
    """Make the input of the run of this ordinal, counted from 1 in a scenario, where nothing is said of it."""
    return Message("user", f"m{ordinal}z")


class AgentReader(Reader):
    """Reads what a line says of an agent."""

    def next_is(self, expression: re.Pattern[str]) -> bool:
        self.skip()
        return expression.match(self.line, self.place) is not None

    def one_name(self) -> str:
        self.skip()
        found = NAME.match(self.line, self.place) or self.fail("expected a name: letters, digits, '_' and '-'")
        self.place = found.end()
        return found[0]

    def text(self) -> str:
        self.skip()
        found = TEXT.match(self.line, self.place) or self.fail("expected a text in quotes")
        first = self.place + 1

        def said(escape: re.Match[str]) -> str:
            if escape["sign"]:
                return escape["sign"]
            if escape["line"]:
                return "\n"
            if not escape["code"]:
                self.fail(r"expected \\, \n, \u{…} or an escaped quote", first + escape.start())
            return chr(int(escape["code"], 16))

        text = ESCAPE.sub(said, found[0][1:-1])
        self.place = found.end()
        return text

    def name_or_text(self) -> str:
        return self.text() if self.next_is(TEXT) else self.one_name()

    def optional_text(self) -> str | None:
        return self.text() if self.next_is(TEXT) and not self.next_is(KEY) else None

    def names(self) -> tuple[str, ...]:
        """Read names in brackets; there may be none."""
        self.expect("(")
        if self.takes(")"):
            return ()
        names = [self.one_name()]
        while self.takes(","):
            names.append(self.one_name())
        self.expect(")")
        return tuple(names)

    def update(self) -> Update:
        entries: list[Entry] = []
        while self.next_is(KEY):
            key = self.name_or_text()
            self.expect("=")
            entries.append(Entry(key, self.name_or_text()))
        return tuple(entries)

    # What runs.

    def agent(self) -> Agent:
        stack: list[Middleware] = []
        while True:
            if self.next_is(NAMED):
                stack.append(self.middleware())
            elif self.takes("S"):
                stack.append(SUMMARIZATION)
            else:
                break
        agent = Agent(tuple(stack), TOOLS)
        while word := self.choice(("tools", "prompt", "sections")):
            match word:
                case "tools":
                    agent = evolve(agent, tools=tuple(self.tools()))
                case "prompt":
                    agent = evolve(agent, prompt=self.text())
                case "sections":
                    agent = evolve(agent, prompt_section_tokens=self.number(0))
        return agent

    def middleware(self) -> Middleware:
        middleware = Middleware(self.one_name(), writes=OWN)
        self.expect("(")
        if self.takes(")"):
            return middleware
        while True:
            if hook := self.choice(HOOKS):
                middleware = evolve(middleware, hooks=(*middleware.hooks, hook))
                if hook == "section" and self.next_is(re.compile("[0-9]")):
                    middleware = evolve(middleware, section_tokens=self.number(0))
            elif self.takes("asks"):
                middleware = evolve(middleware, asks=True)
            elif self.takes("writes"):
                middleware = evolve(middleware, writes=self.keys())
            else:
                self.fail(f"expected {', '.join(HOOKS)}, asks or writes and the keys")
            if not self.takes(","):
                break
        self.expect(")")
        return middleware

    def keys(self) -> tuple[str, ...]:
        if self.takes("-"):
            return ()
        keys = [self.name_or_text()]
        while not self.next_is(re.compile("[,)]")):
            keys.append(self.name_or_text())
        return tuple(keys)

    def tools(self) -> Iterator[Tool]:
        if self.takes("-"):
            return
        if not self.next_is(NAMED):
            self.fail("expected tools, each with the names of its arguments in brackets, or - for none")
        while self.next_is(NAMED):
            yield Tool(self.one_name(), self.names())

    # What is done.

    def run(self, ordinal: int) -> RunAgent:
        """Read what stands behind ``run``."""
        run = RunAgent(input_of(ordinal))
        if not self.line.startswith("[", self.place):
            return run
        self.place += 1
        if self.next_is(TEXT):
            run = evolve(run, message=Message("user", self.text()))
            if not self.takes(","):
                self.expect("]")
                return run
        while True:
            run = self.part(run)
            if not self.takes(","):
                break
        self.expect("]")
        return run

    def part(self, run: RunAgent) -> RunAgent:
        self.skip()
        if found := SCRIPT.match(self.line, self.place):
            self.place = found.end()
            hook = next(hook for hook in HOOKS if hook == found["hook"])
            return evolve(run, scripts=(*run.scripts, Script(found["middleware"], hook, tuple(self.moves()))))
        if self.takes("S"):
            return evolve(run, replies=(*run.replies, self.reply()))
        if self.takes("model"):
            return evolve(run, answers=(*run.answers, *self.answers()))
        if not self.takes("tool"):
            self.fail(
                "expected a hook and what it does (a.wrap_model next), model, tool, or S and a compressor's answer"
            )
        return evolve(run, results=(*run.results, *self.results()))

    def moves(self) -> Iterator[Move]:
        while True:
            if self.takes("give"):
                yield Move(text=self.text(), update=self.update())
                continue
            does = self.choice(MOVES)
            if does is None:
                return
            move = Move(does)
            if does == "return" and self.next_is(re.compile("[0-9]")) and not self.next_is(KEY):
                move = evolve(move, of=self.number(1) - 1)
            text = None if does == "pass" else self.optional_text()
            tools = self.names() if does == "next" and self.takes("without") else ()
            yield evolve(move, text=text, tools=tools, update=self.update())

    def answers(self) -> Iterator[Answer]:
        while not self.next_is(ENDED):
            if self.next_is(NAMED):
                yield Answer(self.answer())
            elif ending := self.choice(FAILURES):
                yield Answer(failure=FAILURES[ending])
            elif self.takes("answers"):
                yield Answer()
            else:
                yield Answer(self.answer())

    def answer(self) -> Message:
        content = self.text() if self.next_is(TEXT) else None
        calls = [] if content is not None else [self.call()]
        while self.takes("+"):
            calls.append(self.call())
        return Message("assistant", content or "", tuple(calls))

    def call(self) -> ToolCall:
        if not self.next_is(NAMED):
            self.fail("expected a text, calls (look(x)+act(y)), answers, fails or cancelled")
        name = self.one_name()
        self.expect("(")
        call_id = self.call_id()
        arguments = self.text() if self.next_is(TEXT) else ARGUMENTS
        self.expect(")")
        return ToolCall(call_id, name, arguments)

    def results(self) -> Iterator[Result]:
        while not self.next_is(ENDED):
            kind = self.choice(KINDS)
            if kind is None and not self.next_is(TEXT):
                self.fail("expected a text, or error, fatal or approval and a text")
            text = self.optional_text() or ""
            yield Result(kind or "success", text, self.update())

    def resume(self) -> Resume:
        """Read what stands behind ``resume``."""
        resume = Resume()
        if not self.line.startswith("[", self.place):
            return resume
        self.place += 1
        has_reply = self.next_is(TEXT)
        if has_reply:
            resume = Resume(self.text())
        if not has_reply or self.takes(","):
            approved = list(self.decisions())
            if not approved:
                self.fail("expected approve or deny" + ("" if has_reply else ", or the reply in quotes"))
            resume = evolve(resume, approved=tuple(approved))
        self.expect("]")
        return resume

    def decisions(self) -> Iterator[bool]:
        while word := self.choice(("approve", "deny")):
            yield word == "approve"


# Writing.


def format_text(text: str) -> str:
    """Write a text in quotes, all that is not printable escaped."""
    quote = "'" if '"' in text and "'" not in text else '"'
    signs = {"\\": "\\\\", "\n": "\\n", quote: f"\\{quote}"}
    said = (signs.get(sign) or (sign if sign.isprintable() else f"\\u{{{ord(sign):x}}}") for sign in text)
    return f"{quote}{''.join(said)}{quote}"


def format_name(name: str) -> str:
    """Write a name, in quotes where it needs them."""
    return name if NAME.fullmatch(name) else format_text(name)


def format_update(update: Update) -> Iterator[str]:
    """Write what a hook writes, word by word."""
    for entry in update:
        yield f"{format_name(entry.key)}={format_name(entry.value)}"


def format_agent(agent: Agent) -> Iterator[str]:
    """Write an agent, word by word."""
    yield "stack"
    yield from map(format_middleware, agent.stack)
    if agent.tools != TOOLS:
        yield "tools"
        yield from (f"{tool.name}({','.join(tool.required)})" for tool in agent.tools)
        if not agent.tools:
            yield "-"
    if agent.prompt is not None:
        yield f"prompt {format_text(agent.prompt)}"
    if agent.prompt_section_tokens != Agent().prompt_section_tokens:
        yield f"sections {agent.prompt_section_tokens}"


def format_middleware(middleware: Middleware) -> str:
    """Write one middleware."""
    if middleware == SUMMARIZATION:
        return "S"
    own_bound = middleware.section_tokens != Middleware("").section_tokens
    traits: list[str] = [
        f"section {middleware.section_tokens}" if hook == "section" and own_bound else hook for hook in middleware.hooks
    ]
    traits += ["asks"] * middleware.asks
    if middleware.writes != OWN:
        traits.append(" ".join(["writes", *(map(format_name, middleware.writes) if middleware.writes else "-")]))
    return f"{middleware.id}({', '.join(traits)})"


def format_run(run: RunAgent, ordinal: int) -> str:
    """Write the run of this ordinal."""
    parts = [] if run.message == input_of(ordinal) else [format_text(run.message.content)]
    for script in run.scripts:
        parts.append(" ".join([f"{script.middleware}.{script.hook}", *map(format_move, script.moves)]))
    parts += [f"S {format_reply(reply)}" for reply in run.replies]
    if run.answers:
        parts.append(" ".join(["model", *map(format_answer, run.answers)]))
    if run.results:
        parts.append(" ".join(["tool", *map(format_result, run.results)]))
    return f"run[{', '.join(parts)}]" if parts else "run"


def format_move(move: Move) -> str:
    """Write one move of a hook."""
    words: list[str] = ["give" if move.does == "pass" and move.text is not None else move.does]
    if move.of is not None:
        words.append(str(move.of + 1))
    if move.text is not None:
        words.append(format_text(move.text))
    if move.tools:
        words.append(f"without({','.join(move.tools)})")
    return " ".join([*words, *format_update(move.update)])


def format_answer(answer: Answer) -> str:
    """Write one answer of the model."""
    if answer.message is None:
        return next((word for word, failure in FAILURES.items() if failure == answer.failure), "answers")
    message = answer.message
    parts = [format_text(message.content)] if message.content or not message.calls else []
    return "+".join([*parts, *map(format_call, message.calls)])


def format_call(call: ToolCall) -> str:
    """Write one call of a tool."""
    arguments = "" if call.arguments == ARGUMENTS else f" {format_text(call.arguments)}"
    return f"{call.name}({format_id(call.id)}{arguments})"


def format_result(result: Result) -> str:
    """Write what a tool comes to."""
    kind = [] if result.kind == "success" else [result.kind]
    return " ".join([*kind, format_text(result.text), *format_update(result.update)])


def format_resume(resume: Resume) -> str:
    """Write how a run goes on that waits."""
    parts = [] if resume.reply == Resume().reply else [format_text(resume.reply)]
    if resume.approved:
        parts.append(" ".join("approve" if is_approved else "deny" for is_approved in resume.approved))
    return f"resume[{', '.join(parts)}]" if parts else "resume"


def format_runs(operations: Iterable[object]) -> Iterator[str]:
    """Write runs and how they go on, in order."""
    ordinal = 0
    for operation in operations:
        if isinstance(operation, RunAgent):
            ordinal += 1
            yield format_run(operation, ordinal)
        elif isinstance(operation, Resume):
            yield format_resume(operation)

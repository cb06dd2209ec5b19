"""What happens around an agent's loop, as a few total moves: each adds to a draft, whatever its state.

A move gives a middleware a hook and a script for the next run, or lets the agent run.
"""

from collections.abc import Sequence
from random import Random

from attrs import evolve

from tercet_conformance.macros import Macro
from tercet_spec.agent_notation import ARGUMENTS, OWN, TOOLS
from tercet_spec.agents import Agent, HookName, Middleware, Result
from tercet_spec.notation import DEFAULT
from tercet_spec.scenarios import Answer, Move, Operation, Reply, Resume, RunAgent, Scenario, Script
from tercet_spec.vocabulary import Capability, Configuration, Entry, Message, ToolCall, Trigger

MOST_MIDDLEWARE = 5
INVALID = ('{"q": 1}', "{}", "look", '["q"]')
OTHERS = "other"


class AgentDraft:
    """A scenario of an agent in the making; ``scripts`` are for the next run."""

    def __init__(self, configuration: Configuration, capabilities: frozenset[Capability]) -> None:
        self.configuration = configuration
        self.capabilities = capabilities
        self.stack: list[Middleware] = []
        self.prompt: str | None = None
        self.prompt_section_tokens = 1000
        self.operations: list[Operation] = []
        self.scripts: dict[tuple[str, HookName], tuple[Move, ...]] = {}
        self.inputs = 0
        self.writes = 0

    def can(self, *capabilities: Capability) -> bool:
        """Tell whether the implementation that this scenario is for declares what is needed."""
        return self.capabilities.issuperset(capabilities)

    def give(self, place: int, hook: HookName, *moves: Move) -> Middleware:
        """Give a hook, and a script for the next run, to the middleware in a place, or to a new one there."""
        if place < len(self.stack) and not self.stack[place].summarizes:
            middleware = self.stack[place]
        elif len(self.stack) < MOST_MIDDLEWARE:
            names = {middleware.id for middleware in self.stack}
            middleware = Middleware(next(name for name in "abcdefgh" if name not in names), writes=OWN)
            self.stack.insert(place, middleware)
        else:
            middleware = next(middleware for middleware in self.stack if not middleware.summarizes)
        given = evolve(middleware, hooks=tuple(dict.fromkeys((*middleware.hooks, hook))))
        self.replace(middleware, given)
        self.scripts[given.id, hook] = moves
        return given

    def replace(self, middleware: Middleware, other: Middleware) -> None:
        """Put another in the place of a middleware."""
        self.stack[self.stack.index(middleware)] = other

    def update(self, key: str = OWN[0]) -> tuple[Entry]:
        """Make a write that no other is equal to."""
        self.writes += 1
        return (Entry(key, f"w{self.writes}"),)

    def scenario(self) -> Scenario:
        """The scenario as it is now."""
        agent = Agent(tuple(self.stack), TOOLS, self.prompt, self.prompt_section_tokens)
        return Scenario(self.configuration, tuple(self.operations), agent)


def wrap_model(draft: AgentDraft, place: int, kind: int, more: int) -> None:
    """Let a middleware wrap model calls: retry, fall back, rewrite, filter, transform, write, fail, ask."""
    next_ = Move("next")
    moves: Sequence[Move] = (next_,)
    match kind:
        case 0 | 1:
            moves = [next_] * (1 + more) + [Move("return", of=more % 2)]
        case 2:
            moves = [next_, Move("answer", "instead", draft.update() if more == 1 else ())]
        case 3:
            moves = [Move("next", f"a note {more}")] * (1 + more % 2)
        case 4 if draft.can("tools"):
            moves = [Move("next", tools=("look",) if more % 2 else ("look", "act"))]
        case 5:
            moves = [Move("answer", "at once", draft.update() if more % 2 else ())]
        case 6:
            moves = [next_, Move("return", "changed")]
        case 7:
            moves = [move for _ in range(1 + more) for move in (next_, Move("return", update=draft.update()))]
        case 8 if draft.can("writes"):
            moves = [next_, Move("return", update=draft.update(OTHERS))]
        case 9:
            moves = [next_] * (more % 3) + [Move("fail")]
        case 10 | 11 if draft.can("questions", "suspends"):
            moves = [next_] * (more % 2) + [Move("ask", "Go on?")] * (1 + more // 2)
        case 12:
            note = Move("next", f"a note {more}")
            moves = [next_, note, Move("return", update=draft.update(), of=more % 2)]
        case 13:
            moves = [next_, Move("answer", "instead")]
            draft.give(place + 1, "wrap_model", next_, Move("return", update=draft.update()))
    given = draft.give(place, "wrap_model", *moves)
    if kind in (10, 11) and more != 1 and draft.can("questions", "suspends"):
        draft.replace(given, evolve(given, asks=True))


def wrap_tool(draft: AgentDraft, place: int, kind: int, more: int) -> None:
    """Let a middleware wrap tool calls: deny, ask, fail the run, retry, short-circuit, change, write."""
    if not draft.can("tools"):
        return
    next_ = Move("next")
    moves: Sequence[Move] = (next_,)
    match kind:
        case 0:
            moves = [Move("deny", "not now")]
        case 1 | 2 | 3 if draft.can("approvals", "suspends"):
            moves = [Move("ask", "it costs")] * (1 + more % 2)
        case 4:
            moves = [next_] * (more % 2) + [Move("fail")]
        case 5:
            moves = [next_] * (2 + more % 2)
        case 6:
            moves = [Move("answer", "at once", draft.update() if more % 2 else ())]
        case 7:
            moves = [next_, Move("return", "changed")]
        case 8:
            moves = [next_, Move("return", update=draft.update())]
        case 9 if draft.can("writes"):
            moves = [next_, Move("return", update=draft.update(OTHERS))]
        case 10:
            moves = [next_, next_, Move("return", of=more % 2)]
    draft.give(place, "wrap_tool", *moves)


def see_input(draft: AgentDraft, place: int, kind: int) -> None:
    """Let a middleware see the input: change it, write, block."""
    move = Move()
    match kind:
        case 0:
            move = Move(text=f"changed {place}")
        case 1:
            move = Move(update=draft.update())
        case 2:
            move = Move(text="changed", update=draft.update())
        case 3 if draft.can("writes"):
            move = Move(update=draft.update(OTHERS))
        case 4 if draft.can("input-blocks"):
            move = Move("fail", update=draft.update())
    draft.give(place, "before_agent", move)


def see_output(draft: AgentDraft, place: int, kind: int) -> None:
    """Let a middleware see the output: write, block."""
    move = Move()
    match kind:
        case 0:
            move = Move(update=draft.update())
        case 1 if draft.can("writes"):
            move = Move(update=draft.update(OTHERS))
        case 2 | 3 if draft.can("output-blocks"):
            move = Move("fail")
            if kind == 3:
                draft.give(place, "before_agent", Move(update=draft.update()))
    draft.give(place, "after_agent", move)


def give_sections(draft: AgentDraft, place: int, length: int, own: int, together: int, fails: int) -> None:
    """Let one middleware or two give prompt sections, some of them longer than their bounds."""
    if not draft.can("sections"):
        return
    for number in range(1 + together % 3):
        words = (f"section {length} ", "漢", "😀", "é")[(length + number) % 4]
        text = (words * (1 + length))[: 3 + 5 * length]
        moves = [Move(text=text), Move("fail") if fails == 1 else Move(text=text[::-1])]
        given = draft.give(place + number, "section", *moves[fails == 2 :])
        draft.replace(given, evolve(given, section_tokens=1 + own * 3 + 20 * number))
    draft.prompt_section_tokens = min(draft.prompt_section_tokens, 1 + 4 * together)


def set_prompt(draft: AgentDraft, kind: int) -> None:
    """Give the agent a system prompt of its own, or an empty one."""
    draft.prompt = (None, "You are careful.", "")[kind]


def summarize(draft: AgentDraft, place: int, limit: int) -> None:
    """Put summarization into the stack."""
    if not draft.can("message-trigger") or any(middleware.summarizes for middleware in draft.stack):
        return
    draft.stack.insert(place, Middleware("summarization", summarizes=True))
    draft.configuration = evolve(draft.configuration, trigger=Trigger("messages", limit), keep_recent=2)


def run(draft: AgentDraft, steps: int, calls: int, wrong: int, fails: int, times: int) -> None:
    """Let the agent run, with tools called in some steps, and go on where it waits."""
    answers: list[Answer] = []
    number = 0
    for step in range(steps if draft.can("tools") else 0):
        made = []
        for place in range(1 + (calls + step) % 3):
            number += 1
            arguments = INVALID[number % len(INVALID)] if wrong == 1 and place == step else ARGUMENTS
            name = "nothing" if wrong == 2 and place == step else ("look", "act")[(place + calls) % 2]
            made.append(ToolCall(f"c{draft.inputs}_{number}", name, arguments))
        answers.append(Answer(Message("assistant", "", tuple(made))))
    if 0 < fails < 4:
        failure = Answer(failure="cancelled" if fails == 3 else "failed")
        answers.insert(min(len(answers), fails - 1), failure)
    outcomes = {3: [Result("error", "broken")], 4: [Result("fatal", "gone")]}
    results = outcomes.get(wrong, []) if draft.can("tools") else []
    replies = [Reply(failure="failed")] if fails == 4 else []
    for _ in range(1 + times % 2):
        draft.inputs += 1
        scripts = [Script(name, hook, moves) for (name, hook), moves in draft.scripts.items()]
        draft.operations.append(
            RunAgent(
                Message("user", f"m{draft.inputs}z"), tuple(scripts), tuple(replies), tuple(answers), tuple(results)
            )
        )
        asks = sum(move.does == "ask" for moves in draft.scripts.values() for move in moves)
        for number in range(min(asks, 3)):
            draft.operations.append(Resume(f"yes {number}", ((calls + number) % 3 != 0, times % 3 != 0, True)))
    draft.scripts = {}


def tool_turn(draft: AgentDraft, place: int, kind: int, more: int, calls: int, times: int) -> None:
    """Let a middleware wrap tool calls, and the agent run with some."""
    wrap_tool(draft, place, kind, more)
    run(draft, 1 + more % 2, calls, 0, 0, times)


def mistaken_turn(draft: AgentDraft, place: int, kind: int, wrong: int, calls: int) -> None:
    """Let a middleware wrap tool calls, and the model call with what is not valid, or what there is not."""
    wrap_tool(draft, place, kind, 1)
    run(draft, 1, calls, wrong, 0, 0)


def failing_turn(draft: AgentDraft, place: int, kind: int, more: int, fails: int) -> None:
    """Let the model fail, where a middleware may try again or fall back."""
    wrap_model(draft, place, kind, more)
    run(draft, more % 2, more, 0, fails, 0)


def filtered_turn(draft: AgentDraft, place: int, more: int, calls: int) -> None:
    """Let a middleware filter the tools that are offered, and the model call them all the same."""
    wrap_model(draft, place, 4, more)
    run(draft, 1, calls, 0, 0, 0)


def question(draft: AgentDraft, place: int, more: int, times: int) -> None:
    """Let a middleware ask a question, and the run go on with the reply."""
    wrap_model(draft, place, 10, more)
    run(draft, times % 2, 0, 0, 0, times)


def output_turn(draft: AgentDraft, place: int, kind: int, calls: int) -> None:
    """Let a middleware see the output of a run that may have called tools."""
    see_output(draft, place, kind)
    run(draft, calls % 2, calls, 0, 0, 0)


def sections_turn(draft: AgentDraft, place: int, length: int, own: int, together: int, fails: int) -> None:
    """Let middleware give prompt sections in a run of two model steps, if tools are called."""
    give_sections(draft, place, length, own, together, fails)
    run(draft, 1, length % 6, 0, 0, 0)


SECTIONS = {"place": (0, 3), "length": (0, 9), "own": (0, 4), "together": (0, 5), "fails": (0, 7)}
AROUND = (
    Macro("wrap_model", {"place": (0, 3), "kind": (0, 15), "more": (0, 3)}, wrap_model),
    Macro("wrap_tool", {"place": (0, 3), "kind": (0, 11), "more": (0, 3)}, wrap_tool),
    Macro("see_input", {"place": (0, 3), "kind": (0, 7)}, see_input),
    Macro("see_output", {"place": (0, 3), "kind": (0, 4)}, see_output),
    Macro("give_sections", SECTIONS, give_sections),
    Macro("set_prompt", {"kind": (0, 2)}, set_prompt),
    Macro("summarize", {"place": (0, 3), "limit": (4, 7)}, summarize),
)
RUN = Macro("run", {"steps": (0, 3), "calls": (0, 5), "wrong": (0, 8), "fails": (0, 14), "times": (0, 5)}, run)
WHOLE = (
    Macro("tool_turn", {"place": (0, 3), "kind": (0, 11), "more": (0, 3), "calls": (0, 5), "times": (0, 5)}, tool_turn),
    Macro("mistaken_turn", {"place": (0, 3), "kind": (0, 11), "wrong": (1, 2), "calls": (0, 5)}, mistaken_turn),
    Macro("failing_turn", {"place": (0, 3), "kind": (0, 2), "more": (0, 3), "fails": (1, 2)}, failing_turn),
    Macro("filtered_turn", {"place": (0, 3), "more": (0, 3), "calls": (0, 5)}, filtered_turn),
    Macro("output_turn", {"place": (0, 3), "kind": (0, 4), "calls": (0, 5)}, output_turn),
    Macro("sections_turn", SECTIONS, sections_turn),
    Macro("question", {"place": (0, 3), "more": (0, 3), "times": (0, 5)}, question),
)
AGENT_MACROS = (*AROUND, *WHOLE, RUN)


def agent_burst(capabilities: frozenset[Capability], seed: int) -> Scenario:
    """Make a scenario of an agent from a seed."""
    random = Random(seed)
    draft = AgentDraft(DEFAULT, capabilities)
    for _ in range(random.randint(1, 3)):
        for _ in range(random.randint(1, 4)):
            random.choice(AROUND).play(draft, random)
        random.choice((*WHOLE, *[RUN] * 8)).play(draft, random)
    return draft.scenario()

"""The ways to make a scenario of an agent's loop smaller or plainer: each candidate weighs less, and none is tried.

What a line of notation need not say is plainest: its tools, its input, its arguments, its key.
"""

from collections.abc import Iterator

from attrs import evolve

from tercet_conformance.reductions import without_one
from tercet_spec.agent_notation import ARGUMENTS, OWN, TOOLS, input_of
from tercet_spec.agents import Agent, Middleware
from tercet_spec.notation import DEFAULT
from tercet_spec.scenarios import Answer, Move, Operation, Resume, RunAgent, Scenario, Script
from tercet_spec.vocabulary import Message, ToolCall

INVALID = "{}"
MIDDLEWARE, CALLS = "abcdefgh", "xyzuvw"


def weight(scenario: Scenario) -> tuple[int, ...]:
    """Weigh a scenario: what happens in it first, then who stands around, then how plain it is."""
    agent = scenario.agent or Agent()
    runs = [operation for operation in scenario.operations if isinstance(operation, RunAgent)]
    moves = [move for run in runs for script in run.scripts for move in script.moves]
    answers = [answer for run in runs for answer in run.answers]
    calls = [call for answer in answers if answer.message for call in answer.message.calls]
    texts = [move.text or "" for move in moves]
    texts += [run.message.content for ordinal, run in enumerate(runs, 1) if run.message != input_of(ordinal)]
    texts += [call.arguments for call in calls if call.arguments != ARGUMENTS]
    texts += [answer.message.content for answer in answers if answer.message]
    return (
        len(scenario.operations),
        len(agent.stack),
        sum(len(middleware.hooks) for middleware in agent.stack),
        sum(len(run.scripts) for run in runs) + len(moves) + len(answers) + len(calls),
        sum(len(run.results) + len(run.replies) for run in runs),
        sum(len(move.update) + len(move.tools) + (move.of is not None) + (move.does != "pass") for move in moves)
        + sum((each.writes != OWN and not each.summarizes) + each.asks for each in agent.stack)
        + sum(len(each.approved) for each in scenario.operations if isinstance(each, Resume)),
        (agent.tools != TOOLS)
        + (agent.prompt is not None)
        + (agent.prompt_section_tokens != Agent().prompt_section_tokens)
        + sum(middleware.section_tokens != Middleware("").section_tokens for middleware in agent.stack)
        + (scenario.configuration != DEFAULT)
        + sum(answer.failure == "cancelled" for answer in answers),
        sum(map(len, texts)) + sum(text != plain_text(text) for text in texts),
        scenario != renamed(scenario),
    )


def plain_text(text: str) -> str:
    """Write a text in plain letters."""
    return "x" * len(text)


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Make a scenario smaller, what matters most first."""
    agent = scenario.agent or Agent()
    for operations in without_one(scenario.operations):
        yield evolve(scenario, operations=operations)
    for middleware in reversed(agent.stack):
        yield without_hooks(scenario, middleware, stays=False)
        for hook in middleware.hooks:
            yield without_hooks(scenario, middleware, hook)
    for plainer in plainer_agents(agent):
        yield evolve(scenario, agent=plainer)
    yield evolve(scenario, configuration=DEFAULT)
    yield renamed(scenario)
    ordinal = 0
    for place, operation in enumerate(scenario.operations):
        ordinal += isinstance(operation, RunAgent)
        for other in plainer_operations(operation, ordinal):
            operations = (*scenario.operations[:place], other, *scenario.operations[place + 1 :])
            yield evolve(scenario, operations=operations)


def renamed(scenario: Scenario) -> Scenario:
    """Name middleware and calls by single letters, in order, as far as these go."""
    agent = scenario.agent or Agent()
    named = [middleware.id for middleware in agent.stack if not middleware.summarizes]
    names = dict(zip(named, MIDDLEWARE, strict=False))
    calls: dict[str | None, str] = {}

    def call_renamed(call: ToolCall) -> ToolCall:
        if call.id not in calls and len(calls) < len(CALLS):
            calls[call.id] = CALLS[len(calls)]
        return evolve(call, id=calls.get(call.id, call.id))

    def answer_renamed(answer: Answer) -> Answer:
        message = answer.message
        return Answer(evolve(message, calls=tuple(map(call_renamed, message.calls)))) if message else answer

    def operation_renamed(operation: Operation) -> Operation:
        if not isinstance(operation, RunAgent):
            return operation
        scripts = tuple(
            evolve(each, middleware=names.get(each.middleware, each.middleware)) for each in operation.scripts
        )
        return evolve(operation, scripts=scripts, answers=tuple(map(answer_renamed, operation.answers)))

    stack = tuple(evolve(each, id=names.get(each.id, each.id)) for each in agent.stack)
    operations = tuple(map(operation_renamed, scenario.operations))
    return evolve(scenario, agent=evolve(agent, stack=stack), operations=operations)


def without_hooks(scenario: Scenario, middleware: Middleware, *hooks: str, stays: bool = True) -> Scenario:
    """Take hooks from a middleware, with their scripts; all of them, where the middleware does not stay."""
    agent = scenario.agent or Agent()
    kept = evolve(middleware, hooks=tuple(hook for hook in middleware.hooks if hook not in hooks))
    stack = [kept if each is middleware else each for each in agent.stack if stays or each is not middleware]

    def without_scripts(operation: Operation) -> Operation:
        if not isinstance(operation, RunAgent):
            return operation
        scripts = (s for s in operation.scripts if s.middleware != middleware.id or (stays and s.hook not in hooks))
        return evolve(operation, scripts=tuple(scripts))

    operations = tuple(map(without_scripts, scenario.operations))
    return evolve(scenario, agent=evolve(agent, stack=tuple(stack)), operations=operations)


def plainer_agents(agent: Agent) -> Iterator[Agent]:
    """Make an agent plainer, one thing of it at a time."""
    plain = Agent()
    yield evolve(agent, prompt=None)
    yield evolve(agent, prompt_section_tokens=plain.prompt_section_tokens)
    yield evolve(agent, tools=TOOLS)
    for place, middleware in enumerate(agent.stack):
        others = [
            evolve(middleware, writes=() if middleware.summarizes else OWN),
            evolve(middleware, asks=False),
            evolve(middleware, section_tokens=Middleware("").section_tokens),
        ]
        for other in others:
            yield evolve(agent, stack=(*agent.stack[:place], other, *agent.stack[place + 1 :]))


def plainer_operations(operation: Operation, ordinal: int) -> Iterator[Operation]:
    """Make the run of this ordinal, or how it goes on, smaller or plainer."""
    if isinstance(operation, Resume):
        for approved in without_one(operation.approved):
            yield evolve(operation, approved=approved)
    if not isinstance(operation, RunAgent):
        return
    for scripts in without_one(operation.scripts):
        yield evolve(operation, scripts=scripts)
    for place, script in enumerate(operation.scripts):
        for other in plainer_scripts(script):
            yield evolve(operation, scripts=(*operation.scripts[:place], other, *operation.scripts[place + 1 :]))
    for answers in without_one(operation.answers):
        yield evolve(operation, answers=answers)
    for place, answer in enumerate(operation.answers):
        for plainer in plainer_answers(answer):
            yield evolve(operation, answers=(*operation.answers[:place], plainer, *operation.answers[place + 1 :]))
    for results in without_one(operation.results):
        yield evolve(operation, results=results)
    for replies in without_one(operation.replies):
        yield evolve(operation, replies=replies)
    yield evolve(operation, message=input_of(ordinal))
    for text in shorter(operation.message.content):
        yield evolve(operation, message=Message("user", text))


def plainer_scripts(script: Script) -> Iterator[Script]:
    """Make a script shorter, or one of its moves plainer."""
    for moves in without_one(script.moves):
        yield evolve(script, moves=moves)
    for place, move in enumerate(script.moves):
        for other in plainer_moves(move):
            yield evolve(script, moves=(*script.moves[:place], other, *script.moves[place + 1 :]))


def plainer_moves(move: Move) -> Iterator[Move]:
    """Make a move plainer."""
    yield Move()
    if move.does not in ("pass", "next"):
        yield evolve(move, does="next")
    for update in without_one(move.update):
        yield evolve(move, update=update)
    for tools in without_one(move.tools):
        yield evolve(move, tools=tools)
    yield evolve(move, of=None)
    if move.text is not None:
        yield evolve(move, text=None)
        for text in shorter(move.text):
            yield evolve(move, text=text)


def plainer_answers(answer: Answer) -> Iterator[Answer]:
    """Make an answer plainer: a failure no cancellation, fewer calls, plain arguments, no more words."""
    if answer.failure == "cancelled":
        yield Answer(failure="failed")
    message = answer.message
    if message is None:
        return
    for calls in without_one(message.calls):
        yield Answer(evolve(message, calls=calls))
    for place, call in enumerate(message.calls):
        for arguments in (ARGUMENTS, INVALID):
            plain = ToolCall(call.id, call.name, arguments)
            yield Answer(evolve(message, calls=(*message.calls[:place], plain, *message.calls[place + 1 :])))


def shorter(text: str) -> Iterator[str]:
    """Make a text shorter, or plain."""
    for length in (1, len(text) // 2, len(text) - 1):
        if 0 < length < len(text):
            yield text[:length]
    yield plain_text(text)

"""The loop around a model and its tools, without input or output: what happened goes in, what to do next comes out.

A run is a value. Each method that is told what happened returns the run after it, and leaves this
one as it was. A hook is asked once about what it sees; what it answered is in the run.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from attrs import field, frozen

from tercet.actions import (
    ENDS,
    Action,
    Approved,
    AskApproval,
    AskCompressor,
    AskQuestion,
    Blocked,
    CallModel,
    Cancelled,
    Denied,
    Failed,
    Finished,
    RunTool,
    Waiting,
)
from tercet.agent import Agent
from tercet.bound import bounded
from tercet.checks import (
    SECTIONS,
    malformed,
    place_of,
    raised,
    wrong_decisions,
    wrong_model_move,
    wrong_pass,
    wrong_tool_move,
)
from tercet.errors import AnswerRefused, shown
from tercet.ledger import Ledger
from tercet.middleware import Block, Fail, Incoming, ModelCall, ModelResponse, Next, Outgoing, Passed, Question
from tercet.plan import Ask
from tercet.request import ModelRequest
from tercet.thread import Thread, Usage
from tercet.tools import OUTCOMES, Error, Fatal, NeedsApproval, Outcome, Success, ToolUse
from tercet_spec.vocabulary import ToolCall

M = TypeVar("M")


@frozen(eq=False)
class Turn(Generic[M]):
    """What a step is part of: how the thread ``began``, the model ``step`` from 1, the ``questions`` asked so far."""

    agent: Agent[M]
    began: Thread[M]
    step: int = 1
    questions: int = 0


@frozen
class ModelStep(Generic[M]):
    """A model step that waits: what each wrapper saw last, the outermost first, as far in as the step has come."""

    calls: tuple[ModelCall[M], ...] = ()
    ledger: Ledger[M] | None = field(default=None, eq=False, repr=False)


@frozen
class ToolStep(Generic[M]):
    """A tool step that waits: the response's calls, what came of each so far, the places of those that were approved.

    ``uses`` is what each wrapper of the call in hand saw last, the outermost first, as far in as it has come.
    """

    calls: tuple[ToolCall, ...]
    outcomes: tuple[Outcome | None, ...]
    approved: frozenset[int] = frozenset()
    uses: tuple[ToolUse[M], ...] = ()

    @property
    def place(self) -> int | None:
        """The place of the call in hand, the first that nothing came of yet; none where there is no such call."""
        return self.outcomes.index(None) if None in self.outcomes else None

    def inside(self, uses: tuple[ToolUse[M], ...]) -> "ToolStep[M]":
        """Stop where the call in hand has come to."""
        return ToolStep(self.calls, self.outcomes, self.approved, uses)

    def ended(self, place: int, outcome: Outcome) -> "ToolStep[M]":
        """Keep what came of a call."""
        outcomes = (*self.outcomes[:place], outcome, *self.outcomes[place + 1 :])
        return ToolStep(self.calls, outcomes, self.approved)


@frozen(eq=False)
class Run(Generic[M]):
    """A run of an agent on a thread: ``action`` says what to do next, or how it ended.

    ``thread`` is the committed one, with the usage of every call that was told of. A method that is
    told what was not asked for raises AnswerRefused.
    """

    turn: Turn[M] = field(repr=False)
    thread: Thread[M]
    action: Action[M]
    step: ModelStep[M] | ToolStep[M] | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return isinstance(self.action, ENDS)

    def answered(self, message: M, usage: Usage) -> "Run[M]":
        """Go on with the model's answer."""
        if not isinstance(self.action, CallModel) or not isinstance(self.step, ModelStep):
            raise self.refusal("an answer of the model", message)
        if message is None:
            raise AnswerRefused("the model's answer is None; it must be a message")
        return unwrapped(self.turn, counted(self.thread, usage), self.step, ModelResponse(message))

    def failed(self, error: str, usage: Usage) -> "Run[M]":
        """Go on after a call of the model or the compressor that failed."""
        if not isinstance(self.action, (CallModel, AskCompressor)) or not isinstance(self.step, ModelStep):
            raise self.refusal("a failed call", error)
        if not isinstance(error, str):
            raise AnswerRefused(f"the error is {shown(error)}; it must be a text")
        thread, number = counted(self.thread, usage), self.turn.step
        if isinstance(self.action, CallModel):
            return unwrapped(self.turn, thread, self.step, Fail(error, f"the model, step {number}"))
        return replied(self.turn, thread, self.step, Fail(error, f"the compressor, step {number}"))

    def compressed(self, text: str, usage: Usage) -> "Run[M]":
        """Go on with the compressor's text; one that is none is a failure of the compressor."""
        if not isinstance(self.action, AskCompressor) or not isinstance(self.step, ModelStep):
            raise self.refusal("a text of the compressor", text)
        thread = counted(self.thread, usage)
        if isinstance(text, str):
            return replied(self.turn, thread, self.step, text)
        error = f"the text is {shown(text)}; it must be a str"
        return replied(self.turn, thread, self.step, Fail(error, f"the compressor, step {self.turn.step}"))

    def replied(self, number: int, text: str) -> "Run[M]":
        """Go on with the reply to the question of this number."""
        asked = isinstance(self.action, AskQuestion) and self.action.number == number
        if not asked or not isinstance(self.step, ModelStep):
            raise self.refusal(f"a reply to question {number!r}", text)
        if not isinstance(text, str):
            raise AnswerRefused(f"the reply to question {number} is {shown(text)}; it must be a text")
        return replied(self.turn, self.thread, self.step, text)

    def returned(self, outcome: Outcome) -> "Run[M]":
        """Go on with what came of a tool call; its update must be empty, for only middleware writes keys."""
        if not isinstance(self.action, RunTool) or not isinstance(self.step, ToolStep):
            raise self.refusal("an outcome of a tool", outcome)
        tool = f"tool {self.action.call.name!r}"
        if problem := malformed(outcome, OUTCOMES):
            raise AnswerRefused(f"{tool} {problem}")
        if isinstance(outcome, Success) and outcome.update:
            raise AnswerRefused(f"{tool} wrote the key {next(iter(outcome.update))!r}; only middleware writes keys")
        if isinstance(outcome, Fatal):
            outcome = Fatal(outcome.error, f"{tool}, step {self.turn.step}")
        if self.step.uses:
            return tools_run(self.turn, self.thread, self.step, with_outcome(self.step.uses, outcome))
        ended = call_ended(self.turn, self.step, self.action.place, outcome)
        if isinstance(ended, Failed):
            return Run(self.turn, self.thread, ended)
        return tools_run(self.turn, self.thread, ended)

    def settled(self, decisions: Mapping[int, Approved | Denied]) -> "Run[M]":
        """Go on with the decision on each waiting call, by the call's place."""
        if not isinstance(self.action, AskApproval) or not isinstance(self.step, ToolStep):
            raise self.refusal("decisions on calls", decisions)
        if problem := wrong_decisions(decisions, [waiting.place for waiting in self.action.waiting]):
            raise AnswerRefused(problem)
        decided = {
            place: Error(f"Denied: {decision.reason}") if isinstance(decision, Denied) else None
            for place, decision in decisions.items()
        }
        outcomes = tuple(decided.get(place, outcome) for place, outcome in enumerate(self.step.outcomes))
        approved = frozenset(place for place, denial in decided.items() if denial is None)
        return tools_run(self.turn, self.thread, ToolStep(self.step.calls, outcomes, approved))

    def cancelled(self, usage: Usage) -> "Run[M]":
        """End the run at once; ``usage`` is that of the calls that were cancelled."""
        if self.is_over:
            raise self.refusal("a cancellation", None)
        return Run(self.turn, counted(self.thread, usage), Cancelled())

    def refusal(self, given: str, value: object) -> AnswerRefused:
        """Say what the run asks for, and what it was given."""
        told = given if value is None else f"{given}, {shown(value)}"
        if self.is_over:
            return AnswerRefused(f"the run is over: {shown(self.action)}; it was given {told}")
        return AnswerRefused(f"the run asks for {shown(self.action)}; it was given {told}")


def begin(agent: Agent[M], thread: Thread[M], message: M | None = None) -> Run[M]:
    """Begin a run with an input; or without one, where what the model is to answer is in the thread.

    Keeps ``hooks.input-first``, ``hooks.input-update`` and ``hooks.input-block``.
    """
    turn = Turn(agent, thread)
    if message is None:
        return model_step(turn, thread)
    update: dict[str, Any] = {}
    for middleware in agent.stack.before_agent:
        assert middleware.before_agent is not None
        try:
            passed = middleware.before_agent(Incoming(thread, message))
            problem = wrong_pass(middleware, passed)
        except Exception as error:
            problem = raised(error)
        if problem is not None:
            return Run(turn, thread, Failed(f"{place_of(middleware, 'before_agent', 1)}: {problem}"))
        if isinstance(passed, Block):
            return Run(turn, thread, Blocked(middleware.id, "before_agent", passed.reason))
        message = message if passed.message is None else passed.message
        update.update(passed.update)
    return model_step(turn, committed(thread, (message,), update))


def counted(thread: Thread[M], usage: Usage) -> Thread[M]:
    """Count the usage of calls at once, whatever becomes of their step; keeps ``hooks.model-usage``."""
    if not isinstance(usage, Usage):
        raise AnswerRefused(f"the usage is {shown(usage)}; it must be a Usage")
    return Thread(thread.summarization, thread.history, thread.state, thread.usage + usage, thread.ledger)


def committed(
    thread: Thread[M], messages: Sequence[M], update: Mapping[str, Any], ledger: Ledger[M] | None = None
) -> Thread[M]:
    """Store messages and updates together."""
    state = MappingProxyType({**thread.state, **update}) if update else thread.state
    history = thread.history.extended(messages) if messages else thread.history
    return Thread(thread.summarization, history, state, thread.usage, thread.ledger if ledger is None else ledger)


def model_step(turn: Turn[M], thread: Thread[M]) -> Run[M]:
    """Begin a model step: its system prompt is made anew from the committed state; keeps ``hooks.sections``."""
    agent = turn.agent
    character = thread.summarization.character
    sections = []
    for middleware in agent.stack.section:
        assert middleware.section is not None
        try:
            section = middleware.section(thread.state)
            problem = None if isinstance(section, str) else malformed(section, SECTIONS)
        except Exception as error:
            problem = raised(error)
        if problem is None and isinstance(section, Fail):
            problem = section.error
        if problem is not None or isinstance(section, Fail):
            return Run(turn, thread, Failed(f"{place_of(middleware, 'section', turn.step)}: {problem}"))
        sections.append(bounded(section, middleware.max_section_tokens, character))
    try:
        system = agent.system(sections, character)
    except Exception as error:
        return Run(turn, thread, Failed(f"forms.system, step {turn.step}: {raised(error)}"))
    request = ModelRequest(system, thread.history, (), agent.tool_names)
    if not agent.stack.wrap_model:
        return Run(turn, thread, CallModel(request), ModelStep())
    return wrapped(turn, thread, (ModelCall(thread, request),), None)


def wrapped(turn: Turn[M], thread: Thread[M], calls: tuple[ModelCall[M], ...], ledger: Ledger[M] | None) -> Run[M]:
    """Ask the wrapper that the step has come to, and those inside and outside of it, until the host is needed.

    Keeps ``hooks.nesting`` and ``hooks.model-rewrite``.
    """
    wrappers = turn.agent.stack.wrap_model
    while True:
        call, middleware = calls[-1], wrappers[len(calls) - 1]
        assert middleware.wrap_model is not None
        try:
            move = middleware.wrap_model(call)
        except Exception as error:
            move = Fail(raised(error))
        if problem := wrong_model_move(middleware, call, move):
            return Run(turn, thread, Failed(f"{place_of(middleware, 'wrap_model', turn.step)}: {problem}"))
        if isinstance(move, Next):
            request = call.request if move.request is None else move.request
            ledger = ledger if request.ledger is None else request.ledger
            if len(calls) == len(wrappers):
                return Run(turn, thread, CallModel(request), ModelStep(calls, ledger))
            calls = (*calls, ModelCall(thread, request))
            continue
        if isinstance(move, Question):
            turn = Turn(turn.agent, turn.began, turn.step, turn.questions + 1)
            question = AskQuestion(middleware.id, turn.questions, move.text)
            return Run(turn, thread, question, ModelStep(calls, ledger))
        if isinstance(move, Ask):
            return Run(turn, thread, AskCompressor(move.messages, move.so_far), ModelStep(calls, ledger))
        if isinstance(move, Fail) and not move.where:
            move = Fail(move.error, place_of(middleware, "wrap_model", turn.step))
        if len(calls) == 1:
            return model_ended(turn, thread, move, ledger)
        calls = with_result(thread, calls[:-1], move)


def unwrapped(turn: Turn[M], thread: Thread[M], step: ModelStep[M], result: ModelResponse[M] | Fail) -> Run[M]:
    """Hand a result of the model to the innermost wrapper."""
    if not step.calls:
        return model_ended(turn, thread, result, step.ledger)
    return wrapped(turn, thread, with_result(thread, step.calls, result), step.ledger)


def with_result(
    thread: Thread[M], calls: tuple[ModelCall[M], ...], result: ModelResponse[M] | Fail
) -> tuple[ModelCall[M], ...]:
    """Show the innermost of these wrappers what came of next."""
    call = calls[-1]
    return (*calls[:-1], ModelCall(thread, call.request, (*call.results, result), call.replies))


def replied(turn: Turn[M], thread: Thread[M], step: ModelStep[M], reply: str | Fail) -> Run[M]:
    """Hand a reply to the wrapper that asked; keeps ``hooks.suspends``."""
    *outside, call = step.calls
    asking = ModelCall(thread, call.request, call.results, (*call.replies, reply))
    return wrapped(turn, thread, (*outside, asking), step.ledger)


def model_ended(turn: Turn[M], thread: Thread[M], result: ModelResponse[M] | Fail, ledger: Ledger[M] | None) -> Run[M]:
    """Commit a model step, or fail the run; keeps ``hooks.model-left``."""
    if isinstance(result, Fail):
        return Run(turn, thread, Failed(f"{result.where}: {result.error}"))
    try:
        calls = tuple(turn.agent.forms.calls(result.message))
    except Exception as error:
        return Run(turn, thread, Failed(f"forms.calls, step {turn.step}: {raised(error)}"))
    after = committed(thread, (result.message,), result.update, ledger)
    if calls:
        return tools_run(turn, after, ToolStep(calls, (None,) * len(calls)))
    return output_passed(turn, after, result.message)


def tools_run(turn: Turn[M], thread: Thread[M], step: ToolStep[M], uses: tuple[ToolUse[M], ...] = ()) -> Run[M]:
    """Go on with each call that nothing came of yet, until the host is needed; then store their results together.

    ``uses`` is what the wrappers of the first of them see now. Keeps ``hooks.tool-validated``,
    ``hooks.tool-outcomes`` and ``hooks.tools-offered``.
    """
    wrappers = turn.agent.stack.wrap_tool
    place = step.place
    while place is not None:
        call = step.calls[place]
        came = tool_wrapped(turn, uses) if uses else refused(turn, step, place)
        if isinstance(came, Failed):
            return Run(turn, thread, came)
        if came is None:
            if len(uses) == len(wrappers):
                return Run(turn, thread, RunTool(place, call), step.inside(uses))
            uses = (*uses, ToolUse(thread, call, place in step.approved))
        elif len(uses) > 1:
            uses = with_outcome(uses[:-1], came)
        else:
            ended = call_ended(turn, step, place, came)
            if isinstance(ended, Failed):
                return Run(turn, thread, ended)
            step, place, uses = ended, ended.place, ()
    waiting = tuple(
        Waiting(place, call, outcome.reason)
        for place, (call, outcome) in enumerate(zip(step.calls, step.outcomes, strict=True))
        if isinstance(outcome, NeedsApproval)
    )
    if waiting:
        return Run(turn, thread, AskApproval(waiting), step)
    return tools_ended(turn, thread, step)


def with_outcome(uses: tuple[ToolUse[M], ...], outcome: Outcome) -> tuple[ToolUse[M], ...]:
    """Show the innermost of these wrappers what came of next."""
    use = uses[-1]
    return (*uses[:-1], ToolUse(use.thread, use.call, use.approved, (*use.outcomes, outcome)))


def refused(turn: Turn[M], step: ToolStep[M], place: int) -> Outcome | None:
    """Refuse a call for no such tool, or with arguments that are wrong; an approved one was looked at."""
    if place in step.approved:
        return None
    call, tools = step.calls[place], turn.agent.tools_by_name
    tool = tools.get(call.name)
    if tool is None:
        known = f"the tools are {', '.join(map(repr, tools))}" if tools else "there are no tools"
        return Error(f"There is no tool {call.name!r}; {known}.")
    where = f"tool {tool.name!r}, problems, step {turn.step}"
    try:
        problems = tool.problems(call.arguments)
    except Exception as error:
        return Fatal(raised(error), where)
    if not isinstance(problems, (tuple, list)) or not all(isinstance(problem, str) for problem in problems):
        return Fatal(f"returned {shown(problems)}; it returns a tuple or list of texts", where)
    return Error(f"The arguments of {tool.name!r} are wrong: {'; '.join(problems)}.") if problems else None


def tool_wrapped(turn: Turn[M], uses: tuple[ToolUse[M], ...]) -> Outcome | Failed | None:
    """Ask the wrapper that the call in hand has come to; it goes on inside where that is nothing."""
    use, middleware = uses[-1], turn.agent.stack.wrap_tool[len(uses) - 1]
    assert middleware.wrap_tool is not None
    try:
        move = middleware.wrap_tool(use)
    except Exception as error:
        move = Fatal(raised(error))
    if problem := wrong_tool_move(middleware, use, move):
        return Failed(f"{place_of(middleware, 'wrap_tool', turn.step)}: {problem}")
    if isinstance(move, Next):
        return None
    if isinstance(move, Fatal) and not move.where:
        return Fatal(move.error, place_of(middleware, "wrap_tool", turn.step))
    return move


def call_ended(turn: Turn[M], step: ToolStep[M], place: int, outcome: Outcome) -> ToolStep[M] | Failed:
    """Keep what came of a call as a whole, or fail the run."""
    if isinstance(outcome, Fatal):
        return Failed(f"{outcome.where}: {outcome.error}")
    if isinstance(outcome, NeedsApproval) and place in step.approved:
        wrappers = turn.agent.stack.wrap_tool
        tool = f"tool {step.calls[place].name!r}, step {turn.step}"
        where = place_of(wrappers[0], "wrap_tool", turn.step) if wrappers else tool
        return Failed(f"{where}: needs approval of a call that is approved: {outcome.reason}")
    return step.ended(place, outcome)


def tools_ended(turn: Turn[M], thread: Thread[M], step: ToolStep[M]) -> Run[M]:
    """Store the results of a response's calls and all their updates together, and begin the next model step."""
    update: dict[str, Any] = {}
    results = []
    for call, outcome in zip(step.calls, step.outcomes, strict=True):
        if isinstance(outcome, Success):
            update.update(outcome.update)
        text = outcome.content if isinstance(outcome, Success) else outcome.text if isinstance(outcome, Error) else ""
        try:
            results.append(turn.agent.forms.result(call, text, isinstance(outcome, Error)))
        except Exception as error:
            return Run(turn, thread, Failed(f"forms.result, step {turn.step}: {raised(error)}"))
    after = Turn(turn.agent, turn.began, turn.step + 1, turn.questions)
    return model_step(after, committed(thread, results, update))


def output_passed(turn: Turn[M], thread: Thread[M], output: M) -> Run[M]:
    """Show the output to the middleware, the innermost first; keeps ``hooks.output-block``."""
    update: dict[str, Any] = {}
    for middleware in turn.agent.stack.after_agent:
        assert middleware.after_agent is not None
        try:
            passed = middleware.after_agent(Outgoing(thread, output))
            problem = wrong_pass(middleware, passed)
        except Exception as error:
            problem = raised(error)
        if problem is None and isinstance(passed, Passed) and passed.message is not None:
            problem = "returned Passed with a message; the output is stored as it is"
        if problem is not None:
            return Run(turn, thread, Failed(f"{place_of(middleware, 'after_agent', turn.step)}: {problem}"))
        if isinstance(passed, Block):
            return Run(turn, thread.back_to(turn.began), Blocked(middleware.id, "after_agent", passed.reason))
        update.update(passed.update)
    return Run(turn, committed(thread, (), update), Finished(output))

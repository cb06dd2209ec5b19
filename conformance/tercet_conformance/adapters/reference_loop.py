"""The reference's loop under the suite, with the suite's hooks around it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

import tercet
from tercet.middleware import ModelMove, ToolMove
from tercet.request import Summarized
from tercet_conformance.interface import (
    Cancelled,
    CompressorFailed,
    LoopHost,
    ModelFailed,
    RunEnd,
)
from tercet_spec import agents
from tercet_spec.agents import SUMMARY, Passed, Request, Response, Result
from tercet_spec.vocabulary import Entry, Message, State, Update

FAILED = "as the suite's script says"


class ReferenceLoop:
    """One thread of the reference, and its loop with the suite's hooks; a run that waits is stored meanwhile."""

    def __init__(self, thread: tercet.Thread[Message], agent: agents.Agent, host: LoopHost) -> None:
        self.thread = thread
        self.host = host
        self.summaries: dict[str, tercet.Summary] = {}
        self.waits = ""
        self.agent = tercet.Agent(
            tercet.TERCET_FORMS,
            tercet.Stack(tuple(map(self.middleware, agent.stack))),
            tuple(map(tool_of, agent.tools)),
            agent.prompt,
            agent.prompt_section_tokens,
        )

    def run(self, message: Message) -> RunEnd:
        """Run with an input."""
        return self.driven(tercet.begin(self.agent, self.thread, message))

    def resume(self, reply: str | None, approved: Sequence[bool]) -> RunEnd:
        """Go on with the run that waits, from its stored state."""
        run = tercet.restored(self.agent, self.thread.summarization, json.loads(self.waits), tercet.TERCET_CODEC)
        match run.action:
            case tercet.AskQuestion(number=number):
                return self.driven(run.replied(number, reply or ""))
            case tercet.AskApproval(waiting):
                decisions = {
                    each.place: tercet.Approved() if is_approved else tercet.Denied(each.reason)
                    for each, is_approved in zip(waiting, approved, strict=True)
                }
                return self.driven(run.settled(decisions))
        raise AssertionError("a run that waits asks for something")

    def state(self) -> State:
        """Show the thread."""
        thread = self.thread
        return State(
            tuple(thread.history),
            thread.summary,
            thread.usage.tokens,
            thread.summarization.warnings,
            written_in(thread.state),
        )

    def driven(self, run: tercet.Run[Message]) -> RunEnd:
        """Do what the run asks for until it ends or waits."""
        while True:
            self.thread = run.thread
            match run.action:
                case tercet.CallModel(request):
                    run = self.called(run, request)
                case tercet.AskCompressor(messages, so_far):
                    run = self.compressed(run, messages, so_far)
                case tercet.RunTool(call=call):
                    run = run.returned(outcome_of(self.host.run_tool(call)))
                case tercet.AskQuestion(text=text):
                    self.waits = json.dumps(tercet.stored(run, tercet.TERCET_CODEC))
                    return RunEnd("suspended", question=text)
                case tercet.AskApproval(waiting):
                    self.waits = json.dumps(tercet.stored(run, tercet.TERCET_CODEC))
                    return RunEnd("suspended", waiting=tuple(each.place for each in waiting))
                case tercet.Finished():
                    return RunEnd("finished")
                case tercet.Blocked():
                    return RunEnd("blocked")
                case tercet.Cancelled():
                    return RunEnd("cancelled")
                case tercet.Failed():
                    return RunEnd("failed")

    def called(self, run: tercet.Run[Message], request: tercet.ModelRequest[Message]) -> tercet.Run[Message]:
        """Call the model."""
        try:
            answer = self.host.ask_model(self.request_of(request))
        except ModelFailed:
            return run.failed(FAILED, self.spent())
        except Cancelled:
            return run.cancelled(self.spent())
        return run.answered(answer, self.spent())

    def compressed(
        self, run: tercet.Run[Message], messages: Sequence[Message], so_far: str | None
    ) -> tercet.Run[Message]:
        """Ask the compressor."""
        try:
            text = self.host.summarize(messages, so_far)
        except CompressorFailed:
            return run.failed(FAILED, self.spent())
        except Cancelled:
            return run.cancelled(self.spent())
        return run.compressed(text, self.spent())

    def spent(self) -> tercet.Usage:
        """Say what the latest call cost."""
        return tercet.Usage(1, self.host.usage)

    # The suite's hooks, as the reference's.

    def middleware(self, middleware: agents.Middleware) -> tercet.Middleware[Message]:
        """Make a middleware whose hooks ask the suite."""
        if middleware.summarizes:
            return evolve(tercet.SUMMARIZATION, id=middleware.id)
        name, host = middleware.id, self.host

        def before_agent(incoming: tercet.Incoming[Message]) -> tercet.Passed[Message] | tercet.Block:
            return passed_of(host.before_agent(name, incoming.message, written_in(incoming.thread.state)))

        def after_agent(outgoing: tercet.Outgoing[Message]) -> tercet.Passed[Message] | tercet.Block:
            return passed_of(host.after_agent(name, outgoing.message, written_in(outgoing.thread.state)))

        def section(state: Mapping[str, Any]) -> str | tercet.Fail:
            text = host.section(name, written_in(state))
            return tercet.Fail(FAILED) if text is None else text

        def wrap_model(call: tercet.ModelCall[Message]) -> ModelMove[Message]:
            return self.model_move(name, call)

        def wrap_tool(use: tercet.ToolUse[Message]) -> ToolMove[Message]:
            results = tuple(map(result_of, use.outcomes))
            move = host.wrap_tool(name, use.call, use.approved, results, written_in(use.thread.state))
            return tercet.Next() if move.result is None else outcome_of(move.result)

        hooks = {
            "before_agent": before_agent,
            "section": section,
            "wrap_model": wrap_model,
            "wrap_tool": wrap_tool,
            "after_agent": after_agent,
        }
        return tercet.Middleware(
            name,
            frozenset(middleware.writes),
            asks=middleware.asks,
            max_section_tokens=middleware.section_tokens,
            **{hook: hooks[hook] for hook in middleware.hooks},  # type: ignore[arg-type]
        )

    def model_move(self, name: str, call: tercet.ModelCall[Message]) -> ModelMove[Message]:
        """Ask the suite for what a model wrapper does."""
        seen = self.request_of(call.request)
        replies = tuple(reply for reply in call.replies if isinstance(reply, str))
        responses = tuple(map(self.response_of, call.results))
        move = self.host.wrap_model(name, seen, responses, replies, written_in(call.thread.state))
        if move.question is not None:
            return tercet.Question(move.question)
        if move.request is not None:
            return tercet.Next(rewritten(call.request, seen, move.request))
        if move.response is None or move.response.message is None:
            return tercet.Fail(FAILED)
        update = {entry.key: self.summaries.get(entry.value, entry.value) for entry in move.response.update}
        return tercet.ModelResponse(move.response.message, update)

    def request_of(self, request: tercet.ModelRequest[Message]) -> Request:
        """Show a request to the suite."""
        sent = request.sent(self.thread.summarization.dialect)
        system = None if request.system is None else request.system.content
        return Request(system, sent if request.system is None else sent[1:], request.tools)

    def response_of(self, result: tercet.ModelResponse[Message] | tercet.Fail) -> Response:
        """Show what a call of next came to; a summary on it goes by a name."""
        if isinstance(result, tercet.Fail):
            return Response(None)
        update = dict(result.update)
        if SUMMARY in update:
            summary: tercet.Summary = update[SUMMARY]
            update[SUMMARY] = f"{summary.through} {summary.text}"
            self.summaries[update[SUMMARY]] = summary
        return Response(result.message, entries_of(update))


def rewritten(request: tercet.ModelRequest[Message], seen: Request, other: Request) -> tercet.ModelRequest[Message]:
    """Take over what a wrapper made of a request: what it added behind the messages is a note, all else a rewriting."""
    system = request.system if other.system == seen.system else tercet.TERCET_FORMS.system(other.system or "")
    count = len(seen.messages)
    added = other.messages[count:]
    if other.messages[:count] != seen.messages:
        return tercet.ModelRequest(system, other.messages, (), other.tools)
    last = request.messages.history if isinstance(request.messages, Summarized) else request.messages
    notes = tuple(tercet.Unstored(message, str(len(last)) if len(last) else None) for message in added)
    return evolve(request, system=system, notes=(*request.notes, *notes), tools=other.tools)


def tool_of(tool: agents.Tool) -> tercet.Tool:
    """Make a tool that accepts what the suite's does."""
    required = ", ".join(tool.required) or "nothing"
    problem = f"they must be a JSON object, in which a text is required for: {required}"
    return tercet.Tool(tool.name, lambda arguments: () if tool.accepts(arguments) else (problem,))


def written_in(state: Mapping[str, Any]) -> Update:
    """Show what middleware wrote into a thread's state; summarization's own key is shown as the summary."""
    return entries_of({key: value for key, value in state.items() if key != SUMMARY})


def entries_of(state: Mapping[str, Any]) -> Update:
    """Show a mapping as entries."""
    return tuple(Entry(key, value) for key, value in state.items())


def passed_of(passed: Passed) -> tercet.Passed[Message] | tercet.Block:
    """Take what the suite's hook around a run answers."""
    if passed.blocked:
        return tercet.Block(FAILED)
    return tercet.Passed(passed.message, {entry.key: entry.value for entry in passed.update})


def outcome_of(result: Result) -> tercet.Success | tercet.Error | tercet.NeedsApproval | tercet.Fatal:
    """Take what came of a tool call."""
    match result.kind:
        case "success":
            return tercet.Success(result.text, {entry.key: entry.value for entry in result.update})
        case "error":
            return tercet.Error(result.text)
        case "approval":
            return tercet.NeedsApproval(result.text)
        case "fatal":
            return tercet.Fatal(result.text)


def result_of(outcome: tercet.Success | tercet.Error | tercet.NeedsApproval | tercet.Fatal) -> Result:
    """Show what came of a tool call."""
    match outcome:
        case tercet.Success(content, update):
            return Result("success", content, entries_of(update))
        case tercet.Error(text):
            return Result("error", text)
        case tercet.NeedsApproval(reason):
            return Result("approval", reason)
        case tercet.Fatal(error):
            return Result("fatal", error)

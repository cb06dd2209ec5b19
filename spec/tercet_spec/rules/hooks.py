"""How middleware runs around a model and its tools: the rules of the family ``hooks``.

The course of a run says what must come next, and by which rule; each rule here speaks of its own departures.
"""

from collections.abc import Callable, Iterator, Mapping

from tercet_spec.agents import DENIED
from tercet_spec.moments import Moment
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation, declares
from tercet_spec.runs import AgentRun
from tercet_spec.trace import (
    InputSeen,
    ModelAsked,
    ModelWrapped,
    OutputSeen,
    RunEnded,
    SectionAsked,
    ToolRun,
    ToolWrapped,
)
from tercet_spec.vocabulary import Capability, Description, ToolCall


def departures(name: str) -> Callable[[AgentRun, Moment | None], Iterator[Violation]]:
    """Make the relation of one rule: what departs from it in the course of a run."""

    def relation(run: AgentRun, _: Moment | None) -> Iterator[Violation]:
        for departure in run.departures:
            if departure.rule == name:
                yield Violation(departure.expected, departure.seen, attempt=departure.step - 1, event=departure.event)

    return relation


def rule(
    name: str,
    statement: str,
    why: str,
    situations: Mapping[str, Callable[[AgentRun], bool]],
    needs: set[Capability],
    *,
    origin: Origin = Origin.SOURCE,
    only_with: Mapping[str, Callable[[Description], bool]] | None = None,
) -> Rule[AgentRun]:
    """Make a rule of the family: a MUST of the profile ``hooks``."""
    return Rule(
        id=f"hooks.{name}",
        level=Level.MUST,
        profile=Profile.HOOKS,
        origin=origin,
        statement=statement,
        why=why,
        about=AgentRun,
        relation=departures(name),
        situations=situations,
        needs=frozenset(needs),
        only_with=only_with or {},
    )


# Situations.


def ended(run: AgentRun, outcome: str) -> bool:
    """Tell whether a run ended so."""
    return run.ended is not None and run.ended.outcome == outcome


def waited(run: AgentRun) -> list[RunEnded]:
    """The times that a run waited."""
    return [end for end in run.of(RunEnded) if end.outcome == "suspended"]


def wraps_twice(run: AgentRun) -> bool:
    """Tell whether two wrappers had a request."""
    return len({event.middleware for event in run.of(ModelWrapped)}) > 1


def passes_twice(run: AgentRun) -> bool:
    """Tell whether a wrapper called next more than once."""
    return any(len(event.responses) > 1 for event in run.of(ModelWrapped))


def rewrites(run: AgentRun) -> bool:
    """Tell whether a wrapper passed on another request than it had."""
    return any(event.move.request not in (None, event.request) for event in run.of(ModelWrapped))


def transforms(run: AgentRun) -> bool:
    """Tell whether a wrapper returned another message than its calls of next came to."""
    moves = [(event.move.response, event.responses) for event in run.of(ModelWrapped)]
    return any(
        move is not None and move.message is not None and move.message not in [each.message for each in responses]
        for move, responses in moves
    )


def writes_in_step(run: AgentRun) -> bool:
    """Tell whether a model wrapper wrote."""
    return any(event.move.response is not None and event.move.response.update for event in run.of(ModelWrapped))


def fails_outermost(run: AgentRun) -> bool:
    """Tell whether the outermost model wrapper returned an error."""
    wrapping = [middleware.id for middleware in run.agent.stack if "wrap_model" in middleware.hooks]
    return any(
        event.move.response is not None and event.move.response.message is None and event.middleware == wrapping[0]
        for event in run.of(ModelWrapped)
    )


def recovers(run: AgentRun) -> bool:
    """Tell whether a wrapper was told of an error, and returned a message all the same."""
    return any(
        any(response.message is None for response in event.responses)
        and event.move.response is not None
        and event.move.response.message is not None
        for event in run.of(ModelWrapped)
    )


def writes(run: AgentRun, *, foreign: bool) -> bool:
    """Tell whether a hook wrote a key of its own, or one that is not."""
    own = {middleware.id: middleware.writes for middleware in run.agent.stack}
    written = [(event.middleware, event.passed.update) for event in run.of(InputSeen)]
    written += [(event.middleware, event.passed.update) for event in run.of(OutputSeen)]
    written += [(e.middleware, e.move.response.update) for e in run.of(ModelWrapped) if e.move.response]
    written += [(e.middleware, e.move.result.update) for e in run.of(ToolWrapped) if e.move.result]
    return any((entry.key not in own[by]) is foreign for by, update in written for entry in update)


def changes_input(run: AgentRun) -> bool:
    """Tell whether a hook changed the input."""
    return any(event.passed.message not in (None, event.message) for event in run.of(InputSeen))


def writes_before(run: AgentRun) -> bool:
    """Tell whether a hook wrote before the first model step, which was reached."""
    return any(event.passed.update for event in run.of(InputSeen)) and bool(run.of(ModelAsked))


def blocks(run: AgentRun, kind: type[InputSeen] | type[OutputSeen]) -> bool:
    """Tell whether the input, or the output, was blocked."""
    return any(event.passed.blocked for event in run.of(kind))


def has_sections(run: AgentRun) -> bool:
    """Tell whether sections were given in more than one model step."""
    asked = run.of(SectionAsked)
    return len(asked) > len({event.middleware for event in asked}) and any(event.text for event in asked)


def is_cut(run: AgentRun) -> bool:
    """Tell whether a section was longer than its bound, in whatever character."""
    bounds = {middleware.id: middleware.section_tokens for middleware in run.agent.stack}
    return any(len(event.text or "") > 4 * bounds[event.middleware] for event in run.of(SectionAsked))


def are_cut_together(run: AgentRun) -> bool:
    """Tell whether the sections of a step were too long together."""
    return sum(len(event.text or "") for event in run.of(SectionAsked)) > 4 * run.agent.prompt_section_tokens


def fails_section(run: AgentRun) -> bool:
    """Tell whether a section failed."""
    return any(event.text is None for event in run.of(SectionAsked))


def called(run: AgentRun) -> list[ToolCall]:
    """The tool calls of the model's answers."""
    return [call for event in run.of(ModelAsked) if event.answer for call in event.answer.calls]


def calls_wrongly(run: AgentRun) -> bool:
    """Tell whether a call with arguments that are not valid was answered, while a tool wrapper stood by."""
    names = {tool.name for tool in run.agent.tools}
    wrong = any(call.name in names and not run.agent.accepts(call) for call in called(run))
    return wrong and bool(run.agent.having("wrap_tool"))


def returns(run: AgentRun, kind: str) -> bool:
    """Tell whether a tool wrapper returned a result of this kind."""
    return any(event.move.result is not None and event.move.result.kind == kind for event in run.of(ToolWrapped))


def short_circuits(run: AgentRun) -> bool:
    """Tell whether a tool wrapper answered without calling next."""
    return any(e.move.result and not e.results and e.move.result.kind == "success" for e in run.of(ToolWrapped))


def runs_again(run: AgentRun) -> bool:
    """Tell whether a tool wrapper called next more than once."""
    return any(len(event.results) > 1 for event in run.of(ToolWrapped))


def changes_result(run: AgentRun) -> bool:
    """Tell whether a tool wrapper returned another result than its calls of next came to."""
    return any(e.move.result and e.results and e.move.result not in e.results for e in run.of(ToolWrapped))


def is_approved(run: AgentRun) -> bool:
    """Tell whether a call was approved after it had waited."""
    return any(event.approved for event in run.of(ToolWrapped))


def is_denied(run: AgentRun) -> bool:
    """Tell whether a wrapper denied a call."""
    return any(e.move.result and e.move.result.text.startswith(DENIED) for e in run.of(ToolWrapped))


def calls_what_was_filtered(run: AgentRun) -> bool:
    """Tell whether a tool ran that the request had not offered."""
    offered = [event.request.tools for event in run.of(ModelAsked)]
    names = {tool.name for tool in run.agent.tools}
    return any(
        event.call.name in names and event.call.name not in tools for event in run.of(ToolRun) for tools in offered
    )


RULES = (
    rule(
        "nesting",
        "Middleware runs as a stack: the first is the outermost wrapper and sees the input first; unwinding and "
        "afterAgent run in reverse.",
        "Who stands outside decides what is retried, cached, counted and denied: an order that nobody knows is none.",
        {
            "two wrappers around a model call": wraps_twice,
            "two hooks that see the input": lambda run: len(run.of(InputSeen)) > 1,
            "two hooks that see the output": lambda run: len(run.of(OutputSeen)) > 1,
        },
        {"hooks"},
        origin=Origin.OURS,
    ),
    rule(
        "model-rewrite",
        "A model wrapper may rewrite the request, call next any number of times, transform the response, and add an "
        "update to its writes; what it returns is what the step commits.",
        "Retries, fallbacks, caches and notes are written so: what the model sees and what is kept is theirs to say.",
        {
            "a request that was rewritten": rewrites,
            "next called more than once": passes_twice,
            "a response that was transformed": transforms,
            "an update on a response": writes_in_step,
        },
        {"hooks"},
    ),
    rule(
        "model-left",
        "A model wrapper that returns an error fails the run, and nothing of the step is committed.",
        "An answer that was refused must not be in the thread that the next run goes on from.",
        {"an error from the outermost wrapper": fails_outermost, "an error that a wrapper recovered from": recovers},
        {"hooks"},
    ),
    rule(
        "model-usage",
        "Every call that next makes is counted, whichever response the wrapper returns.",
        "A retry is billed like any other call; a budget that counts answers only is overdrawn by the failures.",
        {"next called more than once": passes_twice, "an error from the outermost wrapper": fails_outermost},
        {"hooks", "usage"},
    ),
    rule(
        "writes",
        "A hook may update only the keys in its writes: from beforeAgent, the model wrapper, afterAgent, or a tool "
        "wrapper's success. An update to any other key fails the run.",
        "Two middleware that write one key by accident spoil each other's state, and nobody sees it until much later.",
        {
            "a hook that wrote a key of its own": lambda run: writes(run, foreign=False),
            "a hook that wrote another key": lambda run: writes(run, foreign=True),
        },
        {"hooks", "writes"},
    ),
    rule(
        "input-first",
        "beforeAgent sees the run's input before anything else runs, and returns it, possibly changed.",
        "A guard that sees the input after the model did guards nothing.",
        {"an input that was seen": lambda run: bool(run.of(InputSeen)), "an input that was changed": changes_input},
        {"hooks"},
    ),
    rule(
        "input-update",
        "Its update is seen by the turn's first model call.",
        "What was looked up for this input is needed for its first answer, not for the second.",
        {"a hook that wrote before the first model call": writes_before},
        {"hooks"},
    ),
    rule(
        "input-block",
        "An error from it blocks the run: no model is called; nothing of the turn is stored.",
        "What was blocked must not come to the model with the next input.",
        {"an input that was blocked": lambda run: blocks(run, InputSeen)},
        {"hooks", "input-blocks"},
    ),
    rule(
        "output-block",
        "An error from afterAgent blocks the turn: its messages are removed and its writes undone; usage stays.",
        "What was blocked must not be said by the thread after all.",
        {"an output that was blocked": lambda run: blocks(run, OutputSeen)},
        {"hooks", "output-blocks"},
        origin=Origin.OURS,
    ),
    rule(
        "sections",
        "Prompt sections are collected before every model step, from the committed state, in stack order, and never "
        "stored; an error fails the run. Each middleware bounds its own, the agent bounds them all together.",
        "A prompt that many hands write grows past any window, or goes stale, unless somebody minds it at each step.",
        {
            "sections in more than one model step": has_sections,
            "a section past its own bound": is_cut,
            "sections past the bound of all": are_cut_together,
            "a section that failed": fails_section,
        },
        {"hooks", "sections"},
    ),
    rule(
        "tool-validated",
        "A tool wrapper runs after the call's arguments were validated; a call with invalid arguments never reaches "
        "it.",
        "A wrapper that denies by arguments must be able to read them.",
        {"a call with invalid arguments": calls_wrongly},
        {"hooks", "tools"},
    ),
    rule(
        "tool-outcomes",
        "Each outcome that a tool wrapper returns has its effect: an error result (a denial's text begins "
        '"Denied: ") is the call\'s result; a need for approval, unless the call is approved, suspends; a fatal error '
        "fails the run; an answer without next runs no tool; next called again runs it again; a changed outcome is "
        "what is stored.",
        "What a tool does cannot be undone: whether it ran, how often, and what the model is told of it must be known.",
        {
            "a call that a wrapper denied": is_denied,
            "a call that was approved": is_approved,
            "a fatal error": lambda run: returns(run, "fatal"),
            "an answer without next": short_circuits,
            "next called again": runs_again,
            "a result that was changed": changes_result,
        },
        {"hooks", "tools"},
        only_with={"a call that was approved": declares("approvals")},
    ),
    rule(
        "tools-offered",
        "Filtering the tools that a request offers is not a permission: a tool that the model calls anyway still runs "
        "through the tool wrappers.",
        "Denial belongs where the call is; a filter that is taken for one denies in silence, or not at all.",
        {"a tool that was called though it was filtered": calls_what_was_filtered},
        {"hooks", "tools"},
    ),
    rule(
        "suspends",
        "Of the model wrappers only one that asks a question suspends a run; a tool wrapper's need for approval does "
        "too. Nothing of the step is committed while it waits but the calls' usage; then it goes on where it was, and "
        "nothing that was done is done again.",
        "A run that waits for a person may wait for days: what it would have done must not be half done meanwhile.",
        {
            "a question that was asked": lambda run: any(end.question is not None for end in waited(run)),
            "a call that waited for approval": lambda run: any(end.waiting for end in waited(run)),
        },
        {"hooks", "suspends"},
        only_with={
            "a question that was asked": declares("questions"),
            "a call that waited for approval": declares("approvals"),
        },
    ),
)

"""What a scenario asks of an implementation: the capabilities without which it is not run."""

from collections.abc import Mapping

from tercet_spec.agents import Agent, HookName
from tercet_spec.notation import DEFAULT
from tercet_spec.readings import MARKER
from tercet_spec.scenarios import (
    Append,
    BeginTurn,
    Checkpoint,
    Configure,
    Edit,
    EndTurn,
    Restore,
    Resume,
    RunAgent,
    Scenario,
    Step,
)
from tercet_spec.trace import Failure
from tercet_spec.vocabulary import Capability, Configuration, Message


def needs(scenario: Scenario) -> frozenset[Capability]:
    """Say what an implementation must be able to do for a scenario to be run against it.

    Where a thread goes back or is edited, what becomes of a summary that is never shown cannot be told.
    An agent without summarization has no use for the configuration.
    """
    is_configured = scenario.agent is None or any(middleware.summarizes for middleware in scenario.agent.stack)
    needed = needed_by_configuration(scenario.configuration) if is_configured else set()
    for operation in scenario.operations:
        match operation:
            case Configure(configuration):
                needed |= {"configure", *needed_by_configuration(configuration)}
            case Append(messages):
                needed = needed.union(*map(needed_by_message, messages))
            case Step():
                needed |= needed_by_step(operation)
            case BeginTurn() | EndTurn(blocked=False):
                needed.add("turns")
            case EndTurn():
                needed |= {"turns", "summary-shown"}
            case Checkpoint() | Restore():
                needed |= {"checkpoint", "summary-shown"}
            case Edit(content=content):
                needed |= {"edit", "summary-shown"}
                needed |= set() if content is None else {"exact-input"}
            case RunAgent():
                needed |= needed_by_run(operation, scenario.agent or Agent())
            case Resume():
                needed.add("suspends")
    return frozenset(needed | (needed_by_agent(scenario.agent) if scenario.agent else set()))


def has_threads(capabilities: frozenset[Capability]) -> bool:
    """Tell whether an implementation has threads without an agent's loop: it declares a trigger of summarization."""
    return not capabilities.isdisjoint({"message-trigger", "token-trigger"})


def needed_by_agent(agent: Agent) -> set[Capability]:
    """Say what an agent needs."""
    needed: set[Capability] = {"hooks"}
    needed |= {"sections"} if agent.having("section") else set()
    needed |= {"tools"} if agent.having("wrap_tool") else set()
    return needed | ({"questions", "suspends"} if any(middleware.asks for middleware in agent.stack) else set())


def needed_by_run(run: RunAgent, agent: Agent) -> set[Capability]:
    """Say what a run of an agent needs."""
    own = {(middleware.id, key) for middleware in agent.stack for key in middleware.writes}
    needed: set[Capability] = {"hooks"}
    calls = any(answer.message and answer.message.calls for answer in run.answers)
    needed |= {"tools"} if calls or run.results else set()
    for script in run.scripts:
        needed.update(*(NEEDED.get((script.hook, move.does), set()) for move in script.moves))
        written = {(script.middleware, entry.key) for move in script.moves for entry in move.update}
        needed |= {"writes"} if written - own else set()
    return needed


NEEDED: Mapping[tuple[HookName, str], set[Capability]] = {
    ("before_agent", "fail"): {"input-blocks"},
    ("after_agent", "fail"): {"output-blocks"},
    ("wrap_model", "ask"): {"questions", "suspends"},
    ("wrap_tool", "ask"): {"approvals", "suspends"},
}
"""What a scripted move of a hook needs."""


def needed_by_step(step: Step) -> set[Capability]:
    """Say what a step needs."""
    needed: set[Capability] = {"system"} if step.system is not None else set()
    needed |= needed_by_failures([reply.failure for reply in step.replies if reply.failure == "cancelled"])
    needed |= needed_by_failures([answer.failure for answer in step.answers])
    needed |= {"notes"} if step.notes else set()
    needed |= {"pending"} if step.pending else set()
    messages = [answer.message for answer in step.answers if answer.message] + [note.message for note in step.notes]
    return needed.union(*map(needed_by_message, messages))


def needed_by_configuration(configuration: Configuration) -> set[Capability]:
    """Say what a configuration needs."""
    needed: set[Capability] = {"token-trigger" if configuration.trigger.kind == "tokens" else "message-trigger"}
    needed |= {"bound"} if configuration.max_summary_tokens != DEFAULT.max_summary_tokens else set()
    return needed | ({"beside"} if configuration.beside else set())


def needed_by_message(message: Message) -> set[Capability]:
    """Say what a message needs: one without a marker cannot be known again in prose."""
    texts = (message.content, *(call.arguments for call in message.calls))
    needed: set[Capability] = set() if any(map(MARKER.search, texts)) else {"exact-input"}
    return needed | ({"missing-ids"} if any(call.id is None for call in message.calls) else set())


def needed_by_failures(failures: list[Failure | None]) -> set[Capability]:
    """Say what scripted failures need."""
    return {"suspend"} if "suspended" in failures else {"model-step"} if any(failures) else set()

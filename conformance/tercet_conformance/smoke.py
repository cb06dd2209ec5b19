"""Walks an implementation through one scenario of each operation that it declares, to see that it can be driven."""

from collections.abc import Iterator
from typing import Literal

from attrs import frozen

from tercet_conformance.interface import Implementation
from tercet_conformance.limits import GivenUp, Limits
from tercet_conformance.loading import description_of
from tercet_conformance.requirements import needs
from tercet_conformance.suite import Suite, applicable, ended
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import RULES
from tercet_spec.rules.config import bad_trigger, too_few_kept
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Capability, Configuration, Trigger

STAGES: tuple[tuple[str, str], ...] = (
    ("begins a thread, and takes a step", "limit 100 keep 1: step"),
    ("stores messages, calls and results", "limit 100 keep 1: u a(x,y) t(x) t(y) a"),
    ("asks the compressor past the limit", "limit 4 keep 2: u a u a u"),
    ("goes on under a stored summary", "limit 4 keep 2: u a u a u step u a u a step"),
    ("is given a long text by the compressor", "limit 4 keep 2: u a u a u step[S 5000] u"),
    ("is given half a character by the compressor", "limit 4 keep 2: u a u a u step[S 12 of \ud83d] u"),
    ("is given a blank text by the compressor", "limit 4 keep 2: u a u a u step[S blank] u"),
    ("is told that the compressor failed", "limit 4 keep 2: u a u a u step[S fails] u"),
    ("is told that the model failed", "limit 4 keep 2: u a u a u step[a fails] u"),
    ("is told that the step is cancelled", "limit 4 keep 2: u a u a u step[a cancelled] u"),
    ("is told that the step is suspended", "limit 4 keep 2: u a u a u step[a suspended] u"),
    ("keeps to a bound of its summary", "limit 4 keep 2 bound 32: u a u a u step[S 200] u"),
    ("sends a system prompt", "limit 4 keep 2 system: u a u a u"),
    ("sends a note that is not stored", "limit 4 keep 2: u a u a u step[note u 1 back]"),
    ("waits for a pending call", "limit 4 keep 2: u a u a(x) u step[pending x]"),
    ("stores a call without an id", "limit 100 keep 1: u a(-) t(-)"),
    ("counts tokens", "limit 40 tokens keep 2: u:80 a:40 u:60"),
    ("is configured anew", "limit 4 keep 2: u a u step configure[limit 9 keep 3] u a u"),
    ("refuses to keep nothing", "limit 4 keep 0:"),
    ("refuses a limit of nothing", "limit 0 keep 2:"),
    ("keeps a turn", "limit 4 keep 2: turn u a u a u step kept u"),
    ("blocks a turn", "limit 4 keep 2: u turn a u a u step blocked u"),
    ("goes back to a checkpoint", "limit 4 keep 2: u a checkpoint[x] u a u step restore[x] u"),
    ("is told that its history was edited", "limit 4 keep 2: u a u a u step remove[2] u"),
    ("runs an agent's loop", "stack: run"),
    ("runs tools that the model calls", "stack: run[model look(x)+act(y)]"),
    ("shows a hook the input, and takes what it makes of it", 'stack a(before_agent): run[a.before_agent give "m2z"]'),
    ("lets a hook block the input", "stack a(before_agent): run[a.before_agent fail]"),
    ("lets a hook block the output", "stack a(after_agent): run[a.after_agent fail]"),
    ("asks for a prompt section", 'stack a(section): run[a.section give "Be brief."]'),
    ("lets a wrapper call next twice, and write", "stack a(wrap_model): run[a.wrap_model next next return 1 own=1]"),
    ("waits for the reply to a question", 'stack a(wrap_model, asks): run[a.wrap_model ask "Go on?" next] resume'),
    ("lets a wrapper deny a call", 'stack a(wrap_tool): run[a.wrap_tool deny "not now", model act(x)]'),
    ("waits until a call is approved", 'stack a(wrap_tool): run[a.wrap_tool ask "it costs", model act(x)] resume'),
    ("summarises within an agent's loop", "stack S limit 4 keep 2: run run run"),
)
UNWRITTEN = ("refuses a trigger of neither messages nor tokens", Scenario(Configuration(Trigger("words", 4), 2)))
"""A stage that notation cannot write."""


@frozen
class Stage:
    """One scenario of the walk: what went wrong, if anything did, and which rules broke, or why it was skipped.

    ``undeclared`` are the capabilities that it needs and that are not declared.
    """

    name: str
    line: str
    problem: str = ""
    broken: tuple[str, ...] = ()
    skipped: Literal["", "not declared", "not asked"] = ""
    undeclared: tuple[str, ...] = ()


def scenarios(capabilities: frozenset[Capability]) -> Iterator[tuple[str, str, Scenario]]:
    """Give the stages; where messages are not counted, their limits are of tokens, of which each message has one."""
    for name, line in STAGES:
        counts_tokens_only = "token-trigger" in capabilities and "message-trigger" not in capabilities
        is_rewritten = counts_tokens_only and " tokens " not in line
        written = line.replace(" keep", " tokens keep", 1) if is_rewritten else line
        yield name, written, scenario_of(parse(written))
    name, scenario = UNWRITTEN
    yield name, "", scenario


def walk(implementation: Implementation) -> Iterator[Stage]:
    """Run what is declared, one stage after another, and end the implementation; raises LoadingError."""
    with Limits() as limits:
        description = description_of(implementation, limits)
        suite = Suite(implementation, description, applicable(RULES, description), limits)
        for name, line, scenario in scenarios(description.capabilities):
            is_wrong = too_few_kept(scenario.configuration) or bad_trigger(scenario.configuration)
            needed: frozenset[Capability] = frozenset({"refuses"}) if is_wrong else needs(scenario)
            if undeclared := tuple(sorted(needed - description.capabilities)):
                yield Stage(name, line, skipped="not declared", undeclared=undeclared)
            else:
                yield stage(suite, name, line, scenario)
        wrong = ended(implementation, limits)
        yield Stage("ends when all is done", "", wrong.problem if wrong else "")


def stage(suite: Suite, name: str, line: str, scenario: Scenario) -> Stage:
    """Run one stage."""
    try:
        ran, findings = suite.find(scenario)
    except GivenUp:
        return Stage(name, line, skipped="not asked")  # too much went wrong before
    problem = f"{ran.diagnosis.operation}: {ran.diagnosis.problem}" if ran.diagnosis else ""
    return Stage(name, line, problem, tuple(dict.fromkeys(finding.rule.id for finding in findings)))

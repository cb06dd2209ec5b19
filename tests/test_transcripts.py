"""Real agents' threads through the reference: every request is judged by the rules, and none is made worse.

The threads lie in the folder that the environment variable ``TERCET_TRANSCRIPTS`` names.
"""

import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tercet_conformance.adapters.reference import implementation
from tercet_conformance.driver import run
from tercet_spec.judgement import judge
from tercet_spec.pairs import Call, Pairs, Result, pair
from tercet_spec.rules import RULES
from tercet_spec.scenarios import Answer, Append, Operation, Reply, Scenario, Step
from tercet_spec.trace import Requested, Summarized
from tercet_spec.vocabulary import Configuration, Message, Role, ToolCall, Trigger

FOLDER = os.environ.get("TERCET_TRANSCRIPTS")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="TERCET_TRANSCRIPTS is not set: it names the folder of the real threads"
)
STEPS = 978
TRIGGERS = [
    *(Trigger("messages", limit) for limit in (4, 12, 40)),
    *(Trigger("tokens", limit) for limit in (200, 2000, 10_000)),
]
Form = Mapping[str, Any]
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


@frozen
class Thread:
    """A real thread, and where it is from."""

    name: str
    messages: tuple[Message, ...]


def text(content: object) -> str:
    """Read a content: a text, or the texts of its parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content if isinstance(content, str) else "" if content is None else json.dumps(content)


def from_chat(form: Form) -> Message:
    """Read a chat message; some tool messages list their one answered id."""
    calls = tuple(map(call_from, form.get("tool_calls") or ()))
    answered = form.get("tool_call_ids") or [form["tool_call_id"]] if form["role"] == "tool" else []
    return Message(ROLES[form["role"]], text(form.get("content")), calls, tuple(answered))


def call_from(form: Form) -> ToolCall:
    """Read a call: its name and arguments stand in it, or in its function."""
    function = form["function"]
    if isinstance(function, str):
        return ToolCall(form["id"], function, text(form["arguments"]))
    return ToolCall(form["id"], function["name"], text(function["arguments"]))


def from_responses(items: Sequence[Form]) -> Iterator[Message]:
    """Read items of responses: an assistant's text and the calls that follow it directly are one message."""
    said: Form | None = None
    calls: list[ToolCall] = []
    for item in [*items, {"type": "end"}]:
        kind = item.get("type", "message")
        if kind == "function_call":
            calls.append(ToolCall(item["call_id"], item["name"], item["arguments"]))
        elif kind != "reasoning":
            if said or calls:
                yield Message("assistant", text(said["content"]) if said else "", tuple(calls))
            said, calls = None, []
            if kind == "function_call_output":
                yield Message("tool", text(item["output"]), answers=(item["call_id"],))
            elif item.get("role") == "assistant":
                said = item
            elif kind == "message":
                yield Message(ROLES[item["role"]], text(item["content"]))


def files(folder: Path) -> Iterator[tuple[str, Iterator[Message]]]:
    """Read every thread of the folder."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as log:
                for name in sorted(name for name in log.namelist() if name.startswith("samples/")):
                    yield f"{path.name}/{name}", map(from_chat, json.loads(log.read(name))["messages"])
        elif path.suffix == ".jsonl":
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
                record = json.loads(line)
                yield f"{path.name}#{number}", from_record(record)
        elif path.suffix in (".json", ".traj") and path.parent.name != "provider_oracles":
            record = json.loads(path.read_text(encoding="utf-8"))
            yield path.name, map(from_chat, record.get("history") or record["traj"])


def from_record(record: Form) -> Iterator[Message]:
    """Read a line that holds a thread: chat messages, or a request of responses and what came of it."""
    if "messages" in record:
        return map(from_chat, record["messages"])
    asked = record["responses_create_params"].get("input") or []
    if isinstance(asked, str):
        asked = [{"role": "user", "content": asked}]
    return from_responses([item for item in asked + record["response"]["output"] if isinstance(item, dict)])


@cache
def threads() -> tuple[Thread, ...]:
    return tuple(Thread(name, tuple(messages)) for name, messages in files(Path(FOLDER or "")))


def scenario(thread: Thread, configuration: Configuration) -> Scenario:
    """A step before each assistant message, which is the answer to it."""
    operations: list[Operation] = []
    said: list[Message] = []
    for message in thread.messages:
        if message.role != "assistant":
            said.append(message)
            continue
        if said:
            operations.append(Append(tuple(said)))
        operations.append(Step(replies=(Reply(length=300, fill="é"),), answers=(Answer(message),)))
        said = []
    return Scenario(configuration, tuple(operations))


@frozen
class Wanting:
    """What a request lacks: results without a call, and calls that no result answers before a later message."""

    orphans: frozenset[Result]
    unanswered: frozenset[Call]

    def is_within(self, other: "Wanting") -> bool:
        return self.orphans <= other.orphans and self.unanswered <= other.unanswered


def wanting(history: Sequence[Message], pairs: Pairs, sent: Sequence[int]) -> Wanting:
    """Find what a request lacks that holds the messages at these positions."""
    kept = {result: call for result, call in pairs.items() if result.position in sent}
    calls = {Call(position, place) for position in sent for place in range(len(history[position].calls))}
    orphans = {result for result, call in kept.items() if call not in calls}
    unanswered = {call for call in calls - set(kept.values()) if call.position != sent[-1]}
    return Wanting(frozenset(orphans), frozenset(unanswered))


def wanting_at_each_step(thread: Thread) -> list[Wanting]:
    """Find what each request of a thread would lack if all of the history were sent."""
    pairs = pair(thread.messages)
    asked = (position for position, message in enumerate(thread.messages) if message.role == "assistant")
    return [wanting(thread.messages, pairs, range(position)) for position in asked]


def test_there_are_65_threads_with_978_steps() -> None:
    assert len(threads()) == 65
    assert sum(message.role == "assistant" for thread in threads() for message in thread.messages) == STEPS


def test_five_threads_are_malformed_before_anything_is_summarised() -> None:
    whole = Wanting(frozenset(), frozenset())
    malformed = [t.name for t in threads() if any(not lacks.is_within(whole) for lacks in wanting_at_each_step(t))]
    assert malformed == [f"biomnibench_da.jsonl#{number}" for number in range(5)]


@pytest.mark.parametrize("most", [32, 1000])
@pytest.mark.parametrize("keep_recent", [1, 2, 5, 20])
@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda trigger: f"{trigger.limit} {trigger.kind}")
def test_every_request_keeps_every_rule_and_is_not_made_worse(trigger: Trigger, keep_recent: int, most: int) -> None:
    configuration = Configuration(trigger, keep_recent, most)
    reference = implementation()
    judged = fired = 0
    for thread in threads():
        ran = run(reference, reference.describe(), scenario(thread, configuration))
        assert ran.diagnosis is None
        assert [(f.rule.id, f.step, f.violation) for f in judge(ran.trace, RULES).findings] == []
        requests = [event.request for event in ran.trace.events if isinstance(event, Requested)]
        pairs = pair(thread.messages)
        for request, before in zip(requests, wanting_at_each_step(thread), strict=True):
            sent = [int(message.id[1:]) - 1 for message in request if message.id is not None]
            assert wanting(thread.messages, pairs, sent).is_within(before)
        judged += len(requests)
        fired += sum(isinstance(event, Summarized) for event in ran.trace.events)
    assert judged == STEPS
    assert fired

"""A run that stops after any step, and is gone on with from what was stored of it, ends as one that never stopped."""

import json
from itertools import chain, repeat
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from loops import Host, agent, says
from scripts import Log, stacks
from tercet import (
    TERCET,
    TERCET_CODEC,
    Approved,
    AskCompressor,
    Denied,
    Error,
    Fatal,
    Message,
    NeedsApproval,
    Success,
    Summarization,
    Thread,
    Trigger,
    begin,
    restored,
    stored,
)
from tercet.loop import Run

CALLS = st.lists(st.sampled_from(["look", "look", "take", "gone"]), max_size=3)
ANSWERS = st.one_of(
    st.builds(lambda calls: says("answer", *calls), CALLS),
    st.sampled_from([says("done"), says("more", "look"), says("both", "look", "take"), Exception("down")]),
)
OUTCOMES = st.sampled_from([Success("s"), Success("t"), Error("e"), NeedsApproval("n"), Success("u"), Fatal("f")])
TEXTS = st.sampled_from(["one", "two", "three", " ", None, Exception("down")])
MOST = 40


def again(run: Run[Message]) -> Run[Message]:
    """Store a run and restore it."""
    data = stored(run, TERCET_CODEC)
    read = json.loads(json.dumps(data, allow_nan=False))
    back = restored(run.turn.agent, run.thread.summarization, read, TERCET_CODEC)
    assert stored(back, TERCET_CODEC) == data
    return back


def told(run: Run[Message], host: Host, log: Log) -> Any:
    """Tell of a run that ended: its end, its thread, what the host was asked, what the hooks saw."""
    kinds = [type(action).__name__ for action in host.asked]
    compressed = [(action.messages, action.so_far) for action in host.of(AskCompressor)]
    thread = run.thread
    return run.action, list(thread.history), dict(thread.state), thread.usage, kinds, compressed, host.sent(), log


@st.composite
def scripted(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a host does."""
    return {
        "model": draw(st.lists(ANSWERS, min_size=2, max_size=6)),
        "tools": draw(st.lists(OUTCOMES, max_size=6)),
        "compressor": draw(st.lists(TEXTS, max_size=3)),
        "denies": draw(st.booleans()),
    }


def hosted(script: dict[str, Any]) -> Host:
    """Make the host of a script; behind its end the model is done, and nothing fails."""

    def decide(reason: str) -> Approved | Denied:
        return Denied(reason) if script["denies"] else Approved()

    return Host(
        chain(script["model"], repeat(says("done"))),
        chain(script["tools"], repeat(Success("s"))),
        chain(script["compressor"], repeat("text")),
        decide,
    )


@settings(max_examples=300, deadline=None)
@given(
    makers=stacks(),
    script=scripted(),
    limit=st.integers(2, 8),
    turns=st.integers(1, 4),
    stops=st.just("every") | st.integers(0, 20),
)
def test_a_run_that_stopped_ends_as_one_that_never_stopped(
    makers: Any, script: dict[str, Any], limit: int, turns: int, stops: Any
) -> None:
    began = Thread(Summarization(TERCET, Trigger("messages", limit), keep_recent=2))
    ends = []
    for stopped in (False, True):
        log: Log = []
        made = agent(*(make(log) for make in makers), prompt="Be.", max_prompt_section_tokens=6)
        host, thread, number = hosted(script), began, 0
        for turn in range(turns):
            run = begin(made, thread, Message("user", f"input {turn}"))
            for _ in range(MOST):
                if stopped and stops in ("every", number):
                    run = again(run)
                number += 1
                if run.is_over:
                    break
                run = host.step(run)
            if not run.is_over:
                run = run.cancelled(host.usage())
            thread = again(run).thread if stopped else run.thread
        ends.append(told(run, host, log))
        if stopped:
            event(type(run.action).__name__)
            for action in {type(action).__name__ for action in host.asked}:
                event(action)
    assert ends[0] == ends[1]

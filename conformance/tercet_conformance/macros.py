"""What happens in a thread, as a few total moves: each adds operations to a draft, whatever its state.

They are written once. The state machines draw their numbers from Hypothesis, a burst from a seed.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

from attrs import evolve, frozen

from tercet_conformance.drafts import Draft, Style, changed
from tercet_spec.notation import DEFAULT_SYSTEM, REWRITTEN
from tercet_spec.scenarios import (
    Answer,
    Append,
    Checkpoint,
    Configure,
    Edit,
    PlacedNote,
    Reply,
    Restore,
    Scenario,
    Step,
    content_text,
)
from tercet_spec.vocabulary import Capability, Configuration, Message, TokenCounter, Trigger

FILLS = ("x", "x", "é", "漢", "😀", "e\u0301", "so. \n\n")
MOST_AT_ONCE = 80
MOST_ASKED = 6
ID_STYLES = ("fresh", "by turn", "constant", "empty", "missing")


class InTheMaking(Protocol):
    """A scenario in the making, for an implementation with these capabilities."""

    @property
    def capabilities(self) -> frozenset[Capability]: ...


@frozen
class Macro:
    """A move: its parameters, each a range of whole numbers, what it does with them, and what that takes."""

    name: str
    parameters: Mapping[str, tuple[int, int]]
    perform: Callable[..., None]
    needs: frozenset[Capability] = frozenset()

    def play(self, draft: InTheMaking, random: Random) -> None:
        """Play it with numbers drawn from a seeded generator."""
        self.play_with(draft, {name: random.randint(*limits) for name, limits in self.parameters.items()})

    def play_with(self, draft: InTheMaking, numbers: Mapping[str, int]) -> None:
        """Perform it, if the implementation that the scenario is for can do what it takes."""
        if self.needs <= draft.capabilities:
            self.perform(draft, **numbers)


def fill(draft: Draft, past: int, role: int, last: int) -> None:
    """Fill the thread until the next request is just below, at, or past the limit; take a step."""
    grow(draft, past, role, last)
    draft.step()


def grow(draft: Draft, past: int, role: int = 0, last: int = 0) -> None:
    """Append messages until the next request is ``past`` the limit."""
    missing = draft.configuration.trigger.limit + past - draft.size()
    if draft.configuration.trigger.kind == "tokens":
        counter = draft.configuration.token_counter
        if missing > counter.base:
            draft.append(draft.speak("user", min(400, (missing - counter.base) * counter.divisor)))
        return
    speakers = ("user", "assistant") if role else ("user", "user")
    messages = [draft.speak(speakers[number % 2]) for number in range(min(missing, MOST_AT_ONCE))]
    if last and draft.open_calls and messages:
        messages[-1] = draft.answer_call(last) or messages[-1]
    draft.append(*messages)


def chat(draft: Draft, messages: int, length: int) -> None:
    """Say a few things, some of them long or empty, and take a step."""
    contents = [None, 40, 0] if draft.can("exact-input") else [None, 40]
    for number in range(messages):
        roles = ("user", "assistant", "user", "system" if draft.style.varied else "assistant")
        draft.append(draft.speak(roles[number % 4], contents[length % len(contents)]))
    draft.step()


def tool_turn(draft: Draft, calls: int, order: int, between: int, answered: int) -> None:
    """Call several tools at once; results come in any order, a user may write in between."""
    draft.append(draft.speak("user"), draft.call(20 if calls == 9 else min(calls, 4)))
    answer_some(draft, order, between, answered)
    draft.step()


def overlapping_calls(draft: Draft, messages: int, order: int, between: int, answered: int) -> None:
    """Call a tool in one message after another before any result comes."""
    draft.append(*[draft.call(1 + (number + order) % 2 if messages > 3 else 1) for number in range(1 + messages % 3)])
    answer_some(draft, order, between, answered)
    draft.step()


def answer_some(draft: Draft, order: int, between: int, answered: int) -> None:
    """Append results of open calls; now and then one stays open, comes twice, or has no call."""
    count = len(draft.open_calls) - (answered == 0)
    messages: list[Message | None] = []
    for number in range(max(count, 0)):
        if between == number + 1:
            messages.append(draft.speak("user"))
        messages.append(draft.answer_call(order, again=answered == 1 and number == 0))
    if answered == 2 and not draft.style.tidy:
        messages.append(draft.result("nobody"))
    results = [message for message in messages if message is not None]
    draft.append(*(packed(results) if answered == 4 and draft.style.varied else results))


def packed(messages: list[Message]) -> list[Message]:
    """Put the last two messages into one, where both are results."""
    if len(messages) < 2 or not (messages[-2].answers and messages[-1].answers):
        return messages
    *others, one, two = messages
    return [*others, evolve(one, answers=one.answers + two.answers)]


def step_that_calls(draft: Draft, calls: int, between: int, late: int) -> None:
    """Let the model's answer call tools; its results follow, or stay away for later."""
    message = draft.call(min(calls, 4))
    draft.step(answers=[Answer(message)])
    if not late:
        answer_some(draft, 0, between, 3)
        draft.step()


def late_result(draft: Draft, index: int, past: int, again: int) -> None:
    """Let a firing pass over an open call, then answer it."""
    if not draft.open_calls:
        draft.append(draft.call(1 + past % 2))
    for _ in range(draft.configuration.keep_recent):
        draft.append(draft.speak("user"))
    grow(draft, past)
    draft.step()
    result = draft.answer_call(index, again=bool(again))
    if result:
        draft.append(result)
    draft.step()


def fail_then_retry(draft: Draft, kind: int, past: int, more: int, times: int) -> None:
    """Let a firing fail, once or several times in a row, then try again.

    The compressor may go on to fail, for an implementation that asks it again.
    """
    grow(draft, past)
    asked = MOST_ASKED if times in (2, 3) else 1
    failures: list[tuple[list[Reply], list[Answer]]] = [
        ([Reply(failure="failed")] * asked, []),
        ([Reply(blank="")] * asked, []),
        ([Reply(blank=" \u2003\n\u3000")] * asked, []),
    ]
    if draft.can("model-step"):
        failures += [([], [Answer(failure="failed")])] * 2
        failures += [([], [Answer(failure="cancelled")]), ([Reply(failure="cancelled")], [])]
    if draft.can("suspend"):
        failures.append(([], [Answer(failure="suspended")]))
    replies, answers = failures[kind % len(failures)]
    for _ in range(max(1, times - 3)):
        draft.step(replies, answers)
    draft.append(*[draft.speak("user") for _ in range(more)])
    draft.step()


def long_summary(draft: Draft, past: int, over: int, fill_with: int, ends: int) -> None:
    """Fire with a summary about as long as the bound."""
    grow(draft, past)
    length = 4 * draft.configuration.max_summary_tokens + over
    draft.step(
        [Reply(length, FILLS[fill_with], "\ud83d" if ends == 7 else " " if ends == 6 else "😀" if ends == 5 else "")]
    )
    draft.step()


def by_other_measure(draft: Draft, fill_with: int, over: int) -> None:
    """Fire with a summary whose bound falls elsewhere in UTF-16 units, UTF-8 bytes, or by the tokenCounter."""
    grow(draft, 1)
    character = ("😀", "é", "漢", "x")[fill_with % 4]
    maximum, counter = draft.configuration.max_summary_tokens, draft.configuration.token_counter
    lengths = (2 * maximum, 2 * maximum, 4 * maximum // 3, (maximum - counter.base) * counter.divisor)
    draft.step([Reply(max(8, lengths[fill_with % 4] + over), character)])
    draft.append(draft.speak("user"))
    draft.step()


def configure(draft: Draft, what: int, value: int) -> None:
    """Change the configuration in the middle of a thread."""
    now = draft.configuration
    match what:
        case 0 if draft.can("bound"):
            draft.configure(changed(now, max_summary_tokens=32 + value))
        case 1:
            draft.configure(changed(now, keep_recent=1 + value % 5))
        case 2 | 3 if now.trigger.kind == "tokens":
            draft.configure(evolve(now, token_counter=TokenCounter(value % 5, 1 + value % 6)))
            grow(draft, value % 3 - 1)
            draft.step()
        case _:
            draft.configure(changed(now, limit=max(1, now.trigger.limit + value - 4)))
    draft.append(draft.speak("user"))
    draft.step()


def raise_keep_recent(draft: Draft, by: int) -> None:
    """Fire, then raise keepRecent past the tail, and the limit so that the summary stands."""
    grow(draft, 1)
    draft.step()
    raised = changed(draft.configuration, keep_recent=draft.configuration.keep_recent + by)
    room = 100 if raised.trigger.kind == "tokens" else 4
    draft.configure(changed(raised, limit=draft.size() + room))
    draft.append(draft.speak("user"))
    draft.step()


def lower_bound(draft: Draft, over: int, fill_with: int) -> None:
    """Keep a summary as long as the bound, then lower the bound under it."""
    draft.configure(changed(draft.configuration, max_summary_tokens=40))
    grow(draft, 1)
    draft.step([Reply(160 + over, FILLS[fill_with])])
    draft.append(draft.speak("user"))
    limit = draft.size() + 60 if draft.configuration.trigger.kind == "tokens" else draft.size() + 2
    draft.configure(changed(draft.configuration, max_summary_tokens=32, limit=limit))
    draft.step()


def step_again(draft: Draft, times: int) -> None:
    """Take steps with nothing said in between."""
    for _ in range(times):
        draft.step()


def no_usable_cut(draft: Draft, calls: int) -> None:
    """Grow past the limit with an open call first and its results last, so that no cut is usable."""
    if draft.operations:
        return
    draft.append(draft.call(1 + calls % 2))
    grow(draft, 0)
    draft.append(*[message for _ in range(2) if (message := draft.answer_call(0)) is not None])
    draft.step()


def retry(draft: Draft, failures: int, past: int, compressor: int, ends: int) -> None:
    """Let the model fail once or more after a firing, for an implementation that tries again.

    The compressor may fail too, at first or when it is asked again; the last try may be cancelled.
    """
    grow(draft, past)
    failed = Reply(failure="failed")
    replies = {0: [failed], 1: [Reply(), failed]}.get(compressor, [])
    answers = [Answer(failure="failed")] * failures + [Answer(failure="cancelled")] * (ends == 0)
    draft.step(replies, answers)
    draft.append(draft.speak("user"))
    draft.step()


def turn(draft: Draft, blocked: int, past: int, steps: int, calls: int, fails: int) -> None:
    """Take a whole turn that fires, kept or blocked, and go on after it."""
    with draft.turn(blocked=bool(blocked)):
        draft.append(draft.speak("user"))
        if fails == 1 and draft.can("model-step"):
            draft.step(answers=[Answer(failure="failed")])
        if fails == 2 and draft.can("configure"):
            draft.configure(changed(draft.configuration, limit=draft.configuration.trigger.limit + 1))
        for number in range(steps):
            grow(draft, past)
            message = draft.call(calls) if calls and number == 0 else None
            draft.step(answers=[Answer(message)] if message else [])
            if message:
                draft.append(*[result for _ in range(calls) if (result := draft.answer_call(0))])
    draft.append(*[draft.speak("user") for _ in range(1 + past)])
    draft.step()


def fork(draft: Draft, past: int, before: int, again: int) -> None:
    """Put a thread by, let it fire, go back, and let it grow otherwise."""
    if before:
        grow(draft, 1)
        draft.step()
    with draft.fork("x"):
        grow(draft, past)
        draft.step()
    draft.append(draft.speak("user"))
    draft.step()
    if again:
        grow(draft, 1)
        draft.step()
        if again == 2:
            draft.perform(Checkpoint("y"))
            draft.append(draft.speak("user"))
        draft.perform(Restore("x"))
        draft.step()


def edit(draft: Draft, what: int, where: int, count: int) -> None:
    """Let another party remove or rewrite messages: covered ones, all after the summary, or one of the tail."""
    grow(draft, 1)
    draft.step()
    draft.append(draft.speak("user"))
    covered, end = draft.covered(), len(draft.history)
    if what == 0 and covered:
        draft.perform(Edit(covered[where % len(covered)], count))
    elif what == 1 and covered and draft.can("exact-input"):
        draft.perform(Edit(covered[where % len(covered)], content=REWRITTEN))
    elif what == 2 and covered:
        draft.perform(Edit(covered.stop, end - covered.stop))
    elif what == 3 and covered:
        draft.perform(Edit(covered[-1], count))
    elif what == 4 and draft.can("exact-input"):
        draft.perform(Edit(max(0, end - 1 - where % 3), content=REWRITTEN))
    else:
        draft.perform(Edit(max(0, end - 1 - where % 3), 1))
    draft.step()
    if count == 2:
        grow(draft, 1)
    draft.append(draft.speak("user"))
    draft.step()


def step_with_notes(draft: Draft, past: int, back: int, second: int, role: int) -> None:
    """Take a step for which another middleware puts messages into the request."""
    grow(draft, past)
    places = (back, second) if second < 4 else (back,)
    notes = [PlacedNote(draft.speak("system" if role else "user"), place) for place in places]
    draft.step(notes=notes)
    draft.append(draft.speak("user"))
    draft.step(notes=notes[:1])


def step_with_pending(draft: Draft, calls: int, past: int, interim: int, before: int, every: int) -> None:
    """Grow past the limit while a call is pending, answered so far or not."""
    earlier = [draft.call(1)] if every and before else []
    draft.append(*earlier, *[draft.speak("user") for _ in range(before)], draft.call(calls))
    pending = draft.open_calls[-calls - len(earlier) :] if every else draft.open_calls[-1:]
    if interim:
        draft.append(draft.result(pending[-1]))
    grow(draft, past)
    draft.append(*[draft.speak("user") for _ in range(draft.configuration.keep_recent)])
    tries_again = every and before and draft.can("attempts") and draft.can("model-step")
    draft.step(answers=[Answer(failure="failed")] if tries_again else [], pending=pending)
    if interim < 2:
        draft.step()
        draft.append(draft.speak("user"))
        draft.step(pending=pending)
    result = draft.answer_call(len(draft.open_calls) - 1)
    if result:
        draft.append(result)
    draft.step()


MACROS = (
    Macro("fill", {"past": (-1, 2), "role": (0, 1), "last": (0, 3)}, fill),
    Macro("chat", {"messages": (0, 4), "length": (0, 2)}, chat),
    Macro("tool_turn", {"calls": (1, 9), "order": (0, 5), "between": (0, 4), "answered": (0, 5)}, tool_turn),
    Macro(
        "overlapping_calls",
        {"messages": (1, 5), "order": (0, 5), "between": (0, 4), "answered": (0, 5)},
        overlapping_calls,
    ),
    Macro("step_that_calls", {"calls": (1, 4), "between": (0, 3), "late": (0, 1)}, step_that_calls),
    Macro("late_result", {"index": (0, 3), "past": (1, 2), "again": (0, 1)}, late_result),
    Macro("fail_then_retry", {"kind": (0, 15), "past": (1, 2), "more": (0, 2), "times": (0, 6)}, fail_then_retry),
    Macro(
        "long_summary",
        {"past": (1, 1), "over": (-3, 5), "fill_with": (0, 6), "ends": (0, 7)},
        long_summary,
        frozenset({"bound"}),
    ),
    Macro("by_other_measure", {"fill_with": (0, 3), "over": (-1, 3)}, by_other_measure, frozenset({"bound"})),
    Macro("configure", {"what": (0, 4), "value": (0, 8)}, configure, frozenset({"configure"})),
    Macro("raise_keep_recent", {"by": (1, 6)}, raise_keep_recent, frozenset({"configure"})),
    Macro("lower_bound", {"over": (-1, 2), "fill_with": (0, 6)}, lower_bound, frozenset({"configure", "bound"})),
    Macro("step_again", {"times": (1, 2)}, step_again),
    Macro("no_usable_cut", {"calls": (0, 3)}, no_usable_cut),
    Macro(
        "retry",
        {"failures": (1, 3), "past": (0, 2), "compressor": (0, 4), "ends": (0, 4)},
        retry,
        frozenset({"attempts", "model-step"}),
    ),
    Macro(
        "turn",
        {"blocked": (0, 1), "past": (0, 2), "steps": (1, 2), "calls": (0, 2), "fails": (0, 4)},
        turn,
        frozenset({"turns", "summary-shown"}),
    ),
    Macro(
        "fork", {"past": (0, 2), "before": (0, 1), "again": (0, 2)}, fork, frozenset({"checkpoint", "summary-shown"})
    ),
    Macro("edit", {"what": (0, 5), "where": (0, 5), "count": (1, 2)}, edit, frozenset({"edit", "summary-shown"})),
    Macro(
        "step_with_notes",
        {"past": (-1, 2), "back": (0, 6), "second": (0, 5), "role": (0, 1)},
        step_with_notes,
        frozenset({"notes"}),
    ),
    Macro(
        "step_with_pending",
        {"calls": (1, 2), "past": (0, 1), "interim": (0, 3), "before": (0, 1), "every": (0, 1)},
        step_with_pending,
        frozenset({"pending"}),
    ),
)

LARGE_KEEP, LARGE_LIMIT, LARGE_BOUND = 25, 75, 1100
"""Numbers that a fixed one hidden in an implementation would be too small for."""

OPENING: Mapping[str, tuple[int, int]] = {
    "limit": (-4, 6),
    "keep": (1, 5),
    "kind": (0, 2),
    "bound": (32, 40),
    "base": (0, 4),
    "divisor": (1, 6),
    "system": (0, 1),
    "opens": (0, 5),
    "style": (0, 9),
    "varied": (0, 3),
    "scale": (0, 39),
}


def open_draft(capabilities: frozenset[Capability], numbers: Mapping[str, int]) -> Draft:
    """Begin a scenario: a configuration and a style, from drawn numbers."""
    by_tokens = "token-trigger" in capabilities and (numbers["kind"] == 2 or "message-trigger" not in capabilities)
    counter = TokenCounter(numbers["base"], numbers["divisor"])
    scale = numbers["scale"]
    keep = LARGE_KEEP if scale == 1 else numbers["keep"]
    limit = LARGE_LIMIT if scale == 2 else max(1, keep + 2 + numbers["limit"])
    bound = LARGE_BOUND if scale == 3 else numbers["bound"]
    configuration = Configuration(
        trigger=Trigger("tokens", 20 + limit * (4 + counter.base)) if by_tokens else Trigger("messages", limit),
        keep_recent=keep,
        max_summary_tokens=bound if "bound" in capabilities else 1000,
        token_counter=counter,
    )
    style = numbers["style"]
    draft = Draft(
        configuration,
        Style(
            capabilities,
            tidy=style < 6,
            ids="fresh" if style < 6 else ID_STYLES[1 + style % 4],
            system=DEFAULT_SYSTEM if numbers["system"] and "system" in capabilities else None,
            varied=numbers["varied"] == 3,
        ),
    )
    if numbers["opens"] == 5:
        draft.append(*[draft.speak("system") for _ in range(1 + numbers["limit"] % 3)])
    return draft


def burst(capabilities: frozenset[Capability], seed: int) -> Scenario:
    """Make a scenario from a seed alone: the same seed and capabilities, the same scenario."""
    random = Random(seed)
    draft = open_draft(capabilities, {name: random.randint(*limits) for name, limits in OPENING.items()})
    likely = random.sample([macro for macro in MACROS if macro.needs <= capabilities], 5)
    for _ in range(random.randint(1, 6)):
        random.choice(likely).play(draft, random)
    return draft.scenario()


def refusals(capabilities: frozenset[Capability]) -> list[Scenario]:
    """Make one scenario for each configuration that must be refused and that the implementation can be asked for."""
    if "refuses" not in capabilities:
        return []
    kind = "messages" if "message-trigger" in capabilities else "tokens"
    right = Configuration(Trigger(kind, 10), keep_recent=3)
    wrong = [evolve(right, keep_recent=keep) for keep in (0, -1)]
    wrong += [evolve(right, trigger=Trigger(kind, limit)) for limit in (0, -1)]
    wrong.append(evolve(right, trigger=Trigger("words", 10)))
    if {"message-trigger", "token-trigger"} <= capabilities:
        wrong.append(evolve(right, trigger=Trigger("tokens", 0)))
    if "bound" in capabilities:
        wrong += [evolve(right, max_summary_tokens=bound) for bound in (31, 0, -1)]
    if "beside" in capabilities:
        wrong += [evolve(right, beside=(other,)) for other in ("window", "summarizer")]
    opened = [Scenario(configuration) for configuration in wrong]
    if "configure" not in capabilities:
        return opened
    went_on = (Append((Message("user", content_text(1)),)), Step())
    return opened + [Scenario(right, (Configure(configuration), *went_on)) for configuration in wrong]

"""What the reference refuses and warns of when it is configured."""

from typing import Any

import pytest

from tercet import CHAT, TERCET, ConfigurationRefused, Message, Summarization, Trigger, four_characters

GOOD: dict[str, Any] = {"dialect": TERCET, "trigger": Trigger("messages", 50)}
NUMBERS: list[object] = [0, -1, 1.0, True, float("nan"), float("inf"), "5", None]


def problems(**changes: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigurationRefused) as refused:
        Summarization(**{**GOOD, **changes})
    assert str(refused.value) == "; ".join(refused.value.problems)
    return refused.value.problems


@pytest.mark.parametrize("value", NUMBERS)
@pytest.mark.parametrize("kind", ["messages", "tokens"])
def test_a_limit_that_is_no_whole_number_from_1_up_is_refused(kind: str, value: Any) -> None:
    expected = f"trigger.limit is {value!r}; it must be a whole number from 1 up"
    assert problems(trigger=Trigger(kind, value)) == (expected,)


@pytest.mark.parametrize("value", NUMBERS)
def test_a_keep_recent_that_is_no_whole_number_from_1_up_is_refused(value: Any) -> None:
    assert problems(keep_recent=value) == (f"keep_recent is {value!r}; it must be a whole number from 1 up",)


@pytest.mark.parametrize("value", [31, *NUMBERS])
def test_a_bound_that_is_no_whole_number_from_32_up_is_refused(value: Any) -> None:
    expected = f"max_summary_tokens is {value!r}; it must be a whole number from 32 up"
    assert problems(max_summary_tokens=value) == (expected,)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"trigger": Trigger("words", 5)}, "trigger.kind is 'words'; it must be one of 'messages', 'tokens'"),
        ({"trigger": Trigger(None, 5)}, "trigger.kind is None; it must be one of 'messages', 'tokens'"),  # type: ignore[arg-type]
        ({"trigger": ("messages", 5)}, "trigger is ('messages', 5); it must be a Trigger: its kind, its limit"),
        ({"trigger": None}, "trigger is None; it must be a Trigger: its kind, its limit"),
        (
            {"character": "byte"},
            "character is 'byte'; it must be one of 'code point', 'UTF-16 unit', 'UTF-8 byte'",
        ),
        ({"character": []}, "character is []; it must be one of 'code point', 'UTF-16 unit', 'UTF-8 byte'"),
        ({"token_counter": 4}, "token_counter is 4; it must be a function of one message"),
        ({"before": None}, "before is None; it must be a text"),
        ({"after": b"."}, "after is b'.'; it must be a text"),
        ({"beside": ("window",)}, "beside is ('window',); nothing else may manage the context of the same thread"),
        ({"dialect": "chat"}, "dialect is 'chat'; it must be a Dialect"),
    ],
    ids=str,
)
def test_what_else_is_out_of_range_is_refused(changes: dict[str, Any], problem: str) -> None:
    assert problems(**changes) == (problem,)


def test_all_problems_are_named_at_once() -> None:
    named = problems(
        dialect=None,
        trigger=Trigger("words", 0),
        keep_recent=0,
        max_summary_tokens=31,
        token_counter=None,
        character="byte",
        before=1,
        after=2,
        beside=("summarizer",),
    )
    assert [problem.split(" is ")[0] for problem in named] == [
        "dialect",
        "trigger.kind",
        "trigger.limit",
        "keep_recent",
        "max_summary_tokens",
        "token_counter",
        "character",
        "before",
        "after",
        "beside",
    ]


def test_the_least_that_is_allowed_is_accepted() -> None:
    for kind in ("messages", "tokens"):
        Summarization(TERCET, Trigger(kind, 1), keep_recent=1, max_summary_tokens=32, before="", after="")


@pytest.mark.parametrize(
    ("trigger", "warned"),
    [
        (Trigger("messages", 22), ("trigger.limit is 22 messages, at most keep_recent + 2",)),
        (Trigger("messages", 23), ()),
        (Trigger("tokens", 1000), ("trigger.limit is 1000 tokens, at most max_summary_tokens",)),
        (Trigger("tokens", 1001), ()),
    ],
    ids=str,
)
def test_a_limit_that_every_message_may_pass_is_warned_of(trigger: Trigger, warned: tuple[str, ...]) -> None:
    warnings = Summarization(TERCET, trigger, keep_recent=20, max_summary_tokens=1000).warnings
    assert len(warnings) == len(warned)
    assert all(warning.startswith(start) for warning, start in zip(warnings, warned, strict=True))


def test_without_a_counter_four_code_points_are_a_token() -> None:
    counter = Summarization(TERCET, Trigger("tokens", 5)).counter
    assert counter is not None
    assert [counter(Message("user", "é" * length)) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_a_message_trigger_needs_no_counter() -> None:
    assert Summarization(TERCET, Trigger("messages", 5)).counter is None


def test_default_counters_of_one_dialect_are_equal() -> None:
    assert four_characters(TERCET) == four_characters(TERCET)
    other: object = four_characters(CHAT)
    assert other != four_characters(TERCET)
    assert Summarization(TERCET, Trigger("tokens", 5)) == Summarization(TERCET, Trigger("tokens", 5))

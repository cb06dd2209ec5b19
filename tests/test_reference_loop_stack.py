"""What a stack and an agent refuse when they are put together: every problem at once."""

from itertools import pairwise
from typing import Any

import pytest

from loops import LOOK, TAKE
from tercet import SUMMARIZATION, TERCET_FORMS, Agent, ConfigurationRefused, Message, Middleware, Stack, Tool


def problems(*middleware: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigurationRefused) as refused:
        Stack(middleware)
    assert str(refused.value) == "; ".join(refused.value.problems)
    return refused.value.problems


def named(*ids: str, **settings: Any) -> list[Middleware[Message]]:
    return [Middleware(name, **settings) for name in ids]


def outside(name: str, *others: str) -> Middleware[Message]:
    return Middleware(name, outside=frozenset(others))


def inside(name: str, *others: str) -> Middleware[Message]:
    return Middleware(name, inside=frozenset(others))


@pytest.mark.parametrize("name", ["a", "A-z_0", "x" * 64, "-"])
def test_an_id_of_64_letters_digits_and_strokes_is_taken(name: str) -> None:
    assert Stack(tuple(named(name))).middleware[0].id == name


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "a.b", "é", "a\n", 5, None])
def test_another_id_is_refused(name: Any) -> None:
    assert problems(*named(name)) == (
        f"middleware {name!r}: its id must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -",
    )


def test_an_id_that_stands_twice_is_refused() -> None:
    assert problems(*named("a", "b", "a", "a")) == ("middleware 'a' stands 3 times in the stack; an id must be unique",)


def test_two_that_manage_the_context_are_refused() -> None:
    window: Middleware[Message] = Middleware("window", manages_context=True)
    expected = "'summarization' and 'window' manage the context of the same thread; only one may"
    assert problems(SUMMARIZATION, Middleware("other"), window) == (expected,)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "5", None])
def test_a_bound_of_sections_that_is_no_whole_number_from_1_up_is_refused(value: Any) -> None:
    assert problems(*named("a", max_section_tokens=value)) == (
        f"middleware 'a': max_section_tokens is {value!r}; it must be a whole number from 1 up",
    )


@pytest.mark.parametrize("hook", ["before_agent", "section", "wrap_model", "wrap_tool", "after_agent"])
def test_a_hook_that_is_no_function_is_refused(hook: str) -> None:
    assert problems(*named("a", **{hook: "text"})) == (
        f"middleware 'a': {hook} is 'text'; it must be a function of what it sees, or None",
    )


@pytest.mark.parametrize("name", ["writes", "outside", "inside"])
@pytest.mark.parametrize("value", ["todo", None, frozenset({1})])
def test_keys_and_ids_that_are_no_set_of_texts_are_refused(name: str, value: Any) -> None:
    assert problems(*named("a", **{name: value})) == (
        f"middleware 'a': {name} is {value!r}; it must be a frozenset of texts",
    )


@pytest.mark.parametrize("name", ["asks", "manages_context"])
def test_a_flag_that_is_neither_true_nor_false_is_refused(name: str) -> None:
    assert problems(*named("a", **{name: 1})) == (f"middleware 'a': {name} is 1; it must be True or False",)


def test_what_is_no_middleware_is_refused() -> None:
    assert problems("a", Middleware("b")) == ("middleware 1 is 'a'; it must be a Middleware",)
    for value in (None, [Middleware[Message]("a")]):
        with pytest.raises(ConfigurationRefused, match=r"middleware is .+; it must be a tuple of Middleware"):
            Stack(value)  # type: ignore[arg-type]


def test_an_order_that_is_kept_is_taken_and_never_changed() -> None:
    stack = (outside("a", "c"), inside("b", "a"), Middleware[Message]("c"))
    assert Stack(stack).middleware == stack


def test_an_order_that_is_broken_is_refused() -> None:
    assert problems(Middleware("c"), outside("a", "c")) == ("middleware 'a' must stand outside 'c', and stands inside",)
    assert problems(inside("b", "a"), Middleware("a")) == ("middleware 'b' must stand inside 'a', and stands outside",)


def test_a_constraint_that_names_nobody_is_refused() -> None:
    assert problems(outside("a", "gone"), inside("b", "lost")) == (
        "middleware 'a' must stand outside 'gone', which is not in the stack",
        "middleware 'b' must stand inside 'lost', which is not in the stack",
    )


def test_each_cycle_is_named_instead_of_the_places_that_it_breaks() -> None:
    (cycle,) = problems(outside("a", "b"), outside("b", "c"), outside("c", "a"))
    names = cycle.removeprefix("no order keeps ").split(" outside ")
    assert names[0] == names[-1]
    assert sorted(names[1:]) == ["'a'", "'b'", "'c'"]
    pairs = {("'a'", "'b'"), ("'b'", "'c'"), ("'c'", "'a'")}
    assert set(pairwise(names)) == pairs
    two = problems(outside("a", "b"), outside("b", "a"), outside("c", "d"), outside("d", "c"))
    assert [problem.split()[:3] for problem in two] == [["no", "order", "keeps"]] * 2
    assert problems(outside("a", "a")) == ("no order keeps 'a' outside 'a'",)


def test_every_problem_is_named_at_once() -> None:
    found = problems(
        5,
        Middleware("a b", max_section_tokens=0),
        Middleware("x", manages_context=True, outside=frozenset({"gone"})),
        Middleware("x", manages_context=True),
        outside("c", "d"),
        inside("d", "e"),
        outside("e", "d"),
    )
    assert len(found) == 7
    assert len(set(found)) == 7


def refused(**settings: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigurationRefused) as error:
        Agent(**{"forms": TERCET_FORMS, **settings})
    return error.value.problems


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"forms": None}, "forms is None; it must be Forms"),
        ({"stack": ()}, "stack is (); it must be a Stack"),
        ({"prompt": 5}, "prompt is 5; it must be a text, or None"),
        ({"max_prompt_section_tokens": 0}, "max_prompt_section_tokens is 0; it must be a whole number from 1 up"),
        ({"tools": None}, "tools is None; it must be a tuple of Tool"),
        ({"tools": ("look",)}, "tool 1 is 'look'; it must be a Tool"),
        ({"tools": (LOOK, TAKE, LOOK)}, "2 tools are named 'look'; a name must be unique"),
        ({"tools": (LOOK, Tool(""))}, "tool 2 is named ''; it must be a text that is not empty"),
        ({"tools": (Tool(5),)}, "tool 1 is named 5; it must be a text that is not empty"),  # type: ignore[arg-type]
        (
            {"tools": (Tool("a", 5),)},  # type: ignore[arg-type]
            "tool 'a': problems is 5; it must be a function of the arguments' text",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "settings",
)
def test_an_agent_refuses_what_it_cannot_be_set_up_with(settings: dict[str, Any], expected: str) -> None:
    assert refused(**settings) == (expected,)


def test_an_agent_names_every_problem_at_once() -> None:
    settings = {"forms": 1, "stack": 2, "tools": (3, Tool(""), LOOK, LOOK), "prompt": 4, "max_prompt_section_tokens": 0}
    assert len(refused(**settings)) == 7

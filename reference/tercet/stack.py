"""A stack of middleware, and what is refused when it is put together."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Generic, TypeVar

from attrs import field, frozen

from tercet.configuration import not_a_number
from tercet.errors import ConfigurationRefused
from tercet.middleware import HOOKS, Middleware

M = TypeVar("M")
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@frozen
class Stack(Generic[M]):
    """Middleware in order: the first is the outermost, and sees the input first.

    Raises ConfigurationRefused, naming every problem at once; keeps ``hooks.nesting``.
    """

    middleware: tuple[Middleware[M], ...] = ()
    before_agent: tuple[Middleware[M], ...] = field(init=False, eq=False, repr=False)
    section: tuple[Middleware[M], ...] = field(init=False, eq=False, repr=False)
    wrap_model: tuple[Middleware[M], ...] = field(init=False, eq=False, repr=False)
    wrap_tool: tuple[Middleware[M], ...] = field(init=False, eq=False, repr=False)
    after_agent: tuple[Middleware[M], ...] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if found := tuple(problems(self.middleware)):
            raise ConfigurationRefused(found)
        for hook in HOOKS:
            having = tuple(each for each in self.middleware if getattr(each, hook) is not None)
            object.__setattr__(self, hook, having[::-1] if hook == "after_agent" else having)


def problems(stack: object) -> Iterator[str]:
    """List what is wrong with a stack: the middleware and field, its value, what is allowed."""
    if not isinstance(stack, tuple):
        yield f"middleware is {stack!r}; it must be a tuple of Middleware, the outermost first"
        return
    middleware = [each for each in stack if isinstance(each, Middleware)]
    for place, each in enumerate(stack, 1):
        if isinstance(each, Middleware):
            yield from problems_of(each)
        else:
            yield f"middleware {place} is {each!r}; it must be a Middleware"
    named = [each for each in middleware if isinstance(each.id, str)]
    for name, times in Counter(each.id for each in named).items():
        if times > 1:
            yield f"middleware {name!r} stands {times} times in the stack; an id must be unique"
    managing = [each.id for each in middleware if each.manages_context is True]
    if len(managing) > 1:
        yield f"{' and '.join(map(repr, managing))} manage the context of the same thread; only one may"
    yield from broken_order(named)


def problems_of(middleware: Middleware[M]) -> Iterator[str]:
    """List what is wrong with one middleware."""
    name = f"middleware {middleware.id!r}"
    if not isinstance(middleware.id, str) or not ID.fullmatch(middleware.id):
        yield f"{name}: its id must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -"
    for field_name in ("writes", "outside", "inside"):
        value = getattr(middleware, field_name)
        if not isinstance(value, frozenset) or not all(isinstance(each, str) for each in value):
            yield f"{name}: {field_name} is {value!r}; it must be a frozenset of texts"
    for hook in HOOKS:
        value = getattr(middleware, hook)
        if value is not None and not callable(value):
            yield f"{name}: {hook} is {value!r}; it must be a function of what it sees, or None"
    for field_name in ("asks", "manages_context"):
        value = getattr(middleware, field_name)
        if type(value) is not bool:
            yield f"{name}: {field_name} is {value!r}; it must be True or False"
    yield from not_a_number(f"{name}: max_section_tokens", middleware.max_section_tokens, 1)


def broken_order(stack: list[Middleware[M]]) -> Iterator[str]:
    """List the order constraints that name nobody, that form a cycle, or that the order breaks."""
    places = {middleware.id: place for place, middleware in enumerate(stack)}
    pairs: dict[tuple[str, str], tuple[str, str]] = {}
    for middleware in stack:
        for word, opposite in (("outside", "inside"), ("inside", "outside")):
            value = getattr(middleware, word)
            others = sorted(each for each in value if isinstance(each, str)) if isinstance(value, frozenset) else ()
            for other in others:
                wish = f"middleware {middleware.id!r} must stand {word} {other!r}"
                if other not in places:
                    yield f"{wish}, which is not in the stack"
                    continue
                pair = (middleware.id, other) if word == "outside" else (other, middleware.id)
                pairs.setdefault(pair, (wish, opposite))
    while cycle := find_cycle(pairs):
        yield f"no order keeps {' outside '.join(map(repr, cycle))}"
        pairs = {pair: wish for pair, wish in pairs.items() if not {*pair} <= {*cycle}}
    for (outer, inner), (wish, opposite) in pairs.items():
        if places[outer] > places[inner]:
            yield f"{wish}, and stands {opposite}"


def find_cycle(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Find ids each of which must stand outside the next, the last one being the first again."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for outer, inner in pairs:
        sorter.add(inner, outer)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []

"""Stands between the suite and a session: says what is called, when the host may be, and that nothing is awaited."""

from collections.abc import Callable
from inspect import iscoroutine
from typing import Any, Protocol

from tercet_conformance.garbage import Garbage
from tercet_conformance.limits import Limits


class Asked(Protocol):
    """A host: ``is_asked`` while a step, or a run, is under way."""

    is_asked: bool


class Guarded:
    """A session whose every call is watched; it has the methods that the session has."""

    def __init__(self, session: Any, host: Asked, limits: Limits) -> None:
        self.session, self.host, self.limits = session, host, limits

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.session, name)
        if not callable(method):
            return method
        guarded = self.guarded(name, method)
        setattr(self, name, guarded)
        return guarded

    def guarded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Make what is called in the place of a method."""
        host, limits, asks = self.host, self.limits, name in ("step", "run", "resume")

        def call(*given: Any) -> Any:
            limits.what = name
            host.is_asked = asks
            try:
                returned = method(*given)
            finally:
                host.is_asked = False
            return settled(returned, name)

        return call


def settled(returned: Any, name: str) -> Any:
    """Take what a call returned; raises Garbage where it is still to be awaited."""
    if not hasattr(type(returned), "__await__"):
        return returned
    what = type(returned).__name__
    if iscoroutine(returned):
        returned.close()  # it would be warned of as never awaited
    raise Garbage(f"{name} returned a {what}; {name} is called synchronously: run it to its end, e.g. with asyncio.run")

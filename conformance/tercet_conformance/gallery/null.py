"""Implementations that do nothing of what they declare: what they pass is worth nothing.

Each declares every capability, and accepts every configuration.
"""

from collections.abc import Collection, Sequence

from attrs import evolve, frozen

from tercet_conformance.gallery.entry import Thread, enter_as
from tercet_conformance.gallery.plain import Plain, PlainImplementation, Saved, View
from tercet_conformance.gallery.plain_loop import PlainLoop
from tercet_conformance.interface import CompressorFailed, LoopHost, ModelFailed, Refused, StepEnd
from tercet_spec.agents import Agent
from tercet_spec.vocabulary import ALL_CAPABILITIES, Configuration, Message, Note, PendingCall


@frozen
class NullImplementation(PlainImplementation):
    """An implementation whose threads do nothing of what they declare, and whose loop runs none of the hooks."""

    def open_loop(self, configuration: Configuration, agent: Agent, host: LoopHost) -> PlainLoop:
        """Begin a thread with a loop over it."""
        return PlainLoop(self.thread(configuration, host), evolve(agent, stack=()), host)


def null(thread: Thread) -> Thread:
    """Enter a class of threads that does nothing of what it declares."""
    enter_as(thread, "null", None, "", NullImplementation)
    return thread


class Null(Plain):
    """Stores what is said, sends all of it, and never summarises; its loop runs none of the hooks."""

    capabilities = ALL_CAPABILITIES

    def is_past(self, measured: int) -> bool:
        return False

    def problems(self, configuration: Configuration) -> list[str]:
        return []

    def warnings(self) -> list[str]:
        return []

    def block(self, began: Saved) -> None:
        pass

    def restore(self, checkpoint: str) -> None:
        pass

    def edit(self, history: Sequence[Message]) -> None:
        pass

    def spend_on_model(self, tokens: int) -> None:
        pass

    def spend_on_compressor(self, tokens: int) -> None:
        pass


@null
class SendsEverything(Null):
    """Sends everything, and never summarises."""


@null
class SendsNothing(Null):
    """Sends an empty request at each step."""

    def request(self, system: str | None, view: View) -> list[Message]:
        return []


@null
class SendsTheLastMessage(Null):
    """Sends the latest message alone."""

    def request(self, system: str | None, view: View) -> list[Message]:
        return self.history[-1:]


@null
class SendsOneText(Null):
    """Sends the same words at each step, whatever was said."""

    def request(self, system: str | None, view: View) -> list[Message]:
        return [Message("user", self.before + "We talked.")]


@null
class ForgetsEverything(Null):
    """Asks the compressor for a summary of nothing at each step, and sends that alone."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        text = self.call_compressor([])
        answer = self.call_model([Message("user", self.before + text)])
        return StepEnd("committed", self.store(answer))


@null
class FailsEachStep(Null):
    """Lets each step fail, once the model has answered."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        self.call_model(self.history)
        raise ModelFailed


@null
class FailsUnasked(Null):
    """Lets each step fail, and asks nobody."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        raise CompressorFailed


@null
class RefusesEverything(Null):
    """Accepts no configuration."""

    def configure(self, configuration: Configuration) -> None:
        raise Refused(("not today",))

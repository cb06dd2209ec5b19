"""What guards the measurement itself: one that must be caught at once, one that must never be."""

from tercet_conformance.gallery.entry import guard
from tercet_conformance.gallery.plain import Plain, View
from tercet_spec.vocabulary import Message


@guard("send.nothing-lost")
class MustDie(Plain):
    """Sends nothing of the history, ever: a measurement that does not catch it measures nothing."""

    def request(self, system: str | None, view: View) -> list[Message]:
        return self.prompt(system)


@guard(None)
class NoOp(Plain):
    """Changes nothing: a measurement that catches it catches anything."""

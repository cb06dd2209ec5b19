"""The reference's summarization as its loop runs it: each model step is a run without an input, up to its answer."""

from collections.abc import Collection, Sequence

from attrs import evolve, frozen

import tercet
from tercet_conformance.adapters.reference import Reference, ReferenceSession, summarization
from tercet_conformance.interface import (
    Cancelled,
    CompressorFailed,
    Host,
    ModelFailed,
    Session,
    StepEnd,
    Suspended,
)
from tercet_spec.vocabulary import Configuration, Description, Message, Note, PendingCall

FORMS = evolve(tercet.TERCET_FORMS, calls=lambda _: ())
"""An answer's calls are the suite's to answer: they end the run, as any answer does."""


@frozen
class ReferenceByLoop(Reference):
    """The package ``tercet``, whose summarization is a middleware of its loop."""

    def describe(self) -> Description:
        """Say what it can do; the loop's own hooks are judged elsewhere."""
        described = super().describe()
        return evolve(described, name="tercet, by its loop", capabilities=described.capabilities - {"hooks"})

    def open(self, configuration: Configuration, host: Host) -> Session:
        """Begin a thread."""
        thread = tercet.Thread(summarization(configuration, self.character, self.dialect))
        return LoopSession(thread, host, self.character)


class LoopSession(ReferenceSession):
    """One thread of the reference, driven by its loop; a wrapper outside of summarization tries once more."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        """Take one model step."""
        unstored = tuple(tercet.Unstored(note.message, note.after) for note in notes)
        self.model_failed = False

        def add(call: tercet.ModelCall[Message]) -> tercet.middleware.ModelMove[Message]:
            if call.results:
                return call.results[-1]
            return tercet.Next(evolve(call.request, notes=unstored, pending=tuple(pending)))

        def try_again(call: tercet.ModelCall[Message]) -> tercet.middleware.ModelMove[Message]:
            if not call.results or (self.model_failed and len(call.results) < self.tries):
                self.model_failed = False
                return tercet.Next()
            return call.results[-1]

        stack = (
            tercet.Middleware("notes", wrap_model=add),
            tercet.Middleware("retry", wrap_model=try_again),
            tercet.SUMMARIZATION,
        )
        return self.driven(tercet.begin(tercet.Agent(FORMS, tercet.Stack(stack), prompt=system), self.thread))

    def driven(self, run: tercet.Run[Message]) -> StepEnd:
        """Do what the run asks for until it ends; whatever comes of it, the thread counts its calls."""
        answer_id = self.new_id()
        while not run.is_over:
            try:
                run = self.gone_on(run, answer_id)
            except (Cancelled, Suspended):
                self.thread = run.cancelled(self.usage()).thread
                raise
        self.thread = run.thread
        return StepEnd("committed", answer_id) if isinstance(run.action, tercet.Finished) else StepEnd("failed")

    def gone_on(self, run: tercet.Run[Message], answer_id: str) -> tercet.Run[Message]:
        """Call the model, or ask the compressor."""
        match run.action:
            case tercet.AskCompressor(messages, so_far):
                try:
                    return run.compressed(self.host.summarize(messages, so_far), self.usage())
                except CompressorFailed as error:
                    return run.failed(str(error), self.usage())
            case tercet.CallModel(request):
                sent = request.sent(self.thread.summarization.dialect)
                try:
                    return run.answered(self.host.answer(sent).stored_under(answer_id), self.usage())
                except ModelFailed as error:
                    self.model_failed = True
                    return run.failed(str(error), self.usage())
        raise AssertionError("a run without hooks that ask asks for nothing else")

    def usage(self) -> tercet.Usage:
        """Say what the latest call cost."""
        return tercet.Usage(1, self.host.usage)


def implementation() -> ReferenceByLoop:
    """Make the reference by its loop."""
    return ReferenceByLoop()

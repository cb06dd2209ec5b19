"""Right loops that differ in what the chapter on hooks leaves open: none of them may ever be blamed."""

from collections.abc import Sequence

from attrs import evolve

from tercet_conformance.gallery.entry import right_loop
from tercet_conformance.gallery.plain import Plain, View
from tercet_conformance.gallery.plain_loop import Failed, PlainLoop, Waits
from tercet_conformance.interface import CompressorFailed, RunEnd
from tercet_spec.agents import DENIED, Result
from tercet_spec.vocabulary import Message, ToolCall


@right_loop
class RunsHooks(PlainLoop):
    """Runs the hooks around a plain summarizer."""


@right_loop
class WaitsAtTheFirst(PlainLoop):
    """Waits as soon as a call needs approval, and lets the calls behind it run after that."""

    def tool_step(self, calls: Sequence[ToolCall]) -> Waits[None]:
        results = []
        for place, call in enumerate(calls):
            result = self.use(call, approved=False)
            if result.kind == "approval":
                _, (is_approved,) = yield RunEnd("suspended", waiting=(place,))
                result = self.decided(call, result, is_approved=is_approved)
            results.append(result)
        for call, result in zip(calls, results, strict=True):
            self.store_result(call, result)


@right_loop
class SaysLittle(PlainLoop):
    """Says no more than it must of a call that is refused or denied."""

    def use(self, call: ToolCall, *, approved: bool) -> Result:
        result = super().use(call, approved=approved)
        return result if self.is_valid(call) else evolve(result, text="")

    def decided(self, call: ToolCall, waiting: Result, *, is_approved: bool) -> Result:
        result = super().decided(call, waiting, is_approved=is_approved)
        return result if is_approved else evolve(result, text=DENIED)


@right_loop
class ShowsEachWhatWasWritten(PlainLoop):
    """Shows each hook around the run what those before it wrote, and takes all of it back where the run fails."""

    def leave(self, answer: Message) -> None:
        before = dict(self.entries)
        try:
            for middleware in self.leaving():
                passed = self.host.after_agent(middleware.id, answer, self.shown())
                self.look_for_a_block(passed)
                self.write(self.own(middleware, passed.update))
        except Failed:
            self.entries = before
            raise


@right_loop
class FinishesTheCalls(PlainLoop):
    """Runs the calls behind one that fails the run too, before the run fails."""

    def used(self, calls: Sequence[ToolCall]) -> list[Result]:
        results = [self.used_or_failed(call) for call in calls]
        if None in results:
            raise Failed
        return [result for result in results if result is not None]

    def used_or_failed(self, call: ToolCall) -> Result | None:
        try:
            return self.use(call, approved=False)
        except Failed:
            return None


class Forgiving(Plain):
    """Sends a request as measured where the compressor fails."""

    failed_compressor = "sends"

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        return None


class InUtf16(Plain):
    """Counts in UTF-16 units."""

    character = "UTF-16 unit"


class InUtf8(Plain):
    """Counts in UTF-8 bytes."""

    character = "UTF-8 byte"


@right_loop
class GoesOnWithoutASummary(PlainLoop):
    """Lets the model have the request as measured where the compressor fails."""

    thread_class = Forgiving


@right_loop
class LoopInUtf16Units(PlainLoop):
    """Bounds prompt sections in UTF-16 units."""

    thread_class = InUtf16


@right_loop
class LoopInUtf8Bytes(PlainLoop):
    """Bounds prompt sections in UTF-8 bytes."""

    thread_class = InUtf8

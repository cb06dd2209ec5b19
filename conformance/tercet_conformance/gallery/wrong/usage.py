"""Wrong about which calls a thread counts."""

from collections.abc import Collection, Sequence

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import CAPABILITIES, Plain, Saved
from tercet_conformance.interface import ModelFailed, StepEnd
from tercet_spec.vocabulary import Message, Note, PendingCall


@wrong("usage.compressor", "https://github.com/openai/openai-agents-python/issues/4434")
class CompressorNotCounted(Plain):
    """Counts the model's calls only."""

    def spend_on_compressor(self, tokens: int) -> None:
        pass


@wrong("usage.compressor", "https://github.com/cymoo/lovia/pull/200")
class FailedCompressorNotCounted(Plain):
    """Counts a call of the compressor when its text has come."""

    def call_compressor(self, given: Sequence[Message], so_far: str | None = None) -> str:
        text = self.host.summarize(given, so_far)
        self.usage += self.host.usage
        return text


@wrong("usage.every-call")
class FailedModelNotCounted(Plain):
    """Counts a call of the model when its answer has come."""

    def call_model(self, request: Sequence[Message]) -> Message:
        answer = self.host.answer(request)
        self.usage += self.host.usage
        return answer


@wrong("usage.every-call")
class UsageIsTheStepsWrite(Plain):
    """Takes back what a step has used where it is not committed."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        before = self.usage
        try:
            return super().step(system, notes, pending)
        except BaseException:
            self.usage = before
            raise


@wrong("usage.every-call")
class FiringStepNotCounted(Plain):
    """Counts nothing of a step in which the compressor was called."""

    def call_compressor(self, given: Sequence[Message], so_far: str | None = None) -> str:
        self.fired = True
        return self.host.summarize(given, so_far)

    def call_model(self, request: Sequence[Message]) -> Message:
        return self.host.answer(request) if self.fired else super().call_model(request)

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        self.fired = False
        return super().step(system, notes, pending)


@wrong("usage.every-call")
class CancelledNotCounted(Plain):
    """Counts a call that failed, and not one that was cancelled."""

    def call_model(self, request: Sequence[Message]) -> Message:
        before = self.usage
        try:
            return super().call_model(request)
        except Exception:
            raise
        except BaseException:
            self.usage = before
            raise


@wrong("usage.every-call")
class LastTryCounted(Plain):
    """Tries again where the model failed, and counts the last try only."""

    capabilities = CAPABILITIES | {"attempts"}

    def call_model(self, request: Sequence[Message]) -> Message:
        before = self.usage
        try:
            return super().call_model(request)
        except ModelFailed:
            self.usage = before
            return super().call_model(request)


@wrong("usage.every-call")
class AnsweredTwiceCounted(Plain):
    """Counts the call that answered once as a call, and once more with the answer that it stores."""

    def store(self, message: Message) -> str:
        self.usage += self.host.usage if message.role == "assistant" else 0
        return super().store(message)


class TellsTurnsApart(Plain):
    """Knows what was used when the turn began."""

    def begin_turn(self) -> None:
        super().begin_turn()
        self.used = self.usage


@wrong("usage.every-call")
class CountedAgainAtTheTurnsEnd(TellsTurnsApart):
    """Counts the calls of a turn as they are made, and all of them once more when the turn is kept."""

    def end_turn(self, blocked: bool) -> None:
        super().end_turn(blocked)
        if not blocked:
            self.usage += self.usage - self.used


@wrong("usage.every-call")
class StoredMessagesCounted(Plain):
    """Counts the tokens of the messages that are stored, beside the calls."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        self.usage += sum(self.tokens(message) for message in messages)
        return super().append(messages)


@wrong("usage.every-call")
class BlockTakesUsageBack(TellsTurnsApart):
    """Forgets what a blocked turn has used."""

    def block(self, began: Saved) -> None:
        super().block(began)
        self.usage = self.used


@wrong("usage.every-call")
class ForgottenWhenMessagesAreStored(Plain):
    """Counts anew from each message that is stored."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        self.usage = 0
        return super().append(messages)

"""Wrong about what the compressor is given, and about its failures."""

from collections.abc import Sequence

from attrs import evolve

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import Plain, View
from tercet_conformance.interface import CompressorFailed, StepEnd
from tercet_spec.vocabulary import Message, Summary


@wrong("compress.span")
class SystemPromptInTheSpan(Plain):
    """Gives the compressor the system prompt too."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return [*self.prompt(system), *super().span(system, view, cut)]


@wrong("compress.span")
class SummaryMessageInTheSpan(Plain):
    """Gives the compressor the summary message among the messages, and the text beside them as well."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return [*super().span(system, view, cut), *self.summaries(view)]


@wrong("compress.span")
class NotesInTheSpan(Plain):
    """Gives the compressor the unstored messages too."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return [*super().span(system, view, cut), *(note.message for note in self.notes)]


@wrong("compress.span")
class LatestFirst(Plain):
    """Gives the compressor the messages in the wrong order."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return list(reversed(super().span(system, view, cut)))


@wrong("compress.span")
class LateResultWithoutItsCall(Plain):
    """Gives the compressor a late result without the call that it answers."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return self.history[view.start : cut]


@wrong("compress.span")
class LastMessageGivenTwice(Plain):
    """Gives the compressor the last message before the cut twice."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        span = super().span(system, view, cut)
        return [*span, span[-1]]


@wrong("compress.span")
class FirstMessageGivenTwice(Plain):
    """Gives the compressor the first message of the span twice."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return [*self.history[view.start : view.start + 1], *super().span(system, view, cut)]


@wrong("compress.span")
class CalledBackForWhatIsKept(Plain):
    """Gives the compressor what results call back that are kept, as if they were summarised too."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return [*self.called_back(view, len(self.history)), *self.history[view.start : cut]]


@wrong("compress.span", "https://github.com/nearai/ironclaw/pull/7978")
class MessagesClippedForTheCompressor(Plain):
    """Clips long messages before they are summarised: the rest of them is lost unread."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return [evolve(message, content=message.content[:30]) for message in super().span(system, view, cut)]


@wrong("compress.so-far")
class SummarySoFarForgotten(Plain):
    """Never gives the compressor the summary so far, so that each summary forgets the one before."""

    def so_far(self, view: View) -> str | None:
        return None


@wrong("compress.so-far")
class PlaceholderForNoSummary(Plain):
    """Tells the compressor of a summary so far where there is none."""

    def so_far(self, view: View) -> str | None:
        return "No summary yet." if view.text is None else view.text


@wrong("compress.so-far", "https://github.com/nearai/ironclaw/pull/7978")
class SummarySoFarUnbounded(Plain):
    """Gives the compressor the stored text whole, although the bound was lowered since."""

    def so_far(self, view: View) -> str | None:
        return self.summary.text if view.text is not None and self.summary else view.text


@wrong("compress.so-far")
class SummarySoFarFramed(Plain):
    """Gives the compressor the whole summary message as the text so far."""

    def so_far(self, view: View) -> str | None:
        return None if view.text is None else self.before + view.text + self.after


@wrong("compress.once-only", "https://github.com/adolfousier/opencrabs/issues/1649")
class WrittenAnewEachTime(Plain):
    """Gives the compressor the whole history again at each firing."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        return self.history[self.opening() : cut]


@wrong("compress.once-only")
class LastCoveredGivenAgain(Plain):
    """Begins the span one message early: the last that the summary covers is given again."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        if view.text is None or self.called_back(view, cut):
            return super().span(system, view, cut)
        return self.history[view.start - 1 : cut]


@wrong("compress.once-only")
class FirstCoveredGivenAgain(Plain):
    """Gives the compressor the first message of the thread each time."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        span = super().span(system, view, cut)
        return span if view.text is None or len(span) > cut - view.start else [self.history[self.opening()], *span]


@wrong("compress.once-only")
class OneBeforeTheLastGivenAgain(Plain):
    """Gives the compressor the covered message before the last one again."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        span, place = super().span(system, view, cut), view.start - 2
        return span if place <= self.opening() or len(span) > cut - view.start else [self.history[place], *span]


@wrong("compress.failure", "https://github.com/langchain-ai/langchain/issues/38867")
class ErrorTextKeptAsSummary(Plain):
    """Keeps the compressor's error as the summary."""

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        return View(f"Error generating summary: {error}", cut)


@wrong("compress.failure", "https://github.com/openclaw/openclaw/issues/10100")
class NoteInPlaceOfTheMessages(Plain):
    """Puts a fixed note in place of the messages where the compressor failed."""

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        return View("Earlier messages are no longer available.", cut)


@wrong("compress.failure", "https://github.com/camel-ai/camel/issues/4321")
class BlankTextKept(Plain):
    """Keeps a blank text as the summary."""

    def is_blank(self, text: str) -> bool:
        return False


@wrong("compress.failure")
class OnlyAsciiIsBlank(Plain):
    """Takes white space outside of ASCII for words."""

    def is_blank(self, text: str) -> bool:
        return not text.strip(" \t\r\n")


@wrong("compress.failure", "https://github.com/Aider-AI/aider/pull/5689")
class MessagesDroppedOnFailure(Plain):
    """Drops the messages that were to be summarised where the compressor failed."""

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        return View(view.text, cut)

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        return super().commit(None if new is None or new.text is None else new, answer)


@wrong("compress.failure", "https://github.com/NousResearch/hermes-agent/pull/94606")
class MessagesDroppedOnABlankText(MessagesDroppedOnFailure):
    """Fails where the compressor fails, and drops the messages where its text is blank."""

    was_blank = False

    def fire(self, system: str | None, view: View, cut: int) -> View:
        self.was_blank = False
        return super().fire(system, view, cut)

    def is_blank(self, text: str) -> bool:
        self.was_blank = super().is_blank(text)
        return self.was_blank

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        if not self.was_blank:
            raise error
        return super().failed(view, cut, error)


@wrong("compress.failure", "https://github.com/anomalyco/opencode/issues/30806")
class RecordBeforeItsText(Plain):
    """Stores an empty summary before it asks for the text, and leaves it there where none comes."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        stored = self.summary
        self.summary = Summary("", self.stored_id(cut - 1))
        new = super().fire(system, view, cut)
        self.summary = stored
        return new


@wrong("compress.failure", "https://github.com/strands-agents/harness-sdk/issues/4027")
class KeyAdvancedOnFailure(Plain):
    """Moves the stored summary's end on although the compressor failed."""

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        if self.summary is not None:
            self.summary = Summary(self.summary.text, self.stored_id(cut - 1))
        raise error


@wrong("compress.failure")
class SendsAfterABlankTextOnly(MessagesDroppedOnABlankText):
    """Says that it sends the request as measured where the compressor fails, and does so for a blank text only."""

    failed_compressor = "sends"

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        if not self.was_blank:
            raise error
        return None


@wrong("compress.failure")
class FailurePassedOver(Plain):
    """Sends the request as measured where the compressor failed, and does not say that it does."""

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        return None


@wrong("compress.failure", "https://github.com/gwdg/chat-ai/issues/120")
class DeletesBeforeItAsks(Plain):
    """Deletes the messages first and asks the compressor then: where that fails, they are gone."""

    deleted = 0

    def new_id(self, position: int) -> str:
        return super().new_id(position + self.deleted)

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        del self.history[view.start : cut]
        self.deleted += cut - view.start
        raise error

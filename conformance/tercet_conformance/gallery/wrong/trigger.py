"""Wrong about when summarization fires."""

from collections.abc import Sequence

from attrs import evolve

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import Plain, View
from tercet_conformance.interface import StepEnd
from tercet_spec.characters import size
from tercet_spec.vocabulary import Configuration, Message, Summary, TokenCounter


@wrong("trigger.as-sent", "https://github.com/openclaw/openclaw/issues/119824")
class CoveredMessagesCounted(Plain):
    """Counts what the summary covers as if it were still sent, so that it fires at each step from then on."""

    def measured(self, system: str | None, view: View) -> Sequence[Message]:
        return [*self.prompt(system), *self.history]


@wrong("trigger.as-sent", "https://github.com/google/adk-js/pull/474")
class RequestsSummedUp(Plain):
    """Compares the limit with the sum of all requests so far, not with the one that is sent."""

    total = 0

    def measure(self, request: Sequence[Message]) -> int:
        if self.summary is None:
            return super().measure(request)
        self.total += super().measure(request)
        return self.total


@wrong("trigger.as-sent", "https://github.com/google-gemini/gemini-cli/issues/16070")
class SystemPromptNotMeasured(Plain):
    """Leaves the system prompt out of the size."""

    def measured(self, system: str | None, view: View) -> Sequence[Message]:
        return self.request(None, view)


@wrong("trigger.as-sent")
class SummaryNotMeasured(Plain):
    """Leaves the summary message out of the size."""

    def measured(self, system: str | None, view: View) -> Sequence[Message]:
        summaries = self.summaries(view)
        return [message for message in self.request(system, view) if message not in summaries]


@wrong("trigger.strictly-past")
class FiresAtTheLimit(Plain):
    """Fires when the limit is reached, not when it is passed."""

    def is_past(self, measured: int) -> bool:
        return measured >= self.configuration.trigger.limit


@wrong("trigger.tokens")
class MessagesCountedAsTokens(Plain):
    """Counts messages where the limit is of tokens."""

    def tokens(self, message: Message) -> int:
        return 1


@wrong("trigger.tokens")
class CallsNotCounted(Plain):
    """Counts the content of messages and not their tool calls."""

    def tokens(self, message: Message) -> int:
        return super().tokens(evolve(message, calls=()))


@wrong("trigger.tokens")
class BytesCountedAsCharacters(Plain):
    """Counts UTF-8 bytes where it says that it counts code points."""

    def tokens(self, message: Message) -> int:
        return size(message, self.configuration.token_counter, "UTF-8 byte")


@wrong("trigger.tokens", "https://github.com/bobmatnyc/trusty-tools/issues/2308")
class OwnEstimateForTheCounter(Plain):
    """Estimates four characters a token whatever counter was configured, and so fires too early or too late."""

    def tokens(self, message: Message) -> int:
        return size(message, TokenCounter(), self.character)


@wrong("trigger.messages")
class ResultsNotCounted(Plain):
    """Leaves tool results out of the number of messages."""

    def count(self, request: Sequence[Message]) -> int:
        return sum(message.role != "tool" for message in request)


@wrong("trigger.messages")
class CallsNotCountedAsMessages(Plain):
    """Leaves messages that only call tools out of the number of messages."""

    def count(self, request: Sequence[Message]) -> int:
        return sum(not message.calls for message in request)


@wrong("trigger.messages")
class CalledBackNotCounted(Plain):
    """Leaves what a late result calls back out of the number of messages."""

    def decide(self, system: str | None, view: View) -> View | None:
        self.back = len(self.called_back(view, len(self.history)))
        return super().decide(system, view)

    def count(self, request: Sequence[Message]) -> int:
        return len(request) - self.back


@wrong("trigger.fires")
class NeverFires(Plain):
    """Never summarises: every request is the whole thread."""

    def is_past(self, measured: int) -> bool:
        return False


@wrong("trigger.fires", "https://github.com/google/adk-python/issues/7236")
class StoppedByAnAbandonedCall(Plain):
    """Waits for the results of all calls of the tail: one that never comes stops every later summary."""

    def cut(self, view: View) -> int | None:
        answered = {(link.call, link.place) for link in self.links()}
        tail = range(view.start, len(self.history))
        calls = {(position, place) for position in tail for place in range(len(self.history[position].calls))}
        return None if calls - answered else super().cut(view)


@wrong("trigger.fires", "https://github.com/mastra-ai/mastra/issues/5490")
class WaitsForTheUser(Plain):
    """Fires only where the last message is the user's, not between a tool's result and the next request."""

    def cut(self, view: View) -> int | None:
        is_user_s = bool(self.history) and self.history[-1].role == "user"
        return super().cut(view) if is_user_s else None


@wrong("trigger.fires")
class FiresOnceAThread(Plain):
    """Takes a thread that has a summary for done, and lets it grow from then on."""

    def cut(self, view: View) -> int | None:
        return super().cut(view) if view.text is None else None


@wrong("trigger.fires", "https://github.com/google-gemini/gemini-cli/pull/16279")
class SizeOfTheRequestBefore(Plain):
    """Decides by the size that the request before had, so that it fires one request late or not at all."""

    last = 0

    def measure(self, request: Sequence[Message]) -> int:
        before, self.last = self.last, super().measure(request)
        return before


@wrong("trigger.fires", "https://github.com/langchain-ai/langchain/issues/39261")
class PlaceholderWithoutTheUser(Plain):
    """Puts a fixed line in place of messages none of which is the user's, and asks no compressor."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        if any(message.role == "user" for message in self.history[view.start : cut]):
            return super().fire(system, view, cut)
        return View("Previous conversation was too long to summarize.", cut)


@wrong("trigger.fires", "https://github.com/microsoft/agent-framework/issues/7393")
class ResultsForASummary(Plain):
    """Puts the results whole in place of the messages that they are among, and asks no compressor."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        results = [message.content for message in self.history[view.start : cut] if message.answers]
        return (
            View(self.bounded("\n".join(["Results:", *results])), cut) if results else super().fire(system, view, cut)
        )


@wrong("trigger.fires", "https://github.com/code-yeongyu/senpi/pull/769")
class StaleTextThrownAway(Plain):
    """Keeps a summary that no step committed for the next; where the thread has grown since, it writes none."""

    prepared: int | None = None

    def cut(self, view: View) -> int | None:
        prepared, self.prepared = self.prepared, None
        return super().cut(view) if prepared in (None, len(self.history)) else None

    def fire(self, system: str | None, view: View, cut: int) -> View:
        new = super().fire(system, view, cut)
        self.prepared = len(self.history)
        return new

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        self.prepared = None
        return super().commit(new, answer)


@wrong("trigger.quiet")
class FiresEarly(Plain):
    """Fires at three quarters of the limit, to be on the safe side."""

    def is_past(self, measured: int) -> bool:
        return 4 * measured > 3 * self.configuration.trigger.limit


@wrong("trigger.quiet", "https://github.com/langchain-ai/langchain/issues/33701")
class SummarisesPastKeepRecent(Plain):
    """Summarises whenever more messages than keepRecent are there, whatever the trigger says."""

    def is_past(self, measured: int) -> bool:
        return True


@wrong("trigger.quiet")
class KeyTouchedWhenQuiet(Plain):
    """Stores its summary anew where the trigger is quiet, with a line end at the end of its text."""

    was_quiet = False

    def quiet(self, view: View) -> View | None:
        self.was_quiet = view.text is not None and self.cut(view) is not None
        return None

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        if self.was_quiet and self.summary is not None and self.bounded(text := self.summary.text + "\n") == text:
            self.summary = Summary(text, self.summary.through)
        self.was_quiet = False
        return super().commit(new, answer)


@wrong("trigger.once", "https://github.com/google-gemini/gemini-cli/issues/8586")
class FiresUntilItFits(Plain):
    """Fires again and again in one request, with keepRecent lowered, until the request is within the limit."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        new = super().fire(system, view, cut)
        while self.is_past(self.measure(self.request(system, new))) and (further := self.lower(new)) is not None:
            new = super().fire(system, new, further)
        return new

    def lower(self, view: View) -> int | None:
        """Choose a later cut that still keeps the last message."""
        links = self.links()
        cuts = range(len(self.history) - 1, view.start, -1)
        return next((cut for cut in cuts if self.is_legal(links, view, cut)), None)


@wrong("trigger.once", "https://github.com/anomalyco/opencode/issues/26230")
class AsksTwice(Plain):
    """Asks the compressor a second time for the same messages, and takes the second text."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        super().ask(span, so_far)
        return super().ask(span, so_far)


@wrong("trigger.fires", "https://github.com/aaif-goose/goose/issues/9958")
class WaitsForApproval(Plain):
    """Never fires while a call is pending."""

    def is_past(self, measured: int) -> bool:
        return super().is_past(measured) and not self.pending


@wrong("trigger.as-sent")
class NotesNotMeasured(Plain):
    """Leaves what another middleware put into the request out of the measure."""

    def measured(self, system: str | None, view: View) -> Sequence[Message]:
        notes = [note.message for note in self.notes]
        return [message for message in super().measured(system, view) if message not in notes]


@wrong("trigger.tokens")
class CallsBesideWordsNotCounted(Plain):
    """Counts of a message that says something and calls tools the words only."""

    def tokens(self, message: Message) -> int:
        return super().tokens(evolve(message, calls=()) if message.content else message)


@wrong("trigger.tokens")
class CountedAsAtFirst(Plain):
    """Goes on with the tokenCounter that the thread was opened with."""

    def configure(self, configuration: Configuration) -> None:
        counter = self.configuration.token_counter if hasattr(self, "configuration") else configuration.token_counter
        super().configure(evolve(configuration, token_counter=counter))


@wrong("trigger.fires")
class GivesUpAfterTwoFailures(Plain):
    """Never asks the compressor again that failed twice in a row."""

    failures = 0

    def decide(self, system: str | None, view: View) -> View | None:
        return None if self.failures == 2 else super().decide(system, view)

    def fire(self, system: str | None, view: View, cut: int) -> View:
        self.failures += 1
        new = super().fire(system, view, cut)
        self.failures = 0
        return new

"""Wrong about what a request holds, and where."""

from collections.abc import Collection, Sequence
from json import dumps, loads
from re import sub
from unicodedata import normalize

from attrs import evolve

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import CAPABILITIES, Plain, View
from tercet_conformance.interface import Host, StepEnd
from tercet_spec.vocabulary import Configuration, Message, Note, PendingCall, Role, Summary, ToolCall


@wrong("send.system-first", "https://github.com/microsoft/semantic-kernel/issues/12612")
class SystemPromptDropped(Plain):
    """Drops the system prompt with the messages that it summarises."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        return self.request(None if new else system, new or view)


@wrong("send.system-first", "https://github.com/vstorm-co/summarization-pydantic-ai/issues/17")
class SystemPromptDroppedFromThenOn(Plain):
    """Sends no system prompt while a summary stands."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        return self.request(system if view.text is None else None, new or view)


@wrong("send.system-first")
class SystemPromptShortened(Plain):
    """Shortens the system prompt to its first letters once a summary takes room."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        return self.request(system if system is None or view.text is None else system[:8], view)


@wrong("send.system-first", "https://github.com/langchain-ai/langchainjs/issues/9272")
class SummaryInTheSystemPrompt(Plain):
    """Writes the summary into the system prompt, so that the tail may begin with a call that nobody asked for."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        if system is None or view.text is None:
            return self.request(system, view)
        summaries = self.summaries(view)
        rest = [message for message in self.request(None, view) if message not in summaries]
        return [*self.prompt("\n\n".join([system, *(message.content for message in summaries)])), *rest]


class Placed(Plain):
    """Leaves the trigger alone and sends a summary elsewhere, or as something else."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        request = self.request(system, view)
        place = len(self.prompt(system)) + self.opening()
        return request if view.text is None else self.placed(request[:place], request[place], request[place + 1 :])

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        """Put a request with a summary together."""
        return [*head, summary, *tail]


@wrong("send.placement")
class SummaryOfTheSystem(Placed):
    """Sends the summary as a second system message."""

    role: Role = "system"

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        return [*head, evolve(summary, role=self.role), *tail]


@wrong("send.placement", "https://github.com/RooCodeInc/Roo-Code/pull/10873")
class SummaryOfTheAssistant(SummaryOfTheSystem):
    """Sends the summary as if the assistant had said it."""

    role: Role = "assistant"


@wrong("send.placement")
class SummaryAfterTheTail(Placed):
    """Sends the summary after the messages that it comes before."""

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        return [*head, *tail, summary]


@wrong("send.placement")
class SummaryBeforeTheOpening(Placed):
    """Sends the summary straight after the system prompt, before the system messages that open the history."""

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        place = len(head) - self.opening()
        return [*head[:place], summary, *head[place:], *tail]


@wrong("send.placement")
class SummaryTwice(Placed):
    """Sends the summary twice."""

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        return [*head, summary, summary, *tail]


@wrong("send.placement", "https://github.com/langchain-ai/langchainjs/issues/9629")
class AnotherPrefix(Placed):
    """Puts other words before the text than those that it declares."""

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        return [*head, evolve(summary, content="Summary: " + summary.content[len(self.before) :]), *tail]


@wrong("send.placement")
class SummaryAfterTheTask(Placed):
    """Sends the summary after the first message that it does not cover."""

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        return [*head, *tail[:1], summary, *tail[1:]]


@wrong("send.placement")
class SummaryAfterAnAnswer(Placed):
    """Sends the summary after an assistant's message that it would come before, so that the roles take turns."""

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        first = 1 if tail and tail[0].role == "assistant" and not tail[0].calls else 0
        return [*head, *tail[:first], summary, *tail[first:]]


@wrong("send.placement")
class SummaryAfterAQuestion(Placed):
    """Sends the summary after a user's message that it would come before, as if it were an answer to that."""

    def placed(self, head: list[Message], summary: Message, tail: list[Message]) -> list[Message]:
        first = 1 if tail and tail[0].role == "user" else 0
        return [*head, *tail[:first], summary, *tail[first:]]


@wrong("send.placement")
class SummaryBeforeKept(Plain):
    """Leaves the summary before in the request, beside the one that extends it."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        request = self.request(system, new or view)
        place = len(self.prompt(system)) + self.opening()
        return [*request[:place], *self.summaries(view), *request[place:]] if new else request


@wrong("send.placement", "https://github.com/earendil-works/pi/issues/8667")
class SummaryStoredBetweenMessages(Plain):
    """Stores each summary where the thread stood, and sends it there again if a later firing keeps that place."""

    written: View | None = None

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        request = self.request(system, new or view)
        if new is None or self.written is None or not new.start < self.written.start <= len(self.history):
            return request
        place = len(request) - (len(self.history) - self.written.start)
        return [*request[:place], *self.summaries(self.written), *request[place:]]

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        if new is not None:
            self.written = View(new.text, len(self.history))
        return super().commit(new, answer)


@wrong("send.in-place", "https://github.com/microsoft/semantic-kernel/issues/12303")
class WholeHistorySent(Plain):
    """Sends a summary in the request that fired, and the whole history again in the next."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        return self.request(system, new or View(None, self.opening()))


@wrong("send.in-place")
class CoveredMessagesSentToo(Plain):
    """Sends a summary, and the messages that it covers as well."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view, first = new or view, self.opening()
        return [*self.prompt(system), *self.history[:first], *self.summaries(view), *self.history[first:]]


@wrong("send.in-place", "https://github.com/RooCodeInc/Roo-Code/issues/8093")
class FirstTaskAlwaysSent(Plain):
    """Sends the user's first message beside the summary that covers it."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view, first = new or view, self.opening()
        request = self.request(system, view)
        if view.text is None or self.history[first].role != "user":
            return request
        place = len(self.prompt(system)) + first + 1
        return [*request[:place], self.history[first], *request[place:]]


@wrong("send.in-place")
class UncoveredByKeepRecent(Plain):
    """Uncovers messages where keepRecent was raised since the summary was written."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        if new is not None or view.text is None:
            return self.request(system, new or view)
        start = max(self.opening(), min(view.start, self.latest(view)))
        return self.request(system, View(view.text, start))


@wrong("send.in-place")
class OneCoveredMessageSentToo(Plain):
    """Sends the covered message before the last one beside the summary."""

    def called_back(self, view: View, until: int) -> list[Message]:
        back, place = super().called_back(view, until), view.start - 2
        return back if back or place <= self.opening() or until < len(self.history) else [self.history[place]]


@wrong("send.in-place")
class HalfOfItSentAgain(Plain):
    """Has no bound to keep, and sends half of the stored text in the requests after the one that fired."""

    capabilities = CAPABILITIES - {"bound"}

    def bounded(self, text: str) -> str:
        return text

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        if new is not None or view.text is None:
            return self.request(system, new or view)
        return self.request(system, View(view.text[: -(-len(view.text) // 2)], view.start))


@wrong("send.rest-unchanged", "https://github.com/openclaw/openclaw/issues/27504")
class NewestMessageChanged(Plain):
    """Changes the newest message of a request with a summary."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        request = self.request(system, view)
        newest = [] if view.text is None else request[-1:]
        return [*request[: len(request) - len(newest)], *(evolve(m, content=m.content + " ") for m in newest)]


@wrong("send.rest-unchanged", "https://github.com/google-gemini/gemini-cli/issues/8586")
class NewestMessageTwice(Plain):
    """Sends the newest message a second time in the request that fired."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        request = self.request(system, new or view)
        return [*request, request[-1]] if new else request


@wrong("send.rest-unchanged", "https://github.com/macanderson/stella/pull/609")
class EarlierResultsOfAnIdStubbed(Plain):
    """Takes results of one id for one result that was read again, and sends the last of them alone whole."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        request = self.request(system, new or view)
        last = {answered: message.id for message in request for answered in message.answers}
        return [
            evolve(message, content="Read again below.")
            if any(last[answered] != message.id for answered in message.answers)
            else message
            for message in request
        ]


@wrong("send.rest-unchanged")
class ResultsMovedToTheEnd(Plain):
    """Sends the results of the tail after all that was said in it."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        request = self.request(system, view)
        tail = len(self.history) - view.start
        return [
            *request[: len(request) - tail],
            *sorted(request[len(request) - tail :], key=lambda m: m.role == "tool"),
        ]


@wrong("send.nothing-lost")
class TailBeginsOneLate(Plain):
    """Leaves out the first message after the covered ones, where it is the user's."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        request = self.request(system, new or view)
        start = (new or view).start
        first = self.history[start] if start < len(self.history) else None
        return [message for message in request if message is not first or message.role != "user" or not new]


@wrong("send.nothing-lost", "https://github.com/dotnet/extensions/issues/6890")
class CallsAndResultsLeftOut(Plain):
    """Leaves calls and results out of a request without a summary, although nothing is summarised."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        request = self.request(system, view)
        return [message for message in request if view.text is not None or not (message.calls or message.answers)]


@wrong("send.nothing-lost", "https://github.com/langchain4j/langchain4j/pull/666")
class ResultsOfCoveredCallsDropped(Plain):
    """Drops a late result, since its call is covered."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        late = {link.result for link in self.links() if link.call < view.start <= link.result and view.text is not None}
        request = self.request(system, View(view.text, view.start))
        dropped = [self.history[position] for position in late] + self.called_back(view, len(self.history))
        return [message for message in request if not any(message is each for each in dropped)]


@wrong("send.nothing-lost", "https://github.com/blueberrycongee/wuu/issues/142")
class RangeCoveredButNotRead(Plain):
    """Gives the compressor the second half of what the summary is said to cover, since all is too much for it."""

    def span(self, system: str | None, view: View, cut: int) -> Sequence[Message]:
        span = super().span(system, view, cut)
        return span[len(span) // 2 :]


@wrong("send.nothing-lost")
class OldestLeftOut(Plain):
    """Leaves out the oldest message of a long thread that has no summary yet, where it is the user's."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        request = self.request(system, new or view)
        place = len(self.prompt(system)) + self.opening()
        first = request[place] if place < len(request) else None
        too_long = not new and view.text is None and len(self.history) > 2 * self.configuration.keep_recent
        return [m for m in request if m is not first or m.role != "user"] if too_long else request


@wrong("send.nothing-else", "https://github.com/camel-ai/camel/issues/3468")
class ToldToGoOn(Plain):
    """Tells the model to go on, in the user's name, at the end of a request that fired."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        request = self.request(system, new or view)
        return [*request, Message("user", "Please continue.")] if new else request


@wrong("send.nothing-else")
class ResultsMadeUp(Plain):
    """Makes up a result for each call of the tail that has none."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        answered = {(link.call, link.place) for link in self.links()}
        start = (new or view).start
        calls: list[ToolCall] = [
            call
            for position in range(start, len(self.history))
            for place, call in enumerate(self.history[position].calls)
            if (position, place) not in answered
        ]
        made_up = [Message("tool", "No result was found.", answers=(call.id,)) for call in calls]
        return [*self.request(system, new or view), *made_up]


@wrong("send.same-request", "https://github.com/microsoft/agent-framework/issues/7943")
class SummaryWaitsForTheNextRequest(Plain):
    """Stores a new summary, and sends the request that fired without it."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        return self.request(system, view)


@wrong("send.same-request")
class SummarisesAfterTheAnswer(Plain):
    """Sends the request that is past the limit as it is, and summarises when the answer has come."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        self.notes, self.pending = notes, pending
        view = self.applies()
        answer = self.call_model(self.send(system, view, None))
        return self.commit(self.decide(system, view), answer)


@wrong("send.calls-back")
class CalledBackInItsPlace(Plain):
    """Sends what a late result calls back straight before that result, not after the summary."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        request = self.request(system, view)
        back = self.called_back(view, len(self.history))
        rest = [message for message in request if not any(message is each for each in back)]
        late = {self.history[link.result].id for link in self.links() if link.call < view.start <= link.result}
        place = next((at for at, message in enumerate(rest) if message.id in late), len(rest))
        return [*rest[:place], *back, *rest[place:]]


@wrong("send.calls-back")
class CalledBackWithoutOtherResults(Plain):
    """Calls back the call of a late result, and not the covered results of that message's other calls."""

    def late(self, start: int, until: int) -> list[int]:
        return sorted({link.call for link in self.links() if link.call < start <= link.result < until})


@wrong("send.in-place")
class PendingEndsTheSummary(Plain):
    """Sends the whole history where a call that the summary covers is pending again."""

    def applies(self) -> View:
        view = super().applies()
        waits = any(0 <= self.position(call.message) < view.start for call in self.pending)
        return View(None, self.opening()) if waits else view


@wrong("send.applies", "https://github.com/strands-agents/harness-sdk/issues/4027")
class AppliesByPlace(Plain):
    """Remembers how many messages the summary covers, and applies it although the last of them is gone."""

    capabilities = CAPABILITIES - {"restores-key"}
    covered = 0

    def edit(self, history: Sequence[Message]) -> None:
        self.history = list(history)

    def key(self, new: View) -> Summary:
        self.covered = new.start
        return super().key(new)

    def applies(self) -> View:
        if self.summary is not None and self.opening() < self.covered < len(self.history):
            return View(self.bounded(self.summary.text), self.covered)
        return super().applies()


@wrong("send.applies", "https://github.com/NousResearch/hermes-agent/pull/81258")
class AppliesWithNothingAfterIt(Plain):
    """Sends a summary alone, where an undo took away all that came after it."""

    def applies(self) -> View:
        view = super().applies()
        if view.text is None and self.summary is not None and self.history:
            anchor = self.position(self.summary.through)
            if anchor == len(self.history) - 1:
                return View(self.bounded(self.summary.text), anchor + 1)
        return view


@wrong("send.applies")
class CarriedAllTheSame(Plain):
    """Sends the stored summary before a history that does not hold its last covered message any more."""

    capabilities = CAPABILITIES - {"restores-key"}

    def edit(self, history: Sequence[Message]) -> None:
        self.history = list(history)

    def summaries(self, view: View) -> list[Message]:
        gone = view.text is None and self.summary is not None
        return super().summaries(View(self.bounded(self.summary.text), view.start) if gone and self.summary else view)

    def measured(self, system: str | None, view: View) -> Sequence[Message]:
        request = super().measured(system, view)
        carried = view.text is None and self.summary is not None
        return [m for m in request if not (carried and m in self.summaries(view))]


@wrong("send.nothing-lost")
class CoveredIdsRemembered(Plain):
    """Remembers the ids that it covered, and leaves out a later message that comes under one of them again."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.ids: set[str | None] = set()
        super().__init__(configuration, host)

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        if new is not None:
            self.ids |= {message.id for message in self.history[self.opening() : new.start]}
        return super().commit(new, answer)

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        start = (new or view).start
        late = {message.id for message in self.history[start:] if message.id in self.ids}
        return [message for message in super().send(system, view, new) if message.id is None or message.id not in late]


@wrong("send.unstored")
class NotesDroppedWhenItFires(Plain):
    """Builds the request that fired from the stored history alone."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        notes = [] if new is None else [note.message for note in self.notes]
        return [message for message in super().send(system, view, new) if message not in notes]


@wrong("send.unstored")
class NotesAtTheEnd(Plain):
    """Puts every unstored message at the end of the request."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        notes = [note.message for note in self.notes]
        request = super().send(system, view, new)
        return [*(m for m in request if m not in notes), *(m for m in request if m in notes)]


@wrong("send.unstored")
class NotesSentTwice(Plain):
    """Sends every unstored message in its place, and once more at the end of the request."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        return [*super().send(system, view, new), *(note.message for note in self.notes)]


@wrong("send.unstored")
class NotesBeforeTheSummary(Plain):
    """Puts an unstored message whose neighbours are covered before the summary."""

    def summaries(self, view: View) -> list[Message]:
        self.displaced = [
            note.message for note in self.notes if view.text is not None and self.is_displaced(note, view)
        ]
        return [*self.displaced, *super().summaries(view)]

    def request(self, system: str | None, view: View) -> list[Message]:
        request, seen = super().request(system, view), list[Message]()
        for message in request:
            if message not in self.displaced or message not in seen:
                seen.append(message)
        return seen


@wrong("send.system-first")
class SystemPromptOfTheFirstStep(Plain):
    """Goes on with the system prompt that the thread began with."""

    first: str | None = None

    def prompt(self, system: str | None) -> list[Message]:
        self.first = self.first or system
        return super().prompt(self.first if system is not None else None)


class Rewriting(Plain):
    """Sends the stored messages as they are, but for one thing."""

    def request(self, system: str | None, view: View) -> list[Message]:
        return [self.rewritten(message) if message.id else message for message in super().request(system, view)]

    def rewritten(self, message: Message) -> Message:
        """Write a stored message as it is sent."""
        raise NotImplementedError


@wrong("send.rest-unchanged")
class ContentsStripped(Rewriting):
    """Strips white space from both ends of what was said."""

    def rewritten(self, message: Message) -> Message:
        return evolve(message, content=message.content.strip())


@wrong("send.rest-unchanged")
class ContentsNormalised(Rewriting):
    """Composes what was said in the normal form of Unicode."""

    def rewritten(self, message: Message) -> Message:
        return evolve(message, content=normalize("NFC", message.content))


@wrong("send.rest-unchanged")
class LineEndsRewritten(Rewriting):
    """Ends lines as its own system does."""

    def rewritten(self, message: Message) -> Message:
        return evolve(message, content=message.content.replace("\r\n", "\n"))


@wrong("send.rest-unchanged")
class HalvesReplaced(Rewriting):
    """Puts a question mark where a text has half a character."""

    def rewritten(self, message: Message) -> Message:
        return evolve(message, content=message.content.encode("utf-8", "replace").decode())


@wrong("send.rest-unchanged")
class WordsBesideCallsDropped(Rewriting):
    """Sends no words of a message that calls tools."""

    def rewritten(self, message: Message) -> Message:
        return evolve(message, content="") if message.calls else message


@wrong("send.rest-unchanged")
class NamesOfCallsCleaned(Rewriting):
    """Replaces what is neither letter nor digit in the name of a tool that was called."""

    def rewritten(self, message: Message) -> Message:
        return evolve(
            message, calls=tuple(evolve(call, name=sub(r"[^a-zA-Z0-9]", "_", call.name)) for call in message.calls)
        )


@wrong("send.rest-unchanged")
class ArgumentsWrittenAnew(Rewriting):
    """Parses the arguments of calls, and writes them as JSON again."""

    def rewritten(self, message: Message) -> Message:
        return evolve(
            message, calls=tuple(evolve(call, arguments=dumps(loads(call.arguments))) for call in message.calls)
        )


@wrong("send.nothing-lost")
class SameWordsSentOnce(Plain):
    """Sends of messages that say the same the first only."""

    def request(self, system: str | None, view: View) -> list[Message]:
        request = super().request(system, view)
        said = [(message.role, message.content) for message in request]
        return [
            message
            for place, message in enumerate(request)
            if message.role != "user" or not message.content or said.index(said[place]) == place
        ]

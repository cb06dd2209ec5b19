"""Wrong about where the thread is cut."""

from collections.abc import Sequence

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import Link, Plain, View
from tercet_conformance.interface import StepEnd
from tercet_spec.vocabulary import Message, Summary


@wrong("cut.keeps-recent")
class KeepsOneTooFew(Plain):
    """Keeps one message fewer than keepRecent, where a cut that keeps enough could be moved so far."""

    def cut(self, view: View) -> int | None:
        cut = super().cut(view)
        moves = cut == len(self.history) - self.configuration.keep_recent and self.is_legal(self.links(), view, cut + 1)
        return cut + 1 if cut is not None and moves else cut


@wrong("cut.keeps-recent", "https://github.com/langchain-ai/langmem/issues/77")
class KeepsNothing(Plain):
    """Covers all that is there, the user's latest message too."""

    def latest(self, view: View) -> int:
        return super().latest(view) if self.pending else len(self.history)


@wrong("cut.keeps-recent", "https://github.com/sagents-ai/sagents/pull/167")
class MovesLaterToStayLegal(Plain):
    """Moves an illegal cut later, into the messages that are to be kept."""

    def cut(self, view: View) -> int | None:
        links = self.links()
        cuts = range(max(self.latest(view), view.start), len(self.history))
        return next((cut for cut in cuts if cut > view.start and self.is_legal(links, view, cut)), None)


@wrong("cut.pairs", "https://github.com/n8n-io/n8n/issues/34125")
class CutsAnywhere(Plain):
    """Cuts where keepRecent says, wherever any cut is legal."""

    def cut(self, view: View) -> int | None:
        return None if super().cut(view) is None else self.latest(view)


@wrong("cut.pairs", "https://github.com/microsoft/agent-framework/issues/7212")
class NeighbouringPairsOnly(Plain):
    """Sees a pair only where a result follows its call at once."""

    def links(self) -> list[Link]:
        return [link for link in super().links() if link.result == link.call + 1]


@wrong("cut.pairs", "https://github.com/sagents-ai/sagents/pull/167")
class CutsThroughParallelResults(Plain):
    """Takes a call for settled at the first result of its message, and cuts between parallel results."""

    def is_legal(self, links: Sequence[Link], view: View, cut: int) -> bool:
        first: dict[int, Link] = {}
        for link in links:
            first.setdefault(link.call, link)
        return super().is_legal(list(first.values()), view, cut)


@wrong("cut.pairs", "https://github.com/macanderson/stella/pull/609")
class PairsByLastId(Plain):
    """Pairs by a map from id to call in which the last call of an id wins."""

    def links(self) -> list[Link]:
        calls = {call.id: (at, place) for at, m in enumerate(self.history) for place, call in enumerate(m.calls)}
        return [
            Link(at, *calls[answered])
            for at, message in enumerate(self.history)
            for answered in message.answers
            if answered in calls and calls[answered][0] < at
        ]


@wrong("cut.pairs", "https://github.com/microsoft/agent-framework/pull/7406")
class PairsByFirstId(Plain):
    """Pairs every result with the first call of its id, although the id was used again since."""

    def links(self) -> list[Link]:
        calls: dict[str | None, tuple[int, int]] = {}
        for position, message in enumerate(self.history):
            for place, call in enumerate(message.calls):
                calls.setdefault(call.id, (position, place))
        return [
            Link(position, *calls[answered])
            for position, message in enumerate(self.history)
            for answered in message.answers
            if answered in calls and calls[answered][0] < position
        ]


@wrong("cut.pairs", "https://github.com/langchain-ai/langchain/issues/38352")
class FirstOwnerOfAnyResult(Plain):
    """Goes back from kept results to the first message that owns any of them, and not to the one before it."""

    def cut(self, view: View) -> int | None:
        cut = max(self.latest(view), 0)
        kept = cut
        while kept < len(self.history) and self.history[kept].role == "tool":
            kept += 1
        owners = [link.call for link in self.links() if cut <= link.result < kept]
        cut = max([owner for owner in owners if view.start <= owner < cut], default=cut)
        return cut if cut > view.start else None


@wrong("cut.pairs", "https://github.com/agentscope-ai/QwenPaw/issues/5986")
class OnlyTheBoundaryMessage(Plain):
    """Looks at the first message kept and at no other: a later result of an earlier call is left alone."""

    def is_legal(self, links: Sequence[Link], view: View, cut: int) -> bool:
        return super().is_legal([link for link in links if link.result == cut], view, cut)


@wrong("cut.pairs", "https://github.com/google/adk-python/issues/6179")
class InterimResultTakenForTheLast(Plain):
    """Takes a call for settled at its first result, and cuts before the final one."""

    def is_legal(self, links: Sequence[Link], view: View, cut: int) -> bool:
        first: dict[tuple[int, int], Link] = {}
        for link in links:
            first.setdefault((link.call, link.place), link)
        return super().is_legal(list(first.values()), view, cut)


@wrong("cut.pairs", "https://github.com/aaif-goose/goose/pull/5059")
class LateResultLeftAlone(Plain):
    """Sends a result that came late without its call, which is covered."""

    def late(self, start: int, until: int) -> list[int]:
        return []


@wrong("cut.pairs", "https://github.com/microsoft/semantic-kernel/issues/13062")
class ResultKeptWithoutItsCall(Plain):
    """Sends the last covered message too where it is a result, although its call lies further back."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        view = new or view
        request = self.request(system, view)
        last = self.history[view.start - 1] if view.text is not None else None
        if last is None or not last.answers or last in request:
            return request
        place = len(self.prompt(system)) + self.opening() + 1
        return [*request[:place], last, *request[place:]]


@wrong("cut.pairs", "https://github.com/vercel/ai/issues/16385")
class FirstAnswerLeftBehind(Plain):
    """Prunes a call with its last result, and leaves what came before it, as an approval does."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        results: dict[int, list[int]] = {}
        for link in self.links():
            if len(self.history[link.call].calls) == 1 and link.call >= (new or view).start:
                results.setdefault(link.call, []).append(link.result)
        pruned = {self.stored_id(at) for call, of in results.items() if len(of) > 1 for at in (call, of[-1])}
        return [message for message in self.request(system, new or view) if message.id not in pruned]


@wrong("cut.reaches", "https://github.com/google-gemini/gemini-cli/issues/6563")
class CutsAtTheUserOnly(Plain):
    """Cuts before a user's message only, so that less is covered than could be."""

    def cut(self, view: View) -> int | None:
        links = self.links()
        legal = [cut for cut in range(view.start + 1, self.latest(view) + 1) if self.is_legal(links, view, cut)]
        before_users = [cut for cut in legal if self.history[cut].role == "user"]
        return max(before_users or legal, default=None)


@wrong("cut.reaches")
class EarliestLegalCut(Plain):
    """Takes the earliest cut that is legal, and so fires again at once."""

    def cut(self, view: View) -> int | None:
        links = self.links()
        cuts = range(view.start + 1, self.latest(view) + 1)
        return next((cut for cut in cuts if self.is_legal(links, view, cut)), None)


@wrong("cut.reaches", "https://github.com/CommandCodeAI/command-code/issues/767")
class PinnedByALongMessage(Plain):
    """Covers neither a long message, as an image is one, nor anything after it."""

    def latest(self, view: View) -> int:
        long = (at for at in range(view.start, len(self.history)) if len(self.history[at].content) >= 40)
        return min(super().latest(view), next(long, len(self.history)))


@wrong("cut.reaches", "https://github.com/google/adk-python/issues/7236")
class HeldBackByAnOpenCall(Plain):
    """Cuts before the first call without a result, where it can, although nobody waits for it."""

    def cut(self, view: View) -> int | None:
        links = self.links()
        answered = {(link.call, link.place) for link in links}
        legal = [cut for cut in range(view.start + 1, self.latest(view) + 1) if self.is_legal(links, view, cut)]
        open_calls = (
            position
            for position in range(view.start, len(self.history))
            for place in range(len(self.history[position].calls))
            if (position, place) not in answered
        )
        first = next(open_calls, len(self.history))
        return max([cut for cut in legal if cut <= first] or legal, default=None)


@wrong("cut.nothing-to-cover", "https://github.com/OpenHands/software-agent-sdk/issues/1518")
class SummaryOfNothingStored(Plain):
    """Stores an empty summary where there was nothing that could be covered."""

    had_nothing = False

    def nothing_to_cover(self, view: View) -> View | None:
        self.had_nothing = bool(self.history)
        return None

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        if self.had_nothing and self.summary is None and new is None:
            self.summary = Summary("", self.stored_id(len(self.history) - 1))
        self.had_nothing = False
        return super().commit(new, answer)


@wrong("cut.nothing-to-cover", "https://github.com/ranxianglei/opencode-acp/issues/135")
class AsksForNothing(Plain):
    """Asks the compressor with no message at all where no cut is usable, and throws the text away."""

    def nothing_to_cover(self, view: View) -> View | None:
        self.ask((), view.text)
        return None


@wrong("cut.pending", "https://github.com/google/adk-python/issues/4740")
class PendingCallsCovered(Plain):
    """Covers a call whose approval is still to come."""

    def waiting(self) -> list[str]:
        return []


@wrong("cut.pending", "https://github.com/google/adk-python/issues/6179")
class InterimResultEndsTheWait(Plain):
    """Takes a pending call for done at its first, interim result."""

    def waiting(self) -> list[str]:
        answered = {(link.call, link.place) for link in self.links()}
        return [call.message for call in self.pending if (self.position(call.message), call.place) not in answered]


@wrong("cut.pending")
class OnlyTheLatestPending(Plain):
    """Stays before a pending call only if its message is among the last four."""

    def waiting(self) -> list[str]:
        return [stored_id for stored_id in super().waiting() if self.position(stored_id) >= len(self.history) - 4]


@wrong("cut.pending")
class PendingById(Plain):
    """Looks for a pending call by its id alone, and finds the first that ever had it."""

    def waiting(self) -> list[str]:
        ids = [self.history[self.position(call.message)].calls[call.place].id for call in self.pending]
        called = [(message.id, call.id) for message in self.history for call in message.calls]
        return [next(stored for stored, call_id in called if call_id == wanted) or "" for wanted in ids]


@wrong("cut.pairs")
class FirstAnswerOfAMessagePairs(Plain):
    """Of a message that answers several calls sees the first answer."""

    def links(self) -> list[Link]:
        found: dict[int, Link] = {}
        for link in super().links():
            found.setdefault(link.result, link)
        return list(found.values())


@wrong("cut.pairs")
class EarlierResultsCleared(Plain):
    """Leaves the results before the kept messages out of a request, and sends the calls without them."""

    def request(self, system: str | None, view: View) -> list[Message]:
        kept = {message.id for message in self.history[-self.configuration.keep_recent :]}
        request = super().request(system, view)
        return [message for message in request if message.role != "tool" or message.id in kept]


@wrong("cut.pending")
class OnePendingCallSeen(Plain):
    """Sees the latest of several pending calls only."""

    def waiting(self) -> list[str]:
        return super().waiting()[-1:]

"""Right summarizers in several styles: one for each freedom that the chapters leave open."""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import count

from attrs import evolve

from tercet_conformance.adapters.reference import BY_PLACE, Reference
from tercet_conformance.adapters.reference_by_loop import ReferenceByLoop
from tercet_conformance.gallery.entry import ENTERED, Entry, right
from tercet_conformance.gallery.plain import CAPABILITIES, Link, Plain, Saved, View
from tercet_conformance.interface import CompressorFailed, Host, ModelFailed, StepEnd
from tercet_spec.vocabulary import WHITE_SPACE, Character, Configuration, Message, Note, PendingCall, Summary


@right
class Lazy(Plain):
    """Works all of it out anew at each step, from the history and the key."""


@right
class Eager(Plain):
    """Pairs results with calls and counts tokens when a message is stored, and decides by what it wrote down."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.open: dict[str | None, list[tuple[int, int]]] = {}
        self.latest_of: dict[str | None, tuple[int, int]] = {}
        self.pairs: list[Link] = []
        self.counted: dict[Message, int] = {}
        super().__init__(configuration, host)

    def configure(self, configuration: Configuration) -> None:
        super().configure(configuration)
        self.counted.clear()
        for message in self.history:
            self.tokens(message)

    def store(self, message: Message) -> str:
        stored_id = super().store(message)
        self.pair(len(self.history) - 1, message)
        self.tokens(self.history[-1])
        return stored_id

    def pair(self, position: int, message: Message) -> None:
        """Pair the results of a message, and remember its calls."""
        for answered in message.answers:
            unanswered = self.open.get(answered)
            call = unanswered.pop() if unanswered else self.latest_of.get(answered)
            if call is not None:
                self.pairs.append(Link(position, *call))
        for place, made in enumerate(message.calls):
            self.open.setdefault(made.id, []).append((position, place))
            self.latest_of[made.id] = (position, place)

    def put_back(self, saved: Saved) -> None:
        super().put_back(saved)
        self.write_down()

    def edit(self, history: Sequence[Message]) -> None:
        super().edit(history)
        self.write_down()

    def write_down(self) -> None:
        """Pair the history anew: something of it is gone."""
        self.open, self.latest_of, self.pairs = {}, {}, []
        for position, message in enumerate(self.history):
            self.pair(position, message)

    def links(self) -> list[Link]:
        return self.pairs

    def tokens(self, message: Message) -> int:
        if message not in self.counted:
            self.counted[message] = super().tokens(message)
        return self.counted[message]


@right
class InUtf16Units(Plain):
    """Counts characters as UTF-16 units."""

    character = "UTF-16 unit"


@right
class InUtf8Bytes(Plain):
    """Counts characters as UTF-8 bytes."""

    character = "UTF-8 byte"


@right
class SendsAsMeasured(Plain):
    """Sends the request as measured where the compressor failed, and says that it does."""

    failed_compressor = "sends"

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        return None


@right
class WithoutOuterSpace(Plain):
    """Leaves out the white space around a text before it cuts it to the bound."""

    def bounded(self, text: str) -> str:
        return super().bounded(text.strip(WHITE_SPACE))


@right
class WithoutSpaceBefore(Plain):
    """Leaves out the white space before a text, and keeps what stands behind it."""

    def bounded(self, text: str) -> str:
        return super().bounded(text.lstrip(WHITE_SPACE))


@right
class SummaryAtTheHead(Plain):
    """Hands the compressor its own summary message at the head of the messages, and no text beside them."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        return self.call_compressor([*self.summaries(View(so_far, 0)), *span])


@right
class OwnPrompt(Plain):
    """Puts a prompt of its own after the messages that it gives the compressor."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        return self.call_compressor([*span, Message("user", "Summarise the conversation above.")], so_far)


@right
class OwnIds(Plain):
    """Stores messages under ids that say nothing of their order."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.numbers = count(1)
        super().__init__(configuration, host)

    def new_id(self, position: int) -> str:
        return f"{next(self.numbers) * 0x9E3779B1 % 2**32:08x}"


@right
class InParts(Plain):
    """Gives the compressor a long span in parts, each with the text of the part before, and says that it does."""

    parts = True
    most = 3

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        text = so_far
        for first in range(0, len(span), self.most):
            text = self.bounded(super().ask(span[first : first + self.most], text))
            if self.is_blank(text):
                raise CompressorFailed("the compressor's text is blank")
        return text or ""


@right
class InPartsAsReturned(InParts):
    """Goes on from the text of the part before as the compressor returned it, and cuts the last to the bound."""

    most = 4

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        text = so_far
        for first in range(0, len(span), self.most):
            text = self.call_compressor(span[first : first + self.most], text)
            if self.is_blank(self.bounded(text)):
                raise CompressorFailed("the compressor's text is blank")
        return text or ""


@right
class WholeAfterAFailedPart(InParts):
    """Gives the compressor a span in parts and, where one of them fails, all of it at once."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        try:
            return super().ask(span, so_far)
        except CompressorFailed:
            return self.call_compressor(span, so_far)


@right
class PartsAfterAFailure(InParts):
    """Gives the compressor a whole span and, where that fails, the same in parts."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        try:
            return self.call_compressor(span, so_far)
        except CompressorFailed:
            return super().ask(span, so_far)


@right
class ShowsNoSummary(Plain):
    """Keeps its summary where nobody can look at it."""

    capabilities = CAPABILITIES - {"summary-shown"}


@right
class AsProse(Plain):
    """Writes the messages and the summary so far out as one text for the compressor."""

    capabilities = CAPABILITIES - {"exact-input"}

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        lines = ["Summarise this conversation."]
        if so_far is not None:
            lines += ["It was summarised before:", so_far, "It goes on:"]
        for message in span:
            lines.append(f"{message.role}: {message.content}")
            lines += [f"called {call.name} with {call.arguments}" for call in message.calls]
        return self.call_compressor([Message("user", "\n".join(lines))])


@right
class Retries(Plain):
    """Asks the compressor once more, for the same messages, where it failed or returned a blank text."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        try:
            text = super().ask(span, so_far)
        except CompressorFailed:
            return super().ask(span, so_far)
        return text if not self.is_blank(self.bounded(text)) else super().ask(span, so_far)


@right
class RetriesAndSends(Retries):
    """Asks the compressor once more where it failed, and sends the request as measured where that fails too."""

    failed_compressor = "sends"

    def failed(self, view: View, cut: int, error: CompressorFailed) -> View | None:
        return None


@right
class BareText(Plain):
    """Puts nothing around the summary's text: the message is known by its place alone."""

    before = ""


@right
class FramedOnBothSides(Plain):
    """Puts words before and after the summary's text."""

    before = "<summary>\n"
    after = "\n</summary>"


@right
class DeclaresLittle(Plain):
    """Triggers by messages, and has nothing that it need not have: no bound, no warning, no change of configuration."""

    capabilities = frozenset({"message-trigger"})

    def bounded(self, text: str) -> str:
        return text

    def problems(self, configuration: Configuration) -> list[str]:
        return []

    def warnings(self) -> list[str]:
        return []


@right
class TokensOnly(Plain):
    """Triggers by tokens only."""

    capabilities = CAPABILITIES - {"message-trigger"}


@right
class MessagesOnly(Plain):
    """Triggers by messages only, and refuses whatever else may be refused."""

    capabilities = CAPABILITIES - {"token-trigger", "missing-ids", "configure"}


@right
class SetsAside(Plain):
    """Does not apply a summary while a late result answers a call that it covers, and says so."""

    sets_aside = True

    def applies(self) -> View:
        view = super().applies()
        late = view.text is not None and self.late(view.start, len(self.history))
        return View(None, self.opening()) if late else view


@right
class TriesAgain(Plain):
    """Decides again where the model failed, and asks the compressor again for the same messages."""

    capabilities = CAPABILITIES | {"attempts"}
    tries = 3

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        for left in range(self.tries - 1, -1, -1):
            try:
                return super().step(system, notes, pending)
            except ModelFailed:
                if not left:
                    raise
        raise AssertionError("it tries at least once")


@right
class SendsAgain(Plain):
    """Sends the same request again where the model failed, without deciding again."""

    capabilities = CAPABILITIES | {"attempts"}

    def call_model(self, request: Sequence[Message]) -> Message:
        try:
            return super().call_model(request)
        except ModelFailed:
            return super().call_model(request)


@right
class TakesTheFirst(Plain):
    """Asks the model twice, deciding each time, and returns the first response that it got."""

    capabilities = CAPABILITIES | {"attempts"}

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        self.notes, self.pending = notes, pending
        view = self.applies()
        taken: tuple[int, View | None, Message] | None = None
        for attempt in range(2):
            new = self.decide(system, view)
            try:
                answer = self.call_model(self.send(system, view, new))
            except ModelFailed:
                if attempt and taken is None:
                    raise
                continue
            taken = taken or (attempt, new, answer)
        assert taken is not None
        return evolve(self.commit(taken[1], taken[2]), attempt=taken[0])


@right
class ClearsTheKey(Plain):
    """Clears the key whenever a thread goes back or is edited, and summarises anew; a block restores it."""

    def restore(self, checkpoint: str) -> None:
        super().restore(checkpoint)
        self.summary = None

    def edit(self, history: Sequence[Message]) -> None:
        super().edit(history)
        self.summary = None


@right
class NeverConfiguredAnew(Plain):
    """Keeps the configuration that it was opened with, so that no bound is lowered under a summary."""

    capabilities = CAPABILITIES - {"configure"}


@right
class KeepsEarlierKeys(Plain):
    """Goes back to the latest earlier key whose messages are all there where covered ones are removed or edited."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.earlier: list[tuple[Summary, list[Message]]] = []
        super().__init__(configuration, host)

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        if new is not None:
            self.earlier.append((self.key(new), self.history[self.opening() : new.start]))
        return super().commit(new, answer)

    def edit(self, history: Sequence[Message]) -> None:
        super().edit(history)
        if self.summary is None:
            fitting = [key for key, covered in self.earlier if all(message in history for message in covered)]
            self.summary = fitting[-1] if fitting else None


@right
class IdsOnce(Plain):
    """Gives no stored id twice, whatever became of the message that had it."""

    def __init__(self, configuration: Configuration, host: Host) -> None:
        self.given = 0
        super().__init__(configuration, host)

    def new_id(self, position: int) -> str:
        self.given += 1
        return f"once{self.given}"


@right
class EditedUnawares(IdsOnce):
    """Is not told of what happens to its history: where its last covered message is gone, it starts anew.

    It gives no id twice: under one that comes again its summary would stand for another message.
    """

    capabilities = CAPABILITIES - {"restores-key"}

    def edit(self, history: Sequence[Message]) -> None:
        self.history = list(history)


UNITS: dict[str, Character] = {
    "code-points": "code point",
    "utf16-units": "UTF-16 unit",
    "utf8-bytes": "UTF-8 byte",
}
for name, unit in UNITS.items():
    says = f"The reference itself, which counts in {name.replace('-', ' ')}."
    ENTERED.append(Entry(f"reference-in-{name}", "right", None, "", says, partial(Reference, unit)))
ENTERED.append(
    Entry(
        "reference-by-place",
        "right",
        None,
        "",
        "The reference itself, on messages without ids: a message's place names it.",
        partial(Reference, dialect=BY_PLACE),
    )
)
ENTERED.append(
    Entry(
        "reference-by-loop",
        "right",
        None,
        "",
        "The reference's summarization as its loop runs it: a middleware like any other.",
        ReferenceByLoop,
    )
)

"""Wrong about how long a summary may be."""

from collections.abc import Sequence
from unicodedata import combining

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import Plain, View
from tercet_conformance.interface import StepEnd
from tercet_spec.vocabulary import Message, Summary


@wrong("bound.stored", "https://github.com/Boise-State-Development/agentcore-public-stack/pull/1128")
class NoBound(Plain):
    """Keeps and sends whatever the compressor returned, however long it is."""

    def bounded(self, text: str) -> str:
        return text


@wrong("bound.stored")
class StoredWhole(Plain):
    """Cuts the text that it sends, and stores the whole."""

    whole = ""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        self.whole = super().ask(span, so_far)
        return self.whole

    def key(self, new: View) -> Summary:
        return Summary(self.whole, super().key(new).through)


@wrong("bound.sent")
class BoundedWhenStoredOnly(Plain):
    """Cuts a text when it is stored, and not again when the bound was lowered under it."""

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        stored = self.summary.text if self.summary and view.text is not None else view.text
        return self.request(system, new or View(stored, view.start))


@wrong("bound.sent")
class StoredTextTrimmedAgain(Plain):
    """Writes the text that a lowered bound leaves back into the key."""

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        view = self.applies()
        if new is None and self.summary is not None and view.text is not None:
            self.summary = Summary(view.text, self.summary.through)
        return super().commit(new, answer)


@wrong("bound.longest")
class CutsAtTheLastWord(Plain):
    """Cuts a long text one token short, to end it at a good place."""

    def bounded(self, text: str) -> str:
        kept = super().bounded(text)
        return kept if kept == text else kept[:-4]


@wrong("bound.longest")
class EllipsisAtTheEnd(Plain):
    """Ends a text that it cut with three points, which take the place of its last characters."""

    def bounded(self, text: str) -> str:
        kept = super().bounded(text)
        return kept if kept == text or kept.endswith("...") else kept[:-3] + "..."


@wrong("bound.longest", "https://github.com/adolfousier/opencrabs/issues/1649")
class SummariesStrungTogether(Plain):
    """Puts the text before after the new one, so that each summary holds all earlier ones."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        new = super().fire(system, view, cut)
        return View(self.bounded(f"{new.text} {view.text}"), cut) if view.text else new


@wrong("bound.whole-characters", "https://github.com/vercel/eve/issues/3062")
class CutInsideASurrogatePair(Plain):
    """Counts UTF-16 units, and cuts between the two of one character."""

    character = "UTF-16 unit"

    def bounded(self, text: str) -> str:
        units = text.encode("utf-16-le", "surrogatepass")[: 8 * self.configuration.max_summary_tokens]
        return units.decode("utf-16-le", "surrogatepass")


@wrong("bound.whole-characters")
class CutInsideACharacterInBytes(Plain):
    """Counts UTF-8 bytes, and replaces what is left of a character that it cut through."""

    character = "UTF-8 byte"

    def bounded(self, text: str) -> str:
        kept = text.encode("utf-8", "surrogatepass")[: 4 * self.configuration.max_summary_tokens]
        return kept.decode("utf-8", "replace")


@wrong("bound.own-measure")
class BoundedByTheStricterMeasure(Plain):
    """Cuts by the tokenCounter where that leaves less than four characters a token."""

    def bounded(self, text: str) -> str:
        return super().bounded(self.counted(text))

    def counted(self, text: str) -> str:
        """Cut a text to the bound as the tokenCounter measures it."""
        counter = self.configuration.token_counter
        room = (self.configuration.max_summary_tokens - counter.base) * counter.divisor
        return text[: max(room, 0)]


@wrong("bound.own-measure")
class BoundedByTheCounter(BoundedByTheStricterMeasure):
    """Measures the bound with the tokenCounter."""

    def bounded(self, text: str) -> str:
        return self.counted(text)


@wrong("bound.longest")
class CutAtAWord(Plain):
    """Cuts a text at the last space before the bound."""

    def bounded(self, text: str) -> str:
        cut = super().bounded(text)
        return cut if cut == text or " " not in cut.strip() else cut.rstrip().rpartition(" ")[0]


@wrong("bound.longest")
class CutTwice(Plain):
    """Cuts a stored text one token short when the bound was lowered."""

    def applies(self) -> View:
        view = super().applies()
        is_whole = self.summary is None or view.text is None or view.text == self.summary.text
        return view if is_whole or view.text is None else View(view.text[:-4], view.start)


@wrong("bound.longest")
class FirstParagraphKept(Plain):
    """Keeps the first paragraph of a text."""

    def bounded(self, text: str) -> str:
        return super().bounded(text.partition("\n\n")[0])


@wrong("bound.longest")
class CutBetweenLetters(Plain):
    """Cuts no letter from its accent."""

    def bounded(self, text: str) -> str:
        cut = super().bounded(text)
        return cut[:-1] if combining(text[len(cut) :][:1] or "x") else cut


@wrong("bound.longest")
class NoMoreThanTwoThousandCharacters(Plain):
    """Keeps two thousand characters of a text at most, whatever the bound."""

    def bounded(self, text: str) -> str:
        return super().bounded(text)[:2000]

"""Wrong about what is stored, and when."""

from attrs import evolve

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import Plain, View
from tercet_conformance.interface import StepEnd
from tercet_spec.vocabulary import Message, State, Summary


@wrong("key.history-untouched", "https://github.com/NousResearch/hermes-agent/issues/86366")
class CoveredMessagesMarked(Plain):
    """Marks the messages that it covered in the stored history."""

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        end = super().commit(new, answer)
        if new is not None:
            for position in range(self.opening(), new.start):
                message = self.history[position]
                self.history[position] = evolve(message, content=message.content + " (summarised)")
        return end


@wrong("key.history-untouched", "https://github.com/langchain-ai/langgraph/issues/6302")
class CoveredMessagesDeleted(Plain):
    """Deletes the messages that it covered from the stored history, all but the last."""

    made = 0

    def new_id(self, position: int) -> str:
        self.made += 1
        return f"p{self.made}"

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        end = super().commit(new, answer)
        if new is not None:
            del self.history[self.opening() : new.start - 1]
        return end


@wrong("key.history-untouched")
class SummaryStoredAsAMessage(Plain):
    """Puts each summary into the stored history, before the first message kept, and reads over it later."""

    def state(self) -> State:
        shown = super().state()
        anchor = self.position(self.summary.through) if self.summary else -1
        if anchor < 0 or self.summary is None:
            return shown
        message = Message("user", self.before + self.summary.text + self.after, id="summary")
        return evolve(shown, history=(*shown.history[: anchor + 1], message, *shown.history[anchor + 1 :]))


@wrong("key.through")
class NamesTheFirstKept(Plain):
    """Names the first message kept as the last that is covered."""

    def key(self, new: View) -> Summary:
        return Summary(new.text or "", self.stored_id(new.start))


@wrong("key.through", "https://github.com/langchain-ai/deepagents/pull/3591")
class NamesAnIdThatPasses(Plain):
    """Names the last covered message by an id that it had for this request only."""

    def key(self, new: View) -> Summary:
        return Summary(new.text or "", f"request-{super().key(new).through}")


@wrong("key.through", "https://github.com/vellum-ai/vellum-assistant/pull/36154")
class OlderTextNewerMark(Plain):
    """Stores the text of the summary before with the mark of the new one."""

    def key(self, new: View) -> Summary:
        text = self.summary.text if self.summary else new.text or ""
        return Summary(text, super().key(new).through)


@wrong("key.through")
class AnotherTextStored(Plain):
    """Stores the text with a space after it, and sends it without."""

    def key(self, new: View) -> Summary:
        return Summary(self.bounded(f"{new.text} "), super().key(new).through)


@wrong("key.commits-with-step", "https://github.com/danny-avila/LibreChat/pull/15913")
class StoredBeforeTheModelAnswers(Plain):
    """Stores a new summary when the compressor has written it, whatever comes of the step."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        new = super().fire(system, view, cut)
        self.summary = self.key(new)
        return new


@wrong("key.commits-with-step", "https://github.com/adolfousier/opencrabs/issues/1291")
class NeverStored(Plain):
    """Writes a summary into the request that fired, and stores none."""

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        return super().commit(None, answer)


@wrong("key.forward")
class SecondSummaryClearsTheKey(Plain):
    """Clears the key where a summary is written over another."""

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        stored = self.summary
        end = super().commit(new, answer)
        if new is not None and stored is not None:
            self.summary = None
        return end


@wrong("key.forward")
class MarkGoesBack(Plain):
    """Leaves the mark where the first summary had it, one message earlier each time."""

    def key(self, new: View) -> Summary:
        anchor = self.position(self.summary.through) if self.summary else 0
        if self.summary is None or anchor <= self.opening():
            return super().key(new)
        return Summary(new.text or "", self.stored_id(anchor - 1))

"""Wrong about what is stored, and when."""

from collections.abc import Collection, Sequence

from attrs import evolve

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import CAPABILITIES, Plain, Saved, View
from tercet_conformance.interface import Cancelled, ModelFailed, StepEnd
from tercet_spec.vocabulary import Configuration, Message, Note, PendingCall, State, Summary


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


@wrong("key.history-untouched", "https://github.com/NousResearch/hermes-agent/issues/86366")
class KeptMessagesStoredAgain(Plain):
    """Stores the kept messages a second time, after the summary that was written before them."""

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        for message in self.history[new.start :] if new is not None else ():
            self.store(message)
        return super().commit(new, answer)


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


@wrong("key.through")
class NamesTheLastButOne(Plain):
    """Names the message before the last that is covered."""

    def key(self, new: View) -> Summary:
        return Summary(new.text or "", self.stored_id(max(new.start - 2, 0)))


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
class HalfATextKept(Plain):
    """Keeps what had come of a summary when the step was cancelled."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        try:
            return super().fire(system, view, cut)
        except Cancelled:
            self.summary = Summary("The user asked", self.stored_id(cut - 1))
            raise


@wrong("key.commits-with-step")
class StoredBeforeTheModelAnswers(Plain):
    """Stores a new summary when the compressor has written it, whatever comes of the step."""

    def fire(self, system: str | None, view: View, cut: int) -> View:
        new = super().fire(system, view, cut)
        self.summary = self.key(new)
        return new


@wrong("key.commits-with-step")
class StoredThoughTheModelFails(Plain):
    """Stores a new summary where the model fails, lest it is lost."""

    new: View | None = None

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        self.new = new
        return super().send(system, view, new)

    def call_model(self, request: Sequence[Message]) -> Message:
        try:
            return super().call_model(request)
        except ModelFailed:
            self.summary = self.key(self.new) if self.new else self.summary
            raise


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


class TriesAgain(Plain):
    """Decides again where the model failed, and remembers what it wrote each time."""

    capabilities = CAPABILITIES | {"attempts"}

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        self.written: list[View] = []
        try:
            return super().step(system, notes, pending)
        except ModelFailed:
            return super().step(system, notes, pending)

    def fire(self, system: str | None, view: View, cut: int) -> View:
        new = super().fire(system, view, cut)
        self.written.append(new)
        return new


@wrong("key.of-the-response")
class FirstSummaryKept(TriesAgain):
    """Commits what the first try wrote, though another was answered."""

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        return super().commit(self.written[0] if new is not None else None, answer)


@wrong("key.of-the-response")
class LastSummaryKept(TriesAgain):
    """Asks the model twice, returns the first response, and commits what was written last."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        self.written, self.notes, self.pending = [], notes, pending
        view = self.applies()
        answers = []
        for _ in range(2):
            new = self.decide(system, view)
            answers.append(self.call_model(self.send(system, view, new)))
        return evolve(self.commit(new, answers[0]), attempt=0)


@wrong("key.of-the-response")
class CommitsWhatWasNotSent(TriesAgain):
    """Sends the request as measured where it tries again, and commits the summary of the first try."""

    def decide(self, system: str | None, view: View) -> View | None:
        return None if self.written else super().decide(system, view)

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        return super().commit(self.written[0] if self.written else None, answer)


@wrong("key.of-the-response")
class RemembersWhatWasNotCommitted(Plain):
    """Keeps what it wrote at hand, and sends it in the next request though the step failed or the turn was blocked."""

    remembered: View | None = None

    def fire(self, system: str | None, view: View, cut: int) -> View:
        self.remembered = super().fire(system, view, cut)
        return self.remembered

    def applies(self) -> View:
        view = super().applies()
        known = self.remembered
        return view if view.text is not None or known is None or known.start >= len(self.history) else known


@wrong("key.commits-with-step")
class RemembersUnseen(RemembersWhatWasNotCommitted):
    """Keeps what it wrote at hand likewise, in a place that nobody is shown."""

    capabilities = CAPABILITIES - {"summary-shown"}


@wrong("key.of-the-response")
class FailedTextKeptForMore(Plain):
    """Sends the text of a step that failed in the place of a later firing that has more to cover."""

    unused: View | None = None

    def fire(self, system: str | None, view: View, cut: int) -> View:
        unused = self.unused
        if unused is not None and view.start < unused.start < cut:
            return unused
        self.unused = super().fire(system, view, cut)
        return self.unused

    def commit(self, new: View | None, answer: Message) -> StepEnd:
        self.unused = None
        return super().commit(new, answer)


@wrong("compress.so-far")
class SoFarOfTheFailedTry(TriesAgain):
    """Gives the compressor the text of the try that failed as the summary so far, as if it were stored."""

    def so_far(self, view: View) -> str | None:
        return self.written[-1].text if self.written else super().so_far(view)


@wrong("key.commits-with-step")
class UncommittedApplies(TriesAgain):
    """Applies the summary of the try that failed as if it were stored, and stores it never."""

    def applies(self) -> View:
        return self.written[-1] if self.written else super().applies()


@wrong("key.block")
class BlockKeepsTheKey(Plain):
    """Removes a blocked turn's messages, and keeps the summary that was written in it."""

    def block(self, began: Saved) -> None:
        self.history = list(began.history)


@wrong("key.block")
class BlockClearsTheKey(Plain):
    """Clears the key where a turn is blocked, whatever it was before."""

    def block(self, began: Saved) -> None:
        self.history, self.summary = list(began.history), None


@wrong("key.block", "https://github.com/vellum-ai/vellum-assistant/pull/36154")
class BlockRestoresTheTextAlone(Plain):
    """Restores the text where a turn is blocked, and leaves the mark where it is."""

    def block(self, began: Saved) -> None:
        through = self.summary.through if self.summary else ""
        super().block(began)
        if self.summary is not None:
            self.summary = Summary(self.summary.text, through)


@wrong("key.block")
class BlockKeepsTheMessages(Plain):
    """Restores the key where a turn is blocked, and keeps the turn's messages."""

    def block(self, began: Saved) -> None:
        self.summary = began.summary


@wrong("key.restore", "https://github.com/strands-agents/harness-sdk/issues/4027")
class RestoreKeepsTheKey(Plain):
    """Restores a checkpoint's history, and leaves the key as it is."""

    def restore(self, checkpoint: str) -> None:
        summary = self.summary
        super().restore(checkpoint)
        self.summary = summary


@wrong("key.restore", "https://github.com/vellum-ai/vellum-assistant/pull/36154")
class RestoreKeepsTheMark(Plain):
    """Restores a checkpoint's history and text, and leaves the mark where it is."""

    def restore(self, checkpoint: str) -> None:
        through = self.summary.through if self.summary else ""
        super().restore(checkpoint)
        if self.summary is not None:
            self.summary = Summary(self.summary.text, through)


@wrong("key.restore", "https://github.com/NousResearch/hermes-agent/pull/81258")
class EditKeepsTheKey(Plain):
    """Leaves the key as it is where covered messages are removed or rewritten."""

    def touches_covered(self, history: Sequence[Message], summary: Summary) -> bool:
        return False


@wrong("key.restore")
class RewritingUnnoticed(Plain):
    """Looks for covered messages by their ids: one that was rewritten is there still."""

    def touches_covered(self, history: Sequence[Message], summary: Summary) -> bool:
        covered = self.history[self.opening() : self.position(summary.through) + 1]
        ids = {message.id for message in history}
        return any(message.id not in ids for message in covered)


@wrong("key.restore", "https://github.com/anomalyco/opencode/issues/30806")
class OnlyTheAnchorMatters(Plain):
    """Clears the key only where the last covered message is gone."""

    def touches_covered(self, history: Sequence[Message], summary: Summary) -> bool:
        return self.history[self.position(summary.through)] not in history


@wrong("key.forward")
class ClearedAtTheTurnsEnd(Plain):
    """Forgets the summary when a turn is over, as if the next began afresh."""

    def end_turn(self, blocked: bool) -> None:
        super().end_turn(blocked)
        if not blocked:
            self.summary = None


@wrong("key.forward")
class ClearedByACheckpoint(Plain):
    """Puts the summary by with the thread, and no longer has it itself."""

    def checkpoint(self) -> str:
        named = super().checkpoint()
        self.summary = None
        return named


@wrong("key.restore")
class LatestCheckpointRestored(Plain):
    """Restores the latest checkpoint, whichever is asked for."""

    def restore(self, checkpoint: str) -> None:
        history = self.checkpoints[int(checkpoint[1:])].history
        self.put_back(Saved(history, self.checkpoints[-1].summary))


@wrong("key.block")
class FailedStepMovesTheTurnsBeginning(Plain):
    """Lets what was there when a step of a turn failed outlive the turn's block."""

    def step(self, system: str | None, notes: Sequence[Note], pending: Collection[PendingCall]) -> StepEnd:
        try:
            return super().step(system, notes, pending)
        except BaseException:
            self.began = self.saved()
            raise


@wrong("key.commits-with-step")
class WrittenWithTheNextMessage(Plain):
    """Writes the summary of a step that failed into the key when the next message is stored."""

    due: Summary | None = None

    def send(self, system: str | None, view: View, new: View | None) -> Sequence[Message]:
        self.due = self.key(new) if new else None
        return super().send(system, view, new)

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        self.summary, self.due = self.due or self.summary, None
        return super().append(messages)

    def put_back(self, saved: Saved) -> None:
        super().put_back(saved)
        self.due = None

    def edit(self, history: Sequence[Message]) -> None:
        super().edit(history)
        self.due = None


@wrong("key.forward")
class ClearedWhenMessagesAreStored(Plain):
    """Forgets the summary when something is said, as a cache that is no longer true."""

    def append(self, messages: Sequence[Message]) -> Sequence[str]:
        self.summary = None
        return super().append(messages)


@wrong("key.forward")
class ClearedByAChange(Plain):
    """Forgets the summary when the configuration changes."""

    def configure(self, configuration: Configuration) -> None:
        super().configure(configuration)
        self.summary = None


@wrong("key.commits-with-step")
class CutInTheKey(Plain):
    """Cuts the stored text when the bound is lowered, so that it is lost when the bound is raised again."""

    def configure(self, configuration: Configuration) -> None:
        super().configure(configuration)
        if self.summary is not None:
            self.summary = Summary(self.bounded(self.summary.text), self.summary.through)

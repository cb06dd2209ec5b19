"""Loops that run hooks wrongly."""

from collections.abc import Iterable, Sequence

from attrs import evolve

from tercet_conformance.gallery.entry import wrong_loop
from tercet_conformance.gallery.plain import Plain, Saved, View
from tercet_conformance.gallery.plain_loop import Blocked, Failed, PlainLoop, Waits
from tercet_conformance.interface import RunEnd
from tercet_spec.agents import DENIED, SEPARATOR, Middleware, Passed, Request, Response, Result
from tercet_spec.vocabulary import Entry, Message, ToolCall, Update

# hooks.nesting


@wrong_loop("hooks.nesting")
class LastOutermost(PlainLoop):
    """Lets the last model wrapper stand outermost."""

    def wrappers(self) -> Sequence[Middleware]:
        return super().wrappers()[::-1]


@wrong_loop("hooks.nesting")
class LeavesInOrder(PlainLoop):
    """Lets the first middleware see the output first."""

    def leaving(self) -> Iterable[Middleware]:
        return self.having("after_agent")


@wrong_loop("hooks.nesting")
class OneWrapper(PlainLoop):
    """Lets only the outermost of the model wrappers wrap."""

    def wrappers(self) -> Sequence[Middleware]:
        wrapping = super().wrappers()
        first = next((each for each in wrapping if not each.summarizes), None)
        return [each for each in wrapping if each.summarizes or each is first]


@wrong_loop("hooks.nesting")
class EntersInReverse(PlainLoop):
    """Lets the last middleware see the input first."""

    def entering(self) -> Iterable[Middleware]:
        return reversed(self.having("before_agent"))


@wrong_loop("hooks.nesting")
class ToolsInsideOut(PlainLoop):
    """Lets the last tool wrapper stand outermost."""

    def wrapped_tool(self, stack: Sequence[Middleware], call: ToolCall, *, approved: bool) -> Result:
        is_whole = len(stack) == len(self.having("wrap_tool"))
        return super().wrapped_tool(stack[::-1] if is_whole else stack, call, approved=approved)


# hooks.model-rewrite


@wrong_loop("hooks.model-rewrite")
class IgnoresTheRewrite(PlainLoop):
    """Sends the request as it was, whatever a wrapper made of it."""

    def wrapped(self, stack: Sequence[Middleware], request: Request) -> Waits[Response]:
        return (yield from super().wrapped(stack, evolve(request, messages=tuple(self.thread.history))))


@wrong_loop("hooks.model-rewrite")
class OffersAllTools(PlainLoop):
    """Offers every tool, whatever a wrapper filtered."""

    def ask_model(self, request: Request) -> Response:
        return super().ask_model(evolve(request, tools=tuple(tool.name for tool in self.agent.tools)))


@wrong_loop("hooks.model-rewrite")
class StoresTheNote(PlainLoop):
    """Stores what a wrapper added for one request."""

    def ask_model(self, request: Request) -> Response:
        new = [message for message in request.messages if message.id is None]
        response = super().ask_model(request)
        for message in new:
            self.thread.store(message)
        return response


@wrong_loop("hooks.model-rewrite")
class CommitsWhatTheModelSaid(PlainLoop):
    """Commits the model's latest answer, whatever a wrapper made of it."""

    said: Message | None = None

    def ask_model(self, request: Request) -> Response:
        response = super().ask_model(request)
        self.said = response.message or self.said
        return response

    def commit(self, message: Message, update: Update) -> None:
        super().commit(message if self.said is None else self.said, update)


@wrong_loop("hooks.model-rewrite")
class AsksOnce(PlainLoop):
    """Answers a second call of next with what the first one came to."""

    def model_step(self) -> Waits[Message]:
        self.known: Response | None = None
        return (yield from super().model_step())

    def ask_model(self, request: Request) -> Response:
        if self.known is None:
            self.known = super().ask_model(request)
        return self.known


@wrong_loop("hooks.model-rewrite")
class LosesTheUpdate(PlainLoop):
    """Leaves out what a model wrapper wrote."""

    def commit(self, message: Message, update: Update) -> None:
        super().commit(message, tuple(entry for entry in update if entry.key == "summarization"))


@wrong_loop("hooks.model-rewrite")
class WritesOfEachAttempt(PlainLoop):
    """Writes what each wrapper returned, even where another one discarded it."""

    def wrapped(self, stack: Sequence[Middleware], request: Request) -> Waits[Response]:
        response = yield from super().wrapped(stack, request)
        self.write(response.update)
        return response


# hooks.model-left


@wrong_loop("hooks.model-left")
class GoesOnAfterAnError(PlainLoop):
    """Takes an error of the outermost wrapper for an empty answer."""

    def wrapped(self, stack: Sequence[Middleware], request: Request) -> Waits[Response]:
        response = yield from super().wrapped(stack, request)
        is_whole = len(stack) == len(self.wrappers())
        return Response(Message("assistant")) if is_whole and response.message is None else response


@wrong_loop("hooks.model-left")
class KeepsWhatFailed(PlainLoop):
    """Stores the model's answer though a wrapper returned an error."""

    said: Message | None = None

    def ask_model(self, request: Request) -> Response:
        response = super().ask_model(request)
        self.said = response.message
        return response

    def model_step(self) -> Waits[Message]:
        self.said = None
        try:
            return (yield from super().model_step())
        except Failed:
            if self.said is not None:
                self.thread.store(self.said)
            raise


@wrong_loop("hooks.model-left")
class SummarizesAtOnce(PlainLoop):
    """Writes a new summary when it is made, and not with the response."""

    def summary_entry(self, new: View) -> Entry:
        self.thread.summary = self.thread.key(new)
        return super().summary_entry(new)


@wrong_loop("hooks.model-left")
class FailureUndoesTheRun(PlainLoop):
    """Takes back what earlier steps committed where a step fails."""

    def course(self, message: Message) -> Waits[RunEnd]:
        began = self.thread.saved()
        end = yield from super().course(message)
        if end.outcome == "failed":
            self.thread.put_back(began)
        return end


# hooks.model-usage


@wrong_loop("hooks.model-usage")
class CountsTheLastCall(PlainLoop):
    """Counts the last call of each model step alone."""

    def model_step(self) -> Waits[Message]:
        before = self.thread.usage
        try:
            return (yield from super().model_step())
        finally:
            if self.thread.usage != before:
                self.thread.usage = before + self.host.usage


@wrong_loop("hooks.model-usage")
class CountsAnswersOnly(PlainLoop):
    """Counts calls of the model that it answered."""

    def ask_model(self, request: Request) -> Response:
        before = self.thread.usage
        response = super().ask_model(request)
        if response.message is None:
            self.thread.usage = before
        return response


@wrong_loop("hooks.model-usage")
class FailedStepsAreFree(PlainLoop):
    """Counts nothing of a step that failed."""

    def model_step(self) -> Waits[Message]:
        before = self.thread.usage
        try:
            return (yield from super().model_step())
        except Failed:
            self.thread.usage = before
            raise


# hooks.writes


@wrong_loop("hooks.writes")
class WritesAnything(PlainLoop):
    """Lets every hook write every key."""

    def own(self, middleware: Middleware, update: Update) -> Update:
        return update


@wrong_loop("hooks.writes")
class DropsWhatIsNotItsOwn(PlainLoop):
    """Leaves out a write to another key, and goes on."""

    def own(self, middleware: Middleware, update: Update) -> Update:
        return tuple(entry for entry in update if entry.key in middleware.writes)

    def write(self, update: Update) -> None:
        super().write(tuple(entry for entry in update if entry.key in ("own", "summarization")))


@wrong_loop("hooks.writes")
class LosesTheLastWrite(PlainLoop):
    """Leaves out what is written when the output is seen."""

    def leave(self, answer: Message) -> None:
        before = dict(self.entries)
        super().leave(answer)
        self.entries = before


# hooks.input-first


@wrong_loop("hooks.input-first")
class AsksForSectionsFirst(PlainLoop):
    """Collects the prompt sections before the input is seen."""

    def enter(self, message: Message) -> None:
        self.sections()
        super().enter(message)


@wrong_loop("hooks.input-first")
class StoresTheRawInput(PlainLoop):
    """Stores the input as it came, whatever the hooks made of it."""

    def enter(self, message: Message) -> None:
        self.raw = message
        super().enter(message)

    def store_input(self, message: Message) -> None:
        super().store_input(self.raw)


@wrong_loop("hooks.input-first")
class EachSeesTheRawInput(PlainLoop):
    """Shows each hook the input as it came, and keeps what the last one made of it."""

    def passed_on(self, raw: Message, message: Message) -> Message:
        return raw


# hooks.input-update


@wrong_loop("hooks.input-update")
class UpdatesAfterTheFirstStep(PlainLoop):
    """Writes what was written with the input once the first model step is over."""

    late: Update = ()

    def enter(self, message: Message) -> None:
        before = dict(self.entries)
        super().enter(message)
        self.late = tuple(entry for entry in self.shown() if before.get(entry.key) != entry.value)
        self.entries = before

    def commit(self, message: Message, update: Update) -> None:
        self.write(self.late)
        self.late = ()
        super().commit(message, update)


@wrong_loop("hooks.input-update")
class ForgetsInputUpdates(PlainLoop):
    """Leaves out what is written when the input is seen."""

    def enter(self, message: Message) -> None:
        before = dict(self.entries)
        super().enter(message)
        self.entries = before


# hooks.input-block


@wrong_loop("hooks.input-block")
class StoresBlockedInput(PlainLoop):
    """Stores an input that was blocked."""

    def course(self, message: Message) -> Waits[RunEnd]:
        count = self.host_answers()
        end = yield from super().course(message)
        if end.outcome == "blocked" and self.host_answers() == count:
            self.thread.store(message)
        return end

    def host_answers(self) -> int:
        return self.thread.usage


@wrong_loop("hooks.input-block")
class AnswersBlockedInput(PlainLoop):
    """Lets the model have an input that was blocked."""

    def look_for_a_block(self, passed: Passed) -> None:
        pass


@wrong_loop("hooks.input-block")
class BlocksAreFailures(PlainLoop):
    """Ends the run as failed where the input is blocked."""

    def enter(self, message: Message) -> None:
        try:
            super().enter(message)
        except Blocked as error:
            raise Failed from error


# hooks.output-block


@wrong_loop("hooks.output-block")
class KeepsBlockedOutput(PlainLoop):
    """Keeps the messages of a turn whose output was blocked."""

    def put_back(self, thread: Saved, entries: dict[str, str]) -> None:
        self.entries = entries


@wrong_loop("hooks.output-block")
class KeepsWritesOfBlockedTurns(PlainLoop):
    """Keeps what was written in a turn whose output was blocked."""

    def put_back(self, thread: Saved, entries: dict[str, str]) -> None:
        self.thread.put_back(thread)


@wrong_loop("hooks.output-block")
class KeepsTheSummaryOfBlockedTurns(PlainLoop):
    """Keeps a summary that was written in a turn whose output was blocked."""

    def put_back(self, thread: Saved, entries: dict[str, str]) -> None:
        summary = self.thread.summary
        super().put_back(thread, entries)
        self.thread.summary = summary


@wrong_loop("hooks.output-block")
class LetsBlockedOutputOut(PlainLoop):
    """Finishes though the output is blocked."""

    def leave(self, answer: Message) -> None:
        try:
            super().leave(answer)
        except Blocked:
            return


# hooks.sections


@wrong_loop("hooks.sections")
class SectionsOnce(PlainLoop):
    """Collects the prompt sections for the first model step of a run, and keeps them."""

    kept: list[str] | None = None

    def course(self, message: Message) -> Waits[RunEnd]:
        self.kept = None
        return (yield from super().course(message))

    def sections(self) -> list[str]:
        if self.kept is None:
            self.kept = super().sections()
        return self.kept


@wrong_loop("hooks.sections")
class UnboundedSections(PlainLoop):
    """Lets each prompt section be as long as it is."""

    def within_its_bound(self, text: str, middleware: Middleware) -> str:
        return text


@wrong_loop("hooks.sections")
class UnboundedTogether(PlainLoop):
    """Lets all prompt sections together be as long as they are."""

    def within_bound_of_all(self, texts: Sequence[str]) -> list[str]:
        return list(texts)


@wrong_loop("hooks.sections")
class CutsTheFirstSections(PlainLoop):
    """Cuts the earlier prompt sections first."""

    def within_bound_of_all(self, texts: Sequence[str]) -> list[str]:
        return super().within_bound_of_all(texts[::-1])[::-1]


class InBytes(Plain):
    """Counts in UTF-8 bytes: a whole character may leave some over."""

    character = "UTF-8 byte"


@wrong_loop("hooks.sections")
class GivesTheRestToOthers(PlainLoop):
    """Fills what a section leaves over that was cut at a whole character with the beginning of the next one."""

    thread_class = InBytes

    def within_bound_of_all(self, texts: Sequence[str]) -> list[str]:
        room = 4 * self.agent.prompt_section_tokens
        kept = []
        for text in texts:
            kept.append(text.encode()[:room].decode(errors="ignore"))
            room -= len(kept[-1].encode())
        return kept


@wrong_loop("hooks.sections")
class CountsSeparators(PlainLoop):
    """Counts what stands between prompt sections for a part of them."""

    def within_bound_of_all(self, texts: Sequence[str]) -> list[str]:
        whole = SEPARATOR.join(text for text in texts if text)
        return [whole[: 4 * self.agent.prompt_section_tokens]]


@wrong_loop("hooks.sections")
class StoresThePrompt(PlainLoop):
    """Stores the system prompt at the head of the history."""

    def commit(self, message: Message, update: Update) -> None:
        super().commit(message, update)
        history = self.thread.history
        prompt = self.prompt_text
        if prompt and (not history or history[0].role != "system"):
            history.insert(0, Message("system", prompt, id=self.thread.new_id(len(history))))

    def prompt(self) -> str | None:
        self.prompt_text = super().prompt()
        return self.prompt_text


@wrong_loop("hooks.sections")
class SkipsFailedSections(PlainLoop):
    """Leaves out a prompt section that failed, and goes on."""

    def sections(self) -> list[str]:
        host, texts = self.host, []
        for middleware in self.having("section"):
            text = host.section(middleware.id, self.shown())
            texts.append(self.within_its_bound(text or "", middleware))
        return [text for text in self.within_bound_of_all(texts) if text]


# hooks.tool-validated


@wrong_loop("hooks.tool-validated")
class WrapsBeforeValidating(PlainLoop):
    """Lets tool wrappers have a call before its arguments are validated."""

    def is_valid(self, call: ToolCall) -> bool:
        return any(tool.name == call.name for tool in self.agent.tools)


@wrong_loop("hooks.tool-validated")
class DropsInvalidCalls(PlainLoop):
    """Stores no result for a call that is not valid."""

    def store_result(self, call: ToolCall, result: Result) -> None:
        if self.is_valid(call):
            super().store_result(call, result)


# hooks.tool-outcomes


@wrong_loop("hooks.tool-outcomes")
class RunsDeniedTools(PlainLoop):
    """Runs a tool though a wrapper denied the call."""

    def use(self, call: ToolCall, *, approved: bool) -> Result:
        result = super().use(call, approved=approved)
        if result.text.startswith(DENIED):
            self.host.run_tool(call)
        return result


@wrong_loop("hooks.tool-outcomes")
class IgnoresFatalErrors(PlainLoop):
    """Takes a fatal error of a tool wrapper for the call's result."""

    def wrapped_tool(self, stack: Sequence[Middleware], call: ToolCall, *, approved: bool) -> Result:
        result = super().wrapped_tool(stack, call, approved=approved)
        is_whole = len(stack) == len(self.having("wrap_tool"))
        return Result("error", result.text) if is_whole and result.kind == "fatal" else result


@wrong_loop("hooks.tool-outcomes")
class RunsToolsOnce(PlainLoop):
    """Answers a second call of next with what the first run of the tool came to."""

    def wrapped_tool(self, stack: Sequence[Middleware], call: ToolCall, *, approved: bool) -> Result:
        if stack:
            return super().wrapped_tool(stack, call, approved=approved)
        if (call, approved) not in self.known:
            self.known[call, approved] = super().wrapped_tool(stack, call, approved=approved)
        return self.known[call, approved]

    def tool_step(self, calls: Sequence[ToolCall]) -> Waits[None]:
        self.known: dict[tuple[ToolCall, bool], Result] = {}
        return (yield from super().tool_step(calls))


@wrong_loop("hooks.tool-outcomes")
class StoresWhatTheToolSaid(PlainLoop):
    """Stores what the tool came to, whatever a wrapper made of it."""

    said: Result | None = None

    def wrapped_tool(self, stack: Sequence[Middleware], call: ToolCall, *, approved: bool) -> Result:
        result = super().wrapped_tool(stack, call, approved=approved)
        if not stack:
            self.said = result
        return result

    def use(self, call: ToolCall, *, approved: bool) -> Result:
        self.said = None
        result = super().use(call, approved=approved)
        return result if self.said is None else evolve(result, text=self.said.text)


@wrong_loop("hooks.tool-outcomes")
class ForgetsApproval(PlainLoop):
    """Does not tell tool wrappers that a call was approved."""

    def decided(self, call: ToolCall, waiting: Result, *, is_approved: bool) -> Result:
        result = super().decided(call, waiting, is_approved=False)
        return self.wrapped_tool(self.having("wrap_tool"), call, approved=False) if is_approved else result


@wrong_loop("hooks.tool-outcomes")
class LosesToolUpdates(PlainLoop):
    """Leaves out what a tool wrapper wrote."""

    def store_result(self, call: ToolCall, result: Result) -> None:
        super().store_result(call, evolve(result, update=()))


@wrong_loop("hooks.tool-outcomes")
class CountsAsPermission(PlainLoop):
    """Runs a call that a person refused."""

    def decided(self, call: ToolCall, waiting: Result, *, is_approved: bool) -> Result:
        return super().decided(call, waiting, is_approved=True)


# hooks.tools-offered


@wrong_loop("hooks.tools-offered")
class FilterDenies(PlainLoop):
    """Runs only what the request had offered."""

    offered: tuple[str, ...] = ()

    def ask_model(self, request: Request) -> Response:
        self.offered = request.tools
        return super().ask_model(request)

    def use(self, call: ToolCall, *, approved: bool) -> Result:
        if call.name not in self.offered:
            return Result("error", f"{call.name} was not offered")
        return super().use(call, approved=approved)


# hooks.suspends


@wrong_loop("hooks.suspends")
class AnybodyAsks(PlainLoop):
    """Lets a wrapper ask that does not say that it asks."""

    def asked(self, middleware: Middleware, question: str) -> Waits[str]:
        return (yield from super().asked(evolve(middleware, asks=True), question))


@wrong_loop("hooks.suspends")
class CommitsBeforeItWaits(PlainLoop):
    """Stores the results that it has while other calls wait for approval."""

    def tool_step(self, calls: Sequence[ToolCall]) -> Waits[None]:
        results = [self.use(call, approved=False) for call in calls]
        waiting = tuple(place for place, result in enumerate(results) if result.kind == "approval")
        for place, (call, result) in enumerate(zip(calls, results, strict=True)):
            if place not in waiting:
                self.store_result(call, result)
        if waiting:
            _, approved = yield RunEnd("suspended", waiting=waiting)
            for place, is_approved in zip(waiting, approved, strict=True):
                result = self.decided(calls[place], results[place], is_approved=is_approved)
                self.store_result(calls[place], result)


@wrong_loop("hooks.suspends")
class BeginsTheStepAgain(PlainLoop):
    """Takes a model step anew once its question is answered."""

    def asked(self, middleware: Middleware, question: str) -> Waits[str]:
        reply = yield from super().asked(middleware, question)
        self.prompt()
        return reply


@wrong_loop("hooks.suspends")
class ForgetsTheReply(PlainLoop):
    """Goes on without the reply."""

    def asked(self, middleware: Middleware, question: str) -> Waits[str]:
        yield from super().asked(middleware, question)
        return ""


@wrong_loop("hooks.suspends")
class NeverWaits(PlainLoop):
    """Takes every question for one that nobody may ask."""

    def asked(self, middleware: Middleware, question: str) -> Waits[str]:
        return (yield from super().asked(evolve(middleware, asks=False), question))

"""Summarization as one middleware."""

from collections.abc import Sequence
from typing import Any, TypeVar

from attrs import evolve

from tercet.errors import SummaryRefused
from tercet.middleware import Fail, Middleware, ModelCall, ModelMove, Next
from tercet.plan import Tail, measured
from tercet.request import ModelRequest, Summarized
from tercet.thread import SUMMARY_KEY

M = TypeVar("M")


def summarize(call: ModelCall[M]) -> ModelMove[M]:
    """Send the request under the thread's summary, written anew where the request is past the trigger."""
    thread, request = call.thread, call.request
    if call.results and not call.replies:
        return call.results[-1]
    if request.messages is not thread.history:
        return Fail("the request's messages are not the thread's history: what replaces them must stand inside")
    tail, cut = measured(
        thread.summarization,
        thread.history,
        thread.summary,
        request.system,
        thread.ledger,
        request.notes,
        request.pending,
    )
    if cut is None:
        return Next(under_summary(call, tail))
    if not call.replies:
        return tail.ask(cut)
    text = call.replies[-1]
    if isinstance(text, Fail):
        return Fail(f"the compressor failed: {text.error}")
    try:
        rest, summary = tail.summarized(text, cut)
    except SummaryRefused as error:
        return Fail(str(error))
    if not call.results:
        return Next(under_summary(call, rest))
    response = call.results[-1]
    if isinstance(response, Fail):
        return response
    return evolve(response, update={**response.update, SUMMARY_KEY: summary})


def under_summary(call: ModelCall[M], tail: Tail[M]) -> ModelRequest[M]:
    """Rewrite a call's request to begin with the summary, where one applies."""
    history, request = call.thread.history, call.request
    messages: Sequence[M] = history
    if tail.text is not None:
        back = [history[position] for position in tail.back]
        first = (*history[: tail.ledger.opening], *tail.summary, *back)
        messages = Summarized(history, tail.ledger.opening, first, tail.start)
    return ModelRequest(request.system, messages, request.notes, request.tools, request.pending, tail.ledger)


SUMMARIZATION: Middleware[Any] = Middleware(
    "summarization", writes=frozenset({SUMMARY_KEY}), wrap_model=summarize, manages_context=True
)
"""Summarization by the thread's own configuration: it writes what a thread's ``commit`` does, with the step."""

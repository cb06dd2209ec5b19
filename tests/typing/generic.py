"""What a type checker knows of the reference: it is generic over the message type, from one end to the other.

This file is read by mypy and never run; every line that must be an error says which.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_type

from tercet import (
    CHAT,
    SUMMARIZATION,
    TERCET,
    TERCET_FORMS,
    Agent,
    Ask,
    CallModel,
    Dialect,
    Fail,
    Forms,
    History,
    Ledger,
    Message,
    Middleware,
    ModelCall,
    ModelResponse,
    Next,
    Run,
    Send,
    Stack,
    Summarization,
    Summary,
    Thread,
    Trigger,
    Usage,
    begin,
    decide,
    four_characters,
)


class Mine:
    """A message type of somebody's own."""

    text: str


def text_of(message: Mine) -> str:
    return message.text


def user(text: str) -> Mine:
    return Mine()


MINE = Dialect[Mine](
    id=lambda message: None,
    role=lambda message: "user",
    calls=lambda message: [],
    answers=lambda message: (),
    texts=lambda message: [message.text],
    user=user,
)
TRIGGER = Trigger("tokens", 100)

mine = Summarization(MINE, TRIGGER)
own = Summarization(TERCET, TRIGGER)
chat = Summarization(CHAT, TRIGGER)
assert_type(mine, Summarization[Mine])
assert_type(own, Summarization[Message])
assert_type(chat, Summarization[Mapping[str, Any]])
assert_type(four_characters(MINE), Callable[[Mine], int])
assert_type(mine.counter, Callable[[Mine], int] | None)

plan = decide(mine, [Mine()])
assert_type(plan, Send[Mine] | Ask[Mine])
if isinstance(plan, Ask):
    assert_type(plan.messages, tuple[Mine, ...])
    assert_type(plan.so_far, str | None)
    assert_type(plan.as_measured, Send[Mine])
    plan = plan.answer("text")
assert_type(plan.request, tuple[Mine, ...])
assert_type(plan.summary, Summary | None)
assert_type(plan.ledger, Ledger[Mine] | None)
assert_type(decide(chat, [{"role": "user", "content": "hi"}]), Send[Mapping[str, Any]] | Ask[Mapping[str, Any]])

thread = Thread(mine)
assert_type(thread, Thread[Mine])
assert_type(thread.append(Mine()).decide(Mine()), Send[Mine] | Ask[Mine])
assert_type(thread.commit(plan, Mine(), Usage(1, 10)), Thread[Mine])
assert_type(thread.fail(Usage(1)), Thread[Mine])
assert_type(thread.history, History[Mine])
assert_type(thread.history[0], Mine)
assert_type(thread.history[1:], list[Mine])
assert_type([*thread.history], list[Mine])

FORMS = Forms[Mine](system=user, result=lambda call, text, is_error: user(text), calls=lambda message: ())


def wrap(call: ModelCall[Mine]) -> Next[Mine] | ModelResponse[Mine] | Fail:
    assert_type(call.request.messages, Sequence[Mine])
    assert_type(call.results, tuple[ModelResponse[Mine] | Fail, ...])
    return call.results[-1] if call.results else Next()


middleware = Middleware("wrap", wrap_model=wrap)
assert_type(middleware, Middleware[Mine])
agent = Agent(FORMS, Stack[Mine]((middleware, SUMMARIZATION)))
assert_type(agent, Agent[Mine])
run = begin(agent, thread, Mine())
assert_type(run, Run[Mine])
assert_type(run.thread, Thread[Mine])
if isinstance(run.action, CallModel):
    assert_type(run.action.request.sent(MINE), tuple[Mine, ...])
assert_type(run.answered(Mine(), Usage(1)), Run[Mine])

begin(agent, thread, Message("user"))  # type: ignore[misc]
begin(Agent(TERCET_FORMS), thread)  # type: ignore[misc]
run.answered(Message("user"), Usage(1))  # type: ignore[arg-type]
Middleware[Mine]("wrap", wrap_model=text_of)  # type: ignore[arg-type]
Agent(TERCET_FORMS, Stack((middleware,)))  # type: ignore[misc]
decide(mine, [Message("user")])  # type: ignore[misc]
decide(mine, [Mine()], system=Message("system"))  # type: ignore[misc]
decide(mine, [Mine()], "summary")  # type: ignore[arg-type]
decide(mine, [Mine()], ledger=Ledger(TERCET))  # type: ignore[misc]
thread.append(Message("user"))  # type: ignore[arg-type]
thread.commit(Send((Message("user"),)), Mine())  # type: ignore[arg-type]
Summarization(MINE, TRIGGER, token_counter=four_characters(TERCET))  # type: ignore[arg-type]
Summarization(MINE, ("tokens", 100))  # type: ignore[arg-type]
Summarization(MINE, TRIGGER, character="byte")  # type: ignore[arg-type]
Dialect[Mine](text_of, text_of, text_of, text_of, text_of, text_of)  # type: ignore[arg-type]
plan.request = ()  # type: ignore[misc]
thread.history.append(Mine())  # type: ignore[attr-defined]

"""Which call a tool result answers, and where a thread may be cut.

The plainest definitions, written to be read. An implementation will want faster ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from tercet_spec.vocabulary import Message


@frozen(order=True)
class Call:
    """A call, named by the position of its message in the history and its place among the calls there."""

    position: int
    place: int


@frozen(order=True)
class Result:
    """A result, named by the position of its message and its place among the ids answered there."""

    position: int
    place: int


Pairs = Mapping[Result, Call | None]


def pair(history: Sequence[Message]) -> Pairs:
    """Find the call that each result of a history answers; ``None`` for an orphan.

    A result answers the nearest earlier call of its id that no result before it has answered; if
    all are answered, the nearest earlier call of its id.
    """
    pairs: dict[Result, Call | None] = {}
    answered: set[Call | None] = set()
    earlier: dict[str | None, list[Call]] = {}
    for position, message in enumerate(history):
        for place, answered_id in enumerate(message.answers):
            same_id = earlier.get(answered_id, [])
            unanswered = [call for call in same_id if call not in answered]
            nearest = next(reversed(unanswered or same_id), None)
            pairs[Result(position, place)] = nearest
            answered.add(nearest)
        for place, call in enumerate(message.calls):
            earlier.setdefault(call.id, []).append(Call(position, place))
    return pairs


def last_answers(pairs: Pairs, before: int) -> Mapping[Call, int]:
    """Find for each call the position of its last result before a position, where it has one."""
    return {call: result.position for result, call in pairs.items() if call is not None and result.position < before}


def is_legal(pairs: Pairs, start: int, cut: int) -> bool:
    """Tell whether no result at or after the cut answers a call between ``start`` and the cut.

    ``start`` is the position of the tail's first message, ``cut`` that of the first message kept.
    """
    return not any(
        call is not None and start <= call.position < cut <= result.position for result, call in pairs.items()
    )


def separated(pairs: Pairs, sent: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Find what a request holds without its partner: (position sent, position missing).

    ``sent`` are the positions of the history's messages in the request. A result needs its call's
    message; a call's message needs the last result so far of each of its calls.
    """
    present = frozenset(sent)
    last: dict[Call, int] = {}
    for result, call in pairs.items():
        if call is None:
            continue
        last[call] = result.position
        if result.position in present and call.position not in present:
            yield result.position, call.position
    for call, position in last.items():
        if call.position in present and position not in present:
            yield call.position, position

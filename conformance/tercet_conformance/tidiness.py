"""What is odd about a scenario: what a maintainer would dismiss it for."""

from tercet_spec.pairs import pair
from tercet_spec.scenarios import Append, Configure, Scenario, Step
from tercet_spec.vocabulary import Message


def messages_of(scenario: Scenario) -> list[Message]:
    """List the messages of a scenario, those that the model is scripted to answer included."""
    messages: list[Message] = []
    for operation in scenario.operations:
        if isinstance(operation, Append):
            messages += operation.messages
        elif isinstance(operation, Step):
            messages += [answer.message for answer in operation.answers if answer.message]
    return messages


def is_well_formed(scenario: Scenario) -> bool:
    """Tell whether call ids are neither empty nor repeated, and each call is answered once and later."""
    messages = messages_of(scenario)
    called = [call.id for message in messages for call in message.calls]
    answered = [answered_id for message in messages for answered_id in message.answers]
    pairs = pair(messages)
    return (
        all(called)
        and len(set(called)) == len(called)
        and sorted(map(str, called)) == sorted(map(str, answered))
        and None not in pairs.values()
    )


def is_sane(scenario: Scenario) -> bool:
    """Tell whether each limit is above keepRecent + 1."""
    changes = [operation.configuration for operation in scenario.operations if isinstance(operation, Configure)]
    return all(c.trigger.limit > c.keep_recent + 1 for c in (scenario.configuration, *changes))


def oddity(scenario: Scenario) -> int:
    """Count what a maintainer would dismiss a scenario for."""
    return (not is_well_formed(scenario)) + (not is_sane(scenario))

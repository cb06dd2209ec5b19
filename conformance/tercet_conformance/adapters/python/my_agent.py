# my_agent.py
from tercet_spec.vocabulary import Message


def compact(messages, limit, keep, summarize):
    if len(messages) <= limit:
        return messages
    return [Message("user", summarize(messages[:-keep])), *messages[-keep:]]

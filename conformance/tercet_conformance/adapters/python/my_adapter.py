# my_adapter.py
from itertools import count

from attrs import evolve
from my_agent import compact
from tercet_conformance.interface import StepEnd
from tercet_spec.vocabulary import Description, State


class Thread:
    def __init__(self, configuration, host):
        self.configuration, self.host, self.messages, self.ids = configuration, host, [], count()

    def append(self, messages):
        named = [evolve(message, id=f"m{next(self.ids)}") for message in messages]
        self.messages = self.messages + named
        return [message.id for message in named]

    def step(self, system, notes, pending):
        limit, keep = self.configuration.trigger.limit, self.configuration.keep_recent
        self.messages = compact(self.messages, limit, keep, self.host.summarize)
        return StepEnd("committed", *self.append([self.host.answer(self.messages)]))

    def state(self):
        return State(tuple(self.messages))


class Mine:
    open = Thread

    def describe(self):
        return Description("my agent", "1.0", capabilities=frozenset({"message-trigger", "exact-input"}))

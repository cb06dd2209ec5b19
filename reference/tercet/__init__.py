"""Summarise an agent's thread by the rules: one pure decision a request, on anyone's messages."""

from tercet.configuration import Summarization
from tercet.counters import four_characters
from tercet.dialects import CHAT, TERCET, Dialect
from tercet.errors import ConfigurationRefused, CounterRefused, HistoryRefused, SummaryRefused
from tercet.ledger import Ledger
from tercet.plan import Ask, Send, Unstored, decide
from tercet.thread import SUMMARY_KEY, History, Thread, Usage
from tercet_spec.vocabulary import Message, PendingCall, Summary, ToolCall, Trigger

__all__ = [
    "CHAT",
    "SUMMARY_KEY",
    "TERCET",
    "Ask",
    "ConfigurationRefused",
    "CounterRefused",
    "Dialect",
    "History",
    "HistoryRefused",
    "Ledger",
    "Message",
    "PendingCall",
    "Send",
    "Summarization",
    "Summary",
    "SummaryRefused",
    "Thread",
    "ToolCall",
    "Trigger",
    "Unstored",
    "Usage",
    "decide",
    "four_characters",
]

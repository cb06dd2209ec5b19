"""Summarise an agent's thread by the rules: one pure decision a request, on anyone's messages, and a loop around it."""

from tercet.actions import (
    Action,
    Approved,
    AskApproval,
    AskCompressor,
    AskQuestion,
    Blocked,
    CallModel,
    Cancelled,
    Denied,
    Failed,
    Finished,
    RunTool,
    Waiting,
)
from tercet.agent import Agent
from tercet.configuration import Summarization
from tercet.counters import four_characters
from tercet.dialects import CHAT, TERCET, Dialect
from tercet.errors import (
    AnswerRefused,
    ConfigurationRefused,
    CounterRefused,
    HistoryRefused,
    StoredRefused,
    SummaryRefused,
)
from tercet.forms import CHAT_FORMS, TERCET_FORMS, Forms
from tercet.ledger import Ledger
from tercet.loop import Run, begin
from tercet.middleware import (
    Block,
    Fail,
    Incoming,
    Middleware,
    ModelCall,
    ModelResponse,
    Next,
    Outgoing,
    Passed,
    Question,
)
from tercet.plan import Ask, Send, Unstored, decide
from tercet.request import ModelRequest
from tercet.stack import Stack
from tercet.storage import CHAT_CODEC, TERCET_CODEC, Codec, restored, stored
from tercet.summarizing import SUMMARIZATION
from tercet.thread import SUMMARY_KEY, History, Thread, Usage
from tercet.tools import Error, Fatal, NeedsApproval, Success, Tool, ToolUse
from tercet_spec.vocabulary import Message, PendingCall, Summary, ToolCall, Trigger

__all__ = [
    "CHAT",
    "CHAT_CODEC",
    "CHAT_FORMS",
    "SUMMARIZATION",
    "SUMMARY_KEY",
    "TERCET",
    "TERCET_CODEC",
    "TERCET_FORMS",
    "Action",
    "Agent",
    "AnswerRefused",
    "Approved",
    "Ask",
    "AskApproval",
    "AskCompressor",
    "AskQuestion",
    "Block",
    "Blocked",
    "CallModel",
    "Cancelled",
    "Codec",
    "ConfigurationRefused",
    "CounterRefused",
    "Denied",
    "Dialect",
    "Error",
    "Fail",
    "Failed",
    "Fatal",
    "Finished",
    "Forms",
    "History",
    "HistoryRefused",
    "Incoming",
    "Ledger",
    "Message",
    "Middleware",
    "ModelCall",
    "ModelRequest",
    "ModelResponse",
    "NeedsApproval",
    "Next",
    "Outgoing",
    "Passed",
    "PendingCall",
    "Question",
    "Run",
    "RunTool",
    "Send",
    "Stack",
    "StoredRefused",
    "Success",
    "Summarization",
    "Summary",
    "SummaryRefused",
    "Thread",
    "Tool",
    "ToolCall",
    "ToolUse",
    "Trigger",
    "Unstored",
    "Usage",
    "Waiting",
    "begin",
    "decide",
    "four_characters",
    "restored",
    "stored",
]

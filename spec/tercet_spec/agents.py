"""The words of an agent's loop as frozen values: its middleware, what a hook is asked, what it answers."""

import json
from typing import Literal, NoReturn

from attrs import frozen

from tercet_spec.vocabulary import Message, ToolCall, Update

HookName = Literal["before_agent", "section", "wrap_model", "wrap_tool", "after_agent"]
ResultKind = Literal["success", "error", "approval", "fatal"]
SEPARATOR = "\n\n"
"""What stands between the parts of a system prompt; no bound counts it."""
SUMMARY = "summarization"
"""The key of summarization in an update that rides on a response; what is under it is the implementation's own."""
DENIED = "Denied: "
"""How the text of a denied call's result begins."""


@frozen
class Middleware:
    """What a loop is told of one middleware: its id, its hooks, the keys that these may write.

    ``section_tokens`` bounds its prompt section, at four characters a token. Only where it ``asks`` may its
    model wrapper ask a question. One that ``summarizes`` is summarization itself, by the thread's configuration.
    """

    id: str
    hooks: tuple[HookName, ...] = ()
    writes: tuple[str, ...] = ()
    section_tokens: int = 1000
    asks: bool = False
    summarizes: bool = False


@frozen
class Tool:
    """A tool that the model is offered: its arguments are a JSON object, in which each ``required`` name has a text."""

    name: str = "tool"
    required: tuple[str, ...] = ()

    def accepts(self, arguments: str) -> bool:
        """Tell whether arguments, which are JSON text, are valid."""
        try:
            found = json.loads(arguments, parse_constant=refuse)
        except ValueError:
            return False
        return isinstance(found, dict) and all(isinstance(found.get(name), str) for name in self.required)


def refuse(constant: str) -> NoReturn:
    """Refuse NaN and the infinities: Python reads them, and they are no JSON."""
    raise ValueError(f"{constant} is no JSON")


@frozen
class Agent:
    """What runs: the stack of middleware, outermost first, the tools, the system prompt, the bound of all sections."""

    stack: tuple[Middleware, ...] = ()
    tools: tuple[Tool, ...] = (Tool(),)
    prompt: str | None = None
    prompt_section_tokens: int = 1000

    def having(self, hook: HookName) -> tuple[Middleware, ...]:
        """Choose the middleware that has a hook, in stack order."""
        return tuple(middleware for middleware in self.stack if hook in middleware.hooks)

    def accepts(self, call: ToolCall) -> bool:
        """Tell whether there is a tool for a call, and the call's arguments are valid."""
        return any(tool.name == call.name and tool.accepts(call.arguments) for tool in self.tools)


@frozen
class Request:
    """A model request as a wrapper or the model sees it: ``messages`` without the system prompt, names of ``tools``."""

    system: str | None
    messages: tuple[Message, ...]
    tools: tuple[str, ...]


@frozen
class Response:
    """What a call of next comes to: a message and the update that rides on it, or a failure, without a message."""

    message: Message | None
    update: Update = ()


@frozen
class Result:
    """What a tool call comes to; ``update`` rides on a success only.

    The text is the result's content, the reason of a need for approval, or the error that fails the run.
    """

    kind: ResultKind
    text: str = ""
    update: Update = ()


@frozen
class Passed:
    """What ``before_agent`` or ``after_agent`` answers: the input that goes on, and an update; or a block."""

    message: Message | None = None
    update: Update = ()
    blocked: bool = False


@frozen
class ModelMove:
    """What a model wrapper answers: a request to call next with, a response to return, or a question to ask."""

    request: Request | None = None
    response: Response | None = None
    question: str | None = None


@frozen
class ToolMove:
    """What a tool wrapper answers: the result to return or, without one, that next is to be called."""

    result: Result | None = None

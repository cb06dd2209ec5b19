"""An agent: what a loop is set up with."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from attrs import field, frozen

from tercet.bound import bounded
from tercet.configuration import not_a_number
from tercet.errors import ConfigurationRefused
from tercet.forms import Forms
from tercet.stack import Stack
from tercet.tools import Tool
from tercet_spec.vocabulary import Character

M = TypeVar("M")
BLANK_LINE = "\n\n"


@frozen
class Agent(Generic[M]):
    """A stack of middleware around a model and its tools.

    ``prompt`` begins each system prompt; the sections of the middleware follow, bounded all together
    by ``max_prompt_section_tokens``, at four characters a token. Raises ConfigurationRefused, naming
    every problem at once.
    """

    forms: Forms[M]
    stack: Stack[M] = field(factory=Stack)
    tools: tuple[Tool, ...] = ()
    prompt: str | None = None
    max_prompt_section_tokens: int = 4000
    tools_by_name: Mapping[str, Tool] = field(init=False, eq=False, repr=False)
    tool_names: tuple[str, ...] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if found := tuple(self.problems()):
            raise ConfigurationRefused(found)
        object.__setattr__(self, "tools_by_name", {tool.name: tool for tool in self.tools})
        object.__setattr__(self, "tool_names", tuple(self.tools_by_name))

    def problems(self) -> Iterator[str]:
        """List what is wrong: the field, its value, what is allowed."""
        if not isinstance(self.forms, Forms):
            yield f"forms is {self.forms!r}; it must be Forms"
        if not isinstance(self.stack, Stack):
            yield f"stack is {self.stack!r}; it must be a Stack"
        yield from problems_of_tools(self.tools)
        if self.prompt is not None and not isinstance(self.prompt, str):
            yield f"prompt is {self.prompt!r}; it must be a text, or None"
        yield from not_a_number("max_prompt_section_tokens", self.max_prompt_section_tokens, 1)

    def system(self, sections: Sequence[str], character: Character) -> M | None:
        """Make the system prompt of prompt and sections; none where all are empty."""
        left = bounded("".join(sections), self.max_prompt_section_tokens, character)
        parts = [self.prompt or ""]
        for section in sections:
            parts.append(left[: len(section)])
            left = left[len(section) :]
        text = BLANK_LINE.join(part for part in parts if part)
        return self.forms.system(text) if text else None


def problems_of_tools(tools: object) -> Iterator[str]:
    """List what is wrong with an agent's tools."""
    if not isinstance(tools, tuple):
        yield f"tools is {tools!r}; it must be a tuple of Tool"
        return
    for place, tool in enumerate(tools, 1):
        if not isinstance(tool, Tool):
            yield f"tool {place} is {tool!r}; it must be a Tool"
            continue
        if not isinstance(tool.name, str) or not tool.name:
            yield f"tool {place} is named {tool.name!r}; it must be a text that is not empty"
        if not callable(tool.problems):
            yield f"tool {tool.name!r}: problems is {tool.problems!r}; it must be a function of the arguments' text"
    names = Counter(tool.name for tool in tools if isinstance(tool, Tool) and isinstance(tool.name, str))
    for name, times in names.items():
        if times > 1:
            yield f"{times} tools are named {name!r}; a name must be unique"

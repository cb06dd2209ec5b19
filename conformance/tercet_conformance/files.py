"""Scenario files: one JSON document a scenario, as plain data that any language can read and replay.

::

    {"tercet": "scenario", "version": 1, "rule": "cut.pairs", "line": "limit 3 keep 1: …",
     "configuration": {…}, "operations": [{"do": "append", "messages": […]}, {"do": "step", …}]}

What has its default value is left out. ``line`` is for people; ``rule`` is the one that the scenario
breaks. The text is ASCII, so that half characters survive. A field that is not known is refused, since
it is a slip of the pen more often than news: a format with more in it has a version of its own.
"""

import json
import os
import re
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from attrs import NOTHING, fields, frozen, has

from tercet_conformance.driver import field_names
from tercet_conformance.garbage import described
from tercet_conformance.names import WORDS, near
from tercet_spec.agents import Agent
from tercet_spec.notation import format_line, line_of
from tercet_spec.rules import BY_ID
from tercet_spec.scenarios import OPERATIONS, Operation, Reply, Scenario
from tercet_spec.vocabulary import Configuration, TokenCounter

FORMAT, VERSION = "scenario", 1
FIELDS = ("tercet", "version", "rule", "line", "configuration", "agent", "operations")
LONGEST = 1_000_000
"""The longest text that a script may have the compressor return: it is made in a moment."""


@frozen
class ScenarioFileError(ValueError):
    """A scenario file that cannot be read: which, and why."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


@frozen
class Saved:
    """What a file holds: a scenario and, where it is a counterexample, the id of the rule that it breaks."""

    scenario: Scenario
    rule: str | None = None


def plain(value: Any) -> Any:
    """Turn a value of the vocabulary into plain data; what has its default value is left out."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if not has(type(value)):
        return value
    written = {field.name: (getattr(value, field.name), field.default) for field in fields(type(value))}
    return {name: plain(now) for name, (now, default) in written.items() if default is NOTHING or now != default}


def document_of(saved: Saved) -> dict[str, Any]:
    """Turn a scenario into the document that a file holds."""
    scenario, line = saved.scenario, line_of(saved.scenario)
    names = {kind: name for name, kind in OPERATIONS.items()}
    document = {
        "tercet": FORMAT,
        "version": VERSION,
        "rule": saved.rule,
        "line": format_line(line) if line else None,
        "configuration": plain(scenario.configuration),
        "agent": None if scenario.agent is None else plain(scenario.agent),
        "operations": [{"do": names[type(operation)], **plain(operation)} for operation in scenario.operations],
    }
    return {name: value for name, value in document.items() if value is not None}


def encode(saved: Saved) -> str:
    """Write a scenario as the text of a file."""
    return json.dumps(document_of(saved), indent=1) + "\n"


def decode(text: str, path: str = "scenario") -> Saved:
    """Read the text of a file; raises ScenarioFileError, which names the place and what is allowed there."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        cut_off = "" if text.rstrip().endswith("}") else "; the file is truncated, or no scenario"
        raise ScenarioFileError(path, f"not JSON: {error.msg} at {place}{cut_off}") from error
    except RecursionError as error:
        raise ScenarioFileError(path, "not a scenario: nested too deep") from error
    except ValueError as error:
        raise ScenarioFileError(path, f"not a scenario: {error}") from error
    if not isinstance(document, dict) or document.get("tercet") != FORMAT:
        raise ScenarioFileError(path, f'not a scenario of Tercet: it has no "tercet": "{FORMAT}" at its top')
    found = document.get("version")
    if type(found) is not int or found != VERSION:
        raise ScenarioFileError(path, f"version {found!r} of the format; this release reads version {VERSION}")
    rule = document.get("rule")
    if rule is not None and not is_one_of(rule, BY_ID):
        raise ScenarioFileError(path, f'"rule" is {rule!r}, which is no rule of this release; see: tercet explain')
    refuse_unknown(document, FIELDS, "", path)
    configuration: Configuration = value_of(document.get("configuration"), Configuration, "configuration", path)
    agent: Agent | None = value_of(document.get("agent"), Agent | None, "agent", path)
    written = value_of(document.get("operations"), list, "operations", path)
    operations = tuple(operation_of(each, f"operations[{number}]", path) for number, each in enumerate(written))
    return Saved(Scenario(configuration, operations, agent), rule)


def operation_of(written: object, place: str, path: str) -> Operation:
    """Read one operation."""
    if not isinstance(written, dict) or not is_one_of(written.get("do"), OPERATIONS):
        allowed = ", ".join(f'"{name}"' for name in OPERATIONS)
        raise ScenarioFileError(path, f'{place}: an object whose "do" is one of {allowed}')
    rest = {name: value for name, value in written.items() if name != "do"}
    operation: Operation = value_of(rest, OPERATIONS[written["do"]], place, path)
    return operation


def is_one_of(value: object, names: Collection[str]) -> bool:
    """Tell whether a value, of whatever kind, is one of some names."""
    return isinstance(value, str) and value in names


def value_of(written: object, kind: Any, place: str, path: str) -> Any:
    """Read a value strictly: a number is no text, nothing that is needed is missing, nothing is unknown."""
    try:
        value = msgspec.convert(written, kind)
    except msgspec.ValidationError as error:
        problem, _, within = str(error).partition(" - at `$")
        within = within.rstrip("`")
        hint = f"; it is one of {', '.join(names)}" if (names := WORDS.get(within.rpartition(".")[2])) else ""
        seen = f": {described(found)}" if not hint and (found := at(written, within)) is not None else ""
        raise ScenarioFileError(path, f"{place}{within}: {problem}{seen}{hint}") from error
    look_over(written, value, place, path)
    return value


def at(written: Any, within: str) -> Any:
    """Find what is written at a place; nothing where it is an object or a list, which is too long to show."""
    for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", within):
        written = written[name] if name else written[int(index)]
    return None if isinstance(written, dict | list) else written


def look_over(written: object, value: object, place: str, path: str) -> None:
    """Look whether all that was written was read, and can be run."""
    if isinstance(written, list) and isinstance(value, tuple):
        for number, (one, other) in enumerate(zip(written, value, strict=True)):
            look_over(one, other, f"{place}[{number}]", path)
    if not (isinstance(written, dict) and has(type(value))):
        return
    refuse_unknown(written, field_names(value), f"{place}: ", path)
    for name, one in written.items():
        look_over(one, getattr(value, name), f"{place}.{name}", path)
    if isinstance(value, TokenCounter) and (value.divisor < 1 or value.base < 0):
        raise ScenarioFileError(path, f"{place}: divisor is 1 or more, base 0 or more")
    if isinstance(value, Reply) and value.length > LONGEST:
        raise ScenarioFileError(path, f"{place}.length: {value.length} is more than {LONGEST}")


def refuse_unknown(written: Collection[str], known: Sequence[str], place: str, path: str) -> None:
    """Refuse the names that are not known."""
    for name in written:
        if name not in known:
            raise ScenarioFileError(path, f"{place}there is no field {name!r}; {near(name, known)}")


def read(path: Path) -> Saved:
    """Read a file; raises ScenarioFileError."""
    try:
        return decode(path.read_text("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise ScenarioFileError(str(path), f"not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise ScenarioFileError(str(path), error.strerror or str(error)) from error


def write(saved: Saved, folder: Path) -> Path:
    """Write a file, wholly or not at all, named after the rule and what it holds; raises OSError."""
    text = encode(saved)
    path = folder / f"{saved.rule or FORMAT}-{sha256(text.encode()).hexdigest()[:10]}.json"
    write_wholly(text, path)
    return path


def write_wholly(text: str, path: Path) -> None:
    """Write a text to a file, wholly or not at all, and make its folder; raises OSError."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.write_text(text, "utf-8", newline="\n")
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

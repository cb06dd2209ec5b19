"""Scenario files: one JSON document a scenario, as plain data that any language can read and replay.

::

    {"tercet": "scenario", "version": 1, "rule": "cut.pairs", "line": "limit 3 keep 1: …",
     "configuration": {…}, "operations": [{"do": "append", "messages": […]}, {"do": "step", …}]}

What has its default value is left out. ``line`` is for people; ``rule`` is the one that the scenario
breaks. The text is ASCII, so that half characters survive. Fields that are not known are ignored.
"""

import json
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import msgspec
from attrs import NOTHING, fields, frozen, has

from tercet_spec.notation import format_line, line_of
from tercet_spec.rules import BY_ID
from tercet_spec.scenarios import OPERATIONS, Operation, Scenario
from tercet_spec.vocabulary import Configuration

FORMAT, VERSION = "scenario", 1


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


def encode(saved: Saved) -> str:
    """Write a scenario as the text of a file."""
    scenario, line = saved.scenario, line_of(saved.scenario)
    names = {kind: name for name, kind in OPERATIONS.items()}
    document = {
        "tercet": FORMAT,
        "version": VERSION,
        "rule": saved.rule,
        "line": format_line(line) if line else None,
        "configuration": plain(scenario.configuration),
        "operations": [{"do": names[type(operation)], **plain(operation)} for operation in scenario.operations],
    }
    return json.dumps({name: value for name, value in document.items() if value is not None}, indent=1) + "\n"


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
    if not isinstance(document, dict) or document.get("tercet") != FORMAT:
        raise ScenarioFileError(path, f'not a scenario of Tercet: it has no "tercet": "{FORMAT}" at its top')
    found = document.get("version")
    if type(found) is not int or found != VERSION:
        raise ScenarioFileError(path, f"version {found!r} of the format; this release reads version {VERSION}")
    rule = document.get("rule")
    if rule is not None and not is_one_of(rule, BY_ID):
        raise ScenarioFileError(path, f'"rule" is {rule!r}, which is no rule of this release; see: tercet explain')
    configuration = value_of(document.get("configuration"), Configuration, "configuration", path)
    if configuration.token_counter.divisor < 1 or configuration.token_counter.base < 0:
        raise ScenarioFileError(path, "configuration.token_counter: divisor is 1 or more, base 0 or more")
    written = value_of(document.get("operations"), list, "operations", path)
    operations = tuple(operation_of(each, f"operations[{number}]", path) for number, each in enumerate(written))
    return Saved(Scenario(configuration, operations), rule)


def operation_of(written: object, place: str, path: str) -> Operation:
    """Read one operation."""
    if not isinstance(written, dict) or not is_one_of(written.get("do"), OPERATIONS):
        allowed = ", ".join(f'"{name}"' for name in OPERATIONS)
        raise ScenarioFileError(path, f'{place}: an object whose "do" is one of {allowed}')
    operation: Operation = value_of(written, OPERATIONS[written["do"]], place, path)
    return operation


def is_one_of(value: object, names: Collection[str]) -> bool:
    """Tell whether a value, of whatever kind, is one of some names."""
    return isinstance(value, str) and value in names


def value_of(written: object, kind: Any, place: str, path: str) -> Any:
    """Read a value strictly: a number is no text, and nothing that is needed is missing."""
    try:
        return msgspec.convert(written, kind)
    except msgspec.ValidationError as error:
        problem, _, within = str(error).partition(" - at `$")
        raise ScenarioFileError(path, f"{place}{within.rstrip('`')}: {problem}") from error


def read(path: Path) -> Saved:
    """Read a file; raises ScenarioFileError."""
    try:
        return decode(path.read_text("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise ScenarioFileError(str(path), f"not UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise ScenarioFileError(str(path), error.strerror or str(error)) from error


def write(saved: Saved, folder: Path) -> Path:
    """Write a file, wholly or not at all, named after the rule and what it holds; raises OSError."""
    text = encode(saved)
    path = folder / f"{saved.rule or FORMAT}-{sha256(text.encode()).hexdigest()[:10]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="ascii", dir=folder, suffix=".part", delete=False) as file:
        file.write(text)
    part = Path(file.name)
    try:
        part.replace(path)
    except OSError:
        part.unlink()
        raise
    return path

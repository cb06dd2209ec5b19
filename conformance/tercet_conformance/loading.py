"""Finds the implementation that a name on the command line stands for."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from shlex import quote, split
from shutil import which
from typing import Any, get_args

from attrs import frozen

from tercet_conformance.driver import said
from tercet_conformance.garbage import Garbage, described, kind_of, shortened
from tercet_conformance.guard import settled
from tercet_conformance.interface import Implementation
from tercet_conformance.interrupts import is_persons
from tercet_conformance.limits import Limits, Overdue
from tercet_conformance.names import near
from tercet_conformance.wire.process import command_text
from tercet_conformance.wire.remote import Remote
from tercet_spec.vocabulary import Capability, Character, Description

BUNDLED: Mapping[str, tuple[str, str]] = {
    "reference": ("tercet_conformance.adapters.reference", ""),
    "langchain": ("tercet_conformance.adapters.langchain", "langchain"),
    "langchain-agent": ("tercet_conformance.adapters.langchain_agent", "langchain"),
}
"""The adapters that come with the suite: their modules, and the extra that each needs."""
JAVASCRIPT: Mapping[str, str] = {
    "langchain-js": "langchain.mjs",
    "deepagents-js": "deepagents.mjs",
}
"""The adapters of libraries for JavaScript that come with the suite, each a program of Node.js."""
ADAPTERS = Path(__file__).parent / "adapters" / "javascript"
NODE_MODULES = "TERCET_NODE_MODULES"
"""The environment variable that names the folder with the packages, where they are not beside the adapters."""
METHODS = ("describe", "open")


@frozen
class LoadingError(ValueError):
    """A name that stands for no implementation: why, and what to do."""

    problem: str
    cause: BaseException | None = None

    def __str__(self) -> str:
        return self.problem


def load(name: str) -> Implementation:
    """Load an implementation: a bundled name, ``module:factory`` or ``-- command args``; raises LoadingError."""
    if name.startswith("-- "):
        return load_command(split(name.removeprefix("-- ")))
    if name in JAVASCRIPT:
        return load_javascript(name)
    if name in BUNDLED:
        module, extra = BUNDLED[name]
        return made(name, module, "implementation", extra)
    module, colon, factory = name.partition(":")
    if not (module and colon and factory):
        nearest = near(name, [*BUNDLED, *JAVASCRIPT])
        raise LoadingError(
            f"{name!r} is neither a bundled name nor module:factory; {nearest}{'' if nearest.endswith('?') else '.'}"
            " Your own is named by its module and what makes it, such as my_adapter:Mine"
        )
    return made(name, module, factory, "")


def load_command(command: Sequence[str]) -> Remote:
    """Start a process that holds an implementation; raises LoadingError."""
    remote = Remote(command)
    try:
        with Limits() as limits, limits.call("hello"):
            remote.describe()
    except Overdue as error:
        raise LoadingError(f"{command_text(command)}: {error}") from error
    except Garbage as error:
        raise LoadingError(str(error)) from error
    if problem := description_problem(remote.describe()):
        raise LoadingError(f"{command_text(command)}: it introduces itself with {problem}")
    return remote


def load_javascript(name: str) -> Remote:
    """Start the adapter of a library for JavaScript; raises LoadingError where that is not installed."""
    if which("node") is None:
        raise LoadingError(
            f"{name} needs Node.js 20 or newer, and there is no node on the PATH; see https://nodejs.org"
        )
    needed: dict[str, str] = json.loads((ADAPTERS / "package.json").read_text())["dependencies"]
    folder = Path(os.environ.get(NODE_MODULES) or ADAPTERS / "node_modules")
    if lacking := [package for package in needed if not (folder / package / "package.json").is_file()]:
        raise LoadingError(
            f"{name} needs {', '.join(lacking)} in {folder}; install with: npm install --prefix {quote(str(ADAPTERS))}"
            f"; or anywhere else, with: npm install {' '.join(f'{each}@{needed[each]}' for each in needed)}"
            f" and the node_modules that this makes named in {NODE_MODULES}"
        )
    command = ("node", str(ADAPTERS / JAVASCRIPT[name]))
    found = load_command(command)
    found.whole = load_command((*command, "whole"))
    return found


def made(name: str, module_name: str, factory_name: str, extra: str) -> Implementation:
    """Import a module, call its factory, and look at what came of it."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except BaseException as error:
        install = f"; install it with: pip install 'tercet[check,{extra}]'" if extra else ""
        raise failed(
            f"cannot import {module_name}: {said(error)}{install or hint(module_name, error)}", error
        ) from error
    names = [each for each in vars(module) if not each.startswith("_")]
    factory: object = module
    for part in factory_name.split("."):
        if not hasattr(factory, part):
            raise LoadingError(f"{module_name} has no {factory_name!r}; {near(factory_name, names)}")
        factory = getattr(factory, part)
    if not callable(factory):
        what = described(factory)
        raise LoadingError(f"{name} is {what}, which cannot be called; name a function or class without arguments")
    implementation = called(factory, f"{name}()")
    checked(implementation, f"{name}()", name)
    make_whole = getattr(implementation, "whole_road", None)
    if make_whole is not None and (whole := called(make_whole, f"whole_road() of {name}")) is not None:
        checked(whole, f"whole_road() of {name}", f"the whole road of {name}")
    found: Implementation = implementation
    return found


def hint(module_name: str, error: BaseException) -> str:
    """Say what to do where there is no module of a name."""
    if module_name.endswith(".py") or "/" in module_name:
        module = ".".join(part for part in Path(module_name).with_suffix("").parts if part not in ("/", ".."))
        return f"; a module is named as it is imported: {module}"
    if isinstance(error, ModuleNotFoundError) and module_name.startswith(error.name or ""):
        return f"; it was looked for in {Path.cwd()} and among what is installed beside tercet"
    return ""


def called(function: Any, what: str) -> Any:
    """Call what makes an implementation, or a part of one."""
    try:
        return settled(function(), what)
    except (Overdue, Garbage) as error:
        raise failed(f"{what}: {error}", error) from error
    except BaseException as error:
        raise failed(f"{what} raised {shortened(said(error))}", error) from error


def checked(implementation: object, what: str, name: str) -> None:
    """Look whether something is an implementation that says what it is."""
    if lacking := [method for method in METHODS if not callable(getattr(implementation, method, None))]:
        raise LoadingError(
            f"{what} returned {kind_of(implementation)}, which has no {' and no '.join(lacking)};"
            " an implementation has describe() and open(configuration, host)"
        )
    description_of(implementation, Limits(), name)


def description_of(implementation: Any, limits: Limits, name: str = "the implementation") -> Description:
    """Ask an implementation what it is; raises LoadingError."""

    def describe() -> Any:
        with limits, limits.call("describe"):
            return settled(implementation.describe(), "describe")

    description = called(describe, f"describe() of {name}")
    if problem := description_problem(description):
        raise LoadingError(f"describe() of {name} returned {problem}")
    taken: Description = description
    return taken


def failed(problem: str, error: BaseException) -> LoadingError:
    """Make the error of a problem; a person's Ctrl-C is none."""
    if is_persons(error):
        raise error
    return LoadingError(problem, error)


def description_problem(description: object) -> str | None:
    """Say what is wrong with a description."""
    if not isinstance(description, Description):
        return f"{described(description)}; it returns a Description"
    texts = ("name", "version", "language", "before", "after")
    for field in texts:
        if not isinstance(value := getattr(description, field), str):
            return f"{field}={described(value)}; it is a text"
    known = get_args(Capability)
    if not isinstance(description.capabilities, frozenset):
        return f"capabilities={described(description.capabilities)}; they are a frozenset"
    for capability in sorted(map(str, description.capabilities)):
        if capability not in known:
            return f"the capability {capability!r}; {near(capability, known)}"
    if description.character not in get_args(Character):
        return f"character={description.character!r}; it is one of {', '.join(get_args(Character))}"
    if description.failed_compressor not in ("fails", "sends"):
        return f'failed_compressor={description.failed_compressor!r}; it is "fails" or "sends"'
    for field in ("parts", "sets_aside"):
        if not isinstance(value := getattr(description, field), bool):
            return f"{field}={described(value)}; it is True or False"
    if not description.capabilities & {"message-trigger", "token-trigger", "hooks"}:
        return "neither the capability message-trigger nor token-trigger nor hooks; nothing can be asked of it without"
    return None

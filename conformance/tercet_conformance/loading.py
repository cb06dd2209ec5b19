"""Finds the implementation that a name on the command line stands for."""

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import get_args

from attrs import frozen

from tercet_conformance.interface import Implementation
from tercet_spec.vocabulary import Capability, Character, Description

BUNDLED: Mapping[str, tuple[str, str]] = {
    "reference": ("tercet_conformance.adapters.reference", ""),
    "langchain": ("tercet_conformance.adapters.langchain", "langchain"),
}
"""The adapters that come with the suite: their modules, and the extra that each needs."""
METHODS = ("describe", "open")


@frozen
class LoadingError(ValueError):
    """A name that stands for no implementation: why, and what to do."""

    problem: str
    cause: BaseException | None = None

    def __str__(self) -> str:
        return self.problem


def near(name: str, names: Sequence[str]) -> str:
    """Say which names are near to one, else which there are."""
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names) or 'none'}"


def load(name: str) -> Implementation:
    """Load an implementation by a bundled name or as ``module:factory``; raises LoadingError."""
    if name in BUNDLED:
        module, extra = BUNDLED[name]
        return made(name, module, "implementation", extra)
    module, colon, factory = name.partition(":")
    if not (module and colon and factory):
        raise LoadingError(
            f"{name!r} is neither a bundled name nor module:factory; {near(name, list(BUNDLED))}"
            " Your own is named by its module and what makes it, such as my_adapter:Mine"
        )
    return made(name, module, factory, "")


def made(name: str, module_name: str, factory_name: str, extra: str) -> Implementation:
    """Import a module, call its factory, and look at what came of it."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:
        install = f"; install it with: pip install 'tercet[check,{extra}]'" if extra else ""
        raise LoadingError(f"cannot import {module_name}: {type(error).__name__}: {error}{install}", error) from error
    names = [each for each in vars(module) if not each.startswith("_")]
    factory: object = module
    for part in factory_name.split("."):
        if not hasattr(factory, part):
            raise LoadingError(f"{module_name} has no {factory_name!r}; {near(factory_name, names)}")
        factory = getattr(factory, part)
    if not callable(factory):
        raise LoadingError(f"{name} is {factory!r}, which cannot be called; name a function or class without arguments")
    try:
        implementation = factory()
    except (Exception, SystemExit) as error:
        raise LoadingError(f"{name}() raised {type(error).__name__}: {error}", error) from error
    if lacking := [method for method in METHODS if not callable(getattr(implementation, method, None))]:
        raise LoadingError(
            f"{name}() returned {type(implementation).__name__}, which has no {' and no '.join(lacking)};"
            " an implementation has describe() and open(configuration, host)"
        )
    try:
        description = implementation.describe()
    except (Exception, SystemExit) as error:
        raise LoadingError(f"describe() of {name} raised {type(error).__name__}: {error}", error) from error
    if problem := description_problem(description):
        raise LoadingError(f"describe() of {name} returned {problem}")
    found: Implementation = implementation
    return found


def description_problem(description: object) -> str | None:
    """Say what is wrong with a description."""
    if not isinstance(description, Description):
        return f"{description!r}; it returns a Description"
    texts = ("name", "version", "language", "before", "after")
    for field in texts:
        if not isinstance(value := getattr(description, field), str):
            return f"{field}={value!r}; it is a text"
    known = get_args(Capability)
    if not isinstance(description.capabilities, frozenset):
        return f"capabilities={description.capabilities!r}; they are a frozenset"
    for capability in sorted(map(str, description.capabilities)):
        if capability not in known:
            return f"the capability {capability!r}; {near(capability, known)}"
    if description.character not in get_args(Character):
        return f"character={description.character!r}; it is one of {', '.join(get_args(Character))}"
    if description.failed_compressor not in ("fails", "sends"):
        return f'failed_compressor={description.failed_compressor!r}; it is "fails" or "sends"'
    if not description.capabilities & {"message-trigger", "token-trigger"}:
        return "neither the capability message-trigger nor token-trigger; nothing can be asked of it without one"
    return None

"""What the options of ``tercet`` take, and what of it is refused before anything is run."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar

import click

from tercet_conformance import baseline as baselines
from tercet_conformance.names import near
from tercet_conformance.report import shown
from tercet_conformance.reports import files as report_files
from tercet_conformance.verdicts import KnownFailure
from tercet_spec.rules import BY_ID, AnyRule, Profile

Function = TypeVar("Function", bound=Callable[..., object])


def debug_option(function: Function) -> Function:
    """Add ``--debug``."""
    return click.option("--debug", is_flag=True, help="Show tracebacks: the implementation's, and the suite's own.")(
        function
    )


def only_option(function: Function) -> Function:
    """Add ``--only``."""
    return click.option(
        "--only", multiple=True, metavar="RULE", callback=known_rules, help="Judge this rule only; may be given again."
    )(function)


def known_rules(_: click.Context, __: click.Parameter, ids: tuple[str, ...]) -> frozenset[str]:
    """Take ids of rules."""
    return frozenset(known_rule(rule_id).id for rule_id in ids)


def known_rule(rule_id: str) -> AnyRule:
    """Find a rule by its id."""
    if rule_id not in BY_ID:
        raise click.BadParameter(f"there is no rule {rule_id!r}; {near(rule_id, list(BY_ID), 'tercet explain')}")
    return BY_ID[rule_id]


def reported_profile(_: click.Context, __: click.Parameter, name: str | None) -> Profile | None:
    """Take a profile by its name."""
    return next((profile for profile in Profile if str(profile) == name), None)


def writable_folder(_: click.Context, __: click.Parameter, folder: Path) -> Path:
    """Take a folder that can be written to; it is made when something is written."""
    try:
        existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    except OSError as error:
        raise click.BadParameter(f"{folder}: {error.strerror}; name another folder") from error
    if not existing.is_dir():
        raise click.BadParameter(f"{existing} is no folder; name another")
    try:
        with TemporaryFile(
            dir=existing
        ):  # access rights do not tell: who may do all meets file systems that take nothing
            return folder
    except OSError as error:
        raise click.BadParameter(f"{existing} cannot be written to; name another folder") from error


def writable_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Take a file that can be written to."""
    if path is not None:
        if path.is_dir():
            raise click.BadParameter(f"{path} is a folder; name a file")
        writable_folder(context, parameter, path.parent)
    return path


def writable_reports(context: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Take files that reports can be written to, in a format that the ending of the name says."""
    for path in paths:
        try:
            if path.suffix not in report_files.RENDERERS:
                raise click.BadParameter("no format of a report ends so")
            if path.is_dir():
                raise click.BadParameter("it is a folder")
            if path.exists() and not os.access(path, os.W_OK):
                raise click.BadParameter("it cannot be written to")
            writable_folder(context, parameter, path.parent)
        except (click.BadParameter, OSError) as error:
            problem = error.message if isinstance(error, click.BadParameter) else error.strerror
            raise click.BadParameter(
                f"{shown(str(path))}: {shown(str(problem))}; a report is a file that ends in {report_files.ENDINGS}"
            ) from error
    return paths


def known_failures(_: click.Context, __: click.Parameter, file: Path | None) -> tuple[KnownFailure, ...]:
    """Take the entries of a baseline."""
    try:
        return () if file is None else baselines.read(file)
    except baselines.BaselineError as error:
        raise click.BadParameter(shown(str(error))) from error

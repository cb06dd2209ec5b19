"""Report files: the ending of a file's name says the format, and a file is written wholly or not at all."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tercet_conformance.files import write_wholly
from tercet_conformance.reports import document, junit, markdown
from tercet_conformance.verdicts import Report
from tercet_spec.scenarios import Scenario

RENDERERS: dict[str, Callable[[Report, str, Mapping[Scenario, str]], str]] = {
    ".json": document.render,
    ".xml": junit.render,
    ".md": markdown.render,
}
ENDINGS = ".json, .xml (JUnit) or .md"


def write(report: Report, path: Path, name: str, saved: Mapping[Scenario, str]) -> None:
    """Write a report in the format that the file's ending says; raises OSError."""
    write_wholly(RENDERERS[path.suffix](report, name, saved), path)

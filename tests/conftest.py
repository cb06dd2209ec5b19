"""What holds for all tests: where TERCET_NO_SKIPS is set, a skip is a failure, but for the transcripts'."""

import os
import signal
from collections.abc import Generator
from typing import TypeVar

import pytest

pytest_plugins = ["pytester"]
ALLOWED = "TERCET_TRANSCRIPTS"

# A shell lets what it starts in the background, and all that this starts, ignore Ctrl-C; tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def as_failure(report: Report) -> Report:
    if os.environ.get("TERCET_NO_SKIPS") and report.skipped and ALLOWED not in reason_of(report):
        report.outcome = "failed"
        report.longrepr = f"skipped where no test may be: {reason_of(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return as_failure((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return as_failure((yield))

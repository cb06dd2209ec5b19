"""The suite under pytest: ``--tercet-implementation NAME`` adds one test a rule to the run.

Without the option nothing else of the suite is imported.
"""

import pytest

OPTION = "--tercet-implementation"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("tercet", "conformance of a summarizer").addoption(
        OPTION,
        metavar="NAME",
        help="Check this implementation, one test a rule: a bundled name (reference, langchain, langchain-agent,"
        " langchain-js, deepagents-js) or module:factory.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the implementation and register its tests; raises UsageError."""
    name = config.getoption(OPTION)
    if name is None:
        return
    try:
        from tercet_conformance.rule_tests import RuleTests
    except ModuleNotFoundError as error:
        if (error.name or "tercet").startswith("tercet"):
            raise
        install = "pip install 'tercet[check]'"
        raise pytest.UsageError(f"{OPTION} needs {error.name}; install it with: {install}") from error
    config.pluginmanager.register(RuleTests(name), "tercet-rules")

"""What the reference refuses, and why."""

from attrs import frozen

MOST_SHOWN = 200


@frozen
class ConfigurationRefused(ValueError):
    """A configuration that may not be used; ``problems`` names every field at fault."""

    problems: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.problems)


@frozen
class HistoryRefused(ValueError):
    """A history that cannot be read: two of its messages are stored under one id."""

    problem: str

    def __str__(self) -> str:
        return self.problem


@frozen
class CounterRefused(ValueError):
    """A tokenCounter that raised, or returned anything but a whole number from 0 up."""

    problem: str

    def __str__(self) -> str:
        return self.problem


@frozen
class SummaryRefused(ValueError):
    """A compressor's text that is none, or empty or only white space within the bound: the compressor failed."""

    problem: str

    def __str__(self) -> str:
        return self.problem


@frozen
class AnswerRefused(ValueError):
    """An answer to what a run did not ask for: what is asked, and what was given."""

    problem: str

    def __str__(self) -> str:
        return self.problem


@frozen
class StoredRefused(ValueError):
    """A stored run that cannot be gone on with: the field, its value, what is allowed."""

    problem: str

    def __str__(self) -> str:
        return self.problem


def shown(message: object) -> str:
    """Show a message in an error: the beginning of a long one."""
    whole = repr(message)
    return whole if len(whole) <= MOST_SHOWN else f"{whole[:MOST_SHOWN].rstrip()} …"

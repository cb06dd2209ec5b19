"""What a rule is: a frozen object with one relation over a moment and the one before it."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, IntEnum
from typing import Any, Generic, TypeVar

from attrs import field, frozen

from tercet_spec.moments import Moment
from tercet_spec.vocabulary import Capability, Description

M = TypeVar("M", bound=Moment)


class Level(Enum):
    """How strongly a rule binds."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Profile(IntEnum):
    """A set of rules; each contains the one before, but ``HOOKS``, which stands beside them."""

    SAFE = 1
    BOUNDED = 2
    EXACT = 3
    DURABLE = 4
    HOOKS = 5

    def __str__(self) -> str:
        return self.name.lower()

    def contains(self, other: "Profile") -> bool:
        """Tell whether all rules of another profile are rules of this one."""
        return (other <= self and Profile.HOOKS not in (self, other)) or other is self


class Origin(Enum):
    """Whether a rule is the source's or a decision of ours where the source is silent."""

    SOURCE = "source"
    OURS = "ours"


@frozen
class Violation:
    """Where a moment breaks a rule: what was expected, what was seen, which message is at fault, or event of a run."""

    expected: str
    seen: str
    position: int | None = None
    attempt: int | None = None
    event: int | None = None


def declares(*capabilities: Capability) -> Callable[[Description], bool]:
    """Make the predicate that an implementation declares all of some capabilities."""
    return lambda description: description.capabilities.issuperset(capabilities)


def keeps_late_results(description: Description) -> bool:
    """Tell whether a summary stays in force where a late result answers a covered call."""
    return not description.sets_aside


@frozen(eq=False)
class Rule(Generic[M]):
    """One thing that must hold, as an object.

    ``about`` are the kinds of moment that it judges. ``needs`` are the capabilities without which it
    is not applicable. ``situations`` are what it speaks about: each a name and a predicate on a
    moment; it passes only where all were reached, but those that are asked ``only_with`` a description
    of another kind. ``relation`` yields what breaks it in a moment, given the one before.
    A rule ``where_declared`` counts in its profile only where it is applicable.
    """

    id: str
    level: Level
    profile: Profile
    origin: Origin
    statement: str
    why: str
    about: type[M] | tuple[type[M], ...] = field(repr=False)
    relation: Callable[[M, Moment | None], Iterator[Violation]] = field(repr=False)
    situations: Mapping[str, Callable[[M], bool]] = field(repr=False)
    needs: frozenset[Capability] = frozenset()
    only_with: Mapping[str, Callable[[Description], bool]] = field(factory=dict, repr=False)
    where_declared: bool = False

    @property
    def family(self) -> str:
        """The family, the first half of the id."""
        return self.id.partition(".")[0]

    def judge(self, moment: Moment, before: Moment | None) -> list[Violation]:
        """List what breaks the rule in a moment; nothing where the rule does not speak of such a one."""
        return list(self.relation(moment, before)) if isinstance(moment, self.about) else []

    def reached(self, moment: Moment) -> list[str]:
        """List the situations of the rule that a moment is one of."""
        if not isinstance(moment, self.about):
            return []
        return [name for name, holds in self.situations.items() if holds(moment)]

    def asked_of(self, description: Description) -> list[str]:
        """List the situations that an implementation which describes itself so can be brought into."""
        return [name for name in self.situations if self.only_with.get(name, declares())(description)]

    def applies_to(self, capabilities: frozenset[Capability]) -> bool:
        """Tell whether an implementation of these capabilities can be asked to keep it."""
        return self.needs <= capabilities


AnyRule = Rule[Any]

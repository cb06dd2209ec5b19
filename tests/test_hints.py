"""Where a description is at fault, and not what an implementation does, the finding says what to declare."""

from collections.abc import Sequence
from typing import ClassVar

import pytest

from tercet_conformance.gallery.plain import CAPABILITIES, Plain, PlainImplementation, View
from tercet_conformance.replaying import replay
from tercet_conformance.requirements import needs
from tercet_spec.judgement import Finding
from tercet_spec.notation import parse, scenario_of
from tercet_spec.rules import RULES
from tercet_spec.vocabulary import Message


class Prose(Plain):
    """Gives its compressor one text beside a prompt of its own, and says that it gives messages."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        told = "\n".join(f"{message.role}: {message.content}" for message in span)
        return self.call_compressor([Message("system", "Summarise."), Message("user", told)], so_far)


class DeclaresProse(Prose):
    capabilities = CAPABILITIES - {"exact-input"}


class LeavesOut(Plain):
    """Gives its compressor messages, but not the first."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        return super().ask(span[1:], so_far)


class LeavesOutOfProse(DeclaresProse):
    """Says that it gives prose, and leaves the first message out of it."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        return super().ask(span[1:], so_far)


class GivesNothing(Plain):
    """Asks for a summary of no messages."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        return super().ask((), so_far)


class AsksOnly(DeclaresProse):
    """Says that it gives prose, and gives its own prompt alone."""

    def ask(self, span: Sequence[Message], so_far: str | None) -> str:
        return super().ask((), so_far)


class Framed(Plain):
    """Puts more around its summary than it says."""

    before: ClassVar[str] = ""

    def summaries(self, view: View) -> list[Message]:
        return [Message("user", f"So far: {view.text}.")] if view.text else []


class DeclaresFrame(Framed):
    before = "So far: "
    after = "."


def findings(thread: type[Plain], line: str) -> dict[str, Finding]:
    scenario = scenario_of(parse(line))
    implementation = PlainImplementation(thread.__name__, thread)
    assert needs(scenario) <= thread.capabilities
    report = replay(implementation, scenario, RULES)
    return {each.rule.id: each.counterexamples[0].finding for each in report.verdicts if each.counterexamples}


PROSE = "; where prose is meant, exact-input is not declared"
WORDS = "limit 3 keep 1: u a u a"


def test_of_prose_it_is_said_how_it_is_declared() -> None:
    violation = findings(Prose, "limit 2 keep 1: u:0 u:0 a")["compress.span"].violation
    assert violation.seen == f"it was given none{PROSE}"
    assert findings(DeclaresProse, WORDS) == {}


@pytest.mark.parametrize("thread", [LeavesOut, LeavesOutOfProse])
def test_nothing_of_it_is_said_where_it_is_not_what_is_at_fault(thread: type[Plain]) -> None:
    assert findings(thread, WORDS)["compress.span"].violation.seen == "it was given messages 2, 3"


@pytest.mark.parametrize("thread", [GivesNothing, AsksOnly])
def test_nor_where_nothing_is_given_or_prose_is_declared(thread: type[Plain]) -> None:
    assert findings(thread, WORDS)["compress.span"].violation.seen == "it was given none"


def test_of_a_frame_it_is_said_what_declares_it() -> None:
    violation = findings(Framed, WORDS)["send.placement"].violation
    assert violation.expected.endswith("between what the description declares as before and after: '' and ''")
    assert violation.seen.startswith("So far: ")
    assert findings(DeclaresFrame, WORDS) == {}

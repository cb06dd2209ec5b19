"""Where the macros go: no fixed number hidden in an implementation is too large to be found."""

from collections.abc import Sequence

import pytest

from tercet_conformance.gallery.plain import Plain, PlainImplementation, View
from tercet_conformance.macros import burst
from tercet_conformance.search import BUDGETS, generated_scenarios
from tercet_conformance.suite import Suite
from tercet_conformance.tidiness import messages_of
from tercet_spec.notation import DEFAULT_SYSTEM
from tercet_spec.rules import BY_ID
from tercet_spec.scenarios import Configure, Scenario, Step
from tercet_spec.vocabulary import ALL_CAPABILITIES, Message


class AtMostSixtyMessagesSent(Plain):
    """Sends sixty messages at most."""

    def request(self, system: str | None, view: View) -> list[Message]:
        request = super().request(system, view)
        return request if len(request) <= 60 else [*request[:1], *request[-59:]]


class KeepsTwentyAtMost(Plain):
    """Keeps no more than twenty messages, whatever keepRecent asks for."""

    def latest(self, view: View) -> int:
        return max(super().latest(view), len(self.history) - 20 if not self.pending else 0)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("thread", "rule"), [(AtMostSixtyMessagesSent, "send.nothing-lost"), (KeepsTwentyAtMost, "cut.keeps-recent")]
)
def test_large_numbers_are_reached(thread: type[Plain], rule: str, seed: int) -> None:
    implementation = PlainImplementation("large", thread)
    suite = Suite(implementation, implementation.describe(), (BY_ID[rule],))
    scenarios = generated_scenarios(suite.capabilities, BUDGETS["standard"].bursts, seed)
    assert any(suite.judge(scenario)[1].findings for scenario in scenarios)


def steps(scenario: Scenario) -> Sequence[Step]:
    return [operation for operation in scenario.operations if isinstance(operation, Step)]


def test_texts_go_where_they_are_changed_on_the_way() -> None:
    scenarios = [burst(ALL_CAPABILITIES, seed) for seed in range(300)]
    said = [message for scenario in scenarios for message in messages_of(scenario)]
    contents = [message.content for message in said]
    assert any(content != content.strip() for content in contents)
    assert any("\ud83d" in content for content in contents)
    assert any("\u0301" in content for content in contents)
    assert any(message.calls and message.content for message in said)
    assert any(len(message.answers) > 1 for message in said)
    assert any(call.name != "tool" for message in said for call in message.calls)
    prompts = [{step.system for step in steps(scenario)} for scenario in scenarios]
    assert any(len(systems - {None, DEFAULT_SYSTEM}) > 1 for systems in prompts)
    assert any(len(reply.fill) > 1 for scenario in scenarios for step in steps(scenario) for reply in step.replies)
    assert any(len(step.pending) > 1 for scenario in scenarios for step in steps(scenario))
    changed = [o.configuration for scenario in scenarios for o in scenario.operations if isinstance(o, Configure)]
    assert len({configuration.token_counter for configuration in changed}) > 2

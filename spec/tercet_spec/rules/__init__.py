"""All rules, in the order of the chapters."""

from tercet_spec.rules import cut
from tercet_spec.rules.rule import Level, Origin, Profile, Rule, Violation

RULES: tuple[Rule, ...] = (*cut.RULES,)
BY_ID = {rule.id: rule for rule in RULES}

__all__ = ["BY_ID", "RULES", "Level", "Origin", "Profile", "Rule", "Violation"]

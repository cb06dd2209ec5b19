"""All rules, in the order of the chapters."""

from tercet_spec.rules import bound, compress, config, cut, hooks, key, send, trigger, usage
from tercet_spec.rules.rule import AnyRule, Level, Origin, Profile, Rule, Violation

RULES: tuple[AnyRule, ...] = (
    *trigger.RULES,
    *cut.RULES,
    *compress.RULES,
    *bound.RULES,
    *send.RULES,
    *key.RULES,
    *usage.RULES,
    *config.RULES,
    *hooks.RULES,
)
BY_ID = {rule.id: rule for rule in RULES}

__all__ = ["BY_ID", "RULES", "AnyRule", "Level", "Origin", "Profile", "Rule", "Violation"]

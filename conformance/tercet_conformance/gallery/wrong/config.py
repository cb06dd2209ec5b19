"""Wrong about what may be configured."""

from tercet_conformance.gallery.entry import wrong
from tercet_conformance.gallery.plain import Plain
from tercet_spec.vocabulary import Configuration


@wrong("config.keep-recent")
class KeepsNoneIfAsked(Plain):
    """Accepts a keepRecent of 0."""

    def keeps_too_few(self, configuration: Configuration) -> bool:
        return configuration.keep_recent < 0


@wrong("config.keep-recent")
class CountsBackFromBehind(Plain):
    """Accepts a keepRecent below 0, and refuses 0 alone."""

    def keeps_too_few(self, configuration: Configuration) -> bool:
        return configuration.keep_recent == 0


@wrong("config.max-summary")
class LeastBoundIsOneLess(Plain):
    """Accepts a maxSummaryTokens of 31."""

    def bounds_too_much(self, configuration: Configuration) -> bool:
        return configuration.max_summary_tokens < 31


@wrong("config.max-summary")
class NoBoundIfZero(Plain):
    """Takes a maxSummaryTokens of 0 for none at all, and accepts it."""

    def bounds_too_much(self, configuration: Configuration) -> bool:
        return configuration.max_summary_tokens != 0 and super().bounds_too_much(configuration)


@wrong("config.trigger")
class LimitOfZeroAccepted(Plain):
    """Accepts a limit of 0."""

    def has_bad_trigger(self, configuration: Configuration) -> bool:
        return configuration.trigger.limit != 0 and super().has_bad_trigger(configuration)


@wrong("config.trigger")
class AnyUnitAccepted(Plain):
    """Accepts a trigger of a unit that it does not know."""

    def has_bad_trigger(self, configuration: Configuration) -> bool:
        return configuration.trigger.limit < 1


@wrong("config.one-of-two")
class WindowBeside(Plain):
    """Accepts a pruning context window beside summarization."""

    def has_company(self, configuration: Configuration) -> bool:
        return "summarizer" in configuration.beside


@wrong("config.one-of-two")
class TwoSummarizers(Plain):
    """Accepts a second summarizer on the same key."""

    def has_company(self, configuration: Configuration) -> bool:
        return "window" in configuration.beside


@wrong("config.thrash")
class NeverWarns(Plain):
    """Says nothing of a limit that every added message passes."""

    def warnings(self) -> list[str]:
        return []


@wrong("config.thrash")
class WarnsOfTheTightestOnly(Plain):
    """Warns of a limit of messages that keepRecent alone passes, and forgets what is sent before them."""

    def thrashes(self) -> bool:
        configuration = self.configuration
        if configuration.trigger.kind == "messages":
            return configuration.trigger.limit <= configuration.keep_recent
        return super().thrashes()


@wrong("config.thrash")
class WarnsWithoutTheSystemPrompt(Plain):
    """Warns of a limit that the kept messages and the summary pass, and forgets the system prompt before them."""

    def thrashes(self) -> bool:
        configuration = self.configuration
        if configuration.trigger.kind == "messages":
            return configuration.trigger.limit <= configuration.keep_recent + 1
        return super().thrashes()


@wrong("config.thrash")
class WarnsOfMessagesOnly(Plain):
    """Never warns of a limit of tokens."""

    def thrashes(self) -> bool:
        return self.configuration.trigger.kind == "messages" and super().thrashes()


@wrong("config.thrash")
class WarnsOfAsManyTokensOnly(Plain):
    """Warns of a limit of as many tokens as the summary may have, and of no lower one."""

    def thrashes(self) -> bool:
        configuration = self.configuration
        if configuration.trigger.kind == "tokens":
            return configuration.trigger.limit == configuration.max_summary_tokens
        return super().thrashes()


@wrong("config.keep-recent")
class LooksOnlyAtFirst(Plain):
    """Looks at the configuration that a thread is opened with, and at none that it is changed to."""

    def keeps_too_few(self, configuration: Configuration) -> bool:
        return super().keeps_too_few(configuration) and not hasattr(self, "configuration")


@wrong("config.trigger")
class NoTokensAtAllAccepted(Plain):
    """Accepts a limit of no tokens."""

    def has_bad_trigger(self, configuration: Configuration) -> bool:
        return super().has_bad_trigger(configuration) and configuration.trigger.kind != "tokens"

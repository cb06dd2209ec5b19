"""Wrong summarizers, each with one fault and the rule that must catch it."""

from tercet_conformance.gallery.wrong import bound, compress, config, cut, hooks, key, send, trigger, usage

__all__ = ["bound", "compress", "config", "cut", "hooks", "key", "send", "trigger", "usage"]

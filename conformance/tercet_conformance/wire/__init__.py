"""An implementation in a process of its own, in any language: JSON lines over its stdin and stdout."""

"""Implementations that the suite brings with it."""

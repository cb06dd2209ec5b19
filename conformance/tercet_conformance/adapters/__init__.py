"""The implementations that come with the suite, each an adapter to real code."""

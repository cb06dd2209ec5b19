"""What right means when an agent's thread is summarised: words, definitions and rules."""

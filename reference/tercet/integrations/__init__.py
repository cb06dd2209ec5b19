"""What the reference offers for other people's packages; ``import tercet`` loads none of it."""

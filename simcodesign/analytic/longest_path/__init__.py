"""The longest path through the messages of a program: a lower bound of its simulation without effects."""

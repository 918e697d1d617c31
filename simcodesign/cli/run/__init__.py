"""Implementations of the larger commands; loaded by the command that runs."""

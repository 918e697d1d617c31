"""Ranks that take turns in one process: their order in time, state, messages on the way and log."""

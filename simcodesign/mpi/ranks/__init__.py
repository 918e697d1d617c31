"""Ranks that take turns in one process: their order in time, state, messages in flight and log."""

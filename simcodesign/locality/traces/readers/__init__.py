"""Readers of address traces: arrays of numbers and texts."""

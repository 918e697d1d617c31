"""Aspen models simulated and compared with their closed form."""

"""Caches of several levels, simulated access by access."""

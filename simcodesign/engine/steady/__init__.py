"""Loops cut short: a few iterations are simulated, and the rest is extrapolated."""

"""Axes of a sweep, the points that they span, and what is tied to them."""

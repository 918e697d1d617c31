"""Lessons and their questions in the formats of learning platforms, and notebooks in Jupyter's."""

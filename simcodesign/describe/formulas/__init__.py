"""Formulas that a user brings: what they are, in which symbols, and the times that were measured beside them."""

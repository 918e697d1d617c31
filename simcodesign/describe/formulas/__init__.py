"""Formulas of the user: their definition, their symbols, and the measured times to compare them with."""

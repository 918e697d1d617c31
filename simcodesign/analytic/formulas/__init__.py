"""Formulas as text and as SymPy expressions."""

"""Formulas of the user's own whose unknown coefficients are fitted to measurements."""

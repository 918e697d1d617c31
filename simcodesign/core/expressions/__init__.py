"""Formulas: parsed, computed, bounded by intervals, and as SymPy has them."""

"""How far a model is to be trusted: exponents between the tried ones, intervals, a smallest point in another regime."""

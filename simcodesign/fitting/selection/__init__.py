"""The search for the best model: terms, exponents, candidate models and their ranking."""

"""Formulas of the user's compared with both readings: their values, what they leave out, a ladder of each."""

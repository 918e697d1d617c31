"""Formulas of queueing theory: stations, networks, closed loops, open streams."""

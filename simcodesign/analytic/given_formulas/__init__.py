"""Formulas that a workload or a user gives: what their names are at a design point, and their values."""

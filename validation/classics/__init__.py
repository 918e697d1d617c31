"""Formulas of the literature that shipped workloads carry: where they hold, where they fail, and what explains it."""

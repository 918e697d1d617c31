"""Requirement models from measurements: the performance model normal form, chosen and judged."""

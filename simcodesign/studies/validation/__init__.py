"""Holding the system against numbers that others published or that theory gives, with computed verdicts."""

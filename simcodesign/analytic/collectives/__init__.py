"""Closed forms of collective operations: one record for each algorithm."""

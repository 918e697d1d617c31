"""Closed forms of collective operations: one record for each algorithm, in a module for each operation."""

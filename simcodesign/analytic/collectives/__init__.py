"""Closed forms of collective operations, for the forecast: a record for each algorithm, a module for each operation."""

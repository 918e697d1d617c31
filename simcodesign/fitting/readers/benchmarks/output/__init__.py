"""Outputs of benchmarks of every format: their text, lines, runs, names of operations, and tables of rows."""

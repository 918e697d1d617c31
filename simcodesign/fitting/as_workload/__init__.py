"""Fitted models written as workload files."""

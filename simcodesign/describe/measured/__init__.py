"""Measurements on a real machine: values with their spread, and times of a workload at a design point."""

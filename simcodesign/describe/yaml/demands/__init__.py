"""Readers of the demands of a workload file, each with the declarations of its keys."""

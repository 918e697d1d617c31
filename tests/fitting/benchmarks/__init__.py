"""Readers of what benchmarks print."""

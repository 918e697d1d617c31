"""Outputs of benchmarks, as tables of tidy measurements."""

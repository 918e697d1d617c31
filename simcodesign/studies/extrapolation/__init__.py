"""Predictions for large runs from counters of small simulated runs."""

"""Forecasts of several jobs on one machine."""

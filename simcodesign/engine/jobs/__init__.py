"""Simulations of several jobs on one machine."""

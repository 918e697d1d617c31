"""Searching a space of designs for the best one under constraints."""

"""Randomness: distributions, noise, failures."""

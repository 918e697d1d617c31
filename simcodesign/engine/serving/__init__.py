"""Simulation of a server of a language model, step by step of its batch."""

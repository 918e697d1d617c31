"""Accuracy maps over sweeps.

Times of formulas at each point, their errors against the simulation, and their regions.
"""

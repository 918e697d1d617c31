"""Accuracy maps over sweeps: times of formulas at each point, their errors against the simulation, and their
regions."""

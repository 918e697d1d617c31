"""Sweeps: many points of a design, as grids and samples, evaluated anywhere, and kept in a store that survives."""

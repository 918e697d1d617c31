"""Sweeps: many points of a design, as grids or samples, by several processes, kept in a store."""

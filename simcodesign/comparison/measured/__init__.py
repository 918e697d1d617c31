"""Measured times compared with both readings: their sources, and which of them hold at a design point."""

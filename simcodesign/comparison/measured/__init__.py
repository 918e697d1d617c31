"""Measured times compared with both readings: where they are from, and which of them hold at a design point."""

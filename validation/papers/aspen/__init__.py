"""Aspen design-space exploration (Spafford, Vetter)."""

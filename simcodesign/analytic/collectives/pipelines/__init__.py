"""Collectives whose data are passed on in segments, one behind another."""

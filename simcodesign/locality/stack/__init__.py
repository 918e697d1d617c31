"""Exact stack distances of a trace."""

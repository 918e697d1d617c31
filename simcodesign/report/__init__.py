"""Plots, pages and timelines of results."""

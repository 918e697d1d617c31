"""Plots of how the problem has to grow with the machine."""

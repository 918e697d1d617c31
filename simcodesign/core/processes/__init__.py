"""Processes that work side by side: pools, maps in order, and stopping at a signal."""

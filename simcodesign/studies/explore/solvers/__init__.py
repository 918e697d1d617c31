"""Bisection, local and global search, and the proof or explanation that nothing is feasible."""

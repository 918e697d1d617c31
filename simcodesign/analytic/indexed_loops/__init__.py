"""Sums over the iterations of loops whose body depends on the index."""

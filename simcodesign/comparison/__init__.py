"""The two readings side by side, and the ladder of effects that explains why they differ."""

"""The LRU stack model: profiles, exact distances from address traces, caches, synthetic reference streams."""

"""The LRU stack model: stack distances of address traces, profiles of them, caches, synthetic streams."""

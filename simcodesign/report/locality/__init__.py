"""Reports of stack distances and caches."""

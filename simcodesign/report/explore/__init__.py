"""Reports of explorations."""

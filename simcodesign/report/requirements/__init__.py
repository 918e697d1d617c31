"""Reports of requirements co-design."""

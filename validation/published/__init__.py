"""The published numbers, one table per file, with citation."""

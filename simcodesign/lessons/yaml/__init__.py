"""A lesson out of its YAML and Markdown files."""

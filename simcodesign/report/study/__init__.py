"""A study's answers as a page."""

"""Lessons in tables."""

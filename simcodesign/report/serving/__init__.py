"""Servers of language models as tables."""

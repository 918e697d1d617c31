"""Presentation of results: tables, plots, JSON, pages."""

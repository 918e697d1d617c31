"""Shared parts of all reports: tables, number formats, plot style, progress bars."""

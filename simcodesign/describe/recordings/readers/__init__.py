"""Readers of the traces of other tools, one module for each format."""

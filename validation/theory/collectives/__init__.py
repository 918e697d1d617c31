"""Collective operations."""

"""Answers about several jobs on one machine."""

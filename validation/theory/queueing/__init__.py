"""Stations and networks of queueing theory."""

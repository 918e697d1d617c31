"""Machines and workloads as data."""

"""Declarations of the keys of machine and workload files, from which readers, schemas and reference pages are made."""

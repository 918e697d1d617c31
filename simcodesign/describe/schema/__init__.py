"""JSON Schema and reference of machine and workload files, made of the declarations of their keys."""

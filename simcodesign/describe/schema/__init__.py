"""JSON Schema of machine and workload files, made by watching the readers of these files."""

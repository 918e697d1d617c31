"""A program that uses mpi4py: the times of its run as a table, and the cell magic of notebooks."""

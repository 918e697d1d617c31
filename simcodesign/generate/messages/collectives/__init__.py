"""Messages of collective operations, for the simulation: a function for each algorithm, a module for each operation."""

"""Files that all ranks of a program open together, MPI's parallel input and output."""

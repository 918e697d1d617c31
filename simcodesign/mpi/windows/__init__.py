"""Windows: memory of a rank that others read and write, MPI's one-sided communication."""

"""Requirements of a program that uses mpi4py: recorded on few ranks, fitted, and written as a workload."""

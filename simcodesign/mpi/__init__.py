"""Programs that use mpi4py, run without MPI: all ranks in one process, their calls recorded as a workload."""

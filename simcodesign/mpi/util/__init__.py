"""``mpi4py.util`` and ``mpi4py.futures``: what mpi4py itself makes of messages and windows."""

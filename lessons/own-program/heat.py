"""Heat in a plate, cut into strips of rows: a student's exercise. One argument: in-order or both-ways.

simcodesign run heat.py -n 16 --on cluster.yaml --compute flops -- in-order
"""

import sys

import numpy as np
from mpi4py import MPI

import simcodesign as sc

HOW = sys.argv[1]
POINTS = 2048  # along an edge of the plate
SWEEPS = 4

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
above = rank - 1 if rank > 0 else MPI.PROC_NULL
below = rank + 1 if rank < ranks - 1 else MPI.PROC_NULL

rows = POINTS // ranks
plate = np.zeros((rows + 2, POINTS))  # the strip, and a row of each neighbour
halo_above, halo_below = plate[0], plate[rows + 1]
first, last = plate[1], plate[rows]
if rank == 0:
    halo_above[:] = 100.0  # the hot edge

for _ in range(SWEEPS):
    with sc.phase("halo"):
        if HOW == "in-order":
            comm.Recv(halo_above, above)
            comm.Send(last, below)
            comm.Recv(halo_below, below)
            comm.Send(first, above)
        else:
            comm.Sendrecv(last, below, recvbuf=halo_above, source=above)
            comm.Sendrecv(first, above, recvbuf=halo_below, source=below)
    with sc.phase("points"):
        inner = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = inner / 4
        sc.compute(flops=4 * rows * (POINTS - 2))  # three sums and a division for each point

if rank == 0:
    print(f"mean of the first row: {first.mean():.6f}")

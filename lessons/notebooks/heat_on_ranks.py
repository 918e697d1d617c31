# An mpi4py program on 256 nodes that you do not have: `marimo edit heat_on_ranks.py`, or `python heat_on_ranks.py`.
# In Jupyter the magic `%%simulate -n 256 --on fugaku --compute flops --ladder` above the program does the same.
import marimo  # pip install 'simcodesign[notebooks]', or: simcodesign lesson notebook heat_on_ranks --write n.ipynb

app = marimo.App()


@app.cell
def _():
    from importlib.util import find_spec
    from math import isclose

    import numpy as np

    import simcodesign as sc

    return find_spec, isclose, np, sc


@app.cell
def _():
    # The exercise: heat in a plate, in strips of rows. Put a program of your own here.
    PROGRAM = """
import sys

import numpy as np
from mpi4py import MPI

import simcodesign as sc

points, sweeps = int(sys.argv[1]), int(sys.argv[2])
comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
above = rank - 1 if rank > 0 else MPI.PROC_NULL
below = rank + 1 if rank < ranks - 1 else MPI.PROC_NULL

rows = points // ranks
plate = np.zeros((rows + 2, points))
if rank == 0:
    plate[0] = 100.0  # the hot edge

for _ in range(sweeps):
    with sc.phase("halo"):
        comm.Sendrecv(plate[rows], below, recvbuf=plate[0], source=above)
        comm.Sendrecv(plate[1], above, recvbuf=plate[rows + 1], source=below)
    with sc.phase("points"):
        inner = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = inner / 4
        sc.compute(flops=4 * rows * (points - 2))

with sc.phase("sum"):
    heat = comm.allreduce(float(plate[1:-1].sum()))
if rank == 0:
    print(heat)
"""
    return (PROGRAM,)


@app.cell
def _(PROGRAM, sc):
    # All ranks run here, without MPI; messages carry the data. Computation is what the program declares.
    RANKS, POINTS, SWEEPS = 256, 1024, 4
    machine = sc.Machine.load("fugaku")
    done = sc.run("heat.py", RANKS, machine, arguments=[str(POINTS), str(SWEEPS)], speed=None, source=PROGRAM)
    print(f"{done.operations} operations of {done.ranks} ranks")
    return POINTS, RANKS, SWEEPS, done, machine


@app.cell
def _(POINTS, SWEEPS, done, isclose, np):
    # The result is right: the same plate in one piece.
    whole = np.zeros((POINTS + 2, POINTS))
    whole[0] = 100.0
    for _ in range(SWEEPS):
        whole[1:-1, 1:-1] = (whole[:-2, 1:-1] + whole[2:, 1:-1] + whole[1:-1, :-2] + whole[1:-1, 2:]) / 4
    ((_rank, printed),) = done.lines
    print(f"heat: {printed} on {done.ranks} ranks, {whole[1:-1].sum()} in one piece")
    assert isclose(float(printed), whole[1:-1].sum(), rel_tol=1e-12)
    return


@app.cell
def _(POINTS, RANKS, SWEEPS, done, isclose, machine, sc):
    # The sum of closed forms, and the halo by hand, with the constants of the machine:
    # two rows out and two in at the same time.
    hockney = machine.network.message_model
    row_s = hockney.startup_s + 8 * POINTS * hockney.per_byte_s
    points_s = 4 * (POINTS // RANKS) * (POINTS - 2) / machine.processor.rate_flop_per_s
    forecast = sc.forecast(done.workload, machine, {"P": RANKS}, longest_path=False)
    halo_s, computed_s = forecast.phases["halo"]["communication"], forecast.phases["points"]["computation"]
    print(f"halo: {1e6 * halo_s:.3f} us, by hand {1e6 * SWEEPS * 2 * row_s:.3f} us")
    print(f"points: {1e6 * computed_s:.3f} us, by hand {1e6 * SWEEPS * points_s:.3f} us")
    assert isclose(halo_s, SWEEPS * 2 * row_s, rel_tol=1e-12)
    assert isclose(computed_s, SWEEPS * points_s, rel_tol=1e-12)
    return


@app.cell
def _(RANKS, done, machine, sc):
    # The ladder: what the formula leaves out. The same recording on another machine needs no other run.
    compared = sc.compare(done.workload, machine, {"P": RANKS})
    print(compared)
    print(sc.compare(done.workload, "torus-cluster", {"P": RANKS}))
    return (compared,)


@app.cell
def _(RANKS, done, find_spec, machine, sc):
    # The Gantt chart of the first ranks.
    simulated = sc.simulate(done.workload, machine, {"P": RANKS}, timeline=True)
    chart = simulated.plot() if find_spec("matplotlib") else None
    chart  # noqa: B018 - marimo shows the last value of a cell
    return (chart,)


if __name__ == "__main__":
    app.run()

"""Grids and graphs of ranks: places and neighbours by arithmetic, and what neighbours exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError

Runner = Callable[..., Any]

GRID = """
grid = comm.Create_cart([3, 2], periods=[True, False], reorder=True)
x, y = divmod(rank, 2)
assert (grid.dim, grid.ndim, grid.Get_dim(), grid.dims, grid.periods) == (2, 2, 2, [3, 2], [1, 0])
assert grid.Get_topo() == grid.topo == ([3, 2], [1, 0], [x, y])
assert grid.Get_topology() == MPI.CART and grid.is_topo and comm.Get_topology() == MPI.UNDEFINED and not comm.is_topo
assert [grid.Get_coords(r) for r in range(6)] == [list(divmod(r, 2)) for r in range(6)]
assert grid.Get_cart_rank([x + 3, y]) == grid.Get_cart_rank([x - 6, y]) == rank
null = MPI.PROC_NULL
edges = [(2 * x - 2) % 6 + y, (2 * x + 2) % 6 + y, rank - 1 if y else null, null if y else rank + 1]
assert grid.inoutedges == (edges, edges) and grid.inedges == grid.outedges == edges
assert grid.degrees == (4, 4) and grid.indegree == grid.outdegree == 4
assert grid.Shift(0, 2) == (((x - 2) % 3) * 2 + y, ((x + 2) % 3) * 2 + y) and grid.Shift(1, -1) == (edges[3], edges[2])
assert grid.Sub([False, True]).allgather(rank) == [2 * x, 2 * x + 1]
assert grid.Sub([False, False]).size == 1
assert comm.Cart_map([2, 2]) == (rank if rank < 4 else MPI.UNDEFINED)
assert MPI.Compute_dims(24, 3) == [4, 3, 2] and MPI.Compute_dims(12, [0, 2]) == [6, 2]
part = comm.Create_cart([2, 2])
assert (part == MPI.COMM_NULL) == (rank >= 4)
"""

GRAPH = """
index, edges = [2, 3, 4, 6], [1, 3, 0, 3, 0, 2]  # the example of MPI 4.1, section 8.5.4
graph = comm.Create_graph(index, edges)
mine = [[1, 3], [0], [3], [0, 2]]
assert (graph.Get_dims(), graph.dims, graph.nnodes, graph.nedges) == ((4, 6), (4, 6), 4, 6)
assert graph.Get_topo() == graph.topo == (index, edges) and graph.Get_topology() == MPI.GRAPH
assert [graph.Get_neighbors(r) for r in range(4)] == mine
assert [graph.Get_neighbors_count(r) for r in range(4)] == [2, 1, 1, 2]
assert (graph.neighbors, graph.nneighbors, graph.inoutedges) == (mine[rank], len(mine[rank]), (mine[rank], mine[rank]))
assert graph.neighbor_allgather(10 * rank) == [10 * r for r in mine[rank]]
assert graph.neighbor_alltoall([(rank, r) for r in mine[rank]]) == [(r, rank) for r in mine[rank]]
room = np.zeros(2 * len(mine[rank]))
graph.Neighbor_allgather(np.array([rank, 0.5]), room)
assert room.tolist() == [x for r in mine[rank] for x in (r, 0.5)]
assert comm.Graph_map(index, edges) == rank
# Ring of one way, with weights; each rank gives the edges of the rank after it.
after, before = (rank + 1) % size, (rank - 1) % size
ring = comm.Create_dist_graph([after], [1], [(rank + 2) % size], [after + 10])
assert ring.Get_dist_neighbors_count() == (1, 1, True) and ring.Get_topology() == MPI.DIST_GRAPH
assert ring.Get_dist_neighbors() == ([before], [after], ([before + 10], [rank + 10]))
assert ring.neighbor_alltoall([f'from {rank}']) == [f'from {before}']
room = np.zeros(1, int)
request = ring.Ineighbor_alltoall(np.array([rank]), room)
request.Wait()
assert room[0] == before
# A star with two edges each: rank 0 sends twice to all others, which send nothing.
others = list(range(1, size)) * 2
sources, destinations = ([], others) if rank == 0 else ([0, 0], [])
star = comm.Create_dist_graph_adjacent(sources, destinations)
assert star.Get_dist_neighbors_count() == (len(sources), len(destinations), False)
assert star.Get_dist_neighbors()[:2] == (sources, destinations)
sent = np.arange(len(destinations)) if rank == 0 else None
got = star.neighbor_alltoall([10 * i for i in range(len(destinations))])
assert got == ([] if rank == 0 else [10 * (rank - 1), 10 * (rank - 1 + size - 1)])
room = np.zeros(len(sources), int)
star.Neighbor_alltoall(np.arange(len(destinations)), room)
assert room.tolist() == ([] if rank == 0 else [rank - 1, rank - 1 + size - 1])
"""

NEIGHBOURS = """
line = comm.Create_cart([size])
mine, room = np.array([rank, rank + 100]), np.full(2, -1)
line.Neighbor_alltoall(mine, room)  # to the rank before, to the rank after
assert room.tolist() == [-1 if rank == 0 else rank - 1 + 100, -1 if rank == size - 1 else rank + 1]
assert line.neighbor_allgather(rank) == [None if rank == 0 else rank - 1, None if rank == size - 1 else rank + 1]
ring = comm.Create_cart([size], periods=[True])
before, after = (rank - 1) % size, (rank + 1) % size
room[:] = -1
ring.Neighbor_alltoall(mine, room)
assert room.tolist() == [before + 100, after]
counts, theirs = [1, 2], [2, 1]
out = np.array([rank, rank + 50, rank + 60])
room = np.full(4, -1)
ring.Neighbor_alltoallv([out, counts], [room, (theirs, [2, 0])])
assert room.tolist() == [after, -1, before + 50, before + 60]
room = np.zeros(6)
ring.Neighbor_allgatherv(np.full(2, rank + 0.5), [room, (2, [4, 1]), MPI.DOUBLE])
assert room.tolist() == [0, after + 0.5, after + 0.5, 0, before + 0.5, before + 0.5]
room = np.zeros(12, 'u1')
sent = np.concatenate([np.array([rank + 0.25]).view('u1'), np.array([rank], 'i4').view('u1')])
kinds = [MPI.DOUBLE, MPI.INT]
ring.Neighbor_alltoallw([sent, [1, 1], [0, 8], kinds], [room, ([1, 1], [0, 4]), kinds[::-1]])
assert room[:4].view('i4')[0] == before and room[4:].view('f8')[0] == after + 0.25
rooms = [np.full(2, -1) for _ in range(2)]
requests = [ring.Ineighbor_alltoall(mine, rooms[0]), ring.Ineighbor_allgather(mine[:1], rooms[1])]
MPI.Request.Waitall(requests)
assert [one.tolist() for one in rooms] == [[before + 100, after], [before, after]]
request = ring.Neighbor_alltoall_init(mine, rooms[0])
for step in range(2):
    mine += 1000
    request.Start()
    request.Wait()
    assert rooms[0].tolist() == [before + 1100 + 1000 * step, after + 1000 + 1000 * step]
"""


@pytest.mark.parametrize(("text", "ranks"), [(GRID, 6), (GRAPH, 4), (NEIGHBOURS, 5), (NEIGHBOURS, 2), (NEIGHBOURS, 1)])
def test_neighbours(ran: Runner, text: str, ranks: int) -> None:
    """With two ranks or one in a ring, both edges lead to the same rank."""
    done = ran(text, ranks)
    point = {"P": float(ranks)}
    assert sc.simulate(done.workload, "crossbar-16", point).makespan_s >= 0
    assert sc.forecast(done.workload, "crossbar-16", point).makespan_s >= 0


def test_neighbours_send_a_message_each(ran: Runner) -> None:
    """A line of five ranks has four edges, both ways; an exchange that was begun is hidden by computation."""
    text = """
    import time
    line = comm.Create_cart([size])
    request = line.Ineighbor_alltoall(np.zeros(2000, 'u1'), np.zeros(2000, 'u1'))
    time.sleep(1)
    request.Wait()
    """
    done = ran(text, 5)
    simulated = sc.simulate(done.workload, "crossbar-16", {"P": 5}, effects="none")
    assert (simulated.messages, simulated.message_bytes, simulated.makespan_s) == (8, 8 * 1000, 1.0)


def test_a_halo_exchange_is_that_of_one_process(ran: Runner) -> None:
    """Sweeps of a closed row of 24 points on 4 ranks, by sums of neighbours modulo 97, against plain Python."""
    text = """
    ring = comm.Create_cart([size], periods=[True])
    u = np.arange(rank * 6, rank * 6 + 6) ** 2 % 97
    for _ in range(15):
        halo = np.zeros(2, u.dtype)
        ring.Neighbor_alltoall(u[[0, -1]], halo)
        row = np.concatenate([halo[:1], u, halo[1:]])
        u = (row[:-2] + 3 * row[2:]) % 97
    print(*u)
    """
    done = ran(text, 4)
    u = [i**2 % 97 for i in range(24)]
    for _ in range(15):
        u = [(u[i - 1] + 3 * u[(i + 1) % 24]) % 97 for i in range(24)]
    assert [int(x) for _, line in sorted(done.lines) for x in line.split()] == u


WRONG = [
    ("comm.Create_cart([2, 2])", r"have these dimensions, got \[2, 2\]"),
    ("comm.Create_cart([2], periods=[True, False])", r"have these dimensions"),
    ("comm.Create_cart([2]).Get_cart_rank([2])", r"outside the grid, got \[2\]"),
    ("comm.Create_graph([1, 2], [1, 2])", r"not a rank of it, got 2 \(allowed: 0 to 1\)"),
    ("comm.Create_graph([2, 1], [1, 0])", r"rank to rank, got \[2, 1\]"),
    ("comm.Create_dist_graph([0], [2], [1])", r"of the degrees, got 1 \(allowed: 2"),
    ("comm.Create_dist_graph_adjacent([0], [0], [1, 2], [1])", r"for each edge, got 2 \(allowed: 1\)"),
    ("comm.Create_cart([2]).neighbor_alltoall([1])", r"parts sent .*number of neighbours, got 1 \(allowed: 2\)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), WRONG)
def test_what_is_wrong_is_said(ran: Runner, text: str, match: str) -> None:
    with pytest.raises(InputError, match=r"program\.py:5: .*" + match):
        ran(text, 2)

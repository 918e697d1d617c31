"""Communicators of two groups: who is there, messages across, merging, collective operations (MPI 4.1, sections 6.2, 7.6)."""

from __future__ import annotations

from pathlib import Path

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from tests.mpi.programs import run_text

#: Ranks 0 and 1 are one group, 2 to 4 the other; leaders are ranks 1 and 2.
GROUPS = """
side = int(rank > 1)
own = comm.Split(side, rank)
inter = own.Create_intercomm([1, 0][side], comm, [2, 1][side], 5)
mine, others = ([0, 1], [2, 3, 4])[:: 1 - 2 * side]
"""


def test_two_groups(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        GROUPS
        + """
assert isinstance(inter, MPI.Intercomm) and inter.Is_inter() and inter.is_inter and not inter.is_intra
assert (inter.size, inter.rank, inter.remote_size) == (len(mine), mine.index(rank), len(others))
assert inter.Get_group() == own.Get_group() and inter.Get_remote_group().size == inter.Get_remote_size()
assert inter.remote_group.Translate_ranks(None, comm.group) == others
got = inter.sendrecv(rank, 0, 3, source=0, recvtag=3) if inter.rank == 0 else None
assert got == (others[0] if inter.rank == 0 else None)
if side == 0:
    for to in range(3):
        inter.send((rank, to), to)
else:
    status = MPI.Status()
    found = {inter.recv(status=status): status.source for _ in range(2)}
    assert found == {(0, inter.rank): 0, (1, inter.rank): 1}
assert inter.Merge(high=side == 0).allgather(rank) == [2, 3, 4, 0, 1]
assert inter.Merge(high=side == 1).allgather(rank) == [0, 1, 2, 3, 4]
assert inter.Merge().size == 5
assert inter.Dup().Compare(inter) == MPI.CONGRUENT and inter.Compare(inter) == MPI.IDENT
part = inter.Split(rank % 2)
assert part.group.Translate_ranks(None, comm.group) == [one for one in mine if one % 2 == rank % 2]
assert part.remote_group.Translate_ranks(None, comm.group) == [one for one in others if one % 2 == rank % 2]
few = inter.Create(inter.group.Incl([0]))
assert few == MPI.COMM_NULL if inter.rank else few.allgather(rank) == others[:1]
inter.Free()
assert inter == MPI.COMM_NULL
""",
        5,
    )


def test_collective_operations_of_two_groups(tmp_path: Path) -> None:
    """Results are those of the other group; with ROOT, of one rank in it."""
    done = run_text(
        tmp_path,
        GROUPS
        + """
inter.Barrier()
assert inter.allgather(rank) == others
assert inter.allreduce(rank) == sum(others)
assert inter.alltoall([(rank, to) for to in others]) == [(one, rank) for one in others]
root = 1 if side else MPI.ROOT if rank == 1 else MPI.PROC_NULL
assert inter.bcast(rank, root) == (1 if side else None)
assert inter.gather(rank, root) == ([2, 3, 4] if rank == 1 else None)
assert inter.reduce(rank, root=root) == (9 if rank == 1 else None)
assert inter.scatter('abc' if rank == 1 else None, root) == ('abc'[inter.rank] if side else None)
a, b = np.array([1.0, rank]), np.zeros(2)
inter.Allreduce(a, b)
assert b.tolist() == [len(others), sum(others)]
b = np.zeros(2 * len(others))
inter.Allgather(a, b)
assert b.tolist() == [value for one in others for value in (1, one)]
b = np.array([7.0]) if rank == 1 else np.zeros(1)
inter.Bcast(b, root)
assert b[0] == (7 if side or rank == 1 else 0)
b = np.zeros(2)
inter.Reduce(a, b, MPI.MAX, root)
assert b.tolist() == ([1, 4] if rank == 1 else [0, 0])
b = np.zeros(6)
inter.Gather(a, b, root)
assert b.tolist() == ([1, 2, 1, 3, 1, 4] if rank == 1 else [0] * 6)
b = np.zeros(1)
inter.Scatter(np.arange(3.0), b, root)
assert b[0] == (inter.rank if side else 0)
""",
        5,
    )
    assert sc.simulate(done.workload, "crossbar-16", {"P": 5}).makespan_s > 0


def test_a_broadcast_goes_through_rank_0_of_the_other_group(tmp_path: Path) -> None:
    """One message to rank 2 (10 us + 8 B at 100 MB/s), and two rounds among ranks 2, 3 and 4."""
    done = run_text(
        tmp_path,
        GROUPS + "root = 0 if side else MPI.ROOT if rank == 0 else MPI.PROC_NULL\ninter.Bcast(np.zeros(1), root)",
        5,
    )
    simulated = sc.simulate(done.workload, "crossbar-16", {"P": 5}, effects="none")
    assert simulated.messages == 3
    assert simulated.makespan_s == pytest.approx(3 * (10e-6 + 8e-8), rel=1e-12)


WRONG = [
    ("comm.Create_intercomm(0, comm, 0)", r"py:5: .*in this group, got 0"),
    ("comm.Split(rank).Create_intercomm(0, comm, 1 - rank).Scan(1, 2)", r"py:5: mpi4py's Intercomm.Scan is not sim"),
    ("comm.Split(rank).Create_intercomm(0, comm, 1 - rank).send(1, 1)", r"rank that does not exist, got 1 .allowed: 0 to 0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), WRONG)
def test_wrong_intercommunicators(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        run_text(tmp_path, text, 2)


def test_parts_that_differ_of_two_groups(tmp_path: Path) -> None:
    """Each rank gets from each of the other group what that one has for it, in buffers of any length and type."""
    run_text(
        tmp_path,
        GROUPS
        + """
peers, count = range(len(others)), len(others)
got = np.zeros(count, int)
inter.Alltoall(np.arange(count) + 10 * rank, got)
assert got.tolist() == [10 * other + inter.rank for other in others]
# This rank has (rank in its group + 1) * (other's + 1) items for each other rank: both sides know the sizes.
sizes = [(inter.rank + 1) * (peer + 1) for peer in peers]
given, room = np.repeat(100 * rank + np.arange(count), sizes), np.zeros(sum(sizes), int)
inter.Alltoallv([given, sizes], [room, sizes])
assert room.tolist() == [100 * other + inter.rank for other, size in zip(others, sizes) for _ in range(size)]
room[:] = 0
places = list(8 * (np.cumsum(sizes) - sizes))
inter.Alltoallw([given, sizes, places, [MPI.LONG] * count], [room, sizes, places, [MPI.LONG] * count])
assert room.tolist() == [100 * other + inter.rank for other, size in zip(others, sizes) for _ in range(size)]
lengths = [peer + 1 for peer in peers]
whole = [other for other, length in zip(others, lengths) for _ in range(length)]
mine = np.full(inter.rank + 1, rank)
every = np.zeros(sum(lengths), int)
inter.Allgatherv(mine, [every, lengths])
assert every.tolist() == whole
root = MPI.ROOT if side == 0 and inter.rank == 1 else MPI.PROC_NULL if side == 0 else 1
one = np.zeros(sum(lengths), int)
inter.Gatherv(mine, [one, lengths], root)
assert one.tolist() == (whole if root == MPI.ROOT else [0] * sum(lengths))
part = np.zeros(inter.rank + 1, int)
inter.Scatterv([np.array(whole) * 2, lengths], part, root)
assert part.tolist() == ([2 * rank] * (inter.rank + 1) if side else [0] * len(part))
made = MPI.Intercomm.Create_from_groups(inter.group, 0, inter.remote_group, 0)
assert made.Compare(inter) == MPI.CONGRUENT and made.allgather(rank) == others
for act, kind in ((lambda: inter.reduce(1, root=count), MPI.Exception), (lambda: MPI.Intracomm(inter), TypeError)):
    try:
        act()
    except kind:
        continue
    assert False, kind
""",
        5,
    )

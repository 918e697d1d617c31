"""Operations of all ranks: data as MPI's standard defines them, times of begun ones against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign.core.errors import DeadlockError, InputError

Runner = Callable[..., Any]

#: Startup and seconds per byte of crossbar-16.
STARTUP_S, PER_BYTE_S = 10e-6, 1e-8

PARTS = """
mine = np.full(rank + 1, rank, 'i4')
counts, displs = [1, 2, 3, 4], [12, 9, 5, 0]
packed = np.repeat(np.arange(4), counts)
spread = np.full(13, -1)
for r in range(4):
    spread[displs[r] : displs[r] + counts[r]] = r
for whole, expected in (
    (lambda b: [b, counts], packed),
    (lambda b: (b, counts, MPI.INT), packed),
    (lambda b: [b, counts, 'i'], packed),
    (lambda b: [b, np.array(counts), None, MPI.INT], packed),
    (lambda b: [b, (counts, displs)], spread),
    (lambda b: [b, (counts, displs), MPI.INT], spread),
    (lambda b: [b, counts, displs, MPI.INT], spread),
    (lambda b: [b, np.array(counts), np.array(displs), 'i'], spread),
):
    room = np.full(len(expected), -1, 'i4')
    comm.Gatherv(mine, whole(room) if rank == 2 else None, root=2)
    assert room.tolist() == (expected.tolist() if rank == 2 else [-1] * len(expected))
    room = np.full(len(expected), -1, 'i4')
    comm.Allgatherv(mine, whole(room))
    assert room.tolist() == expected.tolist()
    part = np.full(rank + 1, -1, 'i4')
    comm.Scatterv(whole(expected.astype('i4')) if rank == 1 else None, part, root=1)
    assert part.tolist() == mine.tolist()
    request = comm.Iscatterv(whole(expected.astype('i4')) if rank == 1 else None, part * 0, root=1)
    request.Wait()
room = np.full(13, -1, 'i4')
room[displs[rank] : displs[rank] + counts[rank]] = rank
comm.Allgatherv(MPI.IN_PLACE, [room, counts, displs, MPI.INT])
assert room.tolist() == spread.tolist()
room = np.full(9, -1, 'i4')
comm.Allgatherv(np.full(2, rank, 'i4'), [room, (2, [7, 5, 2, 0]), MPI.INT])  # as many of each
assert room.tolist() == [3, 3, 2, 2, -1, 1, 1, 0, 0]
two = np.full(9, -1, 'i4')
comm.Gather([mine[:1].repeat(2), 2, MPI.INT], [two, 2, MPI.INT])  # a count: of each part
assert two.tolist() == ([0, 0, 1, 1, 2, 2, 3, 3, -1] if rank == 0 else [-1] * 9)
"""


def test_parts_in_all_their_forms(ran: Runner) -> None:
    ran(PARTS, 4)


def test_all_to_all_with_parts(ran: Runner) -> None:
    """Rank i has i + j + 1 values 10 i + j for rank j."""
    ran(
        """
        n = [rank + j + 1 for j in range(size)]
        at = [*np.cumsum([0, *n[:-1]])]
        out = np.concatenate([np.full(n[j], 10 * rank + j, 'i4') for j in range(size)])
        expected = np.concatenate([np.full(n[j], 10 * j + rank, 'i4') for j in range(size)])
        for form in (lambda b: [b, n], lambda b: [b, (n, at)], lambda b: [b, n, at, MPI.INT]):
            room = np.zeros(sum(n), 'i4')
            comm.Alltoallv(form(out), form(room))
            assert room.tolist() == expected.tolist()
            again = out.copy()
            comm.Alltoallv(MPI.IN_PLACE, form(again))
            assert again.tolist() == expected.tolist()
        # Types of their own, places in bytes: bytes of even ranks, doubles of odd ones.
        kinds = [MPI.BYTE if j % 2 == 0 else MPI.DOUBLE for j in range(size)]
        room = np.zeros(8 * size, 'u1')
        sent = np.zeros(8 * size, 'u1')
        for j in range(size):
            sent[8 * j : 8 * j + 8] = np.array([rank + j / 4.0]).view('u1') if rank % 2 else 10 * rank + j
        mine = MPI.DOUBLE if rank % 2 else MPI.BYTE
        places = [8 * j for j in range(size)]
        comm.Alltoallw([sent, [1] * size, places, [mine] * size], [room, ([1] * size, places), kinds])
        for j in range(size):
            if j % 2:
                assert room[8 * j : 8 * j + 8].view('f8')[0] == j + rank / 4.0
            else:
                assert room[8 * j : 8 * j + 8].tolist() == [10 * j + rank, 0, 0, 0, 0, 0, 0, 0]
        """,
        3,
    )


def test_reductions(ran: Runner) -> None:
    """Against NumPy on the matrix of what all ranks give."""
    ran(
        """
        import functools
        given = (np.arange(size * size).reshape(size, size) * 7) % 11
        mine = given[rank].copy()
        for op, plain in (
            (MPI.SUM, np.add), (MPI.PROD, np.multiply), (MPI.MAX, np.maximum), (MPI.MIN, np.minimum),
            (MPI.LAND, np.logical_and), (MPI.LOR, np.logical_or), (MPI.LXOR, np.logical_xor),
            (MPI.BAND, np.bitwise_and), (MPI.BOR, np.bitwise_or), (MPI.BXOR, np.bitwise_xor),
        ):
            def fold(rows):
                return functools.reduce(plain, rows) * 1
            whole = fold(given)
            room = np.zeros(size, int)
            comm.Allreduce(mine, room, op)
            assert room.tolist() == whole.tolist()
            comm.Scan(mine, room, op)
            assert room.tolist() == fold(given[: rank + 1]).tolist()
            room[:] = -5
            comm.Exscan(mine, room, op)
            assert room.tolist() == (fold(given[:rank]).tolist() if rank else [-5] * size)
            again = mine.copy()
            comm.Reduce(MPI.IN_PLACE if rank == 1 else again, again if rank == 1 else None, op, root=1)
            assert again.tolist() == (whole if rank == 1 else mine).tolist()
            one = np.zeros(1, int)
            comm.Reduce_scatter_block(mine, one, op)
            assert one[0] == whole[rank]
            again = mine.copy()
            comm.Reduce_scatter_block(None, again, op)
            assert again[0] == whole[rank]
            counts = [2, 0, 1, 1]
            begin = sum(counts[:rank])
            part = np.zeros(counts[rank], int)
            comm.Reduce_scatter(mine, part, counts, op)
            assert part.tolist() == whole[begin : begin + counts[rank]].tolist()
            part[:] = 0
            comm.Reduce_scatter(mine, part, op=op)
            assert part.tolist() == whole[begin : begin + counts[rank]].tolist()
            values = given[:, 0]
            assert comm.scan(int(values[rank]), op) == fold(values[: rank + 1])
            assert comm.exscan(int(values[rank]), op) == (fold(values[:rank]) if rank else None)
        other = np.arange(3)
        MPI.SUM.Reduce_local(np.array([10, 20, 30]), other)
        assert other.tolist() == [10, 21, 32]
        """,
        4,
    )


def test_the_order_of_ranks_in_an_operation_of_the_user(ran: Runner) -> None:
    """Products of matrices do not commute: rank 0's is the left one. MPI 4.1, section 6.9.5: inout = in op inout."""
    ran(
        """
        def product(left, right, kind):
            a, b = np.frombuffer(left).reshape(2, 2), np.frombuffer(right).reshape(2, 2)
            b[:] = a @ b
            assert kind == MPI.DOUBLE
        op = MPI.Op.Create(product)
        assert not op.Is_commutative() and not op.is_predefined and MPI.Op.Create(product, commute=True).is_commutative
        given = [np.array([[1.0, r], [2.0, 1.0 - r]]) for r in range(size)]
        def chain(these):
            return np.linalg.multi_dot(these) if len(these) > 1 else these[0]
        room = np.zeros((2, 2))
        comm.Allreduce(given[rank], room, op)
        assert np.array_equal(room, chain(given))
        comm.Scan(given[rank], room, op)
        assert np.array_equal(room, chain(given[: rank + 1]))
        comm.Exscan(given[rank], room, op)
        assert rank == 0 or np.array_equal(room, chain(given[:rank]))
        assert comm.allreduce(str(rank), op=lambda x, y: x + y) == '0123'
        assert comm.reduce([rank], root=3) == ([0, 1, 2, 3] if rank == 3 else None)
        op.Free()
        """,
        4,
    )


def test_places_of_the_largest_and_the_smallest(ran: Runner) -> None:
    ran(
        """
        values = [[3.0, 1.0], [7.0, 1.0], [7.0, 0.5]]
        for kind, code in ((MPI.DOUBLE_INT, 'f8'), (MPI.FLOAT_INT, 'f4'), (MPI.LONG_INT, 'i8'), (MPI.SHORT_INT, 'i2')):
            pair = np.dtype([('value', code), ('place', 'i4')], align=True)
            mine, room = np.zeros(2, pair), np.zeros(2, pair)
            mine['value'], mine['place'] = values[rank], rank
            comm.Allreduce([mine, kind], [room, 2, kind], MPI.MAXLOC)
            assert room['value'].tolist() == [7, 1] and room['place'].tolist() == [1, 0]
            comm.Reduce([mine, kind], [room, kind], MPI.MINLOC, root=1)
            smallest = 0.5 if code[0] == 'f' else 0
            assert rank != 1 or (room['value'].tolist() == [3, smallest] and room['place'].tolist() == [0, 2])
        assert (MPI.DOUBLE_INT.Get_size(), MPI.DOUBLE_INT.Get_extent()) == (12, (0, 16))
        two = np.zeros(2, 'i4')
        comm.Allreduce([np.array([5 - rank, rank], 'i4'), MPI.TWOINT], [two, MPI.INT_INT], MPI.MINLOC)
        assert two.tolist() == [3, 2]
        assert comm.allreduce((5 - rank, rank), MPI.MINLOC) == (3, 2)
        """,
        3,
    )


def test_begun_operations_have_the_same_data(ran: Runner) -> None:
    """All of them at once, waited for in another order; MPI counts them in the order of their beginning."""
    done = ran(
        """
        rooms = [np.zeros(n, int) for n in (1, 2, 2, size, size, 1, size, 1, 1, 3, 2, 2)]
        rooms[0][:] = 7 if rank == 2 else 0
        mine = np.array([rank, 10 * rank])
        each = np.arange(size) + 10 * rank
        requests = [
            comm.Ibcast(rooms[0], root=2),
            comm.Iallreduce(mine, rooms[1]),
            comm.Ireduce(mine, rooms[2], MPI.MAX, root=1),
            comm.Igather(mine[:1], rooms[3], root=0),
            comm.Iallgather(mine[:1], rooms[4]),
            comm.Iscatter(each, rooms[5], root=2),
            comm.Ialltoall(each, rooms[6]),
            comm.Ireduce_scatter_block(each, rooms[7]),
            comm.Ireduce_scatter(each, rooms[8], [1] * size),
            comm.Iallgatherv(mine[:1], [rooms[9], [1] * size]),
            comm.Iscan(mine, rooms[10]),
            comm.Iexscan(mine, rooms[11]),
            comm.Ibarrier(),
        ]
        mine, each = None, None  # a begun operation keeps what it needs
        assert all(requests)
        MPI.Request.Waitall(requests[::-1])
        assert not any(requests)
        sums = [3 * j + 30 for j in range(3)]
        expected = [
            [7], [3, 30], [2, 20] if rank == 1 else [0, 0], [0, 1, 2] if rank == 0 else [0, 0, 0], [0, 1, 2],
            [20 + rank], [rank, 10 + rank, 20 + rank], [sums[rank]], [sums[rank]], [0, 1, 2],
            [sum(range(rank + 1)), 10 * sum(range(rank + 1))], [sum(range(rank)), 10 * sum(range(rank))],
        ]
        assert [room.tolist() for room in rooms] == expected
        request = comm.Ialltoallv([np.array([rank] * 3), [1] * 3], [rooms[3], [1] * 3])
        while not request.Test():
            pass
        assert rooms[3].tolist() == [0, 1, 2]
        """,
        3,
    )
    assert done.operations == 3 * 14
    assert sc.simulate(done.workload, "crossbar-16", {"P": 3}).makespan_s > 0
    assert sc.forecast(done.workload, "crossbar-16", {"P": 3}).makespan_s > 0


@pytest.mark.parametrize(("computed_s", "size"), [(1.0, 1000), (5e-6, 1 << 20)])
def test_a_begun_broadcast_is_hidden_by_computation(ran: Runner, computed_s: float, size: int) -> None:
    """Binomial on 8 ranks takes 3 rounds: the run takes the longer of both."""
    text = f"request = comm.Ibcast(np.zeros({size}, 'u1'))\nimport time\ntime.sleep({computed_s})\nrequest.Wait()"
    done = ran(text, 8)
    took_s = sc.simulate(done.workload, "crossbar-16", {"P": 8}, effects="none").makespan_s
    assert took_s == pytest.approx(max(computed_s, 3 * (STARTUP_S + size * PER_BYTE_S)), rel=1e-12)


def test_an_exclusive_scan_is_priced_as_a_scan(ran: Runner) -> None:
    times = [
        sc.simulate(ran(f"comm.{name}(np.zeros(9), np.zeros(9))", 6).workload, "crossbar-16", {"P": 6}).makespan_s
        for name in ("Scan", "Exscan")
    ]
    assert times[0] == times[1] > 0


def test_a_wrong_root_is_an_error_after_which_ranks_go_on(ran: Runner) -> None:
    """The class is that of Open MPI 4.1.4 with mpi4py 4.1.2; rank 0 alone makes the call."""
    ran(
        """
        calls = [lambda: comm.reduce(1, root=-1), lambda: comm.bcast(1, root=size), lambda: comm.gather(1, root=size)]
        calls += [lambda: comm.Bcast(np.zeros(1), root=size), lambda: comm.Reduce(np.zeros(1), None, root=size)]
        for call in calls if rank == 0 else ():
            try:
                call()
            except MPI.Exception as error:
                assert error.Get_error_class() == MPI.ERR_ROOT
            else:
                raise AssertionError
        assert comm.allreduce(1) == size
        """,
        4,
    )


def test_no_objects_are_a_none_for_each_rank(ran: Runner) -> None:
    """As mpi4py 4.1.2 has it."""
    ran("assert comm.alltoall(None) == [None] * size and comm.scatter(None, root=1) is None", 4)


WRONG = [
    ("comm.Scan(np.zeros(1), np.zeros(1)) if rank else comm.Exscan(np.zeros(1), np.zeros(1))", InputError, "calls scan, another calls exscan"),
    ("comm.Ibcast(np.zeros(1), root=rank)", InputError, r"program\.py:5: rank 1 calls broadcast with root 1"),
    ("if rank == 0:\n    comm.Ibarrier().Wait()", DeadlockError, r"rank 0 in wait for barrier \(.*program\.py:6\)"),
    ("comm.Allgather(np.zeros(1), np.zeros(3))", InputError, r"among the ranks, got 3 \(allowed: a multiple of the 2"),
    ("comm.Allgatherv(np.zeros(1), [np.zeros(2), [1]])", InputError, r"for each rank, got 1 \(allowed: 2"),
    ("comm.Allgatherv(np.zeros(1), [np.zeros(2), [1, 1], [0, 2], MPI.DOUBLE])", InputError, r"got '1 elements from 2 on'"),
    ("comm.Reduce_scatter(np.zeros(3), np.zeros(2), [1, 1])", InputError, r"reduce and scatter .*, got \[3, 3\] \(allowed: 2,"),
    ("comm.Allreduce(np.zeros(1), np.zeros(1), MPI.MAXLOC)", InputError, r"MINLOC and MPI\.MAXLOC need pairs.*, got 'float64'"),
    ("comm.bcast(1, root=2)", InputError, r"program\.py:5: .*root of broadcast.*, got 2 \(allowed: 0 to 1\)"),
    ("comm.alltoall([1])", InputError, r"for each rank, got 1 \(allowed: 2\)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "match"), WRONG)
def test_what_is_wrong_is_said(ran: Runner, text: str, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        ran(text, 2)


def test_ranks_use_their_arrays_again_at_once(ran: Runner) -> None:
    """What a blocking operation was given may be changed after it: others have copies."""
    done = ran(
        """
        mine, room = np.full(1000, rank), np.zeros(4000, int)
        comm.Allgather(mine, room)
        mine[:] = -1
        print(room.sum())
        """,
        4,
    )
    assert [int(line) for _, line in done.lines] == [np.repeat(np.arange(4), 1000).sum()] * 4


def test_persistent_operations_begin_again_with_what_buffers_have_then(ran: Runner) -> None:
    ran(
        """
        mine, room, parts = np.zeros(1, int), np.zeros(1, int), np.zeros(size, int)
        requests = [comm.Allreduce_init(mine, room), comm.Allgather_init(mine, parts, info=MPI.INFO_NULL), comm.Barrier_init()]
        for step in range(3):
            mine[:] = rank + 10 * step
            MPI.Prequest.Startall(requests)
            MPI.Request.Waitall(requests)
            assert parts.tolist() == [r + 10 * step for r in range(size)] and room[0] == parts.sum()
        """,
        3,
    )


def test_all_to_all_with_derived_types(ran: Runner) -> None:
    """From rows to columns of a matrix of 6 x 8, as transforms of several dimensions do it: blocks by Create_subarray."""
    ran(
        """
        whole = np.arange(48.0).reshape(6, 8)
        rows = whole[2 * rank : 2 * rank + 2].copy()
        widths = [3, 3, 2]
        at = [0, 3, 6]
        columns = np.zeros((6, widths[rank]))
        out = [MPI.DOUBLE.Create_subarray([2, 8], [2, widths[j]], [0, at[j]]).Commit() for j in range(size)]
        into = [MPI.DOUBLE.Create_subarray([6, widths[rank]], [2, widths[rank]], [2 * j, 0]).Commit() for j in range(size)]
        places = ([1] * size, [0] * size)
        comm.Alltoallw([rows, places, out], [columns, places, into])
        assert columns.tolist() == whole[:, at[rank] : at[rank] + widths[rank]].tolist()
        again = np.zeros((2, 8))
        comm.Alltoallw([columns, places, into], [again, places, out])
        assert again.tolist() == rows.tolist()
        """,
        3,
    )


@pytest.mark.parametrize(
    ("call", "expected_us"),
    [
        # A ring: each step takes as long as the longest part on the path, 10 us and a part over 100 MB/s. The part of
        # 1,000 B is under way in both steps.
        ("comm.Allgatherv(own, [room, counts])", 2 * (10 + 10)),
        # Both begin together, and the root's link takes 500 B and 1,000 B one after another, as of two plain sends.
        ("comm.Gatherv(own, [room, counts])", 10 + 5 + 10),
        ("comm.Send(own, 0) if rank else [comm.Recv(room, source) for source in (1, 2)]", 10 + 5 + 10),
        # From the root one after another: 500 B, then 1,000 B.
        ("comm.Scatterv([room, counts], own)", 10 + 5 + 10 + 10),
    ],
)
def test_parts_that_differ_have_their_own_sizes(ran: Callable[..., Any], call: str, expected_us: float) -> None:
    text = f"""
    counts = [0, 500, 1000]
    own, room = np.zeros(counts[rank], "u1"), np.zeros(1500, "u1")
    {call}
    print(f"{{MPI.Wtime() * 1e6:.2f}}")
    """
    done = ran(text, 3)
    assert max(float(line) for _, line in done.lines) == pytest.approx(expected_us, abs=0.01)
    assert done.settled

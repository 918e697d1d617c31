"""Windows: data as MPI's standard defines them, times against closed forms of their messages."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.describe.machine import Machine

Runner = Callable[..., Any]

#: Startup and seconds per byte of crossbar-16.
STARTUP_S, PER_BYTE_S = 10e-6, 1e-8


def took_s(done: Any, machine: str | Machine = "crossbar-16") -> float:
    point = {"P": float(done.ranks)}
    assert sc.forecast(done.workload, machine, point).makespan_s >= 0
    return float(sc.simulate(done.workload, machine, point, effects="none").makespan_s)


def with_rendezvous() -> Machine:
    network = {"topology": {"kind": "crossbar"}, "startup": "10 us", "bandwidth": "100 MB/s", "S": "1 B"}
    head = {"simcodesign": 1, "name": "four", "nodes": 4}
    return Machine.load({**head, "processor": {"rate": "1 GFLOP/s"}, "network": network})


# --- Data -----------------------------------------------------------------------------------------------------

FENCES = """
memory = np.zeros(2 * size)
win = MPI.Win.Create(memory, memory.itemsize, comm=comm)
win.Fence()
for r in range(size):
    win.Put(np.array([rank + 0.5, r]), r, 2 * rank)
win.Fence()
assert memory.tolist() == [x for r in range(size) for x in (r + 0.5, rank)]
room = np.zeros(1)
win.Get(room, (rank + 1) % size, target=(2 * rank + 1, 1, MPI.DOUBLE))
win.Fence()
assert room[0] == (rank + 1) % size
win.Accumulate(np.full(2, 10.0 ** rank), 0, op=MPI.SUM)
win.Fence(MPI.MODE_NOSUCCEED)
assert rank or memory[:2].tolist() == [0.5 + 1111, 1111]
assert win.attrs == (memory.ctypes.data, memory.nbytes, 8) and win.Get_attr(MPI.WIN_SIZE) == 64
assert win and (win.group_rank, win.group_size, win.flavor) == (rank, size, MPI.WIN_FLAVOR_CREATE)
win.Free()
assert not win
"""

LOCKS = """
win = MPI.Win.Allocate(8 * size if rank == 1 else 0, 8, comm=comm)
mine = np.frombuffer(win.tomemory(), int)
win.Lock(1)
win.Put(np.array([rank * rank]), 1, rank)
win.Unlock(1)
comm.Barrier()
room = np.zeros(size, int)
win.Lock(1, MPI.LOCK_SHARED)
win.Get([room, size, MPI.LONG], 1)
win.Unlock(1)
assert room.tolist() == [0, 1, 4, 9]
one, other = np.ones(1, int), np.zeros(1, int)
comm.Barrier()
win.Lock_all()
request = win.Rget(other, 1, target=2)
request.Wait()
assert other[0] == 4
comm.Barrier()
win.Fetch_and_op(one * 10 ** rank, other, 1, 2, MPI.SUM)
win.Flush(1)
digits = str(other[0] - 4).zfill(4)
assert set(digits) <= {'0', '1'} and digits[-1 - rank] == '0'
comm.Barrier()
win.Fetch_and_op(one, other, 1, 2, MPI.NO_OP)
win.Flush(1)
assert other[0] == 4 + 1111
comm.Barrier()
win.Get_accumulate(one, other, 1, rank, MPI.REPLACE)
win.Flush(1)
assert other[0] == [0, 1, 1115, 9][rank]
win.Flush_all()
comm.Barrier()
win.Compare_and_swap(np.array([rank + 50]), np.array([1 if rank == 3 else 7]), other, 1, rank)
win.Flush(1)
assert other[0] == 1
comm.Barrier()
win.Rput(one * 2, 1, 0).Wait() if rank == 0 else win.Raccumulate(one * 5, 1, 1, MPI.MAX).Wait()
win.Unlock_all()
comm.Barrier()
assert rank != 1 or mine.tolist() == [2, 5, 1, 53]
win.Free()
"""

SHARED = """
win = MPI.Win.Allocate_shared(4 * (rank + 1), 4, comm=comm)
mine = np.ndarray(rank + 1, 'i4', buffer=win.Shared_query(rank)[0])
mine[:] = rank
win.Fence()
for r in range(size):
    memory, unit = win.Shared_query(r)
    assert np.frombuffer(memory, 'i4').tolist() == [r] * (r + 1) and unit == 4
assert win.Shared_query(MPI.PROC_NULL)[0].nbytes == 4
win.Fence()
if rank == 2:
    np.frombuffer(win.Shared_query(0)[0], 'i4')[0] = 77
comm.Barrier()
assert np.frombuffer(win.Shared_query(0)[0], 'i4')[0] == 77
assert rank or mine[0] == 77
"""


GROUPS = """
memory = np.zeros(size)
win = MPI.Win.Create(memory, 8, comm=comm)
others = comm.Get_group().Excl([rank])
win.Post(others)
win.Start(others)
for r in range(size):
    if r != rank:
        win.Put(np.array([rank + 1.0]), r, rank)
win.Complete()
win.Wait()
assert memory.tolist() == [0.0 if r == rank else r + 1.0 for r in range(size)]
# Rank 0 reads from all others, which ask again and again whether it is done.
first = comm.Get_group().Incl([0])
if rank == 0:
    room = np.zeros((size, size))
    win.Start(others)
    for r in range(1, size):
        win.Get(room[r], r)
    win.Complete()
    assert room[1:].sum() == (size - 1) * size * (size + 1) / 2 - sum(range(2, size + 1))
else:
    win.Post(first)
    while not win.Test():
        pass
win.Free()
"""


@pytest.mark.parametrize("text", [FENCES, LOCKS, SHARED, GROUPS])
def test_data_of_accesses(ran: Runner, text: str) -> None:
    done = ran(text, 4)
    assert took_s(done) > 0
    assert took_s(done, with_rendezvous()) > 0


def test_a_lock_lets_one_rank_in_at_a_time(ran: Runner) -> None:
    """The holder waits for others within the lock; without it, both would read the same number."""
    done = ran(
        """
        win = MPI.Win.Allocate(8 if rank == 0 else 0, comm=comm)
        for _ in range(3):
            room = np.zeros(1, int)
            win.Lock(0)
            win.Get(room, 0)
            win.Flush(0)
            room += 1
            win.Put(room, 0)
            win.Unlock(0)
        comm.Barrier()
        if rank == 0:
            print(np.frombuffer(win.tomemory(), int)[0])
        """,
        4,
    )
    assert [line for _, line in done.lines] == ["12"]
    assert took_s(done) > 0


def test_a_rank_sees_what_another_has_put_while_it_looks(ran: Runner) -> None:
    ran(
        """
        flag = np.zeros(1, int)
        win = MPI.Win.Create(flag, comm=comm)
        win.Lock_all()
        if rank == 1:
            win.Put(np.ones(1, int), 0)
            win.Flush(0)
        else:
            while not flag[0]:
                win.Sync()
        win.Unlock_all()
        """,
        2,
    )


# --- Times ----------------------------------------------------------------------------------------------------

WINDOW = "win = MPI.Win.Create(np.zeros(1000, 'u1'), comm=comm)\nroom = np.ones(1000, 'u1')\n"
#: A barrier of two ranks is one round.
BARRIER_S, EMPTY_S, FULL_S = STARTUP_S, STARTUP_S, STARTUP_S + 1000 * PER_BYTE_S
TIMES = {
    "fences": ("win.Fence()\nwin.Fence()", 2 * BARRIER_S),
    "put between fences": ("win.Fence()\nif rank == 0: win.Put(room, 1)\nwin.Fence()", 2 * BARRIER_S + FULL_S),
    "get between fences": ("win.Fence()\nif rank == 0: win.Get(room, 1)\nwin.Fence()", 2 * BARRIER_S + EMPTY_S + FULL_S),
    "fetch between fences": (
        "win.Fence()\nif rank == 0: win.Get_accumulate(room, room * 2, 1)\nwin.Fence()",
        2 * BARRIER_S + 2 * FULL_S,
    ),
    "put under a lock": ("if rank == 0:\n    win.Lock(1)\n    win.Put(room, 1)\n    win.Unlock(1)", FULL_S),
    "get under a lock": ("if rank == 0:\n    win.Lock(1)\n    win.Get(room, 1)\n    win.Unlock(1)", EMPTY_S + FULL_S),
    "put to a group": (
        "group = comm.Get_group().Incl([1 - rank])\n"
        "if rank == 0:\n    win.Start(group)\n    win.Put(room, 1)\n    win.Complete()\n"
        "else:\n    win.Post(group)\n    win.Wait()",
        2 * EMPTY_S + FULL_S,
    ),
    "own memory": ("win.Lock(rank)\nwin.Get(room, rank)\nwin.Put(room, rank)\nwin.Unlock(rank)", 0.0),
    "the other computes": (
        "import time\nif rank == 0:\n    win.Lock(1)\n    win.Get(room, 1)\n    win.Unlock(1)\n    time.sleep(1)\n"
        "else:\n    time.sleep(1.5)",
        1.5,
    ),
    "the one computes first": (
        "import time\nif rank == 0:\n    time.sleep(1)\n    win.Lock(1)\n    win.Get(room, 1)\n    win.Unlock(1)\n"
        "else:\n    time.sleep(1)",
        1.0 + EMPTY_S + FULL_S,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TIMES)
def test_times_of_accesses(ran: Runner, case: str) -> None:
    text, expected_s = TIMES[case]
    assert took_s(ran(WINDOW + text, 2)) == pytest.approx(expected_s, rel=1e-9, abs=1e-15)


def test_accesses_to_a_rank_that_waits_end_under_rendezvous(ran: Runner) -> None:
    """Rank 1 is in the barrier all the time; rank 0 joins it when its accesses are done."""
    machine = with_rendezvous()
    text = """
    if rank == 0:
        win.Lock(1)
        win.Put(room, 1)
        win.Flush(1)
        win.Get(room, 1)
        win.Unlock(1)
    comm.Barrier()
    """
    assert took_s(ran(WINDOW + textwrap.dedent(text), 2, machine), machine) > 0


# --- Wrong programs -------------------------------------------------------------------------------------------

WRONG = [
    ("win.Put(room, 1)", InputError, r"program\.py:7: rank \d calls Put while it may not access the memory of rank 1"),
    ("win.Fence()\nwin.Put(room, 1, 1)", InputError, r"program\.py:8: Put leaves the memory of rank 1, got '1000 bytes from byte 1"),
    ("win.Fence()\nwin.Get(room, 2)", InputError, r"no such rank, got 2 \(allowed: 0 to 1\)"),
    ("win.Fence() if rank == 0 else comm.Barrier()", InputError, "rank 0 calls Win.Fence, another calls barrier"),
    ("win.Unlock(0)", InputError, r"rank \d unlocks rank 0, which it has not locked"),
    ("win.Lock(0)\nwin.Lock(0)", InputError, r"rank \d locks rank 0 again"),
    ("win.Lock(0) if rank == 0 else None\ncomm.Barrier()\nwin.Lock(0) if rank else comm.recv(source=1)", DeadlockError, "rank 1 in lock of the memory of rank 0"),
    ("win.Shared_query(0)", InputError, "Shared_query is called of a window that is not shared"),
    ("win.Fence()\nwin.Accumulate(room, 0, op=MPI.Op.Create(max))", InputError, "Accumulate takes no operation"),
    ("win.Fence()\nwin.Get(np.zeros(4, 'u1'), 1, (0, 5))", InputError, r"the target of Get has more bytes .*, got 5 \(allowed: up to 4 B"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "match"), WRONG)
def test_what_is_wrong_is_said(ran: Runner, text: str, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        ran(WINDOW + text, 2)


def test_a_shared_counter_balances_the_load(ran: Runner) -> None:
    """Rank 0 takes 3 s for a task, rank 1 takes 1 s: of eight, rank 0 does those of 0 and 3 s, in 6 s altogether."""
    done = ran(
        """
        import time
        win = MPI.Win.Allocate(8 if rank == 0 else 0, 8, comm=comm)
        task, done = np.zeros(1, int), 0
        while True:
            win.Lock(0)
            win.Fetch_and_op(np.ones(1, int), task, 0)
            win.Unlock(0)
            if task[0] >= 8:
                break
            time.sleep(3 if rank == 0 else 1)
            done += 1
        print(done)
        """,
        2,
    )
    assert dict(done.lines) == {0: "2", 1: "6"}
    assert took_s(done) == pytest.approx(6, abs=1e-3)


def test_a_get_puts_items_with_gaps_where_their_datatype_has_them(ran: Callable[..., Any]) -> None:
    ran(
        """
        from array import array
        room = array('i', [5, 6, 7])
        win = MPI.Win.Create(room if rank == 0 else None, 4, comm=comm)
        ends = MPI.INT.Create_indexed([1, 1], [0, 2]).Commit()
        found = array('i', [0, 0, 0])
        win.Lock(0)
        win.Get([found, 1, ends], 0, [0, 2, MPI.INT])
        win.Unlock(0)
        assert found.tolist() == [5, 0, 6]
        win.Free()
        """,
        2,
    )


def test_targets_may_have_gaps(ran: Runner) -> None:
    """Columns and elements with a negative first place, against NumPy's; a place outside of the memory is an error."""
    ran(
        """
        memory = np.zeros((3, 4)) + rank
        win = MPI.Win.Create(memory, memory.itemsize, comm=comm)
        column = MPI.DOUBLE.Create_vector(3, 1, 4).Commit()
        back = MPI.DOUBLE.Create_indexed([1, 1], [-2, 1]).Commit()
        expected, other = memory.copy(), (rank + 1) % size
        expected[:, 1] = 10 * ((rank - 1) % size) + np.arange(3)
        win.Fence()
        win.Put(10 * rank + np.arange(3.0), other, (1, 1, column))
        win.Fence()
        assert (memory == expected).all()
        win.Fence()
        win.Accumulate(np.full(2, 100.0), other, (4, 1, back), MPI.SUM)
        win.Fence()
        expected.ravel()[[2, 5]] += 100
        assert (memory == expected).all()
        room, ends = np.zeros(3), np.zeros(2)
        win.Get(room, other, (1, 1, column))
        win.Get_accumulate(np.zeros(2), ends, other, (4, 1, back), MPI.NO_OP)
        win.Fence()
        assert room.tolist() == [10 * rank, 10 * rank + 101, 10 * rank + 2] and ends.tolist() == [other + 100, room[1]]
        try:
            win.Put(np.zeros(2), other, (1, 1, back))
        except MPI.Exception as error:
            assert error.error_class == MPI.ERR_RMA_RANGE
        else:
            assert False
        win.Fence()
        assert (memory == expected).all()
        """,
        3,
    )


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (
            "win.Fetch_and_op(np.zeros(2), np.zeros(2), 0)",
            r"Fetch_and_op takes exactly one element, got 2 \(allowed: 1\)",
        ),
        (
            "win.Compare_and_swap(np.zeros(1), np.zeros(2), np.zeros(1), 0)",
            r"Compare_and_swap takes exactly one element, got 2",
        ),
        (
            "win.Put(np.zeros(1), 0, (0, 1, MPI.DOUBLE, None))",
            r"the target of Put .*, got .* \(allowed: place, count and datatype",
        ),
    ],
)
def test_arguments_of_accesses(call: str, error: str, ran: Runner) -> None:
    with pytest.raises(InputError, match=error):
        ran(f"win = MPI.Win.Allocate(16, comm=comm)\nwin.Fence()\n{call}", 1)

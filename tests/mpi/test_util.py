"""``mpi4py.util`` and ``mpi4py.futures``, exchanges that are begun, requests of a program, dynamic windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def test_exchanges_that_are_begun(ran: Callable[..., Any]) -> None:
    """Each rank gets its left neighbour's number; a message of 800 B takes 10 us + 8 us on 100 MB/s."""
    text = """
    got = np.zeros(100)
    request = comm.Isendrecv(np.full(100, rank + 0.0), (rank + 1) % size, 0, got, (rank - 1) % size, 0)
    request.Wait()
    assert (got == (rank - 1) % size).all()
    print(f"{MPI.Wtime() * 1e6:.2f}")
    both = np.array([rank])
    comm.Isendrecv_replace(both, (rank + 1) % size, 0, (rank - 1) % size).Wait()
    assert both[0] == (rank - 1) % size
    """
    assert {line for _, line in ran(text, 3).lines} == {"18.00"}


def test_requests_of_a_program(ran: Callable[..., Any]) -> None:
    text = """
    ended = []
    request = MPI.Grequest.Start(lambda status: status.Set_tag(7), lambda: ended.append(1), None)
    assert not request.Test()
    request.complete(42)
    status = MPI.Status()
    assert request.wait(status) == 42 and status.tag == 7 and ended == [1] and not request
    """
    ran(text, 1)


def test_windows_to_which_memory_is_attached(ran: Callable[..., Any]) -> None:
    """Places in a dynamic window are addresses (MPI 4.1, section 12.2.4)."""
    text = """
    window = MPI.Win.Create_dynamic(comm=comm)
    own = np.arange(4.0) + 10 * rank
    window.Attach(own)
    addresses = comm.allgather(MPI.Get_address(own))
    other = (rank + 1) % size
    got = np.zeros(2)
    window.Lock(other)
    window.Get(got, other, addresses[other] + 8)
    window.Unlock(other)
    assert got.tolist() == [10 * other + 1, 10 * other + 2]
    key = MPI.Win.Create_keyval()
    window.Set_attr(key, "mine")
    assert window.Get_attr(key) == "mine" and window.Get_attr(MPI.WIN_BASE) == 0
    comm.Barrier()
    window.Detach(own)
    try:
        window.Detach(own)
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_RMA_ATTACH
        print("twice")
    window.Free()
    """
    assert len(ran(text, 2).lines) == 2


def test_locks_counters_and_conditions(ran: Callable[..., Any]) -> None:
    """No two ranks are in the block; no two get the same number; a permit is taken twice at most."""
    text = """
    from mpi4py.util import sync
    counter = sync.Counter(comm=comm)
    numbers = comm.gather([next(counter) for _ in range(3)])
    if rank == 0:
        assert sorted(sum(numbers, [])) == list(range(3 * size))
    mutex, shared = sync.Mutex(comm=comm), MPI.Win.Allocate_shared(8 * (rank == 0), 8, comm=comm)
    cell = np.frombuffer(shared.Shared_query(0)[0], np.int64)
    for _ in range(3):
        with mutex:
            before = cell[0]
            comm.Iprobe()  # others have a turn
            cell[0] = before + 1
    comm.Barrier()
    assert cell[0] == 3 * size
    with sync.Sequential(comm):
        print("in turn", rank)
    condition = sync.Condition(comm=comm)
    if rank:
        with condition:
            condition.wait_for(lambda: cell[0] == 100)
    else:
        comm.recv(source=1) if size < 2 else None
        with condition:
            cell[0] = 100
            condition.notify_all()
    semaphore = sync.Semaphore(2, comm=comm)
    with semaphore:
        pass
    for one in (counter, mutex, condition, semaphore):
        one.free()
    """
    lines = [line for _, line in ran(text, 4).lines]
    assert lines == [f"in turn {rank}" for rank in range(4)]


@pytest.mark.parametrize("ranks", [1, 4])
def test_tasks_of_a_communicator(ran: Callable[..., Any], ranks: int) -> None:
    """The root hands 20 tasks to the others; without others it does them."""
    text = """
    from mpi4py.futures import MPICommExecutor
    def square(x):
        return x * x, MPI.COMM_WORLD.rank
    with MPICommExecutor(comm, root=0) as executor:
        if executor is not None:
            found = list(executor.map(square, range(20)))
            print([one for one, _ in found] == [x * x for x in range(20)], sorted({by for _, by in found}))
            failed = executor.submit(divmod, 1, 0)
            print(type(failed.exception()).__name__)
    comm.Barrier()
    """
    workers = [0] if ranks == 1 else [1, 2, 3]
    assert [line for _, line in ran(text, ranks).lines] == [f"True {workers}", "ZeroDivisionError"]


def test_tasks_of_a_pool(ran: Callable[..., Any]) -> None:
    """Rank 0 goes on, the others work and then end, as under ``python -m mpi4py.futures``; a task of 1 s takes 1 s."""
    text = """
    import time
    from concurrent.futures import as_completed
    from mpi4py.futures import MPIPoolExecutor
    from mpi4py.util.pool import Pool
    def slow(x):
        time.sleep(1)
        return x
    with MPIPoolExecutor() as executor:
        print(sorted(one.result() for one in as_completed([executor.submit(slow, x) for x in range(6)])))
    print(f"{MPI.Wtime():.2f}")
    """
    assert ran(text, 4).lines == ((0, "[0, 1, 2, 3, 4, 5]"), (0, "2.00"))


def test_a_pool_of_one_rank(ran: Callable[..., Any]) -> None:
    text = """
    from mpi4py.util.pool import Pool
    with Pool() as pool:
        assert pool.map(abs, [-1, 2]) == [1, 2] and pool.starmap(pow, [(2, 3)]) == [8] and pool.apply(abs, (-3,)) == 3
        assert pool.apply_async(abs, (-4,)).get() == 4
    """
    ran(text, 1)


def test_how_datatypes_were_made(ran: Callable[..., Any]) -> None:
    """Contents as MPI 4.1, section 5.1.13 lists them, and as real mpi4py prints them."""
    text = """
    I = MPI.INT
    made = {
        "NAMED": (I, (0, 0, 0, 0), None),
        "VECTOR": (I.Create_vector(2, 1, 3), (3, 0, 0, 1), ([2, 1, 3], [], [])),
        "HVECTOR": (I.Create_hvector(2, 1, 30), (2, 1, 0, 1), ([2, 1], [30], [])),
        "INDEXED": (I.Create_indexed([1, 2], [3, 4]), (5, 0, 0, 1), ([2, 1, 2, 3, 4], [], [])),
        "HINDEXED_BLOCK": (I.Create_hindexed_block(2, [3, 90]), (2, 2, 0, 1), ([2, 2], [3, 90], [])),
        "INDEXED_BLOCK": (I.Create_indexed_block(2, [3, 9]), (4, 0, 0, 1), ([2, 2, 3, 9], [], [])),
        "STRUCT": (MPI.Datatype.Create_struct([1, 2], [0, 8], [I, MPI.DOUBLE]), (3, 2, 0, 2), ([2, 1, 2], [0, 8], [])),
        "SUBARRAY": (I.Create_subarray([4, 5], [2, 3], [1, 1]), (8, 0, 0, 1), ([2, 4, 5, 2, 3, 1, 1, 0], [], [])),
        "RESIZED": (I.Create_resized(0, 8), (0, 2, 0, 1), ([], [0, 8], [])),
        "F90_REAL": (MPI.Datatype.Create_f90_real(6, 30), (2, 0, 0, 0), ([6, 30], [], [])),
    }
    for way, (one, counts, contents) in made.items():
        assert one.Get_envelope() == (*counts, getattr(MPI, "COMBINER_" + way)), way
        assert one.decode()[1] == way and (contents is None or one.Get_contents()[:3] == contents), way
    assert made["VECTOR"][0].typestr == "V16" and I.typestr == "i4" and made["F90_REAL"][0].typechar == "f"
    from mpi4py.util import dtlib
    kind = np.dtype([("a", "i4"), ("b", "f8", (3,))], align=True)
    there = dtlib.from_numpy_dtype(kind)
    assert (there.size, there.extent) == (28, 32)
    assert dtlib.to_numpy_dtype(there).itemsize == 32
    room = np.zeros(4, np.uint8)
    assert I.Pack_external("external32", np.array([258], "i4"), room, 0) == 4 and room.tolist() == [0, 0, 1, 2]
    """
    ran(text, 1)


def test_a_program_that_runs_again_finds_its_files_as_before(ran: Callable[..., Any], tmp_path: Any) -> None:
    """It reads the clock, and so runs twice; what it appends is in the file once."""
    kept = tmp_path / "kept.txt"
    kept.write_text("before\n")
    text = f"""
    there = comm.allreduce(rank)
    with open({str(kept)!r}, "a") as file:
        file.write(f"{{rank}}\\n")
    file = MPI.File.Open(comm, {str(tmp_path / "data")!r}, MPI.MODE_CREATE | MPI.MODE_WRONLY | MPI.MODE_APPEND)
    file.Write_ordered(np.array([rank], "u1"))
    file.Close()
    MPI.Wtime()
    """
    assert ran(text, 3).runs == 2
    first, *ranks = kept.read_text().splitlines()
    assert first == "before"
    assert sorted(ranks) == ["0", "1", "2"]
    assert (tmp_path / "data").read_bytes() == bytes([0, 1, 2])


def test_a_condition_that_is_freed_lets_its_lock_go(ran: Callable[..., Any]) -> None:
    """Each rank acquires a lock that was made before the condition, and frees the condition: the next one follows."""
    text = """
    from mpi4py.util.sync import Condition, Mutex
    mutex = Mutex(recursive=True, comm=comm)
    condition = Condition(mutex, comm=comm)
    condition.acquire()
    condition.acquire()
    condition.free()
    assert not mutex.locked()
    with mutex:
        assert mutex.count() == 1
    mutex.free()
    """
    ran(text, 4)

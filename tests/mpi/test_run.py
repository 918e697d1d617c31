"""Programs that use mpi4py: results against plain Python, times against closed forms, errors with the user's line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.core.errors import DeadlockError, InputError
from simcodesign.describe.machine import Machine
from tests.mpi.conftest import HEAD

Runner = Callable[..., Any]
#: Startup and seconds per byte of crossbar-16.
STARTUP_S, PER_BYTE_S = 10e-6, 1e-8


def printed(done: Any) -> list[str]:
    return [line for _, line in done.lines]


# --- Times ----------------------------------------------------------------------------------------------------


def test_a_ping_pong_measures_the_machine(ran: Runner) -> None:
    """Half a round trip is startup + bytes x seconds per byte, as the program's own clock shows it."""
    done = ran(
        """
        for n in (0, 1, 1000, 65536):
            b = np.zeros(n, 'u1')
            comm.Barrier()
            t = MPI.Wtime()
            for _ in range(10):
                if rank == 0:
                    comm.Send(b, 1)
                    comm.Recv(b, 1)
                else:
                    comm.Recv(b, 0)
                    comm.Send(b, 0)
            if rank == 0:
                print(n, (MPI.Wtime() - t) / 20)
        """,
        2,
    )
    assert done.settled
    for line in printed(done):
        size, seconds = map(float, line.split())
        assert seconds == pytest.approx(STARTUP_S + size * PER_BYTE_S, rel=1e-9)


@pytest.mark.parametrize("size", [8, 1 << 20])
def test_a_broadcast_takes_its_rounds(ran: Runner, size: int) -> None:
    """Binomial on 8 ranks: 3 rounds."""
    done = ran(f"comm.Bcast(np.zeros({size}, 'u1'))", 8)
    simulated = sc.simulate(done.workload, "crossbar-16", {"P": 8}, effects="none")
    assert simulated.makespan_s == pytest.approx(3 * (STARTUP_S + size * PER_BYTE_S), rel=1e-12)


def test_a_clock_without_operations(ran: Runner) -> None:
    done = ran("print(MPI.Wtime())", 2)
    assert done.settled
    assert done.operations == 0


def test_a_recording_has_its_number_of_ranks(ran: Runner) -> None:
    done = ran("comm.Barrier()", 4)
    for ranks in (2, 8):
        with pytest.raises(InputError, match=r"parameter 'P' cannot have this value, got .* at least 4, at most 4"):
            sc.simulate(done.workload, "crossbar-16", {"P": ranks})


def test_computation_sleep_and_imports(ran: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """3 CPU s on a machine of twice the speed and 1.5 s of sleep count; 5 CPU s within an import do not."""
    clock = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(time, "process_time", lambda: clock.now_s)
    monkeypatch.setitem(sys.modules, "cpu_clock", clock)
    (tmp_path / "slow.py").write_text("import cpu_clock\ncpu_clock.now_s += 5\n")
    done = ran(
        "import time, cpu_clock\nimport slow\ncpu_clock.now_s += 3\ntime.sleep(1.5)\ncomm.Barrier()", 1, speed=2.0
    )
    assert sc.simulate(done.workload, "crossbar-16", {"P": 1}, effects="none").makespan_s == 3.0


def test_a_recording_repeats(ran: Runner) -> None:
    text = """
        for step in range(3):
            request = comm.Isend(np.full(100, rank), (rank + 1) % size, step)
            room = np.zeros(100, int)
            comm.Recv(room, (rank - 1) % size, step)
            request.Wait()
            print(int(room[0]), comm.allreduce(rank))
    """
    one, other = ran(text, 5), ran(text, 5)
    times = [sc.simulate(done.workload, "crossbar-16", {"P": 5}).makespan_s for done in (one, other)]
    assert one.lines == other.lines
    assert times[0] == times[1] > 0


# --- Results --------------------------------------------------------------------------------------------------


def test_jacobi_is_that_of_one_process(ran: Runner) -> None:
    """Sweeps of a row of 60 points on 6 ranks against NumPy."""
    done = ran(
        """
        n = 60 // size
        u = np.zeros(n + 2)
        u[1:-1] = np.arange(rank * n, (rank + 1) * n) ** 2
        left, right = (rank - 1, rank + 1)
        left = MPI.PROC_NULL if left < 0 else left
        right = MPI.PROC_NULL if right == size else right
        for _ in range(20):
            comm.Sendrecv(u[1:2], left, 0, u[-1:], right, 0)
            comm.Sendrecv(u[-2:-1], right, 1, u[0:1], left, 1)
            u[1:-1] = (u[:-2] + u[2:]) / 2
        whole = np.zeros(60) if rank == 0 else None
        comm.Gather(u[1:-1].copy(), whole)
        if rank == 0:
            print(whole.tobytes().hex())
        """,
        6,
    )
    u = np.zeros(62)
    u[1:-1] = np.arange(60) ** 2
    for _ in range(20):
        u[1:-1] = (u[:-2] + u[2:]) / 2
    assert np.array_equal(np.frombuffer(bytes.fromhex(printed(done)[0])), u[1:-1])


def test_collectives_of_objects_and_buffers(ran: Runner) -> None:
    done = ran(
        """
        assert comm.bcast({'a': 7} if rank == 2 else None, root=2) == {'a': 7}
        assert comm.gather(rank * rank, root=1) == ([0, 1, 4, 9] if rank == 1 else None)
        assert comm.scatter([f'to {i}' for i in range(size)] if rank == 0 else None) == f'to {rank}'
        assert comm.allgather(rank) == [0, 1, 2, 3]
        assert comm.alltoall([10 * rank + i for i in range(size)]) == [10 * i + rank for i in range(size)]
        assert comm.reduce(rank + 1, op=MPI.PROD) == (24 if rank == 0 else None)
        assert comm.allreduce((rank % 2, rank), op=MPI.MAXLOC) == (1, 1)
        assert comm.scan(rank) == sum(range(rank + 1))
        a, b = np.arange(3.0) + rank, np.zeros(3)
        comm.Allreduce(a, b, MPI.MAX)
        assert b.tolist() == [3, 4, 5]
        comm.Allreduce(MPI.IN_PLACE, a)
        assert a.tolist() == [6, 10, 14]
        parts = np.zeros(10, 'i4')
        comm.Allgatherv(np.full(rank + 1, rank, 'i4'), [parts, [1, 2, 3, 4], MPI.INT])
        assert parts.tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
        mine = np.zeros(2)
        comm.Scatter(np.arange(8.0) if rank == 0 else None, mine)
        assert mine.tolist() == [2 * rank, 2 * rank + 1]
        out = np.zeros(4, int)
        comm.Alltoall(np.arange(4) + 10 * rank, out)
        assert out.tolist() == [rank, 10 + rank, 20 + rank, 30 + rank]
        def larger(x, y, kind):
            np.frombuffer(y)[:] = np.maximum(np.frombuffer(x), np.frombuffer(y))
        top = np.zeros(1)
        comm.Allreduce(np.array([float(rank)]), top, MPI.Op.Create(larger))
        assert top[0] == 3
        half = np.zeros(1)
        comm.Reduce_scatter_block(np.arange(4.0), half)
        assert half[0] == 4 * rank
        """,
        4,
    )
    assert done.operations > 0
    assert sc.simulate(done.workload, "crossbar-16", {"P": 4}, effects="none").makespan_s > 0


def test_matching_is_by_the_order_of_posting(ran: Runner) -> None:
    """The receive that was posted first gets the first message, whichever is waited for first."""
    done = ran(
        """
        if rank == 0:
            comm.send('a', 1)
            comm.send('b', 1)
        else:
            first, second = comm.irecv(source=0), comm.irecv(source=0)
            print(second.wait(), first.wait())
        """,
        2,
    )
    assert printed(done) == ["b a"]


def test_buffers_received_as_objects(ran: Runner) -> None:
    """An empty message is None, as in mpi4py; another one is what was pickled."""
    ran(
        """
        import pickle
        requests = [comm.Isend(data, rank) for data in (np.zeros(0), pickle.dumps([1, 2]), b'')]
        assert comm.recv(source=rank) is None
        assert comm.recv(source=rank) == [1, 2]
        assert comm.irecv(source=rank).wait() is None
        MPI.Request.Waitall(requests)
        """,
        2,
    )


def test_large_objects(ran: Runner) -> None:
    """With the module that mpi4py has for them, as with its plain communicators."""
    done = ran(
        """
        from mpi4py.util import pkl5
        import mpi4py.util.pkl5
        comm = pkl5.Intracomm(MPI.COMM_WORLD)
        print(comm.sendrecv(np.full(10**6, rank), 1 - rank, source=1 - rank).sum())
        """,
        2,
    )
    assert sorted(done.lines) == [(0, "1000000"), (1, "0")]


def test_communicators(ran: Runner) -> None:
    done = ran(
        """
        row = comm.Split(rank // 3, -rank)
        assert (row.size, row.rank) == (3, 2 - rank % 3)
        assert row.allgather(rank) == [3 * (rank // 3) + i for i in (2, 1, 0)]
        assert (comm.Split(MPI.UNDEFINED if rank else 0, 0) == MPI.COMM_NULL) == (rank > 0)
        grid = comm.Create_cart(MPI.Compute_dims(6, 2), periods=[True, False])
        assert grid.dims == [3, 2] and grid.Get_cart_rank(grid.coords) == grid.rank == rank
        up, down = grid.Shift(0, 1)
        assert (up, down) == ((rank - 2) % 6, (rank + 2) % 6)
        assert grid.Shift(1, 1) == ((MPI.PROC_NULL, rank + 1) if rank % 2 == 0 else (rank - 1, MPI.PROC_NULL))
        assert grid.sendrecv(rank, down, source=up) == up
        assert grid.Sub([True, False]).allreduce(rank) == sum(range(rank % 2, 6, 2))
        comm.Dup().Barrier()
        for one in (comm, MPI.COMM_SELF, comm.Dup(), row, grid):
            assert isinstance(one, MPI.Intracomm) and isinstance(one, MPI.Comm)
        """,
        6,
    )
    assert sc.simulate(done.workload, "torus-cluster", {"P": 6}).makespan_s > 0


def test_a_master_and_workers(ran: Runner) -> None:
    done = ran(
        """
        if rank == 0:
            status, results = MPI.Status(), []
            for task in range(9):
                results.append(comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status))
                comm.send(task, status.Get_source())
            for worker in range(1, size):
                comm.recv(source=worker)
                comm.send(None, worker)
            print(len(results))
        else:
            while True:
                comm.send(rank, 0)
                if comm.recv(source=0) is None:
                    break
        """,
        4,
    )
    assert printed(done) == ["9"]
    assert done.in_time == 9
    assert sc.simulate(done.workload, "crossbar-16", {"P": 4}).messages == 2 * (9 + 3)


def test_each_rank_has_its_own_state(ran: Runner, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("value = 0\n")
    before = {"helper", "mpi4py"} & set(sys.modules)
    done = ran(
        """
        import random, sys
        import helper
        random.seed(rank)
        helper.value += rank + 1
        comm.Barrier()
        assert helper.value == rank + 1
        assert random.random() == random.Random(rank).random()
        print(sys.argv[1:], __name__)
        """,
        3,
        arguments=["7", "x"],
    )
    assert printed(done) == ["['7', 'x'] __main__"] * 3
    assert {"helper", "mpi4py"} & set(sys.modules) == before


def test_options_of_mpi4py_are_of_each_rank(ran: Runner) -> None:
    """MPI has begun on import, or with Init if rc.initialize is False; names as mpi4py 4 documents them."""
    ran(
        """
        import mpi4py, sys
        from mpi4py import rc
        assert rc is mpi4py.rc is sys.modules['mpi4py.rc']
        assert (rc.initialize, rc.thread_level, rc.finalize, rc.errors) == (True, 'multiple', None, 'exception')
        assert MPI.Is_initialized() and not MPI.Is_finalized()
        mpi4py.rc(initialize=False, threads=False)
        assert not MPI.Is_initialized() and not rc.threads
        comm.Barrier()
        assert MPI.Init_thread(MPI.THREAD_MULTIPLE) == MPI.Query_thread()
        assert MPI.Is_initialized() and not MPI.Is_finalized()
        MPI.Finalize()
        assert MPI.Is_initialized() and MPI.Is_finalized()
        try:
            rc.initialise = False
        except TypeError:
            print(mpi4py.get_config())
        """,
        3,
    )


def test_random_numbers_of_modules_are_of_each_rank(ran: Runner, tmp_path: Path) -> None:
    (tmp_path / "drawing.py").write_text(
        "import numpy as np\n\ndef seed(n):\n    np.random.seed(n)\n\ndef draw():\n    return np.random.rand()\n"
    )
    done = ran("import drawing\ndrawing.seed(rank)\ncomm.Barrier()\nprint(drawing.draw())", 3)
    expected = [np.random.RandomState(rank).rand() for rank in range(3)]
    assert [float(line) for _, line in sorted(done.lines)] == expected


def test_random_numbers_do_not_depend_on_turns(ran: Runner) -> None:
    """Each rank draws what a process of its own draws: also the second of two normal numbers that NumPy makes together,
    and after a state of the same memory that still has it."""
    done = ran(
        """
        own, drawn, expected = np.random.RandomState(rank + 7), [], []
        np.random.seed(rank + 7)
        for turn in range(24):
            for stream, numbers in ((np.random, drawn), (own, expected)):
                if turn % 4 == rank % 4 or turn % 5 == 2:
                    numbers.append(stream.randn())
                if turn % 6 == 1:
                    numbers.append(stream.randint(100))
            comm.Barrier()
            if turn == 9:
                saved = np.random.get_state(), own.get_state()
                np.random.randn(), own.randn()
            if turn == 10:
                np.random.set_state(saved[0]), own.set_state(saved[1])
            comm.Barrier()
        assert drawn == expected, (drawn, expected)
        print(len(drawn))
        """,
        7,
    )
    assert len(printed(done)) == 7


def test_a_buffered_send_waits_for_nobody(ran: Runner) -> None:
    text = "MPI.Attach_buffer(bytearray(4000))\ncomm.Bsend(np.zeros(2000, 'u1'), 1 - rank)\ncomm.Recv(np.zeros(2000, 'u1'), 1 - rank)"
    done = ran(text, 2, _with_rendezvous())
    assert sc.simulate(done.workload, _with_rendezvous(), {"P": 2}).messages == 2


def test_a_receive_that_is_never_waited_for(ran: Runner) -> None:
    done = ran("comm.send(1, 1) if rank == 0 else comm.irecv(source=0)\ncomm.Barrier()", 2)
    assert sc.simulate(done.workload, "crossbar-16", {"P": 2}, effects="none").messages == 3


def test_lines_before_an_error_are_printed(ran: Runner, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError):
        ran("print('before')\ncomm.Barrier()\nraise ValueError", 2)
    assert capsys.readouterr().out.splitlines() == ["[0] before", "[1] before"]


# --- Wrong programs -------------------------------------------------------------------------------------------

WRONG = [
    ("comm.Recv(np.zeros(1), (rank + 1) % size)", DeadlockError, r"rank 0 in receive from 1, tag any \(.*program\.py:5\)"),
    ("comm.gather(1) if rank == 0 else comm.Barrier()", InputError, r"program\.py:5: rank 1 calls barrier, another calls gather"),
    ("if rank == 1:\n    raise ValueError('no')\ncomm.Barrier()", InputError, r"program\.py:6: rank 1: ValueError: no"),
    ("comm.Send(np.zeros(4), 1) if rank == 0 else comm.Recv(np.zeros(2), 0)", InputError, r"program\.py:5: a message is longer.*got '32 B'"),
    ("if rank == 0:\n    comm.ssend(1, 1, tag=3)", DeadlockError, r"rank 0 in send to 1, tag 3.*1 of 2 ranks have ended"),
    ("comm.Shrink()", InputError, r"program\.py:5: mpi4py's Intracomm\.Shrink is not simulated"),
    ("comm.Spawn('x')", InputError, r"program\.py:5: mpi4py's Intracomm\.Spawn is not simulated"),
    ("comm.send(1, 5)", InputError, r"program\.py:5: rank 0 .*does not exist, got 5 \(allowed: 0 to 1\)"),
    ("comm.Allreduce(np.zeros(1 + rank), np.zeros(2))", InputError, r"program\.py:5: .*numbers of elements, got \[1, 2\]"),
    ("comm.irecv(source=1 - rank, tag=2).wait()", DeadlockError, r"rank 0 in wait for receive from 1, tag 2"),
    ("comm.Psend_init(np.zeros(2), 1, 0)", InputError, r"program\.py:5: mpi4py's Intracomm\.Psend_init is not simulated"),
    ("comm.scatter(iter([1, 2, 3]) if rank == 0 else None)", InputError, r"for each rank, got 3 \(allowed: 2\)"),
    ("comm.Bcast(1j)", InputError, r"program\.py:5: .*not a buffer, got 'complex'"),
    ("if rank == 0:\n    comm.send(1, 1, tag=4)", InputError, r"program\.py:6: rank 1 never receives this message of rank 0 \(tag 4\)"),
    ("MPI.Request.Start_all", InputError, r"program\.py:5: mpi4py's Request\.Start_all is not simulated"),
    ("import mpi4py\nmpi4py.profile('vt')", InputError, r"program\.py:6: mpi4py's mpi4py\.profile is not simulated"),
    ("import sys\nif rank == 1:\n    sys.exit('bad input')\ncomm.Barrier()", InputError, r"program\.py:7: rank 1 ends by sys\.exit, got 'bad input'"),
    ("assert rank == 0", InputError, r"program\.py:5: rank 1: AssertionError$"),
    ("comm.Abort(3)", InputError, r"program\.py:5: rank 0 calls Abort\(3\)$"),
    ("x = (", InputError, r"program\.py:5: SyntaxError"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "match"), WRONG)
def test_what_is_wrong_is_said_with_its_line(ran: Runner, text: str, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        ran(text, 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # SystemExit, unseen elsewhere
def test_a_thread_must_not_call_mpi(ran: Runner) -> None:
    text = "import threading\nt = threading.Thread(target=lambda: comm.send(1, 1 - rank))\nt.start()\nt.join()\ncomm.recv()"
    with pytest.raises(InputError, match=r"program\.py:6: a thread of the program calls MPI"):
        ran(text, 2)


def test_more_ranks_than_the_machine_has(ran: Runner) -> None:
    with pytest.raises(InputError, match="more ranks than crossbar-16 has"):
        ran("raise ValueError", 17)


def test_sends_wait_above_the_limit_of_the_machine(ran: Runner) -> None:
    """Both send first: right below the limit, a deadlock above it."""
    text = "other = 1 - rank\ncomm.Send(np.zeros({size}, 'u1'), other)\ncomm.Recv(np.zeros({size}, 'u1'), other)"
    machine = _with_rendezvous()
    assert ran(text.format(size=1000), 2, machine).operations == 4
    with pytest.raises(DeadlockError, match="rank 0 in send to 1"):
        ran(text.format(size=1001), 2, machine)


def _with_rendezvous() -> Machine:
    return Machine.load(
        {
            "simcodesign": 1,
            "name": "two",
            "nodes": 2,
            "processor": {"rate": "1 GFLOP/s"},
            "network": {
                "topology": {"kind": "crossbar"},
                "startup": "10 us",
                "bandwidth": "100 MB/s",
                "S": "1000 B",
            },
        }
    )


# --- The command ----------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hello.py"
    file.write_text(HEAD + "print('hello', rank)\ncomm.Barrier()\n")
    words = ["run", str(file), "-n", "3", "--on", "crossbar-16", "--on", "mesh-256", "--compute", "none"]
    assert cli.main(words) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == ["[0] hello 0", "[1] hello 1", "[2] hello 2"]
    rows = {line.split()[0]: line.split() for line in out if line.split()[-1:] == ["us"]}
    assert list(rows) == ["crossbar-16", "mesh-256"]
    assert rows["crossbar-16"][1:3] == rows["crossbar-16"][-2:] == ["20", "us"]  # two rounds of a barrier
    assert cli.main(["--confine", str(tmp_path), *words]) == 2
    assert "forbids" in capsys.readouterr().err
    assert cli.main(["run", str(file)]) == 2


def test_modules_of_a_folder_that_the_program_adds_are_of_each_rank(ran: Runner, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "counting.py").write_text("ranks = []\n")
    done = ran(
        """
        import os, sys
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))
        import counting
        counting.ranks.append(rank)
        comm.Barrier()
        print(counting.ranks)
        """,
        3,
    )
    assert sorted(done.lines) == [(rank, f"[{rank}]") for rank in range(3)]
    assert "counting" not in sys.modules

"""What depends on the order of messages in time: receives from any rank, tests, probes, lines; and whether it matters."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign import cli
from simcodesign.core.errors import DeadlockError
from simcodesign.describe.machine import Machine
from tests.mpi.conftest import HEAD

Runner = Callable[..., Any]
#: Startup and seconds per byte of crossbar-16.
STARTUP_S, PER_BYTE_S = 10e-6, 1e-8

MASTER = """
    import time
    if rank == 0:
        status, tasks = MPI.Status(), [0] * size
        for task in range(60):
            comm.recv(source=MPI.ANY_SOURCE, status=status)
            tasks[status.Get_source()] += 1
            comm.send(task, status.Get_source())
        for worker in range(1, size):
            comm.recv(source=worker)
            comm.send(None, worker)
        print(tasks[1:])
    else:
        while True:
            comm.send(rank, 0)
            if comm.recv(source=0) is None:
                break
            time.sleep(1e-3 * rank)
"""


def tasks_of_workers(workers: int, tasks: int) -> list[int]:
    """Hand out tasks one after another to the worker whose request comes first; worker w takes w ms for one."""

    def message_s(value: int) -> float:
        return STARTUP_S + len(pickle.dumps(value)) * PER_BYTE_S

    requests: list[tuple[float, int]] = []
    for worker in range(1, workers + 1):
        heappush(requests, (message_s(worker), worker))
    done, master_s = [0] * workers, 0.0
    for task in range(tasks):
        there_s, worker = heappop(requests)
        master_s = max(master_s, there_s) + message_s(task)
        done[worker - 1] += 1
        heappush(requests, (master_s + 1e-3 * worker + message_s(worker), worker))
    return done


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_workers_get_tasks_as_they_ask_for_them(ran: Runner, workers: int) -> None:
    done = ran(MASTER, workers + 1)
    assert (done.settled, done.out_of_order) == (True, 0)
    assert done.lines == ((0, str(tasks_of_workers(workers, 60))),)
    assert done.other_order == "lines"


def test_the_nearer_rank_comes_first(ran: Runner) -> None:
    """On a ring, 15 is 1 hop away, 1 as well, 8 is 8: what arrives first is found in the simulation."""
    ring = {
        "simcodesign": 1,
        "name": "ring",
        "nodes": 16,
        "processor": {"rate": "1 GFLOP/s"},
        "network": {"topology": {"kind": "torus", "dims": 1}, "startup": "1 us", "bandwidth": "1 GB/s", "hop_latency": "1 ms"},
    }  # fmt: skip
    text = """
        if rank == 0:
            print([comm.recv(source=MPI.ANY_SOURCE) for _ in range(3)])
        elif rank in (4, 8, 14):
            comm.send(rank, 0)
    """
    done = ran(text, 16, Machine.load(ring))
    assert done.lines == ((0, "[14, 4, 8]"),)
    assert (done.settled, done.out_of_order) == (True, 0)
    assert done.runs > 1


def test_waitany_ends_with_the_first_message(ran: Runner) -> None:
    done = ran(
        """
        import time
        if rank == 0:
            left = [comm.irecv(source=source) for source in (1, 2, 3)]
            for _ in range(3):
                place, found = MPI.Request.waitany(left)
                print(place, found, round(MPI.Wtime(), 3))
        else:
            time.sleep({1: 2, 2: 3, 3: 1}[rank])
            comm.send(rank, 0)
        """,
        4,
    )
    assert [line for _, line in done.lines] == ["2 3 1.0", "0 1 2.0", "1 2 3.0"]


@pytest.mark.parametrize(
    "test", ["comm.Iprobe(source=1)", "comm.iprobe()", "request.Test()", "MPI.Request.Testall([request])"]
)
def test_a_test_succeeds_when_the_message_is_there(ran: Runner, test: str) -> None:
    """An empty message is sent after a second, and takes the startup; a test that fails takes 1 us."""
    done = ran(
        f"""
        import time
        if rank == 1:
            time.sleep(1)
            comm.Send(np.zeros(0, 'u1'), 0)
        else:
            room = np.zeros(0, 'u1')
            request = comm.Irecv(room, 1) if 'request' in {test!r} else None
            while not {test}:
                pass
            if request is None:
                comm.Recv(room, 1)
            print(MPI.Wtime())
        """,
        2,
    )
    assert float(done.lines[0][1]) == pytest.approx(1 + STARTUP_S, abs=2e-6)


def test_a_clock_between_a_start_and_its_wait(ran: Runner) -> None:
    """A million bytes take 10 ms, in which the rank goes on."""
    done = ran(
        """
        if rank == 0:
            request = comm.Isend(np.zeros(1000000, 'u1'), 1)
            begun = MPI.Wtime()
            request.Wait()
            print(begun, MPI.Wtime())
        else:
            comm.Recv(np.zeros(1000000, 'u1'), 0)
        """,
        2,
    )
    begun_s, done_s = map(float, done.lines[0][1].split())
    assert begun_s == 0
    assert done_s == pytest.approx(STARTUP_S + 1e6 * PER_BYTE_S, rel=1e-9)


def test_lines_come_in_the_order_of_time(ran: Runner) -> None:
    done = ran("import time\ntime.sleep((size - rank) * 1e-3)\nprint(rank)", 4)
    assert done.lines == ((3, "3"), (2, "2"), (1, "1"), (0, "0"))


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("print(sum(comm.recv() for _ in range(2))) if rank == 0 else comm.send(1, 0)", "operations"),
        ("print([comm.recv() for _ in range(2)]) if rank == 0 else comm.send(rank, 0)", "lines"),
        ("print([comm.recv() for _ in range(2)]) if rank == 0 else [comm.send(i, 0) for i in range(2 * (rank == 1))]", "nothing"),
        ("import time\nif rank == 0:\n    comm.recv()\n    comm.recv(source=2)\nelse:\n    time.sleep(rank)\n    comm.send(1, 0)", "deadlock"),
        ("if rank == 0:\n    assert comm.recv() == 1\n    comm.recv()\nelse:\n    comm.send(rank, 0)", "error"),
        ("comm.Barrier()", None),
    ],
)  # fmt: skip
def test_whether_another_order_matters(
    ran: Runner, text: str, change: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(text, 3).other_order == change
    assert capsys.readouterr().out == ""


def test_a_receive_is_matched_while_its_rank_waits_for_others(ran: Runner) -> None:
    """The send that waits for its receiver ends, although that one is in the barrier."""
    done = ran(
        """
        request = comm.irecv() if rank == 0 else comm.ssend(7, 0) if rank == 1 else None
        comm.Barrier()
        if rank == 0:
            print(request.wait())
        """,
        3,
    )
    assert done.lines == ((0, "7"),)


def test_a_test_for_what_never_comes(ran: Runner) -> None:
    with pytest.raises(DeadlockError, match=r"test for ever.*rank 0 in a test \(.*program\.py:6\)"):
        ran("if rank == 0:\n    while not comm.Iprobe(): pass", 2)


def test_a_recording_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, file = tmp_path / "program.py", tmp_path / "kept.recording.npz"
    program.write_text(
        HEAD + "comm.Bcast(np.zeros(1000))\nif rank:\n    comm.send(1, 0)\nelse:\n    comm.recv(source=1)\n"
    )
    words = ["run", str(program), "-n", "2", "--on", "crossbar-16", "--compute", "none", "--save"]
    assert cli.main([*words, str(file)]) == 0
    done = sc.run(program, 2, "crossbar-16", speed=None)
    for machine in ("crossbar-16", "torus-cluster"):
        kept, own = (sc.simulate(one, machine, {"P": 2}).makespan_s for one in (str(file), done.workload))
        assert kept == own > 0
    assert cli.main([*words, "kept.txt"]) == 2
    assert "allowed: a name that ends in .recording.npz" in capsys.readouterr().err

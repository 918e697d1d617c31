"""Messages: persistent requests, requests of several, cancelled ones, matched probes, attached buffers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.errors import DeadlockError, InputError
from tests.mpi.programs import limited, run_text

#: Seconds of an empty message, and of a byte, on crossbar-16.
STARTUP_S, PER_BYTE_S = 10e-6, 1e-8


def test_persistent_requests(tmp_path: Path) -> None:
    """A ring of three rounds; values come around, each round is one message a rank."""
    done = run_text(
        tmp_path,
        """
        a, b = np.zeros(125), np.zeros(125)
        inits = [comm.Send_init, comm.Ssend_init, comm.Rsend_init]
        both = [comm.Recv_init(b, (rank - 1) % size, 5), inits[rank % 3](a, (rank + 1) % size, 5)]
        assert all(both) and all(isinstance(one, MPI.Prequest) for one in both)
        for turn in range(3):
            a[:] = 10 * rank + turn
            MPI.Prequest.Startall(both)
            MPI.Request.Waitall(both)
            assert (b == 10 * ((rank - 1) % size) + turn).all()
        both[0].Wait()
        status = MPI.Status()
        assert both[0].Test(status) and status.Get_count() == 0
        assert MPI.Request.Waitany(both) == MPI.UNDEFINED
        for one in both:
            one.Free()
        assert not any(both) and both[0] == MPI.REQUEST_NULL
        nulls = [MPI.Request(), MPI.REQUEST_NULL]
        assert MPI.Request.Waitall(nulls) and nulls[0] == nulls[1] and nulls[0].Test() and not nulls[0]
        both = [comm.Isend(a, MPI.PROC_NULL), comm.Irecv(b, MPI.PROC_NULL)]
        assert all(both) and MPI.Request.Waitany(both) in (0, 1)
        MPI.Request.Waitall(both)
        """,
        3,
    )
    simulated = sc.simulate(done.workload, "crossbar-16", {"P": 3}, effects="none")
    assert simulated.messages == 9
    assert simulated.makespan_s == pytest.approx(3 * (STARTUP_S + 1000 * PER_BYTE_S), rel=1e-12)


def test_requests_of_several(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        """
        if rank:
            comm.Barrier()
            for part in range(3):
                comm.send((rank, part), 0, tag=part)
            comm.Barrier()
        else:
            requests = [comm.irecv(source=one, tag=part) for one in (1, 2) for part in range(3)]
            expected = [(one, part) for one in (1, 2) for part in range(3)]
            assert MPI.Request.testall(requests) == (False, None)
            assert MPI.Request.testany(requests) == (MPI.UNDEFINED, False, None)
            assert MPI.Request.testsome(requests) == ([], [])
            assert not requests[0].Get_status()
            comm.Barrier()
            comm.Barrier()
            status = MPI.Status()
            assert requests[4].get_status(status) and (status.source, status.tag) == (2, 1)
            place, found = MPI.Request.waitany(requests, status)
            assert found == expected[place] == (status.Get_source(), status.Get_tag())
            left = [n for n in range(6) if n != place]
            assert MPI.Request.waitall(requests[left[0] : left[0] + 1]) == [expected[left[0]]]
            statuses = []
            places, values = MPI.Request.waitsome(requests, statuses)
            assert places == left[1:] and values == [expected[n] for n in places]
            assert [(one.source, one.tag) for one in statuses] == values
            assert MPI.Request.waitsome(requests) == (None, None)
            assert MPI.Request.Testsome(requests) is None
            assert MPI.Request.Testany(requests) == (MPI.UNDEFINED, True)
            assert MPI.Request.Testall(requests)
            assert not any(requests) and all(one == MPI.REQUEST_NULL for one in requests)
        """,
        3,
    )


def test_a_cancelled_receive(tmp_path: Path) -> None:
    """The message goes to the receive that is left; the cancelled one has no part in the times."""
    done = run_text(
        tmp_path,
        """
        if rank == 0:
            status, a, b = MPI.Status(), np.zeros(1), np.zeros(1)
            first, second = comm.Irecv(a, 1), comm.Irecv(b, 1)
            first.Cancel()
            first.Wait(status)
            assert status.Is_cancelled() and status.Get_count() == 0
            comm.Barrier()
            second.Wait(status)
            assert not status.Is_cancelled() and status.Get_count(MPI.DOUBLE) == 1
            assert (a[0], b[0]) == (0, 7)
        else:
            comm.Barrier()
            comm.Send(np.array([7.0]), 0)
        """,
        2,
    )
    assert sc.simulate(done.workload, "crossbar-16", {"P": 2}, effects="none").messages == 1 + 2  # and the barrier


def test_a_freed_receive_still_receives(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        """
        if rank == 0:
            b = np.zeros(1)
            request = comm.Irecv(b, 1)
            request.Free()
            assert request == MPI.REQUEST_NULL
            comm.Barrier()
            comm.Barrier()
            assert b[0] == 7
        else:
            comm.Barrier()
            comm.Send(np.array([7.0]), 0)
            comm.Barrier()
        """,
        2,
    )


def test_matched_probes(tmp_path: Path) -> None:
    """A message that was taken out by a probe is not received by another receive."""
    done = run_text(
        tmp_path,
        """
        if rank == 0:
            for value in 'abcd':
                comm.send(value, 1, tag=3)
            comm.Send(np.arange(4.0), 1, tag=4)
        else:
            status = MPI.Status()
            first = comm.mprobe(0, 3, status)
            assert status.tag == 3 and status.source == 0
            assert comm.recv(source=0) == 'b'
            other = MPI.Message.probe(comm, 0)
            assert first.recv(status) == 'a' and not first and first == MPI.MESSAGE_NULL
            assert other.irecv().wait() == 'c'
            third = None
            while third is None:
                third = comm.improbe(0, 3)
            assert third.recv() == 'd'
            room, last = np.zeros(4), comm.Mprobe(tag=4, status=status)
            assert status.Get_count(MPI.DOUBLE) == 4
            last.Irecv(room).Wait(status)
            assert room.tolist() == [0, 1, 2, 3] and status.tag == 4
            assert comm.Improbe(0) is None and not comm.Iprobe()
            none = comm.mprobe(MPI.PROC_NULL)
            assert none == MPI.MESSAGE_NO_PROC and none.recv(status) is None and status.source == MPI.PROC_NULL
            assert comm.Probe(MPI.PROC_NULL) and comm.iprobe(MPI.PROC_NULL)
        """,
        2,
    )
    assert sc.simulate(done.workload, "crossbar-16", {"P": 2}, effects="none").messages == 5


def test_a_synchronous_send_ends_with_the_receive_of_a_matched_probe(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        """
        if rank == 0:
            request = comm.issend('x', 1)
            comm.Barrier()
            assert not request.Test()
            comm.Barrier()
            request.Wait()
        else:
            probed = comm.mprobe(0)
            comm.Barrier()
            comm.Barrier()
            assert probed.recv() == 'x'
        """,
        2,
    )


def test_replacing_buffers_and_nobody(tmp_path: Path) -> None:
    run_text(
        tmp_path,
        """
        a, status = np.full(3, rank), MPI.Status()
        comm.Sendrecv_replace(a, (rank + 1) % size, 1, (rank - 1) % size, 1, status)
        assert (a == (rank - 1) % size).all() and status.source == (rank - 1) % size
        comm.Sendrecv_replace(a, MPI.PROC_NULL, 0, MPI.PROC_NULL, 0, status)
        assert (a == (rank - 1) % size).all() and (status.source, status.tag) == (MPI.PROC_NULL, MPI.ANY_TAG)
        assert comm.recv(source=MPI.PROC_NULL) is None
        comm.Irecv(a, MPI.PROC_NULL).Wait(status)
        assert status.source == MPI.PROC_NULL and status.Get_count() == 0
        comm.Isend(a, MPI.PROC_NULL).Wait()
        assert comm.sendrecv(rank, rank, source=rank) == rank
        request = comm.irecv(source=rank, tag=9)
        comm.ssend('me', rank, tag=9)
        assert request.wait() == 'me'
        """,
        4,
    )


def test_attached_buffers(tmp_path: Path) -> None:
    """Room for two messages of 1,000 bytes; the third follows when one has been received."""
    done = run_text(
        tmp_path,
        """
        a, held = np.zeros(1000, 'u1'), bytearray(2 * (1000 + MPI.BSEND_OVERHEAD))
        if rank == 0:
            MPI.Attach_buffer(held)
            comm.Bsend(a, 1)
            comm.Ibsend(a, 1).Wait()
            comm.recv(source=1)
            comm.Bsend_init(a, 1).Start()
            assert MPI.Detach_buffer() is not None
        else:
            comm.Recv(a, 0)
            comm.send(None, 0)
            comm.Recv(a, 0)
            comm.Recv(a, 0)
        """,
        2,
        limited(500),
    )
    assert sc.simulate(done.workload, limited(500), {"P": 2}, effects="none").messages == 4


def test_a_detach_waits_for_a_later_receive(tmp_path: Path) -> None:
    """The receives are posted when the sender waits in the detach, and let it end (MPI 4.1, section 3.6)."""
    run_text(
        tmp_path,
        """
        a = np.full(4, rank)
        if rank == 0:
            MPI.Attach_buffer(bytearray(2 * (a.nbytes + MPI.BSEND_OVERHEAD)))
            comm.Ibsend(a, 1).Wait()
            comm.Bsend(a, 2)
            assert MPI.Detach_buffer() is not None
        else:
            comm.Sendrecv(np.zeros(10**6, 'u1'), 3 - rank, 0, np.zeros(10**6, 'u1'), 3 - rank)
            if rank == 1:
                comm.Recv(a, 0)
            else:
                comm.Mprobe(0).Recv(a)
            assert (a == 0).all()
        """,
        3,
    )


def test_statuses_in_a_tuple(tmp_path: Path) -> None:
    """Statuses of a tuple are filled; without enough of them the others are left out, as mpi4py 4.1.2 does."""
    run_text(
        tmp_path,
        """
        statuses = MPI.Status(), MPI.Status()
        both = [comm.irecv(source=0, tag=7), comm.irecv(source=0, tag=8)]
        comm.send('a', 0, 7), comm.send('b', 0, 8)
        assert MPI.Request.waitall(both, statuses) == ['a', 'b']
        assert [one.tag for one in statuses] == [7, 8]
        again = comm.irecv(source=0)
        comm.send(3, 0)
        assert MPI.Request.waitall([again], ()) == [3]
        """,
        1,
    )


WRONG = [
    ("MPI.Attach_buffer(bytearray(500))\ncomm.Bsend(np.zeros(100), 0)", InputError, r"py:6: rank 0: .*no room for this buffered send.*got '928 B' .allowed: up to 500 B"),
    ("comm.bsend(1, 0)", InputError, r"py:5: rank 0: the attached buffer has no room"),
    ("MPI.Attach_buffer(bytearray(1))\nMPI.Attach_buffer(bytearray(1))", InputError, r"py:6: .*a buffer for buffered sends already"),
    ("a = comm.Recv_init(np.zeros(1), 0)\na.Start()\na.Start()", InputError, r"py:7: .*in this state, got 'active'"),
    ("comm.isend(1, 0)\ncomm.mprobe(0)", InputError, r"program\.py:5: rank 0 never receives this message of rank 0 \(tag 0\)"),
    ("MPI.Request.Waitany([comm.irecv(), comm.irecv()])", DeadlockError, r"wait for any of 2 \(.*py:5\)"),
    ("comm.isend(1, 0)\na = comm.mprobe(0)\na.recv()\na.recv()", InputError, r"py:8: .*was received already"),
    ("comm.ssend(1, 0)", DeadlockError, r"send to 0, tag 0 \(.*py:5\)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "match"), WRONG)
def test_wrong_messages(tmp_path: Path, text: str, kind: type[Exception], match: str) -> None:
    with pytest.raises(kind, match=match):
        run_text(tmp_path, text, 1)


def test_ranks_may_be_whole_decimal_numbers(ran: Callable[..., Any]) -> None:
    """``rank + size / 2`` names a rank, as mpi4py has it."""
    text = """
    half = size / 2
    if rank < half:
        comm.Send(np.full(2, rank), rank + half)
        assert comm.recv(source=rank + half) == rank + half
    else:
        got = np.zeros(2, int)
        comm.Recv(got, rank - half)
        comm.isend(rank, rank - half).wait()
        assert got.tolist() == [rank - half] * 2
    """
    ran(text, 4)


def test_messages_that_wait_pass_side_by_side(ran: Callable[..., Any]) -> None:
    """Ranks that send by Ssend before they receive: the sender waits for the receive, the bytes do not.

    docs/messages.md, row 5: the last rank receives first, and each message is there when its receive is posted, so that
    a chain takes one message; a receiver that comes late holds its sender alone.
    """
    text = """
    data = np.zeros(1000, "u1")
    if rank < size - 1:
        comm.Ssend(data, rank + 1)
    if rank:
        comm.Recv(data, rank - 1)
    print(f"{MPI.Wtime() * 1e6:.2f}")
    """
    alone = (STARTUP_S + 1000 * PER_BYTE_S) * 1e6
    assert [float(line) for _, line in ran(text, 5).lines] == pytest.approx([alone] * 5)

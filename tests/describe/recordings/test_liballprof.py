"""Traces of liballprof. All traces here are made by hand: two or more files of calls, times in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE, SEND
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.mpi_calls import CALLS
from simcodesign.describe.recordings.readers.liballprof import read_liballprof
from tests import examples
from tests.describe.recordings.test_builder import message_s

BYTE, DOUBLE = "18,1,1", "11,8,8"


class Trace:
    """The lines of a rank; ``clock_us``: when the last call has ended."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank, self.ranks, self.clock_us = rank, ranks, 10**15
        self.lines = ["# written by hand\n", f"MPI_Init:-:0:0:{self.clock_us}\n"]
        self.comm = f"94853248035456,{rank},{ranks}"

    def call(self, name: str, *parts: object, after_us: int = 0) -> None:
        """A call that begins after some computation, and takes 7 us."""
        begin = self.clock_us + after_us
        self.clock_us = begin + 7
        self.lines.append(":".join(map(str, (f"MPI_{name}", begin, *parts, self.clock_us))) + "\n")


def written(folder: Path, ranks: int, write: Callable[[Trace], None]) -> Path:
    """The file of rank 0 of a trace of all ranks."""
    for rank in range(ranks):
        trace = Trace(rank, ranks)
        write(trace)
        trace.lines.append(f"MPI_Finalize:{trace.clock_us + 100}:-\n")
        (folder / f"pmpi-trace-rank-{rank}.txt").write_text("".join(trace.lines))
    return folder / "pmpi-trace-rank-0.txt"


def recorded(folder: Path, ranks: int, write: Callable[[Trace], None]) -> Recording:
    """The recording of such a trace."""
    return read_liballprof(written(folder, ranks, write))


def makespan_s(path: Path) -> float:
    """Of crossbar-16, as a file that a user names."""
    return float(sc.simulate(str(path), "crossbar-16", effects="none").makespan_s)


def test_what_passes_between_calls_is_computation(tmp_path: Path) -> None:
    """300 us, then a message of 1 MB, then 100 us before the end; what calls themselves take does not count."""

    def write(trace: Trace) -> None:
        trace.call("Comm_rank", trace.comm, 140737488340112, after_us=100)
        if trace.rank == 0:
            trace.call("Send", 11251872, 125000, DOUBLE, 1, 7000, trace.comm, after_us=200)
        else:
            trace.call("Recv", 11287888, 125000, DOUBLE, 0, 7000, trace.comm, 140737488340112)

    assert makespan_s(written(tmp_path, 2, write)) == pytest.approx(300e-6 + message_s(1e6) + 100e-6, rel=1e-12)


@pytest.mark.parametrize("stride", [4, 8])
def test_requests_are_known_by_their_addresses(tmp_path: Path, stride: int) -> None:
    """Two requests in an array; an address is used again for another message."""

    def write(trace: Trace) -> None:
        other = 1 - trace.rank
        for base in (1000, 1000):
            trace.call("Irecv", 5, 1000000, BYTE, other, 76, trace.comm, base)
            trace.call("Isend", 5, 1000000, BYTE, other, 76, trace.comm, base + stride)
            trace.call("Waitall", 2, base, 99, after_us=4000)

    path = written(tmp_path, 2, write)
    assert makespan_s(path) == pytest.approx(2 * message_s(1e6) + 100e-6, rel=1e-12)
    recording = read_liballprof(path)
    assert recording.waits_for[recording.waits_for >= 0].tolist()[:4] == [0, 2, 7, 9]


def test_a_request_that_is_used_again_was_done(tmp_path: Path) -> None:
    def write(trace: Trace) -> None:
        for _ in range(2):
            if trace.rank == 0:
                trace.call("Isend", 5, 8, BYTE, 1, 0, trace.comm, 1000)
                trace.call("Test", 1000, 99, 98)
            else:
                trace.call("Recv", 5, 8, BYTE, 0, 0, trace.comm, 99)

    recording = recorded(tmp_path, 2, write)
    begin, end = recording.first[:2]
    assert recording.waits_for[begin:end].tolist().index(0) < end - 2


def test_persistent_requests(tmp_path: Path) -> None:
    def write(trace: Trace) -> None:
        other = 1 - trace.rank
        trace.call("Send_init", 5, 1000000, BYTE, other, 0, trace.comm, 800)
        trace.call("Recv_init", 5, 1000000, BYTE, other, 0, trace.comm, 808)
        for _ in range(3):
            trace.call("Startall", 2, 800)
            trace.call("Wait", 800, 1)
            trace.call("Wait", 808, 1)

    result = sc.simulate(str(written(tmp_path, 2, write)), "crossbar-16", effects="none")
    assert (result.messages, result.message_bytes) == (6, 6e6)


def test_exchanges_and_no_process(tmp_path: Path) -> None:
    """Rank 0 sends to rank 1, and receives from MPI_PROC_NULL, -2 in Open MPI."""

    def write(trace: Trace) -> None:
        target, source = (1, -2) if trace.rank == 0 else (-2, 0)
        trace.call("Sendrecv", 1, 1000000, BYTE, target, 3, 2, 1000000, BYTE, source, 3, trace.comm, 4)

    assert makespan_s(written(tmp_path, 2, write)) == pytest.approx(message_s(1e6) + 100e-6, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "parts", "operation", "size_bytes", "root"),
    [
        ("Barrier", (), "barrier", 0, 0),
        ("Bcast", (1, 3, DOUBLE, 2), "broadcast", 24, 2),
        ("Reduce", (1, 2, 3, DOUBLE, 3, 1), "reduce", 24, 1),
        ("Allreduce", (1, 2, 3, DOUBLE, 3), "allreduce", 24, 0),
        ("Scan", (1, 2, 3, DOUBLE, 3), "scan", 24, 0),
        ("Exscan", (1, 2, 3, DOUBLE, 3), "scan", 24, 0),
        ("Gather", (1, 3, DOUBLE, 2, 3, DOUBLE, 1), "gather", 24, 1),
        ("Scatter", (1, 3, DOUBLE, 2, 3, DOUBLE, 1), "scatter", 24, 1),
        ("Allgather", (1, 3, DOUBLE, 2, 3, DOUBLE), "allgather", 24, 0),
        ("Alltoall", (1, 3, DOUBLE, 2, 3, DOUBLE), "all_to_all", 24, 0),
        ("Reduce_scatter", (1, 2, 5, "1,2,3,4", DOUBLE, 3), "reduce_scatter", 80, 0),
        ("Reduce_scatter_block", (1, 2, 5, DOUBLE, 3), "reduce_scatter", 160, 0),
    ],
)
@pytest.mark.parametrize("starts", [False, True])
def test_collective_operations(
    tmp_path: Path, name: str, parts: tuple[Any, ...], operation: str, size_bytes: float, root: int, starts: bool
) -> None:
    def write(trace: Trace) -> None:
        if starts:
            trace.call(f"I{name.lower()}", *parts, trace.comm, 1000)
            trace.call("Wait", 1000, 99)
        else:
            trace.call(name, *parts, trace.comm)

    recording = recorded(tmp_path, 4, write)
    (only,) = [one for one in recording.operations if one[0] == COLLECTIVE]
    assert (only[1], only[2], only[4]) == (operation, size_bytes, root)
    assert recording.started.any() == starts


def test_sizes_by_rank_are_messages(tmp_path: Path) -> None:
    """Counts for each rank follow an address; two ranks."""

    def write(trace: Trace) -> None:
        own = trace.rank + 1
        trace.call("Gatherv", 1, own, DOUBLE, 2, 3, "1,2", 4, "0,1", DOUBLE, 0, trace.comm)
        trace.call("Scatterv", 1, 3, "3,4", 4, "0,1", DOUBLE, 2, 9, DOUBLE, 0, trace.comm)
        trace.call("Allgatherv", 1, own, DOUBLE, 2, 3, "5,6", 4, "0,1", DOUBLE, trace.comm)
        trace.call("Alltoallv", 1, 3, "7,8", 4, "0,1", DOUBLE, 2, 3, "7,8", 4, "0,1", DOUBLE, trace.comm)

    recording = recorded(tmp_path, 2, write)
    sends = recording.entries_of(recording.of_kind(SEND))
    found = [(int(recording.rank[one]), recording.operations[recording.op[one]][2] / 8) for one in sends]
    assert sorted(found) == [(0, 4), (0, 5), (0, 8), (1, 2), (1, 6), (1, 7)]


def test_a_communicator_of_one_rank_sends_nothing(tmp_path: Path) -> None:
    result = sc.simulate(
        str(written(tmp_path, 2, lambda trace: trace.call("Barrier", "5,0,1"))), "crossbar-16", effects="none"
    )
    assert result.messages == 0


def _part(trace: Trace) -> None:
    trace.call("Comm_split", trace.comm, trace.rank // 2, 0, 99)
    trace.call("Barrier", f"7,{trace.rank % 2},2")


def _more_ranks(trace: Trace) -> None:
    trace.call("Comm_size", trace.comm, 5)
    trace.call("Barrier", f"7,{trace.rank},8")


def _any_source(trace: Trace) -> None:
    trace.call("Comm_size", trace.comm, 5)
    trace.call("Recv", 1, 8, BYTE, -1, 0, trace.comm, 99)


def _any_of_several(trace: Trace) -> None:
    trace.call("Isend", 1, 8, BYTE, 1, 0, trace.comm, 99)
    trace.call("Waitany", 1, 99, 98, 97)


def _unknown(trace: Trace) -> None:
    trace.call("Comm_size", trace.comm, 5)
    trace.call("Win_fence", 0, 99)


def _parts_missing(trace: Trace) -> None:
    trace.call("Comm_size", trace.comm, 5)
    trace.call("Bcast", 1, 8, BYTE, trace.comm)


def _no_size(trace: Trace) -> None:
    trace.call("Comm_size", trace.comm, 5)
    trace.call("Send", 1, 8, "18", 1, 0, trace.comm)


@pytest.mark.parametrize(
    "write", [_part, _more_ranks, _any_source, _any_of_several, _unknown, _parts_missing, _no_size]
)
def test_errors_name_the_line(tmp_path: Path, write: Callable[[Trace], None]) -> None:
    path = written(tmp_path, 4, write)
    with pytest.raises(InputError) as raised:
        read_liballprof(path)
    assert raised.value.place is not None
    assert (raised.value.place.file, raised.value.place.line) == (str(path), 4)


def test_files_are_numbered(tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"t-{rank:02d}.txt").write_text(f"MPI_Init:-:0:0:0\nMPI_Barrier:5:1,{rank},3:9\n")
    for name in ("t-00.txt", "t-02.txt"):
        assert read_liballprof(tmp_path / name).ranks == 3
    (tmp_path / "t-01.txt").unlink()
    with pytest.raises(InputError):
        read_liballprof(tmp_path / "t-02.txt")
    with pytest.raises(InputError):
        read_liballprof(tmp_path / "none.txt")


_parts = st.one_of(
    st.integers(-2, 9).map(str),
    st.sampled_from(["1,0,1", BYTE, DOUBLE, "1,2", "-", "", "9" * 25, "nan", "1.5"]),
    st.text(max_size=4),
)
_lines = st.one_of(
    st.text(max_size=30),
    st.builds(
        lambda name, parts: ":".join([f"MPI_{name}", *parts]), st.sampled_from([*CALLS]), st.lists(_parts, max_size=14)
    ),
)


@given(st.lists(_lines, max_size=8))
@settings(max_examples=examples(300))
def test_any_text_is_a_recording_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "any-0.txt"
    path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    try:
        recording = read_liballprof(path)
    except InputError:
        return
    assert recording.ranks == 1

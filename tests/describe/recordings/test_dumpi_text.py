"""DUMPI traces as text. All traces here are made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE, RECEIVE, SEND
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.mpi_calls import CALLS
from simcodesign.describe.recordings.readers.dumpi_text import read_dumpi_text
from tests import examples
from tests.describe.recordings.test_builder import message_s

WORLD = "MPI_Comm comm=2 (MPI_COMM_WORLD)"
BYTE, DOUBLE = "MPI_Datatype datatype=6 (MPI_BYTE)", "MPI_Datatype datatype=11 (MPI_DOUBLE)"
IGNORED = "MPI_Status status=<IGNORED>"


class Trace:
    """The text of a rank; ``clock_ns``: when the last call has returned."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank, self.ranks, self.clock_ns = rank, ranks, 8153049300000
        self.lines: list[str] = []
        self.call("MPI_Init", "int argc=0")

    def call(self, name: str, *parameters: str, after_ns: int = 0) -> None:
        """A call that is entered ``after_ns`` and 700 ns after the one before, and takes 700 ns."""
        self.clock_ns += after_ns
        for verb, parts in (("entering", parameters), ("returning", ())):
            seconds, ns = divmod(self.clock_ns, 10**9)
            time = f"{verb} at walltime {seconds}.{ns:09d}, cputime 0.004400000 seconds in thread 0."
            self.lines += [f"{name} {time}", *parts]
            self.clock_ns += 700


def written(folder: Path, ranks: int, write: Callable[[Trace], None], end: str = "") -> Path:
    """The file of rank 0 of a trace of all ranks."""
    for rank in range(ranks):
        trace = Trace(rank, ranks)
        write(trace)
        trace.call("MPI_Finalize")
        text = "".join(f"{line}\n" for line in trace.lines)
        (folder / f"dumpi-2026.01.02.03.04.05-{rank:04d}.txt").write_text(text + end)
    return folder / "dumpi-2026.01.02.03.04.05-0000.txt"


def recorded(folder: Path, ranks: int, write: Callable[[Trace], None], end: str = "") -> Recording:
    """The recording of such a trace."""
    return read_dumpi_text(written(folder, ranks, write, end))


def sends(recording: Recording) -> list[tuple[int, int, float]]:
    """Source, target and bytes of every send."""
    entries = recording.entries_of(recording.of_kind(SEND))
    found = ((int(recording.rank[one]), recording.operations[recording.op[one]]) for one in entries)
    return sorted((rank, operation[3], operation[2]) for rank, operation in found)


def test_what_passes_between_calls_is_computation(tmp_path: Path) -> None:
    """300.7 us and 0.7 us, a message of 1 MB, and 0.7 us; what calls themselves take does not count."""

    def write(trace: Trace) -> None:
        peer = f"int {'source' if trace.rank else 'dest'}={1 - trace.rank}"
        name = "MPI_Recv" if trace.rank else "MPI_Send"
        trace.call(name, "int count=125000", DOUBLE, peer, "int tag=7", WORLD, IGNORED, after_ns=300700)

    path = written(tmp_path, 2, write)
    makespan_s = sc.simulate(str(path), "crossbar-16", effects="none").makespan_s
    assert makespan_s == pytest.approx(301.4e-6 + message_s(1e6) + 0.7e-6, rel=1e-12)


def test_requests(tmp_path: Path) -> None:
    def write(trace: Trace) -> None:
        other = 1 - trace.rank
        trace.call(
            "MPI_Irecv", "int count=8", BYTE, f"int source={other}", "int tag=3", WORLD, "MPI_Request request=[4]"
        )
        trace.call("MPI_Isend", "int count=8", BYTE, f"int dest={other}", "int tag=3", WORLD, "MPI_Request request=[5]")
        trace.call("MPI_Test", "MPI_Request request=[5]", "int flag=0", IGNORED)
        trace.call("MPI_Waitany", "int count=2", "MPI_Request requests[2]=[4, 5]", "int index=1", IGNORED)
        trace.call(
            "MPI_Waitsome", "int count=2", "MPI_Request requests[2]=[4, 5]", "int outcount=1", "int indices[1]=[0]"
        )
        trace.call("MPI_Waitall", "int count=2", "MPI_Request requests[2]=[4, 5]", "MPI_Status statuses[2]=<IGNORED>")

    recording = recorded(tmp_path, 2, write)
    own = recording.waits_for[: recording.first[1]]
    assert [recording.operations[recording.op[one]][0] for one in own[own >= 0]] == [SEND, RECEIVE]
    assert own[own >= 0].tolist() == sorted(own[own >= 0].tolist(), reverse=True)


def test_a_status_says_what_was_received(tmp_path: Path) -> None:
    """Rank 0 receives from any rank: first from rank 2, at a wait, then from rank 1."""
    any_one = ("int source=-1 (MPI_ANY_SOURCE)", "int tag=-1 (MPI_ANY_TAG)")

    def status(source: int) -> str:
        return f"[{{bytes=8, cancelled=0, source={source}, tag={source + 10}, error=0}}]"

    def write(trace: Trace) -> None:
        if trace.rank:
            trace.call("MPI_Send", "int count=8", BYTE, "int dest=0", f"int tag={trace.rank + 10}", WORLD)
            return
        trace.call("MPI_Irecv", "int count=8", BYTE, *any_one, WORLD, "MPI_Request request=[4]")
        trace.call("MPI_Wait", "MPI_Request request=[4]", f"MPI_Status status={status(2)}")
        trace.call("MPI_Recv", "int count=8", BYTE, *any_one, WORLD, f"MPI_Status status={status(1)}")

    recording = recorded(tmp_path, 3, write)
    entries = recording.entries_of(recording.of_kind(RECEIVE))
    assert [recording.operations[recording.op[one]][3:5] for one in entries] == [(2, 12), (1, 11)]


def test_datatypes_that_are_made(tmp_path: Path) -> None:
    """2 x 3 doubles; 4 of these; 1 + 2 doubles; 2 doubles and 3 of the first."""
    old = "MPI_Datatype oldtype=11 (MPI_DOUBLE)"
    made = [f"MPI_Datatype newtype={number} (user-defined-datatype)" for number in range(29, 33)]

    def write(trace: Trace) -> None:
        trace.call("MPI_Type_vector", "int count=2", "int blocklength=3", "int stride=5", old, made[0])
        trace.call("MPI_Type_contiguous", "int count=4", made[0].replace("newtype", "oldtype"), made[1])
        trace.call("MPI_Type_indexed", "int count=2", "int lengths[2]=[1, 2]", "int indices[2]=[0, 3]", old, made[2])
        parts = ("int lengths[2]=[2, 3]", "int indices[2]=[0, 16]", "MPI_Datatype oldtypes[2]=[11, 29]")
        trace.call("MPI_Type_struct", "int count=2", *parts, made[3])
        for one in made:
            if trace.rank == 0:
                trace.call(
                    "MPI_Send", "int count=1", one.replace("newtype", "datatype"), "int dest=1", "int tag=0", WORLD
                )
            else:
                datatype = one.replace("newtype", "datatype")
                trace.call("MPI_Recv", "int count=1", datatype, "int source=0", "int tag=0", WORLD, IGNORED)

    assert [size for _, _, size in sends(recorded(tmp_path, 2, write))] == [24, 48, 160, 192]


def test_sizes_at_the_end_of_a_file(tmp_path: Path) -> None:
    def write(trace: Trace) -> None:
        datatype = "MPI_Datatype datatype=40 (user-defined-datatype)"
        if trace.rank == 0:
            trace.call("MPI_Send", "int count=2", datatype, "int dest=1", "int tag=0", WORLD)
        else:
            trace.call("MPI_Recv", "int count=2", datatype, "int source=0", "int tag=0", WORLD, IGNORED)

    end = "Datatype 11 (MPI_DOUBLE) has size 8\nDatatype 40 (user-defined-datatype) has size 12\n"
    assert sends(recorded(tmp_path, 2, write, end)) == [(0, 1, 24)]
    with pytest.raises(InputError):
        recorded(tmp_path, 2, write)


@pytest.mark.parametrize(
    ("name", "parameters", "operation", "size_bytes", "root"),
    [
        ("Barrier", [], "barrier", 0, 0),
        ("Bcast", ["int count=3", DOUBLE, "int root=2"], "broadcast", 24, 2),
        ("Reduce", ["int count=3", DOUBLE, "MPI_Op op=3 (MPI_SUM)", "int root=1"], "reduce", 24, 1),
        ("Allreduce", ["int count=3", DOUBLE, "MPI_Op op=3 (MPI_SUM)"], "allreduce", 24, 0),
        ("Scan", ["int count=3", DOUBLE, "MPI_Op op=3 (MPI_SUM)"], "scan", 24, 0),
        (
            "Reduce_scatter",
            ["int commsize=4", "int recvcounts[4]=[1, 2, 3, 4]", DOUBLE, "MPI_Op op=3 (MPI_SUM)"],
            "reduce_scatter",
            80,
            0,
        ),
    ],
)
def test_collective_operations(
    tmp_path: Path, name: str, parameters: list[str], operation: str, size_bytes: float, root: int
) -> None:
    recording = recorded(tmp_path, 4, lambda trace: trace.call(f"MPI_{name}", *parameters, WORLD))
    (only,) = [one for one in recording.operations if one[0] == COLLECTIVE]
    assert (only[1], only[2], only[4]) == (operation, size_bytes, root)


def test_roots_state_what_the_others_send(tmp_path: Path) -> None:
    """The counts of the other side are those of nobody where they are not used."""
    types = "MPI_Datatype sendtype=11 (MPI_DOUBLE)", "MPI_Datatype recvtype=11 (MPI_DOUBLE)"

    def write(trace: Trace) -> None:
        rank = f"int commrank={trace.rank}"
        sent, got = (
            ("int sendcount=-1", "int recvcount=3") if trace.rank == 1 else ("int sendcount=3", "int recvcount=-1")
        )
        trace.call("MPI_Gather", rank, sent, types[0], got, types[1], "int root=1", WORLD)
        sent, got = (
            ("int sendcount=4", "int recvcount=-1") if trace.rank == 1 else ("int sendcount=-1", "int recvcount=4")
        )
        trace.call("MPI_Scatter", rank, sent, types[0], got, types[1], "int root=1", WORLD)
        counts = "int recvcounts[2]=[5, 6]" if trace.rank == 1 else "int recvcounts[2]=<IGNORED>"
        own = f"int sendcount={5 + trace.rank}"
        trace.call("MPI_Gatherv", rank, "int commsize=2", own, types[0], counts, types[1], "int root=1", WORLD)

    recording = recorded(tmp_path, 2, write)
    found = [(one[1], one[2], one[4]) for one in recording.operations if one[0] == COLLECTIVE]
    assert found == [("gather", 24, 1), ("scatter", 32, 1)]
    assert sends(recording) == [(0, 1, 40)]


def test_communicators(tmp_path: Path) -> None:
    """A split in reverse order, its duplicate, a grid of 2 x 2 and its columns: peers and groups of all ranks."""
    mine = "MPI_Comm newcomm=%d (user-defined-comm)"

    def write(trace: Trace) -> None:
        rank, world = trace.rank, "MPI_Comm oldcomm=2 (MPI_COMM_WORLD)"
        trace.call("MPI_Comm_split", world, f"int color={rank // 2}", f"int key={-rank}", mine % 5)
        trace.call("MPI_Comm_dup", "MPI_Comm oldcomm=5 (user-defined-comm)", mine % 6)
        grid = ("int ndim=2", "int dims[2]=[2, 2]", "int periods[2]=[0, 0]", "int reorder=0")
        trace.call("MPI_Cart_create", world, *grid, mine % 7)
        part = "MPI_Comm oldcomm=7 (user-defined-comm)", "int remain_dims[2]=[1, 0]"
        trace.call("MPI_Cart_sub", "int ndim=2", *part, mine % 8)
        if rank % 2:  # member 0 of the split
            trace.call(
                "MPI_Send", "int count=8", BYTE, "int dest=1", "int tag=0", "MPI_Comm comm=6 (user-defined-comm)"
            )
        else:
            peer = ("int source=0", "int tag=0", "MPI_Comm comm=6 (user-defined-comm)", IGNORED)
            trace.call("MPI_Recv", "int count=8", BYTE, *peer)
        trace.call("MPI_Barrier", "MPI_Comm comm=8 (user-defined-comm)")
        trace.call("MPI_Barrier", "MPI_Comm comm=3 (MPI_COMM_SELF)")

    recording = recorded(tmp_path, 4, write)
    assert sends(recording) == [(1, 0, 8), (3, 2, 8)]
    columns, alone = (sorted(colours.tolist()) for colours in recording.colours[1:])
    assert recording.colours[1].tolist()[0] == recording.colours[1].tolist()[2]
    assert (len({*columns}), len({*alone})) == (2, 4)


def test_a_communicator_of_some_ranks(tmp_path: Path) -> None:
    def write(trace: Trace, ranks: str = "[0, 2]") -> None:
        group = "MPI_Group group=2 (user-defined-group)"
        trace.call("MPI_Group_incl", group, "int count=2", f"int ranks[2]={ranks}", group.replace("p g", "p newg"))
        made = "MPI_Comm newcomm=1 (MPI_COMM_NULL)" if trace.rank == 1 else "MPI_Comm newcomm=5 (user-defined-comm)"
        trace.call("MPI_Comm_create", "MPI_Comm oldcomm=2 (MPI_COMM_WORLD)", group, made)
        if trace.rank != 1:
            trace.call("MPI_Barrier", "MPI_Comm comm=5 (user-defined-comm)")

    assert recorded(tmp_path, 3, write).colours[1].tolist() == [0, -1, 0]
    with pytest.raises(InputError):  # in another order, in which peers would be others
        recorded(tmp_path, 3, lambda trace: write(trace, "[2, 0]"))


def _unknown_communicator(trace: Trace) -> None:
    trace.call("MPI_Barrier", "MPI_Comm comm=9 (user-defined-comm)")


def _any_source(trace: Trace) -> None:
    source = "int source=-1 (MPI_ANY_SOURCE)"
    trace.call("MPI_Recv", "int count=8", BYTE, source, "int tag=0", WORLD, IGNORED)


def _window(trace: Trace) -> None:
    trace.call("MPI_Win_fence", "int assertion=0", "MPI_Win win=3 (user-defined-win)")


def _no_count(trace: Trace) -> None:
    trace.call("MPI_Send", BYTE, "int dest=1", "int tag=0", WORLD)


def _no_number(trace: Trace) -> None:
    trace.call("MPI_Send", "int count=[x]", BYTE, "int dest=1", "int tag=0", WORLD)


def _within(trace: Trace) -> None:
    trace.lines.append("MPI_Barrier entering at walltime 9999.000000000, cputime 0.1 seconds in thread 0.")


def _no_time(trace: Trace) -> None:
    trace.lines.append("MPI_Barrier entering at walltime never, cputime 0.1 seconds in thread 0.")


@pytest.mark.parametrize(
    ("write", "line"),
    [
        (_unknown_communicator, 4),
        (_any_source, 4),
        (_window, 4),
        (_no_count, 4),
        (_no_number, 4),
        (_within, 5),
        (_no_time, 4),
    ],
)
def test_errors_name_the_line_of_the_call(tmp_path: Path, write: Callable[[Trace], None], line: int) -> None:
    path = written(tmp_path, 2, write)
    with pytest.raises(InputError) as raised:
        read_dumpi_text(path)
    assert raised.value.place is not None
    assert (raised.value.place.file, raised.value.place.line) == (str(path), line)


_values = st.one_of(
    st.integers(-2, 9).map(str),
    st.sampled_from(["[1, 2]", "[]", "2 (MPI_COMM_WORLD)", "11 (MPI_DOUBLE)", "<IGNORED>", "[x]", "9" * 25]),
    st.text(max_size=5),
)
_parameter = st.builds(
    "{} {}={}".format,
    st.sampled_from(["int", "MPI_Comm", "MPI_Datatype", "MPI_Request", "MPI_Status", "MPI_Group"]),
    st.sampled_from(
        [
            "count",
            "datatype",
            "dest",
            "source",
            "tag",
            "comm",
            "request",
            "requests",
            "status",
            "statuses",
            "root",
            "commrank",
            "oldcomm",
            "newcomm",
            "color",
            "key",
            "recvcounts",
            "sendcounts",
            "sendtype",
            "recvtype",
            "newtype",
            "oldtype",
            "lengths",
            "dims",
            "index",
        ]
    ),
    _values,
)
_calls = st.builds(
    lambda name, parameters: (f"MPI_{name}", parameters),
    st.sampled_from([*CALLS, "Type_vector", "Type_struct"]),
    st.lists(_parameter, max_size=10),
)


@given(st.lists(st.one_of(_calls, st.text(max_size=40)), max_size=6))
@settings(max_examples=examples(300))
def test_any_text_is_a_recording_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, calls: list[object]
) -> None:
    trace = Trace(0, 1)
    for call in calls:
        match call:
            case str(text):
                trace.lines.append(text)
            case (str(name), [*parameters]):
                trace.call(name, *parameters)
    path = tmp_path_factory.getbasetemp() / "any-0000.txt"
    path.write_text("\n".join(trace.lines), encoding="utf-8", errors="replace")
    try:
        recording = read_dumpi_text(path)
    except InputError:
        return
    assert recording.ranks == 1

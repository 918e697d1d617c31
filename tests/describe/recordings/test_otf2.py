"""OTF2 archives, which the library of OTF2's authors writes here of events made by hand. Times in nanoseconds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError
from simcodesign.describe.python_programs.recorded_operations import COLLECTIVE, RECEIVE, SEND
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.readers.otf2_archive import read_otf2
from tests.describe.recordings.test_builder import message_s

otf2 = pytest.importorskip("otf2")


class Trace:
    """The events of a rank. ``clock``: of the last event."""

    def __init__(self, rank: int, events: Any, regions: Callable[[str, bool], Any], comms: dict[str, Any]) -> None:
        self.rank, self.comms, self._events, self._regions, self.clock = rank, comms, events, regions, 1000
        self._events.enter(self.clock, self._regions("main", False))
        self.call("MPI_Init")

    def call(self, name: str, *events: tuple[str, dict[str, Any]], after_ns: int = 0) -> None:
        """A region of MPI that is entered ``after_ns`` after the one before, and takes 700 ns."""
        self.clock += after_ns
        self._events.enter(self.clock, self._regions(name, True))
        for kind, fields in events:
            getattr(self._events, kind)(self.clock, **fields)
        self.clock += 700
        self._events.leave(self.clock, self._regions(name, True))

    def ends(self) -> None:
        """The end of the program."""
        self.call("MPI_Finalize")
        self._events.leave(self.clock + 100, self._regions("main", False))


def written(folder: Path, ranks: int, write: Callable[[Trace], None]) -> Path:
    """The anchor file of an archive; rank 0 has a second thread, whose events do not count."""
    with otf2.writer.open(str(folder / "archive"), timer_resolution=10**9) as trace:
        make = trace.definitions
        node = make.system_tree_node("node", parent=make.system_tree_node("root"))
        groups = [make.location_group(f"MPI Rank {rank}", system_tree_parent=node) for rank in range(ranks)]
        locations = [make.location("Master thread", group=group) for group in groups]
        other = make.location("Worker thread", group=groups[0])
        mpi, kinds = otf2.Paradigm.MPI, otf2.GroupType
        make.group("all", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=locations)

        def comm(name: str, members: list[int], parent: Any) -> Any:
            group = make.group(name, group_type=kinds.COMM_GROUP, paradigm=mpi, members=[locations[m] for m in members])
            return make.comm(name, group=group, **({"parent": parent} if parent else {}))

        world = comm("MPI_COMM_WORLD", list(range(ranks)), None)
        self_group = make.group("self", group_type=kinds.COMM_SELF, paradigm=mpi, members=[])
        comms = {"world": world, "self": make.comm("MPI_COMM_SELF", group=self_group)}
        comms["reversed"] = comm("reversed", list(reversed(range(ranks))), world)
        known: dict[str, Any] = {}

        def region(name: str, is_mpi: bool) -> Any:
            if name not in known:
                paradigm = mpi if is_mpi else otf2.Paradigm.USER
                known[name] = make.region(name, region_role=otf2.RegionRole.FUNCTION, paradigm=paradigm)
            return known[name]

        for rank, location in enumerate(locations):
            events = Trace(rank, trace.event_writer_from_location(location), region, comms)
            write(events)
            events.ends()
        trace.event_writer_from_location(other).enter(5000, region("worker", False))
    return folder / "archive" / "traces.otf2"


def recorded(folder: Path, ranks: int, write: Callable[[Trace], None]) -> Recording:
    """The recording of such an archive."""
    return read_otf2(written(folder, ranks, write))


def message(trace: Trace, peer: str, rank: int, size: int, tag: int = 3, comm: str = "world") -> dict[str, Any]:
    """The fields of an event of a message."""
    return {peer: rank, "communicator": trace.comms[comm], "msg_tag": tag, "msg_length": size}


def collective(trace: Trace, op: str, root: int, sent: int, received: int, comm: str = "world") -> dict[str, Any]:
    """The fields of the end of a collective operation."""
    kind = getattr(otf2.CollectiveOp, op)
    sizes = {"size_sent": sent, "size_received": received}
    return {"collective_op": kind, "communicator": trace.comms[comm], "root": root, **sizes}


def test_what_passes_outside_of_mpi_is_computation(tmp_path: Path) -> None:
    def write(trace: Trace) -> None:
        if trace.rank == 0:
            trace.call("MPI_Send", ("mpi_send", message(trace, "receiver", 1, 10**6)), after_ns=300_000)
        else:
            trace.call("MPI_Recv", ("mpi_recv", message(trace, "sender", 0, 10**6)))
        trace.call("MPI_Barrier", ("mpi_collective_begin", {}), after_ns=100_000)

    result = sc.simulate(str(written(tmp_path, 2, write)), "crossbar-16", effects="none")
    assert result.makespan_s == pytest.approx(300e-6 + message_s(1e6) + 100e-6, rel=1e-12)


def test_requests(tmp_path: Path) -> None:
    """Two receives are completed in the other order; what they took is known when they are."""

    def write(trace: Trace) -> None:
        other = 1 - trace.rank
        for request in (1, 2):
            trace.call("MPI_Irecv", ("mpi_irecv_request", {"request_id": request}))
        for request in (3, 4):
            fields = {**message(trace, "receiver", other, 8, tag=request), "request_id": request}
            trace.call("MPI_Isend", ("mpi_isend", fields))
        ends = [("mpi_isend_complete", {"request_id": request}) for request in (3, 4)]
        for request, tag in ((2, 4), (1, 3)):
            ends.append(("mpi_irecv", {**message(trace, "sender", other, 8, tag=tag), "request_id": request}))
        trace.call("MPI_Waitall", *ends)

    recording = recorded(tmp_path, 2, write)
    own = recording.waits_for[: recording.first[1]]
    kinds = [recording.operations[recording.op[one]] for one in own[own >= 0]]
    assert [(one[0], one[4]) for one in kinds] == [(SEND, 3), (SEND, 4), (RECEIVE, 4), (RECEIVE, 3)]


def test_both_sides_of_an_exchange_go_on(tmp_path: Path) -> None:
    """Messages above S, 2 kB, wait for their receivers: two sends before two receives would never end."""
    machine = {"name": "m", "nodes": 2, "processor": {"rate": 1e9}}
    machine["network"] = {"topology": {"kind": "crossbar"}, "model": "loggop", "L": 1e-6, "o": 1e-6, "g": 0, "G": 1e-9}
    machine["network"]["S"] = 2000

    def write(trace: Trace) -> None:
        other = 1 - trace.rank
        both = [
            ("mpi_send", message(trace, "receiver", other, 10**6)),
            ("mpi_recv", message(trace, "sender", other, 10**6)),
        ]
        trace.call("MPI_Sendrecv", *both)

    load = sc.Workload.load(str(written(tmp_path, 2, write)))
    assert sc.simulate(load, sc.Machine.load(machine), effects="none").messages == 2


@pytest.mark.parametrize(
    ("op", "at_root", "elsewhere", "operation", "size_bytes"),
    [
        ("BARRIER", (0, 0), (0, 0), "barrier", 0),
        ("BCAST", (32, 8), (0, 8), "broadcast", 8),
        ("SCATTER", (32, 8), (0, 8), "scatter", 8),
        ("SCATTER", (24, 0), (0, 8), "scatter", 8),
        ("GATHER", (8, 32), (8, 0), "gather", 8),
        ("REDUCE", (8, 32), (8, 0), "reduce", 8),
        ("REDUCE", (0, 24), (8, 0), "reduce", 8),
        ("ALLREDUCE", (32, 32), (32, 32), "allreduce", 8),
        ("ALLGATHER", (32, 32), (32, 32), "allgather", 8),
        ("ALLTOALL", (32, 32), (32, 32), "all_to_all", 8),
        ("REDUCE_SCATTER_BLOCK", (32, 32), (32, 32), "reduce_scatter", 32),
    ],
)
@pytest.mark.parametrize("starts", [False, True])
def test_collective_operations(
    tmp_path: Path,
    op: str,
    at_root: tuple[int, int],
    elsewhere: tuple[int, int],
    operation: str,
    size_bytes: float,
    starts: bool,
) -> None:
    """Bytes as Score-P counts them: 8 of each of four ranks, its own part too unless it is in place."""

    def write(trace: Trace) -> None:
        sizes = at_root if trace.rank == 1 else elsewhere
        fields = collective(trace, op, 1, *sizes)
        if starts:
            trace.call("MPI_I", ("non_blocking_collective_request", {"request_id": 7}))
            trace.call("MPI_Wait", ("non_blocking_collective_complete", {**fields, "request_id": 7}))
        else:
            trace.call("MPI_X", ("mpi_collective_begin", {}), ("mpi_collective_end", fields))

    recording = recorded(tmp_path, 4, write)
    (only,) = [one for one in recording.operations if one[0] == COLLECTIVE]
    rooted = operation in ("broadcast", "scatter", "gather", "reduce")
    assert (only[1], only[2], only[4]) == (operation, size_bytes, 1 if rooted else 0)
    assert recording.started.any() == starts


def test_scans(tmp_path: Path) -> None:
    """Rank r of n sends 8 to all from itself on, and receives 8 from all up to itself."""

    def write(trace: Trace) -> None:
        sizes = (4 - trace.rank) * 8, (trace.rank + 1) * 8
        trace.call("MPI_Scan", ("mpi_collective_end", collective(trace, "SCAN", 0, *sizes)))

    recording = recorded(tmp_path, 4, write)
    assert [one[1:3] for one in recording.operations if one[0] == COLLECTIVE] == [("scan", 8)]


def test_sizes_by_rank(tmp_path: Path) -> None:
    def write(trace: Trace) -> None:
        own = 8 * (trace.rank + 1)
        trace.call("MPI_Gatherv", ("mpi_collective_end", collective(trace, "GATHERV", 0, own, 0)))
        trace.call("MPI_Alltoallv", ("mpi_collective_end", collective(trace, "ALLTOALLV", 0, 2 * own, 24)))

    recording = recorded(tmp_path, 2, write)
    entries = recording.entries_of(recording.of_kind(SEND))
    found = [(int(recording.rank[one]), recording.operations[recording.op[one]][2]) for one in entries]
    assert found == [(0, 8), (1, 16), (1, 16)]


def test_communicators(tmp_path: Path) -> None:
    """In the reversed communicator of three, rank 0 is member 2."""

    def write(trace: Trace) -> None:
        if trace.rank == 0:
            trace.call("MPI_Send", ("mpi_send", message(trace, "receiver", 1, 8, comm="reversed")))
        if trace.rank == 1:
            trace.call("MPI_Recv", ("mpi_recv", message(trace, "sender", 2, 8, comm="reversed")))
        sizes = (24, 8) if trace.rank == 2 else (0, 8)
        trace.call("MPI_Bcast", ("mpi_collective_end", collective(trace, "BCAST", 0, *sizes, comm="reversed")))
        trace.call("MPI_Barrier", ("mpi_collective_end", collective(trace, "BARRIER", 0, 0, 0, comm="self")))
        trace.call("MPI_Comm_dup", ("mpi_collective_end", collective(trace, "CREATE_HANDLE", 0, 0, 0)))

    recording = recorded(tmp_path, 3, write)
    kinds = {one[0]: one[3] for one in recording.operations if one[0] in (SEND, RECEIVE)}
    assert kinds == {SEND: 1, RECEIVE: 0}
    roots = {one[1]: one[4] for one in recording.operations if one[0] == COLLECTIVE}
    assert roots == {"broadcast": 2, "barrier": 0}


@pytest.mark.parametrize("kind", ["scatterv", "cancelled", "unknown request", "never completed", "never received"])
def test_what_an_archive_does_not_say_is_an_error(tmp_path: Path, kind: str) -> None:
    def write(trace: Trace) -> None:
        events: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "scatterv": [("mpi_collective_end", collective(trace, "SCATTERV", 0, 8, 8))],
            "cancelled": [("mpi_request_cancelled", {"request_id": 3})],
            "unknown request": [("mpi_isend_complete", {"request_id": 3})],
            "never completed": [("non_blocking_collective_request", {"request_id": 3})],
            "never received": [("mpi_irecv_request", {"request_id": 3})],
        }
        trace.call("MPI_X", *events[kind])

    path = written(tmp_path, 2, write)
    with pytest.raises(InputError) as raised:
        read_otf2(path)
    assert raised.value.place is not None
    assert raised.value.place.file == str(path)
    assert raised.value.place.line


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "traces.otf2"
    for data in (b"", b"OTF2", b"\x00" * 1000):
        path.write_bytes(data)
        with pytest.raises(InputError):
            read_otf2(path)
    with pytest.raises(InputError):
        read_otf2(tmp_path / "none.otf2")


def test_damaged_archives(tmp_path: Path) -> None:
    """Of each file of an archive a byte is changed, or half of it is missing."""

    def write(trace: Trace) -> None:
        trace.call("MPI_Barrier", ("mpi_collective_end", collective(trace, "BARRIER", 0, 0, 0)))

    path = written(tmp_path, 2, write)
    for file in sorted(one for one in path.parent.rglob("*") if one.is_file()):
        content = file.read_bytes()
        for place in range(0, len(content), max(len(content) // 8, 1)):
            for damaged in (content[:place], content[:place] + bytes([content[place] ^ 85]) + content[place + 1 :]):
                file.write_bytes(damaged)
                with suppress(InputError):
                    assert read_otf2(path).ranks >= 1
        file.write_bytes(content)

"""OTF2 archives, as Score-P writes them, by the library of its authors (package ``otf2``, extra ``otf2``).

The first thread of each MPI process is a rank. What passes outside of regions of MPI is computation. An archive has the
bytes that a collective operation sends and receives in all, as Score-P's ``scorep_mpi_coll.h`` counts them. Lines in
errors are numbers of events of a rank.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import first_bytes
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.communicators import WORLD
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader

#: Exceptions of the library for files that it cannot read, in addition to errors of its own.
_ERRORS = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError)
#: Bytes as in workload files, from the bytes that a rank of a communicator sends and receives.
_Size = Callable[[float, float, int, int], float]


def _of_many(sent: float, received: float, ranks: int, _: int) -> float:
    """Every rank receives as much from each, itself too."""
    return received / ranks


def _contributed(sent: float, received: float, ranks: int, _: int) -> float:
    """Bytes sent to a root; it sends nothing if its own part is in place."""
    return sent if sent or ranks < 2 else received / (ranks - 1)


def _obtained(sent: float, received: float, ranks: int, _: int) -> float:
    """Bytes received from a root."""
    return received if received or ranks < 2 else sent / (ranks - 1)


#: Collective operations: the name in the product, and their bytes.
_COLLECTIVES: dict[str, tuple[str, _Size]] = {
    "BARRIER": ("barrier", lambda *_: 0.0),
    "BCAST": ("broadcast", _obtained),
    "SCATTER": ("scatter", _obtained),
    "GATHER": ("gather", _contributed),
    "REDUCE": ("reduce", _contributed),
    "ALLREDUCE": ("allreduce", _of_many),
    "ALLGATHER": ("allgather", _of_many),
    "ALLGATHERV": ("allgather", _of_many),
    "ALLTOALL": ("all_to_all", _of_many),
    "REDUCE_SCATTER": ("reduce_scatter", lambda sent, *_: sent),
    "REDUCE_SCATTER_BLOCK": ("reduce_scatter", lambda sent, *_: sent),
    "SCAN": ("scan", lambda sent, received, ranks, _: (sent + received) / (ranks + 1)),
    "EXSCAN": ("scan", lambda sent, received, ranks, _: (sent + received) / max(ranks - 1, 1)),
}
_WITHOUT_DATA = ("CREATE_HANDLE", "DESTROY_HANDLE", "ALLOCATE", "DEALLOCATE", "CREATE_HANDLE_AND_ALLOCATE",
    "DESTROY_HANDLE_AND_DEALLOCATE")  # fmt: skip


class _Rank:
    """The events of one rank. ``number_of``: of a location, its rank; ``per_second``: ticks of the clock."""

    def __init__(self, log: RankLog, builder: RecordingBuilder, number_of: dict[Any, int], per_second: float) -> None:
        self.log, self._builder, self._number_of, self._per_second = log, builder, number_of, per_second
        self._regions: list[str] = []  # of MPI, that are entered
        self._left: int | None = None
        self._requests: dict[int, int] = {}
        self._places: dict[Any, tuple[int, int, int]] = {}
        self._until_leave: list[int] = []

    def event(self, event: Any, names: Any) -> None:
        """Do an event; ``names``: of operations by their numbers."""
        self.log.line += 1
        action = _ACTIONS.get(type(event).__name__)
        if action is not None:
            action(self, event, names)

    def _place_of(self, event: Any) -> tuple[int, int, int]:
        """Return the communicator of an event, this rank in it, and how many ranks it has."""
        communicator = event.communicator
        if communicator not in self._places:
            group = getattr(communicator, "group", None)
            if group is None:
                raise InputError("an event of an intercommunicator", self.log.place)
            members = [self._number_of[one] for one in group.members] or [self.log.rank]  # MPI_COMM_SELF has none
            is_world = members == list(range(self._builder.ranks)) and communicator.parent is None
            number = WORLD
            if not is_world:
                number = self._builder.communicators.listed(members, self.log.place, communicator)
            self._places[communicator] = number, members.index(self.log.rank), len(members)
        return self._places[communicator]

    def enter(self, event: Any, names: Any) -> None:
        if event.region.paradigm != names.mpi:
            return
        if not self._regions and self._left is not None and event.time > self._left:
            self.log.compute((event.time - self._left) / self._per_second)
        self._regions.append(event.region.name)

    def leave(self, event: Any, names: Any) -> None:
        if event.region.paradigm != names.mpi or not self._regions:
            return
        self._regions.pop()
        if not self._regions:
            for handle in self._until_leave:
                self.log.wait(handle)
            self._until_leave.clear()
            self._left = event.time

    def send(self, event: Any, names: Any) -> None:
        to = event.receiver, float(event.msg_length), event.msg_tag, self._place_of(event)[0]
        if self._regions and self._regions[-1].startswith("MPI_Sendrecv"):
            self._until_leave.append(self.log.start_send(*to))
        else:
            self.log.send(*to)

    def start_send(self, event: Any, names: Any) -> None:
        communicator = self._place_of(event)[0]
        handle = self.log.start_send(event.receiver, float(event.msg_length), event.msg_tag, communicator)
        self._requests[event.request_id] = handle

    def receive(self, event: Any, names: Any) -> None:
        self.log.receive(event.sender, None, event.msg_tag, self._place_of(event)[0])

    def start_receive(self, event: Any, names: Any) -> None:
        self._requests[event.request_id] = self.log.start_receive(None, None, None)

    def complete(self, event: Any, names: Any) -> None:
        self.log.wait(self._started(event))

    def complete_receive(self, event: Any, names: Any) -> None:
        handle = self._started(event)
        self.log.received(handle, event.sender, event.msg_tag, self._place_of(event)[0])
        self.log.wait(handle)

    def _started(self, event: Any) -> int:
        if event.request_id not in self._requests:
            what = f"rank {self.log.rank} ends what it has not started"
            raise InputError(what, self.log.place, value=event.request_id)
        return self._requests.pop(event.request_id)

    def cancel(self, event: Any, names: Any) -> None:
        raise InputError(f"rank {self.log.rank} cancels a message", self.log.place, value=event.request_id)

    def collective(self, event: Any, names: Any) -> None:
        kind = names.collectives.get(event.collective_op, str(event.collective_op))
        if kind in _WITHOUT_DATA:
            return
        number, place, ranks = self._place_of(event)
        if kind == "GATHERV":
            self.log.gather_parts(float(event.size_sent), event.root, event.root == place, ranks, number)
        elif kind == "ALLTOALLV":
            self.log.all_to_all_parts([event.size_sent / ranks] * ranks, number)
        else:
            self.log.collective(*self._operation(kind, event, ranks), number)

    def start_collective(self, event: Any, names: Any) -> None:
        self._requests[event.request_id] = self.log.start_unknown()

    def complete_collective(self, event: Any, names: Any) -> None:
        handle, (number, _, ranks) = self._started(event), self._place_of(event)
        kind = names.collectives.get(event.collective_op, str(event.collective_op))
        operation = ("barrier", 0.0, None) if kind in _WITHOUT_DATA else self._operation(kind, event, ranks)
        self.log.was_collective(handle, *operation, number)
        self.log.wait(handle)

    def _operation(self, kind: str, event: Any, ranks: int) -> tuple[str, float, int | None]:
        if kind not in _COLLECTIVES:
            what = f"rank {self.log.rank} calls MPI_{kind.capitalize()}, of which an archive does not say the sizes"
            raise InputError(what, self.log.place)
        name, size = _COLLECTIVES[kind]
        root = event.root if kind in ("BCAST", "SCATTER", "GATHER", "REDUCE") else None
        return name, size(float(event.size_sent), float(event.size_received), ranks, 0), root


_ACTIONS: dict[str, Callable[[_Rank, Any, Any], None]] = {
    "Enter": _Rank.enter,
    "Leave": _Rank.leave,
    "MpiSend": _Rank.send,
    "MpiIsend": _Rank.start_send,
    "MpiIsendComplete": _Rank.complete,
    "MpiRecv": _Rank.receive,
    "MpiIrecvRequest": _Rank.start_receive,
    "MpiIrecv": _Rank.complete_receive,
    "MpiRequestCancelled": _Rank.cancel,
    "MpiCollectiveEnd": _Rank.collective,
    "NonBlockingCollectiveRequest": _Rank.start_collective,
    "NonBlockingCollectiveComplete": _Rank.complete_collective,
}


class _Names:
    """Names of MPI and its collective operations in the library."""

    def __init__(self, enums: Any) -> None:
        self.mpi = enums.Paradigm.MPI
        kinds = (*_COLLECTIVES, *_WITHOUT_DATA, "GATHERV", "SCATTERV", "ALLTOALLV", "ALLTOALLW")
        self.collectives: dict[Hashable, str] = {
            getattr(enums.CollectiveOp, kind): kind for kind in kinds if hasattr(enums.CollectiveOp, kind)
        }


def read_otf2(path: Path) -> Recording:
    """Return the recording of an archive; ``path``: its anchor file. InputError also without the package otf2."""
    try:
        import otf2
    except ImportError:
        what = "reading OTF2 archives needs the package otf2, which is not installed"
        raise InputError(what, Place(str(path)), allowed="pip install 'simcodesign[otf2]'") from None
    first_bytes(path, 1)  # for a file that cannot be read, the library gives a poorer message
    try:
        with otf2.reader.open(str(path)) as trace:
            return _recording(path, trace, otf2)
    except InputError:
        raise
    except (*_ERRORS, otf2.error.TraceReaderError, otf2.reader._otf2.Error) as error:
        raise InputError("no OTF2 archive that can be read", Place(str(path)), value=str(error)) from None


def _recording(path: Path, trace: Any, otf2: Any) -> Recording:
    names, definitions = _Names(otf2.enums), trace.definitions
    kind = otf2.enums.GroupType.COMM_LOCATIONS
    groups = (one for one in definitions.groups if one.group_type == kind and one.paradigm == names.mpi)
    locations = next((tuple(group.members) for group in groups), ())
    if not locations:
        raise InputError("the archive has no ranks of MPI", Place(str(path)))
    builder = RecordingBuilder(len(locations), str(path))
    number_of = {location: rank for rank, location in enumerate(locations)}
    ranks = {
        location: _Rank(log, builder, number_of, float(trace.timer_resolution))
        for location, log in zip(locations, builder.logs, strict=True)
    }
    for location, event in trace.events:
        rank = ranks.get(location)
        if rank is not None:  # no other threads
            rank.event(event, names)
    return builder.recording()


def _sniff(start: FileStart) -> Match:
    return Match.CERTAIN if start.suffix == ".otf2" else Match.NONE


READERS.add_reader(RecordingReader("otf2", read_otf2, (".otf2",), _sniff))

"""Calls of MPI as traces list them, with their parameters by name: what one rank does by each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.communicators import WORLD
from simcodesign.describe.recordings.rank_log import RankLog

Given = Mapping[str, Any]
#: Calls that neither send nor wait: what they take is left out with the time of all calls.
_LOCAL = re.compile(
    r"MPI_(Init|Init_thread|Finalize|Initialized|Finalized|Is_thread_main|Query_thread|Abort|Pcontrol|Wtime|Wtick|Address|"
    r"Probe|Iprobe|Request_free|Request_get_status|Pack|Unpack|Pack_size|Dims_create|Alloc_mem|Free_mem|Topo_test|Cartdim_get|"
    r"Cart_(rank|coords|shift|get|map)|"
    r"Comm_(rank|size|group|free|compare|test_inter|[gs]et_\w+|\w+_attr|\w+_keyval|\w+_errhandler)|"
    r"(Get|Type|Op|Info|Attr|Keyval|Errhandler|Error|Add_error|Status|Buffer|Group)_\w+)"
)


class MpiRank:
    """State of one rank. Times are whole nanoseconds; the time between two calls is computation.

    Parameters of calls have the names of MPI for C: ``dest``, ``sendcounts``. Numbers are ints; datatypes are bytes of
    an element; requests are anything hashable; ``source`` and ``tag`` are None for any; a rank below 0 is
    MPI_PROC_NULL. ``comm`` is the trace's name for a communicator, ``comm_rank`` and ``comm_size`` this rank's place in
    it; ``requests`` and ``statuses`` are lists, a status being source and tag.
    """

    def __init__(self, log: RankLog, builder: RecordingBuilder, world: Hashable) -> None:
        self.log, self._all = log, builder.communicators
        self.communicators: dict[Hashable, int] = {world: WORLD}
        self.grids: dict[Hashable, list[int]] = {}
        self.unordered: set[Hashable] = set()  # groups whose ranks are not in the order of those that they were made of
        self._requests: dict[Hashable, int | None] = {}
        self._persistent: dict[Hashable, tuple[bool, Given]] = {}
        self._of_any: set[int] = set()  # receives from any rank, or with any tag
        self._left_ns: int | None = None

    def call(self, name: str, given: Given, entered_ns: int | None, left_ns: int | None) -> None:
        """Do what a call does. Raises InputError for one that is not read, or whose parameters are missing."""
        self.compute_until(entered_ns, left_ns)
        action = CALLS.get(name.removeprefix("MPI_"))
        if action is None:
            if _LOCAL.fullmatch(name):
                return
            raise InputError(
                f"{name} of rank {self.log.rank} is not read", self.log.place, allowed="see its documentation"
            )
        try:
            action(self, given)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            what = f"{name} of rank {self.log.rank}: its parameters cannot be read"
            raise InputError(what, self.log.place, value=str(error)) from None

    def compute_until(self, entered_ns: int | None, left_ns: int | None) -> None:
        """Note the computation before a call, which was entered and left at these times; None where no clock ran."""
        if entered_ns is not None and self._left_ns is not None and entered_ns > self._left_ns:
            self.log.compute((entered_ns - self._left_ns) * 1e-9)
        self._left_ns = left_ns

    def communicator(self, given: Given, name: str = "comm") -> int:
        """Return the number of a communicator. Raises InputError for one whose making the trace does not say."""
        key = given[name]
        if key not in self.communicators:
            what = f"rank {self.log.rank} uses a communicator of which the trace does not say how it was made"
            raise InputError(what, self.log.place, value=key)
        return self.communicators[key]

    def alone(self) -> int:
        """Return the number of MPI_COMM_SELF."""
        return self._all.listed([self.log.rank], self.log.place)

    def requests_in(self, several: range) -> list[Hashable]:
        """Return those among numbers that are requests, in their order."""
        known = {*self._requests, *self._persistent}
        if len(several) <= len(known):
            return [one for one in several if one in known]
        return [*sorted(one for one in known if isinstance(one, int) and one in several)]

    def begin(self, request: Hashable, handle: int | None) -> None:
        """Note a start. A program uses a request again when its operation is done."""
        self.finish(request)
        self._requests[request] = handle

    def finish(self, request: Hashable, status: tuple[int, int] | None = None) -> None:
        """Wait for the operation of a request, if there is any."""
        handle = self._requests.pop(request, None)
        if handle is None:
            return
        if handle in self._of_any:
            self._of_any.remove(handle)
            if status is not None:
                self.log.received(handle, *status)
        self.log.wait(handle)

    def send(self, given: Given, starts: bool) -> int | None:
        """Send, or start to."""
        to, size_bytes = given["dest"], float(given["count"] * given["datatype"])
        if to < 0:
            return None
        communicator = self.communicator(given)
        if starts:
            return self.log.start_send(to, size_bytes, given["tag"], communicator)
        self.log.send(to, size_bytes, given["tag"], communicator)
        return None

    def receive(self, given: Given, starts: bool) -> int | None:
        """Receive, or start to."""
        source, most_bytes = given["source"], float(given["count"] * given["datatype"])
        if source is not None and source < 0:
            return None
        communicator = self.communicator(given)
        if starts:
            handle = self.log.start_receive(source, most_bytes, given["tag"], communicator)
            if None in (source, given["tag"]):
                self._of_any.add(handle)
            return handle
        self.log.receive(source, most_bytes, given["tag"], communicator)
        return None

    def make(self, given: Given, colour: int, key: int) -> None:
        """Make a communicator together with others; those for which ``newcomm`` is None are in none."""
        made = given["newcomm"]
        parent = self.communicator(given, "oldcomm")
        place = self.log.place
        number = self._all.split(parent, self.log.rank, None if made is None else colour, key, place)
        if made is not None:
            self.communicators[made] = number

    def start_persistent(self, request: Hashable) -> None:
        """Start what Send_init or Recv_init has described."""
        is_send, given = self._persistent[request]
        self.begin(request, self.send(given, True) if is_send else self.receive(given, True))

    def describe(self, given: Given, is_send: bool) -> None:
        """Note a persistent request."""
        self._persistent[given["request"]] = is_send, given


Action = Callable[[MpiRank, Given], None]


def _sends(rank: MpiRank, given: Given) -> None:
    rank.send(given, False)


def _starts_send(rank: MpiRank, given: Given) -> None:
    rank.begin(given["request"], rank.send(given, True))


def _receives(rank: MpiRank, given: Given) -> None:
    status = given.get("status")
    if status is not None and None in (given["source"], given["tag"]):
        given = {**given, "source": status[0], "tag": status[1]}
    rank.receive(given, False)


def _starts_receive(rank: MpiRank, given: Given) -> None:
    rank.begin(given["request"], rank.receive(given, True))


def _sendrecv(rank: MpiRank, given: Given) -> None:
    sent = {"count": given["sendcount"], "datatype": given["sendtype"], "tag": given["sendtag"]}
    handle = rank.send({**given, **sent}, True)
    got = {"count": given["recvcount"], "datatype": given["recvtype"], "tag": given["recvtag"]}
    _receives(rank, {**given, **got})
    if handle is not None:
        rank.log.wait(handle)


def _sendrecv_replace(rank: MpiRank, given: Given) -> None:
    count, datatype = given["count"], given["datatype"]
    both = {"sendcount": count, "recvcount": count, "sendtype": datatype, "recvtype": datatype}
    _sendrecv(rank, {**given, **both})


def _wait(rank: MpiRank, given: Given) -> None:
    rank.finish(given["request"], given.get("status"))


def _wait_all(rank: MpiRank, given: Given) -> None:
    statuses = given.get("statuses") or [None] * len(given["requests"])
    for request, status in zip(given["requests"], statuses, strict=True):
        rank.finish(request, status)


def _unknown_wait(rank: MpiRank, name: str) -> InputError:
    return InputError(f"rank {rank.log.rank} calls {name}, and the trace does not say what was done", rank.log.place)


def _wait_any(rank: MpiRank, given: Given) -> None:
    """``index``: which of the requests; below 0 for none."""
    if "index" not in given:
        raise _unknown_wait(rank, "MPI_Waitany")
    if 0 <= given["index"] < len(given["requests"]):
        rank.finish(given["requests"][given["index"]], given.get("status"))


def _wait_some(rank: MpiRank, given: Given) -> None:
    if "indices" not in given:
        raise _unknown_wait(rank, "MPI_Waitsome")
    statuses = given.get("statuses") or [None] * len(given["indices"])
    for index, status in zip(given["indices"], statuses, strict=True):
        rank.finish(given["requests"][index], status)


def _if_done(action: Action) -> Action:
    """Return the action of a test: a wait if it succeeded, nothing if it did not or was not recorded."""

    def tested(rank: MpiRank, given: Given) -> None:
        if given.get("flag"):
            action(rank, given)

    return tested


def _test_some(rank: MpiRank, given: Given) -> None:
    if given.get("indices"):
        _wait_some(rank, given)


def _start_all(rank: MpiRank, given: Given) -> None:
    for request in given["requests"]:
        rank.start_persistent(request)


def _split(rank: MpiRank, given: Given) -> None:
    colour = given["color"]
    rank.make(given if colour >= 0 else {**given, "newcomm": None}, colour, given["key"])


def _duplicate(rank: MpiRank, given: Given) -> None:
    rank.make(given, 0, 0)


def _create(rank: MpiRank, given: Given) -> None:
    if given["group"] in rank.unordered:
        what = f"rank {rank.log.rank} makes a communicator of a group in another order than its parent's"
        raise InputError(what, rank.log.place)
    rank.make(given, 0, 0)


def _include(rank: MpiRank, given: Given) -> None:
    """Make a group of some ranks of another group, and note if it has another order."""
    ranks = given["ranks"]
    if given["group"] in rank.unordered or sorted(ranks) != ranks:
        rank.unordered.add(given["newgroup"])


def _grid(rank: MpiRank, given: Given) -> None:
    rank.make(given, 0, 0)
    if given["newcomm"] is not None and rank.communicator(given, "oldcomm") == WORLD:
        rank.grids[given["newcomm"]] = given["dims"]


def _part_of_grid(rank: MpiRank, given: Given) -> None:
    """Keep the ranks whose coordinates are equal in the dimensions that do not remain."""
    dims, remains = rank.grids.get(given["oldcomm"]), given["remain_dims"]
    if dims is None or len(dims) != len(remains):
        what = f"rank {rank.log.rank} divides a grid that was not made of MPI_COMM_WORLD (MPI_Cart_sub)"
        raise InputError(what, rank.log.place)
    colour, rest = 0, rank.log.rank
    for place, (size, remaining) in enumerate(zip(dims, remains, strict=True)):
        below = math.prod(dims[place + 1 :])
        coordinate, rest = divmod(rest, below)
        colour = colour if remaining else colour * size + coordinate
    rank.make(given, colour, 0)


def _total(counts: str, datatype: str) -> Callable[[Given], float]:
    """Bytes of a number of elements."""
    return lambda given: float(given[counts] * given[datatype])


def _from_others(given: Given) -> float:
    """Bytes that a rank contributes to a gather: the root may contribute in place."""
    is_root = given["comm_rank"] == given["root"]
    return float(given["recvcount"] * given["recvtype"] if is_root else given["sendcount"] * given["sendtype"])


def _to_others(given: Given) -> float:
    """Bytes that a rank gets of a scatter."""
    is_root = given["comm_rank"] == given["root"]
    return float(given["sendcount"] * given["sendtype"] if is_root else given["recvcount"] * given["recvtype"])


def _collective(name: str, size: Callable[[Given], float], starts: bool) -> Action:
    def action(rank: MpiRank, given: Given) -> None:
        communicator, size_bytes, root = rank.communicator(given), size(given), given.get("root")
        if starts:
            handle = rank.log.start_collective(name, size_bytes, root, communicator)
            rank.begin(given["request"], handle)
        else:
            rank.log.collective(name, size_bytes, root, communicator)

    return action


def _gatherv(rank: MpiRank, given: Given) -> None:
    is_root, communicator = given["comm_rank"] == given["root"], rank.communicator(given)
    size_bytes = 0.0 if is_root else float(given["sendcount"] * given["sendtype"])
    rank.log.gather_parts(size_bytes, given["root"], is_root, given["comm_size"], communicator)


def _sizes(given: Given, counts: str, datatype: str) -> list[float]:
    return [float(count * given[datatype]) for count in given[counts]]


def _scatterv(rank: MpiRank, given: Given) -> None:
    is_root = given["comm_rank"] == given["root"]
    sizes = _sizes(given, "sendcounts", "sendtype") if is_root else []
    rank.log.scatter_parts(sizes, given["root"], is_root, rank.communicator(given))


def _allgatherv(rank: MpiRank, given: Given) -> None:
    rank.log.allgather_parts(_sizes(given, "recvcounts", "recvtype"), rank.communicator(given))


def _alltoallv(rank: MpiRank, given: Given) -> None:
    rank.log.all_to_all_parts(_sizes(given, "sendcounts", "sendtype"), rank.communicator(given))


#: Collective operations by their names in MPI: our name, and the bytes as in workload files.
_COLLECTIVES: dict[str, tuple[str, Callable[[Given], float]]] = {
    "Barrier": ("barrier", lambda given: 0.0),
    "Bcast": ("broadcast", _total("count", "datatype")),
    "Reduce": ("reduce", _total("count", "datatype")),
    "Allreduce": ("allreduce", _total("count", "datatype")),
    "Scan": ("scan", _total("count", "datatype")),
    "Exscan": ("scan", _total("count", "datatype")),
    "Gather": ("gather", _from_others),
    "Scatter": ("scatter", _to_others),
    "Allgather": ("allgather", _total("recvcount", "recvtype")),
    "Alltoall": ("all_to_all", _total("recvcount", "recvtype")),
    "Reduce_scatter": ("reduce_scatter", lambda given: float(sum(given["recvcounts"]) * given["datatype"])),
    "Reduce_scatter_block": (
        "reduce_scatter",
        lambda given: float(given["recvcount"] * given["comm_size"] * given["datatype"]),
    ),
}
#: Action of a rank, by the name of the call without ``MPI_``.
CALLS: dict[str, Action] = {
    **dict.fromkeys(("Send", "Bsend", "Ssend", "Rsend"), _sends),
    **dict.fromkeys(("Isend", "Ibsend", "Issend", "Irsend"), _starts_send),
    **dict.fromkeys(
        ("Send_init", "Bsend_init", "Ssend_init", "Rsend_init"), lambda rank, given: rank.describe(given, True)
    ),
    "Recv": _receives,
    "Irecv": _starts_receive,
    "Recv_init": lambda rank, given: rank.describe(given, False),
    "Start": lambda rank, given: rank.start_persistent(given["request"]),
    "Startall": _start_all,
    "Sendrecv": _sendrecv,
    "Sendrecv_replace": _sendrecv_replace,
    "Wait": _wait,
    "Waitall": _wait_all,
    "Waitany": _wait_any,
    "Waitsome": _wait_some,
    "Test": _if_done(_wait),
    "Testall": _if_done(_wait_all),
    "Testany": _if_done(_wait_any),
    "Testsome": _test_some,
    "Gatherv": _gatherv,
    "Scatterv": _scatterv,
    "Allgatherv": _allgatherv,
    "Alltoallv": _alltoallv,
    "Comm_split": _split,
    "Comm_dup": _duplicate,
    "Comm_create": _create,
    "Group_incl": _include,
    "Cart_create": _grid,
    "Cart_sub": _part_of_grid,
    **{name: _collective(*how, starts=False) for name, how in _COLLECTIVES.items()},
    **{f"I{name.lower()}": _collective(*how, starts=True) for name, how in _COLLECTIVES.items()},
}

"""Traces of liballprof, the tracer of LogGOPSim's toolchain: a file for each rank, named by its number.

A line is a call of MPI: ``MPI_Send:START:BUFFER:COUNT:TYPE,SIZE,EXTENT:TARGET:TAG:COMM,RANK,SIZE:END``, the parameters
in the order of C, times in microseconds. Counts for each rank follow the address of their array. Format: liballprof's
``gencode.py``, which writes it, and LogGOPSim's ``process_trace.cpp``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.mpi_calls import MpiRank
from simcodesign.describe.recordings.rank_files import files_of_ranks, numbered_lines
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader

#: MPI_ANY_SOURCE and MPI_ANY_TAG of Open MPI; any other rank below 0 is MPI_PROC_NULL.
_ANY = -1
_WORLD, _SELF = "MPI_COMM_WORLD", "MPI_COMM_SELF"
_UNREAD = ("a", "b", "comm", "displs", "sdispls", "rdispls")
#: Parameters of calls in their order: a name, or a kind: b for the address of a buffer, a for the address of an array.
_SIGNATURES = {
    "Send": "b count datatype dest tag comm",
    "Recv": "b count datatype source tag comm b",
    "Isend": "b count datatype dest tag comm request",
    "Irecv": "b count datatype source tag comm request",
    "Sendrecv": "b sendcount sendtype dest sendtag b recvcount recvtype source recvtag comm b",
    "Sendrecv_replace": "b count datatype dest sendtag source recvtag comm b",
    "Wait": "request b",
    "Waitall": "number first_request b",
    "Start": "request",
    "Startall": "number first_request",
    "Barrier": "comm",
    "Bcast": "b count datatype root comm",
    "Reduce": "b b count datatype b root comm",
    "Allreduce": "b b count datatype b comm",
    "Scan": "b b count datatype b comm",
    "Exscan": "b b count datatype b comm",
    "Gather": "b sendcount sendtype b recvcount recvtype root comm",
    "Scatter": "b sendcount sendtype b recvcount recvtype root comm",
    "Allgather": "b sendcount sendtype b recvcount recvtype comm",
    "Alltoall": "b sendcount sendtype b recvcount recvtype comm",
    "Gatherv": "b sendcount sendtype b a recvcounts a displs recvtype root comm",
    "Scatterv": "b a sendcounts a displs sendtype b recvcount recvtype root comm",
    "Allgatherv": "b sendcount sendtype b a recvcounts a displs recvtype comm",
    "Alltoallv": "b a sendcounts a sdispls sendtype b a recvcounts a rdispls recvtype comm",
    "Reduce_scatter": "b b a recvcounts datatype b comm",
    "Reduce_scatter_block": "b b recvcount datatype b comm",
}
for _same, _others in {"Send": ("Bsend", "Ssend", "Rsend"), "Isend": ("Ibsend", "Issend", "Irsend")}.items():
    _SIGNATURES.update(dict.fromkeys(_others, _SIGNATURES[_same]))
_SIGNATURES.update({f"{kind}_init": _SIGNATURES["Isend"] for kind in ("Send", "Bsend", "Ssend", "Rsend")})
_SIGNATURES["Recv_init"] = _SIGNATURES["Irecv"]
_SIZED_ALIKE = "Barrier Bcast Reduce Allreduce Scan Exscan Gather Scatter Allgather Alltoall Reduce_scatter"
for _blocking in (*_SIZED_ALIKE.split(), "Reduce_scatter_block"):
    _SIGNATURES[f"I{_blocking.lower()}"] = f"{_SIGNATURES[_blocking]} request"
#: Calls whose results a trace does not record: smaller communicators are errors when they are used.
_LEFT_OUT = {"Comm_split", "Comm_dup", "Comm_create", "Cart_create", "Cart_sub", "Group_incl"} | {
    f"Test{which}" for which in ("", "all", "any", "some")
}
_LINE = re.compile(r"MPI_[A-Z]\w*\s*:\s*[\d.-]+\s*:")


def _datatype(text: str) -> int:
    """Return the second of number, size and extent."""
    return int(text.split(",")[1])


def _peer(text: str) -> int | None:
    number = int(text)
    return None if number == _ANY else number


_PARSERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("datatype", "sendtype", "recvtype"), _datatype),
    **dict.fromkeys(("source", "tag", "recvtag"), _peer),
    **dict.fromkeys(("recvcounts", "sendcounts"), lambda text: [int(one) for one in text.split(",")]),
}
#: Places of the parameters of a call: what is read of each, the place of the communicator, and how many there are.
_FIELDS = {
    name: (
        [(what, _PARSERS.get(what, int), place) for place, what in enumerate(words) if what not in _UNREAD],
        words.index("comm") if "comm" in words else None,
        len(words),
    )
    for name, words in ((name, text.split()) for name, text in _SIGNATURES.items())
}


#: Calls that are remembered: programs repeat them.
_MOST_KNOWN = 10_000


class _Rank:
    """The calls of one rank. ``request_bytes``: of one in an array, 4 if any is at an odd multiple of 4."""

    def __init__(self, rank: MpiRank, ranks: int) -> None:
        self.rank, self.ranks, self.request_bytes = rank, ranks, 8
        self._known: dict[str, tuple[str, dict[str, Any]]] = {}

    def read(self, line: str) -> None:
        """Do the call of a line. InputError for what is none."""
        head, _, end = line.rpartition(":")
        name, _, rest = head.partition(":")
        start, _, parameters = rest.partition(":")
        key = f"{name}:{parameters}"
        try:
            start_ns, end_ns = _time_ns(start.strip()), _time_ns(end.strip())
        except ValueError:
            allowed = "MPI_NAME:START:...:END, times in microseconds"
            raise InputError("no call of MPI", self.rank.log.place, value=line.strip(), allowed=allowed) from None
        name, given = self._known.get(key) or self._parsed(key)
        if name[4:] in _LEFT_OUT:
            self.rank.compute_until(start_ns, end_ns)
            return
        if "first_request" in given:  # requests are addresses; those in an array follow the first
            first = given["first_request"]
            places = range(first, first + given["number"] * self.request_bytes, self.request_bytes)
            given = {**given, "requests": self.rank.requests_in(places)}
        self.rank.call(name, given, start_ns, end_ns)

    def _parsed(self, call: str) -> tuple[str, dict[str, Any]]:
        """Name and parameters of a call, remembered. InputError for parameters that do not fit the call."""
        name, *words = [word.strip() for word in call.split(":")]
        words = [] if words == [""] else words
        fields, communicator, count = _FIELDS.get(name[4:], ([], None, len(words)))
        try:
            if len(words) != count:
                raise ValueError(f"{len(words)} parameters, not {count}")
            given = {what: parse(words[place]) for what, parse, place in fields}
            if communicator is not None:
                self._communicator(given, *(int(one) for one in words[communicator].split(",")))
        except InputError:
            raise
        except (ValueError, IndexError, TypeError) as error:
            what = f"the parameters of {name}"
            raise InputError(what, self.rank.log.place, value=str(error), allowed="as liballprof writes them") from None
        if given.get("request", 0) % 8:
            self.request_bytes = 4
        if len(self._known) < _MOST_KNOWN:
            self._known[call] = name, given
        return name, given

    def _communicator(self, given: dict[str, Any], number: int, place: int, size: int) -> None:
        """Any communicator of all ranks is MPI_COMM_WORLD; of one rank, MPI_COMM_SELF. InputError for others."""
        log = self.rank.log
        given["comm_rank"], given["comm_size"] = place, size
        if size == self.ranks and place == log.rank:
            given["comm"] = _WORLD
        elif size == 1:
            given["comm"] = _SELF
            self.rank.communicators.setdefault(_SELF, self.rank.alone())
        elif size > self.ranks:
            raise InputError(f"a trace of {size} ranks, of which {self.ranks} are here", log.place)
        else:
            what = f"rank {log.rank} uses a communicator of {size} of {self.ranks} ranks, or in another order"
            raise InputError(what, log.place, allowed="MPI_COMM_WORLD: the trace does not say the members of others")


def _time_ns(text: str) -> int | None:
    """Nanoseconds of microseconds; None for ``-``, if there is no clock."""
    if text == "-":
        return None
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000 + int(fraction[:3].ljust(3, "0"))


def read_liballprof(path: Path) -> Recording:
    """Return the recording of the traces of all ranks. InputError with file and line."""
    files = files_of_ranks(path)
    builder = RecordingBuilder(len(files), str(path), [str(file) for file in files])
    for log, file in zip(builder.logs, files, strict=True):
        rank = _Rank(MpiRank(log, builder, _WORLD), len(files))
        for number, line in numbered_lines(file):
            if line.startswith("#") or not line.strip():
                continue
            log.line = number
            rank.read(line)
    return builder.recording()


def _sniff(start: FileStart) -> Match:
    lines = [line for line in start.lines if not line.startswith("#")]
    return Match.CERTAIN if lines and _LINE.match(lines[0]) else Match.NONE


READERS.add_reader(RecordingReader("liballprof", read_liballprof, (), _sniff))

"""DUMPI traces as ``dumpi2ascii`` prints them: a text for each rank, named by its number.

A call of MPI is a line when it is entered, a line for each parameter, and a line when it returns::

    MPI_Send entering at walltime 8153.049300000, cputime 0.004400000 seconds in thread 0.
    int count=125000
    MPI_Datatype datatype=11 (MPI_DOUBLE)
    int dest=1
    ...
    MPI_Send returning at walltime 8153.049900000, cputime 0.004900000 seconds in thread 0.

Format: ``dumpi2ascii-callbacks.c`` and ``dumpi2ascii-defs.h`` of sst-dumpi.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from simcodesign.core.errors import InputError
from simcodesign.core.files.input_files import STREAM_BYTES, open_bytes
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.describe.python_programs.recording import Recording
from simcodesign.describe.recordings.builder import RecordingBuilder
from simcodesign.describe.recordings.mpi_calls import CALLS, MpiRank
from simcodesign.describe.recordings.mpi_datatypes import DATATYPE_BYTES
from simcodesign.describe.recordings.rank_files import files_of_ranks, numbered_lines
from simcodesign.describe.recordings.rank_log import RankLog
from simcodesign.describe.recordings.readers.registry import READERS, RecordingReader

_ENTERING, _RETURNING = " entering at walltime ", " returning at walltime "
#: A parameter: its type, its name, and what it is.
_PARAMETER = re.compile(r"(?P<type>\w+) (?P<name>\w+)(\[\d+\])?=(?P<value>.*)")
_NAMED = re.compile(r"(?P<number>-?\d+)( \((?P<label>.*)\))?")
_REQUEST = "MPI_Request request=["
_STATUS = re.compile(r"\bsource=(-?\d+), tag=(-?\d+)")
_SIZE = re.compile(rb"^Datatype (\d+) \(.*\) has size (\d+)$", re.MULTILINE)
_WORLD, _SELF = "MPI_COMM_WORLD", "MPI_COMM_SELF"
_OTHER_NAMES = {"commrank": "comm_rank", "commsize": "comm_size"}
#: Groups that may be in another order than what they are made of.
_MIXED_GROUPS = {"MPI_Group_union", "MPI_Group_range_incl"}
_MAKING = _MIXED_GROUPS | {
    f"MPI_Type_{how}{what}"
    for how in ("", "create_")
    for what in ("contiguous", "vector", "hvector", "indexed", "hindexed", "struct", "dup", "indexed_block")
}
#: The end of a file in which the sizes of datatypes are looked for: ``dumpi2ascii -a`` prints them last.
_TAIL_BYTES = 1 << 16
#: Parameters that are remembered: programs repeat them.
_MOST_KNOWN = 100_000


#: A parameter that is not stated, or not used.
_NOTHING = ("", None)


class _Rank:
    """The calls of one rank.

    ``types``: bytes of an element of datatypes, by their numbers. ``known``: parameters by their lines.
    """

    def __init__(self, rank: MpiRank, types: dict[int, int]) -> None:
        self.rank, self._types = rank, types
        self.known: dict[str, tuple[str, Any]] = {}

    def call(self, name: str, given: dict[str, Any], entered_ns: int, left_ns: int) -> None:
        """Do a call. InputError for what cannot be read."""
        if name.startswith("MPI_Init"):
            entered_ns = left_ns  # nothing is known of what was before
        elif name in _MAKING:
            try:
                self._make(name, given)
            except (TypeError, ValueError) as error:
                what = f"{name} of rank {self.rank.log.rank}: its parameters cannot be read"
                raise InputError(what, self.rank.log.place, value=str(error)) from None
        elif name[4:] in CALLS:
            for what in ("datatype", "sendtype", "recvtype"):
                if what in given:
                    given[what] = self._size(given[what])
        self.rank.call(name, given, entered_ns, left_ns)

    def parameter(self, line: str) -> tuple[str, Any]:
        """Name and value of a parameter."""
        if line.startswith(_REQUEST) and line[len(_REQUEST) : -1].isdecimal():  # has a new number each time
            return "request", int(line[len(_REQUEST) : -1])
        form = _PARAMETER.fullmatch(line.rstrip())
        if form is None or form["value"] == "<IGNORED>":
            return self._remembered(line, _NOTHING)
        name = _OTHER_NAMES.get(form["name"], form["name"])
        try:
            value = self._value(form["type"], name, form["value"])
        except ValueError:
            what = f"parameter {name} of rank {self.rank.log.rank}"
            raise InputError(
                what, self.rank.log.place, value=form["value"], allowed="as dumpi2ascii writes it"
            ) from None
        return (name, value) if form["type"] == "MPI_Request" else self._remembered(line, (name, value))

    def _remembered(self, line: str, parameter: tuple[str, Any]) -> tuple[str, Any]:
        if len(self.known) < _MOST_KNOWN:
            self.known[line] = parameter
        return parameter

    def _value(self, kind: str, name: str, text: str) -> Any:
        if kind == "MPI_Status":
            statuses = [(int(source), int(tag)) for source, tag in _STATUS.findall(text)]
            return (statuses[0] if statuses else None) if name == "status" else statuses
        if text.startswith("["):
            numbers = [int(one) for one in text.strip("[]").split(",")] if text != "[]" else []
            return (numbers[0] if numbers else None) if name == "request" else numbers
        form = _NAMED.fullmatch(text)
        if form is None:
            return text  # of a type that is not used
        number, label = int(form["number"]), form["label"]
        if kind == "MPI_Comm":
            return self._communicator(number, label)
        if kind == "MPI_Datatype":
            if label in DATATYPE_BYTES:
                self._types.setdefault(number, DATATYPE_BYTES[label])
            return number
        return None if label in ("MPI_ANY_SOURCE", "MPI_ANY_TAG") else number

    def _communicator(self, number: int, label: str | None) -> Hashable:
        """How the communicator is known; None for none."""
        if label == _SELF:
            self.rank.communicators.setdefault(_SELF, self.rank.alone())
        if label in (_WORLD, _SELF):
            return label
        return None if label == "MPI_COMM_NULL" else number

    def _size(self, datatype: object) -> int:
        if not isinstance(datatype, int) or datatype not in self._types:
            what = f"rank {self.rank.log.rank}: the size of datatype {datatype} is not known"
            raise InputError(what, self.rank.log.place, allowed="dumpi2ascii -a, which prints sizes at the end")
        return self._types[datatype]

    def _make(self, name: str, given: dict[str, Any]) -> None:
        """Note a group in another order, or the bytes of an element of a datatype that is made, if they are known."""
        if name in _MIXED_GROUPS:
            self.rank.unordered.add(given.get("newgroup"))
            return
        made, old = given.get("newtype"), self._types.get(given.get("oldtype", -1))
        olds, lengths = [self._types.get(one) for one in given.get("oldtypes", [])], given.get("lengths", [])
        if made is None:
            return
        self._types.pop(made, None)  # the number of a datatype that is gone may be used again
        if lengths and len(olds) == len(lengths) and None not in olds:
            self._types[made] = sum(one * length for one, length in zip(olds, lengths, strict=True) if one is not None)
        elif old is not None and not olds:
            elements = sum(lengths) if lengths else given.get("count", 1) * given.get("blocklength", 1)
            self._types[made] = old * elements


def _time_ns(line: str, begin: int, log: RankLog) -> int:
    """Nanoseconds of the seconds at a place of a line."""
    whole, _, fraction = line[begin : line.find(",", begin)].partition(".")
    try:
        return int(whole + (fraction if len(fraction) == 9 else fraction[:9].ljust(9, "0")))
    except ValueError:
        allowed = "MPI_NAME entering at walltime SECONDS, ..."
        raise InputError("the time of a call", log.place, value=line.strip(), allowed=allowed) from None


def _sizes(path: Path) -> dict[int, int]:
    """Bytes of an element of datatypes, if the end of a file has them."""
    with open_bytes(path, STREAM_BYTES) as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - _TAIL_BYTES, 0))
        return {int(number): int(size) for number, size in _SIZE.findall(file.read())}


def read_dumpi_text(path: Path) -> Recording:
    """Return the recording of the texts of all ranks. InputError with file and line."""
    files = files_of_ranks(path)
    builder = RecordingBuilder(len(files), str(path), [str(file) for file in files])
    for log, file in zip(builder.logs, files, strict=True):
        _read(file, _Rank(MpiRank(log, builder, _WORLD), _sizes(file)))
    return builder.recording()


def _read(file: Path, rank: _Rank) -> None:
    """Read the calls of a file: the line of a call is the one in which it is entered."""
    log, known, name, returning, entered_ns = rank.rank.log, rank.known, "", "", 0
    given: dict[str, Any] = {}
    for number, line in numbered_lines(file):
        parameter = known.get(line)
        if parameter is None and " at walltime " not in line:
            parameter = rank.parameter(line) if name else _NOTHING
        if parameter is not None:
            given[parameter[0]] = parameter[1]
        elif name and line.startswith(returning):
            rank.call(name, given, entered_ns, _time_ns(line, len(returning), log))
            name = ""
        else:
            log.line = number
            place = line.find(_ENTERING)
            if place < 0:
                raise InputError("a call returns that was not entered", log.place, value=line[:40])
            if name:
                raise InputError(f"{name} has not returned before another call", log.place)
            name, given, entered_ns = line[:place], {}, _time_ns(line, place + len(_ENTERING), log)
            returning = name + _RETURNING


def _sniff(start: FileStart) -> Match:
    return (
        Match.CERTAIN if re.search(r"^MPI_\w+ entering at walltime [\d.]+,", start.text, re.MULTILINE) else Match.NONE
    )


READERS.add_reader(RecordingReader("dumpi", read_dumpi_text, (), _sniff))

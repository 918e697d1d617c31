"""OSU micro-benchmarks.

``osu_latency``, ``osu_bw``, ``osu_bibw``, ``osu_mbw_mr``, collectives, with ``-f`` all columns, with ``-c`` a
validation.

Each test prints ``# OSU MPI Latency Test v7.3``, the titles of columns (``# Size Avg Latency(us) Min Latency(us) Max
Latency(us) Iterations``) and rows of numbers; a file may hold several tests. Non-blocking collectives have
``Overall(us) Compute(us) ... Pure Comm.(us) Min Comm.(us) Max Comm.(us) Overlap(%)``: the time is the communication
time alone. A row whose validation failed is left out. ``Transmit Size``, with ``-D``, shows derived datatypes. MB/s are
10^6 bytes a second; for ``osu_mbw_mr`` the sum over all pairs. The number of processes is not printed: it is taken from
a command above the test, ``mpirun -np 4 ... osu_allreduce``, if there is one. Source: README of OMB 5 to 7,
c/util/osu_util.c and osu_util_mpi.c of OMB 7.4, and its printed output.

The versions in Python in mpi4py's folder ``demo`` print ``# MPI Latency Test``, without OSU and a version, and ``# Size
[B]  Latency [us]``, also above the MB/s of ``osu_bw`` and ``osu_bibw``. Its ``osu_bibw`` counts the bytes of one
direction, OSU's of both, as the rows here do. Source: mpi4py 4.1.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.text_files import NUMBER
from simcodesign.core.units import units_with_dimension
from simcodesign.fitting.readers.benchmarks.output.operations import operation_of, row_bytes
from simcodesign.fitting.readers.benchmarks.output.runs import RANKS_ABOVE, check_runs, is_command, ranks_of_command
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbers
from simcodesign.fitting.readers.benchmarks.output.text import is_prose, numbered_lines, prose_note

TITLE = re.compile(
    r"#?\s*OSU (?P<library>MPI|OpenSHMEM|UPC\+*|NCCL|RCCL|xCCL)(?P<device>(?:-[A-Z]+)*)[ _]?"
    r"(?P<test>.*?)\s*(?:Test)?\s+(?:v|\(Version )(?P<version>\d[\w.]*)"
    r"|# MPI (?P<in_python>\S.*?) Test\s*$"
)
#: Where the buffers are, of tests between two ranks with accelerators: MANAGED memory may be at either.
BUFFERS = re.compile(r"#\s*Send Buffer on (\w+).*? Receive Buffer on (\w+)")
#: How one-sided tests make their windows and synchronise, which are no repetitions of one another.
ONE_SIDED = re.compile(r"#\s*(Window creation|Synchronization):\s*(\S+)")
#: The type of elements, which matters to operators alone.
DATATYPE = re.compile(r"#\s*Datatype:\s*(\w+)")
OPERATORS = re.compile(r"(?:\w+_)?(?:all)?reduce(?:_scatter\w*)?|(?:\w+_)?scan")
#: Label of messages of a derived datatype, which have a column of the sent bytes: not contiguous.
DERIVED = "derived datatype"
#: Numbers that comments above the titles state -> parameters.
_STATED = {
    "pairs": re.compile(r"\[\s*pairs:\s*(\d+)\s*\]"),
    "window": re.compile(r"\[\s*window size:\s*(\d+)\s*\]"),
    "sender_threads": re.compile(r"# Number of Sender threads:\s*(\d+)"),
    "threads": re.compile(r"# Number of Receiver threads:\s*(\d+)"),
    "sender_processes": re.compile(r"# Number of forked processes in sender:\s*(\d+)"),
    "processes": re.compile(r"# Number of forked processes in receiver:\s*(\d+)"),
}
_COLUMNS = {
    "size": "size",
    "latency": "time",
    "avg latency": "time",
    "min latency": "low",
    "max latency": "high",
    "iterations": "repetitions",
    "bandwidth": "bandwidth",
    "mb/s": "bandwidth",
    "messages/s": "messages",
    "overall": "overall",
    "compute": "compute",
    "pure comm.": "time",
    "min comm.": "low",
    "max comm.": "high",
    "overlap": "overlap",
    "validation": "validation",
    "transmit size": "transmit",
}
#: Columns -> quantities, and the unit of the column.
_QUANTITIES = {
    "time": ("time", 1e-6),
    "overall": ("overall_time", 1e-6),
    "compute": ("compute_time", 1e-6),
    "overlap": ("overlap", 1e-2),
    "bandwidth": ("bandwidth", 1e6),
    "messages": ("operation_rate", 1.0),
}
#: Columns that mean something else than their title: in Python, of an operation.
_BY_TEST = {(True, name, "time"): "bandwidth" for name in ("window", "window_both_ways")}
#: Units of titles.
UNITS = ("us", "MB/s", "B")
#: Operations between two ranks.
_OF_TWO = ("ping_pong", "window", "window_both_ways", "multi_threaded_ping_pong")


@dataclass
class _Test:
    """One test's part of the output, as far as it is read."""

    operation: str = ""
    columns: Sequence[str] = ("",)
    parameters: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    datatype: str = ""
    is_in_python: bool = False

    @property
    def data(self) -> str:
        """Return the data type and operator of the operation, if they matter."""
        if "transmit" in self.columns:
            return DERIVED
        return self.datatype if OPERATORS.fullmatch(self.operation) else ""


def read_osu(path: Path) -> BenchmarkTable:
    """Read all tests of a file. Raises InputError for rows before any test, and for columns without a time or rate."""
    rows: list[BenchmarkRow] = []
    notes: list[str] = []
    test = _Test()
    above: dict[str, float] = {}
    ranks: float | None = None
    for line, text in numbered_lines(path, "osu"):
        if title := TITLE.match(text):
            test, above, ranks = _begun(title, above, ranks), {}, None
        elif is_command(text):
            test, ranks = _Test(), ranks_of_command(text)
        elif buffers := BUFFERS.match(text):
            test.labels = _with_buffers(test.labels, *(word.lower() for word in buffers.groups()))
        elif one_sided := ONE_SIDED.match(text):
            test.labels[one_sided[1].lower()] = one_sided[2]
        elif datatype := DATATYPE.match(text):
            test.datatype = datatype[1]
        elif stated := _stated(text):
            (above if test.columns else test.parameters).update(stated)
        elif titles := _titles(text, Place(str(path), line)):
            test.columns = [_BY_TEST.get((test.is_in_python, test.operation, one), one) for one in titles]
            test.parameters, above = {**test.parameters, **above}, {}
        elif test.operation and NUMBER.fullmatch(text.split()[0]) and is_prose(text):
            notes.append(prose_note(line, text))
        elif test.operation and NUMBER.fullmatch(text.split()[0]):
            cells = _cells(test, text, Place(str(path), line))
            if cells is None:
                notes.append(f"line {line}: the validation of {test.operation} failed; the row is left out.")
            else:
                rows += _rows(test, cells, line)
    labelled = _labelled(rows)
    check_runs(labelled, str(path), RANKS_ABOVE)
    return BenchmarkTable(str(path), "osu", labelled, tuple(notes))


def _labelled(rows: Sequence[BenchmarkRow]) -> tuple[BenchmarkRow, ...]:
    """Return the rows, with their data as a label in operations that were done on several."""
    data: dict[str, set[str]] = {}
    for row in rows:
        data.setdefault(row.operation, set()).add(row.data)
    several = {operation for operation, found in data.items() if len(found) > 1}
    return tuple(
        replace(row, labels={**row.labels, "data": row.data}) if row.operation in several and row.data else row
        for row in rows
    )


def _begun(title: re.Match[str], above: dict[str, float], ranks: float | None) -> _Test:
    """Return the test that a title begins, with the parameters that were stated above it, and its command's ranks."""
    if ranks:
        above = {**above, "P": ranks}
    if in_python := title["in_python"]:
        return _Test(operation_of(in_python), (), above, is_in_python=True)
    return _Test(operation_of(title["test"].removesuffix(" Test")), (), above, _device(title))


def _device(title: re.Match[str]) -> dict[str, str]:
    """Return the label of a test with buffers of accelerators, which NCCL's always are."""
    device = title["device"].strip("-") or (title["library"] if title["library"].endswith("CCL") else "")
    return {"device": device} if device else {}


def _with_buffers(labels: Mapping[str, str], send: str, receive: str) -> dict[str, str]:
    """Return the labels, with the ends of messages that are not both on the device; none if both are on the host."""
    device = labels.get("device")
    if device is None or send == receive == "device":
        return {**labels}
    if send == receive == "host":
        return {name: text for name, text in labels.items() if name != "device"}
    return {**labels, "device": f"{device}, {send} to {receive}"}


def _stated(text: str) -> dict[str, float]:
    """Return the parameters that a comment states."""
    found = ((name, pattern.search(text)) for name, pattern in _STATED.items())
    return {name: float(match[1]) for name, match in found if match}


def _titles(text: str, place: Place) -> list[str]:
    """Return the meaning of each column, empty for those that are not used; no columns for any other line.

    Raises InputError for a title with a unit of time, size or bandwidth that OSU does not print.
    """
    parts = re.split(r"\s{2,}|\t", text.lstrip("# "))
    titles = [re.sub(r"\s*[(\[].*?[)\]]", "", part).strip().lower() for part in parts]
    meanings = [_COLUMNS.get(title, "") for title in titles]
    if not {"time", "bandwidth"} & {*meanings}:
        return []
    for unit in re.findall(r"[(\[](.*?)[)\]]", text):
        if unit in units_with_dimension() and unit not in UNITS:
            raise InputError("a title with another unit than OSU prints", place, value=text, allowed=", ".join(UNITS))
    return meanings


def _cells(test: _Test, text: str, place: Place) -> dict[str, float] | None:
    """Return the numbers of a row by the meaning of their columns; None if its validation failed."""
    words = text.split()
    if len(words) < len(test.columns) or not test.columns:
        allowed = ", ".join(test.columns)
        raise InputError("a row with more or fewer cells than titles", place, value=text, allowed=allowed)
    used = {name: word for name, word in zip(test.columns, words, strict=False) if name}
    if used.pop("validation", "Pass").lower().startswith("fail"):
        return None
    return dict(zip(used, numbers([*used.values()], Path(place.file), place.line or 0), strict=True))


def _rows(test: _Test, cells: Mapping[str, float], line: int) -> Iterator[BenchmarkRow]:
    """Yield a row for each quantity, the time from the least to the most of any rank if they are printed."""
    parameters = _parameters(test, cells)
    has_spread = "low" in cells and "high" in cells
    for column, (quantity, unit) in _QUANTITIES.items():
        if column not in cells or (column in ("bandwidth", "messages") and not cells[column]):
            continue
        with_spread = has_spread and column == "time"
        ways = 2 if column == "bandwidth" and test.is_in_python and test.operation == "window_both_ways" else 1
        yield BenchmarkRow(
            test.operation,
            quantity,
            cells[column] * unit * ways,
            line,
            parameters=parameters,
            labels=test.labels,
            low=cells["low"] * unit if with_spread else None,
            high=cells["high"] * unit if with_spread else None,
            repetitions=int(cells.get("repetitions", 1)),
            interval="least to most of the ranks" if with_spread else "",
            data=test.data,
        )


def _parameters(test: _Test, cells: Mapping[str, float]) -> dict[str, float]:
    """Return the conditions of the row: two ranks, or two for each pair, if the test specifies them."""
    parameters = dict(test.parameters)
    if test.operation in _OF_TWO:
        parameters["P"] = 2.0
    elif "pairs" in parameters:
        parameters["P"] = 2 * parameters["pairs"]
    if "size" in cells:
        size = row_bytes("osu", test.operation, cells["size"], parameters.get("P"))
        parameters |= {"bytes": size} if size is not None else {}
    return parameters


add_benchmark("osu", read_osu, begins=TITLE)

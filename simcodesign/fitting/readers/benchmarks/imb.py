"""Intel MPI Benchmarks: IMB-MPI1, -EXT, -RMA, -NBC, -MT and -IO.

A benchmark's part of the output has ``# Benchmarking NAME``, ``# #processes = N``, titles of columns (``#bytes
#repetitions t[usec] Mbytes/sec``; ``t_min[usec] t_max[usec] t_avg[usec]``; ``Mbytes/sec Msg/sec``; ``t_ovrl[usec]
t_pure[usec] t_CPU[usec] overlap[%]``) and rows. ``t[usec]`` of PingPong is half of the way there and back. With -multi,
``# Benchmarking Multi-NAME`` and ``# ( 8 groups of 2 processes each running simultaneous )``: P is the size of a
group, and each group has a row of its own if there is a column ``Group``. Other ranks of the run wait: ``# ( 14
additional processes waiting in MPI_Barrier)``. Bandwidths of Uniband and Biband add up all pairs together, P/2 of them.
``Mbytes`` are 10^6 bytes, in old versions 2^20: the messages per second tell. IMB-MT prints ``(threads: N)`` and the
bytes of all threads. Rows that were not measured say why instead (``out-of-mem.``, ``int-overflow.``, ``time-out.``).
Source: Intel MPI Benchmarks User Guide, "Output"; src_c/IMB_output.c and src_cpp/MT/MT_benchmark.h of
intel/mpi-benchmarks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.output.operations import operation_of, row_bytes
from simcodesign.fitting.readers.benchmarks.output.runs import check_runs
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbers
from simcodesign.fitting.readers.benchmarks.output.text import is_prose, numbered_lines, prose_note

BEGINS = re.compile(r"#\s*(Benchmarking\s+\S+|Intel ?\(R\) MPI Benchmarks)")
BENCHMARK = re.compile(r"#\s*Benchmarking\s+(Multi-)?(\S+)")
PROCESSES = re.compile(r"#\s*\(?\s*#processes\s*=\s*(\d+)(?:\s*\(threads:\s*(\d+)\))?")
GROUPS = re.compile(r"#\s*\(\s*(\d+) groups of (\d+) processes")
WAITING = re.compile(r"#\s*\(\s*(\d+) additional process(?:es)? waiting")
WINDOW = re.compile(r"#\s*window_size\s*=\s*(\d+)")
MODE = re.compile(r"#\s*MODE:\s*(\S+)")
END = re.compile(r"#\s*All processes entering MPI_Finalize")
NON_BLOCKING = re.compile(r"i((?:all|bcast|barrier|reduce|gather|scatter|neighbor)\w*?)(?:_pure)?")
FILE_ACCESS = re.compile(r"[csp]_i?(read|write)_\w+|open_close")
FAILED = re.compile(r"(?:\d+\s+)?(\d+)\s+([a-z-]+)\.;?\s*(.*)")
#: Columns of times in microseconds -> quantities.
TIMES = {
    "t[usec]": "time",
    "t_avg[usec]": "time",
    "t_pure[usec]": "time",
    "t_ovrl[usec]": "overall_time",
    "t_CPU[usec]": "compute_time",
}
#: Columns that count where a row has no time -> quantities, and the unit of the column.
MEBI = 1 << 20
RATES = {"Mbytes/sec": ("bandwidth", 1e6), "Msg/sec": ("operation_rate", 1.0)}


@dataclass
class _Part:
    """One benchmark's part of the output, as far as it is read."""

    name: str = ""
    is_multi: bool = False
    mode: str = ""
    waiting: int = 0
    parameters: dict[str, float] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)

    @property
    def operation(self) -> str:
        """The operation, with what is special about how it is done."""
        name = self.name.lower()
        if found := NON_BLOCKING.fullmatch(name):
            operation = f"non_blocking_{operation_of(found[1])}"
        elif "threads" in self.parameters:
            operation = f"multi_threaded_{operation_of(name.removesuffix('mt'))}"
        else:
            operation = operation_of(name)
        several_pairs = operation.startswith("window") and self.parameters.get("P", 2) > 3
        if several_pairs or (self.is_multi and operation in ("ping_pong", "window", "window_both_ways")):
            return f"multi_pair_{operation}"
        return f"multi_{operation}" if self.is_multi else operation


def read_imb(path: Path) -> BenchmarkTable:
    """Read all benchmarks of a file. Raises InputError for a row with more or fewer cells than titles."""
    rows: list[BenchmarkRow] = []
    notes: list[str] = []
    part = _Part()
    for line, text in numbered_lines(path, "imb"):
        if found := BENCHMARK.match(text):
            part = _Part(found[2], bool(found[1]))
        elif text.startswith("#") and _is_said(text, part):
            pass
        elif text.startswith(("#bytes", "#repetitions", "Group ")):
            part.titles = text.split()
            if not {*part.titles} & {*TIMES, *RATES}:
                notes.append(
                    f"line {line}: no column of {part.name} is a time or a bandwidth ({' '.join(part.titles)})."
                )
        elif part.titles and NUMBER.fullmatch(text.split()[0]):
            if failed := FAILED.fullmatch(text):
                notes.append(f"line {line}: {part.name} of {failed[1]} bytes was not measured ({failed[2]}).")
            elif is_prose(text):
                notes.append(prose_note(line, text))
            else:
                rows += _rows(part, text, Place(str(path), line))
    check_runs(rows, str(path))
    return BenchmarkTable(str(path), "imb", tuple(rows), tuple(notes))


def _is_said(text: str, part: _Part) -> bool:
    """Store what a comment specifies for the part, if anything."""
    if found := PROCESSES.match(text):
        part.parameters["P"] = float(found[1])
        if found[2]:
            part.parameters["threads"] = float(found[2])
    elif found := GROUPS.match(text):
        part.parameters["P"] = float(found[2])
        part.is_multi = found[1] != "1"  # one group alone does what it does without -multi
        part.parameters |= {"groups": float(found[1])} if part.is_multi else {}
    elif found := WAITING.match(text):
        part.waiting = int(found[1])
    elif found := WINDOW.match(text):
        part.parameters["window"] = float(found[1])
    elif found := MODE.match(text):
        part.mode = found[1].lower()
    elif found := END.match(text):
        part.titles = []
    return found is not None


def _rows(part: _Part, text: str, place: Place) -> Iterator[BenchmarkRow]:
    values = numbers(text.split(), Path(place.file), place.line or 0)
    if len(values) != len(part.titles):
        raise InputError("a row with more or fewer cells than titles", place, value=text, allowed=" ".join(part.titles))
    cells = dict(zip(part.titles, values, strict=True))
    operation = part.operation
    parameters = _parameters(part, operation, cells)
    labels = {"mode": part.mode} if part.mode else {}
    if "Group" in cells and part.is_multi:
        labels["group"] = f"group {cells['Group']:g}"
    component = "disk" if FILE_ACCESS.fullmatch(part.name.lower()) else "communication"
    repetitions = int(cells.get("#repetitions", 1))
    for quantity, value in _values(cells):
        low, high = (cells.get(name) if quantity == "time" else None for name in ("t_min[usec]", "t_max[usec]"))
        has_spread = low is not None and high is not None
        yield BenchmarkRow(
            operation,
            quantity,
            value,
            place.line or 0,
            component,
            parameters,
            labels,
            low=low * 1e-6 if low is not None else None,
            high=high * 1e-6 if high is not None else None,
            repetitions=repetitions,
            interval="least to most of the ranks" if has_spread else "",
            waiting=part.waiting,
        )


def _parameters(part: _Part, operation: str, cells: Mapping[str, float]) -> dict[str, float]:
    """P, threads, groups and pairs of a row, and what its size is in rows of this project."""
    parameters = dict(part.parameters)
    ranks = parameters.get("P")
    if operation.startswith("multi_pair_window") and ranks:
        parameters["pairs"] = ranks // 2
    if "#bytes" in cells:
        size = row_bytes("imb", operation, cells["#bytes"] / parameters.get("threads", 1.0), ranks)
        parameters |= {"bytes": size} if size is not None else {}
    return parameters


def _values(cells: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Quantities and values of a row; its bandwidth and rate of messages only if it has no time."""
    times = {quantity: cells[name] * 1e-6 for name, quantity in TIMES.items() if name in cells}
    yield from times.items()
    if "overlap[%]" in cells:
        yield "overlap", cells["overlap[%]"] / 100
    for name, (quantity, unit) in RATES.items():
        if not times and cells.get(name):
            yield quantity, cells[name] * (MEBI if quantity == "bandwidth" and _is_binary(cells) else unit)


def _is_binary(cells: Mapping[str, float]) -> bool:
    """Return whether the bandwidth of a row is in units of 2^20 bytes, as its bytes and messages show.

    Bandwidths below 1 have too few digits to show it.
    """
    total, rate = cells.get("#bytes", 0.0) * cells.get("Msg/sec", 0.0), cells.get("Mbytes/sec", 0.0)
    return rate >= 1 and abs(total / (rate * MEBI) - 1) < abs(total / (rate * 1e6) - 1)


add_benchmark("imb", read_imb, begins=BEGINS)

"""Intel MPI Benchmarks (IMB-MPI1): PingPong, PingPing, Sendrecv, Exchange, collectives and Barrier.

A benchmark's part of the output has ``# Benchmarking NAME``, ``# #processes = N``, titles of columns (``#bytes
#repetitions t[usec] Mbytes/sec``; or ``t_min[usec] t_max[usec] t_avg[usec]``) and rows. ``t[usec]`` of PingPong is half
of the way there and back. Source: Intel MPI Benchmarks User Guide, "Output".
"""

from __future__ import annotations

import re
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.table import (
    BenchmarkRow,
    BenchmarkTable,
    add_benchmark,
    numbered_lines,
    numbers,
)

BENCHMARK = re.compile(r"#\s*Benchmarking\s+(\S+)")
PROCESSES = re.compile(r"#\s*#processes\s*=\s*(\d+)")
OPERATIONS = {
    "pingpong": "ping_pong",
    "pingping": "ping_ping",
    "uniband": "window",
    "biband": "window_both_ways",
    "bcast": "broadcast",
    "alltoall": "all_to_all",
}
TIMES = ("t[usec]", "t_avg[usec]")


def read_imb(path: Path) -> BenchmarkTable:
    """All benchmarks of a file. Raises InputError for a row of other length than its titles."""
    rows: list[BenchmarkRow] = []
    operation, ranks = "", 0.0
    titles: list[str] = []
    for line, text in numbered_lines(path):
        if found := BENCHMARK.match(text):
            name = found[1].lower()
            operation, titles = OPERATIONS.get(name, name), []
        elif found := PROCESSES.match(text):
            ranks = float(found[1])
        elif text.startswith(("#bytes", "#repetitions")):
            titles = text.split()
        elif operation and titles and NUMBER.fullmatch(text.split()[0]):
            rows += _rows(operation, ranks, dict(_cells(titles, text, Place(str(path), line))), line)
    return BenchmarkTable(str(path), "imb", tuple(rows))


def _cells(titles: list[str], text: str, place: Place) -> list[tuple[str, float]]:
    cells = numbers(text.split(), Path(place.file), place.line or 0)
    if len(cells) != len(titles):
        raise InputError("a row of other length than its titles", place, value=text, allowed=" ".join(titles))
    return list(zip(titles, cells, strict=True))


def _rows(operation: str, ranks: float, cells: dict[str, float], line: int) -> list[BenchmarkRow]:
    parameters = {"P": ranks} | ({"bytes": cells["#bytes"]} if "#bytes" in cells else {})
    time = next((cells[name] for name in TIMES if name in cells), None)
    repetitions = int(cells.get("#repetitions", 1))
    if time is None:
        mega = cells.get("Mbytes/sec")
        if not mega:
            return []
        return [BenchmarkRow(operation, "bandwidth", mega * 1e6, line, parameters=parameters, repetitions=repetitions)]
    has_spread = "t_min[usec]" in cells
    return [
        BenchmarkRow(
            operation,
            "time",
            time * 1e-6,
            line,
            parameters=parameters,
            low=cells["t_min[usec]"] * 1e-6 if has_spread else None,
            high=cells["t_max[usec]"] * 1e-6 if has_spread else None,
            repetitions=repetitions,
            interval="least to most of the ranks" if has_spread else "",
        )
    ]


def sniff(start: FileStart) -> Match:
    """A line that says which benchmark begins."""
    if any(BENCHMARK.match(line) for line in start.lines):
        return Match.CERTAIN
    return Match.CERTAIN if "Intel(R) MPI Benchmarks" in start.text else Match.NONE


add_benchmark("imb", read_imb, sniff)

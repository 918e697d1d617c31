"""STREAM: bandwidth of memory. ``Function  Best Rate MB/s  Avg time  Min time  Max time``, MB of 10^6 bytes.

The best rate is of the shortest of the repetitions but for the first. Source: STREAM 5.10 (McCalpin), ``stream.c`` as
its output shows.
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

KERNEL = re.compile(r"(Copy|Scale|Add|Triad):\s+(.*)")
SIZE = re.compile(r"Array size\s*=\s*(\d+)")
THREADS = re.compile(r"Number of Threads counted\s*=\s*(\d+)")
REPEATED = re.compile(r"Each (?:kernel|test) (?:will be executed|is run)\s+(\d+)\s+times")


def read_stream(path: Path) -> BenchmarkTable:
    """A row for each kernel: its best rate, down to that of its longest repetition."""
    rows: list[BenchmarkRow] = []
    parameters: dict[str, float] = {}
    repetitions = 1
    for line, text in numbered_lines(path):
        if found := SIZE.search(text):
            parameters = {"n": float(found[1])}
        elif found := THREADS.search(text):
            parameters["threads"] = float(found[1])
        elif found := REPEATED.search(text):
            repetitions = max(int(found[1]) - 1, 1)
        elif found := KERNEL.fullmatch(text):
            rows.append(_row(found[1].lower(), found[2], parameters, repetitions, Place(str(path), line)))
    return BenchmarkTable(str(path), "stream", tuple(rows))


def _row(kernel: str, text: str, parameters: dict[str, float], repetitions: int, place: Place) -> BenchmarkRow:
    cells = text.split()
    if len(cells) != 4 or not all(NUMBER.fullmatch(cell) for cell in cells):
        raise InputError("a row of STREAM", place, value=text, allowed="rate, average, least and longest time")
    mega, _, least, most = numbers(cells, Path(place.file), place.line or 0)
    best = mega * 1e6
    return BenchmarkRow(
        f"stream {kernel}",
        "bandwidth",
        best,
        place.line or 0,
        "memory",
        dict(parameters),
        low=best * least / most if most > 0 else None,
        high=best,
        repetitions=repetitions,
        interval="of the longest to the shortest repetition",
    )


def sniff(start: FileStart) -> Match:
    """The title of the program, or of its table."""
    known = re.search(r"STREAM version|^Function\s+(Best )?Rate \(?MB/s", start.text, re.MULTILINE)
    return Match.CERTAIN if known else Match.NONE


add_benchmark("stream", read_stream, sniff)

"""The runs by which SMPI is calibrated: point-to-point times by size, and pairs of ranks added one after another.

CSV without titles, packed by gzip or not. Four columns are ``operation, bytes, start, duration`` in seconds: of
*_PingPong each MPI_Send and the MPI_Recv that follows it, which together are the way there and back; MPI_Isend alone;
MPI_Recv of a message that has arrived already. Five columns, of *load_**, are ``rank, operation, bytes, start,
duration`` in milliseconds: ranks 0 to h - 1 with h to 2 h - 1, a pair more at every stage. Source:
Ezibenroc/platform-calibration, ``src/calibration/experiments.c`` and ``src/saturation``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbers
from simcodesign.fitting.readers.benchmarks.output.text import numbered_lines

CALL = re.compile(r"(?:\d+,)?MPI_\w+,\d+,[0-9.eE+-]+,[0-9.eE+-]+")
SINGLE = {"MPI_Isend": "isend", "MPI_Recv": "late_receive", "MPI_Send": "send"}
PAIRED = {"MPI_Send": "pairs_send", "MPI_Sendrecv": "pairs_sendrecv", "MPI_Alltoall": "all_to_all"}
Call = tuple[int, int, str, float, float, float]
"""Line, rank, operation, bytes, start in s, duration in s."""


def read_smpi(path: Path) -> BenchmarkTable:
    """Return a row for each repetition. Raises InputError for lines that are no calls of MPI."""
    calls = [_call(text, path, line) for line, text in numbered_lines(path)]
    by_rank = any(rank >= 0 for _, rank, *_ in calls)
    rows = _of_pairs(calls, path) if by_rank else _single(calls)
    return BenchmarkTable(str(path), "smpi", tuple(rows))


def _call(text: str, path: Path, line: int) -> Call:
    if not CALL.fullmatch(text):
        what = "not a call of MPI"
        raise InputError(what, Place(str(path), line), value=text, allowed="[rank,]MPI_NAME,bytes,start,duration")
    cells = text.split(",")
    rank, operation = (int(cells[0]), cells[1]) if len(cells) == 5 else (-1, cells[0])
    size, start, duration = numbers(cells[-3:], path, line)
    unit = 1e-3 if rank >= 0 else 1.0
    return line, rank, operation, size, start * unit, duration * unit


def _single(calls: Sequence[Call]) -> list[BenchmarkRow]:
    """Return sends that a receive of the same start and size follows, which are ping-pongs, one way."""
    rows: list[BenchmarkRow] = []
    place = 0
    while place < len(calls):
        line, _, operation, size, start, duration = calls[place]
        after = calls[place + 1] if place + 1 < len(calls) else None
        parameters = {"P": 2.0, "bytes": size}
        name = SINGLE.get(operation, operation.removeprefix("MPI_").lower())
        if operation == "MPI_Send" and after and after[2:5] == ("MPI_Recv", size, start):
            name, line, duration = "ping_pong", after[0], (duration + after[5]) / 2
            place += 1
        rows.append(BenchmarkRow(name, "time", duration, line, parameters=parameters))
        place += 1
    return rows


def _of_pairs(calls: Sequence[Call], path: Path) -> list[BenchmarkRow]:
    """Senders' times, with the number of pairs that are at work: those whose first call began before."""
    first: dict[int, float] = {}
    for _, rank, _, _, start, _ in calls:
        first[rank] = min(start, first.get(rank, start))
    half = (max(first) + 1) // 2
    begins = sorted(begin for rank, begin in first.items())
    two_partners = path.name.removesuffix(".gz").removesuffix(".csv").endswith("_diff")
    rows = []
    for line, rank, operation, size, start, duration in calls:
        if operation == "MPI_Send" and rank >= half:
            continue  # the receiver of the pair, written as a send
        name = PAIRED.get(operation, operation.removeprefix("MPI_").lower())
        name += "_two_partners" if two_partners and operation == "MPI_Sendrecv" else ""
        ranks = float(bisect_right(begins, start + duration / 2))
        parameters = {"P": ranks, "pairs": ranks // 2, "bytes": size}
        rows.append(BenchmarkRow(name, "time", duration, line, parameters=parameters))
    return rows


def sniff(start: FileStart) -> Match:
    """Recognise a file by calls of MPI in the first two lines."""
    head = start.lines[:2]
    return Match.CERTAIN if head and all(CALL.fullmatch(line) for line in head[:1]) else Match.NONE


add_benchmark("smpi", read_smpi, sniff)

"""nccl-tests (and rccl-tests): times of collectives among GPUs, out of place and in place.

Titles stand in two lines of comments (``size count type redop root time algbw busbw #wrong time algbw busbw #wrong``,
bytes, microseconds, GB/s of 10^9 bytes); a line ``#  Rank  0 ...`` names every rank's device, and newer versions print
``# Collective test starting: all_reduce_perf``. ``size`` is the larger of what a rank sends and gets. Source:
doc/PERFORMANCE.md of NVIDIA/nccl-tests, which also defines busbw = algbw x 2 (P - 1)/P for allreduce, (P - 1)/P for
reduce_scatter, allgather and all_to_all, and 1 for broadcast and reduce: by these an unnamed operation is recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import NUMBER
from simcodesign.fitting.readers.benchmarks.table import BenchmarkRow, BenchmarkTable, add_benchmark, numbered_lines

NAMED = re.compile(r"#\s*Collective test starting:\s*(\w+?)_perf")
DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s.*?\son\s+(\S+)\s+device")
TITLES = re.compile(r"#\s+size\s+count\s+type\b")
OPERATIONS = {"all_reduce": "allreduce", "all_gather": "allgather", "alltoall": "all_to_all", "sendrecv": "sendrecv"}
PLACES = ("out-of-place", "in-place")
#: How far a printed ratio of bandwidths may be from its rule: both have two decimals.
RATIO = 0.03


def read_nccl(path: Path) -> BenchmarkTable:
    """All rows of a file, two for each size. Raises InputError for results that the test itself found to be wrong."""
    ranks: set[str] = set()
    nodes: set[str] = set()
    titles: list[str] = []
    operation = ""
    found: list[tuple[int, list[str]]] = []
    for line, text in numbered_lines(path):
        if named := NAMED.match(text):
            operation = OPERATIONS.get(named[1], named[1])
        elif device := DEVICE.match(text):
            ranks.add(device[1])
            nodes.add(device[2])
        elif TITLES.match(text):
            titles = text.lstrip("# ").split()
        elif titles and NUMBER.fullmatch(text.split()[0]):
            cells = text.split()
            if len(cells) != len(titles):
                what = "a row of other length than its titles"
                raise InputError(what, Place(str(path), line), value=text, allowed=" ".join(titles))
            found.append((line, cells))
    at = {"P": float(len(ranks)), "nodes": float(len(nodes))} if ranks else {}
    name = operation or _recognised(titles, [cells for _, cells in found], len(ranks))
    rows = [row for line, cells in found for row in _rows(name, titles, cells, at, Place(str(path), line))]
    return BenchmarkTable(str(path), "nccl", tuple(rows))


def _recognised(titles: Sequence[str], rows: Sequence[Sequence[str]], ranks: int) -> str:
    """The operation, by the ratio of the bandwidths of the largest message; ``collective`` where it does not tell."""
    if not rows or "busbw" not in titles or ranks < 2:
        return "collective"
    last = dict(zip(titles, rows[-1], strict=True))  # the last of two columns of one name: in place
    if not (NUMBER.fullmatch(last["algbw"]) and float(last["algbw"]) > 0):
        return "collective"
    ratio = float(last["busbw"]) / float(last["algbw"])
    reduces, rooted = last.get("redop", "none") != "none", int(last.get("root", "-1")) >= 0
    if rooted:
        return "reduce" if reduces else "broadcast"
    if reduces:
        return "allreduce" if abs(ratio - 2 * (ranks - 1) / ranks) < RATIO * ratio else "reduce_scatter"
    return "collective"


def _rows(
    operation: str, titles: Sequence[str], cells: Sequence[str], at: dict[str, float], place: Place
) -> list[BenchmarkRow]:
    rows = []
    times = [place_ for place_, title in enumerate(titles) if title == "time"]
    ends = [*times[1:], len(titles)]
    for where, begin, end in zip(PLACES, times, ends, strict=False):
        part = dict(zip(titles[begin:end], cells[begin:end], strict=True))
        wrong = part.get("#wrong", "0")
        if NUMBER.fullmatch(wrong) and float(wrong) > 0:
            raise InputError("results that the test found to be wrong", place, value=wrong, allowed="none")
        if not NUMBER.fullmatch(part["time"]):
            continue  # N/A: not run in place
        labels = {"placement": where}
        parameters = {"bytes": float(cells[0]), **at}
        time = float(part["time"]) * 1e-6
        rows.append(BenchmarkRow(operation, "time", time, place.line or 0, parameters=parameters, labels=labels))
    return rows


def sniff(start: FileStart) -> Match:
    """The titles of the columns of bandwidths."""
    known = any(NAMED.match(line) or (TITLES.match(line) and "busbw" in line) for line in start.lines)
    return Match.CERTAIN if known or start.text.startswith("# nccl-tests version") else Match.NONE


add_benchmark("nccl", read_nccl, sniff)

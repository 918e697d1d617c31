"""PICO: collectives by named algorithms on named job shapes, a CSV table with statistics in nanoseconds.

Columns ``collective_type, algo_name, nnodes (2x2x2), tasks_per_node, buffer_size, n_iter, min, percentile_10, ...,
median, ..., max``; times are of the slowest rank over ``n_iter`` iterations. ``buffer_size`` is the size of the whole
buffer: of all P blocks, for example in ALLGATHER and ALLTOALL (``row_bytes`` makes ours of it). The value is the
median. Source: HLC-Lab/pico, README, bench/bench_utils.c and its results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import CsvRows, check_width, number
from simcodesign.fitting.readers.benchmarks.output.operations import operation_of, row_bytes
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark
from simcodesign.fitting.readers.benchmarks.output.text import text_of

NEEDED = ("collective_type", "algo_name", "nnodes", "buffer_size", "n_iter", "median")
LOW, HIGH = "percentile_10", "percentile_90"


def read_pico(path: Path) -> BenchmarkTable:
    """Return a row for each row. Raises InputError naming line and column for what cannot be read."""
    rows: list[BenchmarkRow] = []
    table = CsvRows(text_of(path).splitlines(keepends=True), str(path))
    titles: list[str] | None = None
    for line, cells in table:
        if titles is None:
            titles = [cell.strip() for cell in cells]
            if missing := [name for name in NEEDED if name not in titles]:
                allowed = ", ".join(NEEDED)
                raise InputError("columns are missing", Place(str(path), line), value=missing, allowed=allowed)
            continue
        check_width(cells, titles, Place(str(path), line), table.delimiter)
        rows.append(_row(dict(zip(titles, cells, strict=True)), str(path), line))
    return BenchmarkTable(str(path), "pico", tuple(rows))


def _row(cells: Mapping[str, str], file: str, line: int) -> BenchmarkRow:
    def value(name: str, text: str | None = None) -> float:
        return number((text or cells[name]).strip(), Place(file, line, f"column {name}"))

    nodes = math.prod(value("nnodes", part) for part in cells["nnodes"].split("x"))
    ranks = nodes * (value("tasks_per_node") if cells.get("tasks_per_node") else 1.0)
    operation = operation_of(cells["collective_type"])
    size = row_bytes("pico", operation, value("buffer_size"), ranks)
    labels = {"algorithm": cells["algo_name"], "shape": cells["nnodes"]}
    has_spread = LOW in cells and HIGH in cells
    return BenchmarkRow(
        operation,
        "time",
        value("median") * 1e-9,
        line,
        parameters={"bytes": size or 0.0, "P": ranks, "nodes": nodes},
        labels={name: text for name, text in labels.items() if text},
        low=value(LOW) * 1e-9 if has_spread else None,
        high=value(HIGH) * 1e-9 if has_spread else None,
        repetitions=int(value("n_iter")),
        interval="10th to 90th percentile" if has_spread else "",
    )


def sniff(start: FileStart) -> Match:
    """Its columns in the first line."""
    header = start.lines[0] if start.lines else ""
    return Match.CERTAIN if all(name in header for name in NEEDED) else Match.NONE


add_benchmark("pico", read_pico, sniff)

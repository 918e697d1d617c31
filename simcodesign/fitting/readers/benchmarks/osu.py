"""OSU micro-benchmarks: ``osu_latency``, ``osu_bw``, ``osu_bibw``, ``osu_mbw_mr``, collectives, with ``-f`` all
columns.

Each test prints ``# OSU MPI Latency Test v7.3``, the titles of columns (``# Size  Avg Latency(us)  Min Latency(us)
Max Latency(us)  Iterations``) and rows of numbers; a file may hold several tests. MB/s are 10^6 bytes a second. The
number of processes is not printed. Source: README of OMB 5 to 7, and its printed output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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

TITLE = re.compile(
    r"#?\s*OSU (?:MPI|OpenSHMEM|UPC\+*|NCCL|xCCL)(?:-[A-Z]+)*[ _]?(?P<test>.*?)\s*(?:Test)?\s+v(?P<version>\d[\w.]*)"
)
#: Names of tests -> operations; others keep their own name in small letters.
OPERATIONS = {
    "latency": "ping_pong",
    "multi-threaded latency": "ping_pong",
    "multi latency": "multi_pair_ping_pong",
    "bandwidth": "window",
    "bi-directional bandwidth": "window_both_ways",
    "multiple bandwidth / message rate": "multi_pair_window",
    "broadcast latency": "broadcast",
    "all-to-all personalized exchange latency": "all_to_all",
    "reduce_scatter latency": "reduce_scatter",
}
_PAIRS = re.compile(r"\[\s*pairs:\s*(\d+)\s*\]\s*\[\s*window size:\s*(\d+)\s*\]")
_COLUMNS = {
    "size": "size",
    "latency": "value",
    "avg latency": "value",
    "min latency": "low",
    "max latency": "high",
    "iterations": "repetitions",
    "bandwidth": "bandwidth",
    "mb/s": "bandwidth",
    "messages/s": "messages",
}


def read_osu(path: Path) -> BenchmarkTable:
    """All tests of a file. Raises InputError for rows before any test, and for columns without a time or bandwidth."""
    rows: list[BenchmarkRow] = []
    operation, columns = "", [""]
    more: dict[str, float] = {}
    for line, text in numbered_lines(path):
        if title := TITLE.match(text):
            operation, columns, more = _operation(title["test"]), [], {}
        elif pairs := _PAIRS.search(text):
            more = {"pairs": float(pairs[1]), "window": float(pairs[2])}
        elif titles := _titles(text):
            columns = titles
        elif NUMBER.fullmatch(text.split()[0]) and operation:
            rows += _rows(operation, columns, text, more, Place(str(path), line))
    return BenchmarkTable(str(path), "osu", tuple(rows))


def _operation(test: str) -> str:
    name = test.strip().lower().removesuffix(" test")
    return OPERATIONS.get(name, re.sub(r"[^a-z0-9]+", "_", name.removesuffix(" latency")).strip("_"))


def _titles(text: str) -> list[str]:
    """The meaning of each column, empty for those that are not used; no columns for any other line."""
    titles = [re.sub(r"\s*\(.*?\)", "", part).strip().lower() for part in re.split(r"\s{2,}|\t", text.lstrip("# "))]
    meanings = [_COLUMNS.get(title, "") for title in titles]
    return meanings if {"value", "bandwidth"} & {*meanings} else []


def _rows(
    operation: str, columns: Sequence[str], text: str, more: dict[str, float], place: Place
) -> list[BenchmarkRow]:
    cells = numbers(text.split(), Path(place.file), place.line or 0)
    if len(cells) < len(columns) or not columns:
        raise InputError("a row of other length than its titles", place, value=text, allowed=", ".join(columns))
    named = {name: value for name, value in zip(columns, cells, strict=False) if name}
    parameters = more | ({"bytes": named["size"]} if "size" in named else {})
    if operation in ("ping_pong", "window", "window_both_ways"):
        parameters = {"P": 2.0, **parameters}
    line = place.line or 0
    made = []
    if "value" in named:
        made.append(_time(operation, named, parameters, line))
    if named.get("bandwidth"):
        made.append(BenchmarkRow(operation, "bandwidth", named["bandwidth"] * 1e6, line, parameters=parameters))
    if named.get("messages"):
        made.append(BenchmarkRow(operation, "operation_rate", named["messages"], line, parameters=parameters))
    return made


def _time(operation: str, named: dict[str, float], parameters: dict[str, float], line: int) -> BenchmarkRow:
    """Microseconds, the mean over iterations and ranks; the least and the most of any rank where they are printed."""
    has_spread = "low" in named and "high" in named
    return BenchmarkRow(
        operation,
        "time",
        named["value"] * 1e-6,
        line,
        parameters=parameters,
        low=named["low"] * 1e-6 if has_spread else None,
        high=named["high"] * 1e-6 if has_spread else None,
        repetitions=int(named.get("repetitions", 1)),
        interval="least to most of the ranks" if has_spread else "",
    )


def sniff(start: FileStart) -> Match:
    """The title of a test in a line."""
    return Match.CERTAIN if any(TITLE.match(line) for line in start.lines) else Match.NONE


add_benchmark("osu", read_osu, sniff)

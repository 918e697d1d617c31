"""Caliper, Thicket and Hatchet: seconds by region of a program, as CSV.

One column names the region (``region``, ``path``, ``name`` or ``node``). Of times there are either the aggregates of
Caliper's ``spot`` and ``mpi-report`` queries over ranks, ``avg#inclusive#sum#time.duration`` with ``min#...``,
``max#...`` (as Thicket's tables have them), its ``runtime-report`` (``Avg time/rank``, ``Min time/rank``, ``Max
time/rank``), or Hatchet's ``time`` and ``time (inc)`` (exclusive and inclusive), one row for each node of the call tree
and rank. Other columns of numbers are parameters (``ranks``, ``mpi.world.size`` and ``jobsize`` are P), those of words
labels. Source: documentation of Caliper (runtime-report, services) and Hatchet (GraphFrame).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import DELIMITERS, MISSING, NUMBER, CsvRows, check_width, number
from simcodesign.fitting.readers.benchmarks.table import BenchmarkRow, BenchmarkTable, add_benchmark
from simcodesign.fitting.readers.benchmarks.text import text_of

REGIONS = ("region", "path", "name", "node", "function")
RANKS = ("ranks", "mpi.world.size", "jobsize", "P")
#: Columns that say nothing of what was measured, but where from.
LEFT_OUT = ("nid", "rank", "thread", "profile", "file", "hash")
STATISTIC = re.compile(
    r"(?:(?P<kind>avg|min|max|sum)#)?(?P<scope>inclusive#)?(?:sum#|scale#)?(?:sum#)?time\.duration(?P<ns>\.ns)?"
)
REPORT = re.compile(r"(?P<kind>Avg|Min|Max) time/rank(?P<exclusive> \(exc\))?")


@dataclass(frozen=True)
class Columns:
    """Which column is which: the region, the statistics by kind (avg, min, max), and how many seconds one unit is."""

    region: str
    value: str
    low: str | None
    high: str | None
    seconds: float
    labels: Mapping[str, str]


def read_caliper(path: Path) -> BenchmarkTable:
    """A row for each region and run. Raises InputError naming line and column for what cannot be read."""
    rows: list[BenchmarkRow] = []
    empty = 0
    kinds: list[Columns] = []
    titles: list[str] = []
    table = CsvRows(text_of(path).splitlines(keepends=True), str(path))
    for line, cells in table:
        place = Place(str(path), line)
        if not titles:
            titles = [cell.strip() for cell in cells]
            kinds = _columns(titles)
            if not kinds:
                allowed = f"a region ({', '.join(REGIONS)}) and a time, e.g. avg#inclusive#sum#time.duration or time"
                raise InputError("no columns of regions and times", place, value=", ".join(titles), allowed=allowed)
            continue
        check_width(cells, titles, place, table.delimiter)
        entries = {title: cell.strip() for title, cell in zip(titles, cells, strict=True)}
        for columns in kinds:
            if entries[columns.value] in MISSING:
                empty += 1
            else:
                rows.append(_row(entries, columns, place))
    notes = (f"{empty} times are missing",) if empty else ()
    return BenchmarkTable(str(path), "caliper", tuple(rows), notes)


def _columns(titles: Sequence[str]) -> list[Columns]:
    """One for each kind of time that there is."""
    region = next((name for name in REGIONS if name in titles), None)
    return [] if region is None else [*_aggregates(titles, region), *_of_hatchet(titles, region)]


def _aggregates(titles: Sequence[str], region: str) -> Iterator[Columns]:
    found: dict[tuple[str, bool], dict[str, str]] = {}
    for title in titles:
        if match := STATISTIC.fullmatch(title) or REPORT.fullmatch(title):
            groups = match.groupdict()
            scope = "inclusive" if groups.get("scope") or (groups.get("exclusive", "") is None) else "exclusive"
            found.setdefault((scope, bool(groups.get("ns"))), {}).setdefault((groups["kind"] or "avg").lower(), title)
    for (scope, nanoseconds), kinds in found.items():
        if "avg" in kinds:
            low, high = kinds.get("min"), kinds.get("max")
            labels = {} if len({key for key, _ in found}) == 1 else {"scope": scope}
            yield Columns(region, kinds["avg"], low, high, 1e-9 if nanoseconds else 1.0, labels)


def _of_hatchet(titles: Sequence[str], region: str) -> Iterator[Columns]:
    for title, scope in (("time", "exclusive"), ("time (inc)", "inclusive")):
        if title in titles:
            yield Columns(region, title, None, None, 1.0, {"scope": scope})


def _row(entries: Mapping[str, str], columns: Columns, place: Place) -> BenchmarkRow:
    def value(name: str) -> float:
        return number(entries[name], Place(place.file, place.line, f"column {name}")) * columns.seconds

    rest = {name: text for name, text in entries.items() if _describes(name) and text}
    parameters = {"P" if name in RANKS else name: float(text) for name, text in rest.items() if NUMBER.fullmatch(text)}
    words = {name: text for name, text in rest.items() if not NUMBER.fullmatch(text)}
    has_spread = bool(columns.low and columns.high) and entries[columns.low or ""] not in MISSING
    return BenchmarkRow(
        entries[columns.region] or "(outside all regions)",
        "time",
        value(columns.value),
        place.line or 0,
        "total",
        parameters,
        {**words, **columns.labels},
        low=value(columns.low) if has_spread and columns.low else None,
        high=value(columns.high) if has_spread and columns.high else None,
        interval="least to most of the ranks" if has_spread else "",
    )


def _describes(title: str) -> bool:
    """Whether a column says what a row was measured at: no time, count, region or file."""
    is_time = "#" in title or title.startswith(("time", "Time")) or REPORT.fullmatch(title) is not None
    return bool(title) and not is_time and title not in (*REGIONS, *LEFT_OUT)


def sniff(start: FileStart) -> Match:
    """A column of regions and one of times in the first line."""
    header = start.lines[0] if start.lines else ""
    titles = [[title.strip().strip('"') for title in header.split(delimiter)] for delimiter in DELIMITERS]
    return Match.CERTAIN if any(_columns(one) for one in titles) else Match.NONE


add_benchmark("caliper", read_caliper, sniff)

"""Caliper, Thicket and Hatchet: seconds by region of a program, as CSV, or in Caliper's own files.

CSV: one column names the region (``region``, ``path``, ``name`` or ``node``). Times are either the aggregates
of Caliper's ``spot`` and ``mpi-report`` queries over ranks, ``avg#inclusive#sum#time.duration`` with ``min#...``,
``max#...`` (as Thicket's tables have them), its ``runtime-report`` (``Avg time/rank``, ``Min time/rank``, ``Max
time/rank``), or Hatchet's ``time`` and ``time (inc)`` (exclusive and inclusive), one row for each node of the call tree
and rank. Other columns of numbers are parameters (``ranks``, ``mpi.world.size`` and ``jobsize`` are P), columns of
words labels; what identifies a node (``line``, ``nid``, ``file``, ``module`` ...) and further metrics with an inclusive
column are neither. Caliper's own files: ``caliper_profiles``.

Hatchet keeps the unit of the program that measured (HPCToolkit: microseconds; Caliper: seconds) and does not state it,
nor do files of older Calipers. It is a part of the title, ``time (us)``, or of the name of the format, ``caliper-us``.
Source: documentation of Caliper (runtime-report, services) and Hatchet (GraphFrame).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import DELIMITERS, MISSING, NUMBER, CsvRows, check_width, number
from simcodesign.fitting.readers.benchmarks.caliper_profiles import (
    DURATION,
    PATH,
    UNITS,
    Profile,
    is_cali,
    is_json_split,
    read_cali,
    read_json_split,
)
from simcodesign.fitting.readers.benchmarks.output.table import BenchmarkRow, BenchmarkTable, add_benchmark
from simcodesign.fitting.readers.benchmarks.output.text import text_of

REGIONS = ("region", "path", "name", "node", "function")
#: Units by which a format is named.
ASKED = ("s", "ms", "us", "ns")
RANKS = ("ranks", "mpi.world.size", "jobsize", "P")
#: Columns that describe the source of a measurement, not its conditions.
LEFT_OUT = ("nid", "rank", "thread", "profile", "file", "hash", "line", "module", "type", "end_line", "load_module")
STATISTIC = re.compile(
    r"(?:(?P<kind>avg|min|max|sum)#)?(?P<scope>inclusive#)?(?:sum#|scale#)?(?:sum#)?time\.duration(?P<ns>\.ns)?"
)
#: Times of Hatchet and HPCToolkit: metric, unit, and inclusive or exclusive.
TIME = re.compile(r"time(?P<inclusive> \(inc\))?(?: ?[\[(](?P<unit>\w+)[\])])?")
METRIC = re.compile(r"\w+ \((?P<unit>[nmuµ]?sec|[nmuµ]?s)\)(?::\w+)? \((?P<scope>[IE])\)")
INCLUSIVE = " (inc)"
REPORT = re.compile(r"(?P<kind>Avg|Min|Max) time/rank(?P<exclusive> \(exc\))?")


@dataclass(frozen=True)
class Columns:
    """Which column is which.

    The region, the statistics by kind (avg, min, max), and how many seconds one unit is, None if the file does not
    state it.
    """

    region: str
    value: str
    low: str | None
    high: str | None
    seconds: float | None
    labels: Mapping[str, str]


def read_caliper(path: Path, unit: str = "") -> BenchmarkTable:
    """Read a row for each region, run and rank; ``unit`` applies to times whose unit the file does not state.

    Raises InputError naming line and column for what cannot be read, and for a missing unit.
    """
    text = text_of(path)
    if is_cali(text) or is_json_split(text.lstrip()):
        profile = read_cali(path, text) if is_cali(text) else read_json_split(path, text)
        titles = list(profile.titles)
        kinds = list(_of_profile(profile))
        records = [(number, record) for number, record in enumerate(profile.records, 1)]
    else:
        titles, records = _csv_records(path, text)
        kinds = _columns(titles)
    if not kinds:
        allowed = f"a region ({', '.join(REGIONS)}) and a time, e.g. avg#inclusive#sum#time.duration or time"
        raise InputError("no columns of regions and times", Place(str(path)), value=", ".join(titles), allowed=allowed)
    kinds = [replace(columns, seconds=_seconds_of(columns, unit, path)) for columns in kinds]
    rows: list[BenchmarkRow] = []
    empty = 0
    for line, entries in records:
        for columns in kinds:
            if entries[columns.value] in MISSING:
                empty += 1
            else:
                rows.append(_row(entries, columns, Place(str(path), line)))
    notes = (f"{empty} times are missing",) if empty else ()
    return BenchmarkTable(str(path), "caliper", tuple(rows), notes)


def _csv_records(path: Path, text: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the titles of a table, and its rows by title, each with its line."""
    titles: list[str] = []
    records = []
    table = CsvRows(text.splitlines(keepends=True), str(path))
    for line, cells in table:
        if not titles:
            titles = [cell.strip() for cell in cells]
            continue
        check_width(cells, titles, Place(str(path), line), table.delimiter)
        records.append((line, {title: cell.strip() for title, cell in zip(titles, cells, strict=True)}))
    return titles, records


def _seconds_of(columns: Columns, unit: str, path: Path) -> float:
    """How many seconds one unit of a column is: as the file states, otherwise as the format is named."""
    if columns.seconds is not None:
        return columns.seconds
    if not unit:
        what = f"the unit of the times in column {columns.value!r} is not stated"
        formats = ", ".join(f"caliper-{name}" for name in ASKED)
        allowed = f"--format {formats} (HPCToolkit: caliper-us); or a title such as 'time (us)'"
        raise InputError(what, Place(str(path)), allowed=allowed)
    return UNITS[unit]


def _of_profile(profile: Profile) -> Iterator[Columns]:
    """Yield columns of Caliper's files: means over ranks of each rank's sums, otherwise sums of the rank or process."""
    found: dict[str, dict[str, str]] = {}
    for title in profile.titles:
        *steps, name = title.split("#")
        if name in (DURATION, f"{DURATION}.ns"):
            scope = "inclusive" if "inclusive" in steps else "exclusive"
            over_ranks = len(steps) > 1 and steps[0] in ("avg", "min", "max", "sum") and "sum" in steps[1:]
            own = not over_ranks and steps[-1:] in ([], ["sum"], ["inclusive"], ["scale"])
            found.setdefault(scope, {})[steps[0] if over_ranks else "own" if own else f"visit {title}"] = title
    for scope, kinds in found.items():
        value = kinds.get("avg", kinds.get("own"))
        if value is not None:
            low, high = (kinds.get("min"), kinds.get("max")) if "avg" in kinds else (None, None)
            seconds = 1e-9 if value.endswith(".ns") else profile.units.get(value)
            yield Columns(PATH, value, low, high, seconds, {"scope": scope} if len(found) > 1 else {})


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
    for title in titles:
        match = TIME.fullmatch(title) or METRIC.fullmatch(title)
        if match is not None:
            groups = match.groupdict()
            inclusive = groups.get("inclusive") or groups.get("scope") == "I"
            seconds = UNITS.get(groups["unit"] or "")
            yield Columns(region, title, None, None, seconds, {"scope": "inclusive" if inclusive else "exclusive"})


def _row(entries: Mapping[str, str], columns: Columns, place: Place) -> BenchmarkRow:
    def value(name: str) -> float:
        return number(entries[name], Place(place.file, place.line, f"column {name}")) * (columns.seconds or 1.0)

    rest = {name: text for name, text in entries.items() if _describes(name, entries) and text}
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


def _describes(title: str, titles: Mapping[str, str]) -> bool:
    """Return whether a column describes what a row was measured at.

    No time, count, region or file, and no metric that has an inclusive counterpart.
    """
    is_time = (
        "#" in title or title.startswith(("time", "Time")) or bool(REPORT.fullmatch(title) or METRIC.fullmatch(title))
    )
    is_metric = title.endswith(INCLUSIVE) or f"{title}{INCLUSIVE}" in titles
    return bool(title) and not is_time and not is_metric and title not in (*REGIONS, *LEFT_OUT)


def sniff(start: FileStart) -> Match:
    """Return a column of regions and one of times in the first line, or the beginning of a file of Caliper's own."""
    if is_cali(start.text) or is_json_split(start.text):
        return Match.CERTAIN
    header = start.lines[0] if start.lines else ""
    titles = [[title.strip().strip('"') for title in header.split(delimiter)] for delimiter in DELIMITERS]
    return Match.CERTAIN if any(_columns(one) for one in titles) else Match.NONE


add_benchmark("caliper", read_caliper, sniff, (".cali",))
for _unit in ASKED:
    add_benchmark(f"caliper-{_unit}", partial(read_caliper, unit=_unit))

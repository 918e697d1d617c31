"""CSV output of ``likwid-perfctr -O``, with or without markers: tables of raw events, one column a hardware thread.

A run with markers has one table for each region and group, without them one for each group. A hardware thread is taken
as a process. Events that are in several groups are taken from the first. Tables of statistics over the threads are
passed over, of derived metrics only the run time is used, and so is all that the application printed before the first
table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import lines, number
from simcodesign.counters.events import NO_LABELS, WHOLE, EventCounts, Labels, counters_of, labels_in
from simcodesign.counters.readers.formats import READERS, CounterReader
from simcodesign.counters.table import CounterTable, counter_table

MISSING = ("", "-", "nan", "-nan")
_CLOCK = re.compile(r"([0-9.]+)\s*([GM])Hz")
_RUNTIMES = ("RDTSC Runtime [s]", "Runtime (RDTSC) [s]")


@dataclass
class _Region:
    """A region: by thread, its events and its run time; its place in the file."""

    place: Place
    threads: dict[str, EventCounts] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)


@dataclass
class _Reader:
    """Where a file is being read: the region, the kind of its table, its threads."""

    path: Path
    regions: dict[str, _Region] = field(default_factory=dict)
    region: _Region | None = None
    kind: str = ""
    threads: list[str] = field(default_factory=list)
    first: int = 2
    clock_hz: float | None = None
    group: set[str] = field(default_factory=set)

    def line(self, text: str, place: Place) -> None:
        try:
            entries = [entry.strip() for entry in next(csv.reader([text]))]
        except csv.Error as error:
            raise InputError(f"this line is not CSV: {error}", place) from None
        if entries[0].startswith("CPU clock"):
            self.clock_hz = _clock(entries)
        elif entries[0] == "TABLE":
            self._table(entries, place)
        elif entries[0] == "STRUCT":
            self.kind = ""
        elif self.kind and self.region is not None:
            self._row(entries, place, self.region)

    def _table(self, entries: list[str], place: Place) -> None:
        if len(entries) < 2:
            raise InputError("this table has no title", place, allowed="TABLE,Group 1 Raw,...")
        name, title = WHOLE, entries[1]
        if title.startswith("Region "):
            if len(entries) < 3:
                raise InputError(
                    "this table has no group", place, value=title, allowed="TABLE,Region x,Group 1 Raw,..."
                )
            name, title = title.removeprefix("Region ").strip(), entries[2]
        kinds = {"Raw": "raw", "Metric": "metric"}
        self.kind = kinds.get(title.split()[-1], "") if title.split() else ""
        self.region = self.regions.setdefault(name, _Region(place))
        self.threads = []
        if self.kind == "raw":
            self.group = set()

    def _row(self, entries: list[str], place: Place, region: _Region) -> None:
        if entries[0] in ("Event", "Metric", "Region Info"):
            self.first = 2 if entries[0] == "Event" else 1
            self.threads = [entry for entry in entries[self.first :] if entry]
            return
        if not self.threads:
            return
        texts = entries[self.first : self.first + len(self.threads)]
        if len(texts) < len(self.threads):
            given = f"{len(texts)} values"
            raise InputError(
                f"the row of {entries[0]!r} has too few values",
                place,
                value=given,
                allowed=f"{len(self.threads)}, one for each thread",
            )
        for thread, text in zip(self.threads, texts, strict=True):
            if text not in MISSING:
                self._cell(entries[0], thread, number(text, place, "a count that is not a number"), region)
        self.group.add(entries[0])
        region.taken.add(entries[0])

    def _cell(self, name: str, thread: str, value: float, region: _Region) -> None:
        if name in _RUNTIMES:
            region.seconds.setdefault(thread, value)
        elif self.kind == "raw" and self.first == 2 and not (name in region.taken and name not in self.group):
            region.threads.setdefault(thread, EventCounts.empty()).add(name, value)


def _clock(entries: list[str]) -> float | None:
    match = _CLOCK.search(",".join(entries[1:]))
    return float(match[1]) * {"G": 1e9, "M": 1e6}[match[2]] if match else None


def read_likwid(path: Path, labels: Labels = NO_LABELS) -> CounterTable:
    """One row for each region and hardware thread.

    Processes: as labelled, otherwise the number of threads; frequency: as labelled, otherwise the nominal one of the
    file. Raises InputError with the line for what cannot be read, for a file without a table of events, and where
    counts are marked as sums over all processes: every thread has its own here.
    """
    reader, comments = _Reader(path), []
    for line, text in lines(path):
        place = Place(str(path), line)
        if text.startswith("#"):
            comments.append((text, place))
        else:
            reader.line(text, place)
    if not any(region.threads or region.seconds for region in reader.regions.values()):
        raise InputError("the file has no table of events", Place(str(path)), allowed="the output of likwid-perfctr -O")
    run = labels.over(labels_in(comments))
    if run.summed:
        raise InputError("counts of each thread are not summed", Place(str(path)), value="summed", allowed="no summed")
    return _rows(reader, run)


def _rows(reader: _Reader, run: Labels) -> CounterTable:
    order = list(dict.fromkeys(name for one in reader.regions.values() for name in (*one.threads, *one.seconds)))
    rows: list[Mapping[str, object]] = []
    places = []
    for name, region in reader.regions.items():
        for thread in dict.fromkeys([*region.threads, *region.seconds]):
            row: dict[str, object] = {"processes": float(len(order)), "rank": float(order.index(thread)), **run.row()}
            if reader.clock_hz is not None:
                row.setdefault("frequency_hz", reader.clock_hz)
            row["kernel"] = (run.kernel or WHOLE) if name == WHOLE else name
            row |= counters_of(region.threads.get(thread, EventCounts.empty()))
            if thread in region.seconds:
                row["time_s"] = region.seconds[thread]
            rows.append(row)
            places.append(region.place)
    return counter_table(rows, places)


def sniff(start: FileStart) -> Match:
    """Return a line that begins a table."""
    return Match.CERTAIN if any(line.startswith("TABLE,") for line in start.lines) else Match.NONE


READERS.add_reader(CounterReader("likwid", read_likwid, sniff=sniff))

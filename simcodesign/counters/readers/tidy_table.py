"""Counters in tidy tables: CSV (comma, semicolon or tab), one row per run, kernel and rank, columns may be events.

Columns of a tidy table are the columns of ``counters`` and events as tools call them (``PAPI_TOT_CYC``,
``instructions:u``). ``P`` means ``processes``, ``function`` and ``region`` ``kernel``, ``class`` ``problem_class``,
``seconds`` ``time_s``. An empty cell, or ``nan``, is missing. Lines that begin with # are comments. ``summed`` in
labels or comments: all counts are sums over all processes; columns of times are still per process.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.formula_cells import escaped
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.text_files import MISSING, CsvRows, check_width, number, titles_in
from simcodesign.counters.events import (
    EVENTS,
    NO_LABELS,
    SCALES,
    EventCounts,
    Labels,
    counters_of,
    event_name,
    labels_in,
    misspelt,
)
from simcodesign.counters.readers.formats import READERS, CounterReader
from simcodesign.counters.table import CLASS, COLUMNS, COUNTERS, KERNEL, NUMBERS, CounterTable, counter_table

SYNONYMS = {"P": "processes", "function": KERNEL, "region": KERNEL, "class": CLASS, "seconds": "time_s"}
#: Columns that only label rows.
IGNORED = ("source", "comment")
#: Columns that are divided by the number of processes if they are sums over all.
COUNTS = tuple(name for name, (unit, _) in COUNTERS.items() if unit != "s")


@dataclass(frozen=True)
class _Column:
    """A column of a tidy table: one of ``COLUMNS``, an event, or passed over."""

    title: str
    name: str = ""
    event: bool = False

    @property
    def passed_over(self) -> bool:
        return not (self.name or self.event)


def read_counter_csv(path: Path, labels: Labels = NO_LABELS) -> CounterTable:
    """Read a tidy table, as the module describes. Columns of counters take precedence over events of the same meaning.

    Raises InputError with line and column, and for labels that contradict a row.
    """
    rows: list[tuple[dict[str, object], EventCounts]] = []
    places: list[Place] = []
    columns: list[_Column] = []
    with open_text(path) as file:
        table = CsvRows(file, str(path))
        for line, cells in table:
            place = Place(str(path), line)
            texts = [cell.strip() for cell in cells]
            if not columns:
                columns = _columns(texts, place)
            else:
                rows.append(_row(texts, columns, place))
                places.append(place)
    if not rows:
        raise InputError("the table has no rows", Place(str(path)), allowed="a header, and one row or more")
    run = labels.over(labels_in(table.comments))
    complete = []
    for (row, events), place in zip(rows, places, strict=True):
        labels.check(row, place)
        complete.append(_of_one_process(run.row() | row, events, run.summed, place))
    events_there = [event_name(column.title)[0] for column in columns if column.event]
    unknown = [misspelt(column.title, events_there) for column in columns if column.passed_over]
    return counter_table(complete, places, [f"{path.name}: {note}" for note in unknown if note])


def _of_one_process(row: dict[str, object], events: EventCounts, summed: bool, place: Place) -> dict[str, object]:
    """Return the row with counters from events, and with sums over all processes divided by their number."""
    for name in (KERNEL, "processes"):
        if name not in row:
            raise InputError(f"a row has no {name}", place, allowed=f"a column {name}, or '# {name}: ...'")
    share = float(row["processes"]) if summed else 1.0  # type: ignore[arg-type]
    if share < 1:  # refused with its place by the table
        return row
    counts = {name: float(row[name]) / share for name in COUNTS if name in row}  # type: ignore[arg-type]
    return counters_of(events, share) | row | counts


def _columns(titles: list[str], place: Place) -> list[_Column]:
    columns = []
    for title in titles:
        name = SYNONYMS.get(title, title)
        if name in COLUMNS:
            columns.append(_Column(title, name))
        elif event_name(title)[0] in EVENTS:
            columns.append(_Column(title, event=True))
        elif title in IGNORED or title.upper().startswith("PAPI_"):
            columns.append(_Column(title))
        else:
            raise unknown_column(title, place)
        if name and [column.name or column.title for column in columns].count(name) > 1:
            raise InputError("two columns have the same name", place, value=title)
    return columns


def unknown_column(title: str, place: Place) -> InputError:
    """Return the error of a column that is neither a counter nor an event."""
    allowed = nearest(title, (*COLUMNS, *SYNONYMS, *IGNORED))
    return InputError(
        "the table has an unknown column", place, value=title, allowed=f"{allowed}; or an event such as PAPI_TOT_CYC"
    )


def _row(cells: list[str], columns: list[_Column], place: Place) -> tuple[dict[str, object], EventCounts]:
    """Return the values of our columns, and the events."""
    check_width(cells, [column.title for column in columns], place)
    row: dict[str, object] = {}
    events = EventCounts.empty()
    for cell, column in zip(cells, columns, strict=True):
        at = Place(place.file, place.line, f"column {column.title}")
        if column.name in (KERNEL, CLASS):
            if cell:
                row[column.name] = cell
        elif cell in MISSING or column.passed_over:
            continue
        elif column.event:
            events.add(column.title, number(cell, at) * SCALES.get(event_name(column.title)[0], 1.0))
        else:
            row[column.name] = number(cell, at)
    return row, events


def write_counters(path: str | Path, table: CounterTable) -> None:
    """Write a tidy table, numbers in full, columns that nothing is known of left out. InputError as ``replacing``."""
    there = [name for name in NUMBERS if not all(math.isnan(value) for value in table.column(name))]
    names = [KERNEL, *([CLASS] if any(table.classes) else []), *there]
    with replacing_text(Path(path)) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in range(len(table)):
            texts = {KERNEL: escaped(table.kernels[row]), CLASS: escaped(table.classes[row])}
            writer.writerow([texts[name] if name in texts else _text(float(table.column(name)[row])) for name in names])


def _text(value: float) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def sniff(start: FileStart) -> Match:
    """Return a known column among the titles."""
    titles = titles_in(start.lines)
    is_known = any(SYNONYMS.get(title, title) in COLUMNS or event_name(title)[0] in EVENTS for title in titles)
    return Match.POSSIBLE if is_known else Match.NONE


READERS.add_reader(CounterReader("csv", read_counter_csv, sniff=sniff))

"""Tables of sweeps (``sweep --write``) as measurements: a series for each result, at the points of the sweep.

Axes with numbers are parameters; one with texts (``network.topology.kind``) makes a region of each of its texts; the
axis ``seed`` numbers repetitions. Every column of results is a metric (``simulated_makespan_s``). An empty result, as
points that failed have, is a missing measurement; results of which there are none at all are left out, and so are times
and errors of formulas (``formula_NAME_s``), which were not measured, and spreads of measured times (``measured_low_s``)
and errors against them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.input_files import open_text
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.core.files.table_titles import VALUE
from simcodesign.core.files.text_files import MISSING, CsvRows, check_width, number, titles_in
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.rows import Rows
from simcodesign.fitting.readers.tidy_table import (
    METRIC,
    NAMED,
    REGION,
    REPETITION,
    ROOT,
    add_frame,
    columns_of,
    is_finite,
)

#: The first and the last column of a sweep, the prefixes of the columns of readings, and other results.
POINT, ERROR, READINGS = "point", "error", ("forecast_", "simulated_")
RATIO = "ratio"
#: Times and errors of formulas, which were not measured.
OF_FORMULA = re.compile(r"formula(_.+)?_(s|error)")
#: Spread of measured times, and the errors of others against them.
OF_MEASURED = re.compile(r"measured_(low_s|high_s|n|interval|.+_error)")
SEED = "seed"
#: The times of the whole program, the simulated time first.
TOTALS = ("simulated_makespan_s", "forecast_makespan_s")

Locate = Callable[[int, str], Place]
"""Position of a row (from 0) and column of a sweep in the file."""


@dataclass(frozen=True)
class SweepTable:
    """The cells of a sweep, column by column: texts or numbers as in the file."""

    columns: Mapping[str, Sequence[object]]
    locate: Locate

    @property
    def results(self) -> list[str]:
        """The columns of results: from the first of a reading on, except for formulas."""
        names = [*self.columns]
        first = next(place for place, name in enumerate(names) if name.startswith(READINGS))
        others = (OF_FORMULA, OF_MEASURED)
        return [name for name in names[first:] if name != ERROR and not any(one.fullmatch(name) for one in others)]

    @property
    def axes(self) -> list[str]:
        """The columns of varied parameters, which come before all results; columns of formulas come after them."""
        results = self.results
        before = takewhile(lambda name: name not in results, self.columns)
        return [name for name in before if name not in (POINT, ERROR)]

    def values(self, name: str) -> list[float]:
        """Return a column of results, nan if there is none. InputError for what is no number."""
        return [self._value(row, name, cell) for row, cell in enumerate(self.columns[name])]

    def _value(self, row: int, name: str, cell: object) -> float:
        if isinstance(cell, str):
            return np.nan if cell.strip() in MISSING else number(cell.strip(), self.locate(row, name))
        if cell is None:
            return np.nan
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            raise InputError("not a number", self.locate(row, name), value=cell, allowed="finite numbers")
        return float(cell)

    def is_text(self, name: str) -> bool:
        """Whether an axis holds texts. InputError if it holds both texts and numbers."""
        numeric = [not isinstance(cell, str) or is_finite(cell.strip()) for cell in self.columns[name]]
        if any(numeric) and not all(numeric):
            row = numeric.index(False)
            allowed = "numbers, or texts in all rows"
            raise InputError("not a number", self.locate(row, name), value=self.columns[name][row], allowed=allowed)
        return not all(numeric)


def is_sweep(titles: Sequence[str]) -> bool:
    """Whether these are the columns of a sweep."""
    results = any(title.startswith(READINGS) for title in titles)
    return results and POINT in titles[:1] and VALUE not in {title.lower() for title in titles}


def measurements_of_sweep(table: SweepTable, file: str) -> Measurements:
    """Return the measurements in the cells of a sweep. Raises InputError naming row and column, as for tidy tables."""
    place = Place(file)
    rows_of_table = len(table.columns[POINT])
    if taken := [name for name in table.axes if name.lower() in NAMED]:
        raise InputError("an axis with a name that has another meaning", place, value=taken[0], allowed="another name")
    texts = [name for name in table.axes if table.is_text(name)]
    numeric = [name for name in table.axes if name not in texts and name != SEED]
    named = [*zip(*(table.columns[name] for name in texts), strict=True)] if texts else [()] * rows_of_table
    region = [", ".join(f"{a}={b}" for a, b in zip(texts, one, strict=True)) or ROOT for one in named]
    parts = []
    for name in table.results:
        part = {axis: table.columns[axis] for axis in numeric} | {
            REGION: region,
            METRIC: name,
            VALUE: table.values(name),
        }
        part |= {REPETITION: [str(seed) for seed in table.columns[SEED]]} if SEED in table.axes else {}
        parts.append(pd.DataFrame(part).assign(row=np.arange(rows_of_table)))
    whole = pd.concat(parts, ignore_index=True)
    whole = whole[whole.groupby([REGION, METRIC])[VALUE].transform("count") > 0].reset_index(drop=True)
    if not len(whole):
        raise InputError("the sweep has no results", place, allowed="results of at least one point")
    origins, metrics = whole.pop("row").tolist(), whole[METRIC].tolist()

    def locate(row: int, column: str) -> Place:
        return table.locate(origins[row], metrics[row] if column == VALUE else column)

    rows = Rows(file, partial=True)
    columns = columns_of([str(name) for name in whole.columns], place)
    add_frame(rows, columns, whole, locate)
    return rows.measurements(columns.parameters, lambda row: locate(row, SEED))


def read_sweep(path: Path, partial: bool = False) -> Measurements:
    """Return the measurements in the table of a sweep in CSV; points may always be missing.

    Raises InputError naming line and column.
    """
    lines: list[int] = []
    cells: list[list[str]] = []
    with open_text(path) as file:
        rows = CsvRows(file, str(path))
        titles: list[str] | None = None
        for line, row in rows:
            if titles is None:
                titles = _checked_titles(row, Place(str(path), line))
                continue
            check_width(row, titles, Place(str(path), line), rows.delimiter)
            lines.append(line)
            cells.append(row)
    if not cells:
        raise InputError("the table has no rows", Place(str(path)), allowed="the table of a sweep")
    columns = dict(zip(titles or [], map(list, zip(*cells, strict=True)), strict=True))
    return measurements_of_sweep(
        SweepTable(columns, lambda row, column: Place(str(path), lines[row], f"column {column}")), str(path)
    )


def _checked_titles(titles: list[str], place: Place) -> list[str]:
    if not is_sweep(titles):
        allowed = f"{POINT}, axes, and results that begin with {' or '.join(READINGS)}"
        raise InputError("not the columns of a sweep", place, value=", ".join(titles), allowed=allowed)
    if len(set(titles)) < len(titles):
        raise InputError("two columns with the same name", place, value=", ".join(titles), allowed="each once")
    return titles


def sniff(start: FileStart) -> Match:
    """Return the columns of a sweep among the titles."""
    return Match.CERTAIN if is_sweep(titles_in(start.lines)) else Match.NONE


READERS.add_reader(MeasurementReader("sweep", read_sweep, sniff=sniff))

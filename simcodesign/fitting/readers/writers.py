"""Measurements to files that others read: Extra-P's JSON, and tidy CSV tables.

A file is written beside its place and put there when it is complete, so that what stood there before stays whole
should anything fail.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.atomic_files import replacing_text
from simcodesign.core.files.formula_cells import escaped
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.readers.tidy_table import METRIC, NAMED, REGION, REPETITION, SYNONYMS, VALUE

SERIES_AT_ONCE = 1 << 12


def write_extrap_json(measurements: Measurements, path: str | Path) -> None:
    """Write Extra-P's (new) JSON. Missing repetitions and points are left out.

    Raises InputError where the file cannot be written. Reading it back needs ``partial`` where a point is missing.
    """
    rows: dict[str, list[int]] = {}
    for row, region in enumerate(measurements.regions):
        rows.setdefault(region, []).append(row)
    points = [json.dumps(point) for point in measurements.points.tolist()]
    with replacing_text(Path(path)) as file:
        file.write(f'{{"parameters": {json.dumps(measurements.parameters)}, "measurements": {{')
        for index, (region, members) in enumerate(rows.items()):
            metrics = ",\n  ".join(metric_text(measurements, row, points) for row in members)
            file.write(f"{',' if index else ''}\n {json.dumps(region)}: {{\n  {metrics}}}")
        file.write("\n}}\n")


def metric_text(measurements: Measurements, row: int, points: list[str]) -> str:
    """One series as a member of a JSON object."""
    block = measurements.values[row]
    there = ~np.isnan(block)
    entries = (
        f'{{"point": {points[index]}, "values": {block[index][there[index]].tolist()}}}'
        for index in np.flatnonzero(there.any(axis=1))
    )
    return f"{json.dumps(measurements.metrics[row])}: [{', '.join(entries)}]"


def write_csv(measurements: Measurements, path: str | Path) -> None:
    """Write a tidy table: a column for each parameter, then region, metric, value, and repetition if there are any.

    A missing repetition has no row; a point that a series lacks has one row with an empty value.
    Raises InputError where a parameter is called as one of the other columns, or the file cannot be written.
    """
    parameters = measurements.parameters
    for name in parameters:
        if name.lower() in {*NAMED, *SYNONYMS}:
            raise InputError(
                "a parameter is called as another column of the table",
                Place(str(path)),
                value=name,
                allowed="another name",
            )
    repeated = measurements.values.shape[2] > 1
    with replacing_text(Path(path)) as file:
        # A carriage return would end a line, but the writer does not think of quoting it.
        returns = any("\r" in name for name in (*parameters, *measurements.regions, *measurements.metrics))
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)
        writer.writerow([*map(escaped, parameters), REGION, METRIC, VALUE, *([REPETITION] if repeated else [])])
        for rows in table_rows(measurements, repeated):
            writer.writerows(rows)


def table_rows(measurements: Measurements, repeated: bool) -> Iterator[Iterator[tuple[object, ...]]]:
    """The rows of the table, some thousand series at a time."""
    points = [tuple(plain(value) for value in point) for point in measurements.points.tolist()]
    for start in range(0, len(measurements.regions), SERIES_AT_ONCE):
        block = measurements.values[start : start + SERIES_AT_ONCE]
        there = ~np.isnan(block)
        there[..., 0] |= ~there.any(axis=2)
        series, point, repetition = np.nonzero(there)
        columns = (series.tolist(), point.tolist(), repetition.tolist(), block[there].tolist())
        yield (
            (
                *points[at],
                escaped(measurements.regions[start + row]),
                escaped(measurements.metrics[start + row]),
                "" if value != value else value,
                *((which + 1,) if repeated else ()),
            )
            for row, at, which, value in zip(*columns, strict=True)
        )


def plain(value: float) -> int | float:
    """A whole number without its point, where that loses nothing."""
    return int(value) if value.is_integer() and value < 2**53 else value

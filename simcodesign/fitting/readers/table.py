"""Tidy tables: one measurement a row, as CSV (comma, semicolon or tab) or Parquet.

How columns are told apart: ``region`` (or ``callpath``), ``metric``, ``value`` and ``repetition`` are known by their
names, in small or capital letters; every other column is a parameter, and must hold positive numbers. Only ``value``
and a parameter are needed: without a region column the region is ``<root>``, without a metric column the metric is
``<default>``. An empty value, or ``nan``, says that the measurement is missing. With a ``repetition`` column a value
keeps its place among the repetitions; without one, rows of the same region, metric and point are repetitions in turn.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simcodesign.core.errors import InputError, Place
from simcodesign.fitting.measurements import MAX_PARAMETERS, FloatArray, IntArray, Measurements, check_parameters
from simcodesign.fitting.readers.lines import NUMBER, not_utf8, number, opened
from simcodesign.fitting.readers.rows import CHUNK_ROWS, METRIC_BITS, Rows, check_coordinate

REGION, METRIC, VALUE, REPETITION = NAMED = ("region", "metric", "value", "repetition")
SYNONYMS = {"callpath": REGION}
ROOT, DEFAULT = "<root>", "<default>"
DELIMITERS = ",;\t"
MISSING = ("", "nan", "NaN", "NAN")
ALLOWED_COLUMNS = f"region (or callpath), metric, value, repetition, and 1 to {MAX_PARAMETERS} parameters"

# Up to pandas 3.0 numbers are exact only on request; later ones always are, and warn of the request.
EXACT: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)

Locate = Callable[[int, str], Place]
"""Where a row (from 0) and column of a table stand in the file."""


class NumericNamesError(Exception):
    """Names that look like numbers, and have been read as such."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns as given, which of them are parameters, and the named ones by their meaning."""

    names: tuple[str, ...]
    parameters: tuple[str, ...]
    named: dict[str, str]


def read_csv(path: Path, partial: bool = False) -> Measurements:
    """The measurements in a tidy CSV table, as the module says.

    Raises InputError naming line and column. The table is read in parts, at about 20 bytes of memory a row.
    """
    columns, delimiter = csv_header(path)
    try:
        return csv_measurements(path, columns, delimiter, "category", partial)
    except NumericNamesError:
        return csv_measurements(path, columns, delimiter, "object", partial)


def csv_measurements(path: Path, columns: Columns, delimiter: str, names: str, partial: bool) -> Measurements:
    """``read_csv`` where the columns are known; ``names`` is how pandas keeps names: as category or object."""
    rows = Rows(str(path), partial)

    def locate(row: int, column: str) -> Place:
        return Place(str(path), line_of_row(path, delimiter, row), f"column {column}" if column else "")

    gaps = False
    try:
        with closing(csv_frames(path, columns, delimiter, names)) as frames:
            for frame in frames:
                gaps |= add_frame(rows, columns, frame, locate)
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except InputError:
        raise
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        # pandas says little of where: find it in the plain file.
        check_rows(path, columns, delimiter)
        raise InputError(f"the table cannot be read: {error}", Place(str(path))) from None
    if gaps:  # an empty value, or a row cut short
        check_rows(path, columns, delimiter)
    return rows.measurements(columns.parameters, lambda row: locate(row, columns.named[REPETITION]))


def csv_header(path: Path) -> tuple[Columns, str]:
    """The columns of a CSV table, and what separates them."""
    with opened(path) as file:
        first = next((line for line in file if line.strip()), "")
        delimiter = max(DELIMITERS, key=first.count)
        file.seek(0)
        for line, fields in plain_rows(file, delimiter, str(path)):
            return told_apart(fields, Place(str(path), line)), delimiter
    raise InputError("the file is empty", Place(str(path)), allowed=f"a table with columns {ALLOWED_COLUMNS}")


def told_apart(names: Sequence[str], place: Place) -> Columns:
    """Which column is which. Raises InputError where one is missing, stands twice or has no name."""
    given = tuple(name.strip() for name in names)
    meaning = {name: SYNONYMS.get(name.lower(), name.lower()) for name in given}
    named = {meaning[name]: name for name in given if meaning[name] in NAMED}
    parameters = tuple(name for name in given if meaning[name] not in NAMED)
    if VALUE not in named:
        raise InputError("the table has no column value", place, value=", ".join(given), allowed=ALLOWED_COLUMNS)
    if len(set(given)) < len(given) or len(named) + len(parameters) < len(given):
        raise InputError("two columns of one name", place, value=", ".join(given), allowed="each once")
    check_parameters(parameters, place)
    return Columns(given, parameters, named)


def csv_frames(path: Path, columns: Columns, delimiter: str, names: str) -> Generator[pd.DataFrame, None, None]:
    """The table in parts: the values as numbers, all else as categories, which are cheap to tell apart.

    Raises NumericNamesError where pandas made numbers of categories that are names, 0 of 00.
    """
    value = columns.named[VALUE]
    kinds = {name: "category" if name in columns.parameters else names for name in columns.names} | {value: "float64"}
    texts = [name for name in columns.names if kinds[name] == "category" and name not in columns.parameters]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
        with pd.read_csv(
            path,
            sep=delimiter,
            header=0,
            names=list(columns.names),
            dtype=kinds,
            index_col=False,
            keep_default_na=False,
            na_values={value: list(MISSING)},
            encoding="utf-8-sig",
            chunksize=CHUNK_ROWS,
            **EXACT,
        ) as frames:
            for frame in frames:
                if any(pd.api.types.is_numeric_dtype(frame[name].cat.categories.dtype) for name in texts):
                    raise NumericNamesError
                yield frame


def add_frame(rows: Rows, columns: Columns, frame: pd.DataFrame, locate: Locate) -> bool:
    """Take in a part of a table; returns whether a value is missing."""
    first = rows.count

    def where(column: str) -> Callable[[int], Place]:
        return lambda row: locate(first + row, column)

    values = numbers_of(frame[columns.named[VALUE]], where(columns.named[VALUE]))
    regions = names_of(frame, columns.named.get(REGION), rows.region, ROOT, where)
    metrics = names_of(frame, columns.named.get(METRIC), rows.metric, DEFAULT, where)
    points = points_of(rows, columns, frame, where)
    labels = names_of(frame, columns.named[REPETITION], rows.label, "", where) if REPETITION in columns.named else None
    rows.add(regions << METRIC_BITS | metrics, points, values, labels)
    return bool(np.isnan(values).any())


def numbers_of(column: pd.Series, where: Callable[[int], Place]) -> FloatArray:
    """The values, NaN for missing ones."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        raise InputError(
            "values that are not numbers", where(0), value=str(column.dtype), allowed="a column of numbers"
        )
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if (infinite := np.isinf(values)).any():
        row = int(np.argmax(infinite))
        raise InputError("an infinite value", where(row), value=float(values[row]), allowed="finite numbers")
    return values


def coded(column: pd.Series, where: Callable[[int], Place]) -> tuple[IntArray, list[object]]:
    """A column as whole numbers, and what each stands for. Raises InputError for an entry that is missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, entries = np.asarray(column.cat.codes), column.cat.categories.tolist()
    else:
        codes, index = pd.factorize(column)
        entries = index.tolist()
    codes = codes.astype(np.int64)
    if len(codes) and codes.min() < 0:
        raise InputError("an entry is missing", where(int(np.argmin(codes))), allowed="a value in every column")
    return codes, entries


def names_of(
    frame: pd.DataFrame,
    column: str | None,
    numbered: Callable[[str], int],
    default: str,
    where: Callable[[str], Callable[[int], Place]],
) -> IntArray:
    """The number of the name in each row; ``default`` for all rows where there is no such column."""
    if column is None:
        return np.full(len(frame), numbered(default), dtype=np.int64)
    codes, entries = coded(frame[column], where(column))
    order = by_appearance(codes, len(entries))
    numbers = np.zeros(len(entries), dtype=np.int64)
    for index in order:
        numbers[index] = numbered(str(entries[index]))
    found: IntArray = numbers[codes]
    return found


def by_appearance(codes: IntArray, length: int) -> list[int]:
    """The codes in the order in which they are met first."""
    first = first_rows(codes, length)
    return [int(index) for index in np.argsort(first, kind="stable") if first[index] < len(codes)]


def first_rows(codes: IntArray, length: int) -> IntArray:
    """The first row of each code; the number of rows for a code that is not there."""
    first = np.full(length, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of several, the last one assigned stays
    return first


def points_of(
    rows: Rows, columns: Columns, frame: pd.DataFrame, where: Callable[[str], Callable[[int], Place]]
) -> IntArray:
    """The number of the point in each row."""
    combined = np.zeros(len(frame), dtype=np.int64)
    distinct = 1
    coordinates: list[FloatArray] = []
    for name in columns.parameters:
        codes, entries = coded(frame[name], where(name))
        coordinates.append(coordinates_of(codes, entries, where(name))[codes])
        # Numbered anew for each column: the product of four columns of many different entries would not fit.
        combined, index = pd.factorize(combined * len(entries) + codes)
        distinct = len(index)
    numbers = np.empty(distinct, dtype=np.int64)
    for point, row in enumerate(first_rows(combined, distinct).tolist()):
        here = tuple(float(column[row]) for column in coordinates)
        numbers[point] = rows.point(here, lambda row=row: where(columns.parameters[0])(row))  # type: ignore[misc]
    found: IntArray = numbers[combined]
    return found


def coordinates_of(codes: IntArray, entries: list[object], where: Callable[[int], Place]) -> FloatArray:
    """What the entries of a column of coordinates are as numbers, which must be positive."""
    values = np.empty(len(entries))
    for index, entry in enumerate(entries):

        def place(index: int = index) -> Place:
            return where(int(np.argmax(codes == index)))

        if isinstance(entry, str):
            text = entry.strip()
            # The place is looked up in the file, and so only where it is needed.
            values[index] = number(text, Place() if is_finite(text) else place(), "a coordinate that is not a number")
        elif isinstance(entry, int | float | np.integer | np.floating) and not isinstance(entry, bool):
            values[index] = float(entry)
        else:
            raise InputError("a coordinate that is not a number", place(), value=entry, allowed="positive numbers")
        check_coordinate(float(values[index]), place)
    return values


def is_finite(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def plain_rows(file: Iterable[str], delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that are not empty, each with the number of its last line. Slow, but it knows the line."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", Place(name, reader.line_num)) from None


def line_of_row(path: Path, delimiter: str, row: int) -> int | None:
    """The line of a row (from 0) below the header."""
    with opened(path) as file:
        for index, (line, _) in enumerate(plain_rows(file, delimiter, str(path)), -1):
            if index == row:
                return line
    return None


def check_rows(path: Path, columns: Columns, delimiter: str) -> None:
    """Raise InputError at the first row of a wrong length, or with a value that is not a number."""
    value = columns.names.index(columns.named[VALUE])
    with opened(path) as file:
        rows = plain_rows(file, delimiter, str(path))
        next(rows)
        for line, fields in rows:
            if len(fields) != len(columns.names):
                raise InputError(
                    "a row of wrong length",
                    Place(str(path), line),
                    value=f"{len(fields)} entries",
                    allowed=f"{len(columns.names)}: {delimiter.join(columns.names)}",
                )
            if fields[value] not in MISSING:
                number(fields[value].strip(), Place(str(path), line, f"column {columns.names[value]}"))


def read_parquet(path: Path, partial: bool = False) -> Measurements:
    """The measurements in a tidy table in a Parquet file; needs pyarrow.

    Raises InputError naming row (from 1, below the names of the columns) and column.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "reading Parquet needs the package pyarrow, which is not installed",
            Place(str(path)),
            allowed="pip install pyarrow, or the table as CSV",
        ) from None
    rows = Rows(str(path), partial)

    def locate(row: int, column: str) -> Place:
        return Place(str(path), path=f"row {row + 1}, column {column}")

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = told_apart(file.schema_arrow.names, Place(str(path)))
            for batch in file.iter_batches(batch_size=CHUNK_ROWS):
                frame = batch.to_pandas()
                add_frame(rows, columns, frame.set_axis(list(columns.names), axis=1), locate)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"the Parquet file cannot be read: {error}", Place(str(path))) from None
    return rows.measurements(columns.parameters, lambda row: locate(row, columns.named[REPETITION]))

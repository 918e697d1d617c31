"""Tidy tables: one measurement a row. What their columns mean, and their rows taken in from frames of pandas.

How columns are recognised: ``region`` (or ``callpath``, ``phase``), ``metric`` (or ``component``) and ``repetition`` by
their names, in small or capital letters; the values are in the column ``value``, otherwise in ``seconds`` or ``time``,
or in the one that the caller names. Left out are the spread of a value (``low`` and ``high``, or ``spread``, with
``count``), and ``interval``, ``source``, ``role`` and ``comment``. Every other column is a parameter, and must hold
positive numbers. Only values and a parameter are needed: without a region column the region is ``<root>``, without a
metric column the metric is ``<default>``. A title may have a unit (``time (ms)``, ``size [KiB]``), from which numbers
are converted to SI units. An empty value, or ``nan``, is a missing measurement. With a ``repetition`` column a value
keeps its place among the repetitions; without one, rows of the same region, metric and point are successive
repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pandas as pd

from simcodesign.core.errors import InputError, Place
from simcodesign.core.files.table_titles import VALUE, VALUES, split_title, value_column
from simcodesign.core.files.text_files import NUMBER, number
from simcodesign.core.units import unit_factor
from simcodesign.fitting.measurements import MAX_PARAMETERS, FloatArray, IntArray, check_parameters
from simcodesign.fitting.readers.rows import METRIC_BITS, Rows, check_coordinate

REGION, METRIC, REPETITION = "region", "metric", "repetition"
NAMED = (REGION, METRIC, VALUE, REPETITION)
SYNONYMS = {"callpath": REGION, "phase": REGION, "component": METRIC}
#: Columns of measured times (``describe.measured_tables``) that are no parameters: the spread of a value, if its ends
#: or half of it are given, and what is said of a row.
ENDS, HALF, COUNT = ("low", "high"), "spread", "count"
REMARKS = ("interval", "source", "role", "comment")
ROOT, DEFAULT = "<root>", "<default>"
ALLOWED_COLUMNS = (
    f"region (or callpath), metric, value (or seconds, time, --value COLUMN), repetition, and 1 to {MAX_PARAMETERS} "
    "parameters"
)

Locate = Callable[[int, str], Place]
"""Position of a row (from 0) and column of a table in the file."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns, without units.

    Which of them are parameters; the others by their meaning; and what one unit of a column is in SI units, where its
    title has a unit. A column that is neither is left out.
    """

    names: tuple[str, ...]
    parameters: tuple[str, ...]
    named: dict[str, str]
    factors: Mapping[str, Fraction] = field(default_factory=dict)

    def scaled(self, name: str, values: FloatArray) -> FloatArray:
        """Return numbers of a column in SI units."""
        factor = self.factors.get(name)
        return values if factor is None else values * float(factor.numerator) / float(factor.denominator)


def columns_of(titles: Sequence[str], place: Place, value: str | None = None) -> Columns:
    """Return which column is which; ``value`` names the column of values.

    Raises InputError if one is missing, occurs twice or has no name.
    """
    split = [split_title(title) for title in titles]
    names = tuple(name for name, _ in split)
    if len(set(names)) < len(names):  # distinguished by what follows their names
        split = [(title.strip(), "") for title in titles]
        names = tuple(name for name, _ in split)
    try:
        values = value_column(titles, value, place)
    except InputError as error:
        allowed = ALLOWED_COLUMNS if value is None else error.allowed
        raise InputError(error.what, place, value=error.value, allowed=allowed) from None
    if len(set(names)) < len(names):
        raise InputError("two columns with the same name", place, value=", ".join(names), allowed="each once")
    small = {name.lower() for name in names}
    has_spread = HALF in small or small.issuperset(ENDS)
    not_used = {*REMARKS, *((*ENDS, HALF, COUNT) if has_spread else ())}
    # A word that another column has is no synonym for it.
    synonyms = {word: meant for word, meant in SYNONYMS.items() if meant not in small or word == "callpath"}
    meaning = {name: synonyms.get(name.lower(), name.lower()) for name in names}
    named = {meaning[name]: name for name in names if meaning[name] in (REGION, METRIC, REPETITION)}
    named[VALUE] = names[values]
    # Values that were not chosen are no parameters either.
    others = {*VALUES} if value is not None else {VALUE}
    known = {REGION, METRIC, REPETITION, *others, *not_used}
    parameters = tuple(name for name in names if meaning[name] not in known and name != names[values])
    left_out = sum(meaning[name] in {*others, *not_used} and name != names[values] for name in names)
    if len(named) + len(parameters) + left_out < len(names):
        raise InputError("two columns with the same name", place, value=", ".join(names), allowed="each once")
    check_parameters(parameters, place)
    factors = {name: factor for name, unit in split if (factor := unit_factor(unit))}
    return Columns(names, parameters, named, factors)


def add_frame(
    rows: Rows, columns: Columns, frame: pd.DataFrame, locate: Locate, text_of: Callable[[str], str] = str
) -> bool:
    """Take in a part of a table, whose names ``text_of`` reads; returns whether a value is missing."""
    first = rows.count

    def where(column: str) -> Callable[[int], Place]:
        return lambda row: locate(first + row, column)

    value = columns.named[VALUE]
    values = columns.scaled(value, numbers_of(frame[value], where(value)))
    regions = names_of(frame, columns.named.get(REGION), lambda name: rows.region(text_of(name)), ROOT, where)
    metrics = names_of(frame, columns.named.get(METRIC), lambda name: rows.metric(text_of(name)), DEFAULT, where)
    points = points_of(rows, columns, frame, where)
    labels = names_of(frame, columns.named[REPETITION], rows.label, "", where) if REPETITION in columns.named else None
    rows.add(regions << METRIC_BITS | metrics, points, values, labels)
    return bool(np.isnan(values).any())


def numbers_of(column: pd.Series, where: Callable[[int], Place]) -> FloatArray:
    """Return the values, NaN for missing ones."""
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
    """Return a column as whole numbers, and the value of each number.

    Raises InputError for an entry that is missing.
    """
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
    """Return the number of the name in each row; ``default`` for all rows if there is no such column."""
    if column is None:
        return np.full(len(frame), numbered(default), dtype=np.int64)
    codes, entries = coded(frame[column], where(column))
    order = by_appearance(codes, len(entries))
    numbers = np.zeros(len(entries), dtype=np.int64)
    for index in order:
        numbers[index] = numbered(str(entries[index]) or default)
    numbers_of_rows: IntArray = numbers[codes]
    return numbers_of_rows


def by_appearance(codes: IntArray, length: int) -> list[int]:
    """Return the codes in the order in which they are met first."""
    first = first_rows(codes, length)
    return [int(index) for index in np.argsort(first, kind="stable") if first[index] < len(codes)]


def first_rows(codes: IntArray, length: int) -> IntArray:
    """Return the first row of each code; the number of rows for a code that is not there."""
    first = np.full(length, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of several, the last one assigned stays
    return first


def points_of(
    rows: Rows, columns: Columns, frame: pd.DataFrame, where: Callable[[str], Callable[[int], Place]]
) -> IntArray:
    """Return the number of the point in each row."""
    combined = np.zeros(len(frame), dtype=np.int64)
    distinct = 1
    coordinates: list[FloatArray] = []
    for name in columns.parameters:
        codes, entries = coded(frame[name], where(name))
        coordinates.append(columns.scaled(name, coordinates_of(codes, entries, where(name)))[codes])
        # Numbered again for each column: the product of four columns of many different entries would not fit.
        combined, index = pd.factorize(combined * len(entries) + codes)
        distinct = len(index)
    numbers = np.empty(distinct, dtype=np.int64)
    for point, row in enumerate(first_rows(combined, distinct).tolist()):
        here = tuple(float(column[row]) for column in coordinates)
        numbers[point] = rows.point(here, lambda row=row: where(columns.parameters[0])(row))  # type: ignore[misc]
    numbers_of_rows: IntArray = numbers[combined]
    return numbers_of_rows


def coordinates_of(codes: IntArray, entries: list[object], where: Callable[[int], Place]) -> FloatArray:
    """Convert the entries of a column of coordinates to numbers, which must be positive."""
    values = np.empty(len(entries))
    for index, entry in enumerate(entries):

        def place(index: int = index) -> Place:
            return where(int(np.argmax(codes == index)))

        if isinstance(entry, str):
            text = entry.strip()
            # The place is looked up in the file, and so only if it is needed.
            values[index] = number(text, Place() if is_finite(text) else place(), "a coordinate that is not a number")
        elif isinstance(entry, int | float | np.integer | np.floating) and not isinstance(entry, bool):
            values[index] = float(entry)
        else:
            raise InputError("a coordinate that is not a number", place(), value=entry, allowed="positive numbers")
        check_coordinate(float(values[index]), place)
    return values


def is_finite(text: str) -> bool:
    """Return whether a cell is a finite number."""
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text))

"""Objects of Extra-P's JSON folded into rows while the parser meets them, innermost first.

Each object that holds a value becomes a row, so that memory holds the text but never a tree of all measurements. What
is wrong inside is carried outward, each level adding its part of the path.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from typing import TypeGuard

from simcodesign.core.errors import Place
from simcodesign.fitting.readers.json_parts import JsonError, Pairs, checked_object, finite, step
from simcodesign.fitting.readers.rows import CHUNK_ROWS, Rows, pair

POSITIVE = "positive finite numbers"
ROW_FORM = '{"point": [16, 1000], "values": [1.2, 1.3]}'
OLD_ROW = ("callpath_id", "coordinate_id", "metric_id", "value")
OLD_KEYS = frozenset(OLD_ROW)
MOST_KEYS = 16  # of an old row; an object of more is a table of regions


class Row:
    """Stands for an object that has become a row; there is one only, so that lists of it are small."""


ROW = Row()


@dataclass(frozen=True)
class Slot:
    """Stands for all metrics of a region; ``number`` counts the regions read."""

    number: int


@dataclass
class Folder:
    """Makes rows of objects while the parser meets them, innermost first."""

    rows: Rows
    slots: int = 0
    pairs: array[int] = field(default_factory=lambda: array("q"))
    points: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("d"))
    open: list[Pairs] = field(default_factory=list)  # new rows whose metric has not been met yet
    old: tuple[array[float], ...] = field(default_factory=lambda: tuple(array("d") for _ in OLD_ROW))

    def fold(self, pairs: Pairs) -> object:
        """Convert a JSON object to ROW, a Slot, the dict itself, or the JsonError of it."""
        # The usual row, in as few steps as can be: what it holds is looked at region by region.
        if len(pairs) == 2 and pairs[0][0] == "point" and pairs[1][0] == "values":
            point = pairs[0][1]
            if type(point) is not list or not point or point[0] is not ROW:
                self.open.append(pairs)
                return ROW
        try:
            return self.unusual(pairs)
        except JsonError as error:
            return error

    def unusual(self, pairs: Pairs) -> object:
        """``fold`` for anything but a row that begins with its point."""
        keys = {key for key, _ in pairs} if len(pairs) <= MOST_KEYS else set()
        if keys == {"point", "values"} and len(pairs) == 2 and not is_rows(pairs[0][1]):
            self.open.append(pairs[::-1])
            return ROW
        if keys >= OLD_KEYS:
            return self.old_row(dict(pairs))
        if pairs and all(is_rows(value) for _, value in pairs):
            return self.slot(pairs)
        return checked_object(pairs)

    def slot(self, pairs: Pairs) -> Slot:
        """Read ``{METRIC: [row, ..], ..}``: all measurements of a region."""
        checked_object(pairs)
        lists = [(metric, len(rows)) for metric, rows in pairs if type(rows) is list]
        if sum(length for _, length in lists) != len(self.open):
            raise JsonError("a measurement that is in no list of a metric", allowed=f"{{metric: [{ROW_FORM}, ..]}}")
        start = 0
        for metric, length in lists:
            try:
                self.series(pair(self.slots, self.rows.metric(metric)), self.open[start : start + length])
            except JsonError as error:
                raise error.under(step(metric)) from None
            start += length
        self.open.clear()
        self.slots += 1
        if len(self.values) >= CHUNK_ROWS:
            self.flush()
        return Slot(self.slots - 1)

    def series(self, number: int, rows: list[Pairs]) -> None:
        """Take in the rows of a region and metric. Raises JsonError."""
        given, repetitions = as_numbers([row[0][1] for row in rows], [row[1][1] for row in rows])
        coordinates = [tuple(point) for point in given]
        if len(set(coordinates)) < len(coordinates):
            raise point_twice(coordinates)
        known = self.rows.points
        points = [known[point] if point in known else self.new_point(point, rows) for point in coordinates]
        lengths = [len(values) for values in repetitions]
        total = sum(lengths)
        self.pairs.extend([number] * total)
        self.points.extend(points if total == len(points) else repeated(points, lengths))
        self.values.extend(chain.from_iterable(repetitions))

    def new_point(self, point: tuple[float, ...], rows: list[Pairs]) -> int:
        """Add a point, and return its number. Raises JsonError for a coordinate of 0 or less."""
        for index, value in enumerate(point):
            if value <= 0:
                at = next(at for at, row in enumerate(rows) if row[0][1] in (list(point), value))
                raise JsonError("a parameter out of range", value, POSITIVE, f"[{at}].point[{index}]")
        return add_point(self.rows, list(point), ".point")

    def old_row(self, content: dict[str, object]) -> Row:
        """Add a row of the old format."""
        for key, column in zip(OLD_ROW, self.old, strict=True):
            column.append(finite(content[key], f".{key}"))
        return ROW

    def flush(self) -> None:
        """Add the rows held so far, and forget them."""
        self.rows.add(self.pairs, self.points, self.values)
        for held in (self.pairs, self.points, self.values):
            del held[:]


def all_numbers(lists: list[object]) -> TypeGuard[list[list[float]]]:
    """Whether these are lists of finite numbers, none of them empty."""
    if {*map(type, lists)} != {list} or [] in lists:
        return False
    return {*map(type, chain.from_iterable(lists))} == {float} and all(map(isfinite, chain.from_iterable(lists)))  # type: ignore[arg-type]


def as_numbers(points: list[object], values: list[object]) -> tuple[list[list[float]], list[list[float]]]:
    """Return both as checked numbers; a bare number is a list of one. Raises JsonError at the first that is none."""
    if all_numbers(points) and all_numbers(values):
        return points, values
    return (
        [numbers(point, f"[{index}].point", "a coordinate that is not a number") for index, point in enumerate(points)],
        [numbers(value, f"[{index}].values", "not a number") for index, value in enumerate(values)],
    )


def numbers(given: object, path: str, what: str) -> list[float]:
    """Return a list of numbers, or one number as such. Raises JsonError."""
    if type(given) is not list:
        return [finite(given, path, what)]
    if not given:
        raise JsonError("an empty list", "[]", "one or more numbers", path)
    return [finite(value, f"{path}[{index}]", what) for index, value in enumerate(given)]


def point_twice(points: list[tuple[float, ...]]) -> JsonError:
    """Return the error for the first point that repeats an earlier one; one point must do so."""
    index = next(index for index in range(len(points)) if points[index] in points[:index])
    return JsonError("one point appears twice", points[index], "each once; repetitions in values", f"[{index}].point")


def repeated(points: list[int], lengths: list[int]) -> list[int]:
    """Return the point of each value, from the point and the number of values of each row."""
    return [point for point, length in zip(points, lengths, strict=True) for _ in range(length)]


def add_point(rows: Rows, point: list[float], path: str) -> int:
    """Return the number of a point whose coordinates have been checked."""
    return rows.point(tuple(point), lambda: Place(rows.file, path=path))


def is_rows(value: object) -> bool:
    """Whether this is a list of nothing but rows."""
    return type(value) is list and bool(value) and value[0] is ROW and value.count(ROW) == len(value)


def plain(value: object) -> object:
    """Return a value as in the text, in words if it has been folded."""
    return "measurements" if isinstance(value, Row | Slot) else value

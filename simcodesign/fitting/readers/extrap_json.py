"""Extra-P's JSON, new and old, parsed by the standard library and folded into rows object by object.

New: ``{"parameters": [..], "measurements": {REGION: {METRIC: [{"point": [..], "values": [..]}]}}}``.
Old: tables ``parameters``, ``callpaths``, ``metrics`` of ``{id, name}``, ``coordinates`` of ``{id,
parameter_value_pairs: [{parameter_id, parameter_value}]}`` and ``measurements`` of ``{callpath_id, coordinate_id,
metric_id, value}``; repeated rows are repetitions, and parameters stand in the order of their ids.

Each object that holds a value becomes a row while the parser runs, so that beside the text there is never a tree of
all measurements. What is wrong inside is carried outward, each level adding its part of the path.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TypeGuard

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.core.readers import FileStart, Match
from simcodesign.core.text_files import whole_text
from simcodesign.fitting.measurements import FloatArray, IntArray, Measurements, check_parameters
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.json_parts import (
    JsonError,
    Pairs,
    checked_object,
    decoded,
    decoder,
    finite,
    shown,
    step,
    text_of,
)
from simcodesign.fitting.readers.rows import CHUNK_ROWS, METRIC_BITS, Rows, chunks_of, pair

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
        """What stands for a JSON object: ROW, a Slot, the dict itself, or the JsonError of it."""
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
        """``{METRIC: [row, ..], ..}``: all that was measured in a region."""
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
        for index, value in enumerate(point):
            if value <= 0:
                at = next(at for at, row in enumerate(rows) if row[0][1] in (list(point), value))
                raise JsonError("a parameter out of range", value, POSITIVE, f"[{at}].point[{index}]")
        return add_point(self.rows, list(point), ".point")

    def old_row(self, content: dict[str, object]) -> Row:
        for key, column in zip(OLD_ROW, self.old, strict=True):
            column.append(finite(content[key], f".{key}"))
        return ROW

    def flush(self) -> None:
        self.rows.add(self.pairs, self.points, self.values)
        for held in (self.pairs, self.points, self.values):
            del held[:]


def all_numbers(lists: list[object]) -> TypeGuard[list[list[float]]]:
    """Whether these are lists of finite numbers, none of them empty."""
    if {*map(type, lists)} != {list} or [] in lists:
        return False
    return {*map(type, chain.from_iterable(lists))} == {float} and all(map(isfinite, chain.from_iterable(lists)))  # type: ignore[arg-type]


def as_numbers(points: list[object], values: list[object]) -> tuple[list[list[float]], list[list[float]]]:
    """The same, known to be numbers; a bare number is a list of one. Raises JsonError at the first that is none."""
    if all_numbers(points) and all_numbers(values):
        return points, values
    return (
        [numbers(point, f"[{index}].point", "a coordinate that is not a number") for index, point in enumerate(points)],
        [numbers(value, f"[{index}].values", "not a number") for index, value in enumerate(values)],
    )


def numbers(given: object, path: str, what: str) -> list[float]:
    """A list of numbers, or one number as such. Raises JsonError."""
    if type(given) is not list:
        return [finite(given, path, what)]
    if not given:
        raise JsonError("an empty list", "[]", "one or more numbers", path)
    return [finite(value, f"{path}[{index}]", what) for index, value in enumerate(given)]


def point_twice(points: list[tuple[float, ...]]) -> JsonError:
    index = next(index for index in range(len(points)) if points[index] in points[:index])
    return JsonError("one point stands twice", points[index], "each once; repetitions in values", f"[{index}].point")


def repeated(points: list[int], lengths: list[int]) -> list[int]:
    """The point of each value, from the point and the number of values of each row."""
    return [point for point, length in zip(points, lengths, strict=True) for _ in range(length)]


def read_extrap_json(path: Path, partial: bool = False) -> Measurements:
    """The measurements in a file of Extra-P's JSON, new or old.

    Raises InputError naming the path of keys, or the line and column of what is no JSON. The text of the file is
    held in memory while it is read.
    """
    folder = Folder(Rows(str(path), partial))
    with without_collection():
        content = decoded(decoder(folder.fold), whole_text(path), str(path))
    try:
        if isinstance(content, JsonError):
            raise content
        if not isinstance(content, dict) or "measurements" not in content:
            raise JsonError(
                "no Extra-P JSON: it has no measurements", allowed="an object with parameters and measurements"
            )
        if "callpaths" in content or "coordinates" in content:
            parameters = finish_old(folder, content)
        else:
            parameters = finish_new(folder, content)
    except JsonError as bad:
        raise bad.error(str(path)) from None
    return folder.rows.measurements(parameters)


def finish_new(folder: Folder, content: dict[str, object]) -> tuple[str, ...]:
    """Name the regions of the rows read; returns the parameters."""
    names = listed(content, "parameters")
    parameters = parameter_names([text_of(name, f".parameters[{index}]") for index, name in enumerate(names)])
    regions = content["measurements"]
    if not isinstance(regions, dict):
        raise JsonError("not an object of regions", shown(plain(regions)), "{region: {metric: [..]}}", ".measurements")
    for region, slot in regions.items():
        if not isinstance(slot, Slot):
            raise why_no_slot(slot).under(".measurements" + step(region))
    if [slot.number for slot in regions.values()] != list(range(folder.slots)) or folder.open:
        raise JsonError(
            "measurements stand elsewhere than in measurements", allowed=f"{{region: {{metric: [{ROW_FORM}]}}}}"
        )
    folder.rows.regions = {region: slot.number for region, slot in regions.items()}
    check_dimensions(folder.rows, parameters)
    if folder.values:
        folder.flush()
    return parameters


def why_no_slot(metrics: object) -> JsonError:
    """What is wrong with something that should be the metrics of a region."""
    if not isinstance(metrics, dict):
        return JsonError("not an object of metrics", shown(plain(metrics)), "{metric: [..]}")
    for metric, rows in metrics.items():
        if not isinstance(rows, list):
            return JsonError("not a list of measurements", shown(plain(rows)), f"[{ROW_FORM}, ..]", step(metric))
        if not rows:
            return JsonError("a metric without a measurement", "[]", f"[{ROW_FORM}, ..]", step(metric))
        for index, row in enumerate(rows):
            if row is not ROW:
                return JsonError("not a measurement", shown(plain(row)), ROW_FORM, f"{step(metric)}[{index}]")
    return JsonError("a region without a metric", "{}", "{metric: [..]}")


def finish_old(folder: Folder, content: dict[str, object]) -> tuple[str, ...]:
    """Put points and names in place of the ids of the rows read; returns the parameters."""
    rows = folder.rows
    table = named_table(content, "parameters")
    identities = sorted(table)
    parameters = parameter_names([table[identity] for identity in identities])
    callpaths, metrics = named_table(content, "callpaths"), named_table(content, "metrics")
    coordinates = old_coordinates(rows, content, identities)
    measured = listed(content, "measurements")
    for index, row in enumerate(measured):
        if row is not ROW:
            form = '{"callpath_id": 1, "coordinate_id": 1, "metric_id": 1, "value": 1.2}'
            raise JsonError("not a measurement", shown(plain(row)), form, f".measurements[{index}]")
    if len(measured) != len(folder.old[0]):
        raise JsonError("measurements stand elsewhere than in measurements")
    callpath_ids, coordinate_ids, metric_ids, values = (np.frombuffer(column) for column in folder.old)
    regions = {identity: rows.region(name) for identity, name in callpaths.items()}
    kinds = {identity: rows.metric(name) for identity, name in metrics.items()}
    for part in chunks_of(len(values)):
        region = translated(callpath_ids, part, regions, "callpath_id")
        kind = translated(metric_ids, part, kinds, "metric_id")
        point = translated(coordinate_ids, part, coordinates, "coordinate_id")
        rows.add(region << METRIC_BITS | kind, point, values[part])
    return parameters


def old_coordinates(rows: Rows, content: dict[str, object], parameters: Sequence[float]) -> dict[float, int]:
    """The number of each point, by the id of its coordinate."""
    points: dict[float, int] = {}
    for index, entry in enumerate(listed(content, "coordinates")):
        path = f".coordinates[{index}]"
        identity = identity_of(entry, points, path)
        given: dict[float, float] = {}
        pairs = listed(entry, "parameter_value_pairs", path)
        for place, item in enumerate(pairs):
            inside = f"{path}.parameter_value_pairs[{place}]"
            name = finite(member(item, "parameter_id", inside), f"{inside}.parameter_id")
            if name not in parameters or name in given:
                what = "a parameter given twice" if name in given else "no such parameter"
                raise JsonError(what, name, "the ids of parameters, each once", f"{inside}.parameter_id")
            given[name] = coordinate(member(item, "parameter_value", inside), f"{inside}.parameter_value")
        if len(given) != len(parameters):
            raise wrong_dimensions(len(given), len(parameters), f"{path}.parameter_value_pairs")
        before = len(rows.points)
        points[identity] = add_point(rows, [given[name] for name in parameters], path)
        if len(rows.points) == before:
            raise JsonError("one point stands twice", list(given.values()), "each once", path)
    return points


def named_table(content: dict[str, object], key: str) -> dict[float, str]:
    """A table of ``{id, name}`` as names by id, both different."""
    name_of_id: dict[float, str] = {}
    names: set[str] = set()
    for index, entry in enumerate(listed(content, key)):
        path = f".{key}[{index}]"
        identity = identity_of(entry, name_of_id, path)
        name_of_id[identity] = name = text_of(member(entry, "name", path), f"{path}.name")
        if name in names:
            raise JsonError("one name stands twice", name, "each once", f"{path}.name")
        names.add(name)
    return name_of_id


def identity_of(entry: object, known: dict[float, int] | dict[float, str], path: str) -> float:
    identity = finite(member(entry, "id", path), f"{path}.id")
    if identity in known:
        raise JsonError("one id stands twice", identity, "each once", f"{path}.id")
    return identity


def member(entry: object, key: str, path: str) -> object:
    """What stands in an object under a key. Raises JsonError where it is no object, or has no such key."""
    if not isinstance(entry, dict):
        raise JsonError("not an object", shown(plain(entry)), f'an object with "{key}"', path)
    if key not in entry:
        raise JsonError(f'"{key}" is missing', ", ".join(entry), f'an object with "{key}"', path)
    return entry[key]


def listed(entry: object, key: str, path: str = "") -> list[object]:
    """The list that stands under a key. Raises JsonError where there is none."""
    values = member(entry, key, path)
    if not isinstance(values, list):
        raise JsonError("not a list", shown(plain(values)), "[..]", f"{path}.{key}")
    return values


def translated(ids: FloatArray, part: slice, numbers: dict[float, int], key: str) -> IntArray:
    """The numbers that a column of ids stands for."""
    distinct, codes = np.unique(ids[part], return_inverse=True)
    unknown = [identity for identity in distinct.tolist() if identity not in numbers]
    if unknown:
        row = part.start + int(np.flatnonzero(ids[part] == unknown[0])[0])
        known = ", ".join(f"{identity:g}" for identity in list(numbers)[:8])
        raise JsonError(
            "no such id", unknown[0], f"{known}{', ...' if len(numbers) > 8 else ''}", f".measurements[{row}].{key}"
        )
    return np.array([numbers[identity] for identity in distinct.tolist()], dtype=np.int64)[codes]


def parameter_names(names: list[str]) -> tuple[str, ...]:
    """The parameters, checked."""
    try:
        check_parameters(names)
    except InputError as error:
        raise JsonError(error.what, error.value, error.allowed, ".parameters") from None
    return tuple(names)


def check_dimensions(rows: Rows, parameters: Sequence[str]) -> None:
    """Raise JsonError where a point has not one coordinate for each parameter."""
    for point in rows.points:
        if len(point) != len(parameters):
            raise wrong_dimensions(len(point), len(parameters), f": the point {list(point)}")


def wrong_dimensions(given: int, wanted: int, path: str) -> JsonError:
    return JsonError(
        "a point that does not fit the parameters", f"{given} coordinates", f"{wanted}, one for each", path
    )


def coordinate(value: object, path: str) -> float:
    """A coordinate of a point. Raises JsonError unless it is positive and finite."""
    if finite(value, path, "a coordinate that is not a number") <= 0:
        raise JsonError("a parameter out of range", value, POSITIVE, path)
    return finite(value, path)


def add_point(rows: Rows, point: list[float], path: str) -> int:
    """The number of a point whose coordinates have been checked."""
    return rows.point(tuple(point), lambda: Place(rows.file, path=path))


@contextmanager
def without_collection() -> Iterator[None]:
    """The search for cycles of garbage switched off: a parser makes none, and is a third faster without it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def is_rows(value: object) -> bool:
    """Whether this is a list of nothing but rows."""
    return type(value) is list and bool(value) and value[0] is ROW and value.count(ROW) == len(value)


def plain(value: object) -> object:
    """A value of the text in words, where it has been folded."""
    return "measurements" if isinstance(value, Row | Slot) else value


def sniff(start: FileStart) -> Match:
    """An object, whatever stands in it."""
    return Match.POSSIBLE if start.text.startswith("{") else Match.NONE


READERS.add_reader(MeasurementReader("json", read_extrap_json, (".json",), sniff))

"""Extra-P's JSON, new and old, parsed by the standard library and folded into rows object by object.

New: ``{"parameters": [..], "measurements": {REGION: {METRIC: [{"point": [..], "values": [..]}]}}}``.
Old: tables ``parameters``, ``callpaths``, ``metrics`` of ``{id, name}``, ``coordinates`` of ``{id,
parameter_value_pairs: [{parameter_id, parameter_value}]}`` and ``measurements`` of ``{callpath_id, coordinate_id,
metric_id, value}``; repeated rows are repetitions, and parameters are in the order of their ids.

The parser folds what it meets into rows (``extrap_json_rows``); here they get their names and points.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.files.input_files import read_text
from simcodesign.core.files.readers import FileStart, Match
from simcodesign.fitting.measurements import FloatArray, IntArray, Measurements, check_parameters
from simcodesign.fitting.readers.extrap_json_rows import POSITIVE, ROW, ROW_FORM, Folder, Slot, add_point, plain
from simcodesign.fitting.readers.formats import READERS, MeasurementReader
from simcodesign.fitting.readers.json_parts import (
    JsonError,
    decoded,
    decoder,
    finite,
    shown,
    step,
    text_of,
)
from simcodesign.fitting.readers.rows import METRIC_BITS, Rows, chunks_of


def read_extrap_json(path: Path, partial: bool = False) -> Measurements:
    """Return the measurements in a file of Extra-P's JSON, new or old.

    Raises InputError naming the path of keys, or the line and column of what is no JSON. The text of the file is
    held in memory while it is read.
    """
    folder = Folder(Rows(str(path), partial))
    with without_collection():
        content = decoded(decoder(folder.fold), read_text(path), str(path))
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
            "measurements are elsewhere than in measurements", allowed=f"{{region: {{metric: [{ROW_FORM}]}}}}"
        )
    folder.rows.regions = {region: slot.number for region, slot in regions.items()}
    check_dimensions(folder.rows, parameters)
    if folder.values:
        folder.flush()
    return parameters


def why_no_slot(metrics: object) -> JsonError:
    """Return the error of something that should be the metrics of a region."""
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
    """Put points and names instead of the ids of the rows read; returns the parameters."""
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
        raise JsonError("measurements are elsewhere than in measurements")
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
    """Return the number of each point, by the id of its coordinate."""
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
            raise JsonError("one point appears twice", list(given.values()), "each once", path)
    return points


def named_table(content: dict[str, object], key: str) -> dict[float, str]:
    """Return a table of ``{id, name}`` as names by id, both different."""
    name_of_id: dict[float, str] = {}
    names: set[str] = set()
    for index, entry in enumerate(listed(content, key)):
        path = f".{key}[{index}]"
        identity = identity_of(entry, name_of_id, path)
        name_of_id[identity] = name = text_of(member(entry, "name", path), f"{path}.name")
        if name in names:
            raise JsonError("one name appears twice", name, "each once", f"{path}.name")
        names.add(name)
    return name_of_id


def identity_of(entry: object, known: dict[float, int] | dict[float, str], path: str) -> float:
    """Return the id of an entry. Raises JsonError if it is not a finite number or is in ``known`` already."""
    identity = finite(member(entry, "id", path), f"{path}.id")
    if identity in known:
        raise JsonError("one id appears twice", identity, "each once", f"{path}.id")
    return identity


def member(entry: object, key: str, path: str) -> object:
    """Return the value of an object's key. Raises JsonError if it is no object, or has no such key."""
    if not isinstance(entry, dict):
        raise JsonError("not an object", shown(plain(entry)), f'an object with "{key}"', path)
    if key not in entry:
        raise JsonError(f'"{key}" is missing', ", ".join(entry), f'an object with "{key}"', path)
    return entry[key]


def listed(entry: object, key: str, path: str = "") -> list[object]:
    """Return the list under a key. Raises JsonError if there is none."""
    values = member(entry, key, path)
    if not isinstance(values, list):
        raise JsonError("not a list", shown(plain(values)), "[..]", f"{path}.{key}")
    return values


def translated(ids: FloatArray, part: slice, numbers: dict[float, int], key: str) -> IntArray:
    """Convert a column of ids to their numbers."""
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
    """Return the parameters, checked."""
    try:
        check_parameters(names)
    except InputError as error:
        raise JsonError(error.what, error.value, error.allowed, ".parameters") from None
    return tuple(names)


def check_dimensions(rows: Rows, parameters: Sequence[str]) -> None:
    """Raise JsonError if a point has not one coordinate for each parameter."""
    for point in rows.points:
        if len(point) != len(parameters):
            raise wrong_dimensions(len(point), len(parameters), f": the point {list(point)}")


def wrong_dimensions(given: int, wanted: int, path: str) -> JsonError:
    """Return the error for a point with ``given`` instead of ``wanted`` coordinates."""
    return JsonError(
        "a point that does not fit the parameters", f"{given} coordinates", f"{wanted}, one for each", path
    )


def coordinate(value: object, path: str) -> float:
    """Return a coordinate of a point. Raises JsonError unless it is positive and finite."""
    if finite(value, path, "a coordinate that is not a number") <= 0:
        raise JsonError("a parameter out of range", value, POSITIVE, path)
    return finite(value, path)


@contextmanager
def without_collection() -> Iterator[None]:
    """Switch off the search for cycles of garbage.

    A parser makes none, and is a third faster without it.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def sniff(start: FileStart) -> Match:
    """Match any object."""
    return Match.POSSIBLE if start.text.startswith("{") else Match.NONE


READERS.add_reader(MeasurementReader("json", read_extrap_json, (".json",), sniff))

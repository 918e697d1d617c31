"""Measurements of several files as one: the union of their points; the same point measured again is a repetition."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

from simcodesign.core.errors import InputError, Place, shorten
from simcodesign.fitting.measurements import FloatArray, Measurements, point_text

T = TypeVar("T", bound=Hashable)


def merge(parts: Sequence[Measurements], names: Sequence[str], *, partial: bool = False) -> Measurements:
    """Join all parts; ``names`` identify them in messages. Points and series stay in the order they come in.

    ``partial``: a series may lack points that others have.
    Raises InputError for parts of other parameters and, unless ``partial``, for a series that lacks a point.
    """
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part, name in zip(parts, names, strict=True):
        if set(part.parameters) != set(first.parameters):
            raise InputError(
                "files of other parameters cannot be fitted together",
                Place(name),
                value=", ".join(part.parameters),
                allowed=f"{', '.join(first.parameters)}, as in {names[0]}",
            )
    points = [_in_order(part, first.parameters) for part in parts]
    at = _numbered([tuple(point) for some in points for point in some.tolist()])
    series = _numbered([pair for part in parts for pair in zip(part.regions, part.metrics, strict=True)])
    values = _values(parts, points, at, series)
    merged = Measurements(
        first.parameters,
        np.array([*at]),
        tuple(region for region, _ in series),
        tuple(metric for _, metric in series),
        values,
    )
    if not partial:
        _check_whole(merged, parts, points, names)
    return merged


def _numbered(items: Sequence[T]) -> dict[T, int]:
    """Each different item with its place in order of first appearance."""
    return {item: place for place, item in enumerate(dict.fromkeys(items))}


def _in_order(part: Measurements, parameters: tuple[str, ...]) -> FloatArray:
    """Return the points with their coordinates in the order of the parameters."""
    return np.asarray(part.points[:, [part.parameters.index(name) for name in parameters]])


def _values(
    parts: Sequence[Measurements],
    points: Sequence[FloatArray],
    at: dict[tuple[float, ...], int],
    series: dict[tuple[str, str], int],
) -> FloatArray:
    """(S, K, R): each part's repetitions after those that earlier parts have of the point."""
    columns = [np.array([at[tuple(point)] for point in some.tolist()]) for some in points]
    used = np.zeros(len(at), dtype=np.int64)
    starts = []
    for part, column in zip(parts, columns, strict=True):
        starts.append(used[column])
        used[column] += part.values.shape[2]
    values = np.full((len(series), len(at), int(used.max())), np.nan)
    for part, column, start in zip(parts, columns, starts, strict=True):
        rows = np.array([series[pair] for pair in zip(part.regions, part.metrics, strict=True)])
        for repetition in range(part.values.shape[2]):
            values[rows[:, None], column, start + repetition] = part.values[:, :, repetition]
    return values


def _check_whole(
    merged: Measurements, parts: Sequence[Measurements], points: Sequence[FloatArray], names: Sequence[str]
) -> None:
    lacking = merged.counts == 0
    if not lacking.any():
        return
    row, point = np.argwhere(lacking)[0]
    where = next(name for name, some in zip(names, points, strict=True) if (some == merged.points[point]).all(1).any())
    at = point_text(merged.parameters, merged.points[point])
    raise InputError(
        f"a series lacks a point of {where}: there is no value at {at}",
        Place(path=f"region {shorten(merged.regions[row])}, metric {shorten(merged.metrics[row])}"),
        allowed="the same series in all files, or partial series (--partial)",
    )

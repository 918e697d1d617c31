"""Measurements as one block of numbers: series (a region and a metric) by points by repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simcodesign.core.errors import InputError, Place, nearest, shorten

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_PARAMETERS = 4
SMALLEST, LARGEST = 1e-24, 1e24
"""Limits of a coordinate in fits and predictions: products of powers of these, squared, are still numbers."""
MEMORY_STEP = 1 << 20
"""Values processed in one go: a check needs this much memory in addition to the block, however large the block is."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measured values: S series at K points in m parameters, up to R repetitions each.

    ``parameters``: the m names, m = 1 to 4. ``points``: (K, m), positive, finite, all different.
    ``regions`` and ``metrics``: S names each; a series is one pair of them, and no pair occurs twice.
    ``values``: (S, K, R), in the unit of the metric, finite; NaN where a repetition, or all of a point, is missing.
    Every series has at least one value. The arrays are handed out read-only; float64 arrays are kept without a copy.

    Raises InputError if any of this does not hold.
    """

    parameters: tuple[str, ...]
    points: FloatArray
    regions: tuple[str, ...]
    metrics: tuple[str, ...]
    values: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(self.parameters))
        object.__setattr__(self, "regions", tuple(self.regions))
        object.__setattr__(self, "metrics", tuple(self.metrics))
        object.__setattr__(self, "points", _read_only(self.points, 2, "points"))
        object.__setattr__(self, "values", _read_only(self.values, 3, "values"))
        check_parameters(self.parameters)
        check_points(self.parameters, self.points)
        self._check_shapes()
        self._check_series()
        self._check_values()

    @cached_property
    def counts(self) -> IntArray:
        """Number of repetitions present, (S, K)."""
        counts = np.empty(self.values.shape[:2], dtype=np.int64)
        for part in self._parts():
            counts[part] = np.count_nonzero(~np.isnan(self.values[part]), axis=2)
        counts.flags.writeable = False
        return counts

    @cached_property
    def means(self) -> FloatArray:
        """Mean over the present repetitions, (S, K); NaN if there is none."""
        means = np.full(self.values.shape[:2], np.nan)
        for part in self._parts():
            block, counts = self.values[part], self.counts[part]
            # Divided before they are summed, so that large values do not overflow.
            np.add.reduce(block / np.maximum(counts, 1)[:, :, None], axis=2, where=~np.isnan(block), out=means[part])
            means[part][counts == 0] = np.nan
        means.flags.writeable = False
        return means

    @cached_property
    def exact(self) -> npt.NDArray[np.bool_]:
        """Whether something was measured repeatedly, and always came out the same, (S,)."""
        exact = np.zeros(len(self.regions), dtype=np.bool_)
        for part in self._parts():
            block, there = self.values[part], self.counts[part] > 0
            low, high = (
                fold(block, axis=2, initial=start, where=~np.isnan(block))
                for fold, start in ((np.min, np.inf), (np.max, -np.inf))
            )
            exact[part] = ((low == high) | ~there).all(1) & (self.counts[part] > 1).any(1)
        exact.flags.writeable = False
        return exact

    def select(self, regions: Iterable[str] | None = None, metrics: Iterable[str] | None = None) -> Measurements:
        """Return the series whose region and metric are among the named ones (None: all), at the same points.

        Raises InputError for a name that no series has, and where no series is left.
        """
        chosen = self._chosen(self.regions, regions, "region") & self._chosen(self.metrics, metrics, "metric")
        rows = np.flatnonzero(chosen)
        if rows.size == 0:
            raise InputError("no series has one of these regions and one of these metrics together")
        return Measurements(
            self.parameters,
            self.points,
            tuple(self.regions[row] for row in rows),
            tuple(self.metrics[row] for row in rows),
            self.values if rows.size == len(self.regions) else self.values[rows],
        )

    def _chosen(self, names: Sequence[str], wanted: Iterable[str] | None, kind: str) -> npt.NDArray[np.bool_]:
        if wanted is None:
            return np.ones(len(names), dtype=np.bool_)
        keep = {wanted} if isinstance(wanted, str) else set(wanted)
        known = set(names)
        for name in sorted(keep - known):
            raise InputError(f"no such {kind}", value=name, allowed=nearest(name, known))
        return np.fromiter((name in keep for name in names), dtype=np.bool_, count=len(names))

    def _parts(self) -> Iterable[slice]:
        series, points, repetitions = self.values.shape
        step = max(1, MEMORY_STEP // (points * repetitions))
        return (slice(start, start + step) for start in range(0, series, step))

    def _check_shapes(self) -> None:
        series, points, repetitions = self.values.shape
        if not len(self.regions) == len(self.metrics) == series:
            given = f"{len(self.regions)} regions, {len(self.metrics)} metrics, {series} rows of values"
            raise InputError("each series needs a region, a metric and a row of values", value=given)
        if series == 0:
            raise InputError("there is no measurement")
        if points != len(self.points):
            raise InputError("values and points do not match", value=points, allowed=f"{len(self.points)} points")
        if repetitions == 0:
            raise InputError("values without a repetition", value=self.values.shape, allowed="at least one repetition")

    def _check_series(self) -> None:
        if len(set(self.regions)) == len(self.regions):  # the common case of many regions needs no table of pairs
            return
        pair, times = Counter(zip(self.regions, self.metrics, strict=True)).most_common(1)[0]
        if times > 1:
            raise InputError(f"{times} series of one region and metric", value=pair, allowed="one")

    def _check_values(self) -> None:
        for part in self._parts():
            block = self.values[part]
            if np.isinf(block).any():
                row, point, _ = np.argwhere(np.isinf(block))[0]
                raise InputError(
                    "an infinite value", self.place(part.start + row, point), allowed="finite numbers, NaN for missing"
                )
            empty = np.isnan(block).all(axis=(1, 2))
            if empty.any():
                raise InputError("a series without a value", self.place(part.start + int(np.argmax(empty))))

    def place(self, row: int, point: int | None = None) -> Place:
        """Position of a series, or of one of its points, in words for a message."""
        text = f"region {shorten(self.regions[row])}, metric {shorten(self.metrics[row])}"
        if point is not None:
            text += f" at {point_text(self.parameters, self.points[point])}"
        return Place(path=text)


def point_text(parameters: Sequence[str], point: Iterable[float]) -> str:
    """Return a point as people write it: ``p=16, n=1000``."""
    return ", ".join(f"{name}={float(x):.12g}" for name, x in zip(parameters, point, strict=True))


def check_parameters(parameters: Sequence[str], place: Place | None = None) -> None:
    """Raise InputError unless these are one to four different names."""
    if not 1 <= len(parameters) <= MAX_PARAMETERS:
        given = f"{len(parameters)}: {', '.join(map(str, parameters[:8]))}"
        raise InputError("wrong number of parameters", place, value=given, allowed=f"1 to {MAX_PARAMETERS}")
    for name in parameters:
        if not isinstance(name, str) or not name.strip():
            raise InputError("a parameter without a name", place, value=name, allowed="a name, such as p")
    if len(set(parameters)) < len(parameters):
        raise InputError("two parameters of one name", place, value=", ".join(parameters), allowed="different names")


def check_points(parameters: Sequence[str], points: FloatArray, place: Place | None = None) -> None:
    """Raise InputError unless ``points`` (K, m) are positive, finite and all different."""
    if points.shape[1] != len(parameters):
        raise InputError(
            "points and parameters do not match",
            place,
            value=f"{points.shape[1]} coordinates",
            allowed=f"{len(parameters)}, one for each of {', '.join(parameters)}",
        )
    if len(points) == 0:
        raise InputError("there is no point", place)
    good = np.isfinite(points) & (points >= np.finfo(np.float64).tiny)
    if not good.all():
        row, column = np.argwhere(~good)[0]
        raise InputError(
            f"parameter {parameters[column]} out of range",
            place,
            value=float(points[row, column]),
            allowed="positive finite numbers",
        )
    distinct, times = np.unique(points, axis=0, return_counts=True)
    if len(distinct) < len(points):
        twice = point_text(parameters, distinct[int(np.argmax(times))])
        raise InputError("one point appears twice", place, value=twice, allowed="each point once")


def _read_only(array: object, dimensions: int, name: str) -> FloatArray:
    """Return a read-only view of the array, or of a float64 copy if it has another type."""
    try:
        block = np.asarray(array, dtype=np.float64).view()
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} are not numbers", value=array, allowed="numbers") from error
    if block.ndim != dimensions:
        raise InputError(f"{name} of wrong shape", value=block.shape, allowed=f"{dimensions} dimensions")
    block.flags.writeable = False
    return block


def as_point(parameters: tuple[str, ...], point: Mapping[str, float] | Sequence[float]) -> FloatArray:
    """Return a point in the order of the parameters, (m,).

    Raises InputError for missing or unknown names and for numbers outside ``SMALLEST`` to ``LARGEST``.
    """
    if isinstance(point, Mapping):
        for name in point:
            if name not in parameters:
                raise InputError("a point with an unknown parameter", value=name, allowed=nearest(name, parameters))
        missing = [name for name in parameters if name not in point]
        if missing:
            raise InputError("a point without a parameter", value=", ".join(missing), allowed=", ".join(parameters))
        point = [point[name] for name in parameters]
    try:
        at = np.asarray(point, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("a point that is not numbers", value=point, allowed="positive finite numbers") from error
    if at.shape != (len(parameters),):
        raise InputError("a point", value=point, allowed=f"one number for each of {', '.join(parameters)}")
    if not ((at >= SMALLEST) & (at <= LARGEST)).all():
        raise InputError("a point", value=point, allowed=f"positive finite numbers, {SMALLEST:g} to {LARGEST:g}")
    return at

"""Repetitions that the others of their point, and the spread of all points, do not explain.

The repetitions of a point show how much a measurement varies whatever the model is. One is an outlier if its distance
from the mean of the others of its point, studentised with the spread of all the others, is beyond what chance gives;
one after the other is taken out, the farthest first, so that two do not hide each other (Rosner 1983, Technometrics 25,
165).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

#: The most that are sought in a series.
MOST = 3
#: Minimum number of repetitions: of two that differ, it is undetermined which is the outlier.
LEAST = 3
#: Chance, per series, that one is called an outlier though none is.
_FALSE_ALARM = 0.01
#: Differences below this fraction of the values are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class OutlierRepetition:
    """Row of the point and repetition, from 0.

    What was measured, the mean of the others of the point, and their distance in standard deviations (infinite where
    the others all agree).
    """

    point: int
    repetition: int
    measured: float
    others: float
    deviations: float


def outlier_repetitions(values: Array, relative: bool = True) -> list[tuple[OutlierRepetition, ...]]:
    """Outliers of each series of (S, K, R), NaN if one is missing, the farthest first; at most ``MOST`` of a series.

    ``relative``: measurements vary in proportion to their size, otherwise by as much at all points.
    """
    there = ~np.isnan(values)
    size = _sizes(values, there) if relative else np.ones(values.shape[:2])
    scaled = np.where(there, values / size[..., None], 0.0)
    counts = there.sum((1, 2))
    tried: list[list[OutlierRepetition]] = [[] for _ in values]
    last = [0] * len(values)
    for step in range(MOST):
        farthest = _farthest(scaled, there)
        chance = 1 - _FALSE_ALARM / (2 * np.maximum(counts - step, 1))
        limits = special.stdtrit(np.maximum(farthest.freedom, 1.0), chance)
        there = there.copy()
        for row in np.flatnonzero(farthest.distance > 0).tolist():
            if len(tried[row]) < step:
                continue
            point, repetition = int(farthest.point[row]), int(farthest.repetition[row])
            others, distance = float(farthest.others[row] * size[row, point]), float(farthest.distance[row])
            tried[row].append(
                OutlierRepetition(point, repetition, float(values[row, point, repetition]), others, distance)
            )
            last[row] = step + 1 if distance > limits[row] else last[row]
            there[row, point, repetition] = False
    return [tuple(some[:count]) for some, count in zip(tried, last, strict=True)]


def _sizes(values: Array, there: NDArray[np.bool_]) -> Array:
    """Return the median of each point, (S, K), which one outlier hardly moves; 1 if it is 0 or there is none."""
    ordered, counts = np.sort(np.where(there, values, np.inf), axis=2), there.sum(2)[..., None]
    low, high = (
        np.take_along_axis(ordered, np.clip(place, 0, values.shape[2] - 1), 2)[..., 0]
        for place in ((counts - 1) // 2, counts // 2)
    )
    middle = np.abs(low + high) / 2
    return np.asarray(np.where((middle > 0) & np.isfinite(middle), middle, 1.0))


@dataclass(frozen=True)
class _Farthest:
    """Farthest repetition of each series, (S,).

    Place, mean of the others, studentised distance (0 if there is none), and freedom.
    """

    point: NDArray[np.int64]
    repetition: NDArray[np.int64]
    others: Array
    distance: Array
    freedom: Array


def _farthest(scaled: Array, there: NDArray[np.bool_]) -> _Farthest:
    counts = there.sum(2)
    freedom = np.where(counts > 1, counts - 1, 0).sum(1) - 1.0
    usable = there & (counts >= LEAST)[..., None] & (freedom >= 1)[:, None, None]
    held = np.where(there, scaled, 0.0)
    sums = held.sum(2)
    spread = np.where(there, held - (sums / np.maximum(counts, 1))[..., None], 0.0)
    squares = (spread**2).sum((1, 2))[:, None, None]
    n = np.maximum(counts, 2)[..., None].astype(np.float64)
    others = (sums[..., None] - held) / (n - 1)
    gap = np.where(usable, np.abs(held - others), 0.0)
    floor = (_ROUNDING * np.abs(held).max((1, 2)))[:, None, None] ** 2
    # Without one of n the squares about the mean are less by (n - 1)/n of its squared distance from the others.
    rest = (squares - gap**2 * (n - 1) / n) / np.maximum(freedom, 1.0)[:, None, None]
    rest = np.where(rest > floor, rest, 0.0) * n / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(gap**2 > floor, gap / np.sqrt(rest), 0.0)
    flat = far.reshape(len(far), -1)
    place = flat.argmax(1)
    point, repetition = np.divmod(place, scaled.shape[2])
    rows = np.arange(len(far))
    return _Farthest(point, repetition, others[rows, point, repetition], flat[rows, place], freedom)

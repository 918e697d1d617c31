"""Fractions of the measured points that a model meets within 5 % and within 20 %.

Calotoiu et al., CLUSTER 2018, Figure 3, sort the points to which models were fitted by the relative error of the model
there: below 5 %, below 20 %, and the rest. A point is the mean of its repetitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: The classes: relative errors below these.
SMALL, MODERATE = 0.05, 0.2
#: Misses below this fraction of the largest value of a series are rounding, even where the measured value is 0.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PointErrors:
    """The number of points, and at how many of them the relative error is below 5 % and below 20 %."""

    points: int
    small: int
    moderate: int

    @property
    def below_5_percent(self) -> float:
        """The fraction of the points with an error below 5 %; NaN without points."""
        return self.small / self.points if self.points else np.nan

    @property
    def below_20_percent(self) -> float:
        """The fraction of the points with an error below 20 %, those below 5 % included; NaN without points."""
        return self.moderate / self.points if self.points else np.nan

    def json_fields(self) -> dict[str, Any]:
        """Return the number of points, and both fractions."""
        return {
            "points": self.points,
            "below_5_percent": self.below_5_percent,
            "below_20_percent": self.below_20_percent,
        }


def point_errors(measured: ArrayLike, fitted: ArrayLike) -> PointErrors:
    """Sort the points of one series, both (K,)."""
    values = np.asarray(measured, np.float64)
    small, moderate = points_below(values[None], (np.asarray(fitted) - values)[None])
    return PointErrors(values.size, int(small[0]), int(moderate[0]))


def points_below(measured: NDArray[np.float64], misses: NDArray[np.float64]) -> tuple[NDArray[np.int64], ...]:
    """Return the number of points of S series with an error below 5 % and below 20 %, both (S,).

    ``measured``: (S, K), NaN if nothing was measured; ``misses``: what the model differs by. A value of 0 has no
    relative error: it is met, or it is in neither class.
    """
    sizes, off = np.abs(measured), np.abs(misses)
    largest = np.max(sizes, axis=1, keepdims=True, initial=0.0, where=~np.isnan(sizes))
    off = np.where(off <= _ROUNDING * largest, 0.0, off)
    met = off == 0
    return tuple(((met | (off < limit * sizes)) & ~np.isnan(sizes)).sum(1) for limit in (SMALL, MODERATE))


def together(parts: Iterable[PointErrors]) -> PointErrors:
    """Add up the points of several series."""
    listed = list(parts)
    return PointErrors(
        sum(part.points for part in listed), sum(part.small for part in listed), sum(part.moderate for part in listed)
    )

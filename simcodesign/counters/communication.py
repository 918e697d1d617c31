"""Times of communication as functions of its volume: point to point a s + b, collective a log2 P + b s + c.

Source: Ding et al., APMT, table 2 and section 3.3. Volume s and time are per process, as Hockney's
t = n (a m + b) with n messages of m bytes has them; summed over the processes, the constant would grow with P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.counters.forms import r_squared
from simcodesign.fitting.measurements import FloatArray

#: Residuals that differ by less than this fraction of the values are level, and the model with fewer terms is taken.
_LEVEL = 1e-12


@dataclass(frozen=True)
class PointToPoint:
    """a s + b: seconds a byte, and seconds."""

    a_s_per_byte: float
    b_s: float
    r2: float

    def at(self, volume_bytes: float) -> float:
        """Return the time in s of a process that sends ``volume_bytes``; never below 0."""
        return max(0.0, self.a_s_per_byte * volume_bytes + self.b_s)


@dataclass(frozen=True)
class Collective:
    """a log2 P + b s + c: seconds, seconds a byte, seconds."""

    a_s: float
    b_s_per_byte: float
    c_s: float
    r2: float

    def at(self, processes: float, volume_bytes: float) -> float:
        """Time in s of a process; never below 0."""
        return max(0.0, self.a_s * float(np.log2(processes)) + self.b_s_per_byte * volume_bytes + self.c_s)


def fit_point_to_point(volume_bytes: FloatArray, seconds: FloatArray) -> PointToPoint:
    """Return the least-squares line with a slope of 0 or above; level where the volume is the same in all runs.

    InputError for no run or numbers that are not finite.
    """
    (slope, constant), r2 = slopes_and_constant([volume_bytes], seconds)
    return PointToPoint(slope, constant, r2)


def fit_collective(processes: FloatArray, volume_bytes: FloatArray, seconds: FloatArray) -> Collective:
    """Least squares with a and b of 0 or above.

    What the runs cannot tell apart, such as a volume that is the same in all of them, is part of the constant.
    InputError as above.
    """
    (a, b, c), r2 = slopes_and_constant([np.log2(processes), volume_bytes], seconds)
    return Collective(a, b, c, r2)


def slopes_and_constant(columns: Sequence[FloatArray], values: FloatArray) -> tuple[tuple[float, ...], float]:
    """Least squares of values (K,) over columns (K,) with slopes of 0 or above and a free constant, and R squared.

    The slopes in the order of the columns, then the constant. Every choice of columns is solved, so that the best one
    without a negative slope is computed to rounding; of choices that are level the smallest is taken.
    """
    y = np.asarray(values, dtype=np.float64)
    block = np.array([np.asarray(column, dtype=np.float64) for column in columns])
    if not len(y) or not np.isfinite(y).all() or not np.isfinite(block).all():
        raise InputError(
            "the times and volumes of communication are empty or not finite",
            value=y.tolist(),
            allowed="finite numbers, one run or more",
        )
    best: tuple[float, tuple[float, ...], float] | None = None
    tolerance = (_LEVEL * max(float(np.abs(y).max()), 1e-300)) ** 2 * len(y)
    for count in range(len(columns) + 1):
        for chosen in combinations(range(len(columns)), count):
            solved = _solved(block[list(chosen)], y)
            if solved is None or (solved[:-1] < 0).any():
                continue
            slopes = np.zeros(len(columns))
            slopes[list(chosen)] = solved[:-1]
            predicted = slopes @ block + solved[-1]
            rest = float(((y - predicted) ** 2).sum())
            if best is None or rest < best[0] - tolerance:
                best = rest, (*map(float, slopes), float(solved[-1])), r_squared(y, predicted)
    assert best is not None  # the constant alone is always a choice
    return best[1], best[2]


def _solved(block: FloatArray, y: FloatArray) -> FloatArray | None:
    """Coefficients of the rows of a block and of a constant; None where the runs cannot tell them apart."""
    if not len(block):
        return np.array([y.mean()])
    centres, spans = block.mean(1), np.ptp(block, axis=1)
    if len(y) < len(block) + 1 or (spans <= 1e-9 * np.abs(block).max(1)).any():
        return None
    scaled = ((block - centres[:, None]) / spans[:, None]).T
    solution, _, rank, _ = np.linalg.lstsq(scaled, y - y.mean(), rcond=1e-9)
    if rank < len(block):
        return None
    slopes = solution / spans
    return np.append(slopes, y.mean() - slopes @ centres)

"""Fugaku's 512 nodes predicted from 8 and 64 nodes: forecast and simulation as they are, and anchored at 64 nodes.

``python -m validation.measured.fugaku_anchored`` prints the table of docs/anchored.md. Constants are those of
``fugaku_runs``; rows on 512 nodes that chose something there are left out. The steps of the interval are from all
operations and sizes, from 8 to 64 nodes. Each operation and algorithm is a phase of its own. The other rows are no
blind evidence either: the model of Fugaku was made with them in view, and the degrees of freedom of the interval were
chosen among nine rules by what these cover.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median

from simcodesign.comparison.measured.anchored import Anchored, Scale, Step

from .fugaku_runs import Row, forecast_s, is_simulated, rows, simulation_s

SMALL, MIDDLE, LARGE = "2x2x2", "4x4x4", "8x8x8"
READINGS: dict[str, Callable[[Row], float]] = {"forecast": forecast_s, "simulation": simulation_s}


@dataclass(frozen=True)
class Predicted:
    """One row on 512 nodes: its measured seconds, and what is predicted of it."""

    row: Row
    anchored: Anchored

    @property
    def error(self) -> float:
        """Of the reading as it is, relative to the measurement, without sign."""
        return abs(self.anchored.predicted_s / self.row.median_s - 1)

    @property
    def anchored_error(self) -> float:
        """Of the anchored prediction."""
        return abs(self.anchored.anchored_s / self.row.median_s - 1)

    @property
    def is_covered(self) -> bool:
        """Whether the interval has the measurement."""
        ends = self.anchored.interval_s
        return ends is not None and ends[0] <= self.row.median_s <= ends[1]


@cache
def predictions(reading: str) -> tuple[Predicted, ...]:
    """Predict each operation and size that was measured on all three shapes, and is simulated, by this reading."""
    of_shape: dict[tuple[object, int], dict[str, Row]] = {}
    for row in rows():
        if is_simulated(row):
            of_shape.setdefault((row.key, row.size_bytes), {})[row.shape] = row
    every = [shapes for shapes in of_shape.values() if len(shapes) == len((SMALL, MIDDLE, LARGE))]

    def scale(row: Row) -> Scale:
        return Scale(row.ranks, row.median_s, READINGS[reading](row), {"size": float(row.size_bytes)})

    pairs = [(scale(shapes[SMALL]), scale(shapes[MIDDLE])) for shapes in every]
    steps = tuple(
        Step(math.log(after.ratio / before.ratio), before.ranks, after.ranks, "/".join(shapes[SMALL].key))
        for shapes, (before, after) in zip(every, pairs, strict=True)
    )
    predicted = []
    for shapes, scales in zip(every, pairs, strict=True):
        row = shapes[LARGE]
        if row.is_calibration:
            continue
        time_s = READINGS[reading](row)
        predicted.append(Predicted(row, Anchored(reading, row.ranks, time_s, time_s, scales, steps)))
    return tuple(predicted)


def figures(reading: str) -> dict[str, float]:
    """Of a reading: how many rows, median errors as it is and anchored, the fraction of intervals of 90 % that have the
    measurement, and the anchored median errors of rows without a warning and with one."""
    every = predictions(reading)
    steady = [one.anchored_error for one in every if not one.anchored.warning]
    warned = [one.anchored_error for one in every if one.anchored.warning]
    return {
        "rows": len(every),
        "error": median(one.error for one in every),
        "anchored error": median(one.anchored_error for one in every),
        "covered": sum(one.is_covered for one in every) / len(every),
        "steady rows": len(steady),
        "steady error": median(steady),
        "warned error": median(warned),
    }


if __name__ == "__main__":
    for name in READINGS:
        print(name, ", ".join(f"{key} {value:.3g}" for key, value in figures(name).items()))

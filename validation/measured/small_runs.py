"""Predictions of measured rows from rows on fewer ranks: anchored at the largest of these, or by a fit that has no machine.

Both take rows for calibration and development only, never evidence. The anchor is the nearest size, within a factor
of 8, on the largest number of ranks; a single node is no anchor for several. The fit is ``sc.fit`` of the performance
model normal form (Calotoiu et al., SC13) over ranks and bytes, which needs two numbers of ranks. Both follow one
series: a group whose other values (algorithm, region) are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import cache

import numpy as np

import simcodesign as sc
from simcodesign.comparison.measured.anchored import Anchored, Scale
from simcodesign.fitting.measurements import Measurements
from simcodesign.studies.anchored.rows_nearby import NEARBY
from simcodesign.studies.validation.scores import EVIDENCE, MeasuredRow

from .benchmark import rows

#: Values that may differ within a series; each other one is another series.
RANKS, BYTES, SHAPE = "ranks", "bytes", "shape"
#: Groups on one node, as ``(group, ranks)``.
ON_ONE_NODE = {("gb200/all-reduce", 72)}
#: Groups whose rows differ by more than ranks and bytes: strategies of training.
OF_OTHER_RUNS = ("gpt-step", "linpack")


def _series(row: MeasuredRow) -> Hashable:
    kept = {name: value for name, value in row.values.items() if name not in (RANKS, BYTES, SHAPE)}
    return row.group, tuple(kept.items())


@cache
def _smaller(series: Hashable, ranks: int) -> tuple[MeasuredRow, ...]:
    here = [row for row in rows() if RANKS in row.values and row.role != EVIDENCE and _series(row) == series]
    return tuple(row for row in here if int(row.values[RANKS]) < ranks)


def smaller(row: MeasuredRow) -> tuple[MeasuredRow, ...]:
    """Return the rows of the same series on fewer ranks that are not evidence."""
    if RANKS not in row.values or row.group.endswith(OF_OTHER_RUNS):
        return ()
    return _smaller(_series(row), int(row.values[RANKS]))


def _factor(one: MeasuredRow, other: MeasuredRow) -> float:
    return math.exp(abs(math.log(int(one.values.get(BYTES, 1)) / int(other.values.get(BYTES, 1)))))


def anchor_of(row: MeasuredRow) -> MeasuredRow | None:
    """Return the row at which predictions of a row are anchored; None without one."""
    near = [
        other
        for other in smaller(row)
        if _factor(row, other) <= NEARBY * (1 + 1e-9) and (other.group, other.values[RANKS]) not in ON_ONE_NODE
    ]
    return min(near, key=lambda other: (-int(other.values[RANKS]), _factor(row, other)), default=None)


def anchored_s(row: MeasuredRow, predict: Callable[[MeasuredRow], float | None]) -> float | None:
    """Predict a row in seconds by a reading, times measured / predicted at its anchor; None without one."""
    anchor = anchor_of(row)
    if anchor is None:
        return None
    here_s, there_s = predict(row), predict(anchor)
    if here_s is None or there_s is None:
        return None
    scale = Scale(float(anchor.values[RANKS]), anchor.seconds, there_s, {})
    return Anchored("simulation", float(row.values[RANKS]), here_s, here_s, (scale,)).anchored_s


def normal_form_s(row: MeasuredRow) -> float | None:
    """Predict a row in seconds by a normal form of the smaller rows; None if they are of fewer than two numbers of ranks,
    or if the form is not above 0 there."""
    small = smaller(row)
    if len({other.values[RANKS] for other in small}) < 2:
        return None
    fit = _normal_form(_series(row), int(row.values[RANKS]))
    predicted = fit.predict([float(row.values[name]) for name in fit.model.parameters]).value
    return float(predicted) if predicted > 0 else None


@cache
def _normal_form(series: Hashable, ranks: int) -> sc.Fit:
    small = _smaller(series, ranks)
    names = [name for name in (RANKS, BYTES) if len({other.values.get(name) for other in small}) > 1]
    points = np.array([[float(other.values[name]) for name in names] for other in small])
    values = np.array([other.seconds for other in small])[None, :, None]
    (fit,) = sc.fit(Measurements(tuple(names), points, ("measured",), ("seconds",), values))
    return fit

"""Points at the smallest value of a parameter that the others do not predict: they may be in another regime.

One process sends no messages, and the ranks of a single node share its memory. A model of all points bends towards
such a point, which has a large leverage, so that its residual stays small (``diagnostics.outliers`` finds none). So
the points at the smallest value are predicted from a model that is found without them: G. C. Chow, "Tests of equality
between sets of coefficients in two linear regressions", Econometrica 28 (1960), for fewer further observations than
coefficients. The interval is from ``prediction_intervals``, which accounts for the choice of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.extrapolation.prediction_intervals import Prediction
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.normal_form import Model
from simcodesign.fitting.selection.term_basis import Array

#: Values of a parameter that must be left without the smallest one.
LEAST_VALUES = 5
#: Level of the interval around the prediction of the other points.
LEVEL = 0.95
#: Predictions that differ by less than this fraction are not worth a warning.
_ALIKE = 0.1


@dataclass(frozen=True)
class Outside:
    """The points at the smallest ``value`` of a ``parameter``, which a ``model`` of the other points does not predict.

    ``measured`` and ``predicted``: at the first of these points.
    """

    parameter: str
    value: float
    measured: float
    predicted: Prediction
    model: Model


def smallest_values(measurements: Measurements) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the parameters with six values or more, each with the points at its smallest value, (K,)."""
    for place, name in enumerate(measurements.parameters):
        column = measurements.points[:, place]
        if len(np.unique(column)) > LEAST_VALUES:
            yield name, column == column.min()


def without(measurements: Measurements, left_out: NDArray[np.bool_]) -> Measurements | None:
    """Return the measurements without the values at some points; None if a series has no other value."""
    values = measurements.values.copy()
    values[:, left_out] = np.nan
    if np.isnan(values).all(axis=(1, 2)).any():
        return None
    parts = measurements.parameters, measurements.points, measurements.regions, measurements.metrics
    return Measurements(*parts, values)


def outside(
    measured: Array,
    points: Array,
    left_out: NDArray[np.bool_],
    parameter: str,
    value: float,
    predict: Callable[[Array], Prediction],
    model: Model,
) -> Outside | None:
    """Return what lies outside if every point that was left out lies outside of its interval; otherwise None.

    ``measured``: means, (K,), NaN where there is none; ``predict`` and ``model``: found without these points.
    """
    there = np.flatnonzero(left_out & ~np.isnan(measured))
    if not len(there) or len(np.unique(points[~left_out & ~np.isnan(measured)], axis=0)) < LEAST_VALUES:
        return None
    first: Prediction | None = None
    for place in there:
        one = predict(points[place])
        if not (np.isfinite(one.low) and np.isfinite(one.high)) or one.low <= measured[place] <= one.high:
            return None
        first = one if first is None else first
    assert first is not None
    return Outside(parameter, value, float(measured[there[0]]), first, model)


def regime_text(one: Outside, model: Model, target: Array, at: str) -> str:
    """Return the warning, or nothing if the point changes the prediction at the ``target`` by less than 10 %.

    ``at``: the target in words.
    """
    here, there = float(model.evaluate(target)), float(one.model.evaluate(target))
    if not here or abs(there / here - 1) < _ALIKE:
        return ""
    low, high = one.predicted.low, one.predicted.high
    return (
        f"The smallest {one.parameter}, {one.value:.12g}, may be in another regime: measured {one.measured:.6g}, the "
        f"other points give {low:.4g} to {high:.4g}; it was used. Without it the model is {one.model.text}, which "
        f"gives {there:.4g} at {at} instead of {here:.4g}."
    )

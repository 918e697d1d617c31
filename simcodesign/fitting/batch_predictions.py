"""Errors and predictions of the best models of all series together, vectorised, without intervals.

A ``Fit`` with its leverages, rivals and interval takes a millisecond; if there are a hundred thousand series only
the few that are displayed are worth it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.fits import RIVALRY, Fits
from simcodesign.fitting.measurements import LARGEST, Measurements
from simcodesign.fitting.point_errors import PointErrors, points_below
from simcodesign.fitting.selection.term_basis import Array, Index

#: Without a target, predictions are made at this many times the largest value of each parameter.
BEYOND = 4.0


@dataclass(frozen=True)
class BatchPredictions:
    """Results for S series, all (S,).

    The best model's ``prediction`` at the target in the unit of the metric, its ``smape`` in percent, how many
    ``terms`` it has without the constant, and how many ``rivals`` are level with it; of its points how many there are,
    and at how many its relative error is below 5 % (``small``) and 20 % (``moderate``).
    """

    prediction: Array
    smape: Array
    terms: Index
    rivals: Index
    points: Index
    small: Index
    moderate: Index

    def point_errors(self, rows: Index) -> PointErrors:
        """Return the values for all points of some of the series."""
        return PointErrors(*(int(counts[rows].sum()) for counts in (self.points, self.small, self.moderate)))


def default_target(measurements: Measurements) -> Array:
    """Return where ``fit`` compares models without a ``target``, (m,).

    Four times the largest value of each parameter that varies, within the range of coordinates, and the value of each
    other one: nothing was measured of its growth.
    """
    largest = measurements.points.max(0)
    beyond = np.minimum(largest, LARGEST / BEYOND) * BEYOND
    return np.asarray(np.where(largest > measurements.points.min(0), beyond, largest))


def batch_predictions(fits: Fits) -> BatchPredictions:
    """Errors and predictions of all series of these fits."""
    parts = [_of_block(fits, place) for place in range(len(fits.blocks))]
    return BatchPredictions(*(np.concatenate(some) for some in zip(*parts, strict=True)))


def _of_block(fits: Fits, place: int) -> tuple[NDArray[Any], ...]:
    ranked, family = fits.blocks[place][1], fits.best(place)
    rivals = (ranked.scores <= ranked.scores[:, :1] + RIVALRY).sum(1) - 1
    terms = family.shapes.uses.any(-1).sum(1)
    there = family.root > 0
    root = np.where(there, family.root, 1.0)
    values, misses = family.scaled / root, family.plain.residuals / root
    below = points_below(np.where(there, values, np.nan), misses)
    smape = _smape(values, misses, there)
    return family.values(fits.target), smape, terms, rivals, there.sum(1), *below


def _smape(values: Array, misses: Array, there: NDArray[np.bool_]) -> Array:
    """Symmetric mean absolute percent errors: the mean of 2 |y - f| / (|y| + |f|), zero where both are zero."""
    size = np.abs(values) + np.abs(values - misses)
    shares = np.divide(2 * np.abs(misses), size, out=np.zeros_like(size), where=there & (size > 0))
    return np.asarray(100 * shares.sum(1) / there.sum(1))


def rows_of(measurements: Measurements, rows: slice) -> Measurements:
    """Return some series, at the same points."""
    return Measurements(
        measurements.parameters,
        measurements.points,
        measurements.regions[rows],
        measurements.metrics[rows],
        measurements.values[rows],
    )

"""What is said of all series at once, vectorised: errors and predictions of their best models, without intervals.

A ``Fit`` with its leverages, rivals and interval takes milliseconds; where there are a hundred thousand series only
the few that are shown are worth them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.basis import Array, Index
from simcodesign.fitting.compare import Ranked
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.search import Block, solve
from simcodesign.fitting.select import RIVALRY, Fits
from simcodesign.fitting.weights import block_of

#: Without a target, predictions are made at this many times the largest value of each parameter.
BEYOND = 4.0


@dataclass(frozen=True)
class Overview:
    """Of S series, all (S,): the best model's ``prediction`` at the target in the unit of the metric, its ``smape`` in
    percent, how many ``terms`` it has beside the constant, and how many ``rivals`` stand level with it."""

    prediction: Array
    smape: Array
    terms: Index
    rivals: Index


def default_target(measurements: Measurements) -> Array:
    """Where ``fit`` compares models unless it is told otherwise, (m,)."""
    return np.asarray(measurements.points.max(0) * BEYOND)


def overview(fits: Fits) -> Overview:
    """The overview of all series of these fits."""
    parts = [_of_block(fits, start, ranked) for start, ranked in fits.blocks]
    return Overview(*(np.concatenate(some) for some in zip(*parts, strict=True)))


def _of_block(fits: Fits, start: int, ranked: Ranked) -> tuple[NDArray[Any], ...]:
    rows = slice(start, start + len(ranked.scores))
    measurements = fits.measurements
    block = block_of(measurements.means[rows], measurements.counts[rows], fits.weighting, fits.negative)
    best = ranked.best
    there = np.asarray(best.uses.any(-1))

    def columns(points: Array) -> Array:
        terms = np.where(there[..., None], best.values(points), 0.0)
        constant = np.broadcast_to(ranked.constant[:, :1, None], (len(terms), 1, len(points)))
        return np.concatenate([constant, terms], 1)

    solution = solve(columns(measurements.points) * block.root[:, None], block.scaled)
    prediction = (solution.coefficients * columns(fits.target[None])[..., 0]).sum(1)
    rivals = (ranked.scores <= ranked.scores[:, :1] + RIVALRY).sum(1) - 1
    return prediction, _smape(block, solution.residuals), there.sum(1), rivals


def _smape(block: Block, residuals: Array) -> Array:
    """Symmetric mean absolute percent errors: the mean of 2 |y - f| / (|y| + |f|), zero where both are zero."""
    there = block.root > 0
    root = np.where(there, block.root, 1.0)
    values, misses = block.scaled / root, residuals / root
    size = np.abs(values) + np.abs(values - misses)
    shares = np.divide(2 * np.abs(misses), size, out=np.zeros_like(size), where=there & (size > 0))
    return np.asarray(100 * shares.sum(1) / there.sum(1))


def rows_of(measurements: Measurements, rows: slice) -> Measurements:
    """Some series, at the same points."""
    return Measurements(
        measurements.parameters,
        measurements.points,
        measurements.regions[rows],
        measurements.metrics[rows],
        measurements.values[rows],
    )


def single(fits: Fits, row: int) -> Fits:
    """The fits of one series alone, without the memory of the others."""
    place = int(np.searchsorted([start for start, _ in fits.blocks], row, side="right")) - 1
    start, ranked = fits.blocks[place]
    part = rows_of(fits.measurements, slice(row, row + 1))
    copied = Measurements(part.parameters, part.points.copy(), part.regions, part.metrics, part.values.copy())
    return Fits(copied, fits.weighting, fits.negative, fits.target, ((0, ranked.alone(row - start)),))

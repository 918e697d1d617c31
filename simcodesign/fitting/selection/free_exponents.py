"""Exponents off the grid: least squares in exponents and coefficients together, from the best models of the grid.

Gauss and Newton for many series together. In the tangent plane of a model the exponents are coefficients as well, of
the columns x^i ln(x_l), so that one projection gives the step, and at the end leverages and thus the cross-validation
error to first order. A step that does not reduce the residual is halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.selection.candidate_fits import Block, Flags, orthonormal, solve
from simcodesign.fitting.selection.term_basis import Array, Index

_STEPS, _HALVINGS, _LARGEST_STEP = 12, 4, 0.4
#: A step that gains less than this fraction of the residual sum is the last one.
_GAIN = 1e-3
#: A constant of less than this fraction of the weighted squares may not be needed.
_SMALL = 0.02
#: Keeps the normal equations of columns that say the same solvable.
_RIDGE = 1e-13
#: Exponents finer than this are the same.
_RESOLUTION = 1e-10


@dataclass(frozen=True)
class Powers:
    """One model of powers for each series: exponents (S, T, m), which of them exist (S, T, m), constant (S,)."""

    exponents: Array
    active: NDArray[np.bool_]
    constant: Flags

    def rows(self, index: Index) -> Powers:
        """Return these rows."""
        return Powers(self.exponents[index], self.active[index], self.constant[index])

    @property
    def present(self) -> Flags:
        """Which terms exist, (S, T)."""
        return np.asarray(self.active.any(2))

    def columns(self, points: Array, root: Array) -> Array:
        """Weighted columns (S, 1 + T, K), the constant first."""
        logs = np.log(points)
        with np.errstate(over="ignore"):
            terms = np.exp(self.exponents @ (logs - logs.mean(0)).T)
        terms = np.where(self.present[:, :, None], terms, 0.0)
        first = np.broadcast_to(self.constant[:, None, None], (len(terms), 1, len(points)))
        return np.concatenate([first, terms], 1) * root[:, None, :]

    def tangents(self, points: Array, columns: Array) -> Array:
        """Return the columns and how they change with each exponent, (S, 1 + T + T m, K)."""
        logs = np.log(points)
        logs = logs - logs.mean(0)
        changes = columns[:, 1:, None, :] * logs.T[None, None] * self.active[..., None]
        return np.concatenate([columns, changes.reshape(len(columns), -1, len(points))], 1)


@dataclass(frozen=True)
class FreeExponentFit:
    """Powers with fitted exponents, residual sums (S,), infinite where a coefficient is negative; PRESS (S,).

    ``errors`` (S, T, m): standard errors of the exponents, to first order. ``small`` (S,): the constant is not needed,
    or no model with it was found.
    """

    powers: Powers
    rss: Array
    press: Array
    errors: Array
    small: Flags


def fit_free_exponents(block: Block, points: Array, start: Powers) -> FreeExponentFit:
    """Return the powers of least residual near the start."""
    powers, rss = Powers(start.exponents.copy(), start.active, start.constant), _rss(block, points, start)
    unfinished = np.arange(len(rss))
    for _ in range(_STEPS):
        if not len(unfinished):
            break
        part = powers.rows(unfinished)
        moved, new = _moved(block.rows(unfinished), points, part, rss[unfinished])
        powers.exponents[unfinished] = moved
        still = (new < rss[unfinished] * (1 - _GAIN)) | ~np.isfinite(rss[unfinished]) & np.isfinite(new)
        rss[unfinished] = new
        unfinished = unfinished[still]
    columns = powers.columns(points, block.root)
    units, inverse = orthonormal(powers.tangents(points, columns))
    leverages = (units**2).sum(1)
    plain = solve(columns, block.scaled)
    press = ((plain.residuals / np.maximum(1.0 - leverages, 1e-3)) ** 2).sum(1)
    good = block.free | (plain.coefficients >= 0).all(1)
    rss = np.where(good, (plain.residuals**2).sum(1), np.inf)
    errors = _errors(powers, (plain.residuals**2).sum(1), leverages, inverse, plain.coefficients, block)
    small = ~good | ((plain.coefficients[:, 0] ** 2 * (block.root**2).sum(1)) < _SMALL * (block.scaled**2).sum(1))
    return FreeExponentFit(powers, rss, np.where(good, press, np.inf), errors, small)


def _errors(powers: Powers, rss: Array, leverages: Array, inverse: Array, coefficients: Array, block: Block) -> Array:
    """Return standard errors of the exponents (S, T, m).

    The errors of the coefficients of the tangents, per height of a term.
    """
    freedom = np.maximum((block.root > 0).sum(1) - leverages.sum(1), 1.0)
    terms, axes = powers.exponents.shape[1:]
    slopes = (inverse[:, 1 + terms :] ** 2).sum(2).reshape(-1, terms, axes)
    heights = np.abs(coefficients[:, 1:, None])
    errors = np.sqrt(slopes * (rss / freedom)[:, None, None]) / np.where(heights > 0, heights, 1.0)
    return np.asarray(np.where(powers.active & (heights > 0), errors, np.inf))


def _moved(block: Block, points: Array, powers: Powers, rss: Array) -> tuple[Array, Array]:
    """Exponents one step on, and the residual sums there: the first of 1, 1/2, 1/4 ... of the step that pays."""
    step = _step(block, points, powers)
    exponents, best = powers.exponents.copy(), rss.copy()
    rows = np.flatnonzero(np.abs(step).max((1, 2), initial=0.0) > _RESOLUTION)
    for halving in range(_HALVINGS):
        if not len(rows):
            break
        part = powers.rows(rows)
        tried = Powers(part.exponents + step[rows] / 2**halving, part.active, part.constant)
        rss_there = _rss(block.rows(rows), points, tried)
        better = rss_there < best[rows]
        exponents[rows[better]], best[rows[better]] = tried.exponents[better], rss_there[better]
        rows = rows[~better]
    return exponents, best


def _step(block: Block, points: Array, powers: Powers) -> Array:
    columns = powers.columns(points, block.root)
    slopes = _least_squares(powers.tangents(points, columns), block.scaled)
    terms, axes = powers.exponents.shape[1:]
    heights = _least_squares(columns, block.scaled)[:, 1 : 1 + terms, None]
    changes = slopes[:, 1 + terms :].reshape(-1, terms, axes)
    step = np.where(powers.active & (heights > 0), changes / np.where(heights > 0, heights, 1.0), 0.0)
    return np.asarray(np.clip(step, -_LARGEST_STEP, _LARGEST_STEP))


def _rss(block: Block, points: Array, powers: Powers) -> Array:
    columns = powers.columns(points, block.root)
    coefficients = _least_squares(columns, block.scaled)
    rest = block.scaled - (coefficients[:, None, :] @ columns)[:, 0]
    rss = (rest**2).sum(1)
    return rss if block.free else np.where((coefficients >= 0).all(1), rss, np.inf)


def _least_squares(columns: Array, scaled: Array) -> Array:
    """Coefficients (S, q) by the normal equations: good enough for a step, four times as fast as by projections."""
    size = np.sqrt((columns**2).sum(2))
    size = np.where(size > 0, size, 1.0)
    units = columns / size[:, :, None]
    # A column of zeros gets a one on the diagonal, and coefficient zero.
    normal = units @ np.swapaxes(units, 1, 2)
    every = np.arange(normal.shape[1])
    normal[:, every, every] = 1.0 + _RIDGE
    right = units @ scaled[:, :, None]
    return np.asarray(np.linalg.solve(normal, right)[:, :, 0] / size)

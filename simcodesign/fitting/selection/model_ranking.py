"""The last comparison: the kept models of each series by leave-one-out error and price, with exponents off the grid.

The leave-one-out error of a linear model needs no second fit: the residual of a point in the model fitted without it is
r / (1 - h), h its leverage (the diagonal of the hat matrix). Compared are K/2 ln(sum of their squares) + price. Leaving
out charges about one nat for each coefficient already, which is subtracted from its price.

An exponent off the grid costs what a factor of the grid does, and its further digits: as many as the data determine. It
is known within sqrt(2 pi) standard errors (the width of a flat distribution as high as the normal one); the logarithm
of how many such intervals lie between two exponents of the grid is the price of the digits. So an exponent that is
determined to a thousandth and lies on the grid all the same is taken for one of the grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.selection.candidate_fits import Block, Flags, Pool, smallest, solve
from simcodesign.fitting.selection.candidates import (
    COEFFICIENT,
    FACTOR,
    KEPT,
    ROUNDING,
    Limits,
    candidates,
    coefficient_count,
    length,
    price,
    weighted_columns,
)
from simcodesign.fitting.selection.free_exponents import FreeExponentFit, Powers, fit_free_exponents
from simcodesign.fitting.selection.noise_free import with_noise_free_models
from simcodesign.fitting.selection.term_basis import Array, Basis, Index, Shapes, slopes_of, stacked_shapes

#: Charge of leaving out for a coefficient by itself.
CHARGED = 1.0
#: That charge less the gain of a fitted exponent from noise, half a nat.
_CHARGED_NET = 0.5
#: Exponents are not distinguished more finely than this. Without noise they would be known to all digits, and models
#: with one term too many, whose exponents are known less well, would be cheaper.
_FINEST = 1e-3
#: Models that are remembered for each series, unless they are this many nats behind the best and do not matter:
#: even many of them weigh less than a hundredth in an interval.
REMEMBERED, FORGOTTEN = 48, 16.0
#: Exponents off the grid may lie between these; models beyond are not accepted.
_FROM, _TO = 0.02, 6.0
#: Two terms are refined if they are at most this many nats behind one.
_WORTH = 1.0


@dataclass(frozen=True)
class Ranked:
    """Models of S series, best first: ``terms`` (S, N, T), rows of the ``table`` of shapes, -1 for none.

    ``constant`` (S, N), ``scores`` (S, N) in nats, lower is better, infinite for no model; ``free`` (S, N): exponents
    were fitted.
    """

    table: Shapes
    terms: NDArray[np.integer[Any]]
    constant: Flags
    scores: NDArray[np.floating[Any]]
    free: Flags

    def shapes(self, row: int, models: Index) -> Shapes:
        """Return the terms of some models of one series, (N, T, m)."""
        return _taken(self.table, self.terms[row, models])

    @property
    def best(self) -> Shapes:
        """The terms of the best model of each series, (S, T, m)."""
        return _taken(self.table, self.terms[:, 0])

    def alone(self, row: int) -> Ranked:
        """Return the models of one series, with a table of their shapes only."""
        used, terms = np.unique(self.terms[row], return_inverse=True)
        first = int((used < 0).any())
        table = self.table.take(used[first:])
        one = slice(row, row + 1)
        own = (terms.reshape(1, *self.terms.shape[1:]) - first).astype(self.terms.dtype)
        return Ranked(table, own, self.constant[one].copy(), self.scores[one].copy(), self.free[one].copy())

    @property
    def bytes(self) -> int:
        """Return the memory that the ranking takes, in bytes."""
        table = self.table
        own = (self.terms, self.constant, self.scores, self.free, table.exponents, table.logs, table.collectives)
        return sum(array.nbytes for array in own)


def _taken(table: Shapes, chosen: NDArray[np.integer[Any]]) -> Shapes:
    there = (chosen >= 0)[..., None]
    if not len(table.exponents):  # all models are constants
        none = np.zeros((1, table.exponents.shape[-1]))
        table = Shapes(none, none, none.astype(np.int64))
    taken = table.take(np.maximum(chosen, 0))
    return Shapes(taken.exponents * there, taken.logs * there, taken.collectives * there)


def rank(
    block: Block, basis: Basis, limits: Limits, refined: bool, negative: bool = False, pool: Pool | None = None
) -> Ranked:
    """Return the REMEMBERED best models for each series, of the given ones or else of all sums of the basis."""
    pool = candidates(block, basis, limits) if pool is None else pool
    counts = (block.root > 0).sum(1)
    scores, parts, least = _scores(pool, block, basis, limits), [], pool.rss.min(1)
    if refined and len(basis.columns):
        spacing = _spacing(basis)
        for rows, free in _free_exponent_fits(pool, scores, block, basis):
            made = _off_grid(free, counts[rows], block.total[rows], limits.coefficients[rows], spacing, negative)
            parts.append(_spread(made, rows, len(least)))
            least[rows] = np.minimum(least[rows], free.rss)
    better = with_noise_free_models(pool, least, block, basis, limits)
    if better is not pool:
        pool, scores = better, _scores(better, block, basis, limits)
    own = Ranked(basis.shapes, pool.terms, pool.constant, scores, np.zeros(scores.shape, dtype=np.bool_))
    return _packed(_joined([own, *parts]))


def _scores(pool: Pool, block: Block, basis: Basis, limits: Limits) -> Array:
    """Nats of each model, (S, N). Few series have more than KEPT models: for the others the rest is not computed."""
    few = np.full(pool.rss.shape, np.inf)
    few[:, :KEPT] = _scores_of(pool.first(KEPT), block, basis, limits)
    rows = np.flatnonzero(np.isfinite(pool.rss[:, KEPT:]).any(1))
    if len(rows):
        own = Limits(limits.terms, limits.coefficients[rows])
        few[rows] = _scores_of(pool.rows(rows), block.rows(rows), basis, own)
    return few


def _scores_of(pool: Pool, block: Block, basis: Basis, limits: Limits) -> Array:
    columns = weighted_columns(pool, block, basis)
    solution = solve(columns, block.scaled[:, None, :])
    press = (solution.left_out**2).sum(2)
    counts = (block.root > 0).sum(1)[:, None]
    number = coefficient_count(pool)
    scores = length(press, block.total[:, None], counts) + price(pool, basis) - CHARGED * number
    return np.where(np.isfinite(pool.rss) & (number <= limits.coefficients[:, None]), scores, np.inf)


def _free_exponent_fits(
    pool: Pool, scores: Array, block: Block, basis: Basis
) -> Iterator[tuple[Index, FreeExponentFit]]:
    """Yield the best model of one term and the best of two, as powers, with and without constant; for which series.

    Not for series that a model of the grid meets to rounding, and two terms only where two are worth their price.
    """
    sizes = pool.size
    every = np.arange(len(scores))
    exact = pool.rss.min(1) <= block.total * (ROUNDING * 10) ** 2
    least = np.full(len(scores), np.inf)
    for size in range(1, min(2, pool.terms.shape[2]) + 1):
        own = np.where(sizes == size, scores, np.inf)
        best = own.argmin(1)
        here = own[every, best]
        rows = np.flatnonzero(~exact & np.isfinite(here) & (here < least + _WORTH))
        least = np.minimum(least, here)
        terms = pool.terms[rows, best[rows]][:, :size]
        taken = basis.shapes.take(np.maximum(terms, 0))
        plain = ~(taken.collectives != 0).any((1, 2))
        rows, terms, taken = rows[plain], terms[plain], taken.take(np.flatnonzero(plain))
        if not len(rows):
            continue
        slopes = slopes_of(taken, basis.points)
        active = taken.uses & (terms >= 0)[..., None]
        start = Powers(np.where(active, slopes, 0.0), active, np.ones(len(rows), dtype=np.bool_))
        fitted = fit_free_exponents(block.rows(rows), basis.points, start)
        yield rows, fitted
        bare = np.flatnonzero(fitted.small)
        if len(bare):
            rows = rows[bare]
            start = Powers(start.exponents[bare], active[bare], np.zeros(len(bare), dtype=np.bool_))
            yield rows, fit_free_exponents(block.rows(rows), basis.points, start)


def _spacing(basis: Basis) -> Array:
    """How far apart the exponents of the grid lie, (m,): a logarithm counts as the power that grows as it does."""
    slopes = slopes_of(basis.shapes, basis.points)
    own = [np.unique(np.round(slopes[basis.uses[:, axis], axis], 6)) for axis in range(slopes.shape[1])]
    return np.array([np.ptp(values) / (len(values) - 1) if len(values) > 1 else 1.0 for values in own])


def _digits(fitted: FreeExponentFit, spacing: Array) -> Array:
    """Return the price in nats of the exponents of each model, (S,)."""
    with np.errstate(divide="ignore"):  # an exponent of which nothing is known has no digits
        finer = np.log(spacing / (np.sqrt(2 * np.pi) * np.maximum(fitted.errors, _FINEST)))
    price_ = np.maximum(FACTOR, FACTOR - _CHARGED_NET + finer)
    return np.asarray(np.where(fitted.powers.active, price_, 0.0).sum((1, 2)))


def _off_grid(
    fitted: FreeExponentFit, counts: Index, total: Array, limits: Index, spacing: Array, negative: bool
) -> Ranked:
    powers = fitted.powers
    coefficients = powers.constant + powers.present.sum(1)
    exponents = powers.active.sum((1, 2))
    price_ = (COEFFICIENT - CHARGED) * coefficients + _digits(fitted, spacing)
    scores = length(fitted.press, total, counts) + price_
    inside = (np.abs(powers.exponents) >= _FROM) & (powers.exponents <= _TO)
    if not negative:
        inside &= powers.exponents > 0
    usable = np.isfinite(fitted.rss) & (inside | ~powers.active).all((1, 2))
    # Each exponent is one more number that the points have to bear, three points for each.
    usable &= (coefficients <= limits) & (3 * (coefficients + exponents) <= counts)
    scores = np.where(usable, scores, np.inf)
    series, size, axes = powers.exponents.shape
    exponents = np.where(powers.active, powers.exponents, 0.0).reshape(-1, axes)
    table = Shapes(exponents, np.zeros_like(exponents), np.zeros(exponents.shape, dtype=np.int64))
    terms = np.where(powers.present, np.arange(series * size).reshape(series, size), -1)[:, None]
    return Ranked(table, terms, powers.constant[:, None], scores[:, None], np.ones((series, 1), dtype=np.bool_))


def _spread(part: Ranked, rows: Index, series: int) -> Ranked:
    """Models of some series as models of all, with none for the others."""

    def whole(array: NDArray[Any], fill: Any) -> NDArray[Any]:
        made = np.full((series, *array.shape[1:]), fill, dtype=array.dtype)
        made[rows] = array
        return made

    rest = (whole(part.constant, True), whole(part.scores, np.inf), whole(part.free, True))
    return Ranked(part.table, whole(part.terms, -1), *rest)


def _joined(parts: list[Ranked]) -> Ranked:
    """All models of the same series together, on one table."""
    size = max(part.terms.shape[2] for part in parts)
    starts = np.cumsum([0, *(len(part.table.exponents) for part in parts)])
    terms = []
    for part, start in zip(parts, starts, strict=False):
        moved = np.where(part.terms >= 0, part.terms + start, -1)
        terms.append(np.pad(moved, ((0, 0), (0, 0), (0, size - moved.shape[2])), constant_values=-1))
    return Ranked(
        stacked_shapes([part.table for part in parts]),
        np.concatenate(terms, 1),
        np.concatenate([part.constant for part in parts], 1),
        np.concatenate([part.scores for part in parts], 1),
        np.concatenate([part.free for part in parts], 1),
    )


def _packed(ranked: Ranked) -> Ranked:
    """Return the REMEMBERED best, in no more memory than they need: there may be very many series."""
    chosen = smallest(np.asarray(ranked.scores, dtype=np.float64), REMEMBERED)
    scores = np.take_along_axis(ranked.scores, chosen, 1)
    terms = np.take_along_axis(ranked.terms, chosen[:, :, None], 1)
    scores = np.where(scores <= scores[:, :1] + FORGOTTEN, scores, np.inf)
    width = max(1, int(np.isfinite(scores).sum(1).max(initial=1)))
    terms = np.where(np.isfinite(scores)[:, :, None], terms, -1)[:, :width]
    terms = terms[:, :, : int((terms >= 0).sum(2).max(initial=0))]
    used, places = np.unique(terms, return_inverse=True)
    there = used >= 0
    places = places.reshape(terms.shape) - (len(used) - int(there.sum()))
    return Ranked(
        ranked.table.take(used[there]),
        places.astype(np.int32),
        np.take_along_axis(ranked.constant, chosen, 1)[:, :width],
        scores[:, :width].astype(np.float32),
        np.take_along_axis(ranked.free, chosen, 1)[:, :width],
    )

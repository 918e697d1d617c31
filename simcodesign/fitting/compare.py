"""The last comparison: the kept models of each series by leave-one-out error and price, with exponents off the grid.

The leave-one-out error of a linear model needs no second fit: the residual of a point in the model fitted without it is
r / (1 - h), h its leverage (the diagonal of the hat matrix). Compared are K/2 ln(sum of their squares) + price. Leaving
out charges about one nat for each coefficient already, which is taken off its price.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.basis import Array, Basis, Index, Shapes
from simcodesign.fitting.candidates import (
    COEFFICIENT,
    ROUNDING,
    Limits,
    candidates,
    coefficient_count,
    length,
    price,
    weighted_columns,
)
from simcodesign.fitting.clean import thorough
from simcodesign.fitting.refine import Powers, Refined, refine
from simcodesign.fitting.search import Block, Flags, Pool, smallest, solve

#: Nats that an exponent off the grid costs: a little more than a factor of the grid.
EXPONENT = 2.25
#: What leaving out charges for a coefficient by itself.
CHARGED = 1.0
#: Models that are remembered for each series.
REMEMBERED = 16
#: Exponents off the grid may lie between these; models beyond are not accepted.
_FROM, _TO = 0.02, 6.0
#: Two terms are refined where they are at most so many nats behind one.
_WORTH = 1.0


@dataclass(frozen=True)
class Ranked:
    """Models of S series, best first: ``shapes`` (S, N, T, m), ``constant`` (S, N), ``scores`` (S, N) in nats, lower
    is better, infinite for no model; ``free`` (S, N): exponents were fitted too."""

    shapes: Shapes
    constant: Flags
    scores: Array
    free: NDArray[np.bool_]


def rank(block: Block, basis: Basis, limits: Limits, refined: bool, negative: bool = False) -> Ranked:
    """The REMEMBERED best models for each series."""
    pool = thorough(candidates(block, basis, limits), block, basis, limits)
    counts = (block.root > 0).sum(1)
    scores = _scores(pool, block, basis, limits)
    ranked = Ranked(_shapes(pool, basis), pool.constant, scores, np.zeros(scores.shape, dtype=np.bool_))
    if refined and len(basis.columns):
        parts = [ranked]
        for rows, found in _refinements(pool, scores, block, basis):
            made = _off_grid(found, counts[rows], block.total[rows], limits.coefficients[rows], negative)
            parts.append(_spread(made, rows, len(scores)))
        ranked = _joined(parts)
    return _first(ranked, REMEMBERED)


def _scores(pool: Pool, block: Block, basis: Basis, limits: Limits) -> Array:
    columns = weighted_columns(pool, block, basis)
    solution = solve(columns, block.scaled[:, None, :])
    press = (solution.left_out**2).sum(2)
    counts = (block.root > 0).sum(1)[:, None]
    number = coefficient_count(pool)
    scores = length(press, block.total[:, None], counts) + price(pool, basis) - CHARGED * number
    return np.where(np.isfinite(pool.rss) & (number <= limits.coefficients[:, None]), scores, np.inf)


def _shapes(pool: Pool, basis: Basis) -> Shapes:
    kept = (pool.terms >= 0)[..., None]
    taken = basis.shapes.take(np.maximum(pool.terms, 0))
    return Shapes(taken.exponents * kept, taken.logs * kept, taken.collectives * kept)


def _refinements(pool: Pool, scores: Array, block: Block, basis: Basis) -> Iterator[tuple[Index, Refined]]:
    """The best model of one term and the best of two, as powers, with and without constant; for which series.

    Not for series that a model of the grid meets to rounding, and two terms only where two are worth their price.
    """
    sizes = pool.size
    every = np.arange(len(scores))
    exact = pool.rss.min(1) <= block.total * (ROUNDING * 10) ** 2
    logs = np.log(basis.points).mean(0)
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
        # x^i log2(x)^j grows as x to the power i + j / ln x does, where x is the middle of the points.
        slopes = taken.exponents + taken.logs / np.maximum(logs, 0.5)
        active = taken.uses & (terms >= 0)[..., None]
        start = Powers(np.where(active, slopes, 0.0), active, np.ones(len(rows), dtype=np.bool_))
        found = refine(block.rows(rows), basis.points, start)
        yield rows, found
        bare = np.flatnonzero(found.small)
        if len(bare):
            rows = rows[bare]
            start = Powers(start.exponents[bare], active[bare], np.zeros(len(bare), dtype=np.bool_))
            yield rows, refine(block.rows(rows), basis.points, start)


def _off_grid(found: Refined, counts: Index, total: Array, limits: Index, negative: bool) -> Ranked:
    powers = found.powers
    coefficients = powers.constant + powers.present.sum(1)
    exponents = powers.active.sum((1, 2))
    scores = length(found.press, total, counts) + (COEFFICIENT - CHARGED) * coefficients + EXPONENT * exponents
    inside = (np.abs(powers.exponents) >= _FROM) & (powers.exponents <= _TO)
    if not negative:
        inside &= powers.exponents > 0
    usable = np.isfinite(found.rss) & (inside | ~powers.active).all((1, 2))
    # Each exponent is one more number that the points have to bear, three points for each.
    usable &= (coefficients <= limits) & (3 * (coefficients + exponents) <= counts)
    scores = np.where(usable, scores, np.inf)
    exponents = np.where(powers.active, powers.exponents, 0.0)[:, None]
    nothing = np.zeros_like(exponents)
    shapes = Shapes(exponents, nothing, nothing.astype(np.int64))
    return Ranked(shapes, powers.constant[:, None], scores[:, None], np.ones((len(scores), 1), dtype=np.bool_))


def _spread(part: Ranked, rows: Index, series: int) -> Ranked:
    """Models of some series as models of all, with none for the others."""

    def whole(array: NDArray[Any], fill: Any) -> NDArray[Any]:
        made = np.full((series, *array.shape[1:]), fill, dtype=array.dtype)
        made[rows] = array
        return made

    old = part.shapes
    shapes = Shapes(whole(old.exponents, 0.0), whole(old.logs, 0.0), whole(old.collectives, 0))
    return Ranked(shapes, whole(part.constant, True), whole(part.scores, np.inf), whole(part.free, True))


def _joined(parts: list[Ranked]) -> Ranked:
    size = max(part.shapes.exponents.shape[2] for part in parts)

    def padded(name: str) -> NDArray[np.generic]:
        arrays = [getattr(part.shapes, name) for part in parts]
        return np.concatenate([np.pad(a, ((0, 0), (0, 0), (0, size - a.shape[2]), (0, 0))) for a in arrays], 1)

    shapes = Shapes(padded("exponents"), padded("logs"), padded("collectives"))  # type: ignore[arg-type]
    return Ranked(
        shapes,
        np.concatenate([part.constant for part in parts], 1),
        np.concatenate([part.scores for part in parts], 1),
        np.concatenate([part.free for part in parts], 1),
    )


def _first(ranked: Ranked, count: int) -> Ranked:
    chosen = smallest(ranked.scores, count)
    rows = np.arange(len(chosen))[:, None]
    shapes = ranked.shapes
    taken = Shapes(shapes.exponents[rows, chosen], shapes.logs[rows, chosen], shapes.collectives[rows, chosen])
    return Ranked(
        taken,
        np.take_along_axis(ranked.constant, chosen, 1),
        np.take_along_axis(ranked.scores, chosen, 1),
        np.take_along_axis(ranked.free, chosen, 1),
    )

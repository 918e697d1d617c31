"""Data without noise: a sum of terms is sought that meets them to rounding, where the ordinary search found none.

The ordinary search follows good terms to better ones among their neighbours. Terms that nearly cancel, such as those of
(p - 1) n, are good together only. Where the best model leaves less than any measurement's noise, but still a smooth
curve and more than rounding, all pairs of terms are therefore tried, and three terms of the sets that make up most sums
in practice: the best pairs and any other, and terms in one parameter or with the same factors in all parameters but
one. Data are also free of noise if repeated measurements are all equal, or if all points with the
same value of one parameter are: then whatever the best model leaves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simcodesign.fitting.selection.candidate_fits import Block, Flags, Pool, join, smallest, solve
from simcodesign.fitting.selection.candidates import (
    CACHE,
    KEPT,
    Limits,
    best_pairs,
    distinct,
    length,
    one_more,
    ordered,
    promising,
    weighted_columns,
    widened,
)
from simcodesign.fitting.selection.term_basis import Array, Basis, Index

#: Relative residuals (root mean square) between these are neither rounding nor the noise of a measurement.
ROUNDING, NOISE = 1e-8, 1e-3
#: Gain in nats of a mean for each value of a parameter that chance does not give: 25 points of noise in five groups
#: gain 3, and 12 in four of ten thousand cases (F test).
LEVELS = 12.0
#: Pairs that are tried with one more term, triples of a set that continue, sets of terms with the same factors.
_PAIRS, _TRIPLES, _SETS = 256, 64, 6
#: Number of the best pairs and triples that are kept in each part.
_KEPT = 16
#: More candidate terms than this have too many pairs (some seconds for each series).
_MOST = 10_000
#: Fraction of a column's square that remains after projecting out others, below which it contributes nothing of its
#: own.
_SMALLEST = 1e-10


def with_noise_free_models(pool: Pool, least: Array, block: Block, basis: Basis, limits: Limits) -> Pool:
    """Return the pool with better models for series that a model nearly meets.

    ``least`` (S,): what the best of all leaves.
    """
    if limits.terms < 2 or not 1 < len(basis.columns) <= _MOST:
        return pool
    share = np.sqrt(least / np.maximum(block.total, 1e-300))
    rows = np.flatnonzero(share > ROUNDING)
    if len(rows):
        best = pool.best(pool.rss, 1)
        for row in rows[_is_noise_free(best.rows(rows), block.rows(rows), basis, share[rows])]:
            pool = _replaced(pool, int(row), block, basis, limits)
    return _shortened(pool, block, basis, limits)


def _is_noise_free(best: Pool, block: Block, basis: Basis, share: Array) -> Flags:
    """Whether what the best models leave is no noise, (S,)."""
    within = _within_levels(best, block, basis)
    is_noise_free = (within <= ROUNDING**2 * block.total) | block.exact
    near = np.flatnonzero(~is_noise_free & (share < NOISE))
    if len(near):
        some, models = block.rows(near), best.rows(near)
        counts = (some.root > 0).sum(1)
        gain = length(models.rss[:, 0], some.total, counts) - length(within[near], some.total, counts)
        is_noise_free[near] = (gain > LEVELS) | promising(models, some, basis) | (basis.points.shape[1] == 1)
    return np.asarray(is_noise_free)


def _within_levels(best: Pool, block: Block, basis: Basis) -> Array:
    """Return the residual sum (S,) of the best models that a mean for each value of one parameter leaves.

    Any parameter counts.
    """
    residuals = solve(weighted_columns(best, block, basis)[:, 0], block.scaled).residuals
    rss = (residuals**2).sum(1)
    least = rss
    for x in basis.points.T:
        levels = np.unique(x, return_inverse=True)[1]
        members = (levels == np.arange(levels.max() + 1)[:, None]).astype(np.float64)
        if len(members) > len(x) // 2:
            continue
        there = (block.root > 0) @ members.T
        means = residuals @ members.T / np.maximum(there, 1)
        least = np.minimum(least, np.maximum(rss - (there * means**2).sum(1), 0.0))
    return np.asarray(least)


def _shortened(pool: Pool, block: Block, basis: Basis, limits: Limits) -> Pool:
    """Shorten the best model if it meets the values to rounding: some other term may do nothing."""
    best = pool.best(pool.rss, 1)
    met = best.rss[:, 0] <= (ROUNDING**2 * block.total)
    rows = np.flatnonzero(met & (best.size[:, 0] >= 2))
    if not len(rows):
        return pool
    some = block.rows(rows)
    terms, constant = best.terms[rows], best.constant[rows]
    made = [Pool(pool.terms[rows], pool.constant[rows], pool.rss[rows])]
    for place in range(-1, terms.shape[2]):
        fewer = terms.copy()
        fewer[:, :, place] = -1 if place >= 0 else terms[:, :, place]
        made += [_solved(fewer, flags, some, basis) for flags in (constant, np.zeros_like(constant))]
    better = ordered(distinct(join(made)), some, basis, Limits(limits.terms, limits.coefficients[rows]), KEPT)
    return _put(pool, rows, better)


def _solved(terms: Index, constant: Flags, block: Block, basis: Basis) -> Pool:
    """Models by their terms (S, N, T), with residual sums; infinite where a coefficient is negative and may not be."""
    made = Pool(terms, constant, np.zeros(constant.shape))
    solution = solve(weighted_columns(made, block, basis), block.scaled[:, None, :])
    good = block.free | (solution.coefficients >= 0).all(2)
    return Pool(terms, constant, np.where(good, (solution.residuals**2).sum(2), np.inf))


def _put(pool: Pool, rows: Index, better: Pool) -> Pool:
    """Return the pool with other models for some series."""
    pool = widened(pool.sized(better.terms.shape[2]), better.rss.shape[1])
    width = better.rss.shape[1]
    pool.rss[rows] = np.inf
    pool.terms[rows, :width], pool.constant[rows, :width] = better.terms, better.constant
    pool.rss[rows, :width] = better.rss
    return pool


def _replaced(pool: Pool, row: int, block: Block, basis: Basis, limits: Limits) -> Pool:
    """Return the pool with what is found for one series."""
    rows = np.array([row])
    one, bound = block.rows(rows), Limits(limits.terms, limits.coefficients[rows])
    made = [Pool(pool.terms[rows], pool.constant[rows], pool.rss[rows])]
    for sums in _sums(one, basis, bound):
        made.append(sums)
        if sums.rss.min() <= ROUNDING**2 * one.total[0]:
            break
    return _put(pool, rows, ordered(distinct(join(made)), one, basis, bound, KEPT))


def _sums(block: Block, basis: Basis, limits: Limits) -> Iterator[Pool]:
    """Yield sums of two terms and of three for one series, step by step."""
    most = min(limits.terms, int(limits.coefficients[0]))
    if most >= 2:
        pairs = _every_pair(block, basis)
        yield pairs
    if most >= 3:
        yield join(one_more(pairs, 3, block, basis, _PAIRS))
        lone = np.flatnonzero(basis.factors == 1)
        for terms in (lone, *(np.union1d(lone, terms) for terms in _sharing(pairs, basis))):
            if len(terms) >= 3:
                yield _every_triple(block, basis, terms)


def _every_pair(block: Block, basis: Basis) -> Pool:
    every = np.arange(len(basis.columns))
    rows = max(1, CACHE // len(every))
    parts = [
        best_pairs(block, basis, every[start : start + rows], every[start:], _KEPT)
        for start in range(0, len(every), rows)
    ]
    pool = join(parts)
    return pool.best(pool.rss, _PAIRS)


def _sharing(pairs: Pool, basis: Basis) -> list[Index]:
    """Return sets of terms with the same factors in all parameters but one.

    As the two terms of some good pair have them.
    """
    tables = np.stack([basis.shapes.exponents, basis.shapes.logs, basis.shapes.collectives], 2)
    sets: dict[tuple[int, bytes], Index] = {}
    if tables.shape[1] == 1:
        return []
    for first, second in pairs.terms[0, :, :2]:
        for axis in range(tables.shape[1]):
            rest = np.delete(tables, axis, 1)
            if len(sets) < _SETS and first >= 0 <= second and (rest[first] == rest[second]).all():
                key = (axis, rest[first].tobytes())
                if key not in sets:
                    sets[key] = np.flatnonzero((rest == rest[first]).all((1, 2)))
    return list(sets.values())


def _every_triple(block: Block, basis: Basis, terms: Index) -> Pool:
    """Return the best sums of three of the terms (d,), with a constant and without."""
    pools = []
    for constant in (True, False):
        chosen = terms[_best_triples(_units(block, basis, terms, constant), block.scaled[0])]
        pools.append(_solved(chosen[None], np.full((1, len(chosen)), constant), block, basis))
    return join(pools)


def _units(block: Block, basis: Basis, terms: Index, constant: bool) -> Array:
    """Weighted columns of length one (d, K), without their part along the constant if there is one."""
    columns = basis.columns[terms] * block.root
    if constant:
        unit = block.root[0] / np.sqrt((block.root[0] ** 2).sum())
        columns = columns - (columns @ unit)[:, None] * unit
    size = np.sqrt((columns**2).sum(1, keepdims=True))
    whole = np.sqrt(((basis.columns[terms] * block.root) ** 2).sum(1, keepdims=True))
    return np.where(size > 1e-5 * whole, columns / np.where(size > 0, size, 1.0), 0.0)


def _best_triples(units: Array, scaled: Array) -> Index:
    """Places (N, 3) of the three columns of (d, K) that together reach most of the values (K,).

    One column after the other is taken out of all that follow, and the best pairs of what is left of these are sought.
    """
    gains, places = [], []
    for first in range(len(units) - 2):
        rest = units[first + 1 :] - (units[first + 1 :] @ units[first])[:, None] * units[first]
        squares = (rest**2).sum(1)
        rest = np.where(squares[:, None] > _SMALLEST, rest / np.sqrt(np.maximum(squares, _SMALLEST))[:, None], 0.0)
        along, cross = rest @ scaled, rest @ rest.T
        left = 1 - cross**2
        usable = np.triu(left > _SMALLEST, 1)
        squared = along**2
        gain = squared[:, None] + squared - (2 * along[:, None]) * cross * along
        gain = np.where(usable, gain, -1.0) / np.where(usable, left, 1.0)
        best = smallest(-gain.reshape(1, -1), _KEPT)[0]
        gains.append(gain.flat[best] + (units[first] @ scaled) ** 2)
        j, k = np.divmod(best, len(rest))
        places.append(np.stack([np.full(len(best), first), first + 1 + j, first + 1 + k], 1))
    every = np.concatenate(gains)
    return np.asarray(np.concatenate(places)[smallest(-every[None], _TRIPLES)[0]])

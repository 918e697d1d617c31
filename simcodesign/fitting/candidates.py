"""Which models are tried for each series, from the constant to many terms, and what their complexity costs.

One term: every candidate. Two terms: every sum of one term in one parameter and one in another; every other pair only
where the best model so far leaves a residual that is smooth over the points, as noise is not. Such pairs are sought
among terms spread over the whole set first, then among the neighbours of the best. More terms: one at a time.

**What a model costs.** Models are compared by K/2 ln(sum of squared residuals) + price, the description length of
residuals and model in nats. A coefficient costs what its digits do (half of ln K, rounded up); a factor costs
the logarithm of the number of alternatives that the data can tell apart: of the 42 of a set a few, so 2 nats. Without
that price the best of a thousand products would beat a sum of two simple terms by chance.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from simcodesign.fitting.basis import Array, Basis, Index
from simcodesign.fitting.search import (
    Block,
    Flags,
    Pool,
    constants,
    grown,
    join,
    orthonormal,
    pairs,
    singles,
    smallest,
    solve,
    stacked,
)

#: Nats of description length: a coefficient, a factor.
COEFFICIENT, FACTOR = 2.0, 2.0
#: Weighted residuals below this share of the values are rounding: models that fit so well tie.
ROUNDING = 1e-9
#: How many models of each kind go on to the final comparison.
KEPT = 16
#: Gain in nats that a smooth correction of the residuals must promise before all pairs of terms are tried.
PROMISE = 6.0
#: A relative residual (root mean square) beyond this is not taken for noise.
COARSE_ERROR = 0.15
_STARTS, _PER_KIND = 5, 6
#: So few terms (one parameter) that all pairs are tried for every series.
_FEW = 64
#: Numbers of an array that stays in the cache of a processor.
CACHE = 100_000


@dataclass(frozen=True)
class Limits:
    """How many terms a model may have, and how many coefficients the points of a series allow, (S,)."""

    terms: int
    coefficients: Index


def coefficient_limit(counts: Index) -> Index:
    """Coefficients that so many points can bear: one for three points, two for three to eight, at least one."""
    return np.maximum(np.minimum(np.maximum(counts // 3, 2), counts - 1), 1)


def length(rss: Array, total: Array, counts: Array | Index) -> Array:
    """K/2 ln of the share of squares that a model leaves; what is below rounding counts as rounding."""
    return np.asarray(counts / 2 * np.log(rss / np.maximum(total, 1e-300) + ROUNDING**2))


def price(pool: Pool, basis: Basis) -> Array:
    """The cost in nats of each model's coefficients and factors, (S, N)."""
    factors = np.append(basis.factors, 0)[pool.terms].sum(2)
    return np.asarray(COEFFICIENT * coefficient_count(pool) + FACTOR * factors)


def coefficient_count(pool: Pool) -> Index:
    return np.asarray(pool.constant + pool.size)


def order(pool: Pool, block: Block, basis: Basis, limits: Limits) -> Array:
    """Description length of each model, (S, N); infinite for models with more coefficients than allowed."""
    counts = (block.root > 0).sum(1)[:, None]
    found = length(pool.rss, block.total[:, None], counts) + price(pool, basis)
    return np.where(coefficient_count(pool) <= limits.coefficients[:, None], found, np.inf)


def candidates(block: Block, basis: Basis, limits: Limits) -> Pool:
    """The KEPT models of shortest description for each series, best first."""
    pool = constants(block)
    if limits.terms >= 1 and len(basis.columns):
        pool = join([pool, _one_term(block, basis)])
    if limits.terms >= 2 and len(basis.columns):
        pool = join([pool, *_sums(block, basis)])
    pool = ordered(pool, block, basis, limits)
    for terms in range(2, limits.terms + 1):
        if len(basis.columns):
            pool = _more(pool, terms, block, basis, limits)
    return pool


def ordered(pool: Pool, block: Block, basis: Basis, limits: Limits) -> Pool:
    """The best KEPT models, and among them the best one of each number of terms."""
    found = order(pool, block, basis, limits)
    ranks = found.copy()
    sizes = pool.size
    rows = np.arange(len(found))
    for size in range(limits.terms + 1):
        best = np.where(sizes == size, found, np.inf).argmin(1)
        ranks[rows, best] = np.where(np.isfinite(found[rows, best]), -np.inf, np.inf)
    kept = pool.best(ranks, KEPT)
    return kept.best(order(kept, block, basis, limits), KEPT)


def _one_term(block: Block, basis: Basis) -> Pool:
    return stacked([_one_term_of(block.rows(rows), basis) for rows in _chunks(len(block.root), len(basis.columns))])


def _one_term_of(block: Block, basis: Basis) -> Pool:
    pools = []
    counts = (block.root > 0).sum(1)[:, None]
    # exp of the price: sums of squares times it are in the order of description lengths, without the logarithm.
    price_ = np.exp(2 * FACTOR / counts * basis.factors)
    for rss, constant in zip(singles(block, basis), (True, False), strict=True):
        floor = block.total[:, None] * ROUNDING**2
        chosen = smallest((rss + floor) * price_, KEPT if constant else _PER_KIND)
        pools.append(_pool(chosen[:, :, None], constant, np.take_along_axis(rss, chosen, 1)))
    return join(pools)


def _pool(terms: Index, constant: bool, rss: Array) -> Pool:
    return Pool(terms, np.full(rss.shape, constant), rss)


def _sums(block: Block, basis: Basis) -> list[Pool]:
    """Sums of a term in one parameter alone and one in another."""
    lone = [np.flatnonzero((basis.factors == 1) & basis.uses[:, axis]) for axis in range(basis.uses.shape[1])]
    pools = []
    for first, second in itertools.combinations([index for index in lone if len(index)], 2):
        parts = [block.rows(rows) for rows in _chunks(len(block.root), len(first) * len(second))]
        pools.append(stacked([best_pairs(part, basis, first, second, _PER_KIND) for part in parts]))
    return pools


def best_pairs(block: Block, basis: Basis, first: Index, second: Index, count: int) -> Pool:
    """The best pairs of one of ``first`` and one of ``second``, (A,) or (S, A), with constant and without.

    Without it, all pairs are tried only for the series whose best pair would have a negative constant. For the others
    they are those of the best pairs with constant: where it matters little, the same terms are best.
    """
    rss, below = pairs(block, basis, first, second, True)
    series, _, width = rss.shape
    flat = rss.reshape(series, -1)
    wanting = np.flatnonzero(below.reshape(series, -1)[np.arange(series), flat.argmin(1)])
    np.copyto(rss, np.inf, where=below)
    chosen = smallest(flat, count)
    alone = chosen.copy()
    if len(wanting):
        a, b = (index if index.ndim == 1 else index[wanting] for index in (first, second))
        without, _ = pairs(block.rows(wanting), basis, a, b, False)
        alone[wanting] = smallest(without.reshape(len(wanting), -1), count)
    taken = [np.stack([_taken(first, k // width), _taken(second, k % width)], 2) for k in (chosen, alone)]
    found = _pool(taken[0], True, np.take_along_axis(flat, chosen, 1))
    return join([found, _without_constant(taken[1], block, basis)])


def _without_constant(terms: Index, block: Block, basis: Basis) -> Pool:
    """Models of the given terms (S, N, 2) and no constant."""
    columns = basis.columns[terms] * block.root[:, None, None, :]
    a, b = columns[:, :, 0], columns[:, :, 1]
    scaled = block.scaled[:, None, :]
    aa, bb, ab = (a * a).sum(2), (b * b).sum(2), (a * b).sum(2)
    u, v = (a * scaled).sum(2), (b * scaled).sum(2)
    left = aa * bb - ab**2
    usable = left > 1e-10 * aa * bb
    left = np.where(usable, left, 1.0)
    x, y = (u * bb - ab * v) / left, (v * aa - ab * u) / left
    if not block.free:
        usable &= (x > 0) & (y > 0)
    rest = scaled - x[:, :, None] * a - y[:, :, None] * b
    return _pool(terms, False, np.where(usable, (rest**2).sum(2), np.inf))


def _taken(index: Index, chosen: Index) -> Index:
    return index[chosen] if index.ndim == 1 else np.take_along_axis(index, chosen, 1)


def _more(pool: Pool, terms: int, block: Block, basis: Basis, limits: Limits) -> Pool:
    """The pool with models of so many terms, for the series in which the residual of the best is smooth."""
    pool = pool.sized(max(terms, pool.terms.shape[2]))
    few = len(basis.columns) <= _FEW  # then to try costs little more than to ask
    rows = np.flatnonzero((few | promising(pool, block, basis)) & (limits.coefficients > terms))
    if not len(rows):
        return pool
    part = Pool(pool.terms[rows], pool.constant[rows], pool.rss[rows])
    some, bound = block.rows(rows), Limits(limits.terms, limits.coefficients[rows])
    made = [_any_pairs(some, basis)] if terms == 2 else []
    made += one_more(part, terms, some, basis)
    better = ordered(distinct(join([part, *made])), some, basis, bound)
    whole = widened(pool, better.rss.shape[1])
    for array, new in ((whole.terms, better.terms), (whole.constant, better.constant), (whole.rss, better.rss)):
        array[rows] = new
    return whole


def widened(pool: Pool, count: int) -> Pool:
    """A copy with places for at least so many models for each series, the new ones infinite."""
    more = max(count - pool.rss.shape[1], 0)
    return Pool(
        np.pad(pool.terms, ((0, 0), (0, more), (0, 0)), constant_values=-1),
        np.pad(pool.constant, ((0, 0), (0, more))),
        np.pad(pool.rss, ((0, 0), (0, more)), constant_values=np.inf),
    )


def distinct(pool: Pool) -> Pool:
    """Models that stand twice are kept once: the others are made infinite."""
    terms = -np.sort(-pool.terms, axis=2)  # the places without a term stay last
    keys = pool.constant.astype(np.int64)
    for column in range(terms.shape[2]):
        keys = keys * 70_001 + terms[:, :, column] + 1
    places = np.argsort(keys, axis=1, kind="stable")
    ordered = np.take_along_axis(keys, places, 1)
    again = np.zeros(keys.shape, dtype=np.bool_)
    np.put_along_axis(again[:, :], places[:, 1:], ordered[:, 1:] == ordered[:, :-1], 1)
    return Pool(terms, pool.constant, np.where(again, np.inf, pool.rss))


def promising(pool: Pool, block: Block, basis: Basis) -> Flags:
    """Whether a smooth correction (a polynomial in the logarithms) of the best model's residuals would pay."""
    best = Pool(pool.terms[:, :1], pool.constant[:, :1], pool.rss[:, :1])
    columns = weighted_columns(best, block, basis)[:, 0]
    residuals = solve(columns, block.scaled).residuals
    smooth = _polynomials(basis.points)[None] * (block.root > 0)[:, None, :]
    units, _ = orthonormal(smooth)
    along = np.einsum("sqk,sk->sq", units, residuals)
    rss = (residuals**2).sum(1)
    rest = np.maximum(rss - (along**2).sum(1), 0.0)
    counts = (block.root > 0).sum(1)
    gain = length(rss, block.total, counts) - length(rest, block.total, counts)
    # What is farther off than noise usually is need not be smooth: a term may matter at one end only.
    return np.asarray((gain > PROMISE) | (rss > COARSE_ERROR**2 * block.total))


def _polynomials(points: Array) -> Array:
    """1, u, v, u^2, uv, v^2, u^3, v^3, ... in the logarithms of the parameters, (q, K)."""
    logs = np.log(points)
    logs = (logs - logs.mean(0)) / np.maximum(np.ptp(logs, axis=0), 1e-300)
    axes = range(points.shape[1])
    products = [logs[:, a] * logs[:, b] for a, b in itertools.combinations_with_replacement(axes, 2)]
    return np.stack([np.ones(len(points)), *logs.T, *products, *logs.T**3])


def weighted_columns(pool: Pool, block: Block, basis: Basis) -> Array:
    """Columns of each model, the constant first, (S, N, T + 1, K)."""
    kept = (pool.terms >= 0)[..., None]
    columns = np.where(kept, basis.columns[np.maximum(pool.terms, 0)], 0.0)
    first = np.broadcast_to(pool.constant[:, :, None, None], (*pool.terms.shape[:2], 1, columns.shape[3]))
    return np.concatenate([first, columns], 2) * block.root[:, None, None, :]


def _any_pairs(block: Block, basis: Basis) -> Pool:
    """Any two terms: first of the coarse set, then around the best of them, and around the best of those."""
    series = len(block.root)
    parts = _chunks(series, basis.coarse.size**2)
    starts = np.concatenate([_coarse_pairs(block.rows(rows), basis) for rows in parts])
    # From here on every start of every series is a row of its own.
    rows = np.repeat(np.arange(series), starts.shape[1])
    found = _around(block.rows(rows), basis, starts.reshape(len(rows), 2))
    width = starts.shape[1] * found.rss.shape[1]
    shape = (series, width)
    return Pool(found.terms.reshape(*shape, 2), found.constant.reshape(shape), found.rss.reshape(shape))


def _around(block: Block, basis: Basis, centres: Index) -> Pool:
    """The best pairs near each row's centre (S, 2), and near the best of them."""
    made = []
    for _ in range(2):
        near = [basis.neighbours(centres[:, side]) for side in (0, 1)]
        parts = _chunks(len(centres), near[0].shape[1] ** 2)
        made.append(stacked([best_pairs(block.rows(r), basis, near[0][r], near[1][r], 4) for r in parts]))
        best = made[-1].rss.argmin(1)
        centres = made[-1].terms[np.arange(len(best)), best]
    return join(made)


def _chunks(count: int, numbers: int) -> list[Index]:
    """Series in parts of which arrays of so many numbers per series stay in the cache."""
    size = max(1, CACHE // max(numbers, 1))
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]


def _coarse_pairs(block: Block, basis: Basis) -> Index:
    """A few pairs of terms of the coarse set, none in the neighbourhood of a better one, (S, starts, 2)."""
    coarse = basis.coarse
    rss, _ = pairs(block, basis, coarse, coarse, True)
    rss[:, np.tri(len(coarse), dtype=np.bool_)] = np.inf
    flat = rss.reshape(len(rss), -1)
    chosen = smallest(flat, 200)
    first, second = chosen // len(coarse), chosen % len(coarse)
    near = basis.coarse_near
    picked = np.zeros((len(rss), _STARTS), dtype=np.int64)
    open_ = np.ones(chosen.shape, dtype=np.bool_)
    every = np.arange(len(rss))
    for start in range(_STARTS):
        at = open_.argmax(1)
        picked[:, start] = chosen[every, at]
        a, b = first[every, at][:, None], second[every, at][:, None]
        open_ &= ~(near[a, first] & near[b, second]) & ~(near[a, second] & near[b, first])
    return np.stack([coarse[picked // len(coarse)], coarse[picked % len(coarse)]], 2)


def one_more(pool: Pool, terms: int, block: Block, basis: Basis, starts: int = 3) -> list[Pool]:
    """The best ``starts`` models of one term less, with one more."""
    fewer = pool.size == terms - 1
    ranks = np.where(fewer & np.isfinite(pool.rss), np.arange(pool.rss.shape[1]), np.inf)
    made = []
    start = pool.best(ranks, starts)
    for place in range(start.rss.shape[1]):
        base, constant = start.terms[:, place], start.constant[:, place]
        rss = grown(block, basis, base[:, : terms - 1], constant)
        rss[~np.isfinite(start.rss[:, place]) | ((base >= 0).sum(1) != terms - 1)] = np.inf
        chosen = smallest(rss, 4)
        count = chosen.shape[1]
        both = np.concatenate([np.repeat(base[:, None, : terms - 1], count, 1), chosen[:, :, None]], 2)
        made.append(Pool(both, np.repeat(constant[:, None], count, 1), np.take_along_axis(rss, chosen, 1)))
    return made

"""Which models are tried for each series, from the constant to many terms, and what their complexity costs.

One term: every candidate. Two terms: every sum of one term in one parameter and one in another; every other pair only
where the best model so far leaves a residual that is smooth over the points, as noise is not, or if some pair of few
terms spread over the whole set is better already. From the best of these the search walks to better neighbours. More
terms: one at a time.

**What a model costs.** Models are compared by K/2 ln(sum of squared residuals) + price, the description length of
residuals and model in nats. A coefficient costs what its digits do (half of ln K, rounded up); a factor costs
the logarithm of the number of alternatives that the data can tell apart: of the 42 of a set a few, so 2 nats. Without
that price the best of a thousand products would beat a sum of two simple terms by chance.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from simcodesign.fitting.selection.candidate_fits import (
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
from simcodesign.fitting.selection.term_basis import Array, Basis, Index

#: Nats of description length: a coefficient, a factor.
COEFFICIENT, FACTOR = 2.0, 2.0
#: Weighted residuals below this fraction of the values are rounding: models that fit so well tie.
ROUNDING = 1e-9
#: How many models of each kind continue to the final comparison.
KEPT = 16
#: Number of pairs of terms that continue: enough to include the pairs that the data cannot distinguish.
MANY = 48
#: Gain in nats that a smooth correction of the residuals must promise before all pairs of terms are tried. Noise alone
#: promises as much to one series in twenty: of 25 points, 22 left by a product and five more by the polynomial.
PROMISE = 7.5
#: A relative residual (root mean square) beyond this is not taken for noise.
COARSE_ERROR = 0.15
_STARTS, _PER_KIND, _PER_STEP = 5, 6, 4
#: Steps from a pair of terms to a better one nearby; with eight hardly any search is cut short.
_ROUNDS = 8
#: So few terms (one parameter) that all pairs are tried for every series.
_FEW = 64
#: Numbers of an array that stays in the cache of a processor.
CACHE = 60_000


@dataclass(frozen=True)
class Limits:
    """How many terms a model may have, and how many coefficients the points of a series allow, (S,)."""

    terms: int
    coefficients: Index


def coefficient_limit(counts: Index) -> Index:
    """Coefficients that a number of points can bear: one for three points, two for three to eight, at least one."""
    return np.maximum(np.minimum(np.maximum(counts // 3, 2), counts - 1), 1)


def length(rss: Array, total: Array, counts: Array | Index) -> Array:
    """K/2 ln of the fraction of squares that a model leaves; what is below rounding counts as rounding."""
    return np.asarray(counts / 2 * np.log(rss / np.maximum(total, 1e-300) + ROUNDING**2))


def price(pool: Pool, basis: Basis) -> Array:
    """Return the cost in nats of each model's coefficients and factors, (S, N)."""
    factors = np.append(basis.factors, 0)[pool.terms].sum(2)
    return np.asarray(COEFFICIENT * coefficient_count(pool) + FACTOR * factors)


def coefficient_count(pool: Pool) -> Index:
    """Return the number of coefficients of each model, including the constant term."""
    return np.asarray(pool.constant + pool.size)


def order(pool: Pool, block: Block, basis: Basis, limits: Limits) -> Array:
    """Return the description length of each model, (S, N).

    Infinite for models with more coefficients than allowed.
    """
    counts = (block.root > 0).sum(1)[:, None]
    nats = length(pool.rss, block.total[:, None], counts) + price(pool, basis)
    return np.where(coefficient_count(pool) <= limits.coefficients[:, None], nats, np.inf)


def candidates(block: Block, basis: Basis, limits: Limits) -> Pool:
    """Return the models of shortest description for each series, best first.

    KEPT, or MANY where pairs of terms were tried.
    """
    pool = constants(block)
    if limits.terms >= 1 and len(basis.columns):
        pool = join([pool, _one_term(block, basis)])
    if limits.terms >= 2 and len(basis.columns):
        pool = join([pool, *_sums(block, basis)])
    pool = ordered(pool, block, basis, limits, KEPT)
    for terms in range(2, limits.terms + 1):
        if len(basis.columns):
            pool = _more(pool, terms, block, basis, limits)
    return pool


def ordered(pool: Pool, block: Block, basis: Basis, limits: Limits, count: int) -> Pool:
    """Return the best ``count`` models, and among them the best one of each number of terms."""
    nats = order(pool, block, basis, limits)
    ranks = nats.copy()
    sizes = pool.size
    rows = np.arange(len(nats))
    for size in range(limits.terms + 1):
        best = np.where(sizes == size, nats, np.inf).argmin(1)
        ranks[rows, best] = np.where(np.isfinite(nats[rows, best]), -np.inf, np.inf)
    kept = pool.best(ranks, count)
    return kept.best(order(kept, block, basis, limits), count)


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
    """Return sums of a term in one parameter alone and one in another."""
    lone = [np.flatnonzero((basis.factors == 1) & basis.uses[:, axis]) for axis in range(basis.uses.shape[1])]
    pools = []
    for first, second in itertools.combinations([index for index in lone if len(index)], 2):
        parts = [block.rows(rows) for rows in _chunks(len(block.root), len(first) * len(second))]
        pools.append(stacked([best_pairs(part, basis, first, second, _PER_KIND) for part in parts]))
    return pools


def best_pairs(block: Block, basis: Basis, first: Index, second: Index, count: int) -> Pool:
    """Return the best pairs of one of ``first`` and one of ``second``, (A,) or (S, A), with constant and without.

    Without it, all pairs are tried only for the series whose best pair would have a negative constant. For the others
    they are the terms of the best pairs with constant: it matters little, and the same terms are best.
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
    best = _pool(taken[0], True, np.take_along_axis(flat, chosen, 1))
    return join([best, _without_constant(taken[1], block, basis)])


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
    """Return the pool with models of ``terms`` terms, for the series in which they may pay."""
    pool = pool.sized(max(terms, pool.terms.shape[2]))
    few = len(basis.columns) <= _FEW  # then to try costs little more than to ask
    open_ = np.asarray((few | promising(pool, block, basis)) & (limits.coefficients > terms))
    starts = None
    if terms == 2:
        starts, worth = _coarse_pairs(block, basis, open_, pool.rss[:, 0])
        open_ |= worth & (limits.coefficients > terms)
    rows = np.flatnonzero(open_)
    if not len(rows):
        return pool
    part = pool.rows(rows)
    some, bound = block.rows(rows), Limits(limits.terms, limits.coefficients[rows])
    made = [] if starts is None else [_any_pairs(some, basis, starts[rows])]
    made += one_more(part, terms, some, basis)
    better = ordered(distinct(join([part, *made])), some, basis, bound, MANY)
    whole = widened(pool, better.rss.shape[1])
    for array, new in ((whole.terms, better.terms), (whole.constant, better.constant), (whole.rss, better.rss)):
        array[rows] = new
    return whole


def widened(pool: Pool, count: int) -> Pool:
    """Return a copy with places for at least ``count`` models for each series, the new ones infinite."""
    more = max(count - pool.rss.shape[1], 0)
    return Pool(
        np.pad(pool.terms, ((0, 0), (0, more), (0, 0)), constant_values=-1),
        np.pad(pool.constant, ((0, 0), (0, more))),
        np.pad(pool.rss, ((0, 0), (0, more)), constant_values=np.inf),
    )


def distinct(pool: Pool) -> Pool:
    """Keep duplicate models once: the others are made infinite."""
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
    columns = weighted_columns(pool.first(1), block, basis)[:, 0]
    residuals = solve(columns, block.scaled).residuals
    smooth = _polynomials(basis.points)[None] * (block.root > 0)[:, None, :]
    units, _ = orthonormal(smooth)
    along = np.einsum("sqk,sk->sq", units, residuals)
    rss = (residuals**2).sum(1)
    rest = np.maximum(rss - (along**2).sum(1), 0.0)
    counts = (block.root > 0).sum(1)
    gain = length(rss, block.total, counts) - length(rest, block.total, counts)
    # Deviations larger than usual noise need not be smooth: a term may matter at one end only.
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


def _any_pairs(block: Block, basis: Basis, starts: Index) -> Pool:
    """Any two terms: from each of the starts (S, A, 2) to the best pair near it, and many near the best of all."""
    series, count = starts.shape[:2]
    # Every start of every series is a row of its own.
    rows = np.repeat(np.arange(series), count)
    reached = _walked(block.rows(rows), basis, starts.reshape(len(rows), 2))
    shape = (series, count * reached.rss.shape[1])
    reached = Pool(reached.terms.reshape(*shape, 2), reached.constant.reshape(shape), reached.rss.reshape(shape))
    best = reached.terms[np.arange(series), reached.rss.argmin(1)]
    return join([reached, _near(block, basis, best, MANY)])


def _walked(block: Block, basis: Basis, centres: Index) -> Pool:
    """Return the best pairs near each row's centre (S, 2), then near the best of them, until none better is near."""
    reached = _near(block, basis, centres, _PER_STEP)
    rows, best = np.arange(len(centres)), np.full(len(centres), np.inf)
    for _ in range(_ROUNDS):
        place = reached.rss[rows].argmin(1)
        rss = reached.rss[rows, place]
        moved = rss < best[rows]
        rows, place = rows[moved], place[moved]
        best[rows] = rss[moved]
        if not len(rows):
            break
        made = _near(block.rows(rows), basis, reached.terms[rows, place], _PER_STEP)
        reached.terms[rows], reached.constant[rows], reached.rss[rows] = made.terms, made.constant, made.rss
    return reached


def _near(block: Block, basis: Basis, centres: Index, count: int) -> Pool:
    near = [basis.neighbours(centres[:, side]) for side in (0, 1)]
    parts = _chunks(len(centres), near[0].shape[1] ** 2)
    return stacked([best_pairs(block.rows(r), basis, near[0][r], near[1][r], count) for r in parts])


def _chunks(count: int, numbers: int) -> list[Index]:
    """Series in parts for which arrays of ``numbers`` numbers per series stay in the cache."""
    size = max(1, CACHE // max(numbers, 1))
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]


def _coarse_pairs(block: Block, basis: Basis, open_: Flags, known: Array) -> tuple[Index, Flags]:
    """Where to start for pairs of terms, (S, starts, 2), and for which series, (S,), that may pay.

    These are the series that are ``open_``, and those in which some pair of the coarse set already leaves less than
    what is ``known`` (S,) to be left. For others there are no starts.
    """
    coarse = basis.coarse
    starts = np.zeros((len(known), _STARTS, 2), dtype=np.int64)
    worth = open_.copy()
    upper = ~np.tri(len(coarse), dtype=np.bool_).reshape(-1)
    for rows in _chunks(len(known), coarse.size**2):
        rss, _ = pairs(block.rows(rows), basis, coarse, coarse, True)
        flat = rss.reshape(len(rows), -1)
        here = np.flatnonzero(open_[rows] | (flat.min(1) < known[rows]))
        worth[rows[here]] = True
        starts[rows[here]] = _apart(np.where(upper, flat[here], np.inf), basis)
    return starts, worth


def _apart(rss: Array, basis: Basis) -> Index:
    """Return a few of the best pairs (S, pairs) of the coarse set, none in the neighbourhood of a better one."""
    coarse, near = basis.coarse, basis.coarse_near
    chosen = smallest(rss, 200)
    first, second = chosen // len(coarse), chosen % len(coarse)
    picked = np.zeros((len(rss), _STARTS), dtype=np.int64)
    left = np.ones(chosen.shape, dtype=np.bool_)
    every = np.arange(len(rss))
    for start in range(_STARTS):
        at = left.argmax(1)
        picked[:, start] = chosen[every, at]
        a, b = first[every, at][:, None], second[every, at][:, None]
        left &= ~(near[a, first] & near[b, second]) & ~(near[a, second] & near[b, first])
    return np.stack([coarse[picked // len(coarse)], coarse[picked % len(coarse)]], 2)


def one_more(pool: Pool, terms: int, block: Block, basis: Basis, starts: int = 3) -> list[Pool]:
    """Return the best ``starts`` models of one term less, with one more."""
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

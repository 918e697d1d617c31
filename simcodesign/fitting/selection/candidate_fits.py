"""The search: weighted least squares of every candidate model for many series together.

All series have the same points, so the columns of candidate terms are made once. What a hypothesis needs of a series
are sums, for example of w x^2 and w x y over the points: for all series and all terms they are three matrix products.
Weights differ from series to series; the sums are linear in them.

``root`` (S, K) are roots of weights, zero where a value is missing, and ``scaled`` (S, K) the values times them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.selection.term_basis import Array, Basis, Index

Flags = NDArray[np.bool_]

#: A column of which less than this is left after projecting out the others contributes nothing of its own.
_SMALLEST = 1e-10
#: Products of matrices with fewer multiplications are done by one thread.
_ONE_THREAD = 200_000


@dataclass(frozen=True)
class Block:
    """Some series: roots of weights and weighted values, both (S, K). ``free``: coefficients may be negative.

    ``exact`` (S,): repeated measurements were all equal (none, unless it is given).
    """

    root: Array
    scaled: Array
    free: bool = False
    exact: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        if not len(self.exact):
            object.__setattr__(self, "exact", np.zeros(len(self.root), dtype=np.bool_))

    @property
    def total(self) -> Array:
        """Weighted sum of squares of the values, (S,)."""
        return np.asarray((self.scaled**2).sum(1))

    def rows(self, index: Index) -> Block:
        """Return the block of these rows."""
        return Block(self.root[index], self.scaled[index], self.free, self.exact[index])


@dataclass(frozen=True)
class Pool:
    """Candidate models of each series: ``terms`` (S, N, T), -1 for none; ``constant`` (S, N); ``rss`` (S, N)."""

    terms: Index
    constant: Flags
    rss: Array

    def sized(self, terms: int) -> Pool:
        """Return the pool with room for ``terms`` terms."""
        missing = terms - self.terms.shape[2]
        return Pool(np.pad(self.terms, ((0, 0), (0, 0), (0, missing)), constant_values=-1), self.constant, self.rss)

    def best(self, order: Array, count: int) -> Pool:
        """Return the ``count`` models lowest in ``order`` (S, N) for each series, best first."""
        chosen = smallest(order, count)
        return Pool(
            np.take_along_axis(self.terms, chosen[:, :, None], 1),
            np.take_along_axis(self.constant, chosen, 1),
            np.take_along_axis(self.rss, chosen, 1),
        )

    def first(self, count: int) -> Pool:
        """Return the first models of each series."""
        return Pool(self.terms[:, :count], self.constant[:, :count], self.rss[:, :count])

    def rows(self, index: Index) -> Pool:
        """Return the pool of these series."""
        return Pool(self.terms[index], self.constant[index], self.rss[index])

    @property
    def size(self) -> Index:
        """How many terms each model has, (S, N)."""
        return np.asarray((self.terms >= 0).sum(2))


def stacked(parts: list[Pool]) -> Pool:
    """Return the candidates of different series, one block after the other."""
    return Pool(
        np.concatenate([part.terms for part in parts]),
        np.concatenate([part.constant for part in parts]),
        np.concatenate([part.rss for part in parts]),
    )


def join(pools: list[Pool]) -> Pool:
    """All candidates of the same series together."""
    size = max(pool.terms.shape[2] for pool in pools)
    pools = [pool.sized(size) for pool in pools]
    return Pool(
        np.concatenate([pool.terms for pool in pools], 1),
        np.concatenate([pool.constant for pool in pools], 1),
        np.concatenate([pool.rss for pool in pools], 1),
    )


def smallest(values: Array, count: int) -> Index:
    """Positions of the smallest values of each row, in ascending order."""
    count = min(count, values.shape[1])
    if count < values.shape[1]:
        part = np.argpartition(values, count - 1, axis=1)[:, :count]
    else:
        part = np.broadcast_to(np.arange(count), values.shape)
    order = np.argsort(np.take_along_axis(values, part, 1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(part, order, 1))


def product(rows: Array, columns: Array) -> Array:
    """rows (S, K) times columns (J, K), (S, J), in blocks so small that the linear algebra library uses one thread.

    With two, waiting for each other on a busy machine took three times as much processor time as the work itself.
    """
    (series, points), total = rows.shape, len(columns)
    width = max(1, min(total, _ONE_THREAD // (series * points)))
    whole = total // width * width
    blocks = columns[:whole].reshape(-1, width, points)
    projections = np.empty((series, total))
    projections[:, :whole] = (rows @ np.swapaxes(blocks, 1, 2)).transpose(1, 0, 2).reshape(series, whole)
    projections[:, whole:] = rows @ columns[whole:].T
    return projections


def constants(block: Block) -> Pool:
    """Return the constant model. Its constant may be negative: there is no better one for values below zero."""
    series = len(block.root)
    unit = _unit(block)
    along = (unit * block.scaled).sum(1)
    rss = np.maximum(block.total - along**2, 0.0)
    return Pool(np.full((series, 1, 0), -1), np.ones((series, 1), dtype=np.bool_), rss[:, None])


def singles(block: Block, basis: Basis) -> tuple[Array, Array]:
    """Residual sums (S, J) of every term with a constant and alone; infinite where a coefficient would be negative."""
    unit = _unit(block)
    along = (unit * block.scaled).sum(1)[:, None]
    squares = product(block.root**2, basis.squares)
    moment = product(block.root * block.scaled, basis.columns)
    mean = product(block.root * unit, basis.columns)
    total = block.total[:, None]
    alone = _less(total, moment, squares, block.free)
    rest = moment - mean * along
    left = squares - mean**2
    np.copyto(left, 0.0, where=left <= _SMALLEST * squares)
    both = _less(total - along**2, rest, left, block.free)
    if not block.free:
        # The constant is positive where what the term leaves of the mean is.
        np.copyto(both, np.inf, where=along * left < mean * rest)
    return both, alone


def _less(total: Array, moment: Array, squares: Array, free: bool) -> Array:
    usable = squares > 0
    if not free:
        usable &= moment > 0
    rss = moment * moment
    np.divide(rss, squares, out=rss, where=usable)
    np.subtract(total, rss, out=rss)
    np.maximum(rss, 0.0, out=rss)
    np.copyto(rss, np.inf, where=~usable)
    return rss


def _unit(block: Block) -> Array:
    """Return the constant column, weighted and of length one."""
    return np.asarray(block.root / np.sqrt((block.root**2).sum(1, keepdims=True)))


def pairs(block: Block, basis: Basis, first: Index, second: Index, constant: bool) -> tuple[Array, Flags]:
    """Residual sums (S, A, B) of all pairs of terms ``first`` (A,) or (S, A) and ``second``, with or without constant.

    A pair of a term with itself is infinite. The flags say where the constant would be negative and may not be.
    """
    a, b = (_centred(block, basis, index, constant) for index in (first, second))
    cross = a.units @ np.swapaxes(b.units, 1, 2)
    u, v = a.moments[:, :, None], b.moments[:, None, :]
    x, y = cross * v, cross * u
    np.subtract(u, x, out=x)
    np.subtract(v, y, out=y)
    np.multiply(cross, cross, out=cross)
    left = np.subtract(1.0, cross, out=cross)
    usable = left > _SMALLEST
    if block.free:
        usable &= (u != 0) & (v != 0)  # columns of zeros
    else:
        usable &= x > 0
        usable &= y > 0
    below = np.zeros(x.shape, dtype=np.bool_)
    if constant and not block.free:
        below = a.along[:, None, None] * left < x * a.means[:, :, None] + y * b.means[:, None, :]
    x *= u
    y *= v
    x += y
    np.copyto(left, 1.0, where=~usable)
    x /= left
    rss = np.maximum(np.subtract(a.total[:, None, None], x, out=x), 0.0, out=x)
    np.copyto(rss, np.inf, where=~usable)
    return rss, below


@dataclass(frozen=True)
class _Centred:
    """Weighted columns less their part along the constant, of length one (S, A, K), and their sums (S, A).

    ``means``: the part along the constant of a unit column; ``along``, ``total``: of the values, and what is left (S,).
    """

    units: Array
    moments: Array
    means: Array
    along: Array
    total: Array


def _centred(block: Block, basis: Basis, index: Index, constant: bool) -> _Centred:
    columns = basis.columns[index] * block.root[:, None, :]
    scaled = block.scaled
    means, along = np.zeros(columns.shape[:2]), np.zeros(len(scaled))
    if constant:
        unit = _unit(block)
        means = (columns @ unit[:, :, None])[:, :, 0]
        along = (unit * scaled).sum(1)
        columns -= means[:, :, None] * unit[:, None, :]
        scaled = scaled - along[:, None] * unit
    squares = np.einsum("sak,sak->sa", columns, columns)
    # A column that is nearly the constant leaves nothing but rounding: it is taken out.
    usable = squares > _SMALLEST * (squares + means**2)
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, squares, 1.0)), 0.0)
    columns *= scale[:, :, None]
    moments = (columns @ scaled[:, :, None])[:, :, 0]
    return _Centred(columns, moments, means * scale, along, (scaled**2).sum(1))


def grown(block: Block, basis: Basis, terms: Index, constant: Flags) -> Array:
    """Residual sums (S, J) of models ``terms`` (S, T), ``constant`` (S,) with one more term of the basis."""
    kept = np.where(terms >= 0, 1.0, 0.0)
    columns = basis.columns[np.maximum(terms, 0)] * kept[:, :, None]
    base = np.concatenate([np.broadcast_to(constant[:, None, None], (len(terms), 1, columns.shape[2])), columns], 1)
    base = base * block.root[:, None, :]
    units, inverse = orthonormal(base)
    along = np.einsum("sqk,sk->sq", units, block.scaled)
    rest = block.scaled - np.einsum("sqk,sq->sk", units, along)
    size = product(block.root**2, basis.squares)
    parts = np.stack([product(block.root * units[:, q], basis.columns) for q in range(units.shape[1])], 1)
    left = size - (parts**2).sum(1)
    moment = product(block.root * rest, basis.columns)
    usable = left > _SMALLEST * size
    np.copyto(left, 1.0, where=~usable)
    step = moment / left
    if not block.free:
        usable &= moment > 0
        before = np.einsum("spq,sqj->spj", inverse, along[:, :, None] - parts * step[:, None, :])
        usable &= (before >= 0).all(1)
    rss = (rest**2).sum(1)[:, None] - moment * step
    return np.where(usable, np.maximum(rss, 0.0), np.inf)


def orthonormal(columns: Array) -> tuple[Array, Array]:
    """Orthonormalise columns (..., q, K) by Gram and Schmidt.

    Unit vectors (..., q, K) and the matrix (..., q, q) that turns coefficients of the unit vectors into coefficients of
    the columns. Columns that add nothing become zero.
    """
    count = columns.shape[-2]
    units = np.zeros_like(columns)
    inverse = np.zeros((*columns.shape[:-1], count))
    for q in range(count):
        vector = columns[..., q, :].copy()
        mixed = np.zeros((*inverse.shape[:-2], count))
        mixed[..., q] = 1.0
        for _ in range(2):  # the second round removes the rounding of the first
            for p in range(q):
                part = (units[..., p, :] * vector).sum(-1)
                vector -= part[..., None] * units[..., p, :]
                mixed -= part[..., None] * inverse[..., :, p]
        length = np.sqrt((vector**2).sum(-1))
        whole = np.sqrt((columns[..., q, :] ** 2).sum(-1))
        scale = np.where(length > 1e-9 * whole, 1.0 / np.where(length > 0, length, 1.0), 0.0)
        units[..., q, :] = vector * scale[..., None]
        inverse[..., :, q] = mixed * scale[..., None]
    return units, inverse


@dataclass(frozen=True)
class Solution:
    """Least squares of many models: coefficients (..., q), residuals and leverages (..., K), both weighted."""

    coefficients: Array
    residuals: Array
    leverages: Array

    @property
    def left_out(self) -> Array:
        """Residual of each point in the model fitted without it, (..., K): r / (1 - h), in closed form."""
        return np.asarray(self.residuals / np.maximum(1.0 - self.leverages, 1e-6))


def solve(columns: Array, scaled: Array) -> Solution:
    """Least squares of ``scaled`` (..., K) on weighted columns (..., q, K); zero columns get coefficient zero."""
    units, inverse = orthonormal(columns)
    along = (units * scaled[..., None, :]).sum(-1)
    residuals = scaled - (along[..., None] * units).sum(-2)
    coefficients = (inverse * along[..., None, :]).sum(-1)
    return Solution(coefficients, residuals, (units**2).sum(-2))

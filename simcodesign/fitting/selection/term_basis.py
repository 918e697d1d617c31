"""The candidate terms of a search as arrays: every product of factors, its values at the points, and its neighbours.

A *shape* is a term without its coefficient. Shapes are rows of three small tables (exponent, logarithm and collective
operation of every parameter), so that any number of them is evaluated together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from simcodesign.core.errors import InputError, nearest
from simcodesign.fitting.collective_shapes import COLLECTIVES
from simcodesign.fitting.normal_form import Factor
from simcodesign.fitting.selection.exponent_sets import ExponentSet

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Products of factors are listed up to this many parameters and products; others are searched factor by factor.
_MAX_PARAMETERS, MAX_SHAPES = 2, 100_000
#: Shapes from which pairs of terms are sought first, and how many neighbours of each are tried then.
COARSE, NEIGHBOURS = 64, 48
#: So many shapes that it pays to look which of their factors are the same.
_REPEATED = 500
#: Number of terms up to which the neighbours of all are looked up together.
_FEW = 5000


@dataclass(frozen=True)
class Shapes:
    """Terms without coefficients: exponents, logs and collectives (index from 1, 0 for none), all (..., m)."""

    exponents: Array
    logs: Array
    collectives: Index

    def take(self, index: Index) -> Shapes:
        """Return these shapes."""
        return Shapes(self.exponents[index], self.logs[index], self.collectives[index])

    @property
    def uses(self) -> NDArray[np.bool_]:
        """Which parameters each shape depends on, (..., m)."""
        return np.asarray((self.exponents != 0) | (self.logs != 0) | (self.collectives != 0))

    def values(self, points: Array) -> Array:
        """Values at points (K, m): (..., K); not a number where a shape is not defined, infinite if it overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._products(points)

    def _products(self, points: Array) -> Array:
        result = np.ones((*self.exponents.shape[:-1], len(points)))
        for axis, x in enumerate(points.T):
            exponents, logs = self.exponents[..., axis], self.logs[..., axis]
            collectives = self.collectives[..., axis]
            if exponents.size < _REPEATED:
                result *= _factors(exponents, logs, collectives, x)
                continue
            # Among many products the same factors occur over and over: each is computed once.
            keys = np.stack([exponents, logs, collectives], -1).reshape(-1, 3).view("f8,f8,f8")[:, 0]
            _, first, places = np.unique(keys, return_index=True, return_inverse=True)
            made = _factors(exponents.reshape(-1)[first], logs.reshape(-1)[first], collectives.reshape(-1)[first], x)
            result *= made[places.reshape(exponents.shape)]
        return result

    def factors(self, parameters: tuple[str, ...], at: int | tuple[int, ...]) -> tuple[Factor, ...]:
        """One shape as factors, parameters that it does not depend on left out."""
        names = ("", *COLLECTIVES)
        exponents = zip(parameters, self.exponents[at], self.logs[at], self.collectives[at], strict=True)
        made = (Factor(name, fraction(float(i)), fraction(float(j)), names[int(c)]) for name, i, j, c in exponents)
        return tuple(factor for factor in made if factor.exponent or factor.log or factor.collective)


def stacked_shapes(parts: Sequence[Shapes]) -> Shapes:
    """Shapes one after the other."""
    return Shapes(
        np.concatenate([part.exponents for part in parts]),
        np.concatenate([part.logs for part in parts]),
        np.concatenate([part.collectives for part in parts]),
    )


def _factors(exponents: Array, logs: Array, collectives: Index, x: Array) -> Array:
    """Factors of one parameter (...) at its values (K,): (..., K)."""
    with np.errstate(all="ignore"):
        result = np.power(x, exponents[..., None])
        if logs.any():
            # 0 to the power 0 is 1: a factor without logarithm is not touched by log2(1) = 0.
            result *= np.power(np.log2(x), logs[..., None])
        for number, shape in enumerate(COLLECTIVES.values(), 1):
            chosen = collectives == number
            if chosen.any():
                result[chosen] *= shape.numeric(x)
    return np.asarray(result)


@lru_cache(maxsize=4096)
def fraction(exponent: float) -> Fraction:
    """Return the simple fraction nearest to a float, or the float itself."""
    simple = Fraction(exponent).limit_denominator(1000)
    return simple if abs(float(simple) - exponent) < 1e-12 else Fraction(exponent)


@dataclass(frozen=True)
class Basis:
    """Candidate terms at K points. ``columns`` (J, K) are scaled by ``scales`` (J,): value = column x scale."""

    points: Array
    shapes: Shapes
    columns: Array
    scales: Array

    @cached_property
    def squares(self) -> Array:
        """Return the squares of the columns."""
        return self.columns**2

    @cached_property
    def uses(self) -> NDArray[np.bool_]:
        """Return which parameters each shape uses."""
        return self.shapes.uses

    @cached_property
    def factors(self) -> Index:
        """How many parameters each term depends on, (J,)."""
        return np.asarray(self.uses.sum(1), dtype=np.int64)

    @cached_property
    def _places(self) -> Array:
        """Where each term lies as a curve: two terms are near if their ratio hardly varies over the points."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.columns, 1e-6 * self.columns.max(1, keepdims=True)))
        logs -= logs.mean(1, keepdims=True)
        _, sizes, axes = np.linalg.svd(logs[:: max(1, len(logs) // 4000)], full_matrices=False)
        kept = sizes > 1e-6 * max(float(sizes[0]), 1e-300)
        return np.asarray(logs @ axes[kept].T)

    @cached_property
    def coarse(self) -> Index:
        """Terms spread over all curves: each is the one farthest from those before it."""
        count = min(COARSE, len(self.columns))
        if count == len(self.columns):
            return np.arange(count)
        chosen = [0]
        distance = np.full(len(self.columns), np.inf)
        squares = (self._places**2).sum(1)
        for _ in range(count - 1):
            last = chosen[-1]
            distance = np.minimum(distance, squares + squares[last] - 2 * self._places @ self._places[last])
            distance[last] = -1.0
            chosen.append(int(distance.argmax()))
        return np.array(sorted(chosen))

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self._places)

    def neighbours(self, index: Index) -> Index:
        """Return the nearest terms of the given ones (A,), themselves first, (A, up to NEIGHBOURS)."""
        if len(self.columns) <= _FEW:
            return self._all_neighbours[index]
        count = min(NEIGHBOURS, len(self.columns))
        which, back = np.unique(index, return_inverse=True)
        neighbours = self._tree.query(self._places[which], k=count)[1]
        return np.asarray(neighbours.reshape(len(which), count)[back.reshape(-1)], dtype=np.int64)

    @cached_property
    def _all_neighbours(self) -> Index:
        count = min(NEIGHBOURS, len(self.columns))
        neighbours = self._tree.query(self._places, k=count)[1]
        return np.asarray(neighbours.reshape(len(self.columns), count), dtype=np.int64)

    @cached_property
    def coarse_near(self) -> NDArray[np.bool_]:
        """Which terms of the coarse set are near each other: one among the neighbours of the other."""
        near = (self.neighbours(self.coarse)[:, :, None] == self.coarse).any(1)
        return np.asarray(near | near.T)


def is_listed(choices: Sequence[int]) -> bool:
    """Whether all products of factors are listed, given the number of ``choices`` for each parameter."""
    return len(choices) <= _MAX_PARAMETERS and math.prod(choices) <= MAX_SHAPES


Choice = tuple[float, float, int]
_NOTHING: Choice = (0.0, 0.0, 0)


def axis_choices(exponents: ExponentSet, collectives: Sequence[str] = ()) -> list[Choice]:
    """Possible factors of one parameter: nothing, a collective operation, powers with logarithms."""
    powers = [(float(i), float(j), 0) for i, j in exponents.pairs]
    names = list(COLLECTIVES)
    for name in collectives:
        if name not in names:
            raise InputError("an unknown collective operation", value=name, allowed=nearest(name, names))
    # Collective operations come first: given by name, they replace a power of the same values.
    alone = [(0.0, 0.0, names.index(name) + 1) for name in collectives]
    return [_NOTHING, *alone, *powers]


def product_of(choices: Sequence[Sequence[Choice]]) -> Shapes:
    """Every product of one choice for each parameter, the constant left out."""
    rows = [row for row in itertools.product(*choices) if any(choice != _NOTHING for choice in row)]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(choices), 3)
    return Shapes(table[..., 0], table[..., 1], table[..., 2].astype(np.int64))


def basis_of(points: Array, shapes: Shapes) -> Basis:
    """Return the shapes that are finite, not negative and not constant over the points.

    The first of any that are equal.
    """
    columns = shapes.values(points)
    with np.errstate(all="ignore"):
        usable = np.isfinite(columns).all(1) & (columns >= 0).all(1) & (columns.max(1) > 0)
        usable &= columns.max(1) < 1e150
        usable &= np.ptp(columns, axis=1) > 1e-9 * columns.max(1)
    kept = np.flatnonzero(usable)
    columns = columns[kept]
    scales = _scales(columns)
    columns = columns / scales[:, None]
    distinct = _distinct(columns)
    return Basis(points, shapes.take(kept[distinct]), np.ascontiguousarray(columns[distinct]), scales[distinct])


def unfiltered_basis_of(points: Array, shapes: Shapes) -> Basis:
    """All of the shapes, which are finite and not zero everywhere."""
    columns = shapes.values(points)
    scales = _scales(columns)
    return Basis(points, shapes, columns / scales[:, None], scales)


def slopes_of(shapes: Shapes, points: Array) -> Array:
    """Powers that grow as the factors do: x^i log2(x)^j as x^(i + j / ln x), where x is the middle of the points."""
    return np.asarray(shapes.exponents + shapes.logs / np.maximum(np.log(points).mean(0), 0.5))


def _scales(columns: Array) -> Array:
    """Return the geometric mean of the smallest and largest positive value: columns of like size."""
    smallest = np.where(columns > 0, columns, np.inf).min(1, initial=np.inf)
    return np.asarray(np.sqrt(smallest) * np.sqrt(columns.max(1, initial=0.0)))


def _distinct(columns: Array) -> Index:
    keys = np.round(columns / columns.max(1, keepdims=True, initial=1e-300), 11)
    return np.sort(np.unique(keys, axis=0, return_index=True)[1]).astype(np.int64)

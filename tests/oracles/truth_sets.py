"""Made-up measurements whose true model is known: the sets on which the selection of models is judged.

Every set is drawn from a named seed. Design decisions are taken on ``TUNING_SEEDS``, figures are reported on
``REPORT_SEEDS`` only. Points are a full grid of five by five: p doubling from 16, n doubling from 64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TUNING_SEEDS = (11, 12, 13)
REPORT_SEEDS = (3301, 3302, 3303)

P = 16.0 * 2.0 ** np.arange(5)
N = 64.0 * 2.0 ** np.arange(5)
GRID = np.array([(p, n) for p in P for n in N])
#: 16 times the largest p and 8 times the largest n.
TARGET = np.array([16 * P[-1], 8 * N[-1]])

#: The (exponent, logarithm) pairs of Extra-P, as numerator, denominator and logarithm.
PAIRS = [
    (a / b, c)
    for a, b, c in (
        (0, 1, 1),
        (0, 1, 2),
        (1, 4, 0),
        (1, 3, 0),
        (1, 4, 1),
        (1, 3, 1),
        (1, 4, 2),
        (1, 3, 2),
        (1, 2, 0),
        (1, 2, 1),
        (1, 2, 2),
        (2, 3, 0),
        (3, 4, 0),
        (2, 3, 1),
        (3, 4, 1),
        (4, 5, 0),
        (2, 3, 2),
        (3, 4, 2),
        (1, 1, 0),
        (1, 1, 1),
        (1, 1, 2),
        (5, 4, 0),
        (5, 4, 1),
        (4, 3, 0),
        (4, 3, 1),
        (3, 2, 0),
        (3, 2, 1),
        (3, 2, 2),
        (5, 3, 0),
        (7, 4, 0),
        (2, 1, 0),
        (2, 1, 1),
        (2, 1, 2),
        (9, 4, 0),
        (7, 3, 0),
        (5, 2, 0),
        (5, 2, 1),
        (5, 2, 2),
        (8, 3, 0),
        (11, 4, 0),
        (3, 1, 0),
        (3, 1, 1),
    )
]
#: p^0 log^0: no dependence at all.
FREE = (0.0, 0)


@dataclass(frozen=True)
class Truth:
    """f = constant + sum of coefficient x (p^i log2(p)^j) (n^k log2(n)^l); exponents as ((i, j), (k, l))."""

    constant: float
    terms: tuple[tuple[float, tuple[tuple[float, float], tuple[float, float]]], ...]

    def __call__(self, points: Array) -> Array:
        points = np.asarray(points, dtype=np.float64)
        return self.constant + sum(coefficient * shape(points, pairs) for coefficient, pairs in self.terms)

    def lead(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The fastest growing factor of each parameter, among the terms."""
        return tuple(max(pairs[axis] for _, pairs in self.terms) for axis in (0, 1))  # type: ignore[return-value]


def shape(points: Array, pairs: tuple[tuple[float, float], ...]) -> Array:
    """The product of powers and logarithms at points (..., m)."""
    result = np.ones(np.shape(points)[:-1])
    for axis, (exponent, log) in enumerate(pairs):
        x = np.asarray(points)[..., axis]
        result = result * x**exponent * np.log2(x) ** log
    return result


def _pair(rng: np.random.Generator) -> tuple[float, float]:
    exponent, log = PAIRS[rng.integers(len(PAIRS))]
    return exponent, float(log)


def _scaled(rng: np.random.Generator, pairs: tuple[tuple[float, float], ...], share: tuple[float, float]) -> float:
    """A coefficient with which the term is 10**share (uniform) at the middle point, where the constant is about 1."""
    middle = GRID[len(GRID) // 2]
    return float(10 ** rng.uniform(*share) / shape(middle, pairs))


def in_space(rng: np.random.Generator) -> Truth:
    """Constant and one product, or constant and a sum of one term in p and one in n."""
    first, second = _pair(rng), _pair(rng)
    constant = 10 ** rng.uniform(-1, 1)
    if rng.random() < 0.5:
        pairs = (first, second)
        return Truth(constant, ((_scaled(rng, pairs, (0, 1.5)), pairs),))
    a, b = (first, FREE), (FREE, second)
    return Truth(constant, ((_scaled(rng, a, (0, 1.5)), a), (_scaled(rng, b, (0, 1.5)), b)))


def product(rng: np.random.Generator) -> Truth:
    """Constant and one product."""
    pairs = (_pair(rng), _pair(rng))
    return Truth(10 ** rng.uniform(-1, 1), ((_scaled(rng, pairs, (0, 1.5)), pairs),))


def two_terms(rng: np.random.Generator) -> Truth:
    """Constant and two products of different exponents."""
    a, b = (_pair(rng), _pair(rng)), (_pair(rng), _pair(rng))
    return Truth(10 ** rng.uniform(-1, 1), ((_scaled(rng, a, (0, 1.5)), a), (_scaled(rng, b, (0, 1.5)), b)))


def off_grid(rng: np.random.Generator) -> Truth:
    """Constant and one product of powers with any exponents between 0.1 and 2.9."""
    pairs = ((float(rng.uniform(0.1, 2.9)), 0.0), (float(rng.uniform(0.1, 2.9)), 0.0))
    return Truth(10 ** rng.uniform(-1, 1), ((_scaled(rng, pairs, (0, 1.5)), pairs),))


def make(
    kind: Callable[[np.random.Generator], Truth], count: int, noise: float, repetitions: int, seed: int
) -> tuple[list[Truth], Array]:
    """``count`` truths and measurements (count, 25, repetitions) with independent relative noise."""
    rng = np.random.default_rng(seed)
    truths = [kind(rng) for _ in range(count)]
    exact = np.array([truth(GRID) for truth in truths])
    factors = 1 + noise * rng.standard_normal((*exact.shape, repetitions))
    return truths, exact[:, :, None] * factors

"""How an amount depends on the index of a loop, as far as its formula shows.

As a polynomial, or as a constant and a geometric term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.analytic.group_sizes import GroupSize, size_names
from simcodesign.core.expressions.expression import (
    Call,
    Comparison,
    Expression,
    Name,
    Negation,
    Node,
    Number,
    Operation,
)
from simcodesign.core.expressions.interval import Interval, bounds, point
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.evaluation import MOST_AT_ONCE, EvaluatedStep


@dataclass(frozen=True)
class Ratio:
    """Growth of a term ``base ** exponent``, whose exponent is linear in the index: from one iteration to the next."""

    base: Node
    exponent: Node

    def value(self, names: Mapping[str, FloatOrArray], index: str) -> FloatOrArray:
        """Its value for these names."""
        known = {name: np.asarray(value, dtype=np.float64) for name, value in names.items()}
        first, second = (self.exponent.evaluate({**known, index: np.asarray(k)}) for k in (0.0, 1.0))
        ratio: FloatOrArray = np.asarray(self.base.evaluate(known)) ** (second - first)
        return ratio


@dataclass(frozen=True)
class Shape:
    """A polynomial of at most this degree; or, with a ``ratio``, A + B ratio^k."""

    degree: int
    ratio: Ratio | None = None

    @staticmethod
    def of(node: Node | None, index: str) -> Shape | None:
        """Return the shape of a formula; None if it is neither. Without a formula: constant."""
        match node:
            case None | Number():
                return CONSTANT
            case Name(name):
                return Shape(1) if name == index else CONSTANT
            case Negation(operand):
                return Shape.of(operand, index)
            case Operation(symbol, left, right):
                return _of_operation(symbol, left, right, index)
            case Comparison(_, parts) | Call(_, parts):
                return CONSTANT if all(Shape.of(part, index) == CONSTANT for part in parts) else None
        return None

    def __add__(self, other: Shape) -> Shape | None:
        """Shape of a sum."""
        if self.ratio == other.ratio:
            return Shape(max(self.degree, other.degree), self.ratio)
        if self == CONSTANT:
            return other
        return self if other == CONSTANT else None

    def __mul__(self, other: Shape) -> Shape | None:
        """Shape of a product."""
        if self.ratio is None and other.ratio is None:
            return Shape(self.degree + other.degree)
        if self == CONSTANT:
            return other
        return self if other == CONSTANT else None


CONSTANT = Shape(0)


def product(*factors: Shape | None) -> Shape | None:
    """Return the shape of a product."""
    shape: Shape | None = CONSTANT
    for factor in factors:
        shape = None if shape is None or factor is None else shape * factor
    return shape


def total(*terms: Shape | None) -> Shape | None:
    """Return the shape of a sum."""
    shape: Shape | None = CONSTANT
    for term in terms:
        shape = None if shape is None or term is None else shape + term
    return shape


def _of_operation(symbol: str, left: Node, right: Node, index: str) -> Shape | None:
    one, other = Shape.of(left, index), Shape.of(right, index)
    if one is None or other is None:
        return None
    if one == other == CONSTANT:
        return CONSTANT
    if symbol in ("+", "-"):
        return one + other
    if symbol == "*":
        return one * other
    if symbol == "/":
        return one if other == CONSTANT else None
    if symbol == "**" and other == CONSTANT and one.ratio is None:
        return _power(one, right)
    if symbol == "**" and one == CONSTANT and other == Shape(1):
        return Shape(0, Ratio(left, right))
    return None


def _power(base: Shape, exponent: Node) -> Shape | None:
    """Return a polynomial raised to a literal integer."""
    if not isinstance(exponent, Number) or exponent.value < 0 or exponent.value != int(exponent.value):
        return None
    return Shape(base.degree * int(exponent.value))


@dataclass(frozen=True)
class IndexedLoop:
    """A loop: its ``index``, and ``count`` (...), how many iterations it has at every design point."""

    index: str
    count: NDArray[np.float64]

    def is_linear(
        self, price: Callable[[FloatOrArray], FloatOrArray], size: Expression, names: Mapping[str, FloatOrArray]
    ) -> bool:
        """Whether a convex price is linear between bounds of all sizes in the loop, at every design point."""
        known = {name: point(np.asarray(names[name])) for name in size.names if name != self.index}
        last = np.maximum(self.count - 1.0, 0.0)
        within = bounds(size, {**known, self.index: Interval(np.zeros_like(last), last)})
        low, high = np.maximum(within.low, 0.0), within.high
        at_low, at_high, between = (np.asarray(price(one)) for one in (low, high, (low + high) / 2))
        return bool(np.all(np.abs(at_low + at_high - 2 * between) <= 1e-12 * np.abs(at_high)))  # not of what is NaN

    def has_roots(self, step: EvaluatedStep, root: Expression | None, groups: Sequence[GroupSize]) -> bool:
        """Whether the roots of all iterations are known to be ranks of their groups."""
        if root is None or self.index not in root.names:
            return True
        if "rank" in root.names:
            return False
        names = {name: step.evaluation.names.get(name, 1.0) for name in root.names - {self.index}}
        axes = np.broadcast_shapes(*(np.shape(value) for value in names.values()))
        every = np.arange(self.count.max(initial=0.0)).reshape(-1, *(1 for _ in axes))
        if every.size * int(np.prod(axes, initial=1.0)) > MOST_AT_ONCE:
            return False
        for one in groups:
            value = np.asarray(root.evaluate({**names, **size_names(step, one), self.index: every}))
            within = (value >= 0) & (value < np.min(one.ranks, where=np.asarray(one.count) > 0, initial=np.inf))
            if not np.all(within & (value == np.floor(value))):
                return False
        return True

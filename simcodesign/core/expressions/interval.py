"""Interval arithmetic over the trees of expressions: bounds that hold at every point of a box, not only at samples.

Bounds are rounded outwards, so that they hold for the real value and for the value that ``Expression.evaluate``
computes:
by one unit in the last place if IEEE 754 rounds correctly (none if a result is known to be exact), by
``LIBRARY_ULPS`` after functions of a library. If a value may be infinite or undefined, or the kind of node is unknown,
both bounds are NaN: nothing is known. Bounds that use a name twice are wider than necessary (x - x is not 0), and
shrink with the box.

Source: Moore, Kearfott and Cloud, Introduction to Interval Analysis (2009), chapters 2 to 5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

Floats = NDArray[np.float64]
#: Bounds of a function at a point.
Bounded = Callable[[Floats, Floats], tuple[Floats, Floats]]

#: Units in the last place by which a function of a library may be off. NumPy's are within 1 to 4.
LIBRARY_ULPS = 8


@dataclass(frozen=True)
class Interval:
    """``low`` and ``high`` of any shape, both NaN if nothing is known."""

    low: Floats
    high: Floats

    @property
    def is_point(self) -> NDArray[np.bool_]:
        """If there is one value only."""
        return np.asarray(self.low == self.high)

    @property
    def has_zero(self) -> NDArray[np.bool_]:
        """Where 0 is not excluded."""
        return np.asarray(~((self.low > 0) | (self.high < 0)))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        ends = _added(self.low, other.low), _added(self.high, other.high)
        return _known(ends[0][0], ends[1][1])

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        return _of_corners(_multiplied, self, other)

    def __truediv__(self, other: Interval) -> Interval:
        return _of_corners(_divided, self, _known_where(~other.has_zero, other))

    def __abs__(self) -> Interval:
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        smallest = np.minimum(np.abs(self.low), np.abs(self.high))
        return Interval(np.where(self.has_zero & ~np.isnan(largest), 0.0, smallest), largest)


def point(value: float | Floats) -> Interval:
    """Return the interval of one value."""
    array = np.asarray(value, dtype=np.float64)
    return _known_where(np.isfinite(array), Interval(array, array))


def bounds(expression: Expression, intervals: Mapping[str, Interval]) -> Interval:
    """Bounds of an expression whose names lie in these intervals, arrays that broadcast.

    Names that are missing are unknown.
    """
    with np.errstate(all="ignore"):
        return _bounds(expression.tree, intervals)


def bounds_of(
    formulas: Mapping[str, Expression], order: Sequence[str], names: Mapping[str, Interval]
) -> dict[str, Interval]:
    """Bounds of formulas that may use the names and, in this order, each other."""
    known = dict(names)
    for name in order:
        known[name] = bounds(formulas[name], known)
    return {name: known[name] for name in order}


def _bounds(node: Node, intervals: Mapping[str, Interval]) -> Interval:
    match node:
        case Number(value):
            return point(value)
        case Name(name):
            return intervals.get(name, UNKNOWN)
        case Negation(operand):
            return -_bounds(operand, intervals)
        case Operation(symbol, left, right):
            return _OPERATIONS[symbol](_bounds(left, intervals), _bounds(right, intervals))
        case Comparison(symbols, operands):
            return _compared(symbols, [_bounds(operand, intervals) for operand in operands])
        case Call(function, arguments):
            return _FUNCTIONS[function](*[_bounds(argument, intervals) for argument in arguments])
    return UNKNOWN


UNKNOWN = Interval(np.asarray(np.nan), np.asarray(np.nan))


def _known_where(known: NDArray[np.bool_], interval: Interval) -> Interval:
    return Interval(np.where(known, interval.low, np.nan), np.where(known, interval.high, np.nan))


def _known(low: Floats, high: Floats) -> Interval:
    return _known_where(np.isfinite(low) & np.isfinite(high), Interval(low, high))


def _around(value: Floats, exact: NDArray[np.bool_] | bool = False, ulps: int = 1) -> tuple[Floats, Floats]:
    """Return bounds of a rounded value. An exact value is not widened."""
    low = high = value
    for _ in range(ulps):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return np.where(exact, value, low), np.where(exact, value, high)


def _added(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Bounds of a sum; its rounding error is known (Knuth's TwoSum)."""
    total = a + b
    part = total - a
    return _around(total, (a - (total - part)) + (b - part) == 0)


def _multiplied(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Bounds of a product; of whole numbers it is exact up to 2^53, and so is 0."""
    product = a * b
    whole = (a == np.rint(a)) & (b == np.rint(b)) & (np.abs(product) < 2.0**53)
    return _around(product, whole | (a == 0) | (b == 0))


def _divided(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Bounds of a quotient. An integer quotient of integers is exact if its product gives the dividend back."""
    quotient = a / b
    whole = (b == np.rint(b)) & (quotient == np.rint(quotient)) & (np.abs(a) < 2.0**53) & (quotient * b == a)
    return _around(quotient, whole | (a == 0))


def _raised(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    return _around(np.power(a, b), ulps=LIBRARY_ULPS)


def _of_corners(function: Bounded, a: Interval, b: Interval) -> Interval:
    """Return bounds of a function that is monotone in each argument while the other one is constant.

    Extremes are at corners.
    """
    corners = [function(one, other) for one in (a.low, a.high) for other in (b.low, b.high)]
    low, high = [corner[0] for corner in corners], [corner[1] for corner in corners]
    return _known(functools.reduce(np.minimum, low), functools.reduce(np.maximum, high))


def _floor_divided(a: Interval, b: Interval) -> Interval:
    return _rounded(np.floor)(a / b)


def _remainder(a: Interval, b: Interval) -> Interval:
    """Between 0 and the divisor; a - b q where the quotient q is the same throughout."""
    quotient = _floor_divided(a, b)
    rest = a - b * quotient
    between = _known_where(~np.isnan(quotient.low), Interval(np.minimum(b.low, 0.0), np.maximum(b.high, 0.0)))
    same = quotient.is_point & ~np.isnan(rest.low)
    return Interval(
        np.where(same, np.maximum(rest.low, between.low), between.low),
        np.where(same, np.minimum(rest.high, between.high), between.high),
    )


def _power(base: Interval, exponent: Interval) -> Interval:
    """Bounds of a power: any base with an integer exponent (no 0 if it is negative), a positive base with any other."""
    whole = exponent.is_point & (exponent.low == np.floor(exponent.low))
    size = abs(base)
    even = whole & (exponent.low % 2 == 0)
    base = Interval(np.where(even, size.low, base.low), np.where(even, size.high, base.high))
    known = np.where(exponent.low > 0, whole | (base.low >= 0), (base.low > 0) | (whole & ~base.has_zero))
    return _of_corners(_raised, _known_where(known, base), exponent)


def _compared(symbols: tuple[str, ...], operands: list[Interval]) -> Interval:
    """Return 1 if all comparisons certainly hold, 0 if any certainly fails, otherwise (also if unknown) 0 to 1."""
    low, high = np.asarray(1.0), np.asarray(1.0)
    for symbol, a, b in zip(symbols, operands, operands[1:], strict=False):
        holds, fails = _certain(symbol, a, b)
        low, high = np.where(holds, low, 0.0), np.where(fails, 0.0, high)
    return Interval(low, high)


def _certain(symbol: str, a: Interval, b: Interval) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for which points ``a symbol b`` certainly holds, and for which it certainly fails."""
    apart = (a.high < b.low) | (b.high < a.low)
    equal = a.is_point & b.is_point & (a.low == b.low)
    match symbol:
        case "<":
            return a.high < b.low, a.low >= b.high
        case "<=":
            return a.high <= b.low, a.low > b.high
        case ">":
            return a.low > b.high, a.high <= b.low
        case ">=":
            return a.low >= b.high, a.high < b.low
        case "==":
            return equal, apart
    return apart, equal


def _rising(function: Callable[[Floats], Floats], above: float = -np.inf) -> Callable[..., Interval]:
    """Interval version of an increasing library function, for arguments above ``above``."""

    def apply(a: Interval) -> Interval:
        inside = _known_where(a.low > above, a)
        low, high = (_around(function(end), ulps=LIBRARY_ULPS) for end in (inside.low, inside.high))
        return _known(low[0], high[1])

    return apply


def _rounded(function: Callable[[Floats], Floats]) -> Callable[..., Interval]:
    """Interval version of an increasing function whose results are exact."""
    return lambda a: Interval(function(a.low), function(a.high))


def _square_root(a: Interval) -> Interval:
    inside = _known_where(a.low >= 0, a)
    low, high = (_around(np.sqrt(end), end == 0) for end in (inside.low, inside.high))
    return _known(low[0], high[1])


def _smallest(*intervals: Interval) -> Interval:
    low, high = ([getattr(one, end) for one in intervals] for end in ("low", "high"))
    return Interval(functools.reduce(np.minimum, low), functools.reduce(np.minimum, high))


def _largest(*intervals: Interval) -> Interval:
    return -_smallest(*[-one for one in intervals])


def where(condition: NDArray[np.bool_], a: Interval, b: Interval) -> Interval:
    """Return ``a`` where the condition holds, ``b`` elsewhere."""
    return Interval(np.where(condition, a.low, b.low), np.where(condition, a.high, b.high))


def _where(condition: Interval, a: Interval, b: Interval) -> Interval:
    holds, fails = ~condition.has_zero, (condition.low == 0) & (condition.high == 0)
    either = Interval(np.minimum(a.low, b.low), np.maximum(a.high, b.high))
    return where(holds, a, where(fails, b, either))


_OPERATIONS: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "+": Interval.__add__,
    "-": Interval.__sub__,
    "*": Interval.__mul__,
    "/": Interval.__truediv__,
    "//": _floor_divided,
    "%": _remainder,
    "**": _power,
}
_FUNCTIONS: Mapping[str, Callable[..., Interval]] = {
    "log2": _rising(np.log2, above=0.0),
    "log": _rising(np.log, above=0.0),
    "log10": _rising(np.log10, above=0.0),
    "exp": _rising(np.exp),
    "sqrt": _square_root,
    "cbrt": _rising(np.cbrt),
    "ceil": _rounded(np.ceil),
    "floor": _rounded(np.floor),
    "round": _rounded(np.rint),
    "abs": Interval.__abs__,
    "min": _smallest,
    "max": _largest,
    "where": _where,
}

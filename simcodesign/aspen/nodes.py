"""Parts of Aspen expressions that the formulas of this package lack, and expressions as text.

The nodes evaluate as in ``core.expressions.expression``: on float64 numbers or on arrays that broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import (
    Call,
    Comparison,
    Expression,
    Name,
    Negation,
    Node,
    Number,
    Operation,
    Value,
    Values,
)
from simcodesign.core.expressions.expression import parse as parse_native

#: The SI words, which are numbers.
SI_WORDS: Mapping[str, float] = MappingProxyType(
    {
        "nano": 1e-9,
        "micro": 1e-6,
        "milli": 1e-3,
        "kilo": 1e3,
        "mega": 1e6,
        "giga": 1e9,
        "tera": 1e12,
        "peta": 1e15,
        "exa": 1e18,
    }
)
#: The name under which the values hold a source of random numbers; without one, draws are their means.
DRAWS = "random draws"


@dataclass(frozen=True, eq=False)
class Table:
    """An array (one row) or a table, whose rows may differ in length: they are padded with nan."""

    values: NDArray[np.float64]
    lengths: NDArray[np.int64]
    is_table: bool

    @classmethod
    def of(cls, rows: Iterable[Iterable[float]], is_table: bool) -> Table:
        """Return the table with these rows, or with one row if not ``is_table``."""
        listed = [list(row) for row in rows]
        lengths = np.array([len(row) for row in listed])
        values = np.full((len(listed), lengths.max()), np.nan)
        for row, numbers in enumerate(listed):
            values[row, : len(numbers)] = numbers
        return cls(values, lengths, is_table)

    def row(self) -> NDArray[np.float64]:
        """Return the first row."""
        first: NDArray[np.float64] = self.values[0]
        return first


@dataclass(frozen=True, slots=True)
class Item:
    """``name[i]`` or ``name[i][j]``, counted from 0; what follows the point of an index is cut off."""

    name: str
    indices: tuple[Node, ...]
    place: Place

    def evaluate(self, values: Values) -> Value:
        """Evaluate one element of the table. Raises InputError for an index that it does not have."""
        table = _table(values, self.name, self.place)
        if len(self.indices) != 1 + table.is_table:
            allowed = f"{self.name}[..][..]" if table.is_table else f"{self.name}[..]"
            raise InputError(f"{self.name} is used with {len(self.indices)} indices", self.place, allowed=allowed)
        *first, last = [index.evaluate(values) for index in self.indices]
        row: Any = self._whole(first[0], len(table.lengths)) if first else np.int64(0)
        column = self._whole(last, table.lengths[row])
        item: Value = table.values[row, column]
        return item

    def _whole(self, index: Value, length: Any) -> Any:
        cut = np.trunc(index)
        wrong = ~((cut >= 0) & (cut < length))
        if np.any(wrong):
            first = np.broadcast_to(cut, np.shape(wrong))[wrong].flat[0]
            fewest = int(np.min(length))
            raise InputError(
                f"index {first:g} is outside the array {self.name}", self.place, allowed=f"0 to {fewest - 1}"
            )
        return cut.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Lookup:
    """``lookup(values, keys, x)``: the values between the keys by straight lines, held constant beyond them."""

    values: str
    keys: str
    argument: Node
    place: Place

    def evaluate(self, values: Values) -> Value:
        """Evaluate by linear interpolation between the points."""
        points, keys = _rising(values, self.values, self.keys, self.place)
        between: Any = np.interp(self.argument.evaluate(values), keys, points)
        return between[()]  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Uniform:
    """A draw from a uniform distribution; its mean without a source of random numbers."""

    low: Node
    high: Node

    def evaluate(self, values: Values) -> Value:
        """Draw a uniformly distributed value."""
        low, high = self.low.evaluate(values), self.high.evaluate(values)
        return low + (high - low) * _chance(values)


@dataclass(frozen=True, slots=True)
class Normal:
    """A draw from a normal distribution; its mean without a source of random numbers."""

    mean: Node
    deviation: Node

    def evaluate(self, values: Values) -> Value:
        """Draw a normally distributed value."""
        draw: Value = ndtri(_chance(values))
        return self.mean.evaluate(values) + self.deviation.evaluate(values) * draw


@dataclass(frozen=True, slots=True)
class Distribution:
    """``cdf(values, probabilities)``: a draw from the distribution whose cumulative probabilities these are."""

    values: str
    probabilities: str
    place: Place

    def evaluate(self, values: Values) -> Value:
        """Draw a value by the cumulative probabilities of the points."""
        points, cumulative = _rising(values, self.values, self.probabilities, self.place)
        if cumulative[0] < 0 or abs(cumulative[-1] - 1) > 1e-9:
            raise InputError(
                f"{self.probabilities} must contain cumulative probabilities", self.place, allowed="from 0 up to 1"
            )
        if DRAWS in values:
            draw: Any = np.interp(_chance(values), cumulative, points)
            return draw[()]  # type: ignore[no-any-return]
        between = np.diff(cumulative) * (points[1:] + points[:-1]) / 2
        return np.float64(cumulative[0] * points[0] + between.sum())


def _chance(values: Values) -> Value:
    """Return a random number between 0 and 1; 0.5 without a source of random numbers."""
    source: Any = values.get(DRAWS)
    return np.float64(0.5) if source is None else source()


def _table(values: Values, name: str, place: Place) -> Table:
    table: Any = values[name]
    if not isinstance(table, Table):
        raise InputError(f"{name} is a number, not an array", place, allowed=f"{name} without brackets")
    return table


def _rising(values: Values, name: str, keys: str, place: Place) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two arrays of one length, the second in rising order."""
    table, ordered = _table(values, name, place), _table(values, keys, place)
    if table.is_table or ordered.is_table or table.lengths[0] != ordered.lengths[0]:
        raise InputError(
            f"{name} and {keys} must be arrays of the same length", place, allowed="one value for each key"
        )
    if np.any(np.diff(ordered.row()) <= 0):
        raise InputError(f"the numbers of {keys} do not rise", place, allowed="numbers in rising order")
    return table.row(), ordered.row()


# --- as text ----------------------------------------------------------------------------------------------------

_SUM, _PRODUCT, _SIGNED, _POWER, _ATOM = range(1, 6)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}


def aspen_text(node: Node) -> str:
    """Return the expression in Aspen, with no more brackets than it needs."""
    return _text(node, _SUM, "^")


def native(expression: Expression) -> Expression:
    """Return the formula in the native language of this package (``**`` for ``^``), for SymPy and LaTeX.

    Raises InputError for what that language lacks: arrays, ``lookup``, draws, names with a point.
    """
    return parse_native(_text(expression.tree, _SUM, "**", native_only=True), expression.place)


def _text(node: Node, level: int, power: str, native_only: bool = False) -> str:
    """Return the text of a node, in brackets if its level is below ``level``."""
    own, text = _levelled(node, power, native_only)
    return text if own >= level else f"({text})"


def _levelled(node: Node, power: str, native_only: bool) -> tuple[int, str]:
    def text(part: Node, level: int = _SUM) -> str:
        return _text(part, level, power, native_only)

    match node:
        case Number(value):
            return _ATOM, _number(value)
        case Name(name):
            return _ATOM, name
        case Negation(operand):
            return _SIGNED, f"-{text(operand, _SIGNED)}"
        case Operation("**", left, right):
            return _POWER, f"{text(left, _ATOM)}{power}{text(right, _SIGNED)}"
        case Operation(symbol, left, right):
            own = _LEVELS[symbol]
            return own, f"{text(left, own)} {symbol} {text(right, own + 1)}"
        case Call(function, arguments):
            return _ATOM, f"{function}({', '.join(text(argument) for argument in arguments)})"
        case Comparison(symbols, (left, right)):
            return 0, f"{text(left)} {symbols[0]} {text(right)}"
    if native_only:
        allowed = "numbers, names, operators and functions"
        raise InputError(f"no native formula of {_levelled(node, '^', False)[1]}", allowed=allowed)
    return _ATOM, _own_text(node, text)


def _own_text(node: Node, text: Any) -> str:
    match node:
        case Item(name, indices):
            return name + "".join(f"[{text(index)}]" for index in indices)
        case Lookup(values, keys, argument):
            return f"lookup({values}, {keys}, {text(argument)})"
        case Uniform(low, high):
            return f"uniform({text(low)}, {text(high)})"
        case Normal(mean, deviation):
            return f"normal({text(mean)}, {text(deviation)})"
        case Distribution(values, probabilities):
            return f"cdf({values}, {probabilities})"
    raise AssertionError(node)


def _number(value: np.float64) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and number < 1e16 else repr(number)

"""Where something holds, in words: a condition on a few coordinates that is true at exactly these points.

A condition is one of these, the first that fits:

- a *box* (an interval of each coordinate, or a set of its words) or all but a box. The smallest box around the points
  where something holds lies in every other one that covers them: if a point at which it fails lies in it, no box
  fits. Sides of the box that keep nothing out are dropped: as few are left as possible;
- a limit of the product or quotient of two coordinates;
- a *staircase* of a few steps: with two numeric coordinates, where something that holds at one point holds at all
  those that are further in one direction of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise
from operator import and_, or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import DIMENSIONS, parse_quantity, shortest_quantity

#: A condition of more sides than these is not simple.
MOST_SIDES = 4
#: A staircase of more steps than these is not simple.
MOST_STEPS = 3
#: Number of sides above which none are chosen.
_MAX_SEARCHED = 60
#: Products and quotients that agree to this many digits are one value.
_DIGITS = 12
_OPPOSITE = {"<=": ">=", ">=": "<="}
_DIMENSION_OF = {unit: dimension for dimension, unit in DIMENSIONS.items()}
Values = NDArray[np.float64] | NDArray[np.object_]
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Coordinate:
    """A possible subject of a condition: its value at every point, (points,), numbers in the SI ``unit`` or words."""

    name: str
    values: Values
    unit: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.values.dtype.kind == "f"


@dataclass(frozen=True)
class Limit:
    """A limit ``name <= value`` or ``name >= value``.

    The outermost value at which it holds, and ``beyond``, the nearest simulated one at which it does not. Any threshold
    from the one to the other is as true.
    """

    name: str
    sign: str
    value: float
    beyond: float
    unit: str = ""

    def holds(self, values: Values) -> Truth:
        """Whether it is true at each of these values of its coordinate."""
        numbers = values.astype(np.float64)
        return np.asarray(numbers <= self.value if self.sign == "<=" else numbers >= self.value)

    def opposite(self) -> Limit:
        """Return the negation."""
        return Limit(self.name, _OPPOSITE[self.sign], self.beyond, self.value, self.unit)

    @property
    def amount(self) -> str:
        """The threshold in words, with as many digits as it takes to be true of the simulated values on both sides."""
        dimension = _DIMENSION_OF.get(self.unit, "count")
        for digits in range(4, 17):
            text = shortest_quantity(self.value, dimension, digits)
            stated = parse_quantity(text, dimension)
            if (self.value <= stated < self.beyond) if self.sign == "<=" else (self.beyond < stated <= self.value):
                return text
        return shortest_quantity(self.value, dimension, 17)

    @property
    def beyond_text(self) -> str:
        """``m = 64 KiB``: the nearest simulated value at which it does not hold."""
        dimension = _DIMENSION_OF.get(self.unit, "count")
        texts = (shortest_quantity(self.beyond, dimension, digits) for digits in range(4, 18))
        return f"{self.name} = {next((text for text in texts if text != self.amount), self.amount)}"

    @property
    def text(self) -> str:
        """``m <= 32 KiB``."""
        return f"{self.name} {self.sign} {self.amount}"

    def json_fields(self) -> dict[str, Any]:
        """Its fields and text."""
        return {"name": self.name, "sign": self.sign, "value": self.value, "beyond": self.beyond, "text": self.text}


@dataclass(frozen=True)
class Choice:
    """``name`` is one of ``words``, and none of ``others``."""

    name: str
    words: tuple[str, ...]
    others: tuple[str, ...]

    def holds(self, values: Values) -> Truth:
        """Whether it is true at each of these values of its coordinate."""
        return np.isin(values.astype(str), self.words)

    def opposite(self) -> Choice:
        """Return the negation."""
        return Choice(self.name, self.others, self.words)

    @property
    def text(self) -> str:
        """``network.topology.kind is mesh or torus``."""
        return f"{self.name} is {' or '.join(self.words)}"

    def json_fields(self) -> dict[str, Any]:
        """Its fields and text."""
        return {"name": self.name, "words": self.words, "others": self.others, "text": self.text}


Side = Limit | Choice


@dataclass(frozen=True)
class Condition:
    """True if all sides of any box are: one box, all but one (as boxes of one side), or a staircase."""

    any_of: tuple[tuple[Side, ...], ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        """Sides of all boxes."""
        return tuple(side for box in self.any_of for side in box)

    def holds(self, coordinates: Sequence[Coordinate]) -> Truth:
        """Whether it is true at each point of these coordinates: (points,)."""
        values: Mapping[str, Values] = {one.name: one.values for one in coordinates}
        return reduce(or_, (reduce(and_, (side.holds(values[side.name]) for side in box)) for box in self.any_of))

    @property
    def text(self) -> str:
        """``1 KiB <= m <= 32 KiB and P <= 64``, ``m <= 1 KiB or P <= 4``, ``P <= 4, or P <= 16 and m >= 1 KiB``."""
        several = any(len(box) > 1 for box in self.any_of)
        return (", or " if several else " or ").join(_box_text(box) for box in self.any_of)

    def json_fields(self) -> dict[str, Any]:
        """Its text and boxes."""
        return {"text": self.text, "any_of": self.any_of}


def _box_text(box: Sequence[Side]) -> str:
    """All of these sides, both of an interval in one."""
    parts: dict[str, str] = {}
    for side in box:
        if side.name in parts and isinstance(side, Limit):  # the upper side of an interval follows its lower one
            lower = next(one for one in box if one.name == side.name)
            assert isinstance(lower, Limit)
            one_value = lower.value == side.value
            parts[side.name] = f"{side.name} = {side.amount}" if one_value else f"{lower.amount} <= {side.text}"
        else:
            parts[side.name] = side.text
    return " and ".join(parts.values())


def condition_of(coordinates: Sequence[Coordinate], holds: Truth) -> Condition | None:
    """Return a condition that is true at exactly the points where ``holds`` is, (points,).

    None where no simple one is, and and if it holds everywhere or nowhere.
    """
    if holds.all() or not holds.any():
        return None
    found = box_condition(coordinates, holds)
    for combined in () if found is not None else _products(coordinates):
        if (found := box_condition([combined], holds)) is not None and len(found.sides) == 1:
            return found
        found = None
    return found or staircase(coordinates, holds)


def box_condition(coordinates: Sequence[Coordinate], holds: Truth) -> Condition | None:
    """Return a box that is true at exactly these points, or all but one, with the fewest sides.

    If several have as few, the box, and the coordinates that come first. None where no box of up to ``MOST_SIDES``
    sides is.
    """
    box, rest = _box(coordinates, holds), _box(coordinates, ~holds)
    if rest is not None and (box is None or len(rest) < len(box)):
        return Condition(tuple((side.opposite(),) for side in rest))
    return None if box is None else Condition((box,))


def staircase(coordinates: Sequence[Coordinate], holds: Truth) -> Condition | None:
    """Return up to ``MOST_STEPS`` quadrants of two coordinates that are true at exactly these points.

    All open in the same direction; of several directions that with the fewest sides. None if there are none.
    """
    if len(coordinates) != 2 or not all(one.is_numeric for one in coordinates) or holds.all() or not holds.any():
        return None
    directions = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
    found = [steps for signs in directions if (steps := _steps(coordinates, signs, holds))]
    return Condition(min(found, key=lambda steps: sum(map(len, steps)))) if found else None


def _steps(
    coordinates: Sequence[Coordinate], signs: tuple[float, float], holds: Truth
) -> tuple[tuple[Limit, ...], ...] | None:
    """Return the quadrants that open where the coordinates, times their signs, are larger."""
    x, y = (sign * one.values.astype(np.float64) for sign, one in zip(signs, coordinates, strict=True))
    order = np.lexsort((y, ~holds, x))  # for each x, the points at which it holds come first
    x, y, held = x[order], y[order], holds[order]
    reached = np.minimum.accumulate(np.where(held, y, np.inf))  # the least y at which it holds, up to this x
    if np.any(~held & (y >= reached)):
        return None
    corners = np.flatnonzero(reached < np.concatenate([[np.inf], reached[:-1]]))
    if len(corners) > MOST_STEPS:
        return None
    every = [_limits(one, sign) for one, sign in zip(coordinates, signs, strict=True)]
    quadrants = ([every[0].get(x[at]), every[1].get(y[at])] for at in corners.tolist())
    return tuple(tuple(side for side in quadrant if side is not None) for quadrant in quadrants)


def _limits(one: Coordinate, sign: float) -> dict[float, Limit]:
    """For each value of a coordinate, times the sign, but the least: from there on."""
    distinct = np.unique(sign * one.values.astype(np.float64)).tolist()
    word = ">=" if sign > 0 else "<="
    return {at: Limit(one.name, word, sign * at, sign * before, one.unit) for before, at in pairwise(distinct)}


def _box(coordinates: Sequence[Coordinate], inside: Truth) -> tuple[Side, ...] | None:
    """Return the sides of the smallest box around the points inside that are needed to keep all others out.

    None where they do not, or are too many, or where either are no points.
    """
    if inside.all() or not inside.any():
        return None
    sides = [side for one in coordinates for side in _sides(one, inside)]
    if len(sides) > _MAX_SEARCHED:
        return None
    # For each point outside, the sides that keep it out, as the bits of a number.
    kept_out = np.zeros(int(np.count_nonzero(~inside)), dtype=np.int64)
    values = {one.name: one.values[~inside] for one in coordinates}
    for bit, side in enumerate(sides):
        kept_out |= (~side.holds(values[side.name])).astype(np.int64) << bit
    patterns = np.unique(kept_out)
    if not patterns[0]:
        return None
    for size in range(1, min(MOST_SIDES, len(sides)) + 1):
        for chosen in combinations(range(len(sides)), size):
            if np.all(patterns & sum(1 << bit for bit in chosen)):
                return tuple(sides[bit] for bit in chosen)
    return None


def _sides(coordinate: Coordinate, inside: Truth) -> list[Side]:
    """Return the sides of the smallest box on one coordinate, as far as there are points beyond them."""
    name, values = coordinate.name, coordinate.values
    if not coordinate.is_numeric:
        words, others = (tuple(dict.fromkeys(values[which].tolist())) for which in (inside, ~inside))
        others = tuple(word for word in others if word not in words)
        return [Choice(name, words, others)] if others else []
    low, high = float(values[inside].min()), float(values[inside].max())
    below, above = values[values < low], values[values > high]
    sides: list[Side] = []
    if len(below):
        sides.append(Limit(name, ">=", low, float(below.max()), coordinate.unit))
    if len(above):
        sides.append(Limit(name, "<=", high, float(above.min()), coordinate.unit))
    return sides


def _products(coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    """Products and quotients of two coordinates above 0, of which one at least is a plain count: those have a unit."""
    numeric = [one for one in coordinates if one.is_numeric and len(one.values) and np.all(one.values > 0)]
    made = []
    for first, second in combinations(numeric, 2):
        if first.unit and second.unit:
            continue
        if second.unit:
            first, second = second, first
        for sign, operation in (("*", np.multiply), ("/", np.divide)):
            values = _rounded(operation(first.values, second.values))
            made.append(Coordinate(f"{first.name}{sign}{second.name}", values, first.unit))
    return made


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """To the digits in which products of the same numbers agree."""
    distinct, at = np.unique(values, return_inverse=True)
    return np.array([float(f"{value:.{_DIGITS}g}") for value in distinct.tolist()])[at.ravel()]

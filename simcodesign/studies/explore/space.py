"""Design variables with their limits, and the space that they span.

A variable is real, whole, or one of a few numbers. The solvers move in coordinates: a real variable runs from 0 to 1,
evenly or in its logarithm; a whole one counts its steps; a choice is its place in the list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place

FloatArray = NDArray[np.float64]
#: A variable above 0 whose limits are further apart than this factor is searched in its logarithm.
WIDE = 1000.0
#: A step of a real variable to its neighbour.
STEP = 0.05
#: Whole numbers are exact in float64 up to here.
MOST_WHOLE = 2.0**53


@dataclass(frozen=True)
class Variable:
    """A variable within ``low`` and ``high``, or one of ``choices`` (in increasing order, limits left out).

    ``log``: searched in its logarithm; by default if the limits are above 0 and further apart than ``WIDE``.
    ``words``: names of values, as in an enumeration.
    ``default`` is where the search begins, in addition to the sampled points. Raises InputError for limits that are not
    finite, not in order or without a whole number between them, and for choices that are not finite numbers.
    """

    name: str
    low: float = math.nan
    high: float = math.nan
    whole: bool = False
    choices: tuple[float, ...] = ()
    default: float | None = None
    log: bool | None = None
    words: Mapping[float, str] = field(default_factory=dict, compare=False)
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.choices:
            self._normalise_choices()
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            what = f"the search over {self.name} is not bounded"
            raise InputError(what, self.place, value=f"{self.low:g}:{self.high:g}", allowed="two finite limits")
        if self.low > self.high:
            what = f"the limits of {self.name} are not in order: the lower one is above the upper one"
            raise InputError(what, self.place, value=f"{self.low:g}:{self.high:g}", allowed="LOW:HIGH, the lower first")
        if self.whole:
            self._round_limits()
        if self.log is None:
            object.__setattr__(self, "log", not self.choices and self.low > 0 and self.high > WIDE * self.low)
        elif self.log and not self.low > 0:
            what = f"{self.name} cannot be searched in its logarithm"
            raise InputError(what, self.place, value=self.low, allowed="limits above 0")

    def word(self, value: float) -> str | None:
        """Return the name of a value, None if it has none."""
        return self.words.get(float(value))

    def _normalise_choices(self) -> None:
        values = [float(value) for value in self.choices]
        if not all(math.isfinite(value) for value in values):
            raise InputError(f"choices of {self.name}", self.place, value=values, allowed="finite numbers")
        sorted_choices = tuple(sorted(set(values)))
        for name, value in (("choices", sorted_choices), ("low", sorted_choices[0]), ("high", sorted_choices[-1])):
            object.__setattr__(self, name, value)

    def _round_limits(self) -> None:
        low, high = float(math.ceil(self.low)), float(math.floor(self.high))
        if low > high or max(abs(low), abs(high)) > MOST_WHOLE:
            what = f"no whole numbers between the limits of {self.name}" if low > high else f"limits of {self.name}"
            allowed = "limits with a whole number between them, up to 2**53"
            raise InputError(what, self.place, value=f"{self.low:g}:{self.high:g}", allowed=allowed)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def _log_width(self) -> float:
        """The quotient of the limits itself may be too large a number."""
        return math.log(self.high) - math.log(self.low)

    @property
    def discrete(self) -> bool:
        """Whether it takes separate values only."""
        return self.whole or bool(self.choices)

    @property
    def count(self) -> float:
        """Number of its values; infinite for a real variable whose limits differ."""
        if self.choices:
            return float(len(self.choices))
        if self.whole or self.low == self.high:
            return self.high - self.low + 1.0 if self.whole else 1.0
        return math.inf

    @property
    def counted(self) -> bool:
        """Whether its coordinate is a whole number: an index in its list, or a number of steps from its lower limit."""
        return bool(self.choices) or (self.whole and not self.log)

    @property
    def top(self) -> float:
        """The largest coordinate; the least is 0."""
        return self.count - 1.0 if self.counted else 1.0

    def decode(self, coordinates: FloatArray) -> FloatArray:
        """Values at these coordinates, of the same shape; within the limits, whole if they must be."""
        if self.choices:
            places = np.clip(np.rint(coordinates), 0, len(self.choices) - 1).astype(np.int64)
            return np.asarray(self.choices)[places]
        if self.counted:
            values = self.low + np.rint(coordinates)
        elif self.log:
            half = np.exp(coordinates * (self._log_width / 2))  # the whole may be too large a number
            values = self.low * half * half
        else:
            values = self.low * (1.0 - coordinates) + self.high * coordinates  # exact at both ends
        values = np.rint(values) if self.whole else values
        return np.clip(values, self.low, self.high)

    def encode(self, values: FloatArray) -> FloatArray:
        """Coordinates of values within the limits, of the same shape; of the nearest choice."""
        values = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        if self.choices:
            return np.asarray(np.abs(values[..., None] - np.asarray(self.choices)).argmin(axis=-1), dtype=np.float64)
        if self.counted:
            return np.rint(values) - self.low
        if self.low == self.high:
            return np.zeros_like(values)
        if self.log:
            return (np.log(values) - math.log(self.low)) / self._log_width
        return (values - self.low) / (self.high - self.low)

    def neighbours(self, value: float) -> tuple[float, ...]:
        """Return the values one step away, inside the limits: whole numbers +-1, real ones +-5 %, the next choices."""
        if self.choices:
            place = int(self.encode(np.asarray([value]))[0])
            return tuple(self.choices[at] for at in (place - 1, place + 1) if 0 <= at < len(self.choices))
        step = 1.0 if self.whole else STEP * (abs(value) or self.high - self.low)
        near = (max(value - step, self.low), min(value + step, self.high))
        return tuple(at for at in near if at != value)


@dataclass(frozen=True)
class Space:
    """All variables. Points are arrays (points, variables) of values in the order of ``variables``."""

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        if not self.variables:
            raise InputError("nothing is varied", allowed="at least one variable, e.g. n=1:1000")
        names = [variable.name for variable in self.variables]
        for variable in self.variables:
            if names.count(variable.name) > 1:
                raise InputError("varied twice", variable.place, value=variable.name, allowed="each name once")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in their order."""
        return tuple(variable.name for variable in self.variables)

    @property
    def count(self) -> float:
        """Number of points; infinite where a variable is real."""
        return math.prod(variable.count for variable in self.variables)

    @property
    def tops(self) -> FloatArray:
        """The largest coordinate of each variable: (variables,)."""
        return np.array([variable.top for variable in self.variables])

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which coordinates are whole numbers: (variables,)."""
        return np.array([variable.counted for variable in self.variables])

    def decode(self, coordinates: FloatArray) -> FloatArray:
        """Points at these coordinates, both (points, variables)."""
        columns = [variable.decode(coordinates[:, at]) for at, variable in enumerate(self.variables)]
        return np.stack(columns, axis=1)

    def encode(self, points: FloatArray) -> FloatArray:
        """Coordinates of these points, both (points, variables)."""
        columns = [variable.encode(points[:, at]) for at, variable in enumerate(self.variables)]
        return np.stack(columns, axis=1)

    def default(self) -> FloatArray:
        """Return where the search begins, (variables,).

        Defaults within the limits, otherwise the middle of the coordinates.
        """
        middle = self.decode(np.array([self.tops / 2]))[0]
        pairs = zip(self.variables, middle, strict=True)
        return np.array([float(at) if one.default is None else _nearest_value(one, one.default) for one, at in pairs])

    def all_points(self) -> FloatArray:
        """All points of a discrete space, (count, variables), the last variable running fastest."""
        axes = [variable.decode(np.arange(variable.count)) for variable in map(_as_counted, self.variables)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def sample(self, count: int, random: np.random.Generator) -> FloatArray:
        """Return a Latin hypercube of points: (count, variables)."""
        strata = np.stack([random.permutation(count) for _ in self.variables], axis=1)
        shares = (strata + random.random(strata.shape)) / count
        # The interval around the first and the last whole value is as wide as around the others.
        whole = np.floor(shares * (self.tops + 1))
        return self.decode(np.where(self.counted, np.minimum(whole, self.tops), shares * self.tops))

    def neighbours(self, point: Sequence[float] | FloatArray) -> FloatArray:
        """Points that differ from this one by one step of one variable: (neighbours, variables)."""
        points = []
        for at, variable in enumerate(self.variables):
            for value in variable.neighbours(float(point[at])):
                near = np.array(point, dtype=np.float64)
                near[at] = value
                points.append(near)
        return np.array(points).reshape(-1, len(self.variables))

    def named(self, point: Sequence[float] | FloatArray) -> dict[str, float]:
        """One point by name."""
        return {name: float(value) for name, value in zip(self.names, point, strict=True)}

    def word(self, name: str, value: float) -> str | None:
        """Return the name of a value of the variable of this name, None if there is none."""
        return next((one.word(value) for one in self.variables if one.name == name), None)

    def columns(self, points: FloatArray) -> Mapping[str, FloatArray]:
        """Values by name, each (points,)."""
        return {name: points[:, at] for at, name in enumerate(self.names)}


def _nearest_value(variable: Variable, value: float) -> float:
    return float(variable.decode(variable.encode(np.array([value])))[0])


def _as_counted(variable: Variable) -> Variable:
    """Return the variable with coordinates that count its values, also where a search would use its logarithm."""
    if variable.counted:
        return variable
    return Variable(variable.name, variable.low, variable.high, whole=variable.whole, log=False)

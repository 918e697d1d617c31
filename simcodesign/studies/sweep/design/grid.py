"""Axes of a sweep as a user writes them, and the grid that they span.

``P=1:2048:x2``, ``n=0:1:+0.25``, ``n=1e3:1e6:n=7:log``, ``network.bandwidth=1,10,100GB/s``,
``network.topology.kind=mesh,torus``, ``seed=1,2,3``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import DIMENSIONS, format_quantity, parse_quantity
from simcodesign.studies.sweep.design.ranges import (
    MOST_VALUES,
    NUMBER,
    arithmetic,
    counted,
    geometric,
    wrong,
)
from simcodesign.studies.sweep.points import Value

#: Kinds of axes: a parameter of ``forecast`` and ``simulate``, something in the machine file, or the seed.
PARAMETER, CHANGE, SEED = "parameter", "change", "seed"
MOST_POINTS = 100_000_000
FORMS = "NAME=A,B,C; NAME=LOW:HIGH:xFACTOR, :+STEP, :n=COUNT or :n=COUNT:log"


@dataclass(frozen=True)
class Known:
    """Something that can be varied.

    ``path``: what is set, to the ``inverse`` of the values where so marked (a time per byte, for a bandwidth).
    ``dimension``: of the unit table, empty if any unit is accepted.
    """

    path: str
    kind: str = PARAMETER
    dimension: str = ""
    whole: bool = False
    choices: Mapping[str, float] = field(default_factory=dict)
    inverse: bool = False


Lookup = Callable[[str], Known]


@dataclass(frozen=True)
class SweepAxis:
    """The values of a name, in SI units of ``unit``, or words; ``log``: spaced by factors. ``known``: what they set."""

    name: str
    values: tuple[Value, ...]
    unit: str = ""
    log: bool = False
    known: Known = field(default=Known(""))
    #: That a range stops before its end.
    note: str = field(default="", compare=False)

    @cached_property
    def given(self) -> tuple[Value, ...]:
        """The value set for each value of the axis: numbers for named choices, times per byte for bandwidths."""
        known = self.known
        if known.inverse:
            return tuple(1.0 / float(value) for value in self.values)
        if known.kind == CHANGE and self.unit == DIMENSIONS["cycles"]:
            return tuple(f"{value!r} cycles" for value in self.values)
        return tuple(known.choices.get(value, value) if isinstance(value, str) else value for value in self.values)

    @cached_property
    def column(self) -> NDArray[np.float64] | NDArray[np.object_]:
        """The values as an array: (values,)."""
        words = any(isinstance(value, str) for value in self.values)
        return np.array(self.values, dtype=object if words else np.float64)

    @property
    def numeric(self) -> bool:
        """Whether all of its values are numbers."""
        return self.column.dtype.kind == "f"


@dataclass(frozen=True)
class Tie:
    """A value that follows axes.

    ``axis`` holds its value for every combination of values of the axes at the places ``of``, the last of them varying
    fastest; of a zipped design, its value at every point.
    """

    axis: SweepAxis
    of: tuple[int, ...]


@dataclass(frozen=True)
class Design:
    """All points, computed on use.

    The last axis of a grid varies fastest; where ``zipped``, point k takes the k-th value of every axis. ``ties``: what
    follows the axes. ``note``: for the user.
    """

    axes: tuple[SweepAxis, ...]
    zipped: bool = False
    note: str = ""
    ties: tuple[Tie, ...] = ()

    def __post_init__(self) -> None:
        if not self.axes:
            raise InputError("nothing is varied", Place("--vary"), allowed=FORMS)
        paths = [axis.known.path or axis.name for axis in self.settings]
        for axis, path in zip(self.settings, paths, strict=True):
            if paths.count(path) > 1:
                raise InputError("varied twice", Place("--vary"), value=axis.name, allowed="each name once")
        if self.count > MOST_POINTS:
            raise InputError("too many points", Place("--vary"), value=self.count, allowed=f"up to {MOST_POINTS}")

    @cached_property
    def settings(self) -> tuple[SweepAxis, ...]:
        """The axes, and what is tied to them."""
        return (*self.axes, *(tie.axis for tie in self.ties))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the settings, in their order."""
        return tuple(axis.name for axis in self.settings)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis; of a zipped design, the number of points."""
        return (len(self.axes[0].values),) if self.zipped else tuple(len(axis.values) for axis in self.axes)

    @property
    def count(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.count

    def places(self, numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the indices of the values of every setting at these points: (numbers,) each. IndexError for others."""
        numbers = np.asarray(numbers, dtype=np.int64)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.count):
            raise IndexError(f"points are 0 to {self.count - 1}")
        if self.zipped:
            return [numbers if axis.values[1:] else np.zeros_like(numbers) for axis in self.settings]
        places = [np.asarray(place, dtype=np.int64) for place in np.unravel_index(numbers, self.shape)]
        return places + [self._tied(tie, places, np.zeros_like(numbers)) for tie in self.ties]

    def _tied(self, tie: Tie, places: Sequence[Any], index: Any) -> Any:
        """Return the indices of the values of a tie when the axes have the values of these places."""
        for at in tie.of:
            index = index * self.shape[at] + places[at]
        return index

    def place(self, number: int) -> tuple[int, ...]:
        """Return the indices of the values of one point, one for each setting."""
        if not 0 <= number < self.count:
            raise IndexError(f"points are 0 to {self.count - 1}")
        if self.zipped:
            return tuple(number if axis.values[1:] else 0 for axis in self.settings)
        indices = []
        for size in reversed(self.shape):
            number, index = divmod(number, size)
            indices.append(index)
        indices.reverse()
        return (*indices, *(self._tied(tie, indices, 0) for tie in self.ties))

    def values(self, number: int) -> dict[str, Value]:
        """Return the values of one point, by name."""
        return {axis.name: axis.values[at] for axis, at in zip(self.settings, self.place(number), strict=True)}

    def columns(self, numbers: NDArray[np.int64] | None = None) -> dict[str, NDArray[np.float64] | NDArray[np.object_]]:
        """Return the values of these points (all, if None), by name: (points,) each."""
        selected = np.arange(self.count, dtype=np.int64) if numbers is None else numbers
        return {axis.name: axis.column[at] for axis, at in zip(self.settings, self.places(selected), strict=True)}


def grid(axes: Sequence[SweepAxis]) -> Design:
    """Return the full grid of the axes, the last running fastest.

    InputError for none, too many points, and a name twice.
    """
    return Design(tuple(axes))


def unknown(name: str) -> Known:
    """Any name as a parameter in any unit; ``P`` and ``seed`` are whole numbers."""
    return Known(name, SEED if name == "seed" else PARAMETER, whole=name in ("P", "seed"))


def parse_axis(text: str, lookup: Lookup = unknown) -> SweepAxis:
    """Return the axis of ``NAME=A,B,C`` or ``NAME=LOW:HIGH:HOW``.

    HOW is ``xFACTOR``, ``+STEP``, ``n=COUNT``, ``n=COUNT:log``.

    The unit of the last value holds for all that have none: of HIGH in a range, or of STEP where HIGH has none. The end
    of a range belongs to it when it is hit within rounding. InputError names the text and what is allowed.
    """
    name, rest = name_and_rest(text)
    known = lookup(name)
    parts = split(rest, ":")
    if len(parts) == 1:
        return listed(name, rest, known, text)
    if len(parts) == 2:
        raise wrong(text, "a range without a step", f"{rest}:x2, {rest}:+1, {rest}:n=10; or --sample")
    if known.choices:
        raise wrong(text, "a range of something that has names", nearest("", known.choices))
    unit = _unit_of_range(parts)
    low, high, dimension = limits(parts[0], parts[1], known, text, unit)
    values, log = _ranged(low, high, parts[2:], dimension, text, unit)
    if known.whole:
        values = list(dict.fromkeys(float(round(value)) for value in values))
    _check_inverse(values, known, text)
    note = _stops_before(name, values, high, dimension, parts[2])
    return SweepAxis(name, tuple(values), DIMENSIONS.get(dimension, ""), log, known, note)


def _stops_before(name: str, values: Sequence[float], high: float, dimension: str, step: str) -> str:
    """Note that the end of a range is not hit by its steps; empty if it is."""
    if values[-1] >= high * (1 - 1e-9):
        return ""
    last, end = (format_quantity(value, dimension) for value in (values[-1], high))
    return f"{name} ends at {last}: steps of {step} do not reach {end}"


def name_and_rest(text: str) -> tuple[str, str]:
    """Name and values of an ``--vary``. InputError without one of them."""
    name, sign, rest = (part.strip() for part in text.partition("="))
    if not name or not sign or not rest:
        raise wrong(text, "not something to vary", FORMS)
    return name, rest


def split(text: str, mark: str) -> list[str]:
    """Split at marks outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == mark and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def listed(name: str, rest: str, known: Known, text: str) -> SweepAxis:
    """Return the axis of listed values."""
    items = split(rest, ",")
    if not all(items):
        raise wrong(text, "a value is missing", FORMS)
    if len(items) > MOST_VALUES:
        raise wrong(text[:60], "too many values", f"up to {MOST_VALUES}")
    matches = [NUMBER.fullmatch(item) for item in items]
    last = matches[-1]
    unit = (last.group(2) or "") if last else ""
    dimension = _dimension(known, unit, text)
    values = [_value(item, match, unit, dimension, known, text) for item, match in zip(items, matches, strict=True)]
    if len(set(values)) < len(values):
        twice = next(item for item, value in zip(items, values, strict=True) if values.count(value) > 1)
        raise wrong(text, f"{twice} is given twice", "each value once")
    _check_inverse([value for value in values if not isinstance(value, str)], known, text)
    numbers = not any(isinstance(value, str) for value in values)
    return SweepAxis(name, tuple(values), DIMENSIONS.get(dimension, "") if numbers else "", _by_factors(values), known)


def _value(item: str, match: re.Match[str] | None, unit: str, dimension: str, known: Known, text: str) -> Value:
    if item in known.choices:
        return item
    if match is None:
        if known.kind == CHANGE and not known.dimension:
            return item
        allowed = nearest(item, known.choices) if known.choices else f"numbers; {FORMS}"
        raise wrong(text, f"{item!r} is no value of {known.path or 'it'}", allowed)
    if known.choices:
        for word, number in known.choices.items():
            if number == float(match.group(1)) and not match.group(2):
                return word
        raise wrong(text, f"{item!r} is none of the choices", nearest(item, known.choices))
    return quantity(match.group(1), match.group(2) or unit, dimension, known, text)


def quantity(number: str, unit: str, dimension: str, known: Known, text: str) -> float:
    """Return the SI value of a number with a unit; whole if it must be."""
    try:
        value = parse_quantity(f"{number} {unit}", dimension or "count") + 0.0
    except InputError as error:
        raise wrong(text, error.what, error.allowed or "") from None
    if known.whole and not value.is_integer():
        raise wrong(text, f"{number} {unit}".strip() + " is no whole number", "whole numbers")
    if known.kind == SEED and value < 0:
        raise wrong(text, f"{number} is no seed", "whole numbers, 0 or above")
    return value


def limits(low: str, high: str, known: Known, text: str, unit: str = "") -> tuple[float, float, str]:
    """Both ends of a range, and the dimension. ``unit``: of the upper end if it has none."""
    ends = [NUMBER.fullmatch(end) for end in (low, high)]
    if ends[0] is None or ends[1] is None:
        raise wrong(text, "the ends of a range", f"numbers; {FORMS}")
    unit = ends[1].group(2) or unit
    if ends[0].group(2) and not unit:
        raise wrong(text, f"the end of the range has no unit, its beginning has {ends[0].group(2)!r}", FORMS)
    dimension = _dimension(known, unit, text)
    free = Known(known.path)  # in a range, a whole number results from rounding
    first, last = (quantity(end.group(1), end.group(2) or unit, dimension, free, text) for end in ends if end)
    if not first <= last:
        raise wrong(text, "the ends of the range are not in order", "LOW:HIGH, the lower first")
    if known.kind == SEED and first < 0:
        raise wrong(text, f"{low} is no seed", "whole numbers, 0 or above")
    return first, last, dimension


def _dimension(known: Known, unit: str, text: str) -> str:
    """Return the known dimension, or else the dimension of the unit."""
    if known.dimension or not unit:
        return known.dimension or "count"
    if known.kind == PARAMETER and known is not None and known.choices:
        return "count"
    for dimension in DIMENSIONS:
        try:
            parse_quantity(f"1 {unit}", dimension)
        except InputError:
            continue
        return dimension
    raise wrong(text, f"unknown unit {unit!r}", "units such as s, us, B, KiB, GB/s, GHz, W, %")


def _ranged(
    low: float, high: float, spacing: list[str], dimension: str, text: str, unit: str
) -> tuple[list[float], bool]:
    """Return the values of a range, and whether they are spaced by factors. ``unit``: of a step that has none."""
    step, words = spacing[0], [word.lower() for word in spacing[1:]]
    if step.startswith("n="):
        if words not in ([], ["log"], ["linear"]):
            raise wrong(text, "unknown spacing of a range", "n=COUNT, n=COUNT:log, n=COUNT:linear")
        return counted(low, high, step[2:], words == ["log"], text), words == ["log"]
    if words:
        raise wrong(text, f"unexpected {':'.join(words)!r} after a step", FORMS)
    if step.startswith("x"):
        return geometric(low, high, step[1:], text), True
    if step.startswith("+"):
        match = NUMBER.fullmatch(step[1:].strip())
        if match is None:
            raise wrong(text, "unknown step of a range", FORMS)
        by = quantity(match.group(1), match.group(2) or unit, dimension, Known(""), text)
        return arithmetic(low, high, by, text), False
    raise wrong(text, f"unknown step of a range {step!r}", FORMS)


def _unit_of_range(parts: Sequence[str]) -> str:
    """Return the unit of the upper end of LOW, HIGH, HOW, or of the step where the end has none."""
    matches = (NUMBER.fullmatch(part.removeprefix("+").strip()) for part in parts[1:3])
    return next((match.group(2) for match in matches if match and match.group(2)), "")


def _check_inverse(values: Sequence[float], known: Known, text: str) -> None:
    """Raise InputError for a bandwidth of 0, which has no time per byte."""
    if known.inverse and not all(value > 0 and math.isfinite(1 / value) for value in values):
        raise wrong(text, "a bandwidth", "numbers above 0")


def _by_factors(values: Sequence[Value]) -> bool:
    """Whether listed values look spaced by factors: three or more, by one factor or over a wide range."""
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < 3 or len(numbers) < len(values) or min(numbers) <= 0:
        return False
    steps = np.diff(np.log(np.sort(np.array(numbers))))
    return bool(steps.max() <= (2 if steps.sum() >= math.log(8) else 1 + 1e-9) * steps.min())

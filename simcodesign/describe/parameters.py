"""Parameters of workloads and machines: numbers with limits, some of which have names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import DIMENSIONS, FloatOrArray, format_quantity, parse_quantity

_DIMENSION_OF = {unit: dimension for dimension, unit in DIMENSIONS.items() if unit}


@dataclass(frozen=True)
class Parameter:
    """An input of a workload or a machine. ``origin`` is the origin of the default: published, reconstructed, ...

    ``choices`` (an enumeration) are names of values; then there are no others. ``divides``: the
    parameter (or ``P``) whose divisors a search takes. Where ``unit`` is a base unit (``Hz``,
    ``B/s``, ...), a value may be written with another unit of its dimension.
    """

    name: str
    default: float | None
    unit: str = ""
    about: str = ""
    low: float = float("-inf")
    high: float = float("inf")
    whole: bool = False
    origin: str = ""
    place: Place = field(default=Place(), compare=False)
    choices: Mapping[str, float] = field(default_factory=dict)
    divides: str = ""

    @property
    def dimension(self) -> str:
        """Dimension in the unit table, ``count`` for any other unit."""
        return _DIMENSION_OF.get(self.unit, "count")

    @property
    def is_named(self) -> bool:
        """Whether a value may be more than a plain number: the name of a choice, or with a unit."""
        return bool(self.choices) or self.dimension != "count"

    def check(self, value: FloatOrArray, place: Place) -> None:
        """InputError, with ``place``, unless all of the value can be used: finite, in range, whole if it must be."""
        array = np.asarray(value)
        good = np.isfinite(array) & (array >= self.low) & (array <= self.high)
        if self.whole:
            good &= array == np.floor(array)
        if self.choices:
            good &= np.isin(array, list(self.choices.values()))
        if not np.all(good):
            wrong = float(array[~good].flat[0])
            shown = int(wrong) if self.whole and wrong.is_integer() else self.shown(wrong)  # 0, not 0.0
            raise InputError(
                f"parameter {self.name!r} cannot have this value", place, value=shown, allowed=self._allowed()
            )
        is_small = (array != 0) & (np.abs(array) < np.finfo(np.float64).tiny)  # its inverse is infinite
        if np.any(is_small):
            what = f"parameter {self.name!r} is too small"
            raise InputError(what, place, value=float(array[is_small].flat[0]), allowed="0, or numbers from 2.3e-308")

    def shown(self, value: float) -> float | str:
        """Return the value as a user would write it: with its unit, if it has one."""
        return format_quantity(value, self.dimension) if self.dimension != "count" and np.isfinite(value) else value

    def written(self, value: float) -> str:
        """Return the value in a text: the name of a choice, or as a user would write the number."""
        name = next((name for name, number in self.choices.items() if number == value), None)
        shown = self.shown(value)
        return name or (f"{shown:,.10g}".replace(",", "") if isinstance(shown, float) else shown)

    def _allowed(self) -> str:
        if self.choices:
            return ", ".join(f"{name} ({value:g})" for name, value in self.choices.items())
        limits = ((self.low, "at least"), (self.high, "at most"))
        plain = self.dimension == "count"
        bounds = [
            f"{text} {f'{bound:g}' if plain else self.shown(bound)}" for bound, text in limits if np.isfinite(bound)
        ]
        return ", ".join(["a whole number" if self.whole else "a finite number", *bounds])

    def parsed(self, text: str, place: Place) -> float:
        """Return the value that a text spells.

        A choice by its name, or a number with or without a unit of its dimension.

        InputError for anything else. Whether the value is allowed is for ``check``.
        """
        if text in self.choices:
            return self.choices[text]
        if self.choices and not text[:1].isdigit():
            raise InputError(
                f"parameter {self.name!r} cannot have this value",
                place,
                value=text,
                allowed=nearest(text, self.choices),
            )
        return parse_quantity(text, self.dimension, place)

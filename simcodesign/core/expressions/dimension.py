"""Dimensions of quantities: exponents of s, B, FLOP, cycle and J, as the base units of ``core.units`` have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from simcodesign.core.units import DIMENSIONS

#: The base units of a dimension.
BASES = ("s", "B", "FLOP", "cycle", "J")
#: Bases that count things: a plain number may be given in their place.
COUNTING = ("FLOP", "cycle")
#: Base units that are made of others.
_DERIVED: dict[str, dict[str, int]] = {"W": {"J": 1, "s": -1}, "Hz": {"cycle": 1, "s": -1}, "op": {}}
_UNIT = re.compile(r"([A-Za-z]+)(?:/([A-Za-z]+))?")


@dataclass(frozen=True, slots=True)
class Dimension:
    """``exponents`` in the order of ``BASES``; all 0 for a plain count."""

    exponents: tuple[Fraction, ...] = (Fraction(0),) * len(BASES)

    @property
    def is_plain(self) -> bool:
        """Whether this is the dimension of a plain count."""
        return not any(self.exponents)

    @property
    def time(self) -> Fraction:
        """The exponent of s."""
        return self.exponents[0]

    @property
    def counts_only(self) -> bool:
        """Whether nothing but ``COUNTING`` bases is in it."""
        return all(base in COUNTING or not power for base, power in zip(BASES, self.exponents, strict=True))

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(tuple(a + b for a, b in zip(self.exponents, other.exponents, strict=True)))

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1

    def __pow__(self, power: Fraction | int) -> Dimension:
        return Dimension(tuple(exponent * power for exponent in self.exponents))

    def __str__(self) -> str:
        """``s``, ``s B``, ``s/B``, ``1/s``, ``s^2/B^(1/2)``; ``a plain count``."""
        powers = [*zip(BASES, self.exponents, strict=True)]
        above = " ".join(_power(base, power) for base, power in powers if power > 0)
        below = " ".join(_power(base, -power) for base, power in powers if power < 0)
        if not below:
            return above or "a plain count"
        return f"{above or '1'}/{f'({below})' if ' ' in below else below}"


def _power(base: str, power: Fraction) -> str:
    return base if power == 1 else f"{base}^{power}" if power.denominator == 1 else f"{base}^({power})"


PLAIN = Dimension()


@dataclass(frozen=True, slots=True)
class OnlyTime:
    """Partial dimension of a product that contains names without a unit: only the exponent of s is known.

    It may also have bytes or flops.
    """

    time: Fraction


@cache
def dimension_of_unit(unit: str) -> Dimension | None:
    """Return the dimension of a base unit or a quotient of two (``B``, ``FLOP/s``, ``s/FLOP``, ``W``).

    None of any other.
    """
    match = _UNIT.fullmatch(unit)
    above, below = match.groups() if match else ("", None)
    known = {*BASES, *_DERIVED}
    if above not in known or (below is not None and below not in known):
        return None
    return _of_base(above) if below is None else _of_base(above) / _of_base(below)


def _of_base(unit: str) -> Dimension:
    powers = _DERIVED.get(unit, {unit: 1})
    return Dimension(tuple(Fraction(powers.get(base, 0)) for base in BASES))


@cache
def dimension_named(name: str) -> Dimension:
    """Return the dimension of a key of ``DIMENSIONS``: ``time``, ``per_byte``, ``count`` ..."""
    unit = DIMENSIONS[name]
    dimension = PLAIN if not unit else dimension_of_unit(unit)
    assert dimension is not None, unit
    return dimension

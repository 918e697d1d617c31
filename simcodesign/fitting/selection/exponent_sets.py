"""Sets of exponents (i, j) of factors x^i log2(x)^j among which a model is searched.

``extrap``: the 42 pairs that Extra-P searches. ``paper``: i in eighths and thirds from 0 to 3, j of 0, 1/2, 1, 3/2, 2
(Calotoiu et al., "Lightweight requirements engineering for exascale co-design", CLUSTER 2018, section III): 155 pairs
with the constant. Any other set is a list of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from simcodesign.core.errors import InputError, nearest

Pair = tuple[Fraction, Fraction]

#: numerator, denominator and logarithm, in the order in which Extra-P tries them.
_EXTRAP = (
    "0/1:1 0/1:2 1/4:0 1/3:0 1/4:1 1/3:1 1/4:2 1/3:2 1/2:0 1/2:1 1/2:2 2/3:0 3/4:0 2/3:1 3/4:1 4/5:0 2/3:2 3/4:2 "
    "1/1:0 1/1:1 1/1:2 5/4:0 5/4:1 4/3:0 4/3:1 3/2:0 3/2:1 3/2:2 5/3:0 7/4:0 2/1:0 2/1:1 2/1:2 9/4:0 7/3:0 5/2:0 "
    "5/2:1 5/2:2 8/3:0 11/4:0 3/1:0 3/1:1"
)
#: Exponents beyond this overflow for parameters of ordinary size.
LARGEST = 10


@dataclass(frozen=True)
class ExponentSet:
    """Pairs (i, j) of x^i log2(x)^j, distinct and without the constant (0, 0).

    Raises InputError for an empty set and for exponents beyond ``LARGEST``.
    """

    name: str
    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        pairs = tuple(dict.fromkeys((Fraction(i), Fraction(j)) for i, j in self.pairs if i or j))
        if not pairs:
            allowed = "pairs (exponent, logarithm), e.g. (1/2, 1)"
            raise InputError("a set of exponents without any pair", allowed=allowed)
        for pair in pairs:
            if max(map(abs, pair)) > LARGEST:
                raise InputError("an exponent", value=tuple(map(str, pair)), allowed=f"-{LARGEST} to {LARGEST}")
        object.__setattr__(self, "pairs", pairs)

    def with_negative(self) -> ExponentSet:
        """Return the set with x^-i log2(x)^j for every pair with a power."""
        return ExponentSet(f"{self.name} and negative", (*self.pairs, *((-i, j) for i, j in self.pairs if i)))


def _extrap() -> Iterable[Pair]:
    for text in _EXTRAP.split():
        power, log = text.split(":")
        yield Fraction(power), Fraction(log)


def _paper() -> Iterable[Pair]:
    powers = sorted({Fraction(i, 8) for i in range(25)} | {Fraction(i, 3) for i in range(10)})
    return ((power, Fraction(log, 2)) for power in powers for log in range(5))


EXTRAP = ExponentSet("extrap", tuple(_extrap()))
PAPER = ExponentSet("paper", tuple(_paper()))
SETS = {chosen.name: chosen for chosen in (EXTRAP, PAPER)}


def exponent_set(chosen: str | ExponentSet | Sequence[tuple[Any, Any]]) -> ExponentSet:
    """Return a set by name, or made of pairs of numbers or texts such as ``("3/8", 1)``.

    Raises InputError for an unknown name and for what is not a pair of numbers.
    """
    if isinstance(chosen, ExponentSet):
        return chosen
    if isinstance(chosen, str):
        if chosen not in SETS:
            raise InputError("an unknown set of exponents", value=chosen, allowed=nearest(chosen, SETS))
        return SETS[chosen]
    return ExponentSet("own", tuple(_pair(item) for item in chosen))


def _pair(item: Any) -> Pair:
    try:
        power, log = tuple(item)
        return as_fraction(power), as_fraction(log)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        allowed = "(exponent, logarithm), e.g. ('3/8', 1)"
        raise InputError("not a pair of exponents", value=item, allowed=allowed) from error


def as_fraction(number: Any) -> Fraction:
    """1/3 for 1/3, "1/3" and 0.3333333333333333: a float becomes the simple fraction nearest to it."""
    if isinstance(number, float):
        return Fraction(number).limit_denominator(1000)
    return Fraction(number)

"""Numbers for people: engineering prefixes for whole columns and axes, which share one unit."""

from __future__ import annotations

import math
from collections.abc import Iterable

from simcodesign.core.units import DIMENSIONS, decimal_quantity, format_quantity

#: Numbers of this size and above are written with an exponent: more digits than a double has mean nothing.
MAX_WRITTEN_OUT = 1e15
#: Stands if there is no number, because nothing here is what it would be of; 0 is a number.
DOES_NOT_APPLY = "-"
#: Shares of a gap beyond which steps cancel rather than make it up.
MOST_SHARE = 10.0
#: A difference below this fraction may be certain in a model but is not noticeable on a machine.
SMALL = 0.01
#: Units that take prefixes, and their dimension.
DIMENSION_OF = {unit: dimension for dimension, unit in DIMENSIONS.items() if unit} | {"flop/s": "rate"}


def grouped(value: float) -> str:
    """Return a whole number with commas, or with an exponent from ``MAX_WRITTEN_OUT`` on."""
    return f"{value:z,.0f}" if abs(value) < MAX_WRITTEN_OUT else f"{value:.4g}"


def shared_unit(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Factor for numbers in this unit, and the unit that they then have: one that fits the largest.

    A suffix of a unit, as in ``s per value``, stays; a unit that takes no prefix stays as it is.
    """
    base, rest = _split(unit)
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if base not in DIMENSION_OF or not largest:
        return 1.0, unit
    number, name = decimal_quantity(largest, DIMENSION_OF[base]).split(" ")
    prefix = name.removesuffix(DIMENSIONS[DIMENSION_OF[base]])
    power = round(math.log10(float(number) / largest) / 3) * 3
    return (10.0**power if largest else 1.0), f"{prefix}{base}{rest}"


_BINARY = (("KiB", 2.0**10), ("MiB", 2.0**20), ("GiB", 2.0**30), ("TiB", 2.0**40))


def binary_unit(sizes: Iterable[float]) -> tuple[float, str] | None:
    """Return the factor for bytes, and the unit they then have, or None.

    If all sizes of at least 1 KiB are whole numbers of KiB and one is. The unit is the largest in which the least is no
    less than 1.
    """
    large = [abs(size) for size in sizes if math.isfinite(size) and abs(size) >= _BINARY[0][1]]
    if not large or any(size % _BINARY[0][1] for size in large):
        return None
    smallest = min(abs(size) for size in sizes if math.isfinite(size) and size)
    unit, bytes_ = next(((unit, size) for unit, size in reversed(_BINARY) if smallest >= size), _BINARY[0])
    return 1 / bytes_, unit


def quantity(value: float, unit: str) -> str:
    """One number with its unit and prefix, to four digits."""
    base, rest = _split(unit)
    if base not in DIMENSION_OF:
        return f"{value:.4g} {unit}".rstrip()
    text = format_quantity(value, DIMENSION_OF[base])
    return text.replace("FLOP/s", "flop/s") + rest if base == "flop/s" else text + rest


def _split(unit: str) -> tuple[str, str]:
    base, space, rest = unit.partition(" ")
    return base, space + rest


def four_digits(value: float) -> float:
    """Return the number with four significant digits."""
    return float(f"{value:.4g}")


_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


class Seconds:
    """Times of one table in one unit and with the same decimals, chosen by the largest of them."""

    def __init__(self, values_s: Iterable[float]) -> None:
        largest = max((abs(value) for value in values_s if math.isfinite(value)), default=0.0)
        fitting = [(unit, factor) for unit, factor in _UNITS if largest >= factor or not largest]
        self.unit, self.factor = fitting[0] if fitting else _UNITS[-1]
        self.dust = 1e-10 * largest  # what sums of floating-point numbers differ by
        digits = math.floor(math.log10(largest / self.factor)) + 1 if largest else 1
        self.decimals = min(max(5 - digits, 0), 4)

    def __call__(self, value_s: float, sign: str = "") -> str:
        """Return the number without its unit and without an exponent; small ones keep two digits."""
        if not math.isfinite(value_s):
            return DOES_NOT_APPLY
        value = value_s / self.factor
        if abs(value_s) <= self.dust:
            return "0"
        if abs(value) >= MAX_WRITTEN_OUT:
            return f"{value:{sign}.4g}"
        too_small = abs(value) < 10 ** (1 - self.decimals)
        if too_small and self.decimals:
            return _digits(value, 2, sign)
        return f"{value:{sign}z,.{self.decimals}f}"


class Digits:
    """Numbers of one column with the same count of digits in one style: all with an exponent, or none.

    An exponent is needed if a number has more than six digits before the point or more than three zeros after it.
    """

    def __init__(self, values: Iterable[float], digits: int = 4) -> None:
        sizes = [abs(value) for value in values if value and math.isfinite(value)]
        self.digits = digits
        self.exponent = bool(sizes) and (min(sizes) < _MIN_FIXED or max(sizes) >= _MAX_FIXED)

    def __call__(self, value: float, sign: str = "") -> str:
        """Return the number; ``-`` for one that is not finite."""
        if not math.isfinite(value):
            return DOES_NOT_APPLY
        if not value:
            return "0"
        if self.exponent:
            return f"{value:{sign}.{self.digits - 1}e}"
        return _digits(value, self.digits, sign)


_MIN_FIXED, _MAX_FIXED = 1e-4, 1e6


def _digits(value: float, digits: int, sign: str) -> str:
    """Return the number with ``digits`` significant digits, without an exponent and zeros at its end."""
    rounded = float(f"{value:.{digits}g}")
    text = f"{rounded:{sign},.{max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed_percent(share: float, sign: str = "+") -> str:
    """One decimal; two digits if that would be 0.0, because a small error is not none."""
    if not math.isfinite(share):
        return DOES_NOT_APPLY
    return f"{share:{sign}z.1%}" if abs(share) >= 5e-4 or abs(share) < 1e-10 else f"{100 * share:{sign}.2g}%"


def with_ends(value: str, low: str, high: str, about: str = "") -> str:
    """Return a printed value with the ends of its interval in brackets, or alone if neither end differs in print.

    ``about`` precedes the ends, such as ``"95 %: "``.
    """
    return value if low == value == high else f"{value} ({about}{low} to {high})"


def ends_of(low: str, high: str) -> str:
    """Return the printed ends of an interval, or the one number that both are in print."""
    return low if low == high else f"{low} to {high}"


def but_small(share: float) -> str:
    """Addition to a difference that is certain but so small that it hardly matters; empty for a larger one."""
    return f", but below {SMALL:.0%}, which hardly matters" if 0 < abs(share) < SMALL else ""


def share_percent(share: float) -> str:
    """Return the fraction of a gap that a step has.

    None if steps that cancel leave a gap much smaller than they are.
    """
    return signed_percent(share if abs(share) <= MOST_SHARE else math.nan, "-")

"""Quantities with units: one strict table, SI inside, text only at the border.

Unit names are case sensitive (``MB`` is not ``mb``). A number without a unit is in the base unit of its
dimension. Only prefixes that make sense are in the table: there are no millibytes and no mega-seconds.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest

#: A number, or an array of them: what everything that a forecast computes may be.
FloatOrArray = float | NDArray[np.float64]

#: Each dimension and its SI base unit.
DIMENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "time": "s",
        "size": "B",
        "rate": "FLOP/s",
        "bandwidth": "B/s",
        "bytes_per_cycle": "B/cycle",
        "per_byte": "s/B",
        "frequency": "Hz",
        "operation_rate": "op/s",
        "power": "W",
        "energy": "J",
        "energy_per_byte": "J/B",
        "cycles": "cycle",
        "count": "",
    }
)

MAX_LENGTH = 100

#: Quantities that are divided by and multiplied are 0 or lie between these: the fourth power of each is a finite float
#: with all its digits. No quantity of a machine or a program comes near.
LEAST, MOST = 1e-75, 1e75
POSITIVE_RANGE = f"a number above 0, from {LEAST:g} to {MOST:g}"
NOT_NEGATIVE_RANGE = f"a number of 0 or above: 0, or {LEAST:g} to {MOST:g}"

_DECIMAL = {"p": -12, "n": -9, "u": -6, "µ": -6, "m": -3, "": 0}
_DECIMAL |= {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_GREEK_MU, _MICRO_SIGN = "\u03bc", "\u00b5"  # look the same and are both typed
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SMALL, _LARGE = ("p", "n", "u", "µ", "m", ""), ("", "k", "M", "G", "T", "P", "E")
_PREFIXES = {
    "time": _SMALL,
    "size": _LARGE,
    "rate": _LARGE,
    "bandwidth": _LARGE,
    "bytes_per_cycle": ("",),
    "per_byte": _SMALL,
    "frequency": _LARGE,
    "operation_rate": _LARGE,
    "power": (*_SMALL, *_LARGE[1:]),
    "energy": (*_SMALL, *_LARGE[1:]),
    "energy_per_byte": _SMALL,
    "cycles": ("",),
}
#: Other spellings of a base unit and what they are in it; 8 bits are a byte.
_ALIASES = {
    "size": {"bit": Fraction(1, 8)},
    "bandwidth": {"bit/s": Fraction(1, 8)},
    "per_byte": {"s/bit": Fraction(8)},
    "energy_per_byte": {"J/bit": Fraction(8)},
    "cycles": {"cycles": Fraction(1)},
}
#: Long times, which have no prefixes; a year has 365.25 days.
_LONG_TIMES = {"min": 60, "h": 3600, "day": 86400, "year": 31557600}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[ \t]*(.*)")


def _units(dimension: str) -> Iterator[tuple[str, Fraction]]:
    if dimension == "count":
        yield from (("", Fraction(1)), ("%", Fraction(1, 100)))
        return
    for unit, factor in {DIMENSIONS[dimension]: Fraction(1), **_ALIASES.get(dimension, {})}.items():
        for prefix in _PREFIXES[dimension]:
            yield prefix + unit, factor * Fraction(10) ** _DECIMAL[prefix]
        if dimension in ("size", "bandwidth"):
            for prefix, multiple in _BINARY.items():
                yield prefix + unit, factor * multiple
    if dimension == "time":
        yield from ((unit, Fraction(seconds)) for unit, seconds in _LONG_TIMES.items())


_TABLE: Mapping[str, Mapping[str, Fraction]] = {name: dict(_units(name)) for name in DIMENSIONS}


def parse_quantity(text: str, dimension: str, place: Place | None = None) -> float:
    """Return the SI value of ``"318 us"``, ``"64 KiB"``, ``"10 Gbit/s"``, ``"5 %"`` ...; finite, of either sign.

    ``dimension`` is a key of ``DIMENSIONS``; the value is in its base unit, correctly rounded. Raises
    InputError for anything else than a decimal number (with optional exponent) and a unit of that dimension.
    """
    units = _dimension_units(dimension, place)
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        allowed = f"text of up to {MAX_LENGTH} characters"
        raise InputError(f"not a quantity ({dimension})", place, value=text, allowed=allowed)
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        base = DIMENSIONS[dimension] or "%"
        allowed = f"a decimal number and a unit, e.g. '1.5 {base}'; units: {nearest('', units)}"
        raise InputError(f"not a quantity ({dimension})", place, value=text, allowed=allowed)
    number, unit = match.group(1), match.group(2).replace(_GREEK_MU, _MICRO_SIGN)
    if unit and unit not in units:
        allowed = _bits_or_bytes(unit, units) or nearest(_written_out(unit), filter(None, units))
        raise InputError(_why_not(unit, dimension), place, value=text, allowed=allowed)
    value = _scaled(number, units[unit] if unit else Fraction(1))
    if not math.isfinite(value):
        raise InputError(f"too large ({dimension})", place, value=text, allowed="numbers up to 1.8e308")
    if is_subnormal(value):
        raise InputError(f"too small ({dimension})", place, value=text, allowed="0, or numbers from 2.3e-308")
    return value


def _bits_or_bytes(unit: str, units: Mapping[str, Fraction]) -> str:
    """Which unit to write for ``Gb/s``, which some take for bits and others for bytes; "" for any other."""
    bits, several = unit.replace("b", "bit"), unit.replace("b", "B")
    both = "b" in unit and bits in units and several in units
    return f"{bits!r} for bits or {several!r} for bytes, which are eight times as many bits" if both else ""


def is_positive(value: float) -> bool:
    """Whether it can be divided by and multiplied: ``LEAST`` to ``MOST``."""
    return bool(LEAST <= value <= MOST)


def is_subnormal(value: float) -> bool:
    """Whether a float is so near to 0 that it has lost digits, and that its inverse is infinite."""
    return 0 < abs(value) < sys.float_info.min


def has_unit(text: str, dimension: str) -> bool:
    """Whether the text is a number with a unit of this dimension."""
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= MAX_LENGTH else None
    return match is not None and match.group(2) != "" and match.group(2) in _dimension_units(dimension, None)


def units_with_dimension() -> dict[str, str]:
    """Map every unit, except of a plain count, to its dimension."""
    return {unit: dimension for dimension, units in _TABLE.items() if dimension != "count" for unit in units}


def unit_factor(unit: str) -> Fraction | None:
    """Return what a unit is in its SI base unit; None if it is not in the table."""
    dimension = units_with_dimension().get(unit)
    return None if dimension is None else _TABLE[dimension][unit]


def base_unit_of(text: str) -> str:
    """Return the SI base unit of a number with a unit of the table: ``B/s`` of ``10 GB/s``.

    Empty for any other text.
    """
    match = _QUANTITY.fullmatch(text.strip())
    unit = "" if match is None else match.group(2).replace(_GREEK_MU, _MICRO_SIGN)
    dimension = units_with_dimension().get(unit) if unit else None
    return "" if dimension is None else DIMENSIONS[dimension]


def format_quantity(value_si: float, dimension: str, digits: int = 4) -> str:
    """So many significant digits and an engineering prefix: ``"318 us"``, ``"1.2 GB/s"``, ``"0 s"``.

    A size that is a whole number of KiB, MiB, ... with at most four digits in these, if that is shorter or the decimal
    number is rounded: ``"64 KiB"``, ``"512 kB"``.

    Whole counts are written in full, cycles without a prefix. ``parse_quantity`` reads the text back to the printed
    precision.
    """
    text = decimal_quantity(value_si, dimension, digits)
    binary = _binary_size(value_si, dimension, text)
    return binary if len(binary.partition(" ")[0]) <= 4 and binary else text


def decimal_quantity(value_si: float, dimension: str, digits: int = 4) -> str:
    """Format as ``format_quantity`` with prefixes that are powers of 1000 only, for columns and axes."""
    _dimension_units(dimension, None)
    value = float(value_si)
    base = DIMENSIONS[dimension]
    if dimension in ("count", "cycles"):
        text = f"{value + 0.0:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.{digits}g}"
        return text if dimension == "count" else f"{text} {base}{'' if text == '1' else 's'}"
    if value == 0 or not math.isfinite(value):
        return f"{abs(value) if value == 0 else value:g} {base}"
    rounded = Decimal(f"{value:.{digits - 1}e}")  # rounded before the prefix is chosen: 999.96 us is 1 ms
    by_exponent = {_DECIMAL[prefix]: prefix for prefix in _PREFIXES[dimension] if prefix != "µ"}
    exponent = rounded.adjusted() // 3 * 3
    exponent = min(max(exponent, min(by_exponent)), max(by_exponent))
    return f"{float(rounded.scaleb(-exponent)):.{max(digits, 10)}g} {by_exponent[exponent]}{base}"


def rounded_toward(value: float, digits: int, up: bool, accuracy: float = 0.0) -> float:
    """Round to this many significant digits, up or down: a bound to the side on which it still holds.

    ``accuracy``: the relative error of the value, within which the nearest number is taken.
    """
    nearest_number = float(f"{value:.{digits - 1}e}")
    if not math.isfinite(value) or abs(nearest_number - value) <= accuracy * abs(value):
        return nearest_number
    number = Decimal(repr(float(value)))
    unit = Decimal(1).scaleb(number.adjusted() - digits + 1)
    return float(number.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR))


def told_apart(one: float, other: float, dimension: str, digits: int = 4) -> tuple[str, str]:
    """Format two quantities with as many digits as it takes for their texts to differ, if they differ."""
    texts = format_quantity(one, dimension, digits), format_quantity(other, dimension, digits)
    while one != other and texts[0] == texts[1] and digits < 17:
        digits += 1
        texts = format_quantity(one, dimension, digits), format_quantity(other, dimension, digits)
    return texts


def shortest_quantity(value_si: float, dimension: str, digits: int = 4) -> str:
    """As ``format_quantity``, but a size that is a whole number of KiB, ... is never rounded, whatever its digits."""
    text = decimal_quantity(value_si, dimension, digits)
    return _binary_size(value_si, dimension, text) or text


def _binary_size(value_si: float, dimension: str, text: str) -> str:
    """Return a size in KiB, MiB, GiB or TiB if it is a whole number of these; else empty.

    Only if the decimal ``text`` is longer or rounded.
    """
    value = float(value_si)
    if dimension != "size" or not value or not value.is_integer():
        return ""
    prefix, multiple = next((one for one in reversed(_BINARY.items()) if value % one[1] == 0), ("", 1))
    binary = f"{value / multiple:.0f} {prefix}B"
    rounded = parse_quantity(text, dimension) != value
    return binary if prefix and (rounded or len(binary) < len(text)) else ""


def _dimension_units(dimension: str, place: Place | None) -> Mapping[str, Fraction]:
    if dimension not in _TABLE:
        raise InputError("unknown dimension", place, value=dimension, allowed=nearest(str(dimension), _TABLE))
    return _TABLE[dimension]


def _written_out(unit: str) -> str:
    """Return ``Gbit/s`` for ``Gbps`` and ``GFLOP/s`` for ``Gflops``; others as they are."""
    for short, long in (
        ("bps", "bit/s"),
        ("Bps", "B/s"),
        ("flops", "FLOP/s"),
        ("FLOPS", "FLOP/s"),
        ("Flops", "FLOP/s"),
    ):
        if unit.endswith(short):
            return unit.removesuffix(short) + long
    return unit


def _why_not(unit: str, dimension: str) -> str:
    owners = [name for name, units in _TABLE.items() if unit in units]
    shown = unit if len(unit) <= 20 else f"{unit[:17]}..."
    if owners:
        return f"{shown!r} is a unit of {owners[0]}, not of {dimension}"
    return f"unknown unit {shown!r} of {dimension}"


def _scaled(number: str, factor: Fraction) -> float:
    value = float(number)
    if value == 0 or not math.isfinite(value):
        return value
    try:
        return float(Fraction(number) * factor)  # rounded once: 318 us is the same float as 318e-6
    except OverflowError:
        return math.inf

"""Numbers for people: engineering prefixes for whole columns and axes, which share one unit."""

from __future__ import annotations

import math
from collections.abc import Iterable

from simcodesign.core.units import DIMENSIONS, format_quantity

#: Units that take prefixes, and their dimension.
DIMENSION_OF = {unit: dimension for dimension, unit in DIMENSIONS.items() if unit} | {"flop/s": "rate"}


def shared_unit(values: Iterable[float], unit: str) -> tuple[float, str]:
    """By what numbers in this unit are multiplied, and in what unit they are then: one that fits the largest.

    What follows a unit, as in ``s per value``, stays; a unit that takes no prefix stays as it is.
    """
    base, rest = _split(unit)
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if base not in DIMENSION_OF or not largest:
        return 1.0, unit
    number, name = format_quantity(largest, DIMENSION_OF[base]).split(" ")
    prefix = name.removesuffix(DIMENSIONS[DIMENSION_OF[base]])
    power = round(math.log10(float(number) / largest) / 3) * 3
    return (10.0**power if largest else 1.0), f"{prefix}{base}{rest}"


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

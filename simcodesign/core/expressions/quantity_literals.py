"""Quantities within expressions, as ``2.5 us``, ``64 KiB``, ``10 GB/s``: found in a text before it is parsed.

A quantity is a number, spaces or none, and a unit of the table in ``core.units``; a unit with ``/`` has no spaces in
it, and the longest possible unit is used (``64 KiB/P`` is 64 KiB over P). ``%`` stays the remainder.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import parse_quantity, units_with_dimension

_LITERAL = re.compile(
    r"(?<![A-Za-z0-9_.])(?P<number>(?>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)) *"
    r"(?P<unit>[A-Za-zµμ]+(?:/[A-Za-z]+)?)(?![A-Za-z0-9_]| *\()"
)


@dataclass(frozen=True, slots=True)
class QuantityLiteral:
    """A quantity as it is written: its SI value, and its dimension, a key of ``DIMENSIONS``."""

    value: float
    dimension: str
    text: str


def quantity_literals(text: str, place: Place | None) -> dict[int, QuantityLiteral]:
    """Return the quantities of an expression by their columns (from 0).

    InputError for a number with an unknown unit.
    """
    units = units_with_dimension()
    found = {}
    for match in _LITERAL.finditer(text):
        number, unit = match.group("number", "unit")
        if unit.replace("μ", "µ") not in units:
            unit = unit.partition("/")[0]
        if keyword.iskeyword(unit) or unit in ("e", "E"):
            continue  # the parser reports these
        if (dimension := units.get(unit.replace("μ", "µ"))) is None:
            what = f"unknown unit {unit!r} at column {match.start('unit') + 1}"
            raise InputError(what, place, value=text, allowed=nearest(unit, units))
        written = text[match.start() : match.start("unit") + len(unit)]
        found[match.start()] = QuantityLiteral(parse_quantity(f"{number} {unit}", dimension, place), dimension, written)
    return found


def without_quantities(text: str, literals: Mapping[int, QuantityLiteral]) -> str:
    """Replace each quantity by a name of the same length, all underscores, so that columns stay the same."""
    for start, literal in literals.items():
        end = start + len(literal.text)
        text = text[:start] + "_" * (end - start) + text[end:]
    return text

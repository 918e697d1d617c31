"""Ranges of numbers in an ``--vary``: by factors, by steps, or a number of values."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np

from simcodesign.core.errors import InputError, Place

MOST_VALUES = 1_000_000
#: Geometric ranges with up to this many values are computed without rounding.
_FEW = 4096
#: The end of a range belongs to it if it is hit within this fraction of a step.
_HIT = Fraction(1, 10**9)
NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[ \t]*([A-Za-zµμ%][A-Za-z/µμ]*)?")


def wrong(text: str, what: str, allowed: str) -> InputError:
    """Return an InputError about an ``--vary``."""
    return InputError(what, Place("--vary"), value=text, allowed=allowed)


def geometric(low: float, high: float, factor: str, text: str) -> list[float]:
    """From ``low`` to ``high``, each the previous one times the factor. InputError for what is no such range."""
    match = NUMBER.fullmatch(factor.strip())
    by = float(match.group(1)) if match and not match.group(2) else math.nan
    if not by > 1 or not math.isfinite(by):
        raise wrong(text, "not a factor of a range", "xFACTOR with a number above 1")
    if not low > 0:
        raise wrong(text, "a range by factors begins above 0", "LOW above 0, or a range by steps: LOW:HIGH:+STEP")
    count = math.floor((math.log(high) - math.log(low)) / math.log(by) + 1e-9) + 1
    check_count(count, text)
    if count <= _FEW:
        exact, ratio = Fraction(repr(low)), Fraction(match.group(1)) if match else Fraction(by)
        values = [float(exact * ratio**k) for k in range(count)]
    else:
        values = (low * by ** np.arange(count)).tolist()
    if count > 1 and abs(values[-1] - high) <= 1e-9 * high:
        values[-1] = high
    return values


def arithmetic(low: float, high: float, step: float, text: str) -> list[float]:
    """From ``low`` to ``high`` by steps. InputError for a step that does not go up."""
    if not step > 0:
        raise wrong(text, "not a step of a range", "+STEP with a number above 0")
    first, width, by = Fraction(repr(low)), Fraction(repr(high)) - Fraction(repr(low)), Fraction(repr(step))
    count = math.floor(width / by + _HIT) + 1
    check_count(count, text)
    values = [float(first + k * by) for k in range(count)]
    if count > 1 and abs(first + (count - 1) * by - Fraction(repr(high))) <= _HIT * by:
        values[-1] = high
    return values


def counted(low: float, high: float, count_text: str, log: bool, text: str) -> list[float]:
    """So many values from ``low`` to ``high``, evenly or by factors. InputError for a count that cannot be."""
    count = int(count_text) if count_text.isdecimal() and len(count_text) < 10 else 0
    if count < 1 or (count == 1 and low != high):
        raise wrong(text, "not a number of values of a range", "n=COUNT, a whole number, 2 or more")
    check_count(count, text)
    if low == high:
        return [low]
    if log:
        if not low > 0:
            raise wrong(text, "a logarithmic range begins above 0", "LOW above 0")
        inner = np.geomspace(low, high, count)
        return [low, *inner[1:-1].tolist(), high]
    first, width = Fraction(repr(low)), Fraction(repr(high)) - Fraction(repr(low))
    return [float(first + width * k / (count - 1)) for k in range(count)]


def check_count(count: int, text: str) -> None:
    """InputError for more values than an axis may have."""
    if count > MOST_VALUES:
        raise wrong(text, f"there are too many values: {count:.3g}", f"up to {MOST_VALUES} of an axis")

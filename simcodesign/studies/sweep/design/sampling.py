"""Samples of a sweep: quasi-random points in ranges, instead of a full grid."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.units import DIMENSIONS
from simcodesign.studies.sweep.design.grid import (
    Design,
    Lookup,
    SweepAxis,
    limits,
    listed,
    name_and_rest,
    parse_axis,
    split,
    unknown,
)
from simcodesign.studies.sweep.design.ranges import MOST_VALUES, wrong

METHODS = ("sobol", "lhs")
FORMS = "NAME=LOW:HIGH, NAME=LOW:HIGH:log; or values as in a grid: NAME=A,B,C"
#: More dimensions than anyone varies, fewer than SciPy's direction numbers hold.
MAX_AXES = 1000


def sampled(over: Sequence[str], count: int, method: str, seed: int = 0, lookup: Lookup = unknown) -> Design:
    """``count`` points of a Sobol sequence (scrambled; Owen 1998) or a Latin hypercube over ranges ``LOW:HIGH[:log]``.

    Ranges of whole numbers give whole numbers, each as often as any other; values written out occur in equal
    shares. Duplicate points are left out. The ``note`` of the design mentions that, and when a Sobol sequence
    is cut so that it is not balanced. InputError for anything that cannot be used.
    """
    if method not in METHODS:
        raise InputError(
            "unknown method of sampling", Place("--sample"), value=method, allowed=nearest(str(method), METHODS)
        )
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_VALUES:
        raise InputError(
            "not a number of points of a sample", Place("--sample"), value=count, allowed=f"1 to {MOST_VALUES}"
        )
    if not 1 <= len(over) <= MAX_AXES:
        raise InputError("nothing is varied", Place("--vary"), value=len(over), allowed=f"1 to {MAX_AXES} axes")
    shares = _shares(count, len(over), method, seed)
    axes = [_sampled_axis(text, shares[:, at], lookup) for at, text in enumerate(over)]
    distinct = _first_of_equals(axes)
    notes = [_balance_note(count)] if method == "sobol" and count & (count - 1) else []
    if len(distinct) < count:
        notes.append(f"{count - len(distinct)} of {count} points came twice and are left out")
    return Design(tuple(_select_values(axis, distinct) for axis in axes), zipped=True, note="; ".join(notes))


def _shares(count: int, dimensions: int, method: str, seed: int) -> NDArray[np.float64]:
    """Points in the unit cube: (count, dimensions)."""
    # Imported on use: it takes longer than all else that a worker imports for a sweep, and a grid does not need it.
    from scipy.stats import qmc

    generator = np.random.default_rng(seed)
    if method == "lhs":
        return np.asarray(qmc.LatinHypercube(dimensions, seed=generator).random(count), dtype=np.float64)
    whole = math.ceil(math.log2(count)) if count > 1 else 0
    points = qmc.Sobol(dimensions, scramble=True, seed=generator).random_base2(whole)
    return np.asarray(points[:count], dtype=np.float64)


def _balance_note(count: int) -> str:
    below = 2 ** int(math.log2(count))
    return f"a Sobol sequence is balanced at powers of two: {below} or {2 * below} points, rather than {count}"


def _sampled_axis(text: str, shares: NDArray[np.float64], lookup: Lookup) -> SweepAxis:
    name, rest = name_and_rest(text)
    known = lookup(name)
    parts = split(rest, ":")
    if len(parts) == 1:
        return _sampled_from(listed(name, rest, known, text), shares)
    words = [word_.lower() for word_ in parts[2:]]
    if words not in ([], ["log"], ["linear"]):
        return _sampled_from(parse_axis(text, lookup), shares)
    if known.choices:
        raise wrong(text, "a range of something that has names", nearest("", known.choices))
    low, high, dimension = limits(parts[0], parts[1], known, text)
    log = words == ["log"]
    if low <= 0 and (log or known.inverse):
        raise wrong(text, "a range that begins above 0", FORMS)
    values = _whole(low, high, log, shares, text) if known.whole else _real(low, high, log, shares)
    return SweepAxis(name, tuple(values.tolist()), DIMENSIONS.get(dimension, ""), log, known)


def _sampled_from(axis: SweepAxis, shares: NDArray[np.float64]) -> SweepAxis:
    """Return an axis of values chosen from the values of ``axis`` in equal shares."""
    indices = np.minimum((shares * len(axis.values)).astype(np.int64), len(axis.values) - 1)
    return _select_values(axis, indices)


def _select_values(axis: SweepAxis, indices: NDArray[np.int64]) -> SweepAxis:
    return SweepAxis(axis.name, tuple(axis.values[at] for at in indices.tolist()), axis.unit, axis.log, axis.known)


def _real(low: float, high: float, log: bool, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    if not log:
        return np.clip(low * (1 - shares) + high * shares, low, high)
    between: NDArray[np.float64] = np.exp(math.log(low) * (1 - shares) + math.log(high) * shares)
    return np.asarray(np.clip(between, low, high), dtype=np.float64)


def _whole(low: float, high: float, log: bool, shares: NDArray[np.float64], text: str) -> NDArray[np.float64]:
    """Whole numbers: in equal shares, or those nearest to points that are even in the logarithm."""
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        raise wrong(text, "no whole number in the range", FORMS)
    if not log:
        return np.asarray(np.minimum(first + np.floor(shares * (last - first + 1)), last), dtype=np.float64)
    # Each whole number has the interval from half below to half above it.
    rounded = np.rint(_real(first - 0.5, last + 0.5, True, shares))
    return np.asarray(np.clip(rounded, first, last), dtype=np.float64)


def _first_of_equals(axes: Sequence[SweepAxis]) -> NDArray[np.int64]:
    """Return indices of the points that equal no earlier point."""
    first_numbers: dict[tuple[object, ...], int] = {}
    for number, values in enumerate(zip(*(axis.values for axis in axes), strict=True)):
        first_numbers.setdefault(values, number)
    return np.fromiter(first_numbers.values(), dtype=np.int64, count=len(first_numbers))

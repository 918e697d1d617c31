"""Durations as whole numbers of a quantum, so that sums of them are exact.

A simulation adds durations to times. From 2^k to 2^(k+1) seconds, floating-point times are multiples of
q = 2^(k-52), and adding d to one gives the same as adding d rounded to a multiple of q (but for halves). So a run does,
in this span of time, exactly what it does with such durations, wherever in the span it is; from one power of two to
the next, what is rounded changes, and with it perhaps who of two that come at the same time but for rounding comes
first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.generate.plan import Plan, Routes

Floats = NDArray[np.float64]
#: Bits of a floating-point number.
BITS = 53


def quantum_below(time_s: float) -> float:
    """The quantum whose multiples up to ``time_s``, and somewhat beyond, are exact."""
    return float(2.0 ** (np.frexp(time_s)[1] - BITS))


def with_quantum(plan: Plan, quantum_s: float) -> Plan:
    """The Plan with all durations rounded to multiples of the quantum, but not to nothing."""
    routes = None if plan.routes is None else replace(plan.routes, **_all_rounded(plan.routes, quantum_s))
    return replace(plan, routes=routes, **_all_rounded(plan, quantum_s))


def _all_rounded(place: Plan | Routes, quantum_s: float) -> dict[str, Any]:
    return {name: _rounded(times, quantum_s) for name, times in _durations(place)}


def is_multiple(plan: Plan, quantum_s: float) -> bool:
    """Whether rounding to the quantum changes nothing."""
    places = (plan,) if plan.routes is None else (plan, plan.routes)
    return all(np.array_equal(times, _rounded(times, quantum_s)) for place in places for _, times in _durations(place))


def _rounded(times_s: Floats, quantum_s: float) -> Floats:
    rounded: Floats = np.rint(times_s / quantum_s) * quantum_s
    return np.where((rounded == 0) & (times_s > 0), quantum_s, rounded)


def _durations(place: Plan | Routes) -> Iterator[tuple[str, Floats]]:
    """The arrays of seconds."""
    for field in fields(place):
        value = getattr(place, field.name)
        if field.name.endswith("_s") and value is not None:
            yield field.name, value

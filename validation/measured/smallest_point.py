"""Whether the warning of a point in another regime helps on measured rows: the largest point predicted with and without.

``python -m validation.measured.smallest_point`` prints the figures of docs/fitting.md. A series is rows of the benchmark
that differ by ranks alone or by bytes alone, with seven values or more. It is fitted without its largest value, which is
predicted; then without the smallest one too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

import simcodesign as sc
from simcodesign.fitting.diagnostics import REGIME
from simcodesign.fitting.measurements import FloatArray, Measurements

from .benchmark import rows
from .small_runs import BYTES, RANKS, SHAPE

LEAST = 7


def series() -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield coordinates and measured seconds of each series, ascending."""
    found: dict[object, dict[float, float]] = {}
    repeated: set[object] = set()
    for row in rows():
        for name in {RANKS, BYTES} & row.values.keys():
            rest = tuple((key, value) for key, value in row.values.items() if key not in (name, SHAPE))
            series_of, at = (row.group, name, rest), float(row.values[name])
            if at in found.setdefault(series_of, {}):
                repeated.add(series_of)
            found[series_of][at] = row.seconds
    for key, times in found.items():
        if key not in repeated and len(times) >= LEAST:
            yield np.array(sorted(times)), np.array([times[at] for at in sorted(times)])


@dataclass(frozen=True)
class Summary:
    """How many ``series``, and ``warned``; median errors in % of the largest point with and without the smallest one, of
    series with the warning and of the others."""

    series: int
    warned: int
    warned_errors: tuple[float, float]
    other_errors: tuple[float, float]


def _fit(at: FloatArray, seconds: FloatArray) -> sc.Fit:
    (fit,) = sc.fit(Measurements(("x",), at[:, None], ("measured",), ("seconds",), seconds[None, :, None]))
    return fit


def summary() -> Summary:
    """Fit every series twice."""
    errors: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for at, seconds in series():
        every, others = _fit(at[:-1], seconds[:-1]), _fit(at[1:-1], seconds[1:-1])
        is_warned = any(kind == REGIME for kind, _ in every.warnings)
        here, there = (100 * abs(one.predict([at[-1]]).value / seconds[-1] - 1) for one in (every, others))
        errors[is_warned].append((float(here), float(there)))
    medians = {
        key: (median(one for one, _ in each), median(one for _, one in each)) if each else (np.nan, np.nan)
        for key, each in errors.items()
    }
    return Summary(sum(map(len, errors.values())), len(errors[True]), medians[True], medians[False])


if __name__ == "__main__":
    print(summary())

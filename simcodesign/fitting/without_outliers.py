"""Measurements without those that the others do not explain, for models that a few disturbed runs must not bend.

One after the other is taken out, the farthest first, and the models are fitted again (Rosner 1983, Technometrics 25,
165): repetitions that the others of their point do not explain (``outlier_repetitions``), then points that the model of
the other points does not explain (``diagnostics.outliers``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simcodesign.fitting.fit import fit
from simcodesign.fitting.fits import Fits
from simcodesign.fitting.measurements import FloatArray, Measurements, point_text

#: Points, and repetitions, of a series that are left out at most.
MAX_LEFT_OUT = 3


def without_outliers(measurements: Measurements, **options: Any) -> tuple[Measurements, list[str]]:
    """Return the measurements without outliers, and each outlier in words; ``options`` go to ``fit``.

    At most three repetitions and three points of a series are left out. Raises InputError as ``fit`` does.
    """
    left_out: list[str] = []
    values = measurements.values.copy()
    fits = fit(measurements, **options)
    for row in range(len(measurements.regions)):
        for one in fits.outlier_repetitions(row):
            values[row, one.point, one.repetition] = np.nan
            name = f"repetition {one.repetition + 1} of {_at(measurements, row, one.point)}"
            left_out.append(f"{name}: measured {one.measured:.6g}, the others {one.others:.6g}")
    for _ in range(MAX_LEFT_OUT):
        current = replace(measurements, values=values)
        found = _farthest_points(current, fit(current, **options))
        if not found:
            break
        values = values.copy()
        for row, point, text in found:
            values[row, point] = np.nan
            left_out.append(f"{_at(measurements, row, point)}: {text}")
    return replace(measurements, values=values), left_out


def _farthest_points(measurements: Measurements, fits: Fits) -> list[tuple[int, int, str]]:
    """Return row and point of the farthest outlier of each series, with what was measured and expected."""
    found = []
    for row, one in enumerate(fits):
        if one.outliers:
            farthest = max(one.outliers, key=lambda outlier: abs(outlier.deviations))
            at = np.array([farthest.point[name] for name in measurements.parameters])
            point = int(np.flatnonzero((measurements.points == at).all(axis=1))[0])
            found.append(
                (row, point, f"measured {farthest.measured:.6g}, the other points give {farthest.expected:.6g}")
            )
    return found


def _at(measurements: Measurements, row: int, point: int) -> str:
    coordinates: FloatArray = measurements.points[point]
    names = f"{measurements.regions[row]} {measurements.metrics[row]}"
    return f"{names} at {point_text(measurements.parameters, coordinates)}"

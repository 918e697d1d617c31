"""Whether the constants of several phases are one vector times one factor for each phase, as in SPECseis96, Table 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from simcodesign.core.errors import InputError
from simcodesign.core.units import LEAST, MOST, POSITIVE_RANGE
from simcodesign.fitting.measurements import FloatArray


@dataclass(frozen=True, eq=False)
class CommonDirection:
    """A table of constants (K, F) as ``vector`` (K,) times ``factors`` (F,), of which the first is 1.

    ``relative_misfit``: largest deviation as a fraction; ``rounding_misfit``: (K, F), deviations as a fraction of what
    rounding allows (all at most 1: one number for each column explains the table as it is printed).
    """

    vector: FloatArray
    factors: FloatArray
    relative_misfit: float
    rounding_misfit: FloatArray | None


def common_direction(
    table: Sequence[Sequence[float]] | FloatArray, rounding: Sequence[Sequence[float]] | FloatArray | None = None
) -> CommonDirection:
    """Return the vector and the factors nearest to a table of positive constants, one row a constant.

    Columns are phases.

    The largest deviation is made least: relative, or as a fraction of ``rounding`` (K, F), by which an entry may be off
    (a linear programme in logarithms, whose misfits are then taken as they are). Raises InputError for entries that are
    not above 0, or whose rounding leaves no room.
    """
    values = np.asarray(table, dtype=np.float64)
    tolerance = None if rounding is None else np.asarray(rounding, dtype=np.float64)
    if values.ndim != 2 or not values.size or not np.all((values >= LEAST) & (values <= MOST)):
        raise InputError("table of constants", value=values.tolist(), allowed=f"rows of numbers, each {POSITIVE_RANGE}")
    if tolerance is not None and (
        tolerance.shape != values.shape or not np.all((tolerance > 0) & (tolerance < values))
    ):
        raise InputError(
            "rounding of a table", value=tolerance.tolist(), allowed="one for each entry, above 0 and below it"
        )
    count, phases = values.shape
    below, above = (np.ones_like(values),) * 2
    if tolerance is not None:
        below, above = -np.log1p(-tolerance / values), np.log1p(tolerance / values)
    rows, target = [], []
    for row, column in np.ndindex(count, phases):
        here = np.zeros(count + phases + 1)
        here[[row, count + column]] = 1.0
        for sign, width in ((1.0, above), (-1.0, below)):
            line = sign * here
            line[-1] = -width[row, column]
            rows.append(line)
            target.append(sign * np.log(values[row, column]))
    goal = np.eye(count + phases + 1)[-1]
    bounds = [(None, None)] * count + [(0, 0)] + [(None, None)] * (phases - 1) + [(0, None)]
    solution = linprog(goal, A_ub=np.array(rows), b_ub=np.array(target), bounds=bounds)
    if solution.status != 0:
        raise InputError("there is no common direction", value=values.tolist())
    vector, factors = np.exp(solution.x[:count]), np.exp(solution.x[count:-1])
    off = np.abs(np.outer(vector, factors) - values)
    return CommonDirection(vector, factors, float(np.max(off / values)), None if tolerance is None else off / tolerance)

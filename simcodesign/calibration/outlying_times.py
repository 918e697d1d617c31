"""Times that a linear model does not explain: how they are recognised, and a fit that leaves them out.

A time is an outlier if its residual, divided by its standard deviation as all other times show it (externally
studentised residual), is beyond what chance gives once in a hundred fits.

The robust fit is reweighted least squares (Rousseeuw and Leroy, Robust Regression and Outlier Detection, 1987, chapter
5, section 2). It starts from least absolute deviations, a linear program, and the scale 1.4826 (1 + 5/(n - p)) times
the median absolute residual. Times beyond the limit of that scale are left out, then those beyond the limit of the
scale that the others show. Least squares then fits what is left. Absolute deviations resist times that are too long or
too short as long as these weigh less than the others in every combination of the constants: up to nearly half of them
if all weigh alike. They do not resist a time that alone determines a constant, as the largest of sizes that double
does a bandwidth where errors are absolute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack
from scipy.stats import t

from simcodesign.calibration.linear_algebra import NULL, nonnegative
from simcodesign.fitting.measurements import FloatArray

#: Chance, per fit, that a time is called an outlier though none is.
FALSE_ALARM = 0.01
#: Minimum number of times in excess of the number of constants at which outliers can be recognised.
MIN_FREEDOM = 3
#: Residuals below this fraction of the times are rounding of the linear program.
ROUNDING = 1e-7
#: Fits of absolute deviations, each weighted by the times that the previous fit gave.
STARTS = 3
#: The median absolute deviation of a normal distribution of standard deviation 1, inverted.
NORMAL = 1.4826


@dataclass(frozen=True)
class OutlyingTime:
    """A measured time that is far from what the other times give.

    ``row`` of the problem, what was measured there, what the other times give, and the distance in standard deviations
    (infinite where the others agree to rounding).
    """

    row: int
    measured_s: float
    expected_s: float
    deviations: float


def limit(count: int, freedom: int) -> float:
    """Return the studentised residual that chance exceeds once in a hundred fits of ``count`` times."""
    return float(t.ppf(1 - FALSE_ALARM / (2 * count), max(freedom, 1)))


def outlying(design: FloatArray, target: FloatArray, x: FloatArray) -> list[tuple[int, float, float]]:
    """Return row, value by the others and deviations of each outlier among weighted rows that ``x`` fits.

    Constants at 0 are held there.
    """
    free = design[:, x > 0]
    rank = int(np.linalg.matrix_rank(free, tol=NULL)) if free.size else 0
    freedom = len(target) - rank - 1
    if freedom < MIN_FREEDOM - 1:
        return []
    residuals = target - design @ x
    basis = np.linalg.svd(free, full_matrices=False)[0][:, :rank] if rank else np.zeros((len(target), 0))
    spare = np.maximum(1 - (basis**2).sum(axis=1), 1e-6)
    total = float((residuals**2).sum())
    if total <= len(target) * (ROUNDING * float(np.abs(target).max())) ** 2:
        return []
    rest = np.maximum(total - residuals**2 / spare, 1e-30 * total) / freedom
    studentised = residuals / np.sqrt(rest * spare)
    most = limit(len(target), freedom)
    return [
        (row, float(target[row] - residuals[row] / spare[row]), float(studentised[row]))
        for row in np.flatnonzero(np.abs(studentised) > most).tolist()
    ]


def kept_by_robust_fit(
    raw: FloatArray, times_s: FloatArray, known_s: FloatArray, relative: bool
) -> tuple[NDArray[np.bool_], FloatArray, FloatArray]:
    """Return which times a robust fit keeps, what it gives for each, and the distance of each in standard deviations.

    ``raw``: (N, K) design, none below 0; ``relative``: errors are in proportion to the fitted times.
    """
    scale, fitted = (times_s.copy() if relative else np.ones(len(times_s))), times_s
    freedom = len(times_s) - int(np.linalg.matrix_rank(raw)) if len(times_s) else 0
    everything = np.ones(len(times_s), dtype=np.bool_)
    if freedom < MIN_FREEDOM:
        return everything, fitted, np.zeros(len(times_s))
    for _ in range(STARTS if relative else 1):
        fitted = known_s + raw @ _least_deviations(raw / scale[:, None], (times_s - known_s) / scale)
        scale = np.where(fitted > 0, fitted, times_s) if relative else scale
    residuals = (times_s - fitted) / scale
    floor = ROUNDING * float(np.abs(times_s / scale).max())
    start = NORMAL * (1 + 5 / freedom) * float(np.median(np.abs(residuals)))
    kept = np.abs(residuals) <= max(limit(len(times_s), freedom) * start, floor)
    x = nonnegative(raw[kept] / scale[kept, None], ((times_s - known_s) / scale)[kept])
    fitted = known_s + raw @ x
    residuals = (times_s - fitted) / scale
    left = max(int(kept.sum()) - int(np.linalg.matrix_rank(raw[kept])), 1)
    spread = float(np.sqrt((residuals[kept] ** 2).sum() / left))
    kept = np.abs(residuals) <= max(limit(len(times_s), left) * spread, floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        return kept, fitted, np.where(kept, 0.0, residuals / (spread if spread > floor else 0.0))


def _least_deviations(design: FloatArray, target: FloatArray) -> FloatArray:
    """Return the solution of none below 0 with the least sum of absolute deviations."""
    norms = np.abs(design).max(axis=0)
    norms[norms == 0] = 1.0
    size = max(float(np.abs(target).max()), 1e-300)
    rows, columns = design.shape
    deviations = eye_array(rows)
    goal = np.concatenate([np.zeros(columns), np.ones(2 * rows)])
    equal = hstack([csr_array(design / norms), deviations, -deviations])
    solution = linprog(goal, A_eq=equal, b_eq=target / size, method="highs")
    if solution.status != 0:  # of numbers beyond the solver's range
        return nonnegative(design, target)
    x: FloatArray = np.maximum(solution.x[:columns], 0.0) * size / norms
    return x

"""Least squares with all unknowns at or above 0, and the sparsest sums that rows determine."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from simcodesign.fitting.measurements import FloatArray

#: Singular values below this fraction of the largest are null: design matrices carry rounding of some 1e-13.
NULL = 1e-9


def nonnegative(design: FloatArray, target: FloatArray) -> FloatArray:
    """Return the least-squares solution of ``design @ x = target`` with all x at or above 0.

    One of them if there are many.
    """
    if not len(target) or not design.shape[1]:
        return np.zeros(design.shape[1])
    free_of_bounds = np.asarray(np.linalg.lstsq(design, target, rcond=NULL)[0], dtype=np.float64)
    if np.all(free_of_bounds >= 0):
        return free_of_bounds
    solution = lsq_linear(design, target, (0, np.inf), method="bvls", tol=1e-15, max_iter=100 * design.shape[1])
    x: FloatArray = np.maximum(solution.x, 0.0)
    free = x > 0
    better = np.zeros_like(x)
    better[free] = np.linalg.lstsq(design[:, free], target, rcond=NULL)[0]  # to rounding, which the iteration is not
    return better if np.all(better >= 0) else x


def echelon(rows: FloatArray) -> FloatArray:
    """Reduced row echelon form of independent rows: the sparsest sums, each with its own leading column of 1."""
    reduced = rows.copy()
    done = 0
    for column in range(reduced.shape[1]):
        if done == len(reduced):
            break
        pivot = done + int(np.argmax(np.abs(reduced[done:, column])))
        if abs(reduced[pivot, column]) < np.sqrt(NULL):
            continue
        reduced[[done, pivot]] = reduced[[pivot, done]]
        reduced[done] /= reduced[done, column]
        for other in range(len(reduced)):
            if other != done:
                reduced[other] -= reduced[other, column] * reduced[done]
        done += 1
    reduced[np.abs(reduced) < np.sqrt(NULL)] = 0.0
    return reduced

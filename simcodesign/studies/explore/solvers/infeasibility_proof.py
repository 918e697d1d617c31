"""Proof of infeasibility by branch and bound, where all constraints are monotone in every variable.

Then the least gap of a constraint over a box of the space is at one of its corners. A box is excluded if a constraint
is violated even there; the others are halved, until none is left (branch and bound), a corner is feasible, or there
are too many. Monotonicity is checked along lines through the space, and at all boxes: the smallest gap of a half is
never less than that of the whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcodesign.studies.explore.evaluator import Evaluator
from simcodesign.studies.explore.problem import ROUNDING, Problem
from simcodesign.studies.explore.space import FloatArray

#: Lines through the space for each variable, and points of a line.
LINES, POINTS = 8, 17
#: Boxes at a time, and in all.
MOST_BOXES, MOST_IN_ALL = 512, 2048
#: With more variables halves do not come to an end.
MOST_VARIABLES = 8
#: Steps of a gap of less than this share are rounding of the model.
DUST = 1e-12
STAGE = "proof"


def excluded_boxes(evaluator: Evaluator, seed: int = 0) -> int:
    """Number of boxes without a feasible point that cover the space; 0 where infeasibility cannot be proven."""
    problem = evaluator.problem
    if not problem.constraints or len(problem.space.variables) > MOST_VARIABLES:
        return 0
    rising = _rising(evaluator, seed)
    if rising is None:
        return 0
    low, high = np.zeros((1, len(problem.space.tops))), problem.space.tops[None, :].astype(np.float64)
    before, count = np.full((1, len(problem.constraints)), -np.inf), 0
    while len(low):
        lower, upper = _bounds(evaluator, low, high, rising)
        if np.isnan(lower).any() or np.isnan(upper).any() or np.any(lower < before - DUST * (np.abs(before) + 1)):
            return 0
        excluded = _excluded(problem, lower, upper)
        count += int(excluded.sum())
        low, high, before = low[~excluded], high[~excluded], lower[~excluded]
        if len(low) > MOST_BOXES or count > MOST_IN_ALL or not _can_be_halved(problem, low, high).all():
            return 0
        low, high, before = _halved(problem, low, high, before)
    return count


def _rising(evaluator: Evaluator, seed: int) -> NDArray[np.bool_] | None:
    """Whether each gap rises with each variable, (variables, constraints); None where one does neither."""
    space, random = evaluator.problem.space, np.random.default_rng(seed)
    base = space.encode(space.sample(LINES, random))
    rising = []
    for at, top in enumerate(space.tops):
        lines = np.repeat(base, POINTS, axis=0)
        lines[:, at] = np.tile(np.linspace(0.0, top, POINTS), LINES)
        gaps = evaluator(space.decode(lines), STAGE).evaluated.gaps.reshape(LINES, POINTS, -1)
        steps, dust = np.diff(gaps, axis=1), DUST * (np.abs(gaps[:, 1:]) + 1)
        up, down = (steps >= -dust).all(axis=(0, 1)), (steps <= dust).all(axis=(0, 1))
        if not (up | down).all():  # also where the model has no number
            return None
        rising.append(up)
    return np.array(rising)


def _bounds(
    evaluator: Evaluator, low: FloatArray, high: FloatArray, rising: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest gap of every constraint over every box, both (boxes, constraints)."""
    problem = evaluator.problem
    lower, upper = np.empty((len(low), rising.shape[1])), np.full((len(low), rising.shape[1]), np.inf)
    corners: dict[tuple[bool, ...], FloatArray] = {}

    def gaps(ends: NDArray[np.bool_]) -> FloatArray:
        """At the corner of each box that is low where ``ends`` says so."""
        key = tuple(bool(end) for end in ends)
        if key not in corners:
            points = problem.space.decode(np.where(ends, low, high))
            corners[key] = evaluator(points, STAGE).evaluated.gaps
        return corners[key]

    for at, constraint in enumerate(problem.constraints):
        lower[:, at] = gaps(rising[:, at])[:, at]
        if constraint.relation == "==":
            upper[:, at] = gaps(~rising[:, at])[:, at]
    return lower, upper


def _excluded(problem: Problem, lower: FloatArray, upper: FloatArray) -> NDArray[np.bool_]:
    """Boxes of which no point can meet all constraints: (boxes,)."""
    excluded = np.zeros(len(lower), dtype=np.bool_)
    for at, constraint in enumerate(problem.constraints):
        allowed = constraint.slack + (constraint.tolerance if constraint.relation == "==" else 0.0)
        excluded |= lower[:, at] > allowed + ROUNDING
        if constraint.relation == "==":
            excluded |= upper[:, at] < constraint.slack - constraint.tolerance - ROUNDING
    return excluded


def _can_be_halved(problem: Problem, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Boxes with more than a point: (boxes,)."""
    smallest_width = np.where(problem.space.counted, 0.5, 1e-12)
    return np.asarray((high - low > smallest_width).any(axis=1))


def _halved(
    problem: Problem, low: FloatArray, high: FloatArray, before: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Both halves of every box, along the side that is the longest share of its variable."""
    if not len(low):
        return low, high, before
    tops, counted = np.maximum(problem.space.tops, 1e-300), problem.space.counted
    axis = ((high - low) / tops).argmax(axis=1)
    rows = np.arange(len(low))
    middle = (low[rows, axis] + high[rows, axis]) / 2
    whole = counted[axis]
    first_high, second_low = high.copy(), low.copy()
    first_high[rows, axis] = np.where(whole, np.floor(middle), middle)
    second_low[rows, axis] = np.where(whole, np.floor(middle) + 1, middle)
    return np.vstack([low, second_low]), np.vstack([first_high, high]), np.vstack([before, before])

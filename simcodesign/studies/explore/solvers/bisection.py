"""A problem in one variable in which everything is monotone, solved exactly.

Sampled first; if the total and every constraint go one way over the samples, what is feasible is an interval and the
best point is one of its ends. That end is then closed in on by sections, each sampled again, until there is no number
between a feasible and an infeasible one: the next whole number, or the next float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.studies.explore.evaluator import Evaluator
from simcodesign.studies.explore.problem import ROUNDING
from simcodesign.studies.explore.space import FloatArray

#: Points of the first look, and of each section.
SAMPLES, SECTION = 129, 33
#: Steps of less than this share are rounding of the model.
DUST = 1e-12
STAGE = "bisection"


def bisect(evaluator: Evaluator) -> bool:
    """Whether everything was monotone, so that the best point is among those evaluated, or nothing is feasible."""
    variable = evaluator.problem.space.variables[0]
    points = np.unique(variable.decode(np.linspace(0.0, variable.top, SAMPLES)))
    while len(points):
        evaluator(points[:, None], STAGE)
        seen = _Samples.of(evaluator)
        if not seen.monotone:
            return False
        points = seen.next(variable.discrete)
    return True


@dataclass(frozen=True)
class _Samples:
    """All points so far in increasing order (n,), their totals (n,), and what of each constraint is not allowed
    (n, constraints)."""

    points: FloatArray
    total: FloatArray
    excess: FloatArray
    usable: bool

    @classmethod
    def of(cls, evaluator: Evaluator) -> _Samples:
        every = evaluator.all_evaluated()
        points, first = np.unique(every.points[:, 0], return_index=True)
        problem = evaluator.problem
        # Of an equality both sides may be violated, with little or nothing between: that is left to a search.
        usable = bool(every.usable.all()) and all(one.relation != "==" for one in problem.constraints)
        return cls(points, evaluator.score(every).total[first], problem.excess(every.gaps)[first], usable)

    @property
    def monotone(self) -> bool:
        """Whether everything is finite and goes one way."""
        # An excess is a difference from the bound, so that its rounding is that of 1.
        return self.usable and _one_way(self.total, 0.0) and all(_one_way(column, 1.0) for column in self.excess.T)

    def next(self, whole: bool) -> FloatArray:
        """Points between those where the best one may still hide; none if it cannot."""
        rising = self.excess[-1] > self.excess[0]
        good = self.excess <= ROUNDING
        below, above = good[:, rising].all(axis=1), good[:, ~rising].all(axis=1)
        if not (below.any() and above.any()):
            return np.zeros(0)
        last, first = int(np.flatnonzero(below)[-1]), int(np.flatnonzero(above)[0])
        ends = [(last, last + 1), (first - 1, first)]  # the feasible interval ends within these
        if first <= last:
            ends = ends[1:] if self.total[-1] >= self.total[0] else ends[:1]
        within = [(low, high) for low, high in ends if low >= 0 and high < len(self.points)]
        cuts = [_between(float(self.points[low]), float(self.points[high]), whole) for low, high in within]
        return np.concatenate([np.zeros(0), *cuts])


def _one_way(values: FloatArray, beside: float) -> bool:
    """Never up, or never down, but for rounding of the values ``beside`` something else."""
    if not np.isfinite(values).all():
        return False
    steps, dust = np.diff(values), DUST * (np.abs(values[1:]) + beside)
    return bool(np.all(steps >= -dust) or np.all(steps <= dust))


def _between(low: float, high: float, whole: bool) -> FloatArray:
    """Numbers that cut the interval into sections, its ends left out."""
    cuts = np.append(np.linspace(low, high, SECTION + 1)[1:-1], low + (high - low) / 2)
    cuts = np.unique(np.rint(cuts) if whole else cuts)
    return cuts[(cuts > low) & (cuts < high)]

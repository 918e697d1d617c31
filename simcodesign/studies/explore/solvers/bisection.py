"""Bisection: a problem in one variable in which everything is monotone at all samples.

Sampled first; if the total and every constraint go one way over the samples, what is feasible is an interval and the
best point is one of its ends. That end is then located by subdivision, each section sampled again, until there is no
number between a feasible and an infeasible one: the next whole number, or the next float64. Samples prove nothing of
what lies between them; ``infeasibility_proof`` may.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.studies.explore.evaluator import Evaluator
from simcodesign.studies.explore.problem import ROUNDING
from simcodesign.studies.explore.space import FloatArray

#: Points of the first look, and of each section.
SAMPLES, SECTION = 129, 33
#: Steps of less than this fraction are rounding of the model.
DUST = 1e-12
STAGE = "bisection"


def bisect(evaluator: Evaluator) -> bool:
    """Return whether everything was monotone at all samples.

    If it is between them as well, the best point is among those evaluated, or nothing is feasible.
    """
    variable = evaluator.problem.space.variables[0]
    points = np.unique(variable.decode(np.linspace(0.0, variable.top, SAMPLES)))
    while len(points):
        evaluator(points[:, None], STAGE)
        samples = _Samples.of(evaluator)
        if not samples.monotone:
            return False
        points = samples.next(variable.discrete)
    return True


@dataclass(frozen=True)
class _Samples:
    """All points so far in increasing order (n,), with totals and excess.

    Their totals (n,), and the excess of each constraint (n, constraints).

    ``usable``: no point was refused and there is no equality constraint.
    """

    points: FloatArray
    total: FloatArray
    excess: FloatArray
    usable: bool

    @classmethod
    def of(cls, evaluator: Evaluator) -> _Samples:
        evaluated = evaluator.all_evaluated()
        points, first = np.unique(evaluated.points[:, 0], return_index=True)
        problem = evaluator.problem
        # Both sides of an equality may be violated, with little or nothing between: that is left to a search.
        usable = bool(evaluated.usable.all()) and all(constraint.relation != "==" for constraint in problem.constraints)
        return cls(points, evaluator.score(evaluated).total[first], problem.excess(evaluated.gaps)[first], usable)

    @property
    def monotone(self) -> bool:
        """Whether the total and all constraints are finite and monotone over the samples."""
        # An excess is a difference from the bound, so that its rounding is about the rounding of 1.
        return (
            self.usable and _is_monotone(self.total, 0.0) and all(_is_monotone(column, 1.0) for column in self.excess.T)
        )

    def next(self, whole: bool) -> FloatArray:
        """Points of the sections that may still contain a better point; none if there are no such sections."""
        rising = self.excess[-1] > self.excess[0]
        satisfied = self.excess <= ROUNDING
        below, above = satisfied[:, rising].all(axis=1), satisfied[:, ~rising].all(axis=1)
        if not (below.any() and above.any()):
            return np.zeros(0)
        last, first = int(np.flatnonzero(below)[-1]), int(np.flatnonzero(above)[0])
        ends = [(last, last + 1), (first - 1, first)]  # the feasible interval ends within these
        if first <= last:
            ends = ends[1:] if self.total[-1] >= self.total[0] else ends[:1]
        within = [(low, high) for low, high in ends if low >= 0 and high < len(self.points)]
        cuts = [_between(float(self.points[low]), float(self.points[high]), whole) for low, high in within]
        return np.concatenate([np.zeros(0), *cuts])


def _is_monotone(values: FloatArray, beside: float) -> bool:
    """Whether values never rise or never fall, except by rounding relative to their magnitude plus ``beside``."""
    if not np.isfinite(values).all():
        return False
    steps, dust = np.diff(values), DUST * (np.abs(values[1:]) + beside)
    return bool(np.all(steps >= -dust) or np.all(steps <= dust))


def _between(low: float, high: float, whole: bool) -> FloatArray:
    """Numbers that cut the interval into sections, its ends left out."""
    cuts = np.append(np.linspace(low, high, SECTION + 1)[1:-1], low + (high - low) / 2)
    cuts = np.unique(np.rint(cuts) if whole else cuts)
    return cuts[(cuts > low) & (cuts < high)]

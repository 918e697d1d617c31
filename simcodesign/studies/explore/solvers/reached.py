"""How near a search came to each constraint.

The best value of its left side at any point, and at points where other constraints hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcodesign.studies.explore.evaluator import EvaluatedPoint, point_of
from simcodesign.studies.explore.problem import ROUNDING, Constraint, Evaluated, Problem, plain_name


@dataclass(frozen=True)
class Reached:
    """The points that violate a constraint least.

    ``anywhere``, and ``with_others``, among those at which all other constraints hold. ``value`` and
    ``value_with_others``: its left side there, SI units; None if there is none.
    """

    constraint: Constraint
    anywhere: EvaluatedPoint | None
    value: float | None
    with_others: EvaluatedPoint | None
    value_with_others: float | None


def sides(problem: Problem, constraint: Constraint, point: EvaluatedPoint) -> tuple[float, float]:
    """Both sides of a constraint at a point."""
    every = {**problem.model.fixed(problem.space.names), **point.metrics, **point.values}
    names = {plain_name(name): value for name, value in every.items()}
    return float(constraint.left.evaluate(names)), float(constraint.right.evaluate(names))


def reached(problem: Problem, evaluated: Evaluated) -> tuple[Reached, ...]:
    """Return the nearest values that each constraint reached at these points."""
    excess = np.where(evaluated.usable[:, None], problem.excess(evaluated.gaps), np.nan)
    return tuple(_reached(problem, evaluated, excess, at) for at in range(len(problem.constraints)))


def _reached(problem: Problem, evaluated: Evaluated, excess: np.ndarray, at: int) -> Reached:
    constraint = problem.constraints[at]
    others = np.delete(excess, at, axis=1)
    hold = np.all(others <= ROUNDING, axis=1)
    found: list[EvaluatedPoint | None] = []
    for rows in (np.ones(len(excess), dtype=bool), hold):
        own = np.where(rows & np.isfinite(excess[:, at]), excess[:, at], np.inf)
        is_any = len(own) and np.isfinite(own.min())
        found.append(point_of(problem, evaluated, int(own.argmin())) if is_any else None)
    values = [None if one is None else sides(problem, constraint, one)[0] for one in found]
    return Reached(constraint, found[0], values[0], found[1], values[1])

"""How the optimum changes with each bound: by solving again with the bound 1 % looser and 1 % tighter, from the points
that the first search has evaluated.

For a small change this is the shadow price (Lagrange multiplier) of the constraint times 1 % of its bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simcodesign.studies.explore.evaluator import OnProgress
from simcodesign.studies.explore.problem import Constraint
from simcodesign.studies.explore.solvers.solve import Solution, solve, solve_again

#: By which share of itself a bound is changed.
SHARE = 0.01
#: A constraint is active if its left side is no further from its bound than this share of it.
ACTIVE = 1e-6
#: What searches of the same optimum may differ by, and how often a better point is taken up.
LEFT, MOST_IMPROVEMENTS = 1e-7, 3


@dataclass(frozen=True)
class BoundSensitivity:
    """What becomes of the optimum ``objective`` with the bound ``share`` looser and tighter; not a number where nothing
    is feasible then."""

    constraint: Constraint
    active: bool
    objective: float
    looser: float
    tighter: float
    share: float = SHARE

    @property
    def per_share(self) -> float:
        """Change of the objective when the bound gives way by ``share``: the mean of both directions, or the one that
        there is."""
        changes = [self.looser - self.objective, self.objective - self.tighter]
        known = [change for change in changes if math.isfinite(change)]
        return sum(known) / len(known) if known else math.nan

    @property
    def relative(self) -> float:
        """The same as a share of the optimum."""
        return self.per_share / abs(self.objective) if self.objective else math.nan


def bound_sensitivities(
    solution: Solution,
    *,
    share: float = SHARE,
    solver: str = "auto",
    seed: int = 0,
    evaluations: int | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Solution, list[BoundSensitivity]]:
    """One for each constraint. A search under a tighter bound may find a better point, which the first one missed: then
    all begins anew there, and the solution that comes back is the better one. ``evaluations``: no more points than that
    for each."""
    for _ in range(MOST_IMPROVEMENTS):
        found, better = [], None
        for at in range(len(solution.problem.constraints)):
            sensitivity, tight = _of(solution, at, share, evaluations, on_progress)
            found.append(sensitivity)
            better = tight if tight is not None and _beats(tight, better or solution) else better
        if better is None:
            break
        start = np.array(list(better.point.values.values()))
        again = solve(
            solution.problem,
            solver=solver,
            seed=seed,
            evaluations=evaluations,
            start=start,
            scales=solution.scales,
            on_progress=on_progress,
        )
        if not _beats(again, solution):
            break
        solution = again
    return solution, found


def _beats(one: Solution, other: Solution) -> bool:
    """Whether it is better by more than a search leaves."""
    totals = [one.evaluator.best_key[1], other.evaluator.best_key[1]]
    return totals[0] < totals[1] - LEFT * abs(totals[1])


def is_active(constraint: Constraint, gap: float) -> bool:
    """Whether the constraint holds just so."""
    return constraint.relation == "==" or abs(gap - constraint.slack) <= ACTIVE


def _of(
    solution: Solution, at: int, share: float, evaluations: int | None, on_progress: OnProgress | None
) -> tuple[BoundSensitivity, Solution | None]:
    """Of one constraint, and the solution under the tighter bound if it is feasible for the problem itself."""
    problem = solution.problem
    constraint = problem.constraints[at]
    found: list[float] = []
    tight = None
    for slack in (share, -share):
        changed = list(problem.constraints)
        changed[at] = constraint.given_way(constraint.slack + slack)
        again = solve_again(
            solution, problem.with_constraints(changed), evaluations=evaluations, on_progress=on_progress
        )
        found.append(again.objective if again.feasible else math.nan)
        tight = again if again.feasible and constraint.relation != "==" else None
    active = is_active(constraint, solution.point.gaps[at])
    return BoundSensitivity(constraint, active, solution.objective, found[0], found[1], share), tight

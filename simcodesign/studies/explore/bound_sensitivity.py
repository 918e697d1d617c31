"""How the optimum changes with each bound.

By solving again with the bound 1 % looser and 1 % tighter, from the points that the first search has evaluated.

For a small change this is the shadow price (Lagrange multiplier) of the constraint times 1 % of its bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.core.to_json import fields_of
from simcodesign.studies.explore.evaluator import OnProgress
from simcodesign.studies.explore.problem import Constraint
from simcodesign.studies.explore.solvers.solve import Solution, solve, solve_again

#: Relative change of a bound.
FRACTION = 0.01
#: A constraint is active if its relative distance from its bound is at most this.
ACTIVE = 1e-6
#: Relative error of the optimum of a search, and how often the analysis restarts from a better point.
SEARCH_ERROR, MAX_IMPROVEMENTS = 1e-7, 3


@dataclass(frozen=True)
class BoundSensitivity:
    """The optimum ``objective`` as given, and with the bound ``fraction`` looser and tighter.

    NaN if nothing is feasible then.
    """

    constraint: Constraint
    active: bool
    objective: float
    looser: float
    tighter: float
    fraction: float = FRACTION

    @property
    def objective_change(self) -> float:
        """Return the change of the objective when the bound is relaxed by ``fraction``.

        The mean of both directions, or the only finite one.
        """
        changes = [self.looser - self.objective, self.objective - self.tighter]
        finite_changes = [change for change in changes if math.isfinite(change)]
        return sum(finite_changes) / len(finite_changes) if finite_changes else math.nan

    @property
    def relative(self) -> float:
        """Change of the objective as a fraction of the optimum."""
        return self.objective_change / abs(self.objective) if self.objective else math.nan

    def json_fields(self) -> dict[str, Any]:
        """Return the fields, with the change of the objective instead of the solution's objective."""
        return fields_of(self, "objective_change", without=("objective",))


def bound_sensitivities(
    solution: Solution,
    *,
    fraction: float = FRACTION,
    solver: str = "auto",
    seed: int = 0,
    evaluations: int | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Solution, list[BoundSensitivity]]:
    """Return the best solution known, and the sensitivity to the bound of each constraint.

    If a search under a tighter bound finds a better point, which the first search missed, the analysis restarts from
    that point. ``evaluations`` limits the number of points evaluated by each search.
    """
    for _ in range(MAX_IMPROVEMENTS):
        sensitivities, better = [], None
        for at in range(len(solution.problem.constraints)):
            sensitivity, tight = _sensitivity(solution, at, fraction, evaluations, on_progress)
            sensitivities.append(sensitivity)
            better = tight if tight is not None and _is_better(tight, better or solution) else better
        if better is None:
            break
        start = np.array(list(better.point.values.values()))
        restarted = solve(
            solution.problem,
            solver=solver,
            seed=seed,
            evaluations=evaluations,
            start=start,
            scales=solution.scales,
            on_progress=on_progress,
        )
        if not _is_better(restarted, solution):
            break
        solution = restarted
    return solution, sensitivities


def _is_better(solution: Solution, other: Solution) -> bool:
    """Whether ``solution`` is better than ``other`` by more than the error of a search."""
    totals = [solution.evaluator.best_key[1], other.evaluator.best_key[1]]
    return totals[0] < totals[1] - SEARCH_ERROR * abs(totals[1])


def is_active(constraint: Constraint, gap: float) -> bool:
    """Whether the constraint is met with equality, within the tolerance ``ACTIVE``."""
    return constraint.relation == "==" or abs(gap - constraint.slack) <= ACTIVE


def _sensitivity(
    solution: Solution, at: int, fraction: float, evaluations: int | None, on_progress: OnProgress | None
) -> tuple[BoundSensitivity, Solution | None]:
    """Return the sensitivity to one bound.

    Also return the solution under the tighter bound if it also solves the original problem.
    """
    problem = solution.problem
    constraint = problem.constraints[at]
    objectives: list[float] = []
    tight = None
    for slack in (fraction, -fraction):
        constraints = list(problem.constraints)
        constraints[at] = constraint.with_slack(constraint.slack + slack)
        resolved = solve_again(
            solution, problem.with_constraints(constraints), evaluations=evaluations, on_progress=on_progress
        )
        objectives.append(resolved.objective if resolved.feasible else math.nan)
        tight = resolved if resolved.feasible and constraint.relation != "==" else None
    active = is_active(constraint, solution.point.gaps[at])
    return BoundSensitivity(constraint, active, solution.objective, objectives[0], objectives[1], fraction), tight

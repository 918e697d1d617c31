"""Solves a problem of design: by enumeration, by bisection, by differential evolution, or by ISRES.

``auto`` takes the first that fits: a space of at most ``MOST_ENUMERATED`` points is enumerated, and a problem in one
variable in which everything is monotone is bisected; both are exact. Anything else is searched: differential evolution
(Storn and Price 1997, of SciPy) with whole variables and the feasibility rules of Deb (2000), followed by steps of
whole variables and by sequential quadratic programming in the real ones. Seeded, so that an answer comes again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from simcodesign.codesign.bisection import bisect
from simcodesign.codesign.evaluator import Evaluator, Point, Refusal
from simcodesign.codesign.evolution import evolve
from simcodesign.codesign.isres import isres
from simcodesign.codesign.polish import refine
from simcodesign.codesign.problem import Problem
from simcodesign.codesign.space import FloatArray
from simcodesign.errors import InputError, Place, nearest

SOLVERS = ("auto", "enumeration", "bisection", "evolution", "isres")
#: A space of so many points is looked at whole.
MOST_ENUMERATED = 20_000
#: Points of a search, unless others are asked for.
EVALUATIONS = 20_000
#: Searches that share these points, at most.
RESTARTS = 3


@dataclass(frozen=True)
class Solution:
    """The best point of a problem; the one of the least total violation where nothing feasible was found.

    ``exact``: by a method that cannot miss the best one. ``scales``: by what several objectives are divided.
    """

    problem: Problem
    point: Point
    method: str
    exact: bool
    seed: int
    evaluations: int
    scales: tuple[float, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    evaluator: Evaluator = field(repr=False, compare=False, kw_only=True)

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold."""
        return self.point.feasible

    @property
    def objective(self) -> float:
        """The value of the only objective, or the weighted sum that was minimised."""
        if len(self.point.objectives) == 1:
            return self.point.objectives[0]
        return float(self.problem.total(np.array([self.point.objectives]), self.scales)[0])

    @property
    def trace(self) -> pd.DataFrame:
        """One row per evaluation; see ``Evaluator.trace``."""
        return self.evaluator.trace()


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    seed: int = 0,
    evaluations: int = EVALUATIONS,
    start: FloatArray | None = None,
    scales: tuple[float, ...] | None = None,
) -> Solution:
    """The best point. ``start`` (variables,) is where a search begins besides the points that it draws; ``scales``: by
    what several objectives are divided, if not by their own best.

    Raises InputError for an unknown solver, one that does not fit the problem, and a model that refuses every point.
    """
    if solver not in SOLVERS:
        raise InputError("no such solver", Place("--solver"), value=solver, allowed=nearest(solver, SOLVERS))
    if scales is None:
        scales = _scales(problem, solver, seed, evaluations) if len(problem.objectives) > 1 else ()
    evaluator = Evaluator(problem, scales)
    chosen, exact = _run(evaluator, solver, seed, evaluations, start)
    if evaluator.best is None or not np.isfinite(evaluator.best_key[0]):
        raise nothing_usable(evaluator)
    return Solution(
        problem, evaluator.point(evaluator.best), chosen, exact, seed, evaluator.evaluations, scales,
        evaluator.refusals(), evaluator=evaluator,
    )  # fmt: skip


def _scales(problem: Problem, solver: str, seed: int, evaluations: int) -> tuple[float, ...]:
    """The absolute value of the best of each objective alone."""
    alone = [
        solve(problem.with_objectives(one), solver=solver, seed=seed, evaluations=evaluations)
        for one in problem.objectives
    ]
    return tuple(abs(solution.objective) or 1.0 for solution in alone)


def _run(evaluator: Evaluator, solver: str, seed: int, evaluations: int, start: FloatArray | None) -> tuple[str, bool]:
    """Which method was used, and whether it is exact."""
    space = evaluator.problem.space
    if solver == "enumeration" or (solver == "auto" and space.count <= MOST_ENUMERATED):
        if space.count > MOST_ENUMERATED * 50:
            allowed = f"spaces of up to {MOST_ENUMERATED * 50} points; whole variables or choices only"
            raise InputError("too many points to enumerate", Place("--solver"), value=space.count, allowed=allowed)
        evaluator(space.every(), "enumeration")
        return "enumeration", True
    if solver in ("auto", "bisection") and len(space.variables) == 1 and bisect(evaluator):
        return "bisection", True
    if solver == "bisection":
        allowed = "one variable in which objective and constraints are monotone"
        raise InputError("cannot be bisected", Place("--solver"), value=", ".join(space.names), allowed=allowed)
    if solver == "isres":
        isres(evaluator, seed, evaluations, start)
    else:
        _search(evaluator, seed, evaluations, start)
    if evaluator.best is not None and not _found(evaluator):
        refine(evaluator)
    return ("isres" if solver == "isres" else "evolution"), False


def _search(evaluator: Evaluator, seed: int, evaluations: int, start: FloatArray | None) -> None:
    """Searches that begin anew, as long as there are evaluations left: one may end beside the best valley."""
    for number in range(RESTARTS):
        left = evaluations - evaluator.evaluations
        if number and (left < evaluations / 10 or _found(evaluator)):
            return
        evolve(evaluator, seed + 7919 * number, left, start if number == 0 else None)


def _found(evaluator: Evaluator) -> bool:
    """Whether there is nothing left to look for: a feasible point where nothing is to be minimised."""
    return not evaluator.problem.objectives and evaluator.best_key[0] == 0


def nothing_usable(evaluator: Evaluator) -> InputError:
    """Why no point has a number at all."""
    if not evaluator.refused:
        return InputError(f"{evaluator.problem.model.name}: the metrics are nowhere finite in this space")
    refusal = max(evaluator.refused.values(), key=lambda one: one.count)
    where = ", ".join(f"{name} = {value:g}" for name, value in refusal.values.items())
    return InputError(f"no point of the space can be evaluated; at {where}: {refusal.why}")

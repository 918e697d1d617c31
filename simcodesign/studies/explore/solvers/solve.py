"""Solves a design problem: by enumeration, by bisection, by differential evolution, or by ISRES.

``auto`` takes the first that fits: a space of at most ``MOST_ENUMERATED`` points is enumerated, and a problem in one
variable in which everything is monotone at all samples is bisected. Anything else is searched: differential evolution
(Storn and Price 1997, of SciPy) with whole variables and the feasibility rules of Deb (2000), followed by steps of
whole variables and by sequential quadratic programming in the real ones. Seeded, so that an answer comes again.

Enumeration is exact. Bisection is exact where intervals prove that nothing is better than what it found, and only
intervals prove that nothing is feasible; samples prove neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.core.shown_answers import Drawn
from simcodesign.studies.explore.evaluator import EvaluatedPoint, EvaluationLimitError, Evaluator, OnProgress, Refusal
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.solvers.bisection import bisect
from simcodesign.studies.explore.solvers.differential_evolution import evolve
from simcodesign.studies.explore.solvers.infeasibility_proof import BETTER, excluded_boxes
from simcodesign.studies.explore.solvers.isres import isres
from simcodesign.studies.explore.solvers.local_search import refine
from simcodesign.studies.explore.space import FloatArray

SOLVERS = ("auto", "enumeration", "bisection", "evolution", "isres")
#: A space of at most this many points is enumerated.
MOST_ENUMERATED = 20_000
#: Points of a search without a limit; those that polish its best points are additional.
EVALUATIONS = 20_000
#: The fraction of a limit that the search may use; the rest polishes its best points.
SEARCH = 0.75
#: Largest number of searches that divide the points among them.
RESTARTS = 3
#: Two searches agree if their totals differ by no more than this fraction.
ALIKE = 1e-5


@dataclass(frozen=True)
class Solution(Drawn):
    """The best point of a problem; where no feasible point was found, the point of the smallest total violation.

    ``exact``: every point of the space was evaluated, and not by a sum that leaves out waits
    (``Problem.takes_sums``), or there is a proof. ``scales``: by what several objectives are
    divided. ``spent``: the search ended at the limit on evaluations. ``proof``: why nothing can be feasible, or better
    than the point, if intervals show it; otherwise "".
    """

    problem: Problem
    point: EvaluatedPoint
    method: str
    exact: bool
    seed: int
    evaluations: int
    scales: tuple[float, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    spent: bool = False
    proof: str = ""
    evaluator: Evaluator = field(repr=False, compare=False, kw_only=True)

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold."""
        return self.point.feasible

    @property
    def objective(self) -> float:
        """The value of the only objective, or the weighted sum that was minimized."""
        if len(self.point.objectives) == 1:
            return self.point.objectives[0]
        return float(self.problem.total(np.array([self.point.objectives]), self.scales)[0])

    @property
    def headline_s(self) -> float | None:
        """The forecast of the best point where the search takes sums of closed forms; otherwise None."""
        return self.problem.headline_s(self.point.values) if self.feasible else None

    @property
    def trace(self) -> pd.DataFrame:
        """One row per evaluation; see ``Evaluator.trace``."""
        return self.evaluator.trace()


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    seed: int = 0,
    evaluations: int | None = None,
    start: FloatArray | None = None,
    scales: tuple[float, ...] | None = None,
    on_progress: OnProgress | None = None,
    prove_first: bool = False,
) -> Solution:
    """Return the best point.

    ``start`` (variables,) is the first point of a search, in addition to the sampled ones; ``scales``: by what several
    objectives are divided, if not by their own best. ``evaluations``: no more points than that, here and in the
    search for the best of each of several objectives. ``on_progress``: see ``Evaluator``. ``prove_first``: no
    search if infeasibility can be shown before it; then the point is any.

    Raises InputError for an unknown solver, one that does not fit the problem, and a model that refuses every point.
    """
    if solver not in SOLVERS:
        raise InputError("no such solver", Place("--solver"), value=solver, allowed=nearest(solver, SOLVERS))
    if scales is None:
        scales = _scales(problem, solver, seed, evaluations, on_progress) if len(problem.objectives) > 1 else ()
    evaluator = Evaluator(problem, scales, evaluations, on_progress)
    method, proof, spent = _method(evaluator, solver), "", False
    try:
        if prove_first and method != "enumeration":
            evaluator(problem.space.default()[None, :], "proof")  # the point of a Solution without a search
            proof = _proof(evaluator)
        if not proof and not _solve_exactly(evaluator, method, solver):
            method = "isres" if solver == "isres" else "evolution"
            _search(evaluator, solver, seed, start)
            if evaluator.best_key[0] > 0 and not prove_first:
                proof = _proof(evaluator)
            if evaluator.best is not None and not _nothing_left_to_search(evaluator):
                refine(evaluator)
    except EvaluationLimitError:
        spent = True
    return _solution(evaluator, method, seed, spent, proof)


def solve_again(
    solution: Solution, problem: Problem, *, evaluations: int | None = None, on_progress: OnProgress | None = None
) -> Solution:
    """Return the best point of a problem that differs from a solved one only in its constraints.

    Chosen from all points that are known already, of which the best are polished again with up to ``evaluations`` more
    points.
    """
    evaluator = Evaluator(problem, solution.scales, on_progress=on_progress)
    evaluator.absorb(solution.evaluator, "known")
    if solution.method == "enumeration":
        return _solution(evaluator, solution.method, solution.seed)
    evaluator.limit = None if evaluations is None else evaluator.evaluations + evaluations
    try:
        if solution.method == "bisection" and bisect(evaluator):
            return _solution(evaluator, solution.method, solution.seed)
        if evaluator.best is not None and not _nothing_left_to_search(evaluator):
            refine(evaluator)
    except EvaluationLimitError:
        pass
    return _solution(evaluator, "evolution", solution.seed)


def _solution(evaluator: Evaluator, method: str, seed: int, spent: bool = False, proof: str = "") -> Solution:
    if evaluator.best is None or not np.isfinite(evaluator.best_key[0]):
        raise nothing_usable(evaluator)
    if method == "bisection" and not proof:
        proof = _proof(evaluator)
    return Solution(
        evaluator.problem,
        evaluator.point(evaluator.best),
        method,
        not evaluator.problem.takes_sums and (bool(proof) or (method == "enumeration" and not spent)),
        seed,
        evaluator.evaluations,
        evaluator.scales,
        evaluator.refusals(),
        spent,
        proof,
        evaluator=evaluator,
    )


def _proof(evaluator: Evaluator) -> str:
    """Return the reason why nothing is feasible, or better than a feasible best point.

    "" where intervals do not show it.
    """
    violation, total = evaluator.best_key
    if not np.isfinite(violation):
        return ""
    best = total if violation == 0 else None
    boxes = excluded_boxes(evaluator.problem, best, evaluator.scales)
    if not boxes:
        return ""
    what = "every feasible point" if best is None else f"everything better by a fraction of {BETTER:g}"
    return f"interval bounds exclude {what}, in {boxes:,} part{'s' if boxes != 1 else ''} of the space"


def _scales(
    problem: Problem, solver: str, seed: int, evaluations: int | None, on_progress: OnProgress | None
) -> tuple[float, ...]:
    """Return the absolute value of the best of each objective alone."""
    alone = [
        solve(
            problem.with_objectives(objective),
            solver=solver,
            seed=seed,
            evaluations=evaluations,
            on_progress=on_progress,
        )
        for objective in problem.objectives
    ]
    return tuple(abs(solution.objective) or 1.0 for solution in alone)


def _method(evaluator: Evaluator, solver: str) -> str:
    """Return the method that is tried first. Raises InputError for a space too large to be enumerated."""
    space = evaluator.problem.space
    if solver == "enumeration":
        limit = min(MOST_ENUMERATED * 50, evaluator.remaining)
        if space.count > limit:
            allowed = f"spaces of up to {limit:.0f} points; whole variables or choices only"
            raise InputError("too many points to enumerate", Place("--solver"), value=space.count, allowed=allowed)
    if solver != "auto":
        return solver
    if space.count <= min(MOST_ENUMERATED, evaluator.remaining):
        return "enumeration"
    return "bisection" if len(space.variables) == 1 else "evolution"


def _solve_exactly(evaluator: Evaluator, method: str, solver: str) -> bool:
    """Whether the problem is solved by enumeration or bisection."""
    space = evaluator.problem.space
    if method == "enumeration":
        evaluator(space.all_points(), "enumeration")
        return True
    if method == "bisection":
        if len(space.variables) == 1 and bisect(evaluator):
            return True
        if solver == "bisection":
            allowed = "one variable in which objective and constraints are monotone"
            raise InputError("cannot be bisected", Place("--solver"), value=", ".join(space.names), allowed=allowed)
    return False


def _search(evaluator: Evaluator, solver: str, seed: int, start: FloatArray | None) -> None:
    """Search by ISRES or by differential evolution, within the limit on evaluations."""
    limit = EVALUATIONS if evaluator.limit is None else int(SEARCH * evaluator.remaining)
    if solver == "isres":
        isres(evaluator, seed, limit, start)
    else:
        _evolve(evaluator, seed, limit, start)


def _evolve(evaluator: Evaluator, seed: int, evaluations: int, start: FloatArray | None) -> None:
    """Restart the search until two searches agree or the evaluations are used up.

    A single one may miss the best valley. Without real variables two often agree on the same wrong point, and all are
    made.
    """
    ends: list[tuple[float, float]] = []
    discrete = all(variable.discrete for variable in evaluator.problem.space.variables)
    evaluations_before = evaluator.evaluations
    for number in range(RESTARTS):
        remaining = evaluations - (evaluator.evaluations - evaluations_before)
        if number and (remaining < evaluations / 10 or _nothing_left_to_search(evaluator)):
            return
        with evaluator.nested("evolution") as nested:
            evolve(nested, seed + 7919 * number, remaining, start if number == 0 else None)
        if not discrete and any(_end_alike(nested.best_key, earlier) for earlier in ends):
            return
        ends.append(nested.best_key)


def _end_alike(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether two searches ended in feasible points that are as good as each other."""
    return first[0] == second[0] == 0 and abs(first[1] - second[1]) <= ALIKE * abs(second[1])


def _nothing_left_to_search(evaluator: Evaluator) -> bool:
    """Whether the search is over: a feasible point is known and there is no objective."""
    return not evaluator.problem.objectives and evaluator.best_key[0] == 0


def nothing_usable(evaluator: Evaluator) -> InputError:
    """Return the error for a space in which no point can be evaluated."""
    if not evaluator.refused:
        return InputError(f"{evaluator.problem.model.name}: the metrics are nowhere finite in this space")
    refusal = max(evaluator.refusals(), key=lambda refusal_: refusal_.count)
    point = ", ".join(f"{name} = {value:g}" for name, value in refusal.values.items())
    return InputError(f"no point of the space can be evaluated; at {point}: {refusal.why}")

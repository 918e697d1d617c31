"""Why nothing is feasible.

How far each constraint alone would have to be relaxed, the smallest total violation, and which constraints conflict.

A relaxation is relative to the bound. A set of constraints conflicts if no point satisfies all of them, and is minimal
if one does as soon as any constraint is left out; the sets are found by deletion filters (Chinneck and Dravnieks 1991)
started from the largest sets whose feasibility is not known yet (Liffiton and Malik 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Expression, Node, Value, Values
from simcodesign.studies.explore.evaluator import EvaluatedPoint, OnProgress
from simcodesign.studies.explore.problem import ROUNDING, Constraint, Objective, Problem
from simcodesign.studies.explore.solvers.reached import Reached, reached
from simcodesign.studies.explore.solvers.solve import Solution, solve

#: With more constraints only one minimal conflicting set is looked for.
MAX_ENUMERATED_SETS = 10


@dataclass(frozen=True)
class Relaxation:
    """Relaxation of one constraint alone that makes the problem feasible.

    ``fraction`` of its bound, the relaxed ``bound`` (None if the right side is no number), and a feasible point. Both
    are None if none helps.
    """

    constraint: Constraint
    fraction: float | None
    bound: float | None
    point: EvaluatedPoint | None

    @property
    def helps(self) -> bool:
        """Whether there is a relaxation of this constraint alone."""
        return self.fraction is not None


@dataclass(frozen=True)
class Infeasibility:
    """Why a problem has no solution.

    ``nearest``: the point of the smallest sum of relative violations; ``conflicts``: minimal conflicting sets;
    ``exact``: infeasibility and conflicts are proven, by enumeration or interval bounds.
    """

    problem: Problem
    nearest: EvaluatedPoint
    relaxations: tuple[Relaxation, ...]
    conflicts: tuple[tuple[Constraint, ...], ...]
    all_conflicts: bool
    exact: bool
    #: How near the search came to each constraint, whatever becomes of the others.
    reached: tuple[Reached, ...] = ()


def explain(
    solution: Solution,
    *,
    solver: str = "auto",
    seed: int = 0,
    evaluations: int | None = None,
    on_progress: OnProgress | None = None,
) -> Infeasibility:
    """Why this solution is not feasible; ``evaluations`` limits the points of each search.

    Raises InputError if it is feasible.
    """
    if solution.feasible:
        raise InputError("the problem has a feasible point", value=solution.point.values)
    subproblems = _SubproblemSolver(
        solution.problem, solver, seed, {"evaluations": evaluations, "on_progress": on_progress}
    )
    subproblems.learn(solution)
    relaxations = tuple(subproblems.relaxation(at) for at in range(len(solution.problem.constraints)))
    conflicts = tuple(subproblems.conflicts())
    if solution.method == "bisection":  # which looks for the feasible interval, not for the least violation
        subproblems.others.append(subproblems.searched().point)
    nearest = min([solution.point, *subproblems.others], key=lambda point: point.violation)
    few = len(solution.problem.constraints) <= MAX_ENUMERATED_SETS
    return Infeasibility(
        solution.problem,
        nearest,
        relaxations,
        conflicts,
        few,
        solution.exact and subproblems.exact,
        reached(solution.problem, solution.evaluator.all_evaluated()),
    )


@dataclass(frozen=True, slots=True)
class _Gap:
    """The gap of a constraint, as something that can be minimized."""

    constraint: Constraint

    def evaluate(self, values: Values) -> Value:
        gap = np.asarray(self.constraint.gap(values))
        absolute_or_signed: Value = (np.abs(gap) if self.constraint.relation == "==" else gap)[()]
        return absolute_or_signed


@dataclass
class _SubproblemSolver:
    """Solves the problem with subsets of its constraints, and records which sets were satisfied at evaluated points."""

    problem: Problem
    solver: str
    seed: int
    options: dict[str, Any]
    exact: bool = True
    satisfied: list[frozenset[int]] = field(default_factory=list)
    others: list[EvaluatedPoint] = field(default_factory=list)

    def learn(self, solution: Solution, constraints: Sequence[int] | None = None) -> None:
        """Note which sets of constraints the evaluated points satisfy."""
        evaluated = solution.evaluator.all_evaluated()
        usable = evaluated.usable & ~np.isnan(evaluated.gaps).any(axis=1)
        satisfied = solution.problem.excess(evaluated.gaps[usable]) <= ROUNDING
        indices = list(range(satisfied.shape[1])) if constraints is None else list(constraints)
        for row in np.unique(satisfied, axis=0):
            self._add(frozenset(indices[at] for at in np.flatnonzero(row)))

    def _add(self, constraints: frozenset[int]) -> None:
        if not any(constraints <= larger for larger in self.satisfied):
            self.satisfied = [larger for larger in self.satisfied if not larger <= constraints] + [constraints]

    def solve_part(self, problem: Problem, constraints: Sequence[int], prove_first: bool = False) -> Solution:
        """Solve a part of the problem, and record the satisfied constraints of all evaluated points."""
        solution = solve(problem, solver=self.solver, seed=self.seed, prove_first=prove_first, **self.options)
        self.exact &= solution.feasible or solution.exact
        self.learn(solution, constraints)
        return solution

    def searched(self) -> Solution:
        """Return the point of the smallest violation, by a search."""
        return solve(self.problem.with_objectives(), solver="evolution", seed=self.seed, **self.options)

    def relaxation(self, at: int) -> Relaxation:
        """How far one constraint alone must be relaxed: its smallest gap at points that satisfy all others."""
        constraint = self.problem.constraints[at]
        others = [index for index in range(len(self.problem.constraints)) if index != at]
        smaller = self.problem.with_constraints([self.problem.constraints[index] for index in others])
        solution = self.solve_part(smaller.with_objectives(_gap_objective(constraint)), others, prove_first=True)
        if not solution.feasible:
            return Relaxation(constraint, None, None, None)
        fraction = solution.objective
        # For an equality this is the smallest distance of its sides, which moves no bound.
        bound = None if constraint.relation == "==" else constraint.with_slack(fraction).bound
        values = np.array([list(solution.point.values.values())])
        return Relaxation(constraint, fraction, bound, self._on_whole_problem(values))

    def _on_whole_problem(self, points: NDArray[np.float64]) -> EvaluatedPoint:
        """Return a point of a part of the problem, evaluated for the whole problem."""
        evaluated = self.problem.evaluate(points)
        violation = float(self.problem.violation(evaluated.gaps)[0])
        names = {name: float(value[0]) for name, value in evaluated.metrics.items()}
        point = EvaluatedPoint(
            self.problem.space.named(points[0]),
            names,
            tuple(map(float, evaluated.objectives[0])),
            tuple(map(float, evaluated.gaps[0])),
            violation,
        )
        self.others.append(point)
        return point

    def feasible(self, constraints: frozenset[int]) -> bool:
        """Whether these constraints can hold together."""
        if any(constraints <= satisfied for satisfied in self.satisfied):
            return True
        order = sorted(constraints)
        part = self.problem.with_constraints([self.problem.constraints[at] for at in order]).with_objectives()
        return self.solve_part(part, order, prove_first=True).feasible

    def conflicts(self) -> Iterator[tuple[Constraint, ...]]:
        """All minimal conflicting sets; one if there are very many constraints."""
        minimal_sets: list[frozenset[int]] = []
        all_constraints = frozenset(range(len(self.problem.constraints)))
        seeds = (
            self._seeds(all_constraints, minimal_sets)
            if len(all_constraints) <= MAX_ENUMERATED_SETS
            else iter([all_constraints])
        )
        for seed in seeds:
            if self.feasible(seed):
                self._add(seed)
                continue
            minimal = self._minimal_subset(seed)
            minimal_sets.append(minimal)
            yield tuple(self.problem.constraints[at] for at in sorted(minimal))

    def _seeds(self, all_constraints: frozenset[int], minimal_sets: list[frozenset[int]]) -> Iterator[frozenset[int]]:
        """Yield sets whose feasibility is unknown, the largest first; more becomes known between them."""
        for size in range(len(all_constraints), 0, -1):
            for constraints in map(frozenset, combinations(sorted(all_constraints), size)):
                # A set is yielded again while it may contain another conflict than the known ones.
                if any(conflict <= constraints for conflict in minimal_sets) or any(
                    constraints <= satisfied for satisfied in self.satisfied
                ):
                    continue
                yield constraints

    def _minimal_subset(self, constraints: frozenset[int]) -> frozenset[int]:
        """Remove every constraint without which the others remain infeasible: a deletion filter."""
        minimal = constraints
        for at in sorted(constraints):
            if not self.feasible(minimal - {at}):
                minimal = minimal - {at}
        return minimal


def _gap_objective(constraint: Constraint) -> Objective:
    tree: Node = _Gap(replace(constraint, slack=0.0))
    names = constraint.left.names | constraint.right.names
    return Objective(Expression(f"relaxation of {constraint.text}", names, tree, constraint.left.place))

"""Why nothing is feasible: how far each constraint alone would have to give way, the least total violation, and which
constraints conflict.

A relaxation is relative to the bound. A set of constraints conflicts if no point satisfies all of them, and is minimal
if one does as soon as any constraint is left out; the sets are found by deletion filters (Chinneck and Dravnieks 1991)
started from the largest sets of which nothing is known yet (Liffiton and Malik 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expression import Expression, Node, Value, Values
from simcodesign.studies.explore.evaluator import OnProgress, Point
from simcodesign.studies.explore.problem import ROUNDING, Constraint, Objective, Problem
from simcodesign.studies.explore.solvers.solve import Solution, solve

#: With more constraints only one minimal conflicting set is looked for.
MOST_ENUMERATED_SETS = 10


@dataclass(frozen=True)
class Relaxation:
    """What one constraint alone needs: ``share`` of its bound by which it gives way, ``bound`` then (None where the
    right side is no number), and the point that is feasible then. Share and point are None where nothing helps."""

    constraint: Constraint
    share: float | None
    bound: float | None
    point: Point | None

    @property
    def helps(self) -> bool:
        """Whether there is a relaxation of this constraint alone."""
        return self.share is not None


@dataclass(frozen=True)
class Infeasibility:
    """Why a problem has no solution. ``nearest``: the point of the least sum of relative violations; ``conflicts``:
    minimal conflicting sets; ``exact``: wherever nothing is feasible, exact methods or bounds
    say so, and the conflicts are proven."""

    problem: Problem
    nearest: Point
    relaxations: tuple[Relaxation, ...]
    conflicts: tuple[tuple[Constraint, ...], ...]
    all_conflicts: bool
    exact: bool


def explain(
    solution: Solution,
    *,
    solver: str = "auto",
    seed: int = 0,
    evaluations: int | None = None,
    on_progress: OnProgress | None = None,
) -> Infeasibility:
    """Why this solution is not feasible; ``evaluations``: no more points than that in each search. InputError if it
    is."""
    if solution.feasible:
        raise InputError("the problem has a feasible point", value=solution.point.values)
    asker = _SubproblemSolver(solution.problem, solver, seed, {"evaluations": evaluations, "on_progress": on_progress})
    asker.learn(solution)
    relaxations = tuple(asker.relaxation(at) for at in range(len(solution.problem.constraints)))
    conflicts = tuple(asker.conflicts())
    if solution.method == "bisection":  # which looks for the feasible interval, not for the least violation
        asker.others.append(asker.searched().point)
    nearest = min([solution.point, *asker.others], key=lambda point: point.violation)
    few = len(solution.problem.constraints) <= MOST_ENUMERATED_SETS
    return Infeasibility(
        solution.problem, nearest, relaxations, conflicts, few, (solution.exact or bool(solution.proof)) and asker.exact
    )


@dataclass(frozen=True, slots=True)
class _Gap:
    """The gap of a constraint, as something that can be minimised."""

    constraint: Constraint

    def evaluate(self, values: Values) -> Value:
        gap = np.asarray(self.constraint.gap(values))
        found: Value = (np.abs(gap) if self.constraint.relation == "==" else gap)[()]
        return found


@dataclass
class _SubproblemSolver:
    """Solves parts of the problem. Every evaluated point shows a set of constraints that do not conflict."""

    problem: Problem
    solver: str
    seed: int
    options: dict[str, Any]
    exact: bool = True
    satisfied: list[frozenset[int]] = field(default_factory=list)
    others: list[Point] = field(default_factory=list)

    def learn(self, solution: Solution, places: Sequence[int] | None = None) -> None:
        """Note which sets of constraints the evaluated points satisfy."""
        every = solution.evaluator.all_evaluated()
        usable = every.usable & ~np.isnan(every.gaps).any(axis=1)
        good = solution.problem.excess(every.gaps[usable]) <= ROUNDING
        own = list(range(good.shape[1])) if places is None else list(places)
        for row in np.unique(good, axis=0):
            self._add(frozenset(own[at] for at in np.flatnonzero(row)))

    def _add(self, found: frozenset[int]) -> None:
        if not any(found <= known for known in self.satisfied):
            self.satisfied = [known for known in self.satisfied if not known <= found] + [found]

    def ask(self, problem: Problem, places: Sequence[int], prove_first: bool = False) -> Solution:
        """Solve it, and learn from all its points."""
        solution = solve(problem, solver=self.solver, seed=self.seed, prove_first=prove_first, **self.options)
        self.exact &= solution.feasible or solution.exact or bool(solution.proof)
        self.learn(solution, places)
        return solution

    def searched(self) -> Solution:
        """The point of the least violation, by a search."""
        return solve(self.problem.with_objectives(), solver="evolution", seed=self.seed, **self.options)

    def relaxation(self, at: int) -> Relaxation:
        """How far one constraint alone must give way: its least gap where all others hold."""
        constraint = self.problem.constraints[at]
        rest = [place for place in range(len(self.problem.constraints)) if place != at]
        smaller = self.problem.with_constraints([self.problem.constraints[place] for place in rest])
        solution = self.ask(smaller.with_objectives(_gap_objective(constraint)), rest, prove_first=True)
        if not solution.feasible:
            return Relaxation(constraint, None, None, None)
        share = solution.objective
        # The two sides of an equality come no closer than this; otherwise the bound moves so far.
        bound = None if constraint.relation == "==" else constraint.with_slack(share).bound
        values = np.array([list(solution.point.values.values())])
        return Relaxation(constraint, share, bound, self._whole(values))

    def _whole(self, points: NDArray[np.float64]) -> Point:
        """A point of a part of the problem, with what all of it says there."""
        evaluated = self.problem.evaluate(points)
        violation = float(self.problem.violation(evaluated.gaps)[0])
        names = {name: float(value[0]) for name, value in evaluated.metrics.items()}
        found = Point(
            self.problem.space.named(points[0]),
            names,
            tuple(map(float, evaluated.objectives[0])),
            tuple(map(float, evaluated.gaps[0])),
            violation,
        )
        self.others.append(found)
        return found

    def feasible(self, places: frozenset[int]) -> bool:
        """Whether these constraints can hold together."""
        if any(places <= known for known in self.satisfied):
            return True
        order = sorted(places)
        part = self.problem.with_constraints([self.problem.constraints[at] for at in order]).with_objectives()
        return self.ask(part, order, prove_first=True).feasible

    def conflicts(self) -> Iterator[tuple[Constraint, ...]]:
        """All minimal conflicting sets; one where there are very many constraints."""
        found: list[frozenset[int]] = []
        every = frozenset(range(len(self.problem.constraints)))
        seeds = self._seeds(every, found) if len(every) <= MOST_ENUMERATED_SETS else iter([every])
        for seed in seeds:
            if self.feasible(seed):
                self._add(seed)
                continue
            minimal = self._shrunk(seed)
            found.append(minimal)
            yield tuple(self.problem.constraints[at] for at in sorted(minimal))

    def _seeds(self, every: frozenset[int], found: list[frozenset[int]]) -> Iterator[frozenset[int]]:
        """Sets of which nothing is known, the largest first; what is known grows in between."""
        for size in range(len(every), 0, -1):
            for places in map(frozenset, combinations(sorted(every), size)):
                # A set is asked again while it holds a conflict that is not known: others may be left in it.
                if any(one <= places for one in found) or any(places <= known for known in self.satisfied):
                    continue
                yield places

    def _shrunk(self, places: frozenset[int]) -> frozenset[int]:
        """Deletion filter: whatever can be left out without the rest becoming feasible is left out."""
        kept = places
        for at in sorted(places):
            if not self.feasible(kept - {at}):
                kept = kept - {at}
        return kept


def _gap_objective(constraint: Constraint) -> Objective:
    tree: Node = _Gap(replace(constraint, slack=0.0))
    names = constraint.left.names | constraint.right.names
    return Objective(Expression(f"relaxation of {constraint.text}", names, tree, constraint.left.place))

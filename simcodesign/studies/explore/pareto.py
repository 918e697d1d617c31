"""Pareto fronts of two or three objectives, spread evenly.

A space of few points is enumerated, which is exact. Otherwise differential evolution for several objectives (after
Kukkonen and Lampinen, GDE3, CEC 2005) approaches the whole front, starting from the best points of each
objective alone; evenly spread points of what it finds are then improved one by one by the epsilon-constraint method
(Haimes et al. 1971): the first objective is minimized, the others may not become worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.shown_answers import Drawn
from simcodesign.studies.explore.evaluator import EvaluatedPoint, EvaluationLimitError, Evaluator, OnProgress, point_of
from simcodesign.studies.explore.problem import Constraint, Problem
from simcodesign.studies.explore.solvers.local_search import polish
from simcodesign.studies.explore.solvers.solve import EVALUATIONS, MOST_ENUMERATED, Solution, solve
from simcodesign.studies.explore.space import FloatArray

POPULATION = 100
#: Weight and crossing rate of differential evolution for several objectives.
WEIGHT, CROSSING = 0.5, 0.7
#: Points of a front by default.
POINTS = 20


@dataclass(frozen=True)
class Front(Drawn):
    """Feasible points of which none is better in one objective without being worse in another.

    In the order of the first objective; none if nothing feasible was found. ``solution``: the best point by the first
    objective.
    """

    problem: Problem
    points: tuple[EvaluatedPoint, ...]
    method: str
    exact: bool
    seed: int
    solution: Solution
    evaluator: Evaluator = field(repr=False, compare=False)

    @property
    def evaluations(self) -> int:
        """Points evaluated in all."""
        return self.evaluator.evaluations

    @property
    def trace(self) -> pd.DataFrame:
        """One row per evaluation; see ``Evaluator.trace``."""
        return self.evaluator.trace()


def pareto_front(
    problem: Problem,
    *,
    points: int = POINTS,
    solver: str = "auto",
    seed: int = 0,
    evaluations: int | None = None,
    on_progress: OnProgress | None = None,
) -> Front:
    """Return the front, thinned to ``points`` points; ``evaluations`` limits the total number of evaluated points.

    Raises InputError unless there are two or three objectives.
    """
    if not 2 <= len(problem.objectives) <= 3:
        allowed = "2 or 3: --minimize and --maximize"
        raise InputError("objectives of a front", value=len(problem.objectives), allowed=allowed)
    evaluator = Evaluator(problem, (1.0,) * len(problem.objectives), evaluations, on_progress)
    each = None if evaluations is None else evaluations // (2 * len(problem.objectives))
    alone = [
        solve(problem.with_objectives(single), solver=solver, seed=seed, evaluations=each, on_progress=on_progress)
        for single in problem.objectives
    ]
    if problem.space.count <= min(MOST_ENUMERATED, evaluator.remaining):
        evaluator(problem.space.all_points(), "enumeration")
        return Front(
            problem, _thinned(evaluator, points), "enumeration", not problem.takes_sums, seed, alone[0], evaluator
        )
    for single in alone:
        evaluator.absorb(single.evaluator, "one objective")
    front_points: tuple[EvaluatedPoint, ...] = ()
    if alone[0].feasible:
        starts = np.array([list(single.point.values.values()) for single in alone])
        search_evaluations = EVALUATIONS if evaluations is None else int(evaluator.remaining / 4)
        with suppress(EvaluationLimitError):
            _approach(evaluator, starts, np.random.default_rng(seed), search_evaluations)
        front_points = _improve(evaluator, points)
    return Front(problem, front_points, "evolution", False, seed, alone[0], evaluator)


def nondominated(objectives: FloatArray) -> NDArray[np.bool_]:
    """Mask (n,) of the rows (n, objectives), all to be minimized, that no other row dominates.

    Only the first of equal rows.
    """
    order = np.lexsort(objectives.T[::-1])  # a row can only be dominated by an earlier one
    rows = objectives[order]
    if objectives.shape[1] == 2:
        before = np.minimum.accumulate(np.concatenate([[np.inf], rows[:-1, 1]])) if len(rows) else np.zeros(0)
        keep = rows[:, 1] < before
    else:
        keep = _nondominated_rows(rows)
    mask = np.zeros(len(objectives), dtype=np.bool_)
    mask[order[keep]] = True
    return mask


def _nondominated_rows(rows: FloatArray) -> NDArray[np.bool_]:
    """Mask of nondominated rows, for rows in lexicographic order: each remaining row eliminates those it dominates."""
    keep = np.zeros(len(rows), dtype=np.bool_)
    remaining = np.arange(len(rows))
    while len(remaining):
        keep[remaining[0]] = True
        remaining = remaining[~np.all(rows[remaining[0]] <= rows[remaining], axis=1)]
    return keep


def _signed(evaluator: Evaluator, objectives: FloatArray) -> FloatArray:
    return np.asarray(objectives * np.array([objective.sign for objective in evaluator.problem.objectives]))


def _nondominated_feasible(evaluator: Evaluator) -> tuple[FloatArray, FloatArray]:
    """Nondominated feasible points so far: points (n, variables) and signed objectives (n, objectives)."""
    evaluated = evaluator.all_evaluated()
    feasible = evaluated.usable & (evaluator.problem.violation(evaluated.gaps) == 0)
    points, objectives = evaluated.points[feasible], _signed(evaluator, evaluated.objectives[feasible])
    keep = nondominated(objectives)
    return points[keep], objectives[keep]


def _approach(evaluator: Evaluator, starts: FloatArray, random: np.random.Generator, evaluations: int) -> None:
    """Differential evolution of a population towards the whole front."""
    space = evaluator.problem.space
    first = np.vstack([starts, space.sample(POPULATION - len(starts), random)])
    coordinates = space.encode(first)
    objectives, violation = _evaluate_coordinates(evaluator, coordinates)
    for _ in range(evaluations // POPULATION):
        trials = _trial_coordinates(coordinates, space.tops, random)
        trials = np.where(space.counted, np.rint(trials), trials)
        new, new_violation = _evaluate_coordinates(evaluator, trials)
        parent_is_worse = _dominates(new, new_violation, objectives, violation)  # parents that their own trial replaces
        trial_is_worse = _dominates(objectives, violation, new, new_violation)
        parents, children = ~parent_is_worse, ~trial_is_worse
        coordinates = np.vstack([coordinates[parents], trials[children]])
        objectives = np.vstack([objectives[parents], new[children]])
        violation = np.concatenate([violation[parents], new_violation[children]])
        survivors = _survivors(objectives, violation, POPULATION)
        coordinates, objectives, violation = coordinates[survivors], objectives[survivors], violation[survivors]


def _evaluate_coordinates(evaluator: Evaluator, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
    scored = evaluator(evaluator.problem.space.decode(coordinates), "front")
    objectives = _signed(evaluator, scored.evaluated.objectives)
    return np.where(np.isfinite(objectives), objectives, np.inf), scored.violation


def _trial_coordinates(coordinates: FloatArray, tops: FloatArray, random: np.random.Generator) -> FloatArray:
    """Trial points of DE/rand/1/bin, reflected at the limits."""
    count, width = coordinates.shape
    picks = np.argsort(random.random((count, count)), axis=1)[:, :3]
    a, b, c = (coordinates[picks[:, at]] for at in range(3))
    crossed = random.random((count, width)) < CROSSING
    crossed[np.arange(count), random.integers(0, width, count)] = True
    mutated = np.where(crossed, a + WEIGHT * (b - c), coordinates)
    return np.clip(np.where(mutated < 0, -mutated, np.where(mutated > tops, 2 * tops - mutated, mutated)), 0, tops)


def _dominates(
    objectives: FloatArray, violation: FloatArray, other_objectives: FloatArray, other_violation: FloatArray
) -> NDArray[np.bool_]:
    """Row by row: less violation, or the same violation, no objective worse and at least one better."""
    better = np.all(objectives <= other_objectives, axis=1) & np.any(objectives < other_objectives, axis=1)
    return np.asarray((violation < other_violation) | ((violation == other_violation) & better))


def _survivors(objectives: FloatArray, violation: FloatArray, size: int) -> NDArray[np.int64]:
    """Return indices of the ``size`` best points: feasible first, front by front.

    Points of the last front that are far apart.
    """
    survivors: list[int] = []
    candidates = np.lexsort((violation,)) if np.any(violation > 0) else np.arange(len(violation))
    infeasible = candidates[violation[candidates] > 0]
    candidates = candidates[violation[candidates] == 0]
    while len(candidates) and len(survivors) < size:
        front = candidates[nondominated(objectives[candidates])]
        capacity = size - len(survivors)
        survivors += front.tolist() if len(front) <= capacity else front[spread(objectives[front], capacity)].tolist()
        candidates = np.setdiff1d(candidates, front)
    return np.array([*survivors, *infeasible[: size - len(survivors)]], dtype=np.int64)


def spread(objectives: FloatArray, count: int) -> NDArray[np.int64]:
    """Return indices (count,) of rows far apart from each other, among them the best of each objective."""
    if len(objectives) <= count:
        return np.arange(len(objectives))
    low, width = objectives.min(axis=0), np.ptp(objectives, axis=0)
    scaled = (objectives - low) / np.where(width > 0, width, 1.0)
    selected = list(dict.fromkeys(int(at) for at in scaled.argmin(axis=0)))[:count]
    distance = np.min([np.linalg.norm(scaled - scaled[at], axis=1) for at in selected], axis=0)
    while len(selected) < count:
        selected.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(scaled - scaled[selected[-1]], axis=1))
    return np.array(sorted(selected))


def _improve(evaluator: Evaluator, count: int) -> tuple[EvaluatedPoint, ...]:
    """Points spread over the front, each improved as far as possible without exceeding its limits on the others."""
    points, objectives = _nondominated_feasible(evaluator)
    improved = []
    for start, limits in _targets(points, objectives, count):
        try:
            improved.append(_improved(evaluator, start, limits))
        except EvaluationLimitError:
            improved.append(start)
    evaluated = evaluator.problem.evaluate(np.array(improved))
    signed = _signed(evaluator, evaluated.objectives)
    keep = np.flatnonzero(nondominated(signed))
    keep = keep[np.lexsort(signed[keep].T[::-1])]
    return tuple(point_of(evaluator.problem, evaluated, int(at)) for at in keep)


def _improved(evaluator: Evaluator, start: FloatArray, limits: FloatArray) -> FloatArray:
    """Minimize one objective after another, subject to the others not becoming worse."""
    problem = evaluator.problem
    first = _signed(evaluator, problem.evaluate(start[None, :]).objectives)[0, 0]
    best, bounds = start, np.array([first, *limits])
    for turn, objective in enumerate(problem.objectives):
        bounds_on_others = [_no_worse(problem, at, bound) for at, bound in enumerate(bounds) if at != turn]
        alone = problem.with_objectives(objective).with_constraints([*problem.constraints, *bounds_on_others])
        with evaluator.nested("front", alone) as nested:
            nested(best[None, :], "front")
            polish(nested, rounds=2)
        if nested.best is not None and nested.best_key[0] == 0:
            best = nested.best
            reached = _signed(evaluator, problem.evaluate(best[None, :]).objectives)[0]
            bounds = np.where(np.arange(len(bounds)) <= turn, reached, bounds)
    return best


def _targets(points: FloatArray, objectives: FloatArray, count: int) -> Sequence[tuple[FloatArray, FloatArray]]:
    """Return starting points and limits of all objectives but the first.

    Evenly spaced along a front of two objectives, at points far apart for three.
    """
    if objectives.shape[1] > 2 or len(points) < 3:
        return [(points[at], objectives[at, 1:]) for at in spread(objectives, count)]
    order = np.argsort(objectives[:, 0])
    line, starts = objectives[order], points[order]
    width = np.ptp(line, axis=0)
    steps = np.linalg.norm(np.diff(line / np.where(width > 0, width, 1.0), axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    positions = np.linspace(0.0, along[-1], count)
    # Between two points the second objective is on a straight line; the next one keeps it.
    limits = np.interp(positions, along, line[:, 1])
    indices = np.minimum(np.searchsorted(along, positions - 1e-12), len(along) - 1)
    return [(starts[at], np.array([limit])) for at, limit in zip(indices, limits, strict=True)]


def _no_worse(problem: Problem, at: int, limit: float) -> Constraint:
    """Return the constraint that one objective is no worse than this signed value."""
    objective = problem.objectives[at]
    return Constraint(objective.expression, ">=" if objective.maximize else "<=", parse(objective.sign * float(limit)))


def _thinned(evaluator: Evaluator, count: int) -> tuple[EvaluatedPoint, ...]:
    """``count`` points of the front, in the order of the first objective."""
    evaluated = evaluator.all_evaluated()
    feasible = np.flatnonzero(evaluated.usable & (evaluator.problem.violation(evaluated.gaps) == 0))
    objectives = _signed(evaluator, evaluated.objectives[feasible])
    keep = np.flatnonzero(nondominated(objectives))
    keep = keep[spread(objectives[keep], count)] if len(keep) else keep
    keep = keep[np.lexsort(objectives[keep].T[::-1])]
    return tuple(point_of(evaluator.problem, evaluated, int(feasible[at])) for at in keep)

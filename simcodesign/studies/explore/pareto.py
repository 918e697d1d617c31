"""Pareto fronts of two or three objectives, spread evenly.

A space of few points is enumerated, which is exact. Otherwise differential evolution for several objectives (after
Kukkonen and Lampinen, GDE3, CEC 2005) approaches the front from all sides, beginning at the best points of each
objective alone; evenly spread points of what it finds are then improved one by one by the epsilon-constraint method
(Haimes et al. 1971): the first objective is minimised, the others are kept at least as good as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.expression import parse
from simcodesign.studies.explore.evaluator import Evaluator, OnProgress, Point, SpentError, point_of
from simcodesign.studies.explore.problem import Constraint, Problem
from simcodesign.studies.explore.solvers.local_search import polish
from simcodesign.studies.explore.solvers.solve import EVALUATIONS, MOST_ENUMERATED, Solution, solve
from simcodesign.studies.explore.space import FloatArray

POPULATION = 100
#: Weight and crossing rate of differential evolution for several objectives.
WEIGHT, CROSSING = 0.5, 0.7
#: Points of a front, unless others are asked for.
POINTS = 20


@dataclass(frozen=True)
class Front:
    """Feasible points of which none is better in one objective without being worse in another, in the order of the
    first objective; none where nothing feasible was found. ``solution``: the best point by the first objective."""

    problem: Problem
    points: tuple[Point, ...]
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
    """The front, thinned to so many points; ``evaluations``: no more points than that are evaluated in all. InputError
    unless there are two or three objectives."""
    if not 2 <= len(problem.objectives) <= 3:
        allowed = "2 or 3: --minimise and --maximise"
        raise InputError("objectives of a front", value=len(problem.objectives), allowed=allowed)
    evaluator = Evaluator(problem, (1.0,) * len(problem.objectives), evaluations, on_progress)
    each = None if evaluations is None else evaluations // (2 * len(problem.objectives))
    alone = [
        solve(problem.with_objectives(one), solver=solver, seed=seed, evaluations=each, on_progress=on_progress)
        for one in problem.objectives
    ]
    if problem.space.count <= min(MOST_ENUMERATED, evaluator.left):
        evaluator(problem.space.every(), "enumeration")
        return Front(problem, _thinned(evaluator, points), "enumeration", True, seed, alone[0], evaluator)
    for one in alone:
        evaluator.absorb(one.evaluator, "one objective")
    found: tuple[Point, ...] = ()
    if alone[0].feasible:
        starts = np.array([list(one.point.values.values()) for one in alone])
        most = EVALUATIONS if evaluations is None else int(evaluator.left / 4)
        with suppress(SpentError):
            _approach(evaluator, starts, np.random.default_rng(seed), most)
        found = _improve(evaluator, points)
    return Front(problem, found, "evolution", False, seed, alone[0], evaluator)


def nondominated(objectives: FloatArray) -> NDArray[np.bool_]:
    """Which rows (n, objectives), all to be minimised, no other row is as good as in all and better in one of; the
    first of equal rows. (n,)"""
    order = np.lexsort(objectives.T[::-1])  # whatever dominates a row stands before it
    rows = objectives[order]
    if objectives.shape[1] == 2:
        before = np.minimum.accumulate(np.concatenate([[np.inf], rows[:-1, 1]])) if len(rows) else np.zeros(0)
        kept = rows[:, 1] < before
    else:
        kept = _unbeaten(rows)
    found = np.zeros(len(objectives), dtype=np.bool_)
    found[order[kept]] = True
    return found


def _unbeaten(rows: FloatArray) -> NDArray[np.bool_]:
    """Of rows in lexicographic order: each that is left in its turn takes out what it dominates."""
    kept = np.zeros(len(rows), dtype=np.bool_)
    left = np.arange(len(rows))
    while len(left):
        kept[left[0]] = True
        left = left[~np.all(rows[left[0]] <= rows[left], axis=1)]
    return kept


def _signed(evaluator: Evaluator, objectives: FloatArray) -> FloatArray:
    return np.asarray(objectives * np.array([one.sign for one in evaluator.problem.objectives]))


def _best(evaluator: Evaluator) -> tuple[FloatArray, FloatArray]:
    """Nondominated feasible points so far: points (n, variables) and signed objectives (n, objectives)."""
    every = evaluator.all_evaluated()
    good = every.usable & (evaluator.problem.violation(every.gaps) == 0)
    points, objectives = every.points[good], _signed(evaluator, every.objectives[good])
    kept = nondominated(objectives)
    return points[kept], objectives[kept]


def _approach(evaluator: Evaluator, starts: FloatArray, random: np.random.Generator, evaluations: int) -> None:
    """Differential evolution of a population towards the whole front."""
    space = evaluator.problem.space
    first = np.vstack([starts, space.sample(POPULATION - len(starts), random)])
    coordinates = space.encode(first)
    objectives, violation = _read(evaluator, coordinates)
    for _ in range(evaluations // POPULATION):
        trials = _trials(coordinates, space.tops, random)
        trials = np.where(space.counted, np.rint(trials), trials)
        new, broken = _read(evaluator, trials)
        worse = _dominates(new, broken, objectives, violation)  # parents that their own trial replaces
        useless = _dominates(objectives, violation, new, broken)
        parents, children = ~worse, ~useless
        coordinates = np.vstack([coordinates[parents], trials[children]])
        objectives = np.vstack([objectives[parents], new[children]])
        violation = np.concatenate([violation[parents], broken[children]])
        chosen = _survivors(objectives, violation, POPULATION)
        coordinates, objectives, violation = coordinates[chosen], objectives[chosen], violation[chosen]


def _read(evaluator: Evaluator, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
    scored = evaluator(evaluator.problem.space.decode(coordinates), "front")
    objectives = _signed(evaluator, scored.evaluated.objectives)
    return np.where(np.isfinite(objectives), objectives, np.inf), scored.violation


def _trials(coordinates: FloatArray, tops: FloatArray, random: np.random.Generator) -> FloatArray:
    """DE/rand/1/bin, thrown back from the limits."""
    count, width = coordinates.shape
    picks = np.argsort(random.random((count, count)), axis=1)[:, :3]
    a, b, c = (coordinates[picks[:, at]] for at in range(3))
    crossed = random.random((count, width)) < CROSSING
    crossed[np.arange(count), random.integers(0, width, count)] = True
    moved = np.where(crossed, a + WEIGHT * (b - c), coordinates)
    return np.clip(np.where(moved < 0, -moved, np.where(moved > tops, 2 * tops - moved, moved)), 0, tops)


def _dominates(one: FloatArray, broken: FloatArray, other: FloatArray, violation: FloatArray) -> NDArray[np.bool_]:
    """Row by row: less violation, or as little and at least as good in all objectives and better in one."""
    better = np.all(one <= other, axis=1) & np.any(one < other, axis=1)
    return np.asarray((broken < violation) | ((broken == violation) & better))


def _survivors(objectives: FloatArray, violation: FloatArray, size: int) -> NDArray[np.int64]:
    """The best so many: feasible first, front by front; of the last front that has room those that stand apart."""
    chosen: list[int] = []
    left = np.lexsort((violation,)) if np.any(violation > 0) else np.arange(len(violation))
    infeasible = left[violation[left] > 0]
    left = left[violation[left] == 0]
    while len(left) and len(chosen) < size:
        front = left[nondominated(objectives[left])]
        room = size - len(chosen)
        chosen += front.tolist() if len(front) <= room else front[spread(objectives[front], room)].tolist()
        left = np.setdiff1d(left, front)
    return np.array([*chosen, *infeasible[: size - len(chosen)]], dtype=np.int64)


def spread(objectives: FloatArray, count: int) -> NDArray[np.int64]:
    """So many rows that stand far apart, the best of each objective among them: (count,) places."""
    if len(objectives) <= count:
        return np.arange(len(objectives))
    low, width = objectives.min(axis=0), np.ptp(objectives, axis=0)
    scaled = (objectives - low) / np.where(width > 0, width, 1.0)
    chosen = list(dict.fromkeys(int(at) for at in scaled.argmin(axis=0)))[:count]
    distance = np.min([np.linalg.norm(scaled - scaled[at], axis=1) for at in chosen], axis=0)
    while len(chosen) < count:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(scaled - scaled[chosen[-1]], axis=1))
    return np.array(sorted(chosen))


def _improve(evaluator: Evaluator, count: int) -> tuple[Point, ...]:
    """Points spread over the front, each as good as it gets with the other objectives no worse than asked for."""
    points, objectives = _best(evaluator)
    improved = []
    for start, limits in _targets(points, objectives, count):
        try:
            improved.append(_improved(evaluator, start, limits))
        except SpentError:
            improved.append(start)
    every = evaluator.problem.evaluate(np.array(improved))
    signed = _signed(evaluator, every.objectives)
    kept = np.flatnonzero(nondominated(signed))
    kept = kept[np.lexsort(signed[kept].T[::-1])]
    return tuple(point_of(evaluator.problem, every, int(at)) for at in kept)


def _improved(evaluator: Evaluator, start: FloatArray, limits: FloatArray) -> FloatArray:
    """One objective after another is made as small as the others, which may not become worse, allow."""
    problem = evaluator.problem
    first = _signed(evaluator, problem.evaluate(start[None, :]).objectives)[0, 0]
    best, bounds = start, np.array([first, *limits])
    for turn, objective in enumerate(problem.objectives):
        others = [_no_worse(problem, at, bound) for at, bound in enumerate(bounds) if at != turn]
        alone = problem.with_objectives(objective).with_constraints([*problem.constraints, *others])
        with evaluator.beside("front", alone) as one:
            one(best[None, :], "front")
            polish(one, rounds=2)
        if one.best is not None and one.best_key[0] == 0:
            best = one.best
            reached = _signed(evaluator, problem.evaluate(best[None, :]).objectives)[0]
            bounds = np.where(np.arange(len(bounds)) <= turn, reached, bounds)
    return best


def _targets(points: FloatArray, objectives: FloatArray, count: int) -> Sequence[tuple[FloatArray, FloatArray]]:
    """Starts, and limits of all objectives but the first: evenly along a front of two, at points apart for three."""
    if objectives.shape[1] > 2 or len(points) < 3:
        return [(points[at], objectives[at, 1:]) for at in spread(objectives, count)]
    order = np.argsort(objectives[:, 0])
    line, starts = objectives[order], points[order]
    width = np.ptp(line, axis=0)
    steps = np.linalg.norm(np.diff(line / np.where(width > 0, width, 1.0), axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    wanted = np.linspace(0.0, along[-1], count)
    # Between two points the second objective is that of a straight line; the one after it keeps it.
    limits = np.interp(wanted, along, line[:, 1])
    places = np.minimum(np.searchsorted(along, wanted - 1e-12), len(along) - 1)
    return [(starts[at], np.array([limit])) for at, limit in zip(places, limits, strict=True)]


def _no_worse(problem: Problem, at: int, limit: float) -> Constraint:
    """A bound of one objective at this signed value."""
    one = problem.objectives[at]
    return Constraint(one.expression, ">=" if one.maximise else "<=", parse(one.sign * float(limit)))


def _thinned(evaluator: Evaluator, count: int) -> tuple[Point, ...]:
    """So many points of the front, in the order of the first objective."""
    every = evaluator.all_evaluated()
    good = np.flatnonzero(every.usable & (evaluator.problem.violation(every.gaps) == 0))
    objectives = _signed(evaluator, every.objectives[good])
    kept = np.flatnonzero(nondominated(objectives))
    kept = kept[spread(objectives[kept], count)] if len(kept) else kept
    kept = kept[np.lexsort(objectives[kept].T[::-1])]
    return tuple(point_of(evaluator.problem, every, int(good[at])) for at in kept)

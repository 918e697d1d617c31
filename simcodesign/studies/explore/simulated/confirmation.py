"""Are the best points of a forecast also the best when they are simulated, and which effect reverses the order?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.evaluator import EvaluatedPoint
from simcodesign.studies.explore.pareto import Front, spread
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.simulated.point_simulator import Confirmed, PointSimulator, simulator_of
from simcodesign.studies.explore.simulated.turned_order import Overtaking, explain_order
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.explore.space import STEP, FloatArray, Space
from simcodesign.studies.requirements.simulated_systems import OnProgress

#: At most this many points that overtake the best one are explained.
MAX_EXPLAINED = 3
#: As many of the best points are simulated by default if the search took sums of closed forms of ranks that differ.
DEFAULT_BEST = 3


@dataclass(frozen=True)
class Confirmation:
    """All confirmed points in the order of the forecast.

    ``overtakings`` are those that overtake its best one, if they are explained.
    """

    points: tuple[Confirmed, ...]
    overtakings: tuple[Overtaking, ...]
    changed: int  # pairs of points whose order is reversed
    pairs: int

    @property
    def best_stays(self) -> bool:
        """Whether no point is better than the forecast's best one when simulated."""
        keys = [point.simulated_key for point in self.points if point.simulated is not None]
        return min(keys) == keys[0]


def confirm(
    solution: Solution,
    count: int,
    *,
    neighbours: bool = True,
    effects: str | Collection[str] = "all",
    engine: str = "auto",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Confirmation:
    """Simulate the best ``count`` distinct feasible points and their neighbours, and compare the order.

    Without ``neighbours`` the best points alone are simulated, once each, and a change of their order is not explained.

    Raises InputError for a model that cannot be simulated, and if none of the points can be.
    """
    simulator = simulator_of(solution.problem, solution.scales, effects, engine, seed)
    confirmed_points = confirm_all(simulator, _points_to_simulate(solution, count, neighbours), on_progress)
    ordered = sorted(confirmed_points, key=lambda point: point.forecast_key)
    changed, pairs = _changed_pairs(ordered)
    explained = tuple(overtakings(simulator, ordered)) if neighbours else ()
    return Confirmation(tuple(ordered), explained, changed, pairs)


@dataclass(frozen=True)
class FrontConfirmation:
    """Points of a front by both readings, in the order of the front.

    ``beaten``: for each the place (from 0) of one that is better than it when simulated, in no objective worse or with
    less violation; None if there is none.
    """

    points: tuple[Confirmed, ...]
    beaten: tuple[int | None, ...]

    @property
    def front_stays(self) -> bool:
        """Whether every point could be simulated, meets the constraints, and is beaten by none."""
        all_feasible = all(point.simulated is not None and point.simulated.feasible for point in self.points)
        return all_feasible and all(place is None for place in self.beaten)


def confirm_front(
    front: Front,
    count: int,
    *,
    effects: str | Collection[str] = "all",
    engine: str = "auto",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> FrontConfirmation:
    """Simulate up to ``count`` points spread over a front, and determine which of them are dominated when simulated.

    Raises InputError as ``confirm``, and for a front without points.
    """
    if not front.points:
        raise InputError("a front without points cannot be confirmed", Place("--simulate-best"))
    simulator = simulator_of(front.problem, (), effects, engine, seed)
    chosen = [front.points[at] for at in spread(_rows(front.problem, front.points), count)]
    to_simulate = [
        (origin, False, np.array(list(point.values.values()))) for origin, point in enumerate(chosen, start=1)
    ]
    confirmed_points = confirm_all(simulator, to_simulate, on_progress)
    return FrontConfirmation(
        tuple(confirmed_points),
        tuple(_dominating_index(front.problem, point, confirmed_points) for point in confirmed_points),
    )


def _rows(problem: Problem, points: Sequence[EvaluatedPoint]) -> FloatArray:
    """Objectives with signs such that all are minimized: (points, objectives)."""
    signs = np.array([objective.sign for objective in problem.objectives])
    return np.asarray([point.objectives for point in points] * signs)


def _dominating_index(problem: Problem, point: Confirmed, confirmed_points: Sequence[Confirmed]) -> int | None:
    """Return the index of a point that is better when simulated, None if there is none."""
    if point.simulated is None:
        return None
    for index, other in enumerate(confirmed_points):
        if other.simulated is None:
            continue
        if other.simulated.violation < point.simulated.violation:
            return index
        rows = _rows(problem, (other.simulated, point.simulated))
        as_good = other.simulated.violation == point.simulated.violation and bool((rows[0] <= rows[1]).all())
        if as_good and bool((rows[0] < rows[1]).any()):
            return index
    return None


def best_points(solution: Solution, count: int) -> FloatArray:
    """Return the best distinct feasible points: at least a step of one variable apart. (points, variables)"""
    evaluator = solution.evaluator
    scored = evaluator.score(evaluator.all_evaluated())
    distinct: list[FloatArray] = []
    for at in scored.order():
        if scored.violation[at] > 0 or len(distinct) == count:
            break
        point = scored.evaluated.points[at]
        if all(apart(solution.problem.space, point, other) for other in distinct):
            distinct.append(point)
    return np.array(distinct)


def apart(space: Space, point: FloatArray, other: FloatArray) -> bool:
    """Whether two points differ by at least one step in some variable."""
    pairs = zip(space.variables, point, other, strict=True)
    return any(
        bool(a != b) if variable.discrete else bool(abs(a - b) > STEP * max(abs(a), abs(b)) * (1 - 1e-9))
        for variable, a, b in pairs
    )


def _points_to_simulate(solution: Solution, count: int, neighbours: bool) -> list[tuple[int, bool, FloatArray]]:
    """Return the best points, and their neighbours if these are wanted, each once."""
    best_found = best_points(solution, count)
    by_values: dict[tuple[float, ...], tuple[int, bool, FloatArray]] = {
        tuple(point): (origin, False, point) for origin, point in enumerate(best_found, start=1)
    }
    for origin, point in enumerate(best_found, start=1) if neighbours else ():
        for neighbour in solution.problem.space.neighbours(point):
            by_values.setdefault(tuple(neighbour), (origin, True, neighbour))
    return list(by_values.values())


def _changed_pairs(ordered: Sequence[Confirmed]) -> tuple[int, int]:
    """Return the number of pairs whose order is reversed by simulation, and of all pairs that the forecast orders."""
    simulated = [point for point in ordered if point.simulated is not None]
    pairs = [
        (a, b) for index, a in enumerate(simulated) for b in simulated[index + 1 :] if a.forecast_key < b.forecast_key
    ]
    return sum(b.simulated_key < a.simulated_key for a, b in pairs), len(pairs)


def confirm_all(
    simulator: PointSimulator,
    to_simulate: Sequence[tuple[int, bool, FloatArray]],
    on_progress: OnProgress | None,
) -> list[Confirmed]:
    """Both readings of all points. InputError if none can be simulated."""
    confirmed_points = []
    for done, (origin, neighbour, point) in enumerate(to_simulate):
        if on_progress is not None:
            on_progress(simulator.workload, simulator.model.machine.name, done, len(to_simulate))
        confirmed_points.append(simulator.confirmed(origin, neighbour, point))
    if all(confirmed.simulated is None for confirmed in confirmed_points):
        raise InputError(
            f"none of the best points can be simulated: {confirmed_points[0].why_not}", Place("--simulate-best")
        )
    return confirmed_points


def overtakings(simulator: PointSimulator, ordered: Sequence[Confirmed]) -> list[Overtaking]:
    """Points that are better than the forecast's best one when simulated, the best of them first."""
    simulated = [point for point in ordered if point.simulated is not None]
    first = simulated[0]
    better = sorted(
        (point for point in simulated[1:] if point.simulated_key < first.simulated_key),
        key=lambda point: point.simulated_key,
    )
    explained = better[:MAX_EXPLAINED]
    before = simulator.rungs(first) if explained else []
    return [explain_order(simulator, first, before, point) for point in explained]

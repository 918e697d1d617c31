"""Are the best points of a forecast also the best when they are simulated, and which effect reverses the order?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.aspen.run.comparison import aspen_effects
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.core.units import FloatOrArray
from simcodesign.studies.explore.aspen_model import AspenModel
from simcodesign.studies.explore.evaluator import EvaluatedPoint, point_of
from simcodesign.studies.explore.native_model import NativeModel
from simcodesign.studies.explore.pareto import Front, spread
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.explore.space import STEP, FloatArray, Space
from simcodesign.studies.requirements.simulated_systems import OnProgress, useful_effects

#: At most this many points that overtake the best one are explained.
MOST_EXPLAINED = 3


@dataclass(frozen=True)
class Confirmed:
    """One point, forecast and simulated. ``origin``: the rank (from 1) of this best point, or of the one that it
    neighbours; ``why_not``: why it could not be simulated."""

    origin: int
    neighbour: bool
    forecast: EvaluatedPoint
    simulated: EvaluatedPoint | None
    forecast_total: float
    simulated_total: float
    why_not: str = ""

    @property
    def forecast_key(self) -> tuple[float, float]:
        """The key by which points are ordered: violation first, then the total."""
        return self.forecast.violation, self.forecast_total

    @property
    def simulated_key(self) -> tuple[float, float]:
        """The same by simulation."""
        return (np.inf, np.inf) if self.simulated is None else (self.simulated.violation, self.simulated_total)


@dataclass(frozen=True)
class Overtaking:
    """A point that is better than the forecast's best one when simulated. ``rungs``: the forecast, then the simulation
    with one effect after another, each with violation and total of both; ``effect``: the last one that reversed the
    order."""

    before: Confirmed
    after: Confirmed
    rungs: tuple[tuple[str, tuple[float, float], tuple[float, float]], ...]
    effect: str


@dataclass(frozen=True)
class Confirmation:
    """All confirmed points in the order of the forecast, and those that overtake its best one."""

    points: tuple[Confirmed, ...]
    overtakings: tuple[Overtaking, ...]
    changed: int  # pairs of points whose order is reversed
    pairs: int

    @property
    def best_stays(self) -> bool:
        """Whether no point is better than the forecast's best one when simulated."""
        return not self.overtakings


def confirm(
    solution: Solution,
    count: int,
    *,
    effects: str | Collection[str] = "all",
    engine: str = "auto",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Confirmation:
    """Simulate the best ``count`` distinct feasible points and their neighbours, and compare the order.

    Raises InputError for a model that cannot be simulated, and where none of the points can be.
    """
    simulator = _simulator(solution.problem, solution.scales, effects, engine, seed)
    confirmed_points = simulator.confirm_all(list(_points_to_simulate(solution, count)), on_progress)
    ordered = sorted(confirmed_points, key=lambda point: point.forecast_key)
    changed, pairs = _changed_pairs(ordered)
    return Confirmation(tuple(ordered), tuple(simulator.overtakings(ordered)), changed, pairs)


@dataclass(frozen=True)
class FrontConfirmation:
    """Points of a front by both readings, in the order of the front. ``beaten``: for each the place (from 0) of one
    that is better than it when simulated, in no objective worse or with less violation; None if there is none."""

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
        raise InputError("a front without points cannot be confirmed", Place("--confirm"))
    simulator = _simulator(front.problem, (), effects, engine, seed)
    chosen = [front.points[at] for at in spread(_rows(front.problem, front.points), count)]
    to_simulate = [
        (origin, False, np.array(list(point.values.values()))) for origin, point in enumerate(chosen, start=1)
    ]
    confirmed_points = simulator.confirm_all(to_simulate, on_progress)
    return FrontConfirmation(
        tuple(confirmed_points),
        tuple(_dominating_index(front.problem, point, confirmed_points) for point in confirmed_points),
    )


def _rows(problem: Problem, points: Sequence[EvaluatedPoint]) -> FloatArray:
    """Objectives with signs such that all are minimised: (points, objectives)."""
    signs = np.array([objective.sign for objective in problem.objectives])
    return np.asarray([point.objectives for point in points] * signs)


def _dominating_index(problem: Problem, point: Confirmed, confirmed_points: Sequence[Confirmed]) -> int | None:
    """The index of a point that is better when simulated, None if there is none."""
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
    """The best distinct feasible points: at least a step of one variable apart. (points, variables)"""
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


def _points_to_simulate(solution: Solution, count: int) -> list[tuple[int, bool, FloatArray]]:
    """The best points and their neighbours, each once."""
    best_found = best_points(solution, count)
    by_values: dict[tuple[float, ...], tuple[int, bool, FloatArray]] = {
        tuple(point): (origin, False, point) for origin, point in enumerate(best_found, start=1)
    }
    for origin, point in enumerate(best_found, start=1):
        for neighbour in solution.problem.space.neighbours(point):
            by_values.setdefault(tuple(neighbour), (origin, True, neighbour))
    return list(by_values.values())


def _changed_pairs(ordered: Sequence[Confirmed]) -> tuple[int, int]:
    """Number of pairs whose order is reversed by simulation, and of all pairs that the forecast orders."""
    simulated = [point for point in ordered if point.simulated is not None]
    pairs = [
        (a, b) for index, a in enumerate(simulated) for b in simulated[index + 1 :] if a.forecast_key < b.forecast_key
    ]
    return sum(b.simulated_key < a.simulated_key for a, b in pairs), len(pairs)


def _simulator(
    problem: Problem, scales: tuple[float, ...], effects: str | Collection[str], engine: str, seed: int
) -> _Simulator:
    """InputError for a model that cannot be simulated."""
    model = problem.model
    if isinstance(model, NativeModel):
        return _Simulator(problem, scales, model, useful_effects(model.workload, effects), engine, seed)
    if isinstance(model, AspenModel):
        return _Simulator(problem, scales, model, aspen_effects(effects), engine, seed)
    allowed = "a workload on a machine"
    raise InputError("cannot be simulated", Place("--confirm"), value=model.name, allowed=allowed)


@dataclass(frozen=True)
class _Simulator:
    problem: Problem
    scales: tuple[float, ...]
    model: NativeModel | AspenModel
    effects: tuple[str, ...]
    engine: str
    seed: int

    def confirm_all(
        self, to_simulate: Sequence[tuple[int, bool, FloatArray]], on_progress: OnProgress | None
    ) -> list[Confirmed]:
        """Both readings of all points. InputError where none can be simulated."""
        model, confirmed_points = self.model, []
        name = model.workload.name if isinstance(model, NativeModel) else model.application.name
        for done, (origin, neighbour, point) in enumerate(to_simulate):
            if on_progress is not None:
                on_progress(name, model.machine.name, done, len(to_simulate))
            confirmed_points.append(self.confirmed(origin, neighbour, point))
        if all(confirmed.simulated is None for confirmed in confirmed_points):
            raise InputError(
                f"none of the best points can be simulated: {confirmed_points[0].why_not}", Place("--confirm")
            )
        return confirmed_points

    def confirmed(self, origin: int, neighbour: bool, point: FloatArray) -> Confirmed:
        """Both readings of a point."""
        problem = self.problem
        values = problem.space.named(point)
        try:
            forecast = point_of(problem, problem.evaluate(point[None, :]), 0)
        except InputError as error:
            nothing = EvaluatedPoint(values, {}, (), (), np.inf)
            return Confirmed(origin, neighbour, nothing, None, np.inf, np.inf, str(error))
        total = self._total(forecast)
        try:
            metrics = self.model.simulate(values, effects=self.effects, engine=self.engine, seed=self.seed)
        except SimcodesignError as error:
            return Confirmed(origin, neighbour, forecast, None, total, np.inf, str(error))
        simulated = self._point(point, metrics)
        return Confirmed(origin, neighbour, forecast, simulated, total, self._total(simulated))

    def _point(self, point: FloatArray, metrics: dict[str, FloatOrArray]) -> EvaluatedPoint:
        columns = {name: np.array([float(np.asarray(value))]) for name, value in metrics.items()}
        problem = self.problem
        return point_of(problem, problem.assess(point[None, :], columns, np.ones(1, dtype=np.bool_)), 0)

    def _total(self, point: EvaluatedPoint) -> float:
        problem = self.problem
        return float(problem.total(np.array([point.objectives]), self.scales or None)[0])

    def overtakings(self, ordered: Sequence[Confirmed]) -> list[Overtaking]:
        """Points that are better than the forecast's best one when simulated, the best of them first."""
        simulated = [point for point in ordered if point.simulated is not None]
        first = simulated[0]
        better = sorted(
            (point for point in simulated[1:] if point.simulated_key < first.simulated_key),
            key=lambda point: point.simulated_key,
        )
        explained = better[:MOST_EXPLAINED]
        before = self._rungs(first) if explained else []
        return [self._explain(first, before, point) for point in explained]

    def _rungs(self, confirmed: Confirmed) -> list[tuple[str, EvaluatedPoint]]:
        """The point by the forecast, and simulated with one effect after another."""
        values = confirmed.forecast.values
        comparison = self.model.compare(values, effects=self.effects, engine=self.engine, seed=self.seed)
        parameters = self.model.parameters(values)
        point = np.array(list(values.values()))
        rungs = [
            (rung.effect, self._point(point, self.model.metrics(rung.simulation, parameters)))
            for rung in comparison.rungs
        ]
        return [("forecast", confirmed.forecast), *rungs]

    def _explain(self, first: Confirmed, before: list[tuple[str, EvaluatedPoint]], other: Confirmed) -> Overtaking:
        after = self._rungs(other)
        keys = [
            ((a.violation, self._total(a)), (b.violation, self._total(b)))
            for (_, a), (_, b) in zip(before, after, strict=True)
        ]
        turned = max(at for at in range(len(keys)) if at == 0 or (keys[at - 1][1] >= keys[at - 1][0]))
        rungs = tuple((name, a, b) for (name, _), (a, b) in zip(before, keys, strict=True))
        return Overtaking(first, other, rungs, rungs[turned][0])

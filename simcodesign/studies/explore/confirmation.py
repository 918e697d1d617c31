"""Are the best points of a forecast also the best when they are simulated, and if not, which effect turns the order?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from simcodesign.aspen.run.comparison import aspen_effects
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.core.units import FloatOrArray
from simcodesign.studies.explore.aspen_model import AspenModel
from simcodesign.studies.explore.evaluator import Point, point_of
from simcodesign.studies.explore.models import NativeModel
from simcodesign.studies.explore.pareto import Front, spread
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.explore.space import STEP, FloatArray, Space
from simcodesign.studies.requirements.simulated_upgrade import OnProgress, useful_effects

#: So many points that overtake the best one are explained.
MOST_EXPLAINED = 3


@dataclass(frozen=True)
class Confirmed:
    """One point by both readings. ``origin``: which of the best points it is (from 1), or a neighbour of which;
    ``why_not``: why it could not be simulated."""

    origin: int
    neighbour: bool
    forecast: Point
    simulated: Point | None
    forecast_total: float
    simulated_total: float
    why_not: str = ""

    @property
    def forecast_key(self) -> tuple[float, float]:
        """What is compared: violation first, then the total."""
        return self.forecast.violation, self.forecast_total

    @property
    def simulated_key(self) -> tuple[float, float]:
        """The same by simulation."""
        return (np.inf, np.inf) if self.simulated is None else (self.simulated.violation, self.simulated_total)


@dataclass(frozen=True)
class Overtaking:
    """A point that is better than the forecast's best one when simulated. ``rungs``: the forecast, then the simulation
    with one effect after another, each with violation and total of both; ``effect``: where the order turned last."""

    before: Confirmed
    after: Confirmed
    rungs: tuple[tuple[str, tuple[float, float], tuple[float, float]], ...]
    effect: str


@dataclass(frozen=True)
class Confirmation:
    """All confirmed points in the order of the forecast, and what overtakes its best one."""

    points: tuple[Confirmed, ...]
    overtakings: tuple[Overtaking, ...]
    changed: int  # pairs of points whose order is another one
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
    found = simulator.every(list(_asked(solution, count)), on_progress)
    ordered = sorted(found, key=lambda one: one.forecast_key)
    changed, pairs = _changed(ordered)
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
        every = all(one.simulated is not None and one.simulated.feasible for one in self.points)
        return every and all(place is None for place in self.beaten)


def confirm_front(
    front: Front,
    count: int,
    *,
    effects: str | Collection[str] = "all",
    engine: str = "auto",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> FrontConfirmation:
    """Simulate up to ``count`` points spread over a front, and say which are beaten then.

    Raises InputError as ``confirm``, and for a front without points.
    """
    if not front.points:
        raise InputError("a front without points cannot be confirmed", Place("--confirm"))
    simulator = _simulator(front.problem, (), effects, engine, seed)
    chosen = [front.points[at] for at in spread(_rows(front.problem, front.points), count)]
    asked = [(place, False, np.array(list(one.values.values()))) for place, one in enumerate(chosen, start=1)]
    found = simulator.every(asked, on_progress)
    return FrontConfirmation(tuple(found), tuple(_beaten(front.problem, one, found) for one in found))


def _rows(problem: Problem, points: Sequence[Point]) -> FloatArray:
    """Objectives, all to be small: (points, objectives)."""
    signs = np.array([one.sign for one in problem.objectives])
    return np.asarray([point.objectives for point in points] * signs)


def _beaten(problem: Problem, one: Confirmed, every: Sequence[Confirmed]) -> int | None:
    """The place of a point that is better when simulated."""
    if one.simulated is None:
        return None
    for place, other in enumerate(every):
        if other.simulated is None:
            continue
        if other.simulated.violation < one.simulated.violation:
            return place
        rows = _rows(problem, (other.simulated, one.simulated))
        as_good = other.simulated.violation == one.simulated.violation and bool((rows[0] <= rows[1]).all())
        if as_good and bool((rows[0] < rows[1]).any()):
            return place
    return None


def best_points(solution: Solution, count: int) -> FloatArray:
    """The best distinct feasible points: at least a step of one variable apart. (points, variables)"""
    evaluator = solution.evaluator
    scored = evaluator.score(evaluator.all_evaluated())
    chosen: list[FloatArray] = []
    for at in scored.order():
        if scored.violation[at] > 0 or len(chosen) == count:
            break
        point = scored.evaluated.points[at]
        if all(apart(solution.problem.space, point, other) for other in chosen):
            chosen.append(point)
    return np.array(chosen)


def apart(space: Space, one: FloatArray, other: FloatArray) -> bool:
    """Whether two points are at least a step of one variable from each other."""
    pairs = zip(space.variables, one, other, strict=True)
    return any(
        bool(a != b) if variable.discrete else bool(abs(a - b) > STEP * max(abs(a), abs(b)) * (1 - 1e-9))
        for variable, a, b in pairs
    )


def _asked(solution: Solution, count: int) -> list[tuple[int, bool, FloatArray]]:
    """The best points and their neighbours, each once."""
    best = best_points(solution, count)
    seen: dict[tuple[float, ...], tuple[int, bool, FloatArray]] = {
        tuple(point): (place, False, point) for place, point in enumerate(best, start=1)
    }
    for place, point in enumerate(best, start=1):
        for near in solution.problem.space.neighbours(point):
            seen.setdefault(tuple(near), (place, True, near))
    return list(seen.values())


def _changed(ordered: Sequence[Confirmed]) -> tuple[int, int]:
    """Pairs whose order changes, and all pairs that have one."""
    known = [one for one in ordered if one.simulated is not None]
    pairs = [(a, b) for place, a in enumerate(known) for b in known[place + 1 :] if a.forecast_key < b.forecast_key]
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

    def every(self, asked: Sequence[tuple[int, bool, FloatArray]], on_progress: OnProgress | None) -> list[Confirmed]:
        """Both readings of all points. InputError where none can be simulated."""
        model, found = self.model, []
        name = model.workload.name if isinstance(model, NativeModel) else model.application.name
        for done, (origin, neighbour, point) in enumerate(asked):
            if on_progress is not None:
                on_progress(name, model.machine.name, done, len(asked))
            found.append(self.confirmed(origin, neighbour, point))
        if all(one.simulated is None for one in found):
            raise InputError(f"none of the best points can be simulated: {found[0].why_not}", Place("--confirm"))
        return found

    def confirmed(self, origin: int, neighbour: bool, point: FloatArray) -> Confirmed:
        """Both readings of a point."""
        problem = self.problem
        values = problem.space.named(point)
        try:
            forecast = point_of(problem, problem.evaluate(point[None, :]), 0)
        except InputError as error:
            nothing = Point(values, {}, (), (), np.inf)
            return Confirmed(origin, neighbour, nothing, None, np.inf, np.inf, str(error))
        total = self._total(forecast)
        try:
            metrics = self.model.simulate(values, effects=self.effects, engine=self.engine, seed=self.seed)
        except SimcodesignError as error:
            return Confirmed(origin, neighbour, forecast, None, total, np.inf, str(error))
        simulated = self._point(point, metrics)
        return Confirmed(origin, neighbour, forecast, simulated, total, self._total(simulated))

    def _point(self, point: FloatArray, metrics: dict[str, FloatOrArray]) -> Point:
        every = {name: np.array([float(np.asarray(value))]) for name, value in metrics.items()}
        problem = self.problem
        return point_of(problem, problem.stated(point[None, :], every, np.ones(1, dtype=np.bool_)), 0)

    def _total(self, point: Point) -> float:
        problem = self.problem
        return float(problem.total(np.array([point.objectives]), self.scales or None)[0])

    def overtakings(self, ordered: Sequence[Confirmed]) -> list[Overtaking]:
        """What is better than the first one when simulated, the best of them first."""
        known = [one for one in ordered if one.simulated is not None]
        first = known[0]
        better = sorted(
            (one for one in known[1:] if one.simulated_key < first.simulated_key), key=lambda one: one.simulated_key
        )
        chosen = better[:MOST_EXPLAINED]
        before = self._rungs(first) if chosen else []
        return [self._explained(first, before, one) for one in chosen]

    def _rungs(self, one: Confirmed) -> list[tuple[str, Point]]:
        """The point by the forecast, and simulated with one effect after another."""
        values = one.forecast.values
        comparison = self.model.compare(values, effects=self.effects, engine=self.engine, seed=self.seed)
        asked = self.model.parameters(values)
        place = np.array(list(values.values()))
        rungs = [
            (rung.effect, self._point(place, self.model.metrics(rung.simulation, asked))) for rung in comparison.rungs
        ]
        return [("forecast", one.forecast), *rungs]

    def _explained(self, first: Confirmed, before: list[tuple[str, Point]], other: Confirmed) -> Overtaking:
        after = self._rungs(other)
        keys = [
            ((a.violation, self._total(a)), (b.violation, self._total(b)))
            for (_, a), (_, b) in zip(before, after, strict=True)
        ]
        turned = max(at for at in range(len(keys)) if at == 0 or (keys[at - 1][1] >= keys[at - 1][0]))
        rungs = tuple((name, a, b) for (name, _), (a, b) in zip(before, keys, strict=True))
        return Overtaking(first, other, rungs, rungs[turned][0])

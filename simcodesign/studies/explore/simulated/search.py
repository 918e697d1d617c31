"""The best point by simulation.

a search that simulates few points, chosen by what the forecast and all simulations so far let expect (efficient global
optimisation: Jones, Schonlau and Welch, J. Global Optimization 13, 1998).

First the optimum of the forecast, some of its next best points and points spread over the space are simulated; then, a
round at a time, the points of the largest expected improvement. Constraints are judged by the simulated metrics.
Points and their order depend on the seed alone, not on the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place
from simcodesign.studies.explore.evaluator import Evaluator, Scored, point_of, select_rows, trace_frame
from simcodesign.studies.explore.problem import Evaluated
from simcodesign.studies.explore.simulated.confirmation import best_points
from simcodesign.studies.explore.simulated.parallel import Outcome, simulated_in_order
from simcodesign.studies.explore.simulated.point_simulator import SUMMED, Confirmed, PointSimulator, simulator_of
from simcodesign.studies.explore.simulated.surrogate import Surrogate, coordinates_of
from simcodesign.studies.explore.simulated.turned_order import Overtaking, explain_order
from simcodesign.studies.explore.solvers.reached import Reached, reached
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.explore.space import FloatArray, Space
from simcodesign.studies.requirements.simulated_systems import OnProgress

#: Default numbers of simulations: the maximum, the initial ones, and the initial ones per variable (the ten points a
#: variable with which Jones, Schonlau and Welch begin); and the least.
SIMULATIONS, AT_FIRST, OF_VARIABLE, MIN_SIMULATIONS = 50, 5, 10, 5
#: Points of a round: as many as are chosen without knowing each other's simulation.
ROUND = 2
#: Size of a space up to which all points are candidates; otherwise number of points drawn, in addition to the
#: forecast's best.
MAX_CANDIDATES, DRAWN, KNOWN = 20_000, 4096, 64
#: Steps around the best points, as shares of the ranges, and candidates of each.
NEAR, OF_EACH = (0.2, 0.05, 0.01, 0.002), 128
#: Points from which the spread ones are chosen; and the violation by the forecast up to which a point is among them.
SPREAD_FROM, NEARLY = 512, 0.25


@dataclass(frozen=True)
class SimulatedOptimum:
    """The best of all simulated points, and the optimum of the forecast, both by both readings.

    ``exact``: every point of the space was simulated. ``failed``: points that could not be simulated, ``why_not`` the
    first error. ``overtaking``: why the optimum of the forecast is not the best, None if it is. ``trace``: one row a
    simulation, in order.
    """

    solution: Solution
    best: Confirmed
    of_forecast: Confirmed
    simulations: int
    seed: int
    exact: bool
    failed: int
    why_not: str
    overtaking: Overtaking | None
    trace: pd.DataFrame = field(repr=False)
    #: How near the simulations came to each constraint, if none meets them all.
    reached: tuple[Reached, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether the best point meets all constraints when simulated."""
        return self.best.simulated is not None and self.best.simulated.feasible

    @property
    def forecast_holds(self) -> bool:
        """Whether no simulated point is better than the optimum of the forecast."""
        return self.best is self.of_forecast


def default_simulations(space: Space) -> int:
    """How many points of a space are simulated where no number is given: all of a small one."""
    varied = sum(variable.count > 1 for variable in space.variables)
    return int(max(min(SIMULATIONS, AT_FIRST + OF_VARIABLE * varied, space.count), MIN_SIMULATIONS))


def optimum_by_simulation(
    solution: Solution,
    *,
    simulations: int | None = None,
    effects: str | Collection[str] = "all",
    engine: str = "auto",
    seed: int = 0,
    jobs: int = 1,
    on_progress: OnProgress | None = None,
) -> SimulatedOptimum:
    """Return the best point when simulated, with a number of simulations, by up to ``jobs`` processes.

    Default: ``default_simulations``. ``solution``: the optimum of the forecast.

    Raises InputError for a model that cannot be simulated, and if none of the points can be.
    """
    simulations = default_simulations(solution.problem.space) if simulations is None else simulations
    if simulations < MIN_SIMULATIONS:
        what = "number of simulations"
        raise InputError(what, Place("--max-simulations"), value=simulations, allowed=f"{MIN_SIMULATIONS} or more")
    simulator = simulator_of(solution.problem, solution.scales, effects, engine, seed, "--simulate")
    with simulated_in_order(simulator, jobs, simulations) as simulate:
        search = _Search(solution, simulator, simulations, np.random.default_rng(seed), simulate, on_progress)
        return search.run(seed)


class _Search:
    """The state of a search: candidates with their forecasts, and the points that are simulated."""

    def __init__(
        self,
        solution: Solution,
        simulator: PointSimulator,
        simulations: int,
        random: np.random.Generator,
        simulate: Callable[[FloatArray], list[Outcome]],
        on_progress: OnProgress | None,
    ) -> None:
        self.solution, self.problem, self.simulator = solution, simulator.problem, simulator
        self.random, self.simulate, self.on_progress = random, simulate, on_progress
        space = self.problem.space
        self.finite = space.count <= MAX_CANDIDATES
        self.limit = int(min(simulations, space.count))
        self.candidates = self._forecast(space.all_points() if self.finite else self._drawn())
        self.place = {tuple(point): at for at, point in enumerate(self.candidates.evaluated.points)}
        self.forecasts: list[Evaluated] = []
        self.points: list[FloatArray] = []
        self.outcomes: list[Outcome] = []
        self.stages: list[str] = []

    def run(self, seed: int) -> SimulatedOptimum:
        """All of it."""
        self._take(self._first_points(), "first points")
        surrogate = Surrogate(self.problem)
        while len(self.points) < self.limit and not self._settled():
            chosen = self._round(surrogate, min(ROUND, self.limit - len(self.points)))
            if not len(chosen):
                break
            self._take(chosen, "expected improvement")
        return self._outcome(seed)

    def _settled(self) -> bool:
        """Whether any feasible point is as good as another, and there is one."""
        if self.problem.objectives or not any(isinstance(outcome, dict) for outcome in self.outcomes):
            return False
        return bool((self._known()[1].violation == 0).any())

    def _drawn(self) -> FloatArray:
        """Candidates of a space that is too large for a list: the best of the forecast, and others all over it."""
        space = self.problem.space
        best = best_points(self.solution, KNOWN).reshape(-1, len(space.variables))
        return np.vstack([self._optimum(), best, space.sample(DRAWN, self.random)])

    def _optimum(self) -> FloatArray:
        """Return the optimum of the forecast, (1, variables)."""
        return np.array([list(self.solution.point.values.values())])

    def _forecast(self, points: FloatArray) -> Scored:
        """Forecasts of all points that the model does not refuse."""
        evaluator = Evaluator(self.problem, self.solution.scales)
        evaluated = evaluator(points, "forecast").evaluated
        return evaluator.score(select_rows(evaluated, np.flatnonzero(evaluated.usable)))

    def _forecast_of(self, point: FloatArray) -> Evaluated:
        """Evaluate one point; the forecast of a candidate is stored."""
        at = self.place.get(tuple(point))
        return (
            self.problem.evaluate(point[None, :])
            if at is None
            else select_rows(self.candidates.evaluated, np.array([at]))
        )

    def _score(self, evaluated: Evaluated) -> Scored:
        return Evaluator(self.problem, self.solution.scales).score(evaluated)

    def _take(self, points: FloatArray, stage: str) -> None:
        if self.on_progress is not None:
            self.on_progress(self.simulator.workload, self.simulator.model.machine.name, len(self.points), self.limit)
        self.forecasts += [self._forecast_of(point) for point in points]
        self.outcomes += self.simulate(points)
        self.points += list(points)
        self.stages += [stage] * len(points)

    def _first_points(self) -> FloatArray:
        """Return the optimum of the forecast, other good ones, and spread ones."""
        space = self.problem.space
        count = min(max(2 * len(space.variables) + 2, 6), max(self.limit // 2, 1))
        best = best_points(self.solution, max(count // 3, 1))
        optimum = self._optimum()[0]
        chosen = [optimum, *(one for one in best if not np.array_equal(one, optimum))]
        return self._spread(chosen, count)

    def _spread(self, chosen: list[FloatArray], count: int) -> FloatArray:
        """Return these points, and others as far from them and each other as possible, up to ``count`` in total."""
        space = self.problem.space
        nearly = np.flatnonzero(self.candidates.violation <= NEARLY)
        if not len(nearly):
            nearly = np.arange(len(self.candidates.total))
        some = self.candidates.evaluated.points[self.random.permutation(nearly)[:SPREAD_FROM]]
        while len(chosen) < count and len(some):
            away = _least_distance(coordinates_of(space, some), coordinates_of(space, np.array(chosen)))
            farthest = int(away.argmax())
            if away[farthest] == 0:
                break
            chosen.append(some[farthest])
        return np.array(chosen[:count])

    def _known(self) -> tuple[Scored, Scored]:
        """Forecast and simulation of all points that could be simulated."""
        good = [at for at, outcome in enumerate(self.outcomes) if isinstance(outcome, dict)]
        points = np.array([self.points[at] for at in good]).reshape(len(good), -1)
        metrics = [outcome for outcome in self.outcomes if isinstance(outcome, dict)]
        columns = {name: np.array([one[name] for one in metrics]) for name in self.problem.model.dimensions}
        simulated = self.problem.assess(points, columns, np.ones(len(good), dtype=np.bool_))
        return self._score(_joined([self.forecasts[at] for at in good])), self._score(simulated)

    def _round(self, surrogate: Surrogate, count: int) -> FloatArray:
        """Return the points of the next round, (up to count, variables)."""
        if not any(isinstance(outcome, dict) for outcome in self.outcomes):  # nothing is known
            return self._spread(list(self.points), len(self.points) + count)[len(self.points) :]
        forecast, simulated = self._known()
        usable = forecast.evaluated.usable & simulated.evaluated.usable
        rows = np.flatnonzero(usable)
        known = [self._score(select_rows(one.evaluated, rows)) for one in (forecast, simulated)]
        surrogate.learn(*known)
        candidates = self._candidates(known[1])
        chosen: list[FloatArray] = []
        for _ in range(count):
            taken = _is_among(self.problem.space, candidates.evaluated.points, np.array([*self.points, *chosen]))
            worth = surrogate.worth(candidates, ~taken)
            at = int(worth.argmax())
            if worth[at] == -np.inf:
                break
            chosen.append(candidates.evaluated.points[at])
            surrogate.believe(candidates, at)
        return np.array(chosen)

    def _candidates(self, simulated: Scored) -> Scored:
        """All points, or the drawn ones and others around the best simulated ones."""
        if self.finite:
            return self.candidates
        space = self.problem.space
        centres = simulated.evaluated.points[simulated.order()[:3]]
        near = []
        for centre in coordinates_of(space, centres):
            for step in NEAR:
                moved = centre + step * self.random.standard_normal((OF_EACH, len(centre)))
                # A whole variable or choice moves by one step at least, and any variable may stay.
                whole = space.counted & (self.random.random(moved.shape) < 0.5)
                steps = self.random.integers(-1, 2, moved.shape) / np.maximum(space.tops, 1.0)
                moved = np.where(whole, centre + steps, moved)
                moved = np.where(self.random.random(moved.shape) < 0.3, centre, moved)
                near.append(space.decode(np.clip(moved, 0.0, 1.0) * space.tops))
        around = self._forecast(np.unique(np.concatenate(near), axis=0))
        both = [self.candidates.evaluated, around.evaluated]
        return self._score(_joined(both))

    def _outcome(self, seed: int) -> SimulatedOptimum:
        confirmed = [self._confirmed(at) for at in range(len(self.points))]
        failures = [one for one in confirmed if one.simulated is None]
        if len(failures) == len(confirmed):
            raise InputError(f"none of the points can be simulated: {failures[0].why_not}", Place("--simulate"))
        first = confirmed[0]
        best = min(confirmed, key=lambda one: one.simulated_key)
        if _as_good(first, best):
            best = first
        overtaking = None
        if best is not first and first.simulated is not None:
            overtaking = explain_order(self.simulator, first, self.simulator.rungs(first), best)
        whole = len(self.points) >= self.problem.space.count
        why_not = failures[0].why_not if failures else ""
        counts = len(confirmed), seed, whole, len(failures)
        optimum = SimulatedOptimum(self.solution, best, first, *counts, why_not, overtaking, self._trace())
        return (
            optimum if optimum.feasible else replace(optimum, reached=reached(self.problem, self._known()[1].evaluated))
        )

    def _confirmed(self, at: int) -> Confirmed:
        point, outcome = self.points[at], self.outcomes[at]
        forecast = point_of(self.problem, self.forecasts[at], 0)
        total = self.simulator.total(forecast)
        if not isinstance(outcome, dict):
            return Confirmed(at + 1, False, forecast, None, total, np.inf, outcome)
        simulated = self.simulator.point(point, outcome)
        return Confirmed(at + 1, False, forecast, simulated, total, self.simulator.total(simulated))

    def _trace(self) -> pd.DataFrame:
        nothing = dict.fromkeys(self.problem.model.dimensions, np.nan)
        rows = [outcome if isinstance(outcome, dict) else nothing for outcome in self.outcomes]
        columns = {name: np.array([row[name] for row in rows]) for name in nothing}
        usable = np.array([isinstance(outcome, dict) for outcome in self.outcomes])
        evaluated = self.problem.assess(np.array(self.points), columns, usable)
        return trace_frame(self.problem, evaluated, np.array(self.stages, dtype=object))


def _joined(parts: Sequence[Evaluated]) -> Evaluated:
    names = parts[0].metrics
    return Evaluated(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.objectives for part in parts]),
        np.concatenate([part.gaps for part in parts]),
        {name: np.concatenate([part.metrics[name] for part in parts]) for name in names},
        np.concatenate([part.usable for part in parts]),
    )


def _least_distance(points: FloatArray, others: FloatArray) -> FloatArray:
    """Distance of every point (n, d) to the nearest of others (m, d): (n,)."""
    return np.asarray(np.abs(points[:, None, :] - others[None, :, :]).sum(axis=2).min(axis=1))


def _is_among(space: Space, points: FloatArray, taken: FloatArray) -> NDArray[np.bool_]:
    """Which points (n, variables) equal a taken point, except for rounding: (n,)."""
    return np.asarray(_least_distance(coordinates_of(space, points), coordinates_of(space, taken)) < 1e-9)


def _as_good(first: Confirmed, best: Confirmed) -> bool:
    """Whether both points are the same when simulated, except for rounding."""
    (violation, total), (least, lowest) = first.simulated_key, best.simulated_key
    return violation == least and total - lowest <= SUMMED * abs(lowest)

"""Simulates points of a design space: metrics, objectives and constraints of a point by both readings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from simcodesign.aspen.run.comparison import aspen_effects
from simcodesign.core.errors import InputError, Place, SimcodesignError
from simcodesign.core.units import FloatOrArray
from simcodesign.studies.explore.evaluator import EvaluatedPoint, point_of
from simcodesign.studies.explore.models.aspen_model import AspenModel
from simcodesign.studies.explore.models.native_model import NativeModel
from simcodesign.studies.explore.models.system_model import SystemModel
from simcodesign.studies.explore.problem import Constraint, Problem
from simcodesign.studies.explore.space import FloatArray
from simcodesign.studies.requirements.simulated_systems import useful_effects


@dataclass(frozen=True)
class Confirmed:
    """One point, forecast and simulated.

    ``origin``: the rank (from 1) of this best point, or of the best point that it neighbours; ``why_not``: why it could
    not be simulated.
    """

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
        """Key of the point by simulation."""
        return (np.inf, np.inf) if self.simulated is None else (self.simulated.violation, self.simulated_total)


#: A constraint is kept up to this fraction when it is simulated: sums of many events round otherwise than closed forms,
#: and an optimum of the forecast often lies on a bound.
SUMMED = 1e-9


@dataclass(frozen=True)
class PointSimulator:
    """How points of a problem are simulated. ``scales``: by what several objectives are divided."""

    problem: Problem
    scales: tuple[float, ...]
    model: NativeModel | SystemModel | AspenModel
    effects: tuple[str, ...]
    engine: str
    seed: int

    @property
    def workload(self) -> str:
        """Its name."""
        if isinstance(self.model, SystemModel):
            return " and ".join(one.name for one in self.model.workloads)
        return self.model.workload.name if isinstance(self.model, NativeModel) else self.model.application.name

    def metrics(self, point: FloatArray) -> dict[str, float]:
        """Every metric of the simulation of a point (variables,). SimcodesignError if it cannot be simulated."""
        values = self.problem.space.named(point)
        metrics = self.model.simulate(values, effects=self.effects, engine=self.engine, seed=self.seed)
        return {name: float(np.asarray(value)) for name, value in metrics.items()}

    def confirmed(self, origin: int, neighbour: bool, point: FloatArray) -> Confirmed:
        """Both readings of a point."""
        problem = self.problem
        try:
            forecast = point_of(problem, problem.evaluate(point[None, :]), 0)
        except InputError as error:
            nothing = EvaluatedPoint(problem.space.named(point), {}, (), (), np.inf)
            return Confirmed(origin, neighbour, nothing, None, np.inf, np.inf, str(error))
        total = self.total(forecast)
        try:
            metrics = self.metrics(point)
        except SimcodesignError as error:
            return Confirmed(origin, neighbour, forecast, None, total, np.inf, str(error))
        simulated = self.point(point, metrics)
        return Confirmed(origin, neighbour, forecast, simulated, total, self.total(simulated))

    def point(self, point: FloatArray, metrics: dict[str, float] | dict[str, FloatOrArray]) -> EvaluatedPoint:
        """Return the point in full with the metrics of a simulation."""
        columns = {name: np.array([float(np.asarray(value))]) for name, value in metrics.items()}
        problem = self.problem
        return point_of(problem, problem.assess(point[None, :], columns, np.ones(1, dtype=np.bool_)), 0)

    def total(self, point: EvaluatedPoint) -> float:
        """Return the one number to be minimized."""
        return float(self.problem.total(np.array([point.objectives]), self.scales or None)[0])

    def rungs(self, confirmed: Confirmed) -> list[tuple[str, EvaluatedPoint]]:
        """Return the point by the forecast, and simulated with one effect after another."""
        values = confirmed.forecast.values
        point = np.array(list(values.values()))
        if isinstance(self.model, SystemModel | NativeModel):
            steps = self.model.rungs(values, effects=self.effects, engine=self.engine, seed=self.seed)
            return [("forecast", confirmed.forecast), *((one, self.point(point, metrics)) for one, metrics in steps)]
        comparison = self.model.compare(values, effects=self.effects, engine=self.engine, seed=self.seed)
        parameters = self.model.parameters(values)
        rungs = [
            (rung.effect, self.point(point, self.model.metrics(rung.simulation, parameters)))
            for rung in comparison.rungs
        ]
        return [("forecast", confirmed.forecast), *rungs]


def simulator_of(
    problem: Problem,
    scales: tuple[float, ...],
    effects: str | Collection[str],
    engine: str,
    seed: int,
    option: str = "--simulate-best",
) -> PointSimulator:
    """InputError, which names ``option``, for a model that cannot be simulated."""
    model = problem.model
    problem = problem.with_constraints([_rounded(constraint) for constraint in problem.constraints])
    if isinstance(model, SystemModel) and model.runs:
        acting = dict.fromkeys(one for workload in model.workloads for one in useful_effects(workload, effects))
        return PointSimulator(problem, scales, model, tuple(acting), engine, seed)
    if isinstance(model, NativeModel):
        return PointSimulator(problem, scales, model, useful_effects(model.workload, effects), engine, seed)
    if isinstance(model, AspenModel):
        return PointSimulator(problem, scales, model, aspen_effects(effects), engine, seed)
    raise InputError("cannot be simulated", Place(option), value=model.name, allowed="a workload on a machine")


def _rounded(constraint: Constraint) -> Constraint:
    """Return the constraint, violated only by more than ``SUMMED``."""
    if constraint.relation == "==":
        return replace(constraint, tolerance=constraint.tolerance + SUMMED)
    return constraint.with_slack(constraint.slack + SUMMED)

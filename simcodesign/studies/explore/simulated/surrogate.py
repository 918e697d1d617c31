"""Surrogate model for points that have not been simulated: the forecast, corrected by Gaussian processes.

The objective and every constraint have a process each, of what the simulation makes of the forecast: of the logarithm
of simulated over forecast where both are above 0, otherwise of the difference. As a correction it needs fewer samples
than the quantity itself: where the forecast is right it is nothing at all (Kennedy and O'Hagan, Biometrika 87, 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcodesign.studies.explore.evaluator import Scored
from simcodesign.studies.explore.problem import ROUNDING, Constraint, Problem
from simcodesign.studies.explore.simulated.expected_improvement import expected_improvement, probability_between
from simcodesign.studies.explore.simulated.gaussian_process import GaussianProcess, conditioned, fitted
from simcodesign.studies.explore.space import FloatArray, Space

#: An expected improvement below this (of a logarithm, or as a fraction of the best) is none. Then the least known point
#: is simulated that holds all constraints with this probability and may be better by this many standard deviations.
NOTHING, MAY_HOLD, OPTIMISM = 1e-4, 0.2, 3.0
#: A probability that all constraints hold below this is useless; then the least violation is looked for.
HOPELESS = 1e-3


def coordinates_of(space: Space, points: FloatArray) -> FloatArray:
    """Points (n, variables) with every coordinate from 0 to 1."""
    return np.asarray(space.encode(points) / np.maximum(space.tops, 1e-300))


def categorical_of(space: Space) -> NDArray[np.bool_]:
    """Which variables have names instead of numbers: (variables,)."""
    return np.array([bool(variable.words) for variable in space.variables])


@dataclass(frozen=True)
class Output:
    """The objective (``constraint`` None) or a constraint: a number that shall be small, and up to ``limit``."""

    constraint: Constraint | None
    logarithmic: bool
    sign: float = 1.0

    def values(self, scored: Scored, at: int) -> FloatArray:
        """Return the number at the points of an evaluation, (n,); ``at``: the place of the constraint."""
        if self.constraint is None:
            total = scored.total
            return np.asarray(self.sign * np.log(self.sign * total) if self.logarithmic else total)
        gap = scored.evaluated.gaps[:, at]
        return self.of_gap(gap)

    def of_gap(self, gap: FloatArray) -> FloatArray:
        """Return a gap, of which 1 more or less is the ratio of both sides, as the number."""
        side = _side(self.constraint)
        return np.asarray(side * np.log1p(side * gap) if self.logarithmic else gap)

    def limits(self) -> tuple[float, float]:
        """Between which the number of a constraint must be."""
        assert self.constraint is not None
        slack, tolerance = self.constraint.slack, self.constraint.tolerance
        if self.constraint.relation == "==":
            low, high = self.of_gap(np.array([slack - tolerance, slack + tolerance]))
            return float(low), float(high)
        return -np.inf, float(self.of_gap(np.array([slack + ROUNDING]))[0])


def _side(constraint: Constraint | None) -> float:
    return -1.0 if constraint is not None and constraint.relation == ">=" else 1.0


def outputs_of(problem: Problem, forecast: Scored, simulated: Scored) -> list[Output]:
    """Return the objective, if there is one, and all constraints, by what forecasts and simulations are like."""
    outputs = []
    if problem.objectives:
        totals = np.concatenate([forecast.total, simulated.total])
        sign = -1.0 if (totals < 0).all() else 1.0
        outputs.append(Output(None, bool((sign * totals > 0).all()), sign))
    for at, constraint in enumerate(problem.constraints):
        gaps = np.concatenate([forecast.evaluated.gaps[:, at], simulated.evaluated.gaps[:, at]])
        positive = bool((1.0 + _side(constraint) * gaps > 0).all()) and abs(constraint.slack) < 1
        outputs.append(Output(constraint, positive))
    return outputs


@dataclass
class Surrogate:
    """The corrections by all simulations so far; made again when there are more."""

    problem: Problem
    categorical: NDArray[np.bool_] = field(init=False)
    outputs: list[Output] = field(default_factory=list)
    processes: list[GaussianProcess] = field(default_factory=list)
    best: float = np.inf

    def __post_init__(self) -> None:
        self.categorical = categorical_of(self.problem.space)

    def learn(self, forecast: Scored, simulated: Scored) -> None:
        """From the same points by both readings."""
        outputs = outputs_of(self.problem, forecast, simulated)
        starts: list[GaussianProcess | None] = (
            list(self.processes) if outputs == self.outputs else [None] * len(outputs)
        )
        self.outputs = outputs
        coordinates = coordinates_of(self.problem.space, forecast.evaluated.points)
        self.processes = [
            fitted(coordinates, correction, self.categorical, start)
            for correction, start in zip(self._corrections(forecast, simulated), starts, strict=True)
        ]
        self.best = np.inf
        feasible = simulated.violation == 0
        if self._has_objective and feasible.any():
            self.best = float(self.outputs[0].values(simulated, 0)[feasible].min())

    def believe(self, forecast: Scored, at: int) -> None:
        """Take the mean at one point as if it had been simulated, so that the next one is chosen elsewhere.

        Kriging believer (Ginsbourger, Le Riche and Carraro 2010).
        """
        coordinates = coordinates_of(self.problem.space, forecast.evaluated.points[at : at + 1])
        self.processes = [
            process
            if process.certain
            else conditioned(
                np.vstack([process.points, coordinates]),
                np.append(process.values, process.predict(coordinates)[0]),
                process.scales,
                process.noise,
                process.categorical,
            )
            for process in self.processes
        ]

    @property
    def _has_objective(self) -> bool:
        return bool(self.outputs) and self.outputs[0].constraint is None

    def _corrections(self, forecast: Scored, simulated: Scored) -> list[FloatArray]:
        first = 1 if self._has_objective else 0
        return [
            np.asarray(output.values(simulated, at - first) - output.values(forecast, at - first))
            for at, output in enumerate(self.outputs)
        ]

    def predictions(self, forecast: Scored) -> list[tuple[FloatArray, FloatArray]]:
        """Mean and standard deviation of every output at points with these forecasts."""
        coordinates = coordinates_of(self.problem.space, forecast.evaluated.points)
        first, predicted = 1 if self._has_objective else 0, []
        for at, (output, process) in enumerate(zip(self.outputs, self.processes, strict=True)):
            mean, deviation = process.predict(coordinates)
            with np.errstate(all="ignore"):
                predicted.append((output.values(forecast, at - first) + mean, deviation))
        return predicted

    def worth(self, forecast: Scored, free: NDArray[np.bool_]) -> FloatArray:
        """Worth of a simulation of each point, the larger the better, (n,).

        ``free`` (n,): which may be simulated, -inf for the others.
        """
        return np.where(free, self._worth(forecast, free), -np.inf)

    def _worth(self, forecast: Scored, free: NDArray[np.bool_]) -> FloatArray:
        predicted = self.predictions(forecast)
        holds = np.ones(len(forecast.total))
        beyond = np.zeros(len(forecast.total))
        for output, (mean, deviation) in zip(self.outputs, predicted, strict=True):
            if output.constraint is None:
                continue
            low, high = output.limits()
            holds = holds * np.nan_to_num(probability_between(low, high, mean, deviation))
            beyond = beyond + np.maximum(low - mean, 0.0) + np.maximum(mean - high, 0.0)
        holds = np.where(free, holds, 0.0)
        if not np.isfinite(self.best):
            return holds if holds.max() > HOPELESS else -np.nan_to_num(beyond, nan=np.inf)
        mean, deviation = predicted[0]
        improvement = np.nan_to_num(expected_improvement(self.best, mean, deviation)) * holds
        if improvement.max() >= NOTHING * (1.0 if self.outputs[0].logarithmic else max(abs(self.best), 1e-300)):
            return improvement
        # Nothing more is expected where much is known: the least known point that may be better, or of all.
        may_hold = free & (holds >= min(MAY_HOLD, float(holds.max())))
        better = may_hold & (mean - OPTIMISM * deviation < self.best)
        return np.where(better if better.any() else may_hold, np.nan_to_num(deviation), -np.inf)

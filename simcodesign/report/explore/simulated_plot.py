"""A plot of a search with simulation in the loop: what each simulation gave, and the best so far."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.units import DIMENSIONS
from simcodesign.report.common import plot_style
from simcodesign.report.common.numbers import shared_unit
from simcodesign.studies.explore.problem import Constraint, Problem, plain_name
from simcodesign.studies.explore.simulated.search import SimulatedOptimum
from simcodesign.studies.explore.space import FloatArray

#: Constraints on what is simulated that have a panel of their own, the first ones.
MAX_CONSTRAINTS = 4


def simulated_plot(optimum: SimulatedOptimum, path: str | Path) -> None:
    """Draw the objective of every simulation in order, hollow if a constraint is violated.

    The best so far, and the forecast of its optimum. Below, the left side of each constraint with its limit.
    """
    problem = optimum.solution.problem
    metrics = {plain_name(name) for name in problem.model.dimensions}
    shown = [one for one in problem.constraints if metrics & (one.left.names | one.right.names)][:MAX_CONSTRAINTS]
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 6.4, 3.8 + 1.7 * len(shown))
        heights = [3.2, *(1.5 for _ in shown)]
        axes = figure.subplots(1 + len(shown), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        _objective(mpl, axes[0], optimum)
        for axis, constraint in zip(axes[1:], shown, strict=True):
            _limit(axis, optimum, constraint)
        axes[-1].xaxis.set_major_locator(mpl.ticker.MaxNLocator(6, integer=True))
        axes[-1].set_xlabel("simulation")
        objective = problem.objectives[0]
        title = f"{problem.model.name}: {'max' if objective.maximize else 'min'} {objective.text}, by simulation"
        plot_style.set_title(figure, title, 9.5)
        plot_style.save(figure, path)


def _objective(mpl: Any, axis: Any, optimum: SimulatedOptimum) -> None:
    """Draw the result of each simulation, and the best so far."""
    problem, trace = optimum.solution.problem, optimum.trace
    objective = problem.objectives[0]
    values = trace[f"objective: {objective.text}"].to_numpy(dtype=np.float64)
    feasible = trace["feasible"].to_numpy(dtype=bool)
    better = np.fmax if objective.maximize else np.fmin
    best = better.accumulate(np.where(feasible, values, np.nan))
    forecast = optimum.solution.point.objectives[0]
    factor, unit = _unit_of([forecast, *values[np.isfinite(values)]], objective.dimension, objective.unit)
    number = np.arange(1, len(values) + 1)
    grey, red = plot_style.GREY, plot_style.OKABE_ITO[5]
    label = "optimum of the forecast, by the forecast"
    axis.axhline(forecast * factor, color=grey, linestyle="--", linewidth=1.0, label=label)
    axis.plot(number, best * factor, drawstyle="steps-post", color=red, linewidth=1.4, label="best simulated so far")
    _points(axis, values * factor, feasible, ("simulated", "a constraint is violated"))
    known = values[np.isfinite(values)]
    if len(known) and min(known.min(), forecast) > 0 and known.max() > 30 * min(known.min(), forecast):
        axis.set_yscale("log")
        plot_style.log_ticks(mpl, axis.yaxis)
    else:
        plot_style.label_ticks(axis.yaxis, plot_style.number_text, 4)
    axis.set_ylabel(plot_style.plain(f"{objective.text} ({unit})" if unit else objective.text))
    axis.legend(fontsize=7, frameon=False)


def _limit(axis: Any, optimum: SimulatedOptimum, constraint: Constraint) -> None:
    """Draw the left side of a constraint at each simulation, and its right side as a line.

    Hollow if it is beyond the right side.
    """
    problem = optimum.solution.problem
    names = _names(problem, optimum)
    number = np.arange(1, len(optimum.trace) + 1)
    left, right = (
        np.broadcast_to(np.asarray(side.evaluate(names), np.float64), number.shape)
        for side in (constraint.left, constraint.right)
    )
    gaps = optimum.trace[f"gap: {constraint.text}"].to_numpy(dtype=np.float64)
    holds = problem.with_constraints([constraint]).violation(gaps[:, None]) == 0
    known = [*left[np.isfinite(left)], *right[np.isfinite(right)]]
    factor, unit = _unit_of(known, constraint.dimension)
    plot_style.label_ticks(axis.yaxis, plot_style.number_text, 4)
    axis.plot(number, right * factor, color=plot_style.DARK, linestyle=":", linewidth=1.2, label=constraint.text)
    _points(axis, left * factor, holds)
    axis.set_ylabel(plot_style.plain(f"{constraint.left.text} ({unit})" if unit else constraint.left.text))
    axis.legend(fontsize=7, frameon=False)


def _points(axis: Any, values: FloatArray, good: np.ndarray, labels: tuple[str, str] = ("", "")) -> None:
    """Full if all is well, otherwise hollow."""
    number, blue = np.arange(1, len(values) + 1), plot_style.OKABE_ITO[0]
    axis.plot(number[good], values[good], "o", color=blue, markersize=3.5, label=labels[0] or None)
    if not good.all():
        hollow = {"color": blue, "markerfacecolor": "none", "markersize": 3.5}
        axis.plot(number[~good], values[~good], "o", label=labels[1] or None, **hollow)


def _names(problem: Problem, optimum: SimulatedOptimum) -> Mapping[str, Any]:
    """Names that expressions may use, as arrays over the simulations."""
    numbers = {one.name: {word: value for value, word in one.words.items()} for one in problem.space.variables}
    simulated = {
        name: np.array([numbers.get(name, {}).get(value, value) for value in optimum.trace[name]], np.float64)
        for name in (*problem.model.dimensions, *problem.space.names)
    }
    every = {**problem.model.fixed(problem.space.names), **simulated}
    return {plain_name(name): value for name, value in every.items()}


def _unit_of(values: list[Any], dimension: str, without: str = "") -> tuple[float, str]:
    """Factor for values, and their unit then."""
    base = DIMENSIONS.get(dimension, "")
    return shared_unit(values, base) if base else (1.0, without)

"""A plot of a search with simulation in the loop: what each simulation gave, and the best so far."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simcodesign.core.units import DIMENSIONS
from simcodesign.report.common import plot_style
from simcodesign.report.common.numbers import shared_unit
from simcodesign.studies.explore.simulated.search import SimulatedOptimum


def simulated_plot(optimum: SimulatedOptimum, path: str | Path) -> None:
    """The objective of every simulation in turn, hollow where a constraint is violated; the best so far, and what the
    forecast says of its optimum."""
    problem, trace = optimum.solution.problem, optimum.trace
    objective = problem.objectives[0]
    values = trace[f"objective: {objective.text}"].to_numpy(dtype=np.float64)
    feasible = trace["feasible"].to_numpy(dtype=bool)
    better = np.fmax if objective.maximise else np.fmin
    best = better.accumulate(np.where(feasible, values, np.nan))
    forecast = optimum.solution.point.objectives[0]
    base = DIMENSIONS.get(objective.dimension, "")
    factor, unit = shared_unit([forecast, *values[np.isfinite(values)]], base) if base else (1.0, objective.unit)
    number = np.arange(1, len(values) + 1)
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 6.4, 3.8)
        axis = figure.subplots()
        blue, red = plot_style.OKABE_ITO[0], plot_style.OKABE_ITO[5]
        axis.axhline(
            forecast * factor,
            color=plot_style.GREY,
            linestyle="--",
            linewidth=1.0,
            label="optimum of the forecast, by the forecast",
        )
        axis.plot(
            number, best * factor, drawstyle="steps-post", color=red, linewidth=1.4, label="best simulated so far"
        )
        axis.plot(number[feasible], values[feasible] * factor, "o", color=blue, markersize=3.5, label="simulated")
        if not feasible.all():
            hollow = {"color": blue, "markerfacecolor": "none", "markersize": 3.5}
            axis.plot(number[~feasible], values[~feasible] * factor, "o", label="a constraint is violated", **hollow)
        known = values[np.isfinite(values)]
        if len(known) and min(known.min(), forecast) > 0 and known.max() > 30 * min(known.min(), forecast):
            axis.set_yscale("log")
        axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6, integer=True))
        axis.set_xlabel("simulation")
        axis.set_ylabel(plot_style.plain(f"{objective.text} ({unit})" if unit else objective.text))
        title = f"{problem.model.name}: {'max' if objective.maximise else 'min'} {objective.text}, by simulation"
        axis.set_title(plot_style.wrapped(title, 6.4), loc="left")
        axis.legend(fontsize=7, frameon=False)
        plot_style.save(figure, path)

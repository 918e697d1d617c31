"""Plots of a space of designs: slices through the optimum, parallel coordinates, and Pareto fronts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.expressions.expression import Expression
from simcodesign.core.units import DIMENSIONS, FloatOrArray
from simcodesign.report.common import plot_style
from simcodesign.report.common.numbers import four_digits, shared_unit
from simcodesign.report.explore.words import shown
from simcodesign.studies.explore.evaluator import EvaluatedPoint, Evaluator, Scored, point_of
from simcodesign.studies.explore.pareto import Front
from simcodesign.studies.explore.problem import Problem, formula, plain_name
from simcodesign.studies.explore.simulated.confirmation import best_points
from simcodesign.studies.explore.solvers.solve import Solution
from simcodesign.studies.explore.space import FloatArray, Variable
from simcodesign.studies.explore.study import unit_of

#: Points of a slice, and points in parallel coordinates.
SLICE, LINES = 201, 40
#: Letters of a line below a vertical axis.
LABEL = 20
#: Slices side by side, and curves over each variable.
COLUMNS, MAX_CURVES = 3, 4


@dataclass(frozen=True)
class Curve:
    """A curve over a variable: an objective, the left side of a constraint with its ``bound``, or a metric.

    Without an ``expression`` the weighted sum of several objectives.
    """

    label: str
    expression: Expression | None
    dimension: str = ""
    unit: str = ""
    bound: float | None = None

    def values(self, problem: Problem, scored: Scored) -> FloatArray:
        """At the points of an evaluation, (n,)."""
        if self.expression is None:
            return scored.total
        evaluated = scored.evaluated
        every: dict[str, FloatOrArray] = {
            **problem.model.fixed(problem.space.names),
            **evaluated.metrics,
            **problem.space.columns(evaluated.points),
        }
        names = {plain_name(name): value for name, value in every.items()}
        values = np.asarray(self.expression.evaluate(names))
        return np.asarray(np.where(evaluated.usable, values, np.nan), dtype=np.float64)


def curves_of(problem: Problem) -> list[Curve]:
    """Return the objective, and other bounded expressions, if they depend on metrics.

    A variable over itself is trivial.

    If nothing does, the time, or the objective.
    """
    metrics = {plain_name(name) for name in problem.model.dimensions}
    single = problem.objectives[0] if len(problem.objectives) == 1 else None
    if single is None:
        objective = Curve("weighted sum", None)
    else:
        objective = Curve(single.text, single.expression, single.dimension, single.unit)
    curves = [] if single is not None and not single.expression.names & metrics else [objective]
    bounded = [one for one in problem.constraints if one.left.names & metrics]
    curves += [Curve(one.left.text, one.left, one.dimension, bound=one.bound) for one in bounded]
    if not curves and "time" in problem.model.dimensions:
        curves = [Curve("time", formula("time"), problem.model.dimensions["time"])]
    by_label = {curve.label: curve for curve in reversed(curves or [objective])}
    return list(reversed(by_label.values()))[:MAX_CURVES]


def solution_plot(solution: Solution, path: str | Path) -> None:
    """Slices through the best point, of each curve over each variable, and its best points in parallel coordinates."""
    variables, curves = solution.problem.space.variables, curves_of(solution.problem)
    rows_of_curve = -(-len(variables) // COLUMNS)
    rows, columns = rows_of_curve * len(curves), min(len(variables), COLUMNS)
    several = len(variables) > 1
    with plot_style.styled(path) as mpl:
        wide = max(3.4 * columns, 5.6)
        figure = plot_style.new_figure(mpl, wide, 2.9 * rows + (3.2 if several else 0.4))
        title = f"{solution.problem.model.name}: {_goal_text(solution.problem)} (dotted where a constraint is violated)"
        figure.suptitle(plot_style.wrapped(title, wide, 9.5), x=0.01, ha="left", fontsize=9.5)
        parts = figure.subfigures(2, 1, height_ratios=[2.7 * rows, 3.0]) if several else [figure]
        axes = parts[0].subplots(rows, columns, squeeze=False)
        for place in range(rows_of_curve * columns):
            column = axes[:, place % columns][place // columns :: rows_of_curve]
            if place < len(variables):
                _slices(mpl, column, solution, curves, place)
            for axis in column if place >= len(variables) else ():
                axis.set_axis_off()
        if several:
            _parallel(mpl, parts[1], solution.problem, _best(solution))
        plot_style.save(figure, path)


def draw_slice(mpl: Any, axis: Any, solution: Solution, over: str = "") -> None:
    """Draw the first curve through the best point, over a variable, the others fixed.

    The first one by default. InputError for what is no variable.
    """
    names = [*solution.problem.space.names]
    if over and over not in names:
        raise InputError("no such variable", value=over, allowed=nearest(over, names))
    place = names.index(over) if over else 0
    curve = curves_of(solution.problem)[0]
    scored = Evaluator(solution.problem, solution.scales)(_along(solution, place), "slice")
    _slice(mpl, axis, solution, place, scored, curve, labelled=True)
    axis.set_title(f"{solution.problem.model.name}: {_goal_text(solution.problem)}")


def draw_front(mpl: Any, axis: Any, front: Front) -> None:
    """Draw the front in its first two objectives. InputError if it has no point."""
    if not front.points:
        raise InputError("a front without a point", allowed="a problem with feasible points")
    _pair(mpl, axis, front, (0, 1))
    axis.set_title(f"{front.problem.model.name}: Pareto front of {_points(len(front.points))}")


def front_plot(front: Front, path: str | Path) -> None:
    """Draw the front in every pair of objectives, and its points in parallel coordinates."""
    pairs = list(combinations(range(len(front.problem.objectives)), 2))
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, max(3.6 * len(pairs), 6.4), 6.6)
        title = f"{front.problem.model.name}: Pareto front of {_points(len(front.points))}"
        plot_style.set_title(figure, title)
        above, below = figure.subfigures(2, 1, height_ratios=[3.2, 3.0])
        for axis, pair in zip(above.subplots(1, len(pairs), squeeze=False)[0], pairs, strict=True):
            _pair(mpl, axis, front, pair)
        _parallel(mpl, below, front.problem, front.points)
        plot_style.save(figure, path)


def _goal_text(problem: Problem) -> str:
    return " and ".join(f"{'max' if one.maximize else 'min'} {one.text}" for one in problem.objectives)


def _best(solution: Solution) -> list[EvaluatedPoint]:
    """Return the best distinct feasible points; the nearest one if nothing is feasible."""
    points = best_points(solution, LINES)
    if not len(points):
        return [solution.point]
    every = solution.problem.evaluate(points)
    return [point_of(solution.problem, every, at) for at in range(len(points))]


def _slices(mpl: Any, axes: Any, solution: Solution, curves: Sequence[Curve], place: int) -> None:
    """Every curve along one variable, the others as at the best point."""
    problem = solution.problem
    scored = Evaluator(problem, solution.scales)(_along(solution, place), "slice")
    for axis, curve in zip(axes, curves, strict=True):
        _slice(mpl, axis, solution, place, scored, curve)


def _slice(
    mpl: Any, axis: Any, solution: Solution, place: int, scored: Scored, curve: Curve, labelled: bool = False
) -> None:
    """One curve along one variable; grey where a constraint is violated, a line at its bound."""
    problem = solution.problem
    variable = problem.space.variables[place]
    along, values = scored.evaluated.points[:, place], curve.values(problem, scored)
    factor, unit = _unit(values, curve.dimension)
    along_factor, along_unit = _unit(along, unit_of(problem, variable.name))
    x, y = along * along_factor, np.where(np.isfinite(values), values, np.nan) * factor
    good = scored.violation == 0
    mark = "o" if variable.discrete and len(x) <= 40 else ""
    axis.plot(x, y, color=plot_style.GREY, linewidth=1.0, linestyle=":", marker=mark, markersize=2.5)
    axis.plot(x, np.where(good, y, np.nan), color=plot_style.OKABE_ITO[0], linewidth=1.6, marker=mark, markersize=3)
    here = solution.point.values[variable.name]
    axis.axvline(here * along_factor, color=plot_style.OKABE_ITO[5], linewidth=0.8)
    at_best = y[int(np.abs(along - here).argmin())]
    axis.plot([here * along_factor], [at_best], "D", color=plot_style.OKABE_ITO[5], markersize=4.5)
    if curve.bound is not None:
        axis.axhline(curve.bound * factor, color=plot_style.DARK, linewidth=0.8, linestyle="--")
    _scales(mpl, axis, variable, y)
    axis.set_xlabel(plot_style.plain(f"{variable.name}{_in(along_unit)}"))
    if variable.words:
        axis.set_xticks(np.array(variable.choices) * along_factor, [_word(variable, one) for one in variable.choices])
    axis.set_ylabel(_broken(f"{curve.label}{_in(unit or curve.unit)}", 26) if labelled or place % COLUMNS == 0 else "")


def _broken(text: str, most: int) -> str:
    """Return an expression in lines of about ``most`` letters, never broken within a word.

    Broken before an operator, a bracket or a space, or behind the dot or underscore of a name.
    """
    lines = [""]
    for part in re.split(r"(?=[ *+(])|(?=/(?![A-Za-z0-9^]+\)))|(?<=[._])(?=[A-Za-z])", text):
        if lines[-1] and len(lines[-1]) + len(part) > most:
            lines.append("")
        lines[-1] += part if lines[-1] else part.lstrip()
    return plot_style.plain("\n".join(lines))


def _along(solution: Solution, place: int) -> FloatArray:
    """Points along one variable through the best point, which is one of them."""
    space = solution.problem.space
    variable = space.variables[place]
    values = np.unique(variable.decode(np.linspace(0.0, variable.top, SLICE)))
    best = np.array(list(solution.point.values.values()))
    points = np.tile(best, (len(values) + 1, 1))
    points[:-1, place] = values
    return points[np.argsort(points[:, place], kind="stable")]


def _scales(mpl: Any, axis: Any, variable: Variable, y: FloatArray) -> None:
    if variable.log:
        axis.set_xscale("log")
    known = y[np.isfinite(y)]
    if len(known) and known.min() > 0 and known.max() > 30 * known.min():
        axis.set_yscale("log")
    for each, whole in ((axis.xaxis, variable.discrete), (axis.yaxis, False)):
        if each.get_scale() == "linear":
            each.set_major_locator(mpl.ticker.MaxNLocator(5, integer=whole))
            plot_style.label_ticks(each, plot_style.number_text, 4)
        elif each is axis.xaxis or known.size:
            plot_style.log_ticks(mpl, each)


def _pair(mpl: Any, axis: Any, front: Front, pair: tuple[int, int]) -> None:
    """Two objectives of all feasible evaluations, and of the front."""
    problem = front.problem
    every = front.evaluator.all_evaluated()
    good = every.usable & (problem.violation(every.gaps) == 0)
    values = np.array([point.objectives for point in front.points])[:, pair]
    limits = [
        (low - 0.6 * (high - low), high + 0.6 * (high - low))
        for low, high in zip(values.min(0), values.max(0), strict=True)
    ]
    units = [_unit(values[:, at], problem.objectives[which].dimension) for at, which in enumerate(pair)]
    cloud = every.objectives[good][:, pair]
    near = np.all([(cloud[:, at] >= limits[at][0]) & (cloud[:, at] <= limits[at][1]) for at in range(2)], axis=0)
    cloud = cloud[near][:: max(1, int(near.sum()) // 3000)]
    factors = [factor for factor, _ in units]
    axis.plot(
        cloud[:, 0] * factors[0],
        cloud[:, 1] * factors[1],
        ".",
        color=plot_style.GREY,
        markersize=1.5,
        alpha=0.4,
        rasterized=True,
        label="feasible, but beaten",
    )
    order = np.argsort(values[:, 0], kind="stable")
    line = "-" if len(problem.objectives) == 2 else ""
    axis.plot(
        values[order, 0] * factors[0],
        values[order, 1] * factors[1],
        marker="o",
        linestyle=line,
        linewidth=1.0,
        color=plot_style.OKABE_ITO[0],
        markersize=4,
        label="front",
    )
    if pair == (0, 1):
        axis.legend(fontsize=7, markerscale=2, frameon=False)
    for which, label, (_, unit) in zip(pair, (axis.set_xlabel, axis.set_ylabel), units, strict=True):
        one = problem.objectives[which]
        label(_broken(f"{'max' if one.maximize else 'min'} {one.text}{_in(unit or one.unit)}", 40))
    for at, (each, scale) in enumerate(((axis.xaxis, axis.set_xscale), (axis.yaxis, axis.set_yscale))):
        if values[:, at].min() > 0 and values[:, at].max() > 30 * values[:, at].min():
            scale("log")
            plot_style.log_ticks(mpl, each)
        else:
            each.set_major_locator(mpl.ticker.MaxNLocator(4 + at))  # long numbers need room side by side
            plot_style.label_ticks(each, plot_style.number_text, 4)


def _parallel(mpl: Any, figure: Any, problem: Problem, points: Sequence[EvaluatedPoint]) -> None:
    """Draw a vertical axis for every variable and objective, a line for every point.

    Coloured by the first objective.
    """
    axis = figure.subplots()
    variables = problem.space.variables
    names = [*problem.space.names, *(f"{one.text}{_in(one.unit)}" for one in problem.objectives)]
    rows = np.array([[*point.values.values(), *point.objectives] for point in points])
    logs = [one.log for one in variables] + [False] * len(problem.objectives)
    ends = [_ends(rows[:, at], problem, at) for at in range(len(names))]
    heights = np.column_stack([_height(rows[:, at], *ends[at], bool(logs[at])) for at in range(len(names))])
    first = rows[:, len(problem.space.names)] if problem.objectives else np.zeros(len(rows))
    places = _height(first, float(first.min()), float(first.max()), False)
    colours = mpl.colormaps["cividis"](0.9 * places)
    for at in np.argsort(-first if not problem.objectives or not problem.objectives[0].maximize else first):
        axis.plot(range(len(names)), heights[at], color=colours[at], linewidth=1.2, alpha=0.8)
    for at, (low, high) in enumerate(ends):
        axis.plot([at, at], [0.0, 1.0], color=plot_style.DARK, linewidth=0.9, zorder=3)
        axis.text(at, 1.03, _end(problem, at, high), ha="center", va="bottom", fontsize=7)
        axis.text(at, -0.03, _end(problem, at, low), ha="center", va="top", fontsize=7)
        if at < len(variables) and variables[at].words:
            _between(axis, at, variables[at], _height(np.array(variables[at].choices), low, high, bool(logs[at])))
    axis.set_xticks(range(len(names)), [_broken(name, LABEL) for name in names])
    axis.tick_params(axis="x", length=0, pad=14)
    axis.set_yticks([])
    axis.set_xlim(-0.4, len(names) - 0.6)
    axis.set_ylim(-0.12, 1.14)
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.set_title(f"Parallel coordinates: {_points(len(points))}, coloured by the first objective", pad=10)


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _end(problem: Problem, at: int, value: float) -> str:
    """Return the text at an end of a vertical axis."""
    variables = problem.space.variables
    if at >= len(variables):
        return shown(four_digits(value), problem.objectives[at - len(variables)].dimension)
    return plot_style.plain(
        variables[at].word(value) or shown(four_digits(value), unit_of(problem, variables[at].name))
    )


def _between(axis: Any, at: int, variable: Variable, heights: FloatArray) -> None:
    """Write the names of the choices between the ends, next to their axis."""
    for value, height in zip(variable.choices[1:-1], heights[1:-1], strict=True):
        axis.text(at + 0.03, height, _word(variable, value), ha="left", va="center", fontsize=7)


def _word(variable: Variable, value: float) -> str:
    return plot_style.plain(variable.word(value) or f"{value:g}")


def _ends(values: FloatArray, problem: Problem, at: int) -> tuple[float, float]:
    """Limits of an axis: of the variable, or of the values of an objective."""
    variables = problem.space.variables
    if at < len(variables):
        return variables[at].low, variables[at].high
    return float(values.min()), float(values.max())


def _height(values: FloatArray, low: float, high: float, log: bool) -> FloatArray:
    if high == low:
        return np.full(len(values), 0.5)
    if log:
        return np.log(values / low) / math.log(high / low)
    return (values - low) / (high - low)


def _unit(values: FloatArray, dimension: str) -> tuple[float, str]:
    """Factor and unit of an axis."""
    base = DIMENSIONS.get(dimension, "")
    return shared_unit([float(value) for value in values if math.isfinite(value)], base) if base else (1.0, "")


def _in(unit: str) -> str:
    return f" ({unit})" if unit else ""

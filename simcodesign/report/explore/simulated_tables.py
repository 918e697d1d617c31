"""The optimum by simulation as tables, sentences and JSON, and the list of metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.to_json import attributes_of
from simcodesign.core.units import DIMENSIONS
from simcodesign.report.common.numbers import four_digits
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.explore.confirmation_tables import cause_words, rung_table
from simcodesign.report.explore.tables import goal_words
from simcodesign.report.explore.to_json import confirmed_dict, overtaking_dict, reached_dicts
from simcodesign.report.explore.words import point_words, reached, shown, valued
from simcodesign.studies.explore.evaluator import EvaluatedPoint
from simcodesign.studies.explore.metric_meanings import meaning_of
from simcodesign.studies.explore.problem import Model, Problem
from simcodesign.studies.explore.simulated.search import SimulatedOptimum
from simcodesign.studies.explore.solvers.reached import sides


def simulated_tables(optimum: SimulatedOptimum) -> Iterator[RenderableType]:
    """Both optima by both readings, how they were found, and why they differ."""
    problem = optimum.solution.problem
    yield paragraph(f"{goal_words(problem)}, by simulation")
    yield paragraph(_outcome(optimum))
    yield _both_table(problem, optimum)
    if optimum.reached:
        yield _reached_table(problem, optimum)
    if optimum.failed:
        yield paragraph(f"{optimum.failed} points could not be simulated, first: {optimum.why_not}")
    if optimum.overtaking is not None:
        yield rung_table(problem, optimum.overtaking)
        yield paragraph(cause_words(problem, optimum.overtaking))


def _outcome(optimum: SimulatedOptimum) -> str:
    count = f"{optimum.simulations} simulations"
    searched = f"{count}; the forecast was evaluated at {optimum.solution.evaluations:,} points; seed {optimum.seed}"
    if not optimum.feasible:
        where = point_words(optimum.solution.problem, optimum.best.forecast)
        if optimum.exact:
            return f"Infeasible: no point meets all constraints when simulated (every point was, {count})"
        return (
            f"Infeasible as far as was simulated: no point meets all constraints ({searched}). The nearest is {where}"
        )
    if optimum.exact:
        return f"Solved exactly: every point of the space was simulated ({count})"
    holds = "It is the optimum of the forecast" if optimum.forecast_holds else "The optimum of the forecast is not it"
    return f"Best found by expected improvement over the forecast ({searched}). {holds}"


def _both_table(problem: Problem, optimum: SimulatedOptimum) -> Table:
    """Variables, objectives and constraints of both optima."""
    table = new_table("Optima", "", "of the forecast", "simulated")
    pair = (optimum.of_forecast, optimum.best)
    for name in problem.space.names:
        table.add_row(name, *(valued(problem, name, one.forecast.values[name]) for one in pair))
    table.add_section()
    for at, objective in enumerate(problem.objectives):
        for reading in ("forecast", "simulated"):
            points = [getattr(one, reading) for one in pair]
            cells = ["-" if one is None else reached(objective, four_digits(one.objectives[at])) for one in points]
            table.add_row(f"{objective.text}, {reading}", *cells)
    for at, constraint in enumerate(problem.constraints):
        for reading in ("forecast", "simulated"):
            cells = [_side(problem, at, getattr(one, reading)) for one in pair]
            table.add_row(f"{constraint.text}, {reading}", *cells)
    return table


def _reached_table(problem: Problem, optimum: SimulatedOptimum) -> Table:
    """How near the simulations came to each constraint: what its bound would have to be."""
    heads = ("constraint", "best simulated", "at", "if all others hold", "there at")
    table = new_table("Reached by the simulations", *heads)
    table.columns[2].justify = table.columns[4].justify = "left"
    for one in optimum.reached:
        cells: list[str] = []
        for point, value in ((one.anywhere, one.value), (one.with_others, one.value_with_others)):
            if point is None or value is None:
                cells += ["nowhere", "-"]
            else:
                cells += [shown(four_digits(value), one.constraint.dimension), point_words(problem, point)]
        table.add_row(one.constraint.text, *cells)
    return table


def _side(problem: Problem, at: int, point: EvaluatedPoint | None) -> str:
    """Return the left side of a constraint, marked where the constraint is violated."""
    if point is None or not point.gaps:
        return "-"
    constraint = problem.constraints[at]
    value = shown(four_digits(sides(problem, constraint, point)[0]), constraint.dimension)
    alone = problem.with_constraints([constraint])
    return value + (" x" if alone.violation(np.array([[point.gaps[at]]]))[0] > 0 else "")


def simulated_dict(optimum: SimulatedOptimum) -> dict[str, Any]:
    """Return the optimum as JSON, not rounded."""
    problem = optimum.solution.problem
    shown_fields = {"reading": "simulation"} | attributes_of(
        optimum,
        "simulations",
        "seed",
        "exact",
        "feasible",
        "forecast_holds",
        "failed",
        "why_not",
        model="solution.problem.model.name",
        evaluations="solution.evaluations",
        objectives="solution.problem.objectives",
    )
    overtaking = optimum.overtaking
    return shown_fields | {
        "point": confirmed_dict(problem, optimum.best),
        "of_forecast": confirmed_dict(problem, optimum.of_forecast),
        "reached": reached_dicts(problem, optimum.reached),
        "overtaking": None if overtaking is None else overtaking_dict(overtaking),
    }


def metrics_table(model: Model) -> Table:
    """Every metric with the unit in which bounds without one are read, and what it is."""
    table = new_table(f"Metrics of {model.name}", "metric", "unit", "what it is")
    table.columns[1].justify = table.columns[2].justify = "left"
    for name, dimension in model.dimensions.items():
        table.add_row(name, DIMENSIONS.get(dimension, "") or "-", meaning_of(name) or "-")
    return table

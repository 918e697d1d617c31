"""Values, points and objectives of a design space as text."""

from __future__ import annotations

import math
from collections.abc import Mapping

from simcodesign.core.units import format_quantity, rounded_toward
from simcodesign.studies.explore.bound_sensitivity import SEARCH_ERROR
from simcodesign.studies.explore.evaluator import EvaluatedPoint
from simcodesign.studies.explore.printed_point import printed_point
from simcodesign.studies.explore.problem import Constraint, Objective, Problem
from simcodesign.studies.explore.study import unit_of


def digits_of(dimension: str) -> int:
    """Return how many significant digits a number of a dimension has in print."""
    return 4 if dimension and dimension != "count" else 6


def shown(value: float, dimension: str, digits: int | None = None) -> str:
    """Return a number in the unit of its dimension; six digits if it has none."""
    if not math.isfinite(value):
        return "-"
    count = digits_of(dimension) if digits is None else digits
    if dimension and dimension != "count":
        return format_quantity(value, dimension, count)
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e7 else f"{value:.{count}g}".replace("e+", "e")


def bound_shown(constraint: Constraint, value: float) -> str:
    """Return the bound of a constraint in print, rounded to the side on which it is looser."""
    digits = digits_of(constraint.dimension)
    up = constraint.relation != ">="
    return shown(rounded_toward(value, digits, up, SEARCH_ERROR), constraint.dimension)


def valued(problem: Problem, name: str, value: float) -> str:
    """Return a value of a variable: its name if it has one, otherwise a number with its unit."""
    return problem.space.word(name, value) or shown(value, unit_of(problem, name))


def in_print(problem: Problem, point: EvaluatedPoint) -> tuple[EvaluatedPoint, dict[str, str]]:
    """Return the point as it is printed, at which all constraints hold, and the texts of its variables."""
    dimensions = {name: unit_of(problem, name) for name in problem.space.names}
    digits = {name: digits_of(dimension) for name, dimension in dimensions.items()}
    rounded = printed_point(problem, point, digits)
    texts: dict[str, str] = {}
    for variable in problem.space.variables:
        name, value = variable.name, rounded.values[variable.name]
        text = problem.space.word(name, value)
        if text is None and variable.whole and not dimensions[name]:
            text = f"{value:.0f}"
        needed = next(count for count in range(digits[name], 18) if float(f"{value:.{count}g}") == value)
        is_free = rounded is not point and not variable.discrete
        texts[name] = text or shown(value, dimensions[name], needed if is_free else None)
    return rounded, texts


def reached(one: Objective, value: float) -> str:
    """Return a value of an objective with its unit."""
    return shown(value, one.dimension) + (f" {one.unit}" if one.unit else "")


def point_words(problem: Problem, point: EvaluatedPoint) -> str:
    """Return the values of the variables on one line."""
    return where_words(problem, point.values)


def where_words(problem: Problem, values: Mapping[str, float]) -> str:
    """Values of variables."""
    return ", ".join(f"{name} = {valued(problem, name, value)}" for name, value in values.items())

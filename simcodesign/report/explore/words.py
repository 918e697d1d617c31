"""Values, points and objectives of a design space as text."""

from __future__ import annotations

import math
from collections.abc import Mapping

from simcodesign.core.units import format_quantity
from simcodesign.studies.explore.evaluator import EvaluatedPoint
from simcodesign.studies.explore.problem import Objective, Problem
from simcodesign.studies.explore.study import unit_of


def shown(value: float, dimension: str) -> str:
    """A number in the unit of its dimension; six digits where it has none."""
    if not math.isfinite(value):
        return "-"
    if dimension and dimension != "count":
        return format_quantity(value, dimension)
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e7 else f"{value:.6g}".replace("e+", "e")


def valued(problem: Problem, name: str, value: float) -> str:
    """A value of a variable: its name where it has one, else a number with its unit."""
    return problem.space.word(name, value) or shown(value, unit_of(problem, name))


def reached(one: Objective, value: float) -> str:
    """A value of an objective with its unit."""
    return shown(value, one.dimension) + (f" {one.unit}" if one.unit else "")


def point_words(problem: Problem, point: EvaluatedPoint) -> str:
    """The values of the variables on one line."""
    return where_words(problem, point.values)


def where_words(problem: Problem, values: Mapping[str, float]) -> str:
    """Values of variables."""
    return ", ".join(f"{name} = {valued(problem, name, value)}" for name, value in values.items())

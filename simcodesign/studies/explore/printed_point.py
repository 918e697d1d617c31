"""The values of an optimum as they are printed: rounded so that the printed point still meets all constraints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.core.units import rounded_toward
from simcodesign.studies.explore.evaluator import EvaluatedPoint, point_of
from simcodesign.studies.explore.problem import Problem

#: Significant digits that tell every float64 apart.
ALL_DIGITS = 17


def printed_point(problem: Problem, point: EvaluatedPoint, digits: Mapping[str, int]) -> EvaluatedPoint:
    """Return the point with the real variables rounded, one after another, to this many significant digits each.

    A value is rounded to the nearest number if the point then still meets all constraints, otherwise down or up,
    otherwise to more digits. A point that does not meet them is returned as it is.
    """
    if not point.feasible:
        return point
    for variable in problem.space.variables:
        value = point.values[variable.name]
        if variable.discrete or value in (variable.low, variable.high):
            continue
        for count in range(digits[variable.name], ALL_DIGITS):
            nearest = float(f"{value:.{count - 1}e}")
            other = rounded_toward(value, count, up=nearest < value)
            candidates = (_at(problem, point, variable.name, one) for one in (nearest, other))
            found = next((one for one in candidates if one is not None), None)
            if found is not None:
                point = found
                break
    return point


def _at(problem: Problem, point: EvaluatedPoint, name: str, value: float) -> EvaluatedPoint | None:
    """Return the point with another value of a variable; None if it is out of range, refused or infeasible."""
    variable = next(one for one in problem.space.variables if one.name == name)
    if not variable.low <= value <= variable.high:
        return None
    values = np.array([[*({**point.values, name: value}).values()]])
    try:
        evaluated = problem.evaluate(values)
    except InputError:
        return None
    moved = point_of(problem, evaluated, 0)
    return moved if evaluated.usable[0] and moved.feasible else None

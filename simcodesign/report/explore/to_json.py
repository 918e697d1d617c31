"""Explorations as JSON: all of it, not rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcodesign.core.to_json import attributes_of, fields_of
from simcodesign.studies.explore.bound_sensitivity import BoundSensitivity
from simcodesign.studies.explore.evaluator import EvaluatedPoint
from simcodesign.studies.explore.pareto import Front
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.simulated.confirmation import Confirmation, FrontConfirmation
from simcodesign.studies.explore.simulated.point_simulator import Confirmed
from simcodesign.studies.explore.simulated.turned_order import Overtaking
from simcodesign.studies.explore.solvers.infeasibility import Infeasibility
from simcodesign.studies.explore.solvers.reached import Reached
from simcodesign.studies.explore.solvers.solve import Solution

#: Fields by which points are compared.
KEY = ("violation", "total")
_SEARCH = ("method", "exact", "seed", "evaluations")


def solution_dict(
    solution: Solution,
    why: Infeasibility | None,
    sensitivities: Sequence[BoundSensitivity],
    confirmed: Confirmation | None,
) -> dict[str, Any]:
    """Return the best point, how it was reached, its sensitivities and its simulation.

    Without one, why there is none.
    """
    problem = solution.problem
    shown = attributes_of(
        solution,
        *_SEARCH,
        "feasible",
        "spent",
        "proof",
        "objective",
        model="problem.model.name",
        refused="refusals",
        objectives="problem.objectives",
    )
    shown |= {
        "point": point_dict(problem, solution.point),
        "sensitivity": sensitivities,
    }
    if solution.headline_s is not None:
        shown["longest_path_s"] = solution.headline_s
    if why is not None:
        shown["infeasible"] = infeasibility_dict(why)
    if confirmed is not None:
        shown["confirmed"] = confirmation_dict(problem, confirmed)
    return shown


def point_dict(problem: Problem, point: EvaluatedPoint) -> dict[str, Any]:
    """One point, its gaps by the texts of the constraints, and the words of numbered values."""
    texts = [one.text for one in problem.constraints]
    words = {name: word for name, value in point.values.items() if (word := problem.space.word(name, value))}
    shown = fields_of(point, "feasible") | {"gaps": dict(zip(texts, point.gaps, strict=False))}
    return shown | ({"words": words} if words else {})


def infeasibility_dict(why: Infeasibility) -> dict[str, Any]:
    """Why there is no solution."""
    return attributes_of(why, "exact", "all_conflicts", "conflicts") | {
        "nearest": point_dict(why.problem, why.nearest),
        "reached": reached_dicts(why.problem, why.reached),
        "relaxations": [
            fields_of(one) | {"point": None if one.point is None else point_dict(why.problem, one.point)}
            for one in why.relaxations
        ],
    }


def reached_dicts(problem: Problem, reached: Sequence[Reached]) -> list[dict[str, Any]]:
    """How near a search came to each constraint."""
    return [
        attributes_of(one, "value", "value_with_others", constraint="constraint.text")
        | {
            name: None if point is None else point_dict(problem, point)
            for name, point in (("anywhere", one.anywhere), ("with_others", one.with_others))
        }
        for one in reached
    ]


def front_dict(front: Front, why: Infeasibility | None, confirmed: FrontConfirmation | None = None) -> dict[str, Any]:
    """Return a front, and the simulations of its points."""
    shown = attributes_of(front, *_SEARCH, model="problem.model.name", objectives="problem.objectives")
    shown["front"] = [point_dict(front.problem, point) for point in front.points]
    if why is not None:
        shown["infeasible"] = infeasibility_dict(why)
    if confirmed is not None:
        pairs = zip(confirmed.points, confirmed.beaten, strict=True)
        points = [confirmed_dict(front.problem, one) | {"beaten_by": by} for one, by in pairs]
        shown["confirmed"] = {"front_stays": confirmed.front_stays, "points": points}
    return shown


def confirmed_dict(problem: Problem, one: Confirmed) -> dict[str, Any]:
    """Return a point by both readings."""
    return attributes_of(one, "origin", "neighbour", "why_not") | {
        "forecast": point_dict(problem, one.forecast),
        "simulated": None if one.simulated is None else point_dict(problem, one.simulated),
    }


def confirmation_dict(problem: Problem, confirmed: Confirmation) -> dict[str, Any]:
    """Return the simulations of the best points."""
    return attributes_of(confirmed, "best_stays", "pairs", "changed") | {
        "points": [confirmed_dict(problem, one) for one in confirmed.points],
        "overtakings": [overtaking_dict(one) for one in confirmed.overtakings],
    }


def overtaking_dict(one: Overtaking) -> dict[str, Any]:
    """Why one point is better than another when simulated."""
    return {
        **attributes_of(one, "effect", "cause", before="before.forecast.values", after="after.forecast.values"),
        "rungs": [
            {"effect": name, "before": dict(zip(KEY, a, strict=True)), "after": dict(zip(KEY, b, strict=True))}
            for name, a, b in one.rungs
        ],
    }

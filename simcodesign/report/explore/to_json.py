"""Explorations as JSON: all of it, not rounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcodesign.studies.explore.bound_sensitivity import BoundSensitivity
from simcodesign.studies.explore.confirmation import Confirmation, Confirmed, FrontConfirmation
from simcodesign.studies.explore.evaluator import Point
from simcodesign.studies.explore.pareto import Front
from simcodesign.studies.explore.problem import Objective, Problem
from simcodesign.studies.explore.solvers.infeasibility import Infeasibility
from simcodesign.studies.explore.solvers.solve import Solution

#: What points are compared by.
KEY = ("violation", "total")


def solution_dict(
    planner: str,
    solution: Solution,
    why: Infeasibility | None,
    sensitivities: Sequence[BoundSensitivity],
    confirmed: Confirmation | None,
) -> Mapping[str, object]:
    """All of it, not rounded."""
    found: dict[str, object] = {
        "planner": planner,
        "model": solution.problem.model.name,
        "feasible": solution.feasible,
        "method": solution.method,
        "exact": solution.exact,
        "seed": solution.seed,
        "evaluations": solution.evaluations,
        "spent": solution.spent,
        "proof": solution.proof,
        "objectives": [_objective_dict(one) for one in solution.problem.objectives],
        "objective": solution.objective,
        "point": point_dict(solution.problem, solution.point),
        "refused": [vars(one) for one in solution.refusals],
        "sensitivity": [
            {
                "constraint": one.constraint.text,
                "active": one.active,
                "looser": one.looser,
                "tighter": one.tighter,
                "share": one.share,
                "change_per_share": one.per_share,
            }
            for one in sensitivities
        ],
    }
    if why is not None:
        found["infeasible"] = infeasibility_dict(why)
    if confirmed is not None:
        found["confirmed"] = confirmation_dict(solution.problem, confirmed)
    return found


def _objective_dict(one: Objective) -> dict[str, object]:
    return {"text": one.text, "maximise": one.maximise, "weight": one.weight}


def point_dict(problem: Problem, point: Point) -> dict[str, object]:
    """One point."""
    texts = [one.text for one in problem.constraints]
    return {
        "values": point.values,
        "metrics": point.metrics,
        "objectives": list(point.objectives),
        "gaps": dict(zip(texts, point.gaps, strict=False)),
        "violation": point.violation,
        "feasible": point.feasible,
    }


def infeasibility_dict(why: Infeasibility) -> dict[str, object]:
    """Why there is no solution."""
    return {
        "exact": why.exact,
        "nearest": point_dict(why.problem, why.nearest),
        "relaxations": [
            {
                "constraint": one.constraint.text,
                "share": one.share,
                "bound": one.bound,
                "point": None if one.point is None else point_dict(why.problem, one.point),
            }
            for one in why.relaxations
        ],
        "conflicts": [[one.text for one in conflict] for conflict in why.conflicts],
        "all_conflicts": why.all_conflicts,
    }


def front_dict(
    planner: str, front: Front, why: Infeasibility | None, confirmed: FrontConfirmation | None = None
) -> Mapping[str, object]:
    """A front."""
    found: dict[str, object] = {
        "planner": planner,
        "model": front.problem.model.name,
        "method": front.method,
        "exact": front.exact,
        "seed": front.seed,
        "evaluations": front.evaluations,
        "objectives": [_objective_dict(one) for one in front.problem.objectives],
        "front": [point_dict(front.problem, point) for point in front.points],
    }
    if why is not None:
        found["infeasible"] = infeasibility_dict(why)
    if confirmed is not None:
        found["confirmed"] = {
            "front_stays": confirmed.front_stays,
            "points": [
                {**_confirmed_dict(front.problem, one), "beaten_by": by}
                for one, by in zip(confirmed.points, confirmed.beaten, strict=True)
            ],
        }
    return found


def _confirmed_dict(problem: Problem, one: Confirmed) -> dict[str, object]:
    """A point by both readings."""
    return {
        "origin": one.origin,
        "neighbour": one.neighbour,
        "forecast": point_dict(problem, one.forecast),
        "simulated": None if one.simulated is None else point_dict(problem, one.simulated),
        "why_not": one.why_not,
    }


def confirmation_dict(problem: Problem, confirmed: Confirmation) -> dict[str, object]:
    """What simulation says of the best points."""
    return {
        "best_stays": confirmed.best_stays,
        "pairs": confirmed.pairs,
        "changed": confirmed.changed,
        "points": [_confirmed_dict(problem, one) for one in confirmed.points],
        "overtakings": [
            {
                "before": one.before.forecast.values,
                "after": one.after.forecast.values,
                "effect": one.effect,
                "rungs": [
                    {"effect": name, "before": dict(zip(KEY, a, strict=True)), "after": dict(zip(KEY, b, strict=True))}
                    for name, a, b in one.rungs
                ],
            }
            for one in confirmed.overtakings
        ],
    }

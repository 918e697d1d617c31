"""Why simulation turns the order of two points: which effect, and whether by the objective or by a constraint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from simcodesign.core.to_json import fields_of
from simcodesign.studies.explore.evaluator import EvaluatedPoint
from simcodesign.studies.explore.problem import Constraint, Objective, Problem
from simcodesign.studies.explore.simulated.point_simulator import Confirmed, PointSimulator
from simcodesign.studies.explore.solvers.reached import sides


@dataclass(frozen=True)
class Cause:
    """Cause of the turned order.

    An objective, a constraint that only the overtaken point violates or violates more, or one that the other point
    violated before.

    ``values``: of the overtaken point and of the other, with the effect: of the objective (for several the weighted
    sum), or of the constraint's left side; ``bound``: its right side at the overtaken point. ``objective_turned``:
    whether the objective alone would order the two points likewise; ``objectives``: its values. ``released``: the
    constraint kept the other point out until this effect; ``values`` are then of that point, without and with the
    effect.
    """

    statement: Objective | Constraint | None
    values: tuple[float, float]
    bound: float | None
    objective_turned: bool
    objectives: tuple[float, float]
    released: bool = False

    @property
    def constraint(self) -> Constraint | None:
        """The constraint, None where the objective turned the order."""
        return self.statement if isinstance(self.statement, Constraint) else None

    @property
    def kind(self) -> str:
        """``constraint``, or the dimension of the objective (``time``, ``energy``, ...; ``objective`` without one)."""
        if isinstance(self.statement, Constraint):
            return "constraint"
        return (self.statement.dimension if self.statement is not None else "") or "objective"

    def json_fields(self) -> dict[str, Any]:
        """With its kind, and the statement in words."""
        text = "weighted sum" if self.statement is None else self.statement.text
        return {"kind": self.kind, "statement": text} | fields_of(self, without=("statement",))


@dataclass(frozen=True)
class Overtaking:
    """A point that is better than the forecast's best one when simulated.

    ``rungs``: the forecast, then the simulation with one effect after another, each with violation and total of both;
    ``effect``: the last one that reversed the order; ``cause``: what it was that this effect turned.
    """

    before: Confirmed
    after: Confirmed
    rungs: tuple[tuple[str, tuple[float, float], tuple[float, float]], ...]
    effect: str
    cause: Cause


def explain_order(
    simulator: PointSimulator, first: Confirmed, before: list[tuple[str, EvaluatedPoint]], other: Confirmed
) -> Overtaking:
    """Why ``other`` is better than ``first`` when simulated; ``before``: the rungs of the first."""
    after = simulator.rungs(other)
    keys = [
        ((a.violation, simulator.total(a)), (b.violation, simulator.total(b)))
        for (_, a), (_, b) in zip(before, after, strict=True)
    ]
    turned = max(at for at in range(len(keys)) if at == 0 or (keys[at - 1][1] >= keys[at - 1][0]))
    rungs = tuple((name, a, b) for (name, _), (a, b) in zip(before, keys, strict=True))
    cause = cause_of(simulator, before[turned][1], after[turned][1])
    if turned and cause.constraint is None:
        cause = _released(simulator, cause, before[turned - 1][1], after[turned - 1][1], after[turned][1])
    return Overtaking(first, other, rungs, rungs[turned][0], cause)


def cause_of(simulator: PointSimulator, overtaken: EvaluatedPoint, other: EvaluatedPoint) -> Cause:
    """Return what orders two simulated points, of which the second is the better one."""
    problem = simulator.problem
    totals = simulator.total(overtaken), simulator.total(other)
    objective = problem.objectives[0] if len(problem.objectives) == 1 else None
    sign = 1.0 if objective is None else objective.sign
    objectives = sign * totals[0], sign * totals[1]
    turned = totals[1] < totals[0]
    if overtaken.violation == other.violation:
        return Cause(objective, objectives, None, turned, objectives)
    constraint = _most_exceeded(problem, overtaken, other)
    both = [sides(problem, constraint, point) for point in (overtaken, other)]
    return Cause(constraint, (both[0][0], both[1][0]), both[0][1], turned, objectives)


def _released(
    simulator: PointSimulator, cause: Cause, overtaken: EvaluatedPoint, other: EvaluatedPoint, other_now: EvaluatedPoint
) -> Cause:
    """Return the cause, of which the objective decides now.

    That, unless a constraint kept the other point out just before.
    """
    if other.violation <= overtaken.violation:
        return cause
    problem = simulator.problem
    constraint = _most_exceeded(problem, other, overtaken)
    values = sides(problem, constraint, other)[0], sides(problem, constraint, other_now)[0]
    bound = sides(problem, constraint, other_now)[1]
    return replace(cause, statement=constraint, values=values, bound=bound, released=True)


def _most_exceeded(problem: Problem, point: EvaluatedPoint, other: EvaluatedPoint) -> Constraint:
    """Return the constraint by which the first point violates more than the other, most of all."""
    excesses = [
        (max(_excess(constraint, a), 0.0) - max(_excess(constraint, b), 0.0), at)
        for at, (constraint, a, b) in enumerate(zip(problem.constraints, point.gaps, other.gaps, strict=True))
    ]
    return problem.constraints[max(excesses)[1]]


def _excess(constraint: Constraint, gap: float) -> float:
    return abs(gap - constraint.slack) - constraint.tolerance if constraint.relation == "==" else gap - constraint.slack

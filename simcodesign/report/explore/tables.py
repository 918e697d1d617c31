"""Explorations as tables, sentences and JSON: optima, why there is none, fronts, and their simulations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from rich.console import RenderableType
from rich.table import Table

from simcodesign.analytic.machine_metrics import COSTS
from simcodesign.core.units import told_apart
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.explore.confirmation_tables import confirmation_tables, front_confirmation_tables
from simcodesign.report.explore.words import bound_shown, in_print, point_words, reached, shown, valued, where_words
from simcodesign.studies.explore.bound_sensitivity import BoundSensitivity, is_active
from simcodesign.studies.explore.evaluator import EvaluatedPoint, Refusal
from simcodesign.studies.explore.pareto import Front
from simcodesign.studies.explore.problem import Constraint, Objective, Problem, plain_name
from simcodesign.studies.explore.simulated.confirmation import Confirmation, FrontConfirmation
from simcodesign.studies.explore.solvers.infeasibility import Infeasibility, Relaxation
from simcodesign.studies.explore.solvers.solve import Solution

METHODS = {
    "enumeration": "every point of the space was looked at",
    "bisection": "bisection, since objective and constraints are monotone at all sampled points",
    "evolution": "differential evolution, then steps of whole variables and quadratic programming of real ones",
    "isres": "ISRES with whole variables relaxed, then the same steps",
}
#: Maximum number of reasons for refused points.
MAX_REFUSALS = 5
#: A violation of less than this is what a search leaves.
SEARCHED = 1e-6


def solution_tables(
    solution: Solution,
    why: Infeasibility | None,
    sensitivities: Sequence[BoundSensitivity],
    confirmed: Confirmation | None,
) -> Iterator[RenderableType]:
    """Yield the optimum with its constraints, or why there is none; then the simulation."""
    yield paragraph(f"{goal_words(solution.problem)}")
    yield paragraph(_outcome(solution))
    yield from (paragraph(text) for text in _sum_words(solution))
    if solution.feasible:
        printed, texts = in_print(solution.problem, solution.point)
        yield variable_table(solution, texts)
        yield metric_table(solution, printed, texts)
        if solution.problem.constraints:
            yield constraint_table(solution, sensitivities)
    if why is not None:
        yield from infeasibility_tables(why)
    yield from (paragraph(text) for text in refusal_words(solution.problem, solution.refusals, solution.evaluations))
    if confirmed is not None:
        yield from confirmation_tables(solution, confirmed)


def goal_words(problem: Problem) -> str:
    """Model and objectives in words."""
    parts = [f"{'maximize' if one.maximize else 'minimize'} {one.text}{_weight(one)}" for one in problem.objectives]
    return f"{problem.model.name}, {' and '.join(parts) or 'find a feasible point'}"


def _weight(one: Objective) -> str:
    return "" if one.weight == 1 else f" (weight {one.weight:g})"


def _searched(problem: Problem) -> str:
    """Return the time of a search whose ranks differ, in words."""
    return "the sum of closed forms" + (" and the bubble" if problem.has_bubbles else "")


def _sum_words(solution: Solution) -> Iterator[str]:
    """Yield the part that the sum of closed forms leaves out if ranks differ, and the forecast of the best point."""
    headline_s = solution.headline_s
    if headline_s is not None:
        yield (
            f"The ranks differ, and the search takes {_searched(solution.problem)}, without other waits. "
            f"The forecast of this point, its longest path unless that is too long, is {shown(headline_s, 'time')}"
        )


def _outcome(solution: Solution) -> str:
    words = METHODS[solution.method]
    count = f"{solution.evaluations:,} evaluations"
    if solution.spent:
        count += ", the limit of --max-evaluations"
    if not solution.feasible and solution.exact:
        return f"Infeasible: no point meets all constraints (proven: {solution.proof or words}; {count})"
    if not solution.feasible:
        searched = f"{words}; over all of {_ranges(solution.problem)}, seed {solution.seed}"
        return (
            f"Infeasible as far as was searched: none of {count} meets all constraints ({searched}). That is no proof: "
            "a feasible region smaller than the gaps between these points may have been missed"
        )
    if solution.problem.takes_sums and solution.method == "enumeration":
        return f"Best by {_searched(solution.problem)}: {words} ({solution.method}, {count})"
    if solution.exact:
        return f"Solved exactly: {solution.proof or words} ({solution.method}, {count})"
    if solution.method == "bisection":
        return f"Best found by {words} ({count}, no counterexample among them; that is no proof)"
    return f"Best found by {words} ({solution.method}, {count}, seed {solution.seed})"


def _ranges(problem: Problem) -> str:
    """Return the variables and their limits."""
    return ", ".join(
        f"{one.name} = {valued(problem, one.name, one.low)} to {valued(problem, one.name, one.high)}"
        for one in problem.space.variables
    )


def variable_table(solution: Solution, texts: Mapping[str, str]) -> Table:
    """Return the variables at the best point, as these texts, and their limits."""
    table = new_table("Best point", "variable", "value", "from", "to", "")
    table.columns[4].justify = "left"
    for variable in solution.problem.space.variables:
        value, text = solution.point.values[variable.name], partial(valued, solution.problem, variable.name)
        ends = {variable.low: "at its lower limit", variable.high: "at its upper limit"}
        where = "" if variable.words or variable.low == variable.high else ends.get(value, "")
        table.add_row(variable.name, texts[variable.name], text(variable.low), text(variable.high), where)
    return table


def metric_table(solution: Solution, point: EvaluatedPoint, texts: Mapping[str, str]) -> Table:
    """Return objectives and every metric that is a quantity or a cost and not 0, at the printed point.

    Its variables have these texts.
    """
    table = new_table("Metrics", "metric", "value")
    problem, apart = solution.problem, _sides_apart(solution.problem, point)
    for objective, value in zip(problem.objectives, point.objectives, strict=True):
        name, text = objective.text, apart.get(objective.text) or reached(objective, value)
        table.add_row(f"{name} ({'max' if objective.maximize else 'min'})", texts.get(name, text))
    if len(problem.objectives) > 1:
        table.add_row("weighted sum", f"{solution.objective:.6g}")
    table.add_section()
    objectives = {objective.text for objective in problem.objectives}
    for name, dimension in problem.model.dimensions.items():
        value = point.metrics.get(name, math.nan)
        if (
            name not in objectives
            and math.isfinite(value)
            and value
            and (dimension or name in COSTS or len(problem.model.dimensions) < 15)
        ):
            table.add_row(name, apart.get(name) or shown(value, dimension))
    return table


def _sides_apart(problem: Problem, point: EvaluatedPoint) -> dict[str, str]:
    """Metrics that a constraint compares, with digits until they differ."""
    texts: dict[str, str] = {}
    dimensions = problem.model.dimensions
    for constraint in problem.constraints:
        names = plain_name(constraint.left.text), plain_name(constraint.right.text)
        known = [name for name in dimensions if plain_name(name) in names and dimensions[name]]
        if len(known) == 2 and len({dimensions[name] for name in known}) == 1:
            pair = told_apart(point.metrics[known[0]], point.metrics[known[1]], dimensions[known[0]])
            texts |= dict(zip(known, pair, strict=True))
    return texts


def constraint_table(solution: Solution, sensitivities: Sequence[BoundSensitivity]) -> Table:
    """Each constraint: its slack, and how the optimum changes when its bound is loosened or tightened by 1 %."""
    table = new_table("Constraints", "constraint", "slack", "active", "1 % looser", "1 % tighter")
    known = {one.constraint.text: one for one in sensitivities}
    for constraint, gap in zip(solution.problem.constraints, solution.point.gaps, strict=True):
        sensitivity = known.get(constraint.text)
        changes = [_change(sensitivity, side) for side in ("looser", "tighter")] if sensitivity else ["-", "-"]
        slack = "-" if constraint.relation == "==" else f"{max(-gap, 0.0) + 0.0:.2%}"
        table.add_row(constraint.text, slack, "yes" if is_active(constraint, gap) else "no", *changes)
    return table


def _change(sensitivity: BoundSensitivity, side: str) -> str:
    """Change of the optimum, as a fraction of it."""
    value = getattr(sensitivity, side)
    if not math.isfinite(value):
        return "infeasible"
    change = value - sensitivity.objective
    if abs(change) <= 1e-9 * abs(sensitivity.objective):
        return "0"
    return f"{change / abs(sensitivity.objective):+z.3%}" if sensitivity.objective else f"{change:+.4g}"


def refusal_words(problem: Problem, refusals: Sequence[Refusal], evaluations: int) -> Iterator[str]:
    """Where the model had no answer, for the most frequent reasons."""
    often = sorted(refusals, key=lambda one: -one.count)
    for one in often[:MAX_REFUSALS]:
        where = where_words(problem, one.values)
        yield (
            f"Not feasible because the model refuses it: {one.count:,} of {evaluations:,} points, first at {where}: "
            f"{one.why}"
        )
    if rest := often[MAX_REFUSALS:]:
        count = sum(one.count for one in rest)
        yield f"Refused for {len(rest):,} other reasons: {count:,} of {evaluations:,} points; --json has them all"


def infeasibility_tables(why: Infeasibility) -> Iterator[RenderableType]:
    """Relaxations, conflicts, and the point that comes nearest."""
    problem = why.problem
    heads = ("constraint", "gives way by", "bound then", "at", "best without the others")
    table = new_table("Relaxation of one constraint alone", *heads)
    table.columns[3].justify = "left"
    for one, best in zip(why.relaxations, why.reached, strict=True):
        value = "-" if best.value is None else bound_shown(best.constraint, best.value)
        table.add_row(one.constraint.text, *_relaxation(problem, one), value)
    yield table
    yield paragraph(_conflict_words(why))
    nearest = new_table("Least total violation", "constraint", "violated by")
    excess = _violations(problem, why.nearest)
    for constraint, share in zip(problem.constraints, excess, strict=True):
        nearest.add_row(constraint.text, f"{share:.2%}" if share > SEARCHED else "holds")
    yield nearest
    yield paragraph(f"In all {why.nearest.violation:.2%}, at {point_words(problem, why.nearest)}")


def _relaxation(problem: Problem, one: Relaxation) -> tuple[str, str, str]:
    if one.fraction is None or one.point is None:
        return "does not help", "-", "-"
    if one.fraction <= 0:
        return "0", "-", point_words(problem, one.point)
    bound = "-" if one.bound is None else bound_shown(one.constraint, one.bound)
    return f"{one.fraction:.3%}", bound, point_words(problem, one.point)


def _violations(problem: Problem, point: EvaluatedPoint) -> list[float]:
    pairs = zip(problem.constraints, point.gaps, strict=True)
    return [max(_excess(constraint, gap), 0.0) for constraint, gap in pairs]


def _excess(constraint: Constraint, gap: float) -> float:
    return abs(gap - constraint.slack) - constraint.tolerance if constraint.relation == "==" else gap - constraint.slack


def _conflict_words(why: Infeasibility) -> str:
    if not why.conflicts:
        return "No conflicting set was found: a longer search may find a feasible point"
    sets = "; ".join(" with ".join(repr(one.text) for one in conflict) for conflict in why.conflicts)
    kind = "Conflicts (minimal sets, all of them" if why.all_conflicts else "A conflict (a minimal set, of maybe more"
    alone = any(len(conflict) == 1 for conflict in why.conflicts)
    note = ". A constraint listed alone conflicts with the limits of the variables" if alone else ""
    return f"{kind}{'' if why.exact else ', as far as searches tell'}): {sets}{note}"


# Fronts.


def front_tables(
    front: Front, why: Infeasibility | None, confirmed: FrontConfirmation | None = None
) -> Iterator[RenderableType]:
    """Yield the points of a front: objectives first, then variables; then the simulation of some."""
    yield paragraph(f"{goal_words(front.problem)}, Pareto front")
    if why is not None:
        yield paragraph(_outcome(front.solution))
        yield from infeasibility_tables(why)
        return
    names = front.problem.space.names
    table = new_table(
        "Points of which none is better in all objectives", "", *(one.text for one in front.problem.objectives), *names
    )
    for place, point in enumerate(front.points, start=1):
        printed, texts = in_print(front.problem, point)
        pairs = zip(front.problem.objectives, printed.objectives, strict=True)
        objectives = [texts.get(one.text) or reached(one, value) for one, value in pairs]
        table.add_row(str(place), *objectives, *(texts[name] for name in names))
    yield table
    sure = "exact: " if front.exact else ""
    yield paragraph(
        f"{len(front.points)} points ({sure}{front.method}, {front.evaluations:,} evaluations, seed {front.seed})"
    )
    yield from (paragraph(text) for text in refusal_words(front.problem, front.evaluator.refusals(), front.evaluations))
    if confirmed is not None:
        yield from front_confirmation_tables(front.problem, confirmed)

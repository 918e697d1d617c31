"""Confirmations by simulation as tables and sentences: both readings of points, and why their order turns."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from simcodesign.comparison.effects import effect_words
from simcodesign.report.common.numbers import four_digits
from simcodesign.report.common.tables import new_table, paragraph
from simcodesign.report.explore.words import point_words, reached, shown, valued
from simcodesign.studies.explore.problem import Problem
from simcodesign.studies.explore.simulated.confirmation import Confirmation, FrontConfirmation
from simcodesign.studies.explore.simulated.point_simulator import Confirmed
from simcodesign.studies.explore.simulated.turned_order import Overtaking
from simcodesign.studies.explore.solvers.solve import Solution

#: Confirmed points that are listed.
MOST_LISTED = 24


def confirmation_tables(solution: Solution, confirmed: Confirmation) -> Iterator[RenderableType]:
    """Both readings of the best points and their neighbours, and why their order changes."""
    yield confirmed_table(solution, confirmed)
    if len(confirmed.points) > MOST_LISTED:
        yield paragraph(f"{len(confirmed.points) - MOST_LISTED} more points are in --json")
    failed = [one for one in confirmed.points if one.simulated is None]
    if failed:
        where = point_words(solution.problem, failed[0].forecast)
        yield paragraph(f"{len(failed)} points could not be simulated, first {where}: {failed[0].why_not}")
    yield paragraph(_verdict(confirmed))
    for one in confirmed.overtakings[:1]:
        yield rung_table(solution.problem, one)
        yield paragraph(cause_words(solution.problem, one))
    for one in confirmed.overtakings[1:]:
        where = point_words(solution.problem, one.after.forecast)
        yield paragraph(f"It is overtaken also by {where}. {cause_words(solution.problem, one)}")


def front_confirmation_tables(problem: Problem, confirmed: FrontConfirmation) -> Iterator[RenderableType]:
    """Objectives of points of a front by both readings, and which are beaten when simulated."""
    heads = [f"{one.text}, {reading}" for one in problem.objectives for reading in ("forecast", "simulated")]
    table = new_table("Points of the front, confirmed by simulation", "", *heads, "beaten by")
    for place, (one, by) in enumerate(zip(confirmed.points, confirmed.beaten, strict=True), start=1):
        cells = []
        for at, objective in enumerate(problem.objectives):
            simulated = "-" if one.simulated is None else reached(objective, four_digits(one.simulated.objectives[at]))
            cells += [reached(objective, four_digits(one.forecast.objectives[at])), simulated]
        broken = one.simulated is not None and not one.simulated.feasible
        table.add_row(str(place), *cells, ("x " if broken else "") + ("-" if by is None else str(by + 1)))
    yield table
    failed = [one for one in confirmed.points if one.simulated is None]
    if failed:
        where = point_words(problem, failed[0].forecast)
        yield paragraph(f"{len(failed)} points could not be simulated, first {where}: {failed[0].why_not}")
    beaten, violating = _count_beaten(confirmed)
    words = (
        f"{beaten} of {len(confirmed.points)} points are beaten by another one, {violating} violate a constraint (x)"
    )
    yield paragraph(f"{'Confirmed' if confirmed.front_stays else 'Not confirmed'}: when simulated, {words}")


def _count_beaten(confirmed: FrontConfirmation) -> tuple[int, int]:
    """Points that are beaten, and that violate a constraint, when simulated."""
    broken = [one for one in confirmed.points if one.simulated is not None and not one.simulated.feasible]
    return sum(place is not None for place in confirmed.beaten), len(broken)


def confirmed_table(solution: Solution, confirmed: Confirmation) -> Table:
    """One row per point, in the order of the forecast; the ranks of both readings."""
    problem = solution.problem
    names = problem.space.names
    table = new_table("Confirmed by simulation", "point", *names, "forecast", "simulated", "error", "rank", "then")
    simulated = sorted(confirmed.points, key=lambda one: one.simulated_key)
    for rank, one in enumerate(confirmed.points[:MOST_LISTED], start=1):
        origin = f"near {one.origin}" if one.neighbour else f"best {one.origin}"
        values = [valued(problem, name, one.forecast.values[name]) for name in names]
        then = "-" if one.simulated is None else str(1 + simulated.index(one))
        table.add_row(origin, *values, *_both(problem, one), str(rank), then)
    return table


def _both(problem: Problem, one: Confirmed) -> tuple[str, str, str]:
    """Return the total by both readings, marked if it is not feasible, and the error of the forecast."""
    single = problem.objectives[0] if len(problem.objectives) == 1 else None
    dimension, sign = (single.dimension, single.sign) if single else ("", 1.0)
    forecast = _four(sign * one.forecast_total, dimension) + ("" if one.forecast.feasible else " x")
    if one.simulated is None:
        return forecast, "-", "-"
    simulated = _four(sign * one.simulated_total, dimension) + ("" if one.simulated.feasible else " x")
    error = one.forecast_total / one.simulated_total - 1 if one.simulated_total else math.nan
    return forecast, simulated, f"{error:+z.1%}" if math.isfinite(error) else "-"


def _four(value: float, dimension: str) -> str:
    """With four digits."""
    return shown(four_digits(value), dimension)


def _verdict(confirmed: Confirmation) -> str:
    share = f"{confirmed.changed} of {confirmed.pairs} pairs of points change their order; x: a constraint is violated"
    if confirmed.best_stays:
        return f"Confirmed: the best point of the forecast is the best when simulated ({share})"
    if not confirmed.overtakings:
        return f"Not confirmed: another point is better when simulated; --simulate-best 3 explains it ({share})"
    first = confirmed.overtakings[0]
    if first.before.simulated is not None and first.before.simulated.violation:
        share = f"the best point violates its constraints by {first.before.simulated.violation:.2%}; {share}"
    why = effect_words(first.effect)
    return f"Not confirmed: another point is better when simulated, because of {why} ({share})"


def rung_table(problem: Problem, one: Overtaking) -> Table:
    """Both points with one effect after another."""
    single = problem.objectives[0] if len(problem.objectives) == 1 else None
    dimension, sign = (single.dimension, single.sign) if single else ("", 1.0)
    title = f"Best of the forecast: {point_words(problem, one.before.forecast)}\nOvertaken by: "
    table = new_table(title + point_words(problem, one.after.forecast), "with", "best", "other", "")
    table.columns[3].justify = "left"
    last: list[str] = []
    for name, before, after in one.rungs:
        turned = turned_words(one) if name == one.effect else ""
        cells = [_keyed(key, sign, dimension) for key in (before, after)]
        if cells != last or turned:  # else the effect changes neither point
            table.add_row(name, *cells, turned)
        last = cells
    return table


def turned_words(one: Overtaking) -> str:
    """Cause of the turned order, and the effect responsible."""
    constraint = one.cause.constraint
    return f"{constraint.text} turns the order" if constraint is not None else "here the order turns"


def cause_words(problem: Problem, one: Overtaking) -> str:
    """Whether the objective or a constraint turned the order, with the values of both points."""
    cause = one.cause
    objective = problem.objectives[0] if len(problem.objectives) == 1 else None
    name = "the weighted sum" if objective is None else objective.text

    def pair(values: tuple[float, float], dimension: str) -> str:
        texts = [_four(value, dimension) for value in values]
        texts = texts if texts[0] != texts[1] else [f"{value:.10g}" for value in values]  # less than four digits apart
        return " against ".join(texts)

    objectives = pair(cause.objectives, objective.dimension if objective else "")
    start = f"With {effect_words(one.effect)}"
    if cause.constraint is None:
        held = "all constraints hold at both" if not one.rungs[-1][1][0] else "the constraints are violated alike"
        note = f", and {held}" if problem.constraints else ""
        return f"It is {name} that turns the order. {start} it is {objectives}{note}"
    values = pair(cause.values, cause.constraint.dimension)
    if cause.released:
        without, within = values.split(" against ")
        return (
            f"It is the constraint {cause.constraint.text} that turns the order. Without {effect_words(one.effect)} "
            f"the other point violates it ({without}), with it no longer ({within}); {name} is {objectives}"
        )
    kept = "would turn the order as well" if cause.objective_turned else "alone would keep the order"
    left = cause.constraint.left.text
    return (
        f"It is the constraint {cause.constraint.text} that turns the order. {start} {left} is {values}; {name}, "
        f"{objectives}, {kept}"
    )


def _keyed(key: tuple[float, float], sign: float, dimension: str) -> str:
    """Return a total, and by how much the constraints are violated."""
    violation, total = key
    return shown(sign * total, dimension) + (f" x {violation:.2%}" if violation else "")

"""Formulas of the user's compared with both readings, and the ladder of each.

As tables and sentences for a terminal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.comparison.attribution import ROUNDING, LadderStep
from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.formulas.ladder import FormulaComparison
from simcodesign.comparison.formulas.terms import HOPS_BY_LAW
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.report.common.numbers import MOST_SHARE, Seconds, share_percent, signed_percent
from simcodesign.report.common.tables import dashed_list, new_table, paragraph
from simcodesign.report.results.measured_tables import spread_text
from simcodesign.report.results.tables import time_text

#: Terms of what a formula leaves out that are printed, and ladders of formulas that were not given.
MOST_TERMS, MAX_LADDERS = 8, 2
NAN = float("nan")
#: The effect whose step takes up what the forecast has for hops.
HOPS = "hops"


def formula_tables(comparison: Comparison) -> list[RenderableType]:
    """Return the table of all formulas, and of each its ladder and what it leaves out.

    Nothing if there are no formulas and no measured times.
    """
    if not comparison.formulas and comparison.measured is None:
        return []
    parts: list[RenderableType] = [side_by_side(comparison)]
    shown = _with_ladders(comparison)
    for one in comparison.formulas:
        name = _at_beginning(_label(one))
        if one.name in shown:
            parts += [*_ladder(one), dashed_list(_left_out(one), f"{name}, against the derived model:")]
        parts.append(dashed_list(_notes(one), f"{name}:"))
    if others := [one.name for one in comparison.formulas if one.name not in shown and one.rungs]:
        text = f"Ladders of {', '.join(others)}, which are farther off, are not printed; --json has them."
        parts.append(paragraph(text))
    return [part for part in parts if part != ""]


def _with_ladders(comparison: Comparison) -> set[str]:
    """Names of the formulas whose ladders are printed: all given ones, and of the workload's own the nearest."""

    def off(one: FormulaComparison) -> float:
        error = one.error if one.measured_error is None else one.measured_error
        return abs(error) if math.isfinite(error) else math.inf

    own = sorted((one for one in comparison.formulas if not one.given), key=off)
    return {one.name for one in comparison.formulas if one.given} | {one.name for one in own[:MAX_LADDERS]}


def _label(one: FormulaComparison) -> str:
    """Return ``formula NAME``, or the name that it has if it was given none."""
    return one.name if one.name.startswith("formula") else f"formula {one.name}"


def _at_beginning(label: str) -> str:
    """Return the label of a formula where a sentence begins; names keep their capitals."""
    return label[:1].upper() + label[1:]


def side_by_side(comparison: Comparison) -> Table:
    """Seconds of the total, of phases and of components, as far as formulas and measurements give them.

    With the spread of measurements, if any is known.
    """
    rows = [*_rows(comparison)]
    known = {} if comparison.measured is None else dict(comparison.measured.values())
    show = Seconds(value for _, times in rows for value in times)
    names = [one.name for one in comparison.formulas]
    measured = ["measured"] if comparison.measured is not None else []
    spread = ["spread"] if any(one.ends for one in known.values()) else []
    what = "Formulas" if names else "Measured times"
    table = new_table(
        f"{what} and both readings ({show.unit})", "", *names, "forecast", "simulated", *measured, *spread
    )
    for name, times in rows:
        table.add_row(name, *(show(value) for value in times), *(spread_text(known.get(name), show) for _ in spread))
    table.add_section()
    total = rows[0][1]
    simulated_s = total[len(names) + 1]
    errors = [_error(value, simulated_s) for value in total]
    table.add_row("error against simulation", *errors[: len(names) + 1], "", *errors[len(names) + 2 :], style="bold")
    if comparison.measured is not None:
        table.add_row("error against measured", *(_error(value, total[-1]) for value in total[:-1]), "", style="bold")
    return table


def _error(value_s: float, of_s: float) -> str:
    return signed_percent((value_s - of_s) / of_s if of_s else NAN)


def _rows(comparison: Comparison) -> Iterator[tuple[str, list[float]]]:
    """Subject of each row, and the times of formulas, forecast, simulation and measurement; nan if one has nothing."""
    forecast, simulation, measured = comparison.forecast, comparison.simulation, comparison.measured
    last = [] if measured is None else [NAN if measured.total_s is None else measured.total_s]
    readings = [float(forecast.headline_s), float(simulation.headline_s)]
    yield "total", [*(one.total_s for one in comparison.formulas), *readings, *last]
    several = [one.values for one in comparison.formulas]
    for phase in forecast.phases:
        given = [_float(values.phases_s.get(phase)) for values in several]
        last = [] if measured is None else [measured.phases_s.get(phase, NAN)]
        if not np.all(np.isnan([*given, *last])):
            both = [float(sum(map(float, side.phases[phase].values()))) for side in (forecast, simulation)]
            yield f"phase {phase}", [*given, *both, *last]
    for component in COMPONENTS:
        given = [_float(values.components_s.get(component)) for values in several]
        last = [] if measured is None else [measured.components_s.get(component, NAN)]
        if not np.all(np.isnan([*given, *last])):
            both = [float(side.components[component]) for side in (forecast, simulation)]
            yield component, [*given, *both, *last]
    for (phase, component), value in ({} if measured is None else measured.parts).items():
        both = [float(side.phases[phase][component]) for side in (forecast, simulation)]
        yield f"phase {phase}: {component}", [*(NAN for _ in several), *both, float(value)]


def _float(value: object) -> float:
    return NAN if value is None else float(np.asarray(value).item())


def _ladder(one: FormulaComparison) -> list[RenderableType]:
    """From the formula to the simulation, and to what was measured, by the steps that change something.

    Nothing where it gives no total here.
    """
    if not one.rungs:
        return []
    rungs = _hops_in_one_step(one)
    show = Seconds([one.total_s, *(rung.time_s for rung in rungs)])
    title = f"From {_label(one)} to the {_last(one)}, step by step ({show.unit})"
    table = new_table(title, "step", "time", "change", "fraction of the gap")
    table.add_row(_label(one), show(one.total_s), "", "")
    for rung in (rung for rung in rungs if rung.change_s):
        table.add_row(rung.step, show(rung.time_s), show(rung.change_s, "+"), share_percent(rung.fraction))
    return [table]


def _hops_in_one_step(one: FormulaComparison) -> list[LadderStep]:
    """Return the steps, hops in one of them.

    What the forecast has for them by a law of distances, which is left out of the formula, and what their routes make
    of that, would be two lines that cancel.
    """
    hops_s = sum(term.time_s for term in one.left_out.terms if term.text.startswith(HOPS_BY_LAW))
    names = [rung.step for rung in one.rungs]
    if not hops_s or HOPS not in names:
        return [*one.rungs]
    end, gap_s = names.index(HOPS), one.rungs[-1].time_s - one.total_s
    shown = []
    for at, rung in enumerate(one.rungs):
        moved_s = -hops_s if at == 0 else hops_s if at == end else 0.0
        change_s = rung.change_s + moved_s
        if abs(change_s) <= ROUNDING * one.total_s:
            change_s = 0.0
        share = change_s / gap_s if moved_s and math.isfinite(rung.fraction) else rung.fraction
        time_s = rung.time_s - hops_s if at < end else rung.time_s
        shown.append(LadderStep(f"{rung.step}, but hops" if at == 0 else rung.step, time_s, change_s, share))
    return shown


def _last(one: FormulaComparison) -> str:
    return "simulation" if one.measured_s is None else "measured time"


def _left_out(one: FormulaComparison) -> list[str]:
    """Differences of the formula from the derived model, by terms."""
    terms = one.left_out.terms
    lines = [
        f"{'lacks' if term.time_s > 0 else 'also has'} {term.text}: {time_text(abs(term.time_s))}" for term in terms
    ]
    if len(lines) > MOST_TERMS:
        rest_s = sum(term.time_s for term in terms[MOST_TERMS:])
        lines = [*lines[:MOST_TERMS], f"{len(lines) - MOST_TERMS} others: {time_text(rest_s)}"]
    return lines


def _notes(one: FormulaComparison) -> Iterator[str]:
    """Yield notes for a reader of the formula: why it has no value, units taken, meanings of names."""
    if one.values.reason:
        yield one.values.reason
    yield from one.values.notes
    if one.left_out.why and one.rungs and one.rungs[0].change_s:
        yield f"what it leaves out is not split into terms: {one.left_out.why}"


def formula_verdict(comparison: Comparison) -> list[RenderableType]:
    """How far each formula is off, and what contributes most, in one sentence each."""
    return [paragraph(" ".join(_verdict(one) for one in comparison.formulas))] if comparison.formulas else []


def _verdict(one: FormulaComparison) -> str:
    name = _at_beginning(_label(one))
    if not one.rungs:
        return f"{name} has no total here."
    largest = max(_hops_in_one_step(one), key=lambda rung: abs(rung.change_s))
    if largest.change_s == 0:
        return f"{name} ({time_text(one.total_s)}) and the {_last(one)} agree to rounding."
    error = one.error if one.measured_error is None else one.measured_error
    if one.is_nearer:
        off = f"{signed_percent(abs(error), '-')} too {'low' if error < 0 else 'high'}"
        return (
            f"{name} ({time_text(one.total_s)}) is {off} against the measured time; the simulation is farther from "
            f"that ({signed_percent(one.simulation_error)}), so that no step of the ladder explains it."
        )
    cause = f"{largest.step} ({time_text(abs(largest.change_s))} {'more' if largest.change_s > 0 else 'less'})"
    if math.isnan(largest.fraction):
        agree = f"{name} ({time_text(one.total_s)}) and the {_last(one)} agree to rounding"
        return f"{agree}, since its steps cancel; the largest is {cause}."
    if abs(largest.fraction) > MOST_SHARE:
        agree = f"{name} ({time_text(one.total_s)}) is within {signed_percent(abs(error), '-')} of the {_last(one)}"
        return f"{agree}, since its steps cancel; the largest is {cause}."
    return (
        f"{name} ({time_text(one.total_s)}) is {signed_percent(abs(error), '-')} too {'low' if error < 0 else 'high'} "
        f"against the {_last(one)}; the largest step is {cause}."
    )

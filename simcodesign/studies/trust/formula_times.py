"""Times of formulas at every point of a sweep: columns of its table, evaluated over arrays, never simulated again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.analytic.given_formulas.values import (
    FormulaValues,
    GivenFormulas,
    PythonFormula,
    formula_values,
    total_counts,
)
from simcodesign.core.errors import InputError, Place
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.formulas.formula import Formula
from simcodesign.studies.sweep.evaluate import SIMULATED, SweepEvaluator, parameter_columns, structures
from simcodesign.studies.sweep.sweep import Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER, read_s

#: So many points are looked at for one at which formulas can be checked before the sweep begins.
_TRIED = 100
_NO_TOTAL = "it gives no total, nor times of all phases (--phase takes some of them)"


@dataclass(frozen=True)
class FormulaTimes:
    """The total of a formula at each row of a table: seconds, (rows,), nan if there is none.

    ``given``: whether it is not the workload's own. ``notes``: units that bare numbers took, and why there are nans.
    """

    formula: Formula | PythonFormula
    given: bool
    time_s: NDArray[np.float64]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the formula."""
        return self.formula.name

    @property
    def column(self) -> str:
        """How its columns begin: ``formula_NAME``, and ``formula`` or ``formula_1`` for one without a name."""
        return column_of_formula(self.name)


def column_of_formula(name: str) -> str:
    """How the columns of a formula of this name begin."""
    plain = re.sub(r"\W+", "_", name)
    return plain if re.fullmatch(r"formula(_\d+)?", plain) else f"formula_{plain}"


def simulated_s(table: pd.DataFrame) -> NDArray[np.float64] | None:
    """Return the reference of formulas at each row.

    The simulated makespan, or response time of an open stream.

    None if nothing was simulated.
    """
    return read_s(table, SIMULATED)


def signed_errors(time_s: NDArray[np.float64], of_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """(time - simulated) / simulated; 0 where both are 0, nan where only the simulated time is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(of_s != 0, (time_s - of_s) / of_s, np.where(time_s == 0, 0.0, np.nan))
    return np.asarray(errors, dtype=np.float64)


def check_formulas(sweep: Sweep, given: GivenFormulas) -> None:
    """Raise InputError for formulas that cannot be used, before any point is simulated.

    Unknown names, terms that are not seconds, no total, two columns of one name. They are evaluated at the first point
    that there can be.
    """
    columns: dict[str, str] = {}
    for name in (formula.name for formula in given.formulas):
        column = column_of_formula(name)
        if column in columns or f"{column}_s" in sweep.names:
            other = f"formula {columns[column]}" if column in columns else "an axis"
            what = f"formula {name!r} has the column of {other}"
            raise InputError(what, Place("--formula"), value=f"{column}_s", allowed="NAME = EXPRESSION, another name")
        columns[column] = name
    if given.formulas and (point := _first_point(sweep)) is not None:
        for formula in given.formulas:
            values = _values(formula, True, point, sweep)
            if values.total_s is None:
                what = f"formula {formula.name!r} cannot be compared at each point: {values.reason or _NO_TOTAL}"
                raise InputError(what, getattr(formula, "place", None), allowed="a total, or times of all phases")


def formula_times(
    sweep: Sweep, table: pd.DataFrame, given: GivenFormulas, *, own: bool = False
) -> tuple[FormulaTimes, ...]:
    """Return the times of each formula at every row of the table of a sweep.

    Each given formula, then (``own``) the workload's own with other names: one pass over arrays, or one for each
    structure of the machine. Points without results have no times.
    """
    names = {formula.name for formula in given.formulas}
    every: list[tuple[Formula | PythonFormula, bool]] = [(formula, True) for formula in given.formulas]
    if own:
        every += [(one, False) for name, one in sweep.workload.formulas.items() if name not in names]
    rows = np.flatnonzero((table[ERROR] == "").to_numpy())
    times = [np.full(len(table), np.nan) for _ in every]
    notes: list[dict[str, None]] = [{} for _ in every]
    missing: list[Counter[str]] = [Counter() for _ in every]
    numbers = table[NUMBER].to_numpy(dtype=np.int64)[rows]
    evaluator, parameters = SweepEvaluator(sweep), parameter_columns(sweep, numbers)
    for changes, members in structures(sweep, numbers) if every and len(rows) else ():
        here = {**sweep.given, **{name: column[members] for name, column in parameters.items()}}
        point = sweep.experiment.scenario.on(evaluator.machine(changes)).at(here).bind()
        for at, (formula, is_given) in enumerate(every):
            try:
                values = _values(formula, is_given, point, sweep)
            except InputError as error:
                missing[at][str(error)] += len(members)
                continue
            seconds = np.broadcast_to(np.nan if values.total_s is None else values.total_s, members.shape)
            times[at][rows[members]] = seconds
            notes[at] |= dict.fromkeys(values.notes)
            if count := int(np.count_nonzero(np.isnan(seconds))):
                missing[at][values.reason or _NO_TOTAL] += count
    return tuple(
        FormulaTimes(formula, is_given, seconds, (*noted, *map(_missing_text, reasons.items())))
        for (formula, is_given), seconds, noted, reasons in zip(every, times, notes, missing, strict=True)
    )


def _missing_text(reason_and_count: tuple[str, int]) -> str:
    """At how many points a formula has no value, and why."""
    reason, count = reason_and_count
    return f"no value at {count:,} point{'s' if count > 1 else ''}: {reason}"


def with_formula_columns(table: pd.DataFrame, times: Sequence[FormulaTimes]) -> pd.DataFrame:
    """Return the table of a sweep with the columns of each formula.

    ``formula_NAME_s`` (seconds) and, if there are simulations, ``formula_NAME_error`` (signed, of the simulated time),
    before the column of reasons.
    """
    of_s = simulated_s(table)
    columns = {str(name): table[name] for name in table.columns if name != ERROR}
    for one in times:
        columns[f"{one.column}_s"] = pd.Series(one.time_s, index=table.index)
        if of_s is not None:
            columns[f"{one.column}_error"] = pd.Series(signed_errors(one.time_s, of_s), index=table.index)
    return pd.DataFrame({**columns, ERROR: table[ERROR]})


def _values(formula: Formula | PythonFormula, is_given: bool, point: DesignPoint, sweep: Sweep) -> FormulaValues:
    whole = total_counts(formula, is_given, sweep.experiment.scenario.phases is None)
    return formula_values(formula, point, whole_program=whole)


def _first_point(sweep: Sweep) -> DesignPoint | None:
    """Return the first of some points that has a machine and values within limits."""
    evaluator = SweepEvaluator(sweep)
    for point in sweep.points(range(min(sweep.count, _TRIED))):
        try:
            return sweep.experiment.scenario.on(evaluator.machine(point.changes)).at(point.parameters).bind()
        except InputError:
            continue
    return None

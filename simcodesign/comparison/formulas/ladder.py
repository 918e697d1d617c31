"""The ladder of each formula: what it leaves out against the derived model, then the effects, then measured times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcodesign.analytic.given_formulas.values import (
    FormulaValues,
    GivenFormulas,
    formula_values,
    total_counts,
)
from simcodesign.comparison.attribution import LadderStep, is_farther, relative_error, steps_to
from simcodesign.comparison.effects import Rung
from simcodesign.comparison.formulas.terms import LeftOut, left_out
from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.to_json import attributes_of
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.measured.times import MeasuredTimes

#: First rung of a formula's ladder.
LEFT_OUT = "left out of the formula"


@dataclass(frozen=True)
class FormulaComparison:
    """A formula compared with the forecast, the simulation with all chosen effects, and any measured time (s).

    ``rungs`` add up to the gap; there are none if the formula gives no total here. ``given``: whether it was given for
    this comparison, and is not the workload's own.
    """

    values: FormulaValues
    given: bool
    left_out: LeftOut
    rungs: tuple[LadderStep, ...]
    simulated_s: float
    measured_s: float | None

    @property
    def name(self) -> str:
        """Name of the formula."""
        return self.values.name

    @property
    def total_s(self) -> float:
        """Total of the formula; nan if it has none here."""
        return float("nan") if self.values.total_s is None else float(self.values.total_s)

    @property
    def error(self) -> float:
        """Signed error against the simulation, nan where the formula gives no total here."""
        return relative_error(self.total_s, self.simulated_s)

    @property
    def measured_error(self) -> float | None:
        """Signed error against what was measured; None if nothing was."""
        return None if self.measured_s is None else relative_error(self.total_s, self.measured_s)

    @property
    def simulation_error(self) -> float:
        """Signed error of the simulation against what was measured, nan if nothing was."""
        return float("nan") if self.measured_s is None else relative_error(self.simulated_s, self.measured_s)

    @property
    def is_nearer(self) -> bool:
        """Whether the formula is nearer to what was measured than the simulation: no step explains its error."""
        own = self.measured_error
        return own is not None and is_farther(self.simulation_error, own)

    def json_fields(self) -> dict[str, Any]:
        """Its text and values, errors, what it leaves out, and its ladder."""
        shown = {"formula": self.values.formula, "given": self.given}
        shown |= attributes_of(self.values, "total_s", "phases_s", "components_s", "reason", "notes")
        shown |= {"valid": bool(self.values.valid)}
        shown |= attributes_of(self, "error", "left_out", ladder="rungs")
        return shown if self.measured_s is None else shown | {"measured_error": self.measured_error}


def compared_formulas(
    given: GivenFormulas,
    point: DesignPoint,
    forecast: Result,
    rungs: Sequence[Rung],
    measured: MeasuredTimes | None,
    whole_program: bool,
) -> tuple[FormulaComparison, ...]:
    """Every formula given, and those of the workload that have other names, at a single design point.

    ``forecast``: the sum of closed forms. InputError for a given one that cannot be used; one of the workload's then
    says why.
    """
    names = {formula.name for formula in given.formulas}
    own = [formula for name, formula in point.workload.formulas.items() if name not in names]
    compared = []
    for formula in (*given.formulas, *own):
        is_given = formula.name in names
        whole = total_counts(formula, is_given, whole_program)
        try:
            values = formula_values(formula, point, whole_program=whole)
        except InputError as error:
            if is_given:
                raise
            values = FormulaValues(formula, None, reason=_plainly(error))
        terms = left_out(values, point, forecast, whole)
        compared.append(_compared(values, is_given, terms, forecast, rungs, measured))
    return tuple(compared)


def _plainly(error: InputError) -> str:
    """Why a formula has no value, and what would help, without the place in the file of the workload."""
    return f"{error.what}. What helps: {error.allowed}" if error.allowed else error.what


def _compared(
    values: FormulaValues,
    is_given: bool,
    terms: LeftOut,
    forecast: Result,
    rungs: Sequence[Rung],
    measured: MeasuredTimes | None,
) -> FormulaComparison:
    measured_s = None if measured is None else measured.total_s
    steps: tuple[LadderStep, ...] = ()
    if values.total_s is not None and np.isfinite(values.total_s):
        steps = _steps(float(values.total_s), forecast, rungs, measured_s)
    simulated_s = float(rungs[-1].simulation.headline_s)
    return FormulaComparison(values, is_given, terms, steps, simulated_s, measured_s)


def _steps(total_s: float, forecast: Result, rungs: Sequence[Rung], measured_s: float | None) -> tuple[LadderStep, ...]:
    times = {LEFT_OUT: float(forecast.headline_s)}
    times |= {rung.effect: float(rung.simulation.headline_s) for rung in rungs if rung.applies}
    return steps_to(total_s, times, measured_s)

"""Fitted formulas: coefficients with intervals, errors, predictions, and what the reader must know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.to_json import PlainResult, attributes_of
from simcodesign.fitting.extrapolation.prediction_intervals import Prediction
from simcodesign.fitting.fits import checked_level, explained
from simcodesign.fitting.formulas.form import Form
from simcodesign.fitting.formulas.starts import EXPONENT_BOUND
from simcodesign.fitting.formulas.uncertainty import Uncertainty, listed, student
from simcodesign.fitting.formulas.variable_projection import Problem, Solution
from simcodesign.fitting.measurements import Measurements, as_point
from simcodesign.fitting.point_errors import PointErrors, point_errors
from simcodesign.fitting.selection.least_squares import further_measurement, symmetric_error
from simcodesign.fitting.selection.term_basis import Array

#: Kinds of warnings.
UNDETERMINED, AT_BOUND, NO_EFFECT, OUTSIDE = "undetermined", "at bound", "no effect", "outside"
#: Exponents this near to their bound have run to it.
_NEAR_BOUND = 1e-6
#: A coefficient whose whole effect is below this fraction of the values has none but by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Coefficient:
    """A fitted coefficient in SI units of its place in the formula, with its interval.

    It lies there with the fit's probability ``level``; ``low`` and ``high`` are nan where the points leave nothing to
    judge by. ``linear``: how it enters.
    """

    name: str
    value: float
    low: float
    high: float
    linear: bool


@dataclass(frozen=True, eq=False)
class FormulaFit(PlainResult):
    """A formula fitted to one region and metric, in the unit of the metric.

    ``smape``, ``cross_validated_smape`` and ``r2`` are as in ``Fit`` (for coefficients that enter non-linearly, the
    formula is taken as linear around the fit). ``level``: of the intervals of coefficients.
    """

    region: str
    metric: str
    form: Form = field(repr=False)
    problem: Problem = field(repr=False)
    solution: Solution = field(repr=False)
    left_out: int = 0
    level: float = 0.9

    @property
    def name(self) -> str:
        """Name of the formula."""
        return self.form.name

    @property
    def formula(self) -> str:
        """The expression as it was given."""
        return self.form.text

    @cached_property
    def text(self) -> str:
        """The expression with the fitted coefficients, four digits of each."""
        return self.form.text_with(self.values, digits=4)

    @property
    def values(self) -> Mapping[str, float]:
        """The coefficients by name."""
        return self.solution.coefficients

    @cached_property
    @np.errstate(all="ignore")
    def coefficients(self) -> tuple[Coefficient, ...]:
        """With their intervals, in the order of ``Form.coefficients``."""
        widths = self.uncertainty.half_widths(self.level)
        pairs = zip(self.values.items(), widths.tolist(), strict=True)
        return tuple(
            Coefficient(name, value, value - width, value + width, name in self.form.linear)
            for (name, value), width in pairs
        )

    @property
    def measured(self) -> Array:
        """The values to which it was fitted, (K,): means over repetitions."""
        return self.problem.scaled / self.problem.root

    @property
    def fitted(self) -> Array:
        """The formula's values there, (K,)."""
        return self.measured - self.residuals

    @property
    def residuals(self) -> Array:
        """Measured less fitted, (K,)."""
        return self.solution.inner.residuals / self.problem.root

    @property
    def points(self) -> Array:
        """Where it was fitted, (K, m)."""
        return self.problem.points

    @property
    def smape(self) -> float:
        """Symmetric mean absolute percent error."""
        return symmetric_error(self.measured, self.fitted)

    @property
    def point_errors(self) -> PointErrors:
        """At how many of the points the relative error is below 5 % and below 20 %."""
        return point_errors(self.measured, self.fitted)

    @property
    def r2(self) -> float:
        """The fraction of the variance that is explained."""
        return explained(self.measured, self.fitted)

    @property
    def cross_validated_smape(self) -> float:
        """SMAPE with each point predicted without it; nan if no point can be spared."""
        spare = 1 - self.uncertainty.leverages
        if (spare < 1e-6).any():
            return np.nan
        return symmetric_error(self.measured, self.measured - self.residuals / spare)

    @cached_property
    @np.errstate(all="ignore")
    def uncertainty(self) -> Uncertainty:
        """How well the points determine the coefficients."""
        tangents = np.nan_to_num(self.problem.tangents(self.values), posinf=0.0, neginf=0.0)
        sizes = np.array(
            [1.0 if name in self.form.exponents else abs(self.values[name]) for name in self.form.nonlinear]
        )
        effects = np.linalg.norm(tangents, axis=0) * np.maximum(sizes, 1e-300)
        there = effects > _ROUNDING * np.linalg.norm(self.problem.scaled)
        columns = np.hstack([self.solution.inner.columns, np.where(there, tangents, 0.0)])
        at_bound = [name in self._at_bound for name in self.form.nonlinear]
        free = np.concatenate([self.solution.inner.free, ~np.array(at_bound, dtype=np.bool_)])
        return Uncertainty(columns, self.solution.inner.residuals, free)

    @property
    def _at_bound(self) -> list[str]:
        near = EXPONENT_BOUND * (1 - _NEAR_BOUND)
        return [name for name in self.form.nonlinear if name in self.form.exponents and abs(self.values[name]) >= near]

    @cached_property
    def warnings(self) -> tuple[tuple[str, str], ...]:
        """Warnings for the reader: (kind, sentence)."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[tuple[str, str]]:
        names = self.form.coefficients
        for group in self.uncertainty.groups():
            of_group = [names[place] for place in group]
            if len(of_group) == 1:
                yield NO_EFFECT, f"{of_group[0]} has no effect at these points."
            else:
                yield UNDETERMINED, f"{listed(of_group)} cannot be distinguished by these points."
        for name in self._at_bound:
            yield AT_BOUND, f"The exponent {name} has run to its bound, {self.values[name]:g}."
        if self.left_out:
            condition = self.form.formula.valid
            where = "" if condition is None else f" ({condition.text})"
            yield OUTSIDE, f"{self.left_out} points are outside its range{where} and were not used."

    @np.errstate(all="ignore")  # far from the points a form may overflow
    def predict(self, point: Mapping[str, float] | Sequence[float], level: float | None = None) -> Prediction:
        """Return the formula's value at a point, with the interval of a further measurement.

        It lies there with probability ``level`` (default: the level of the fit), as ``Fit.predict`` defines it; nan
        outside its range.

        Raises InputError for a point of other parameters and for a level outside (0, 1).
        """
        form, level = self.form, checked_level(self.level if level is None else level)
        at = as_point(form.parameters, point)[None]
        value = float(form.values(at, self.values)[0]) if form.holds(at)[0] else np.nan
        names = form.names_at(at)
        gradient = [form.evaluated(form.slopes[name], names, self.values, 1)[0] for name in form.coefficients]
        spread = self.uncertainty.spread(np.array(gradient)) if gradient else 0.0
        relative, size = further_measurement(self.problem.root, self.problem.scaled)
        further = (abs(value) if relative else 1.0) / float(size)
        width = student(self.uncertainty.freedom, level) * float(np.sqrt(self.uncertainty.variance))
        width *= float(np.hypot(spread, further))
        low = value - width
        above = value >= 0 and bool((self.problem.scaled >= 0).all())
        return Prediction(value, max(low, 0.0) if above and np.isfinite(low) else low, value + width, level)

    def json_fields(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        shown = attributes_of(self, "name", "region", "metric", "formula", "text", "coefficients", "level", "r2")
        shown["known"] = self.form.known
        errors = {"smape_percent": self.smape, "cross_validated_smape_percent": self.cross_validated_smape}
        rows = zip(self.points.tolist(), self.measured.tolist(), self.fitted.tolist(), strict=True)
        residuals = [
            {"point": dict(zip(self.form.parameters, point, strict=True)), "measured": measured, "fitted": fitted}
            for point, measured, fitted in rows
        ]
        warnings = [{"kind": kind, "text": text} for kind, text in self.warnings]
        return shown | errors | {"point_errors": self.point_errors, "residuals": residuals, "warnings": warnings}


@dataclass(frozen=True, eq=False)
class FormulaFits(PlainResult, Sequence[FormulaFit]):
    """Formulas fitted to series: all fits of each series one after another, in the order in which they were given."""

    measurements: Measurements = field(repr=False)
    forms: tuple[Form, ...]
    fits: tuple[FormulaFit, ...]

    @overload
    def __getitem__(self, index: int) -> FormulaFit: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[FormulaFit]: ...

    def __getitem__(self, index: int | slice) -> FormulaFit | Sequence[FormulaFit]:
        return self.fits[index]

    def __len__(self) -> int:
        return len(self.fits)

    def of_series(self, row: int) -> tuple[FormulaFit, ...]:
        """Return the fits of one series, by its number in the measurements."""
        count = len(self.forms)
        return self.fits[row * count : (row + 1) * count]

    def of(self, name: str, region: str | None = None, metric: str | None = None) -> FormulaFit:
        """Return the fit of a formula, to a region and metric if there are several. InputError unless it is one."""
        chosen = [
            fit
            for fit in self.fits
            if fit.name == name and region in (None, fit.region) and metric in (None, fit.metric)
        ]
        if len(chosen) != 1:
            names = {" ".join(part for part in (fit.name, fit.region, fit.metric) if part) for fit in self.fits}
            allowed = nearest(" ".join(part for part in (name, region, metric) if part), names)
            raise InputError(f"{len(chosen)} fits of this name", value=(name, region, metric), allowed=allowed)
        return chosen[0]

    def json_fields(self) -> dict[str, Any]:
        """Return the fits."""
        return {"fits": self.fits}

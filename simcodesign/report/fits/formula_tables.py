"""Fitted formulas as tables and JSON, each with the best model of the normal form for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from simcodesign.core.to_json import attributes_of
from simcodesign.fitting.extrapolation.prediction_intervals import Prediction
from simcodesign.fitting.fit import Fit, Fits
from simcodesign.fitting.formulas.formula_fit import FormulaFit, FormulaFits
from simcodesign.report.common.numbers import Digits
from simcodesign.report.common.tables import dashed_list, new_table
from simcodesign.report.fits.tables import (
    MOST_REMARKS,
    MOST_ROWS,
    Heading,
    ends_text,
    explanation,
    fit_dict,
    interval_text,
    percent,
    r2_text,
    short,
)

#: Points in the table of residuals; if there are more, those that are met worst are shown.
MOST_POINTS = 16
NORMAL_FORM = "normal form"


@dataclass(frozen=True)
class FittedBeside:
    """Formulas and normal-form models fitted to the same series."""

    own: FormulaFits
    normal: Fits


def formula_tables(beside: FittedBeside, heading: Heading) -> Iterator[RenderableType]:
    """For each series all forms with their errors and predictions, their coefficients, and what they leave."""
    series = len(beside.normal)
    for row in range(min(series, MOST_ROWS)):
        own, normal = beside.own.of_series(row), beside.normal[row]
        title = " ".join(part for part in (normal.region, normal.metric) if part and part[0] != "<") or "Forms"
        yield _forms(title, own, normal, heading)
        if any(fit.coefficients for fit in own):
            yield _coefficients(own, heading)
        yield _residuals(own, normal)
        yield dashed_list(_remarks(own, normal, heading))
    if series > MOST_ROWS:
        yield f"And {series - MOST_ROWS:,} more series (--json has all, --region and --metric choose)\n"
    yield explanation(heading)


def _forms(title: str, own: tuple[FormulaFit, ...], normal: Fit, heading: Heading) -> Table:
    head = ("fitted", "SMAPE", "cross-val.", "R2", "<5, <20 %", f"at {heading.at}", interval_text(heading))
    table = new_table(title, "form", *head)
    table.columns[1].justify = "left"
    for column in table.columns[2:6]:
        column.no_wrap, column.min_width = True, len(str(column.header))
    texts = [(fit.name, fit.text, fit) for fit in own] + [(NORMAL_FORM, normal.model.text, normal)]
    predictions = [fit.predict(heading.target, heading.level) for _, _, fit in texts]
    show = Digits(number for one in predictions for number in (one.value, one.low, one.high))
    for (name, text, fit), prediction in zip(texts, predictions, strict=True):
        errors = percent(fit.smape), percent(fit.cross_validated_smape), r2_text(fit.r2)
        below = fit.point_errors
        points = f"{100 * below.below_5_percent:.0f}, {100 * below.below_20_percent:.0f} %"
        table.add_row(name, text, *errors, points, show(prediction.value), ends_text(prediction, show))
    return table


def _coefficients(own: tuple[FormulaFit, ...], heading: Heading) -> Table:
    table = new_table("Coefficients", "form", "coefficient", "value", interval_text(heading), "enters")
    for column in table.columns[1], table.columns[4]:
        column.justify = "left"
    for fit in own:
        for one in fit.coefficients:
            ends = ends_text(Prediction(one.value, one.low, one.high, fit.level))
            table.add_row(fit.name, one.name, f"{one.value:.6g}", ends, "linearly" if one.linear else "non-linearly")
    return table


def _residuals(own: tuple[FormulaFit, ...], normal: Fit) -> Table:
    """Difference of each form to the measurement: above (+) or below."""
    parameters = own[0].form.parameters
    fitted = [dict(zip(map(tuple, fit.points.tolist()), fit.fitted.tolist(), strict=True)) for fit in own]
    measured: dict[tuple[float, ...], float] = {}
    for fit in own:
        measured |= zip(map(tuple, fit.points.tolist()), fit.measured.tolist(), strict=True)
    fitted.append({point: float(normal.model.evaluate(np.array(point))) for point in measured})
    errors = {point: [_error(one.get(point, np.nan), value) for one in fitted] for point, value in measured.items()}
    worst = sorted(measured, key=lambda point: -np.nanmax(np.abs([*errors[point][:-1], 0.0])))[:MOST_POINTS]
    title = "Residuals" if len(worst) == len(measured) else f"Residuals, the {len(worst)} largest of {len(measured)}"
    table = new_table(title, parameters[0], *parameters[1:], "measured", *(fit.name for fit in own), NORMAL_FORM)
    table.columns[0].justify = "right"
    for point in [point for point in measured if point in {*worst}]:
        cells = [f"{error:+z.2%}" if np.isfinite(error) else "-" for error in errors[point]]
        table.add_row(*(f"{x:.6g}" for x in point), short(measured[point]), *cells)
    return table


def _error(fitted: float, measured: float) -> float:
    return fitted / measured - 1 if measured else np.nan


def _remarks(own: tuple[FormulaFit, ...], normal: Fit, heading: Heading) -> Iterator[str]:
    remarks = [f"{fit.name}: {text}" for fit in own for _, text in fit.warnings]
    known = {name: value for fit in own for name, value in fit.form.known.items()}
    if known:
        yield f"Known: {', '.join(f'{name} = {value:.6g}' for name, value in known.items())}."
    remarks += [f"{NORMAL_FORM}: {text}" for _, text in normal.warnings]
    if min(fit.measured.min() for fit in own) >= 0:
        predicted = [(fit.name, fit.predict(heading.target, heading.level).value) for fit in own]
        remarks += [f"{name}: below zero at {heading.at}, where no measured value is" for name, x in predicted if x < 0]
    yield from remarks[:MOST_REMARKS]
    if (left := len(remarks) - MOST_REMARKS) > 0:
        yield f"And {left:,} more remarks (--json has all)."


def formulas_dict(beside: FittedBeside, heading: Heading) -> dict[str, Any]:
    """All series, each with its formulas and the normal-form model."""
    target, level = heading.target, heading.level
    head = attributes_of(heading, "files", "parameters", "level", "options")
    head["target"] = dict(zip(heading.parameters, target, strict=True))
    fits = [
        {
            "region": normal.region,
            "metric": normal.metric,
            "formulas": [
                {**fit.json_fields(), "prediction": fit.predict(target, level)} for fit in beside.own.of_series(row)
            ],
            "normal_form": fit_dict(normal, target, normal.predict(target, level)),
        }
        for row, normal in enumerate(beside.normal)
    ]
    return head | {"fits": fits}

"""Fitted models as tables and JSON: one row or line for each series, and what the reader must know in words."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table

from simcodesign.core.to_json import attributes_of, to_json
from simcodesign.fitting.batch_predictions import BatchPredictions
from simcodesign.fitting.diagnostics import OWN
from simcodesign.fitting.extrapolation.prediction_intervals import Prediction
from simcodesign.fitting.fit import Fit, Fits
from simcodesign.fitting.measurements import Measurements, point_text
from simcodesign.fitting.normal_form import Model
from simcodesign.fitting.point_errors import PointErrors, together
from simcodesign.report.common.numbers import Digits, ends_of
from simcodesign.report.common.tables import dashed_list, new_table
from simcodesign.report.fits.names import latex_name, python_names, renamed

#: Regions in the table of a metric, metrics with a table, and remarks below each; JSON has all.
MOST_ROWS, MOST_METRICS, MOST_REMARKS = 20, 12, 8
#: Columns from which on a table may fold its cells.
_WIDE = 100
#: How many regions a remark names.
_NAMED = 4
#: Below this SMAPE in percent there is nothing but rounding.
_ROUNDING = 1e-9

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Heading:
    """Common facts of all fits: point of prediction, level, and how they were made."""

    parameters: tuple[str, ...]
    target: tuple[float, ...]
    given: bool
    level: float
    options: Mapping[str, object]
    files: Sequence[str] = ()

    @property
    def at(self) -> str:
        """The target in words."""
        return point_text(self.parameters, self.target)


@dataclass
class MetricDigest:
    """All series of one metric: how many there are, their errors, and the fits of those largest at the target."""

    series: int = 0
    constant: int = 0
    rivals: int = 0
    smape: list[Numbers] = field(default_factory=list)
    points: PointErrors = field(default_factory=lambda: PointErrors(0, 0, 0))
    kept: list[tuple[float, int, Fits]] = field(default_factory=list)

    def add(self, row: int, size: float, make: Callable[[], Fits]) -> None:
        """Keep a series if it is among the largest so far; of equals the first."""
        key = (size if np.isfinite(size) else -np.inf, -row)
        if len(self.kept) < MOST_ROWS:
            heapq.heappush(self.kept, (*key, make()))
        elif key > self.kept[0][:2]:
            heapq.heapreplace(self.kept, (*key, make()))

    @property
    def ordered(self) -> list[Fits]:
        """Fits of the table, each alone: in the order of the file, or by their size if there are more."""
        largest_first = self.series > len(self.kept)
        order = sorted(self.kept, key=lambda one: (-one[0], -one[1]) if largest_first else (0.0, -one[1]))
        return [fits for _, _, fits in order]


@dataclass
class Digest:
    """Data that tables and plots show for any number of series, in bounded memory: ``add`` them block by block."""

    by_metric: dict[str, MetricDigest] = field(default_factory=dict)
    series: int = 0

    def add(self, fits: Fits, batch: BatchPredictions) -> None:
        """Series that follow those so far."""
        sizes = np.abs(batch.prediction)
        for metric, rows in _by_metric(fits.measurements).items():
            digest = self.by_metric.setdefault(metric, MetricDigest())
            digest.series += len(rows)
            digest.constant += int((batch.terms[rows] == 0).sum())
            digest.rivals += int((batch.rivals[rows] > 0).sum())
            digest.smape.append(batch.smape[rows])
            digest.points = together([digest.points, batch.point_errors(rows)])
            if len(self.by_metric) <= MOST_METRICS or metric in [*self.by_metric][:MOST_METRICS]:
                for row in rows[np.argsort(-sizes[rows], kind="stable")[:MOST_ROWS]].tolist():
                    digest.add(self.series + row, float(sizes[row]), lambda row=row: fits.alone(row))  # type: ignore[misc]
        self.series += len(fits)


def _by_metric(measurements: Measurements) -> dict[str, NDArray[np.int64]]:
    rows: dict[str, list[int]] = {}
    for row, metric in enumerate(measurements.metrics):
        rows.setdefault(metric, []).append(row)
    return {metric: np.array(some) for metric, some in rows.items()}


# --- Tables ---------------------------------------------------------------------------------------------------


def fit_tables(digest: Digest, heading: Heading) -> Iterator[RenderableType]:
    """Yield a table for each metric with its remarks, and where predictions are made."""
    shown = [*digest.by_metric.items()][:MOST_METRICS]
    for metric, digest_of in shown:
        fits = [alone[0] for alone in digest_of.ordered]
        yield WideOrNarrow(metric_table(metric, fits, heading), narrow_table(metric, fits, heading))
        yield dashed_list(_remarks(digest_of, fits))
    if left := len(digest.by_metric) - len(shown):
        yield f"And {left:,} more metrics (--json has all, --metric chooses)\n"
    if len(digest.by_metric) > 1:
        yield f"All metrics: {point_error_text(together(one.points for one in digest.by_metric.values()))}\n"
    yield explanation(heading)


class WideOrNarrow:
    """A table, or if it would have to fold its cells and the terminal is narrow, another one."""

    def __init__(self, wide: Table, narrow: Table) -> None:
        self.widest, self.narrow = wide, narrow

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wanted = console.measure(self.widest, options=options.update_width(_WIDE)).maximum
        yield self.widest if wanted <= options.max_width or options.max_width >= _WIDE else self.narrow


def narrow_table(metric: str, fits: Sequence[Fit], heading: Heading) -> Table:
    """Two columns: the region, and below each other the model, its errors, and the prediction."""
    table = new_table(metric or "Models", "region", f"model; errors; at {heading.at}, {interval_text(heading)}")
    table.columns[1].justify = "left"
    for fit in fits:
        prediction = fit.predict(heading.target, heading.level)
        errors = f"SMAPE {percent(fit.smape)}, cross-val. {percent(fit.cross_validated_smape)}, R2 {r2_text(fit.r2)}"
        table.add_row(
            fit.region or "-", f"{fit.model.text}\n{errors}\n{short(prediction.value)}, {ends_text(prediction)}"
        )
    return table


def interval_text(heading: Heading) -> str:
    """Title of the column of intervals."""
    return f"{heading.level * 100:.6g} % interval"


def ends_text(prediction: Prediction, show: Callable[[float], str] | None = None) -> str:
    """Return from where to where an interval reaches, in the style of its column."""
    show = show or Digits([prediction.low, prediction.high])
    there = np.isfinite([prediction.low, prediction.high]).all()
    return ends_of(show(prediction.low), show(prediction.high)) if there else "-"


def metric_table(metric: str, fits: Sequence[Fit], heading: Heading) -> Table:
    """One row for each region."""
    title = metric or "Models"
    at = f"at {heading.at}"
    table = new_table(title, "region", "model", "SMAPE", "cross-val.", "R2", at, interval_text(heading))
    table.columns[1].justify = "left"
    for column in table.columns[2:5]:
        column.no_wrap = True
    predictions = [fit.predict(heading.target, heading.level) for fit in fits]
    show = Digits(number for one in predictions for number in (one.value, one.low, one.high))
    for fit, prediction in zip(fits, predictions, strict=True):
        errors = (percent(fit.smape), percent(fit.cross_validated_smape))
        cells = (show(prediction.value), ends_text(prediction, show))
        table.add_row(fit.region or "-", fit.model.text, *errors, r2_text(fit.r2), *cells)
    return table


def explanation(heading: Heading) -> str:
    """Explanation of predictions and errors."""
    beyond = "four times the largest measured value of each parameter that varies (--target for another)"
    return (
        f"Predictions: {heading.at} is {'the target' if heading.given else beyond}; a measurement there, with as many "
        f"repetitions, lies in the interval with {heading.level * 100:.6g} % probability. SMAPE: symmetric mean "
        "absolute error at the measured points; cross-val.: the same, each point predicted by the model fitted without "
        "it.\n"
    )


def point_error_text(errors: PointErrors) -> str:
    """How many of the points a model meets within 5 % and within 20 %, as a sentence."""
    points, missed = errors.points, errors.points - errors.moderate
    between = errors.moderate - errors.small
    classes = ((errors.small, "below 5 %"), (between, "from 5 to 20 %"), (missed, "20 % or more"))
    parts = [f"{number:,} ({number / points:.0%}) {words}" for number, words in classes if points]
    return f"Relative errors at {points:,} measured points: {', '.join(parts) or 'none'}."


def _remarks(series: MetricDigest, fits: Sequence[Fit]) -> Iterator[str]:
    yield point_error_text(series.points)
    if series.series > len(fits):
        yield f"And {series.series - len(fits):,} more (--json has all); shown are the largest at the target."
        smape = np.concatenate(series.smape)
        middle, most = np.percentile(smape, [50, 90])
        yield (
            f"{series.series:,} series: SMAPE {percent(middle)} in the middle, below {percent(most)} for nine of ten; "
            f"{series.constant:,} constant; {series.rivals:,} with rivals that the data cannot tell from the model."
        )
    remarks = [*_sentences(fits)]
    yield from remarks[:MOST_REMARKS]
    if (left := len(remarks) - MOST_REMARKS) > 0:
        yield f"And {left:,} more remarks (--json has all)."


def _sentences(fits: Sequence[Fit]) -> Iterator[str]:
    """Remarks that several regions share, each once, then those on a single region."""
    shared: dict[str, list[str]] = {}
    own: list[str] = []
    for fit in fits:
        for kind, sentence in fit.warnings:
            if kind in OWN:
                own.append(f"{fit.region}: {sentence}" if fit.region else sentence)
            else:
                shared.setdefault(sentence, []).append(fit.region)
    for sentence, regions in shared.items():
        yield sentence if len(regions) == len(fits) else f"{_names(regions)}: {sentence}"
    yield from own


def _names(regions: Sequence[str]) -> str:
    more = f" and {len(regions) - _NAMED:,} more" if len(regions) > _NAMED else ""
    return ", ".join(regions[:_NAMED]) + more


def short(number: float) -> str:
    """Four digits: ``12.35``, ``1.235e+06``; nothing for what is not finite."""
    return f"{number:.4g}" if np.isfinite(number) else "-"


def percent(number: float) -> str:
    """Two digits and more: ``0.34 %``, ``12 %``; rounding is nothing."""
    if not np.isfinite(number):
        return "-"
    if number < _ROUNDING:
        return "0 %"
    return f"{number:#.2g} %" if number < 9.95 else f"{number:.0f} %"


def r2_text(number: float) -> str:
    """Return a model that explains nearly all is not shown as perfect."""
    if not np.isfinite(number):
        return "-"
    return ">0.9999" if 0.99995 <= number < 1 else f"{number:.4f}"


# --- JSON -----------------------------------------------------------------------------------------------------


def json_head(heading: Heading, measurements: Measurements) -> str:
    """How the JSON begins: everything but the fits."""
    points, repetitions = measurements.values.shape[1:]
    means = f"the mean of {repetitions} repetitions" if repetitions > 1 else "made once"
    head = attributes_of(heading, "files", "parameters", "level", "options") | {
        "points": points,
        "repetitions": repetitions,
        "series": len(measurements.regions),
        "target": dict(zip(heading.parameters, heading.target, strict=True)),
        "interval_of": f"a further measurement, {means}",
    }
    return json.dumps(to_json(head), indent=2, allow_nan=False)[:-2] + ',\n  "fits": ['


def json_lines(fits: Fits, target: Sequence[float], level: float) -> list[tuple[str, PointErrors]]:
    """One object for each series, each a line of text, and its errors."""
    predictions = fits.predictions(target, level)
    ends = zip(predictions.value.tolist(), predictions.low.tolist(), predictions.high.tolist(), strict=True)
    return [
        (json.dumps(to_json(fit_dict(fit, target, Prediction(*one, level))), allow_nan=False), fit.point_errors)
        for fit, one in zip(fits, ends, strict=True)
    ]


def json_tail(errors: PointErrors) -> str:
    """How the JSON ends: the errors at all points of all series."""
    return f'\n  ],\n  "point_errors": {json.dumps(to_json(errors), allow_nan=False)}\n}}\n'


def fit_dict(fit: Fit, target: Sequence[float], prediction: Prediction) -> dict[str, Any]:
    """Return a fit with its prediction at the target; numbers that there are not stay nan."""
    shown = attributes_of(
        fit,
        *("region", "metric", "r2", "point_errors", "outliers", "warning"),
        smape_percent="smape",
        cross_validated_smape_percent="cross_validated_smape",
    )
    return shown | {
        "model": model_dict(fit.model),
        "prediction": prediction,
        "rivals": [{**model_dict(one), "prediction": float(one.evaluate(target))} for one in fit.rivals],
    }


def model_dict(model: Model) -> dict[str, Any]:
    """Return a model as texts, and as terms whose exponents are texts such as ``1/2``."""
    printed = renamed(model, {name: latex_name(name) for name in model.parameters})
    spoken = renamed(model, python_names(model.parameters))
    texts = {"text": model.text, "latex": printed.latex, "python": spoken.python}
    return texts | attributes_of(model, "constant", "terms")

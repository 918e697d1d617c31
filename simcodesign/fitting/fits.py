"""Fitted models, one ``Fit`` for each series; its parts are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, nearest
from simcodesign.core.shown_answers import Drawn, ShownInNotebooks
from simcodesign.fitting.diagnostics import (
    REGIME,
    FitSettings,
    FitWarning,
    Outlier,
    outliers,
    repetition_warnings,
    series_warnings,
)
from simcodesign.fitting.extrapolation.another_regime import LEVEL, outside, regime_text, smallest_values, without
from simcodesign.fitting.extrapolation.prediction_intervals import Prediction, Predictions, predict, predict_all
from simcodesign.fitting.measurements import Measurements, as_point, point_text
from simcodesign.fitting.model_of_shapes import model_of, without_unused_terms
from simcodesign.fitting.normal_form import Model
from simcodesign.fitting.outlier_repetitions import LEAST, OutlierRepetition, outlier_repetitions
from simcodesign.fitting.point_errors import PointErrors, point_errors
from simcodesign.fitting.selection.candidate_fits import Block
from simcodesign.fitting.selection.least_squares import Family, symmetric_error
from simcodesign.fitting.selection.model_ranking import Ranked
from simcodesign.fitting.selection.term_basis import Array, Index, Shapes
from simcodesign.fitting.weights import block_of

#: Models this many nats behind the best are indistinguishable from it: odds of seven to one.
RIVALRY = 2.0
#: Numbers in memory together when intervals of many series are computed: columns and tangents of their models.
_NUMBERS_IN_MEMORY = 4_000_000
#: Series whose models are solved together when one is read: for most of them that is cheaper than one by one.
_SOLVED_TOGETHER = 32
#: Likewise when outlier repetitions are sought.
_SEARCHED_TOGETHER = 128


@dataclass(frozen=True)
class Fit(ShownInNotebooks, Drawn):
    """The model of one region and metric.

    ``rivals``: models that the data cannot tell from it, best first. ``smape``: symmetric mean absolute percent error
    at the measured points; ``cross_validated_smape``: the same with each point predicted by the model fitted without it
    (not a number where no point can be spared); ``r2``: share of the variance that is explained (1 for a constant
    that is met exactly). ``warning``: what the reader must know, in words, or empty; ``warnings``: the same as
    (kind, sentence), the kinds as in ``diagnostics``.
    """

    region: str
    metric: str
    model: Model
    rivals: tuple[Model, ...]
    smape: float
    cross_validated_smape: float
    r2: float
    outliers: tuple[Outlier, ...]
    warning: str
    family: Family = field(repr=False, compare=False)
    warnings: tuple[tuple[str, str], ...] = ()

    @property
    def values(self) -> Array:
        """Measured values, (points, repetitions): the means if repetitions are not stored; NaN if none was measured."""
        there = self.family.root > 0
        means = np.where(there, self.family.scaled / np.where(there, self.family.root, 1.0), np.nan)
        return np.asarray(means)[:, None]

    @property
    def point_errors(self) -> PointErrors:
        """At how many of the measured points the relative error of the model is below 5 % and below 20 %."""
        there = self.family.root > 0
        measured = self.family.scaled[there] / self.family.root[there]
        return point_errors(measured, measured - self.family.plain.residuals[0][there] / self.family.root[there])

    def predict(self, point: Mapping[str, float] | Sequence[float], level: float = 0.9) -> Prediction:
        """Return the model's value at a point, with the interval of a further measurement.

        It lies there with probability ``level``: the mean of as many repetitions as the points have.

        Raises InputError for a point of other parameters and for a level outside (0, 1).
        """
        prediction = predict(self.family, as_point(self.model.parameters, point), checked_level(level))
        # If all measurements are zero or more, so is the interval elsewhere, if the prediction is.
        above = prediction.value >= 0 and bool((self.family.scaled >= 0).all())
        return replace(prediction, low=max(prediction.low, 0.0)) if above else prediction


class LazyFit(Fit):
    """A fit whose parts are computed when they are first read, and kept. It keeps the ``Fits`` that it is of alive."""

    def __init__(self, fits: Fits, row: int) -> None:
        measurements = fits.measurements
        # A frozen dataclass is written to by way of its dictionary, as cached properties are.
        self.__dict__.update(region=measurements.regions[row], metric=measurements.metrics[row], _fits=fits, _row=row)

    _fits: Fits
    _row: int

    def __reduce__(self) -> tuple[Callable[[Fits], Fit], tuple[Fits]]:
        return _only, (self._fits.alone(self._row),)

    @property
    def values(self) -> Array:
        return np.asarray(self._fits.measurements.values[self._row])

    @cached_property
    def model(self) -> Model:
        """Return the best model."""
        return self._fits.model(self._row)

    @cached_property
    def family(self) -> Family:
        """Return the models that were compared."""
        return self._fits.family(self._row)

    @cached_property
    def _level(self) -> Family:
        """The models that are level with the first."""
        scores = self.family.scores
        return self.family.first(max(1, int((scores <= scores[0] + RIVALRY).sum())))

    @cached_property
    def rivals(self) -> tuple[Model, ...]:
        """Return the models that are level with the best one."""
        parameters, level = self._fits.measurements.parameters, self._level
        count = len(level.scores)
        if count == 1:
            return ()
        return tuple(model_of(parameters, level.plain.coefficients[k], level.shapes, k) for k in range(1, count))

    @cached_property
    def _values(self) -> tuple[Array, Array, Array]:
        """At the measured points: the values, the model's, and the values of the model fitted without the point."""
        solution = self._level.solution()
        there = self.family.root > 0
        root = self.family.root[there]
        values = self.family.scaled[there] / root
        return values, values - solution.residuals[0][there] / root, values - solution.left_out[0][there] / root

    @cached_property
    def smape(self) -> float:
        """Return the symmetric mean absolute percentage error at the points."""
        return symmetric_error(*self._values[:2])

    @cached_property
    def cross_validated_smape(self) -> float:
        """Return the symmetric error at points left out one at a time; NaN if a point cannot be left out."""
        spare = (self._level.solution().leverages[0][self.family.root > 0] < 1 - 1e-6).all()
        return symmetric_error(self._values[0], self._values[2]) if spare else np.nan

    @cached_property
    def r2(self) -> float:
        """Return R squared of the model."""
        return explained(*self._values[:2])

    @cached_property
    def outliers(self) -> tuple[Outlier, ...]:
        """Return the points that are far from the model."""
        return outliers(self._level, self._fits.measurements.parameters)

    @cached_property
    def warnings(self) -> tuple[tuple[str, str], ...]:
        fits = self._fits
        models = [self.model, *self.rivals]
        common = series_warnings(self._level, models, self.outliers, fits.target, fits.settings_of(self._row))
        return (
            *common,
            *repetition_warnings(self._without_outliers(), fits.measurements.points, self.model, fits.target),
            *self._regime_warnings(),
        )

    def _regime_warnings(self) -> Iterator[FitWarning]:
        """Warnings of points at the smallest value of a parameter; none of values without noise."""
        fits, part = self._fits, self._fits.measurements
        if fits.again is None or fits.settings_of(self._row).exact:
            return
        for name, left_out in smallest_values(part):
            if (other := fits.without(self._row, name, left_out)) is not None:
                value = float(part.points[left_out][0, part.parameters.index(name)])
                given = part.means[self._row], part.points, left_out, name, value
                found = outside(*given, partial(other.predict, level=LEVEL), other.model)
                at = point_text(part.parameters, fits.target)
                if found is not None and (text := regime_text(found, self.model, fits.target, at)):
                    yield FitWarning(REGIME, text)

    def _without_outliers(self) -> list[tuple[OutlierRepetition, Model]]:
        """Outlier repetitions, each with the model that is found without it."""
        fits, fitted_without = self._fits, []
        part = fits.measurements
        for one in fits.outlier_repetitions(self._row):
            left = part.values[self._row][None].copy()
            left[0, one.point, one.repetition] = np.nan
            alone = Measurements(part.parameters, part.points, (self.region,), (self.metric,), left)
            assert fits.again is not None
            fitted_without.append((one, fits.again(alone)[0].model))
        return fitted_without

    @cached_property
    def warning(self) -> str:
        """Return all warnings as one text."""
        return " ".join(text for _, text in self.warnings)


def _only(fits: Fits) -> Fit:
    return fits[0]


def explained(values: Array, predicted: Array) -> float:
    """R squared of the values as they are."""
    rest, whole = float(((values - predicted) ** 2).sum()), float(((values - values.mean()) ** 2).sum())
    if whole <= (1e-12 * float(np.abs(values).max())) ** 2 * len(values):
        return 1.0
    return 1 - rest / whole


def checked_level(level: float) -> float:
    """Return the level of an interval. Raises InputError unless it is between 0 and 1."""
    if not 0 < level < 1:
        raise InputError("not a level of an interval", value=level, allowed="between 0 and 1, e.g. 0.9")
    return level


@dataclass(frozen=True, eq=False)
class Fits(Sequence[Fit], ShownInNotebooks):
    """One fit per series, in the order of the measurements; each is made when it is read.

    ``blocks``: the models of some series, from a row on. ``terms``: the most that were allowed; ``exact``: no noise.
    ``again``: fits other measurements in the same way. ``shrinking``: terms may have exponents below 0.
    """

    measurements: Measurements
    weighting: str
    negative: bool
    target: Array
    blocks: tuple[tuple[int, Ranked], ...]
    terms: int = 3
    exact: bool = False
    again: Callable[[Measurements], Fits] | None = None
    shrinking: bool = False

    def __len__(self) -> int:
        return len(self.measurements.regions)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: self.__dict__[one.name] for one in fields(self)}  # without what was computed

    @overload
    def __getitem__(self, index: int) -> Fit: ...

    @overload
    def __getitem__(self, index: slice) -> list[Fit]: ...

    def __getitem__(self, index: int | slice) -> Fit | list[Fit]:
        if isinstance(index, slice):
            return [self._fit(row) for row in range(*index.indices(len(self)))]
        row = index + len(self) if index < 0 else index
        if not 0 <= row < len(self):
            raise IndexError(index)
        return self._fit(row)

    def __iter__(self) -> Iterator[Fit]:
        return (self._fit(row) for row in range(len(self)))

    def of(self, region: str, metric: str | None = None) -> Fit:
        """Return the fit of a region, and of a metric if it has several.

        Raises InputError if there is not exactly one.
        """
        rows = [
            row
            for row, pair in enumerate(zip(self.measurements.regions, self.measurements.metrics, strict=True))
            if pair[0] == region and metric in (None, pair[1])
        ]
        if len(rows) != 1:
            pairs = zip(self.measurements.regions, self.measurements.metrics, strict=True)
            names = [f"{a} {b}".strip() for a, b in pairs]
            allowed = nearest(f"{region} {metric or ''}".strip(), names)
            raise InputError(f"{len(rows)} series of this name", value=(region, metric), allowed=allowed)
        return self._fit(rows[0])

    def predictions(self, point: Mapping[str, float] | Sequence[float], level: float = 0.9) -> Predictions:
        """Return the prediction of ``Fit.predict`` for all series together: arrays (S,).

        Raises InputError for a point of other parameters and for a level outside (0, 1).
        """
        at, level = as_point(self.measurements.parameters, point), checked_level(level)
        parts = [
            predict_all(*self._families(start, ranked, rows), at, level)
            for start, ranked in self.blocks
            for rows in self._few_at_once(ranked)
        ]
        value, low, high = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "low", "high")
        )
        above = (value >= 0) & (np.nan_to_num(self.measurements.means) >= 0).all(1)
        return Predictions(value, np.where(above & (low < 0), 0.0, low), high, level)

    def alone(self, row: int) -> Fits:
        """Return the fits of one series alone, without the memory of the others."""
        start, ranked = self.blocks[self._place(row)]
        part, rows = self.measurements, slice(row, row + 1)
        copied = Measurements(
            part.parameters, part.points.copy(), part.regions[rows], part.metrics[rows], part.values[rows].copy()
        )
        blocks = ((0, ranked.alone(row - start)),)
        return replace(self, measurements=copied, blocks=blocks)

    def family(self, row: int) -> Family:
        """All remembered models of a series, which are solved together with the models of its neighbours."""
        start, ranked = self.blocks[self._place(row)]
        step = min(_SOLVED_TOGETHER, self._step(ranked))
        first = (row - start) // step * step
        if start + first not in self._last:
            family, starts = self._families(start, ranked, slice(first, min(first + step, len(ranked.scores))))
            self._last.clear()
            self._last[start + first] = family.split(starts)
        return self._last[start + first][row - start - first]

    def best(self, place: int) -> Family:
        """Return the best model of each series of a block."""
        start, ranked = self.blocks[place]
        block = self._block(slice(start, start + len(ranked.scores)))
        constant, scores, free = ranked.constant[:, 0], ranked.scores[:, 0], ranked.free[:, 0]
        points = self.measurements.points
        return Family(points, block.root, block.scaled, ranked.best, constant, scores.astype(np.float64), free)

    def model(self, row: int) -> Model:
        """Return the best model of a series; the models of a whole block are solved together."""
        place = self._place(row)
        if place not in self._solved:
            family = self.best(place)
            self._solved[place] = family.plain.coefficients, family.shapes
        coefficients, shapes = self._solved[place]
        own = row - self._starts[place]
        return model_of(self.measurements.parameters, coefficients[own], shapes, own)

    def outlier_repetitions(self, row: int) -> tuple[OutlierRepetition, ...]:
        """Outlier repetitions of a series, which are sought together with its neighbours; none without ``again``."""
        if self.again is None or self.measurements.values.shape[2] < LEAST:
            return ()
        first = row - row % _SEARCHED_TOGETHER
        if first not in self._outliers:
            self._outliers.clear()
            values = self.measurements.values[first : first + _SEARCHED_TOGETHER]
            self._outliers[first] = outlier_repetitions(values, self.weighting == "relative")
        return self._outliers[first][row - first]

    def without(self, row: int, parameter: str, left_out: NDArray[np.bool_]) -> Fit | None:
        """Return a series fitted without some points, which are left out of its neighbours too.

        None if no value is left. ``parameter``: of which they have the smallest value.
        """
        first = row - row % _SEARCHED_TOGETHER
        if (first, parameter) not in self._smaller:
            part, rows = self.measurements, slice(first, first + _SEARCHED_TOGETHER)
            near = Measurements(part.parameters, part.points, part.regions[rows], part.metrics[rows], part.values[rows])
            left = without(near, left_out)
            assert self.again is not None
            for other in [key for key in self._smaller if key[0] != first]:
                del self._smaller[other]
            self._smaller[first, parameter] = None if left is None else self.again(left)
        found = self._smaller[first, parameter]
        return None if found is None else found[row - first]

    @cached_property
    def _smaller(self) -> dict[tuple[int, str], Fits | None]:
        """The series that were fitted last without points, by the first row of them and the parameter."""
        return {}

    def settings_of(self, row: int) -> FitSettings:
        """How a series was fitted."""
        return FitSettings(self.terms, self.negative, self.exact or bool(self.measurements.exact[row]), self.shrinking)

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self.blocks]

    @cached_property
    def _solved(self) -> dict[int, tuple[Array, Shapes]]:
        """Coefficients and terms of the best models of the blocks that were read."""
        return {}

    @cached_property
    def _last(self) -> dict[int, list[Family]]:
        """The series that were solved last, by the first row of them: who reads one reads its neighbours too."""
        return {}

    @cached_property
    def _outliers(self) -> dict[int, list[tuple[OutlierRepetition, ...]]]:
        """The series that were looked through last, by the first row of them."""
        return {}

    def _place(self, row: int) -> int:
        return int(np.searchsorted(self._starts, row, side="right")) - 1

    def _block(self, rows: slice) -> Block:
        return block_of(self.measurements.means[rows], self.measurements.counts[rows], self.weighting, self.negative)

    def _fit(self, row: int) -> Fit:
        return LazyFit(self, row)

    def _step(self, ranked: Ranked) -> int:
        """Return the number of series whose models are all in memory together."""
        models, terms = ranked.terms.shape[1:]
        numbers = models * (1 + terms * (1 + len(self.measurements.parameters))) * len(self.measurements.points)
        return max(1, _NUMBERS_IN_MEMORY // int(numbers))

    def _few_at_once(self, ranked: Ranked) -> Iterator[slice]:
        series, step = len(ranked.scores), self._step(ranked)
        return (slice(start, min(start + step, series)) for start in range(0, series, step))

    def _families(self, start: int, ranked: Ranked, rows: slice) -> tuple[Family, Index]:
        """Return the models of some series of a block, one series after the other, and the start of each."""
        scores = ranked.scores[rows]
        row, model = np.nonzero(np.isfinite(scores))
        block = self._block(slice(start + rows.start, start + rows.stop))
        # One model each, so that they are taken as the best of it.
        flat = Ranked(
            ranked.table,
            ranked.terms[rows][row, model][:, None],
            ranked.constant[rows][row, model],
            scores[row, model].astype(np.float64),
            ranked.free[rows][row, model],
        )
        family = Family(
            self.measurements.points,
            block.root[row],
            block.scaled[row],
            without_unused_terms(flat.best),
            flat.constant,
            np.asarray(flat.scores, dtype=np.float64),
            flat.free,
        )
        return family, np.searchsorted(row, np.arange(len(scores)))

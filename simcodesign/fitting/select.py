"""Fitting: from measurements to one model per region and metric, with its rivals, errors and warnings.

``fit`` ranks models (``compare``) block by block of series; a ``Fit`` is made when it is asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from scipy import special

from simcodesign.errors import InputError, nearest
from simcodesign.fitting.basis import MOST_SHAPES, Array, Basis, Choice, axis_choices, basis_of, product_of
from simcodesign.fitting.candidates import ROUNDING, Limits, coefficient_limit
from simcodesign.fitting.compare import Ranked, rank
from simcodesign.fitting.exponents import ExponentSet, exponent_set
from simcodesign.fitting.intervals import Prediction, predict
from simcodesign.fitting.linear import Family, symmetric_error
from simcodesign.fitting.measurements import Measurements, point_text
from simcodesign.fitting.screen import screened
from simcodesign.fitting.search import Block
from simcodesign.fitting.terms import Model, Term
from simcodesign.fitting.weights import block_of

#: Models this many nats behind the best cannot be told from it: odds of seven to one.
RIVALRY = 2.0
#: Chance, per series, that a point is called an outlier though none is.
_FALSE_ALARM = 0.01
#: Predictions that differ by less than this share are not worth a warning.
_ALIKE = 0.1
#: Where rivals are compared unless a target is given: this many times the largest value of each parameter.
_BEYOND = 4.0
#: Numbers of a block of series that are in memory at once.
_ROOM = 500_000
_MOST_TERMS = 8


@dataclass(frozen=True)
class Outlier:
    """A point that the model without it does not explain; it was used all the same.

    ``deviations``: its distance in standard deviations (externally studentised residual).
    """

    point: Mapping[str, float]
    measured: float
    expected: float
    deviations: float


@dataclass(frozen=True)
class Fit:
    """The model of one region and metric.

    ``rivals``: models that the data cannot tell from it, best first. ``smape``: symmetric mean absolute percent error
    at the measured points; ``cross_validated_smape``: the same with each point predicted by the model fitted without it
    (not a number where no point can be spared); ``r2``: share of the variance that is explained (1 for a constant
    that is met exactly). ``warning``: what the reader must know, in words, or empty.
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

    def predict(self, point: Mapping[str, float] | Sequence[float], level: float = 0.9) -> Prediction:
        """The model's value at a point, with the interval in which a measurement lies with probability ``level``.

        Raises InputError for a point of other parameters and for a level outside (0, 1).
        """
        if not 0 < level < 1:
            raise InputError("the level of an interval", value=level, allowed="between 0 and 1, e.g. 0.9")
        return predict(self.family, as_point(self.model.parameters, point), level)


def as_point(parameters: tuple[str, ...], point: Mapping[str, float] | Sequence[float]) -> Array:
    """A point in the order of the parameters, (m,).

    Raises InputError for missing or unknown names and for numbers that are not positive and finite.
    """
    if isinstance(point, Mapping):
        for name in point:
            if name not in parameters:
                raise InputError("a point with an unknown parameter", value=name, allowed=nearest(name, parameters))
        missing = [name for name in parameters if name not in point]
        if missing:
            raise InputError("a point without a parameter", value=", ".join(missing), allowed=", ".join(parameters))
        point = [point[name] for name in parameters]
    try:
        at = np.asarray(point, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("a point that is not numbers", value=point, allowed="positive finite numbers") from error
    if at.shape != (len(parameters),):
        raise InputError("a point", value=point, allowed=f"one number for each of {', '.join(parameters)}")
    if not (np.isfinite(at) & (at > 0)).all():
        raise InputError("a point", value=point, allowed="positive finite numbers")
    return at


@dataclass(frozen=True, eq=False)
class Fits(Sequence[Fit]):
    """One fit per series, in the order of the measurements; each is made when it is asked for."""

    measurements: Measurements
    weighting: str
    negative: bool
    target: Array
    blocks: tuple[tuple[int, Ranked], ...]

    def __len__(self) -> int:
        return len(self.measurements.regions)

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
        """The fit of a region, and of a metric where it has several. Raises InputError if there is not exactly one."""
        found = [
            row
            for row, pair in enumerate(zip(self.measurements.regions, self.measurements.metrics, strict=True))
            if pair[0] == region and metric in (None, pair[1])
        ]
        if len(found) != 1:
            pairs = zip(self.measurements.regions, self.measurements.metrics, strict=True)
            names = [f"{a} {b}".strip() for a, b in pairs]
            allowed = nearest(f"{region} {metric or ''}".strip(), names)
            raise InputError(f"{len(found)} series of this name", value=(region, metric), allowed=allowed)
        return self._fit(found[0])

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self.blocks]

    def _fit(self, row: int) -> Fit:
        place = int(np.searchsorted(self._starts, row, side="right")) - 1
        start, ranked = self.blocks[place]
        rows = slice(row, row + 1)
        measurements = self.measurements
        block = block_of(measurements.means[rows], measurements.counts[rows], self.weighting, self.negative)
        family = _family(ranked, row - start, measurements.points, block)
        return _fit(measurements, row, family, self.target)


def _family(ranked: Ranked, row: int, points: Array, block: Block) -> Family:
    there = np.flatnonzero(np.isfinite(ranked.scores[row]))
    constant, free = ranked.constant[row, there], ranked.free[row, there]
    scores = ranked.scores[row, there].astype(np.float64)
    return Family(points, block.root[0], block.scaled[0], ranked.shapes(row, there), constant, scores, free)


def fit(
    measurements: Measurements,
    *,
    exponents: str | ExponentSet | Sequence[tuple[Any, Any]] = "extrap",
    terms: int = 3,
    collectives: Sequence[tuple[str, str]] = (),
    negative_exponents: bool = False,
    negative_coefficients: bool = False,
    refine: bool = True,
    weighting: str = "relative",
    exact: bool = False,
    target: Mapping[str, float] | Sequence[float] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Fits:
    """Fit each series with a model of the performance-model normal form.

    ``exponents``: ``extrap``, ``paper`` or own pairs. ``terms``: the most terms beside the constant.
    ``collectives``: operations that may be factors, with the parameter of processes, e.g. ``("Alltoall", "p")``.
    ``refine``: exponents between those of the set where the data ask for them. ``weighting``: see ``weights``.
    ``exact``: the values have no noise, as counts have none (repeated values that are all equal say so by themselves).
    ``target``: where rivals are compared (default: four times the largest value of each parameter).
    ``progress``: called with the number of series that were finished.

    Raises InputError for unknown names, a bad target and a number of terms outside 0 to 8.
    """
    if not isinstance(terms, int) or not 0 <= terms <= _MOST_TERMS:
        raise InputError("the number of terms of a model", value=terms, allowed=f"0 to {_MOST_TERMS}")
    chosen = exponent_set(exponents)
    chosen = chosen.with_negative() if negative_exponents else chosen
    points = np.asarray(measurements.points, dtype=np.float64)
    at = points.max(0) * _BEYOND if target is None else as_point(measurements.parameters, target)
    choices = _choices(measurements.parameters, chosen, collectives)
    blocks = []
    options = (terms, weighting, negative_coefficients, refine, negative_exponents, exact)
    for start, ranked in _ranked(measurements, choices, *options):
        blocks.append((start, ranked))
        if progress:
            progress(len(ranked.scores))
    return Fits(measurements, weighting, negative_coefficients, at, tuple(blocks))


def _choices(
    parameters: tuple[str, ...], exponents: ExponentSet, collectives: Sequence[tuple[str, str]]
) -> list[list[Choice]]:
    for _, name in collectives:
        if name not in parameters:
            allowed = nearest(name, parameters)
            raise InputError("a collective operation of an unknown parameter", value=name, allowed=allowed)
    return [axis_choices(exponents, [name for name, of in collectives if of == parameter]) for parameter in parameters]


def _ranked(
    measurements: Measurements,
    choices: list[list[Choice]],
    terms: int,
    weighting: str,
    free: bool,
    refined: bool,
    negative: bool,
    exact: bool,
) -> Iterator[tuple[int, Ranked]]:
    points = np.asarray(measurements.points, dtype=np.float64)
    basis = None
    if np.prod([float(len(choice)) for choice in choices]) <= MOST_SHAPES:
        basis = basis_of(points, product_of(choices))
    size = 1 if basis is None else max(1, min(256, _ROOM // max(len(basis.columns), len(points), 1)))
    for start in range(0, len(measurements.regions), size):
        rows = slice(start, start + size)
        means, counts = measurements.means[rows], measurements.counts[rows]
        block = block_of(means, counts, weighting, free, measurements.exact[rows] | exact)
        limits = Limits(terms, coefficient_limit((block.root > 0).sum(1)))
        made: Basis = basis or screened(block, points, choices, limits)
        yield start, rank(block, made, limits, refined, negative)


def _fit(measurements: Measurements, row: int, family: Family, target: Array) -> Fit:
    parameters = measurements.parameters
    level = family.first(_level(family))
    solution = level.solution()
    models = [_model(parameters, level, solution.coefficients[k], k) for k in range(len(level.scores))]
    there = family.root > 0
    values = family.scaled[there] / family.root[there]
    predicted = values - solution.residuals[0][there] / family.root[there]
    left_out = values - solution.left_out[0][there] / family.root[there]
    outliers = _outliers(family, solution.residuals[0], solution.leverages[0], parameters)
    spare = (solution.leverages[0][there] < 1 - 1e-6).all()
    rivals = tuple(models[1:])
    return Fit(
        measurements.regions[row],
        measurements.metrics[row],
        models[0],
        rivals,
        symmetric_error(values, predicted),
        symmetric_error(values, left_out) if spare else float("nan"),
        _explained(values, predicted),
        outliers,
        " ".join(_warnings(family, models, outliers, target)),
        family,
    )


def _level(family: Family) -> int:
    """How many models stand level with the first."""
    return max(1, int((family.scores <= family.scores[0] + RIVALRY).sum()))


def _model(parameters: tuple[str, ...], family: Family, coefficients: Array, place: int) -> Model:
    terms = [
        Term(float(coefficient), factors)
        for k, coefficient in enumerate(coefficients[1:])
        if (factors := family.shapes.factors(parameters, (place, k)))
    ]
    terms.sort(key=lambda term: [factor.growth for factor in term.factors])
    return Model(parameters, float(coefficients[0]), tuple(terms))


def _explained(values: Array, predicted: Array) -> float:
    """R squared of the values as they are."""
    rest, whole = float(((values - predicted) ** 2).sum()), float(((values - values.mean()) ** 2).sum())
    if whole <= (1e-12 * float(np.abs(values).max())) ** 2 * len(values):
        return 1.0
    return 1 - rest / whole


def _outliers(family: Family, residuals: Array, leverages: Array, parameters: tuple[str, ...]) -> tuple[Outlier, ...]:
    """Points whose residual, studentised without the point itself, chance explains in one series of a hundred."""
    there = np.flatnonzero(family.root > 0)
    count = len(there)
    freedom = count - float(leverages.sum()) - 1
    if freedom < 1:
        return ()
    r, spare = residuals[there], np.maximum(1 - leverages[there], 1e-6)
    total = float((r**2).sum())
    if total <= count * (ROUNDING * float(np.abs(family.scaled).max())) ** 2:
        return ()
    rest = np.maximum(total - r**2 / spare, 1e-30 * total) / freedom
    found = r / np.sqrt(rest * spare)
    limit = float(special.stdtrit(freedom, 1 - _FALSE_ALARM / (2 * count)))
    return tuple(
        Outlier(
            dict(zip(parameters, map(float, family.points[k]), strict=True)),
            float(family.scaled[k] / family.root[k]),
            float((family.scaled[k] - residuals[k] / max(1 - leverages[k], 1e-6)) / family.root[k]),
            float(t),
        )
        for k, t in zip(there, found, strict=True)
        if abs(t) > limit
    )


def _warnings(family: Family, models: list[Model], outliers: tuple[Outlier, ...], target: Array) -> list[str]:
    return [
        text
        for text in (
            _few_points(family, models[0].parameters),
            _below_zero(models[0]),
            _undecided(models, target),
            *(_far(outlier) for outlier in outliers),
        )
        if text
    ]


def _few_points(family: Family, parameters: tuple[str, ...]) -> str:
    there = family.root > 0
    few = [name for name, x in zip(parameters, family.points[there].T, strict=True) if len(np.unique(x)) < 5]
    if there.sum() == 1:
        return "There is one point only: nothing says how the values grow."
    return f"Fewer than five values of {', '.join(few)}: the growth is a guess." if few else ""


def _below_zero(model: Model) -> str:
    if model.terms or model.constant >= 0:
        return ""
    return "The values lie below zero, where no model of coefficients above zero goes: allow negative coefficients."


def _undecided(models: list[Model], target: Array) -> str:
    """Names the rival that differs most from the model at the target, if by enough to matter."""
    first = float(models[0].evaluate(target))
    others = [float(model.evaluate(target)) for model in models[1:]]
    if not others or not first:
        return ""
    place = int(np.argmax(np.abs(np.array(others) - first)))
    share = others[place] / first - 1
    if abs(share) < _ALIKE:
        return ""
    at = point_text(models[0].parameters, target)
    return (
        f"The data cannot tell {models[0].text} from {models[1 + place].text}: at {at} the first gives {first:.4g}, "
        f"the second {others[place]:.4g} ({share:+.0%})."
    )


def _far(outlier: Outlier) -> str:
    at = ", ".join(f"{name}={x:.12g}" for name, x in itertools.islice(outlier.point.items(), 4))
    return (
        f"An outlier at {at}: measured {outlier.measured:.6g}, the other points say {outlier.expected:.6g} "
        f"({abs(outlier.deviations):.1f} standard deviations); it was used."
    )

"""Outliers and warnings about a model for its reader, each of a kind and in words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from simcodesign.fitting.extrapolation.between_exponents import between_exponents
from simcodesign.fitting.measurements import point_text
from simcodesign.fitting.normal_form import Model
from simcodesign.fitting.outlier_repetitions import OutlierRepetition
from simcodesign.fitting.selection.candidates import ROUNDING, coefficient_limit
from simcodesign.fitting.selection.least_squares import Family
from simcodesign.fitting.selection.noise_free import ROUNDING as MET
from simcodesign.fitting.selection.term_basis import Array

#: Kinds of warnings; the last five concern a single series, the others may be shared by many series.
FEW_POINTS, TOGETHER, BELOW_ZERO, NOT_MET, FALLING = "few points", "together", "below zero", "not met", "falling"
UNDECIDED, BETWEEN = "undecided", "between exponents"
OUTLIER, OUTLIER_REPETITION, REGIME = "outlier", "outlier repetition", "another regime"
OWN = (UNDECIDED, BETWEEN, OUTLIER, OUTLIER_REPETITION, REGIME)
#: Chance, per series, that a point is called an outlier though none is.
_FALSE_ALARM = 0.01
#: Predictions that differ by less than this fraction are not worth a warning.
_ALIKE = 0.1
#: From this correlation with the logarithm of a parameter on, values fall with it (five values without any trend: one
#: series in twenty).
_FALLS = 0.8
#: With more degrees of freedom than these, the residuals show how far to trust a model.
_FEW_FREEDOMS = 2
#: Larger numbers of standard deviations are not written out.
_COUNTABLE = 1000


class FitWarning(NamedTuple):
    """A warning: one of the kinds above, and a sentence."""

    kind: str
    text: str


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
class FitSettings:
    """Options with which a series was fitted: maximum number of ``terms``, ``negative`` coefficients or not.

    ``exact``: no noise; ``shrinking``: exponents below 0 or not.
    """

    terms: int
    negative: bool
    exact: bool
    shrinking: bool = False


def outliers(family: Family, parameters: tuple[str, ...]) -> tuple[Outlier, ...]:
    """Points whose residual, studentised without the point itself, chance explains in one series of a hundred."""
    solution = family.solution()
    residuals, leverages = solution.residuals[0], solution.leverages[0]
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
    studentised = r / np.sqrt(rest * spare)
    limit = float(special.stdtrit(freedom, 1 - _FALSE_ALARM / (2 * count)))
    return tuple(
        Outlier(
            dict(zip(parameters, map(float, family.points[k]), strict=True)),
            float(family.scaled[k] / family.root[k]),
            float((family.scaled[k] - residuals[k] / max(1 - leverages[k], 1e-6)) / family.root[k]),
            float(t),
        )
        for k, t in zip(there, studentised, strict=True)
        if abs(t) > limit
    )


def series_warnings(
    family: Family, models: list[Model], outside: tuple[Outlier, ...], target: Array, settings: FitSettings
) -> Iterator[FitWarning]:
    """Return the warnings about the first of the models, which are level with each other."""
    undecided, not_met = _undecided(models, target), _not_met(family, models[0], settings)
    texts = (
        (FEW_POINTS, _few_points(family, models[0].parameters)),
        (TOGETHER, _together(family, models[0].parameters)),
        (BELOW_ZERO, _below_zero(models[0])),
        (NOT_MET, not_met),
        (FALLING, "" if not_met or settings.shrinking else _falling(family, models[0].parameters)),
        (UNDECIDED, undecided),
        (BETWEEN, "" if undecided else _between(family, models[0], target)),
        *((OUTLIER, _far(outlier)) for outlier in outside),
    )
    return (FitWarning(kind, text) for kind, text in texts if text)


def _few_points(family: Family, parameters: tuple[str, ...]) -> str:
    there = family.root > 0
    few = [name for name, x in zip(parameters, family.points[there].T, strict=True) if len(set(x.tolist())) < 5]
    if family.counts == 1:
        return "There is one point only: the growth of the values is unknown."
    return f"Fewer than five values of {', '.join(few)}: the growth is a guess." if few else ""


def _together(family: Family, parameters: tuple[str, ...]) -> str:
    """Parameters of which one is a product of powers of the others at all points: their parts cannot be separated."""
    logs = np.log(family.points[family.root > 0])
    logs = logs - logs.mean(0)
    varied = np.flatnonzero((np.abs(logs) > 1e-9).any(0))
    if not 1 < len(varied) < family.counts:
        return ""
    _, sizes, axes = np.linalg.svd(logs[:, varied], full_matrices=False)
    tied = np.abs(axes[sizes <= 1e-6 * sizes[0]]).max(0, initial=0.0) > 1e-3
    if not tied.any():
        return ""
    names = " and ".join(parameters[place] for place in varied[tied])
    return (
        f"{names} vary together at all points: the effect of each one is unknown, and away from such points the "
        "model and its interval are meaningless."
    )


def _below_zero(model: Model) -> str:
    if model.terms or model.constant >= 0:
        return ""
    return "The values lie below zero, where no model of coefficients above zero goes: allow negative coefficients."


def _not_met(family: Family, model: Model, settings: FitSettings) -> str:
    """Values without noise follow some formula: if no model meets them, theirs is not among those that were tried."""
    if not settings.exact or _below_zero(model):
        return ""
    total = float((family.scaled**2).sum())
    left = float((family.plain.residuals[0] ** 2).sum())
    if left <= MET**2 * total:
        return ""
    terms = min(settings.terms, int(coefficient_limit(family.counts[None])[0]))
    sums = f"none of the sums of up to {terms} terms that were tried" if terms > 1 else "no constant"
    sums = "no model of one term" if terms == 1 else sums
    more = "terms may have to be subtracted (negative coefficients) or shrink (negative exponents)"
    more = "other exponents or more terms may be needed" if settings.negative else more
    return f"The values have no noise, but {sums} meets them: beyond them the model is a guess; {more}."


def _falling(family: Family, parameters: tuple[str, ...]) -> str:
    """Parameters with which the values fall, at points that are alike in all others, and the model does not."""
    there = family.root > 0
    points, root = family.points[there], family.root[there]
    values = family.scaled[there] / root
    modelled = values - family.solution().residuals[0][there] / root
    names = []
    for k, name in enumerate(parameters):
        alike = np.unique(np.delete(points, k, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        sizes = _means(np.abs(values), alike)
        sizes[sizes == 0] = 1.0
        parts: list[Array] = [np.log(points[:, k]), values / sizes, modelled / sizes]
        x, seen, said = (one - _means(one, alike) for one in parts)
        spread = float(np.sqrt((x**2).sum() * (seen**2).sum()))
        if not spread or np.ptp(seen) <= _ALIKE:
            continue
        if float(x @ seen) <= -_FALLS * spread and float(x @ said) > _FALLS / 2 * float(x @ seen):
            names.append(name)
    if not names:
        return ""
    return (
        f"The values fall with {' and '.join(names)}, and the model does not, since no term may shrink: allow negative "
        "exponents (--negative-exponents)."
    )


def _means(values: Array, alike: Any) -> Array:
    """(N,) the mean of the group of each value; ``alike``: (N,) the number of its group."""
    return np.asarray((np.bincount(alike, values) / np.bincount(alike))[alike])


def _undecided(models: list[Model], target: Array) -> str:
    """Names the rival that differs most from the model at the target, if by enough to matter."""
    if len(models) < 2:
        return ""
    first, *others = [float(model.evaluate(target)) for model in models]
    if not first:
        return ""
    place = int(np.argmax(np.abs(np.array(others) - first)))
    share = others[place] / first - 1
    if abs(share) < _ALIKE:
        return ""
    at = point_text(models[0].parameters, target)
    return (
        f"The data cannot tell {models[0].text} from {models[1 + place].text}: at {at} the first gives {first:.4g}, "
        f"the second {others[place]:.4g} ({share:+z.0%})."
    )


def _between(family: Family, model: Model, target: Array) -> str:
    """Few points are nearly met by models of other exponents too, which may differ by enough to matter."""
    value = float(model.evaluate(target))
    between = between_exponents(family, np.zeros(1, dtype=np.int64), target)
    freedom, share = int(between.freedoms[0]), float(between.widths[0]) / abs(value) if value else 0.0
    if freedom > _FEW_FREEDOMS or not _ALIKE <= share < np.inf:
        return ""
    return (
        f"{int(family.counts)} points leave {freedom} degree{'s' * (freedom > 1)} of freedom where exponents may lie "
        f"between those that were tried: at {point_text(model.parameters, target)} such models differ from this one by "
        f"{share:.0%}, and the interval is as wide as that."
    )


def repetition_warnings(
    tried: Sequence[tuple[OutlierRepetition, Model]], points: Array, model: Model, target: Array
) -> Iterator[FitWarning]:
    """Yield a warning of the outlier that changes the prediction at the target most, if by enough to matter.

    ``tried``: outlier repetitions, each with the model fitted without it.
    """
    here = float(model.evaluate(target))
    changes = [abs(float(other.evaluate(target)) / here - 1) if here else 0.0 for _, other in tried]
    if not changes or max(changes) < _ALIKE:
        return
    one, other = tried[int(np.argmax(changes))]
    there = float(other.evaluate(target))
    yield FitWarning(
        OUTLIER_REPETITION,
        f"Repetition {one.repetition + 1} at {point_text(model.parameters, points[one.point])} is an outlier: measured "
        f"{one.measured:.6g}, the others of that point {one.others:.6g} on average ({_deviations(one)}); it was used; "
        "--robust leaves it out. "
        f"Without it the model is {other.text}, which gives {there:.4g} at {point_text(model.parameters, target)} "
        f"instead of {here:.4g}.",
    )


def _far(outlier: Outlier) -> str:
    at = ", ".join(f"{name}={x:.12g}" for name, x in itertools.islice(outlier.point.items(), 4))
    return (
        f"An outlier at {at}: measured {outlier.measured:.6g}, the other points say {outlier.expected:.6g} "
        f"({_deviations(outlier)}); it was used; --robust leaves it out."
    )


def _deviations(outlier: Outlier | OutlierRepetition) -> str:
    """Return the deviation in words.

    If the others meet the model nearly to rounding, the number of times that this one is farther off is meaningless.
    """
    far = abs(outlier.deviations)
    if far < _COUNTABLE:
        return f"{far:.1f} standard deviations"
    return "the others meet the model far better" if isinstance(outlier, Outlier) else "the others hardly differ"

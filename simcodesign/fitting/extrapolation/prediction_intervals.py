"""Prediction intervals that know that the model was chosen, not given.

An interval covers a further measurement: the mean of as many repetitions as the points have (the maximum, if they
differ; with one repetition, of a single measurement).

Every remembered model of a series predicts a value with Student's t distribution around it: its variance is that of
the coefficients (and fitted exponents, to first order) and of one further measurement. The models are mixed with
weights exp(-score / 2), the score being a description length in nats; the interval holds the middle of that mixture.
Where one model is far ahead it is the textbook interval of regression; if several are level it spans all of them.

The half: the remembered models are a few of all that were tried, with short descriptions, and represent the others.
With the full difference the intervals for exponents off the grid were too narrow on made-up measurements.

Where even the last of many remembered models is nearly as good as the first, those that were not remembered are too,
and their exponents lie between and beyond the exponents of the remembered. Then the exponents of every model count as
fitted: their uncertainty, to first order, is the uncertainty of the models left out.

A quarter of the mixture is the best model with exponents between those tried (``between_exponents``): without it the
intervals around models of few points without noise had almost no width, and in general they held too few values that
grow with exponents off the grid (24 to 89 % instead of 90). With it intervals are rather too wide than too narrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from simcodesign.fitting.extrapolation.between_exponents import between_exponents
from simcodesign.fitting.selection.candidate_fits import Flags
from simcodesign.fitting.selection.candidates import KEPT
from simcodesign.fitting.selection.least_squares import Family
from simcodesign.fitting.selection.term_basis import Array, Index

#: The part of the mixture for exponents between the tried ones.
BETWEEN = 0.25
#: Nats of description length that count as one in the mixture.
SPREAD = 2.0
#: As many models again as light as the last one may be missing, if they weigh less than this: what an interval of 90 %
#: leaves out on either side.
_MISSING = 0.05
_PRECISION = 1e-12
#: Halvings after which a bracket cannot become smaller in floating point.
_MOST_STEPS = 2200


@dataclass(frozen=True)
class Prediction:
    """A value of the model with the interval of a further measurement.

    It lies there with probability ``level``: the mean of as many repetitions as the points have.

    Values are in the unit of the metric. ``low`` and ``high`` are not numbers where the points leave nothing to judge
    by.
    """

    value: float
    low: float
    high: float
    level: float = 0.9


@dataclass(frozen=True)
class Mixture:
    """Student's t distributions of N models: centres, widths, degrees of freedom and weights, all (N,)."""

    centres: Array
    widths: Array
    freedoms: Array
    weights: Array

    def below(self, value: float) -> float:
        """Return the probability of a smaller value."""
        return float(self.weights @ _below(value, self.centres, self.widths, self.freedoms))

    def quantile(self, probability: float) -> float:
        """Return the value below which a measurement lies with this probability."""
        return self._quantile(probability, *self._reach(min(probability, 1 - probability)))

    def interval(self, tail: float) -> tuple[float, float]:
        """Return the values below and above which a measurement lies with probability ``tail`` each."""
        ends = self._reach(tail)
        return self._quantile(tail, *ends), self._quantile(1 - tail, *ends)

    def _reach(self, tail: float) -> tuple[float, float]:
        """Return the lowest and the highest quantile of a single model: the quantile of the mixture lies between."""
        used = self.weights > 0
        reach = special.stdtrit(self.freedoms, 1 - tail) * self.widths
        return float((self.centres - reach)[used].min()), float((self.centres + reach)[used].max())

    def _quantile(self, probability: float, low: float, high: float) -> float:
        """Find the quantile by Brent's method between ``low`` and ``high``."""
        size = _PRECISION * max(abs(low), abs(high))
        if high - low <= size:
            return low + (high - low) / 2
        with np.errstate(over="ignore"):
            miss = self._miss(probability)
            # Models without error are steps, which may be at an end; due to rounding, an end may also be the quantile.
            if miss(low) >= 0:
                return low
            if miss(high) <= 0:
                return high
            return float(optimize.brentq(miss, low, high, xtol=_PRECISION * size, rtol=_PRECISION, maxiter=_MOST_STEPS))

    def _miss(self, probability: float) -> Callable[[float], float]:
        """How far below or above the probability a value lies; quick, because it is called often."""
        freedoms, weights = self.freedoms, self.weights
        scale = 1 / np.maximum(self.widths, 1e-300)
        shift = self.centres

        def miss(value: float) -> float:
            return float(weights @ special.stdtr(freedoms, (value - shift) * scale)) - probability

        return miss


def _below(value: Array | float, centres: Array, widths: Array, freedoms: Array) -> Array:
    # A model without error is a step at its value.
    with np.errstate(over="ignore"):
        return np.asarray(special.stdtr(freedoms, (value - centres) / np.maximum(widths, 1e-300)))


def weights_of(scores: Array) -> Array:
    """Return the fraction of belief in each model, from description lengths in nats."""
    with np.errstate(over="ignore", invalid="ignore"):
        likelihoods = np.exp(-(scores - scores.min()) / SPREAD)
    likelihoods = np.where(np.isfinite(scores), likelihoods, 0.0)
    return np.asarray(likelihoods / likelihoods.sum())


def mixture(family: Family, point: Array) -> Mixture:
    """Distribution of a measurement at a point (m,), by the models of a family, which belong to one series."""
    return _with_between(of_models(family, point), family, np.zeros(1, dtype=np.int64), point)


def of_models(family: Family, point: Array) -> Mixture:
    """Mixture without exponents between the tried ones."""
    weights = weights_of(family.scores)
    if len(weights) >= KEPT and len(weights) * weights[-1] > _MISSING:
        family = family.fitted
    return _mixed(family, point, weights)


def _with_between(mixed: Mixture, family: Family, starts: Index, point: Array) -> Mixture:
    """Add the best model of each series, with exponents between those that were tried.

    Series are one after the other from ``starts`` (S,) on; it follows the models of its series.
    """
    between = between_exponents(family, starts, point)
    after = np.append(starts[1:], len(mixed.weights))
    return Mixture(
        np.insert(mixed.centres, after, mixed.centres[starts]),
        np.insert(mixed.widths, after, between.widths),
        np.insert(mixed.freedoms, after, between.freedoms),
        np.insert(mixed.weights * (1 - BETWEEN), after, BETWEEN),
    )


def _mixed(family: Family, point: Array, weights: Array) -> Mixture:
    centres, variance = family.at(point)
    freedoms = family.counts - family.numbers
    variances = (family.plain.residuals**2).sum(1) / np.maximum(freedoms, 1.0)
    # Weighted residuals are relative ones where weights are: a further measurement varies in proportion as well.
    relative, size = family.further
    further = variances * (np.where(relative, np.abs(centres), 1.0) / size) ** 2
    widths = np.sqrt(variances * variance + further)
    return Mixture(centres, widths, np.maximum(freedoms, 1.0), weights)


def predict(family: Family, point: Array, level: float) -> Prediction:
    """Return the prediction of the best model at a point (m,).

    With the interval of all of them, which belong to one series.
    """
    distribution = mixture(family, point)
    value = float(distribution.centres[0])
    if family.counts < 2 or not np.isfinite(distribution.widths).all():
        return Prediction(value, float("nan"), float("nan"), level)
    tail = (1 - level) / 2
    low, high = distribution.interval(tail)
    return Prediction(value, min(low, value), max(high, value), level)


# --- Many series together -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predictions:
    """Predictions of S series, as in ``Prediction``: ``value``, ``low`` and ``high``, all (S,)."""

    value: Array
    low: Array
    high: Array
    level: float = 0.9


def predict_all(family: Family, starts: Index, point: Array, level: float) -> Predictions:
    """Return the predictions of S series at a point (m,), whose models follow one another in the family.

    The models of each from ``starts`` (S,) on, best first. Equal to ``predict`` for each alone, except for rounding.
    """
    sizes = np.diff(np.append(starts, len(family.scores)))
    weights = np.exp(-(family.scores - np.repeat(family.scores[starts], sizes)) / SPREAD)
    weights /= np.repeat(np.add.reduceat(weights, starts), sizes)
    missing = (sizes >= KEPT) & (sizes * weights[starts + sizes - 1] > _MISSING)
    made = _mixed(_counted_as_fitted(family, np.repeat(missing, sizes)), point, weights)
    made = _with_between(made, family, starts, point)
    first, starts, sizes = starts, starts + np.arange(len(starts)), sizes + 1
    value = made.centres[starts]
    usable = (family.counts[first] >= 2) & np.logical_and.reduceat(np.isfinite(made.widths), starts)
    rows = np.flatnonzero(usable)
    low, high = np.full(len(starts), np.nan), np.full(len(starts), np.nan)
    if len(rows):
        of = np.repeat(usable, sizes)
        some = Mixture(made.centres[of], made.widths[of], made.freedoms[of], made.weights[of])
        ends = _quantiles(some, sizes[rows], (1 - level) / 2)
        low[rows], high[rows] = np.minimum(ends[0], value[rows]), np.maximum(ends[1], value[rows])
    return Predictions(value, low, high, level)


def _counted_as_fitted(family: Family, rows: Flags) -> Family:
    free = family.free | rows
    return Family(family.points, family.root, family.scaled, family.shapes, family.constant, family.scores, free)


def _quantiles(mixed: Mixture, sizes: Index, tail: float) -> Array:
    """Return the quantiles ``tail`` and 1 - ``tail`` of the mixtures of S series, with ``sizes`` models each.

    Shape (2, S).
    """
    starts = np.append(0, np.cumsum(sizes)[:-1])
    reach = special.stdtrit(mixed.freedoms, 1 - tail) * mixed.widths
    used = mixed.weights > 0
    low = np.minimum.reduceat(np.where(used, mixed.centres - reach, np.inf), starts)
    high = np.maximum.reduceat(np.where(used, mixed.centres + reach, -np.inf), starts)
    which = np.repeat(np.arange(len(sizes)), sizes)

    def miss(at: Array, open_: Flags) -> Array:
        """How far each value at (2, S) is above its probability; only where the search is open."""
        misses = np.zeros(at.shape)
        for end, probability in enumerate((tail, 1 - tail)):
            models = np.flatnonzero(open_[end][which])
            if len(models):
                own = which[models]
                shares = _below(at[end][own], mixed.centres[models], mixed.widths[models], mixed.freedoms[models])
                sums = np.bincount(own, mixed.weights[models] * shares, len(sizes))
                misses[end] = np.where(open_[end], sums - probability, 0.0)
        return misses

    return _zeros(miss, np.stack([low, low]), np.stack([high, high]))


def _zeros(miss: Callable[[Array, Flags], Array], low: Array, high: Array) -> Array:
    """Find the zeros of rising functions between ``low`` and ``high``, all together.

    Inverse quadratic interpolation within a bracket, bisection if it is not to be trusted: Chandrupatla, "A new
    hybrid quadratic/bisection algorithm", Advances in Engineering Software 28 (1997).
    """
    size = _PRECISION * np.maximum(np.abs(low), np.abs(high))
    open_: Flags = np.ones(low.shape, dtype=np.bool_)
    a, b = high, low
    f_a, f_b = miss(a, open_), miss(b, open_)
    # Models without error are steps, which may be at an end.
    zeros = np.where(f_b >= 0, b, np.where(f_a <= 0, a, b + (a - b) / 2))
    open_ &= (f_b < 0) & (f_a > 0) & (np.abs(a - b) > size)
    share = np.full(low.shape, 0.5)
    for _ in range(_MOST_STEPS):
        if not open_.any():
            break
        at = np.where(open_, a + share * (b - a), a)
        f_at = miss(at, open_)
        same = np.sign(f_at) == np.sign(f_a)
        c, f_c = np.where(same, a, b), np.where(same, f_a, f_b)
        b, f_b = np.where(same, b, a), np.where(same, f_b, f_a)
        a, f_a = at, f_at
        best = np.where(np.abs(f_a) < np.abs(f_b), a, b)
        zeros = np.where(open_, best, zeros)
        width = np.abs(b - a)
        smallest = 0.5 * (_PRECISION * np.abs(best) + _PRECISION * size)
        open_ &= (f_a != 0) & (width > 2 * smallest)
        share = _next_share(a, b, c, f_a, f_b, f_c, smallest / np.where(width > 0, width, 1.0))
    return zeros


def _next_share(a: Array, b: Array, c: Array, f_a: Array, f_b: Array, f_c: Array, least: Array) -> Array:
    """Where between a (0) and b (1) the function is looked at next."""
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        first = f_a / (f_b - f_a) * f_c / (f_b - f_c)
        second = (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        share = np.where(trusted & np.isfinite(first + second), first + second, 0.5)
    return np.asarray(np.clip(share, np.minimum(least, 0.5), np.maximum(1 - least, 0.5)))

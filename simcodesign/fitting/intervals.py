"""Prediction intervals that know that the model was chosen, not given.

Every remembered model of a series predicts a value with Student's t distribution around it: its variance is that of
the coefficients (and fitted exponents, to first order) and of one further measurement. The models are mixed with
weights exp(-score / 2), the score being a description length in nats; the interval holds the middle of that mixture.
Where one model is far ahead it is the textbook interval of regression; where several are level it spans all of them.

The half: the remembered models are a few of all that were tried, those of short description, and stand for the others.
With the full difference the intervals for exponents off the grid were too narrow on made-up measurements.

Where even the last of many remembered models is nearly as good as the first, those that were not remembered are too,
and their exponents lie between and beyond those of the remembered. Then the exponents of every model count as fitted:
their uncertainty, to first order, is that of the models left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from simcodesign.fitting.basis import Array
from simcodesign.fitting.candidates import KEPT
from simcodesign.fitting.linear import Family
from simcodesign.fitting.search import orthonormal

#: Nats of description length that count as one in the mixture.
SPREAD = 2.0
#: As many models again as light as the last one may be missing, if they weigh less than this: what an interval of 90 %
#: leaves out on either side.
_MISSING = 0.05
_PRECISION = 1e-12


@dataclass(frozen=True)
class Prediction:
    """A value of the model with the interval in which a measurement lies with probability ``level``.

    In the unit of the metric. ``low`` and ``high`` are not numbers where the points leave nothing to judge by.
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
        """The probability of a smaller value."""
        # A model without error is a step at its value.
        with np.errstate(over="ignore"):
            distance = (value - self.centres) / np.maximum(self.widths, 1e-300)
        return float(self.weights @ special.stdtr(self.freedoms, distance))

    def quantile(self, probability: float) -> float:
        """The value below which a measurement lies with this probability, by bisection."""
        used = self.weights > 0
        reach = special.stdtrit(self.freedoms, max(probability, 1 - probability)) * self.widths
        low, high = float((self.centres - reach)[used].min()), float((self.centres + reach)[used].max())
        while high - low > _PRECISION * max(abs(low), abs(high)):
            middle = low + (high - low) / 2
            low, high = (middle, high) if self.below(middle) < probability else (low, middle)
        return low + (high - low) / 2


def weights_of(scores: Array) -> Array:
    """The share of belief in each model, from description lengths in nats."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.exp(-(scores - scores.min()) / SPREAD)
    found = np.where(np.isfinite(scores), found, 0.0)
    return np.asarray(found / found.sum())


def mixture(family: Family, point: Array) -> Mixture:
    """What the models of a family say about a measurement at a point (m,)."""
    if len(family.scores) >= KEPT and len(family.scores) * weights_of(family.scores)[-1] > _MISSING:
        family = replace(family, free=np.ones_like(family.free))
    solution = family.solution()
    at = family.columns(point[None])[:, :, 0]
    units, inverse = orthonormal(family.tangents(family.points) * family.root)
    # Tangents of fitted exponents are those of the whole model: times the coefficients of the terms.
    along = np.einsum("npq,np->nq", inverse, family.tangents(point[None])[:, :, 0])
    numbers = (units**2).sum((1, 2))
    counts = float((family.root > 0).sum())
    freedoms = counts - numbers
    variances = (solution.residuals**2).sum(1) / np.maximum(freedoms, 1.0)
    centres = (solution.coefficients * at).sum(1)
    # Weighted residuals are relative ones where weights are: a further measurement varies in proportion as well.
    further = variances * _further(family, centres) ** 2
    widths = np.sqrt(variances * (along**2).sum(1) + further)
    return Mixture(centres, widths, np.maximum(freedoms, 1.0), weights_of(family.scores))


def _further(family: Family, centres: Array) -> Array:
    """One over the root of the weight of a measurement of such values: by the weights of the measured ones."""
    there = family.root > 0
    values = np.abs(family.scaled[there] / family.root[there])
    per = family.root[there] * np.maximum(values, 1e-300)
    if np.ptp(per) <= 0.5 * per.max():  # weights go as one over the value: the error is relative
        return np.asarray(np.abs(centres) / np.median(per))
    return np.full_like(centres, 1.0 / np.median(family.root[there]))


def predict(family: Family, point: Array, level: float) -> Prediction:
    """The prediction of the best model at a point (m,), with the interval of all of them."""
    found = mixture(family, point)
    value = float(found.centres[0])
    if (family.root > 0).sum() < 2 or not np.isfinite(found.widths).all():
        return Prediction(value, float("nan"), float("nan"), level)
    tail = (1 - level) / 2
    low, high = found.quantile(tail), found.quantile(1 - tail)
    return Prediction(value, min(low, value), max(high, value), level)

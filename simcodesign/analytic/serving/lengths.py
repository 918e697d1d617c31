"""Probabilities of whole lengths of requests, and laws of few values instead of many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from simcodesign.describe.programs.serving import Length

Floats = NDArray[np.float64]
#: Longer lengths have this probability, and are left out.
TAIL = 1e-7
#: Maximum number of tokens of a length.
MAX_TOKENS = 1_000_000


@dataclass(frozen=True)
class Law:
    """Values and their probabilities, both (N,), the smallest value first."""

    values: Floats
    weights: Floats

    def moment(self, order: int) -> float:
        """E[X^order]."""
        return float(np.sum(self.weights * self.values**order))

    @property
    def mean(self) -> float:
        """E[X]."""
        return self.moment(1)

    @property
    def squared_variation(self) -> float:
        """Variance over squared mean."""
        return max(self.moment(2) / self.mean**2 - 1, 0.0)

    def largest_of(self, count: int) -> Law:
        """Return the law of the largest of ``count`` independent values."""
        below = np.minimum(np.cumsum(self.weights), 1.0) ** count
        return Law(self.values, np.diff(below, prepend=0.0))

    def condensed(self, count: int) -> Law:
        """Return a law of at most 2 ``count`` values with the same mean.

        Means of parts of equal probability, which are finer in the upper tail.
        """
        if len(self.values) <= 2 * count:
            return self
        ends = np.concatenate([np.linspace(0, 0.99, count), 1 - np.geomspace(1e-2, 1e-7, count)[1:]])
        part = np.searchsorted(ends, np.cumsum(self.weights) - self.weights / 2)
        weights = np.bincount(part, self.weights)
        values = np.bincount(part, self.weights * self.values)[weights > 0] / weights[weights > 0]
        return Law(values, np.asarray(weights[weights > 0], dtype=np.float64))

    def at(self, probability: Floats) -> Floats:
        """Return the smallest values whose cumulative probability reaches these."""
        place = np.searchsorted(np.cumsum(self.weights), probability)
        return self.values[np.minimum(place, len(self.values) - 1)]


def law_of(values: Floats, weights: Floats) -> Law:
    """Return the law of values in any order."""
    order = np.argsort(values, axis=None)
    return Law(values.ravel()[order], weights.ravel()[order])


def law_of_length(mean: float, length: Length) -> Law:
    """Return the law of the mean times a random factor, rounded, at least 1."""
    law = length.varies
    if law.constant:
        return Law(np.array([max(np.rint(mean), 1.0)]), np.ones(1))
    if law.name == "empirical":
        factors = np.array(law.values) / np.mean(law.values)
        tokens, counts = np.unique(np.maximum(np.rint(mean * factors), 1.0), return_counts=True)
        return Law(tokens, counts / counts.sum())
    factor = _factor(law.name, law.parameters)
    longest = int(min(max(np.ceil(mean * factor.ppf(1 - TAIL)), 1), MAX_TOKENS))
    tokens = np.arange(1.0, longest + 1)
    weights = np.diff(factor.cdf((tokens + 0.5) / mean), prepend=0.0)
    return Law(tokens, weights / weights.sum())


def _factor(name: str, parameters: Any) -> Any:
    """Return the factor of mean 1, as SciPy has it."""
    match name:
        case "exponential":
            return stats.expon()
        case "erlang":
            return stats.gamma(parameters["stages"], scale=1 / parameters["stages"])
        case "gamma":
            return stats.gamma(parameters["variation"] ** -2, scale=parameters["variation"] ** 2)
        case "lognormal":
            sigma = math.sqrt(math.log1p(parameters["variation"] ** 2))
            return stats.lognorm(sigma, scale=math.exp(-(sigma**2) / 2))
        case "weibull":
            return stats.weibull_min(parameters["shape"], scale=1 / math.gamma(1 + 1 / parameters["shape"]))
        case _:  # uniform
            return stats.uniform(1 - parameters["spread"], 2 * parameters["spread"])

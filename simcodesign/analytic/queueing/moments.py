"""Moments of the random factors of a description, in closed form.

Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 and 2. All factors have mean 1; the moments of a
duration are these, times powers of its mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.describe.randomness.distribution import Distribution

#: The highest order supported by ``moment``: the second moment of a wait needs the third of the service.
MOST_ORDER = 3


def moment(distribution: Distribution, order: int) -> float:
    """E[X^order] of a factor X, order 1 to 3. InputError for another order."""
    if order not in range(1, MOST_ORDER + 1):
        raise InputError("order of a moment", distribution.place, value=order, allowed=f"1 to {MOST_ORDER}")
    return 1.0 if order == 1 else _MOMENTS[distribution.name](distribution, order)


def variation(distribution: Distribution) -> float:
    """Coefficient of variation of a factor: its standard deviation, as its mean is 1."""
    match distribution.name:
        case "gamma" | "lognormal":  # as given: not by way of 1 + v**2, which loses a small v
            return float(distribution.parameters["variation"])
        case "erlang":
            return 1 / math.sqrt(distribution.parameters["stages"])
        case "uniform":
            return distribution.parameters["spread"] / math.sqrt(3)
        case "weibull":
            shape = distribution.parameters["shape"]
            return math.sqrt(math.expm1(math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape)))
        case "empirical":
            values = _over_largest(distribution)
            return float(np.std(values) / np.mean(values))
    return math.sqrt(moment(distribution, 2) - 1)  # exact for the rest: 0 and 1


def product_variation(distributions: tuple[Distribution, ...]) -> float:
    """Coefficient of variation of the product of independent factors; 0 of none."""
    logs = sum(math.log1p(variation(distribution) ** 2) for distribution in distributions)
    return math.sqrt(math.expm1(logs))


def _gamma(squared_variation: float, order: int) -> float:
    """Shape k = 1 / v^2, scale v^2: k (k + 1) ... v^(2 order)."""
    return math.prod(1 + place * squared_variation for place in range(order))


def _uniform(distribution: Distribution, order: int) -> float:
    """Return the even powers of (1 + s u), u uniform in -1 to 1; odd ones vanish."""
    spread = distribution.parameters["spread"]
    return sum(math.comb(order, even) * spread**even / (even + 1) for even in range(0, order + 1, 2))


def _weibull(distribution: Distribution, order: int) -> float:
    shape = distribution.parameters["shape"]
    return math.exp(math.lgamma(1 + order / shape) - order * math.lgamma(1 + 1 / shape))


def _empirical(distribution: Distribution, order: int) -> float:
    values = _over_largest(distribution)
    return float(np.mean(values**order) / np.mean(values) ** order)


def _over_largest(distribution: Distribution) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.array(distribution.values)
    return np.asarray(values / values.max())  # powers of huge values would not be numbers


_MOMENTS: Mapping[str, Callable[[Distribution, int], float]] = {
    "deterministic": lambda distribution, order: 1.0,
    "exponential": lambda distribution, order: float(math.factorial(order)),
    "erlang": lambda distribution, order: _gamma(1 / distribution.parameters["stages"], order),
    "gamma": lambda distribution, order: _gamma(distribution.parameters["variation"] ** 2, order),
    "lognormal": lambda distribution, order: (1 + distribution.parameters["variation"] ** 2) ** math.comb(order, 2),
    "weibull": _weibull,
    "uniform": _uniform,
    "empirical": _empirical,
}

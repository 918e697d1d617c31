"""Moments of the factors against SciPy's distributions and against integrals of their densities."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from simcodesign.analytic.queueing.moments import moment, product_variation, variation
from simcodesign.core.errors import InputError
from simcodesign.describe.randomness.distribution import PARAMETERS, Distribution


def of_scipy(distribution: Distribution) -> object:
    """The same law, of mean 1, as SciPy parametrises it."""
    value = dict(distribution.parameters)
    match distribution.name:
        case "exponential":
            return stats.expon()
        case "erlang":
            return stats.erlang(int(value["stages"]), scale=1 / value["stages"])
        case "gamma":
            return stats.gamma(value["variation"] ** -2, scale=value["variation"] ** 2)
        case "lognormal":
            sigma = math.sqrt(math.log(1 + value["variation"] ** 2))
            return stats.lognorm(sigma, scale=math.exp(-(sigma**2) / 2))
        case "weibull":
            return stats.weibull_min(value["shape"], scale=1 / math.gamma(1 + 1 / value["shape"]))
        case "uniform":
            return stats.uniform(1 - value["spread"], 2 * value["spread"])
    raise AssertionError(distribution.name)


CONTINUOUS = [
    Distribution("exponential"),
    *(Distribution("erlang", {"stages": stages}) for stages in (1, 2, 7, 1000)),
    *(Distribution("gamma", {"variation": share}) for share in (0.05, 0.5, 1, 3)),
    *(Distribution("lognormal", {"variation": share}) for share in (0.05, 0.5, 1, 2)),
    *(Distribution("weibull", {"shape": shape}) for shape in (0.4, 1, 2, 100)),
    *(Distribution("uniform", {"spread": spread}) for spread in (0.01, 0.5, 1)),
]


@pytest.mark.parametrize("distribution", CONTINUOUS, ids=lambda it: it.text)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_moments_are_those_of_scipy(distribution: Distribution, order: int) -> None:
    assert moment(distribution, order) == pytest.approx(of_scipy(distribution).moment(order), rel=1e-9)


@pytest.mark.parametrize("distribution", CONTINUOUS, ids=lambda it: it.text)
def test_the_variation_is_the_standard_deviation_of_scipy(distribution: Distribution) -> None:
    assert variation(distribution) == pytest.approx(of_scipy(distribution).std(), rel=1e-6)


@pytest.mark.parametrize(
    "distribution",
    [
        Distribution("exponential"),
        Distribution("erlang", {"stages": 3}),
        Distribution("gamma", {"variation": 0.7}),
        Distribution("weibull", {"shape": 1.7}),
        Distribution("uniform", {"spread": 0.3}),
        Distribution("lognormal", {"variation": 0.4}),
    ],
    ids=lambda it: it.name,
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_moments_are_integrals_of_the_density(distribution: Distribution, order: int) -> None:
    law = of_scipy(distribution)
    low, high = law.ppf(1e-15), law.isf(1e-15)
    edges = np.linspace(low, high, 60)
    pieces = (integrate.quad(lambda x: x**order * law.pdf(x), *edge)[0] for edge in itertools.pairwise(edges))
    assert moment(distribution, order) == pytest.approx(sum(pieces), rel=1e-9)


def test_what_does_not_vary() -> None:
    fixed = Distribution("deterministic")
    assert [moment(fixed, order) for order in (1, 2, 3)] == [1, 1, 1]
    assert variation(fixed) == 0


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_an_empirical_one_has_the_moments_of_its_values(values: list[float]) -> None:
    distribution = Distribution("empirical", values=tuple(values))
    factors = [value / math.fsum(values) * len(values) for value in values]
    for order in (1, 2, 3):
        expected = math.fsum(factor**order for factor in factors) / len(factors)
        assert moment(distribution, order) == pytest.approx(expected, rel=1e-12)


def test_huge_values_have_moments() -> None:
    assert moment(Distribution("empirical", values=(1e300, 3e300)), 3) == pytest.approx((0.5**3 + 1.5**3) / 2)


@given(st.sampled_from(CONTINUOUS))
def test_the_second_moment_is_that_of_the_variation(distribution: Distribution) -> None:
    assert moment(distribution, 2) == pytest.approx(1 + variation(distribution) ** 2, rel=1e-12)


@given(st.floats(1e-9, 1e-3))
def test_a_small_variation_is_not_lost(share: float) -> None:
    assert variation(Distribution("lognormal", {"variation": share})) == share
    assert variation(Distribution("uniform", {"spread": share})) == pytest.approx(share / math.sqrt(3))
    assert product_variation((Distribution("gamma", {"variation": share}),)) == pytest.approx(share)


def test_a_product_of_independent_factors() -> None:
    two = (Distribution("exponential"), Distribution("gamma", {"variation": 0.5}))
    assert product_variation(two) == pytest.approx(math.sqrt(2 * 1.25 - 1))
    assert product_variation(()) == 0


def test_every_distribution_has_moments() -> None:
    assert {distribution.name for distribution in CONTINUOUS} | {"deterministic", "empirical"} == PARAMETERS.keys()


@pytest.mark.parametrize("order", [0, 4, -1, 1.5])
def test_other_orders_are_refused(order: int) -> None:
    with pytest.raises(InputError, match="order of a moment"):
        moment(Distribution("exponential"), order)

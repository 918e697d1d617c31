"""Distributions: what may be said of them in a file, and draws that follow the law of their name (SciPy's)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simcodesign.core.errors import InputError
from simcodesign.describe.randomness.distribution import MOST_VARIATION, PARAMETERS, Distribution
from simcodesign.describe.yaml.distribution import distribution_from
from simcodesign.describe.yaml.tree import parse_yaml
from simcodesign.generate.randomness.random_streams import random_factors, stream

COUNT = 60_000
VALUES = (0.0, 1.0, 1.0, 4.0, 14.0)


def read(text: str) -> Distribution:
    return distribution_from(parse_yaml(f"a: 1\nvaries: {text}\n", "a.yaml").mapping()["varies"])


def lognormal(variation: float) -> object:
    sigma = math.sqrt(math.log(1 + variation**2))
    return stats.lognorm(sigma, scale=math.exp(-(sigma**2) / 2))


#: What a file says, and the same law in SciPy, of mean 1.
LAWS = [
    ("exponential", stats.expon()),
    ("{distribution: erlang, stages: 1}", stats.expon()),
    ("{distribution: erlang, stages: 3}", stats.gamma(3, scale=1 / 3)),
    ("{distribution: gamma, variation: 50 %}", stats.gamma(4, scale=0.25)),
    ("{distribution: gamma, variation: 2}", stats.gamma(0.25, scale=4)),
    ("{distribution: lognormal, variation: 0.25}", lognormal(0.25)),
    ("25 %", lognormal(0.25)),
    ("{distribution: weibull, shape: 2}", stats.weibull_min(2, scale=2 / math.sqrt(math.pi))),
    ("{distribution: weibull, shape: 0.8}", stats.weibull_min(0.8, scale=1 / math.gamma(2.25))),
    ("{distribution: uniform, spread: 1}", stats.uniform(0, 2)),
    ("{distribution: uniform, spread: 0.3}", stats.uniform(0.7, 0.6)),
]


@pytest.mark.parametrize(("text", "law"), LAWS)
def test_draws_follow_the_law(text: str, law: object) -> None:
    """Kolmogorov and Smirnov's distance; and the first three moments within five standard errors of the sample's."""
    for seed in (1, 2, 3):
        factors = random_factors(read(text), stream(seed, "test"), COUNT)
        assert stats.kstest(factors, law.cdf).pvalue > 1e-3
        for order in (1, 2, 3):
            error = math.sqrt((law.moment(2 * order) - law.moment(order) ** 2) / COUNT)
            assert abs((factors**order).mean() - law.moment(order)) < 5 * error
    assert law.mean() == pytest.approx(1, rel=1e-12)


def test_empirical_values_come_equally_often_over_their_mean() -> None:
    factors = random_factors(Distribution("empirical", values=VALUES), stream(1, "test"), COUNT)
    values, counts = np.unique(factors, return_counts=True)
    assert values == pytest.approx([0, 0.25, 1, 3.5], rel=1e-15)
    expected = COUNT / 5 * np.array([1, 2, 1, 1])
    assert stats.chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize("values", [(5e-324, 0.0), (1e308, 5e307), (3.0,), (1e-300, 1e300)])
def test_empirical_values_of_any_size(values: tuple[float, ...]) -> None:
    factors = random_factors(Distribution("empirical", values=values), stream(1, "test"), 1000)
    expected = np.array(values) / max(values) * len(values) / sum(value / max(values) for value in values)
    assert set(factors) <= {*expected}


CONSTANT = [
    Distribution("deterministic"),
    Distribution("lognormal", {"variation": 0}),
    Distribution("gamma", {"variation": 0.0}),
    Distribution("uniform", {"spread": 0}),
    Distribution("empirical", values=(7.0, 7.0)),
]


@pytest.mark.parametrize("law", CONSTANT)
def test_constant(law: Distribution) -> None:
    assert law.constant
    assert set(random_factors(law, stream(1, "test"), 100)) == {1.0}


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    name = draw(st.sampled_from(sorted(PARAMETERS)))
    numbers = {
        key: draw(st.integers(1, 1000)) if key == "stages" else draw(st.floats(low, high, allow_subnormal=False))
        for key, (low, high) in PARAMETERS[name].items()
    }
    values = (
        draw(st.lists(st.floats(0, 1e300, allow_subnormal=False), min_size=1, max_size=9))
        if name == "empirical"
        else []
    )
    if name == "empirical" and not 0 < sum(values) < math.inf:
        values = [1.0, 2.0]
    return Distribution(name, numbers, tuple(values))


@given(distributions(), st.integers(0, 2**63), st.integers(0, 200))
def test_draws_are_factors_and_repeat(law: Distribution, seed: int, count: int) -> None:
    """Finite, none negative; the same again, and the same at the beginning when there are more."""
    result, more = (random_factors(law, stream(seed, "test"), many) for many in (count, count + 7))
    assert result.shape == (count,)
    assert np.isfinite(result).all()
    assert (result >= 0).all()
    assert result.tolist() == more[:count].tolist()
    if law.constant:
        assert (result == 1).all()


@given(distributions())
def test_what_is_written_is_read(law: Distribution) -> None:
    parts = [f"distribution: {law.name}", *(f"{key}: {value!r}" for key, value in law.parameters.items())]
    parts += [f"values: {list(law.values)}"] if law.values else []
    again = read(f"{{{', '.join(parts)}}}")
    assert again == law
    assert hash(again) == hash(law)


def test_words() -> None:
    assert Distribution("erlang", {"stages": 3}).text == "erlang (stages 3)"
    assert Distribution("empirical", values=VALUES).text == "empirical (5 values)"
    assert Distribution("exponential").text == "exponential"


WRONG = [
    ("exponental", "did you mean 'exponential'"),
    ("''", "not a quantity"),
    ("erlang", "erlang needs its stages (allowed: {distribution: erlang, stages: a whole number, 1 to 1000})"),
    ("lognormal", "lognormal needs its variation"),
    ("empirical", "empirical needs its values"),
    ("-5 %", "a coefficient of variation"),
    ("7", "a coefficient of variation"),
    ("5 s", "unit of time"),
    ("[1, 2]", "must be a mapping"),
    ("{stages: 3}", "'distribution' is missing"),
    (
        "{distribution: erlang, stages: 2.5}",
        "varies.stages: stages of erlang, got 2.5 (allowed: a whole number, 1 to 1000)",
    ),
    ("{distribution: erlang, stages: 0}", "a whole number, 1 to 1000"),
    ("{distribution: erlang, stage: 3}", "did you mean 'stages'"),
    (
        "{distribution: exponential, stages: 3}",
        "the distribution exponential has no parameter 'stages' (allowed: none)",
    ),
    ("{distribution: gamma, shape: 3}", "gamma has no parameter 'shape' (allowed: variation)"),
    ("{distribution: gamma, variation: 1100 %}", "0 to 10"),
    ("{distribution: uniform, spread: 1.1}", "0 to 1"),
    ("{distribution: weibull, shape: 0.1}", "0.2 to 100"),
    ("{distribution: normal, spread: 1}", "not one of the choices"),
    ("{distribution: exponential, values: [1]}", "the distribution exponential has no values"),
    ("{distribution: empirical, values: []}", "needs its values"),
    ("{distribution: empirical, values: [1, -1]}", "none negative"),
    ("{distribution: empirical, values: [0, 0]}", "not all 0"),
    ("{distribution: empirical, values: [1, x]}", "must be a number"),
    ("{distribution: empirical, values: 1}", "must be a sequence"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_cannot_be_is_said_where_it_stands(text: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    assert str(error.value).startswith("a.yaml:2: varies")
    assert words in str(error.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "1", None, True])
def test_parameters_that_are_no_numbers(value: object) -> None:
    with pytest.raises(InputError, match="variation"):
        Distribution("gamma", {"variation": value})


def test_values_that_are_no_numbers() -> None:
    for values in ((math.nan,), (1.0, math.nan), (math.inf,), (1e308, 1e308)):
        with pytest.raises(InputError, match="finite numbers"):
            Distribution("empirical", values=values)


@given(st.text(max_size=40) | st.sampled_from([text for text, _ in WRONG]))
def test_nothing_else_than_an_input_error(text: str) -> None:
    try:
        result = read(text)
    except InputError:
        return
    assert result.name in PARAMETERS
    assert all(value <= max(1000, MOST_VARIATION) for value in result.parameters.values())

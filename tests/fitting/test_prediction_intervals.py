"""Prediction intervals: the textbook ones where one model is certain, and coverage on made-up measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simcodesign.fitting.diagnostics import BETWEEN
from simcodesign.fitting.extrapolation.between_exponents import between_exponents
from simcodesign.fitting.extrapolation.prediction_intervals import (
    Mixture,
    _quantiles,
    mixture,
    of_models,
    predict,
    weights_of,
)
from simcodesign.fitting.fit import fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.selection.least_squares import Family
from simcodesign.fitting.selection.term_basis import Shapes
from tests import examples
from tests.oracles import truth_sets


def line(y: np.ndarray, x: np.ndarray) -> Family:
    """c0 + c1 x alone, weighted equally."""
    one = np.ones((1, 1, 1))
    shapes = Shapes(one, 0 * one, np.zeros((1, 1, 1), dtype=np.int64))
    return Family(x[:, None], np.ones(len(x)), y, shapes, np.array([True]), np.zeros(1), np.array([False]))


def test_one_model_gives_the_interval_of_regression() -> None:
    x = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0])
    y = 2 + 3 * x + np.array([0.1, -0.2, 0.05, 0.1, -0.15, 0.1])
    # Textbook: s^2 (1 + 1/n + (x0 - mean)^2 / Sxx), n - 2 degrees of freedom; slopes by an independent routine.
    regression = stats.linregress(x, y)
    rest = y - regression.intercept - regression.slope * x
    s = np.sqrt((rest**2).sum() / 4)
    at = 20.0
    half = stats.t.ppf(0.95, 4) * s * np.sqrt(1 + 1 / 6 + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    centre = regression.intercept + regression.slope * at
    assert predict(line(y, x), np.array([at]), 0.9).value == pytest.approx(centre, rel=1e-12)
    assert of_models(line(y, x), np.array([at])).interval(0.05) == pytest.approx(
        (centre - half, centre + half), rel=1e-9
    )


def test_the_quantiles_of_a_mixture_are_those_of_its_distribution() -> None:
    mixed = Mixture(np.array([0.0, 10.0]), np.array([1.0, 2.0]), np.array([5.0, 7.0]), np.array([0.3, 0.7]))
    for probability in (0.05, 0.3, 0.5, 0.95):
        at = mixed.quantile(probability)
        direct = 0.3 * stats.t.cdf(at, 5) + 0.7 * stats.t.cdf((at - 10) / 2, 7)
        assert direct == pytest.approx(probability, abs=1e-9)


def test_the_width_between_exponents_is_that_of_the_tangent_model() -> None:
    """Fitted with 1, x, x ln x and x ln ln x by an independent routine: bias and standard error together."""
    x = 2.0 ** np.arange(2, 10)
    y = (3 + 0.1 * x**1.2) * (1 + 0.01 * np.random.default_rng(3).standard_normal(8))

    def columns(x: np.ndarray) -> np.ndarray:
        return np.stack([np.ones_like(x), x, x * np.log(x), x * np.log(np.log(x))], -1)

    matrix, at = columns(x), columns(np.array([4096.0]))[0]
    coefficients, rss, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    straight = np.polynomial.Polynomial.fit(x, y, 1)(4096.0)
    s2 = float(rss[0]) / 4
    variance = s2 * (1 + at @ np.linalg.inv(matrix.T @ matrix) @ at)
    made = between_exponents(line(y, x), np.zeros(1, dtype=np.int64), np.array([4096.0]))
    assert made.freedoms.tolist() == [4]
    assert made.widths[0] == pytest.approx(np.sqrt(variance + (at @ coefficients - straight) ** 2), rel=1e-5)


def grows(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """c + p^a log2(p)^b of any exponents."""
    c, a, b = 10 ** rng.uniform(-1, 1), rng.uniform(0.2, 2.5), rng.uniform(0, 2)
    return lambda p: c + p**a * np.log2(p) ** b / (16**a * 4**b)


@pytest.mark.parametrize(
    ("points", "noise", "repetitions"),
    [(5, 0.0, 1)]
    + [pytest.param(k, s, r, marks=pytest.mark.thorough) for k in (5, 7, 9) for s in (0.0, 0.02, 0.05) for r in (1, 5)],
)
def test_intervals_hold_values_of_exponents_off_the_grid(points: int, noise: float, repetitions: int) -> None:
    """Further measurements at 16 times the largest point, each the mean of as many repetitions; of 150 truths fewer than
    127 would have a chance of one in forty if each were held with 90 %."""
    rng, count = np.random.default_rng([91, points]), 150
    p = 4 * 2.0 ** np.arange(points)
    truths = [grows(rng) for _ in range(count)]
    values = np.array([truth(p) for truth in truths])[:, :, None]
    values = values * (1 + noise * rng.standard_normal((count, points, repetitions)))
    names = tuple(map(str, range(count)))
    made = fit(Measurements(("p",), p[:, None], names, ("t",) * count, values)).predictions([16 * p[-1]])
    further = 1 + noise * rng.standard_normal((count, repetitions)).mean(1)
    further *= np.array([float(truth(16 * p[-1])) for truth in truths])
    held = int(((made.low <= further * (1 + 1e-9)) & (further * (1 - 1e-9) <= made.high)).sum())
    assert held >= stats.binom.ppf(0.025, count, 0.9)


def test_few_points_between_exponents_are_a_warning() -> None:
    """Five values of p^0.62: no model of the set meets them, and several nearly do."""
    p = 4 * 2.0 ** np.arange(5)
    for values, kinds in ((2 + p**0.62, {"undecided", BETWEEN}), (2 + p**0.5, set())):
        one = fit(Measurements(("p",), p[:, None], ("r",), ("t",), values[None, :, None]), target=[4096])[0]
        assert bool({kind for kind, _ in one.warnings} & kinds) == bool(kinds)
        prediction, truth = one.predict([4096]), 2 + 4096**0.62 if kinds else 66
        assert prediction.low * (1 - 1e-9) <= truth <= prediction.high * (1 + 1e-9)


def test_weights_of_scores() -> None:
    assert weights_of(np.array([1.0, 1.0, np.inf])).tolist() == [0.5, 0.5, 0.0]
    assert weights_of(np.array([1e6, 1e6 + 2.0])) == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_one_point_has_no_interval() -> None:
    one = Measurements(("p",), np.array([[4.0]]), ("r",), ("t",), np.array([[[3.0]]]))
    prediction = fit(one)[0].predict([8.0])
    assert prediction.value == 3.0
    assert np.isnan(prediction.low)
    assert np.isnan(prediction.high)


def test_without_noise_the_interval_is_the_value() -> None:
    truths, values = truth_sets.make(truth_sets.product, 5, 0.0, 1, seed=7)
    names = tuple(map(str, range(5)))
    for truth, made in zip(
        truths, fit(Measurements(("p", "n"), truth_sets.GRID, names, ("t",) * 5, values)), strict=True
    ):
        prediction = made.predict(truth_sets.TARGET)
        expected = float(truth(truth_sets.TARGET))
        assert (prediction.low, prediction.value, prediction.high) == pytest.approx((expected,) * 3, rel=1e-6)


def test_a_wider_level_is_a_wider_interval() -> None:
    _, values = truth_sets.make(truth_sets.in_space, 4, 0.05, 1, seed=3)
    names = tuple(map(str, range(4)))
    for made in fit(Measurements(("p", "n"), truth_sets.GRID, names, ("t",) * 4, values)):
        inner, outer = (made.predict(truth_sets.TARGET, level) for level in (0.5, 0.95))
        assert outer.low <= inner.low <= inner.value <= inner.high <= outer.high
        assert np.isfinite(mixture(made.family, truth_sets.TARGET).widths).all()


@pytest.mark.parametrize("seed", [31])
def test_intervals_of_ninety_percent_hold_the_truth(seed: int) -> None:
    """Of 150 truths; fewer than 124 would have a chance of one in a hundred if each were held with 90 %."""
    count = 150
    truths, values = truth_sets.make(truth_sets.product, count, 0.05, 5, seed)
    names = tuple(map(str, range(count)))
    fits = fit(Measurements(("p", "n"), truth_sets.GRID, names, ("t",) * count, values))
    held = 0
    for truth, made in zip(truths, fits, strict=True):
        prediction = made.predict(truth_sets.TARGET)
        held += prediction.low <= float(truth(truth_sets.TARGET)) <= prediction.high
    assert held >= stats.binom.ppf(0.01, count, 0.9)


def test_level_models_count_as_fitted() -> None:
    """Many models of one description stand for more that are not remembered: their exponents are as good as fitted."""
    x = np.geomspace(2.0, 64.0, 9)
    one = line((3 + 2 * x**1.1) * (1 + 0.02 * np.random.default_rng(4).standard_normal(9)), x)
    exponents = np.linspace(0.9, 1.3, 20)[:, None, None]
    shapes = Shapes(exponents, 0 * exponents, np.zeros((20, 1, 1), dtype=np.int64))
    flags = np.zeros(20, dtype=np.bool_)
    level = replace(one, shapes=shapes, constant=~flags, scores=np.zeros(20), free=flags)
    at = np.array([500.0])
    assert of_models(level, at).widths == pytest.approx(of_models(replace(level, free=~flags), at).widths)
    ranked = replace(level, scores=np.arange(20.0) * 2)
    assert (of_models(ranked, at).widths < of_models(level, at).widths).all()


# The quick ways against plain bisection.


def bisected(mixed: Mixture, probability: float) -> float:
    """The quantile by halving a bracket, with the distribution of another module."""

    def below(value: float) -> float:
        steps = np.where(value < mixed.centres, 0.0, np.where(value > mixed.centres, 1.0, 0.5))
        with np.errstate(all="ignore"):
            smooth = stats.t.cdf((value - mixed.centres) / mixed.widths, mixed.freedoms)
        return float(mixed.weights @ np.where(mixed.widths > 0, smooth, steps))

    reach = stats.t.ppf(max(probability, 1 - probability), mixed.freedoms) * mixed.widths
    low, high = float((mixed.centres - reach).min()), float((mixed.centres + reach).max())
    for _ in range(300):
        middle = low + (high - low) / 2
        low, high = (middle, high) if below(middle) < probability else (low, middle)
    return high


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    """Also with models without error, equal models, and values of very different sizes."""
    count = draw(st.integers(1, 6))
    sizes = st.one_of(st.floats(0.01, 1e3), st.sampled_from([1.0, 7.0, 1e9]))

    def some(numbers: st.SearchStrategy[float]) -> np.ndarray:
        return np.array(draw(st.lists(numbers, min_size=count, max_size=count)))

    relative = st.sampled_from([0.0, 1e-12, 1e-6, 0.01, 0.3])
    centres, weights = some(sizes), some(st.floats(0.01, 1.0))
    return Mixture(centres, centres * some(relative), some(st.sampled_from([1.0, 3.0, 23.0])), weights / weights.sum())


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(mixtures(), min_size=1, max_size=4), st.sampled_from([0.005, 0.05, 0.25]))
@pytest.mark.thorough
def test_quantiles_are_those_of_bisection(every: list[Mixture], tail: float) -> None:
    """Alone and many at once."""
    joined = Mixture(
        *(
            np.concatenate([getattr(one, name) for one in every])
            for name in ("centres", "widths", "freedoms", "weights")
        )
    )
    lows, highs = _quantiles(joined, np.array([len(one.weights) for one in every]), tail)
    for one, low, high in zip(every, lows, highs, strict=True):
        # Near nought the size of the bracket counts: no digit of it is known better.
        size = 1e-8 * float((np.abs(one.centres) + one.widths).max()) * 1e-6
        expected = [bisected(one, probability) for probability in (tail, 1 - tail)]
        assert [low, high] == pytest.approx(expected, rel=1e-8, abs=size)
        assert one.interval(tail) == pytest.approx(expected, rel=1e-8, abs=size)
        assert one.quantile(tail) == pytest.approx(expected[0], rel=1e-8, abs=size)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
def test_predictions_of_all_are_those_of_each(noise: float) -> None:
    """With missing points, a series of zeros and one of a single point, and different weights of points."""
    _, values = truth_sets.make(truth_sets.two_terms, 12, noise, 2, seed=21)
    values[3, 5:9] = np.nan
    values[4] = 0.0
    values[5, 1:] = np.nan
    values[6, ::2, 1] = np.nan
    values[7, 3] = 0.0
    names = tuple(map(str, range(12)))
    for weighting in ("relative", "absolute"):
        data = Measurements(("p", "n"), truth_sets.GRID, names, ("t",) * 12, values)
        fits = fit(data, terms=2, weighting=weighting)
        result = fits.predictions({"n": 9000.0, "p": 3000.0}, 0.8)
        for row, one in enumerate(fits):
            alone = one.predict([3000.0, 9000.0], 0.8)
            expected = (alone.value, alone.low, alone.high)
            assert (result.value[row], result.low[row], result.high[row]) == pytest.approx(
                expected, rel=1e-8, nan_ok=True
            )


def test_predictions_are_made_of_few_series_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are many points, memory stays bounded; the numbers are the same."""
    _, values = truth_sets.make(truth_sets.in_space, 7, 0.05, 1, seed=22)
    data = Measurements(("p", "n"), truth_sets.GRID, tuple(map(str, range(7))), ("t",) * 7, values)
    fits = fit(data)
    whole = fits.predictions(truth_sets.TARGET)
    monkeypatch.setattr("simcodesign.fitting.fits._NUMBERS_IN_MEMORY", 1)
    few = fit(data).predictions(truth_sets.TARGET)
    for name in ("value", "low", "high"):
        assert getattr(few, name) == pytest.approx(getattr(whole, name), rel=1e-11)

"""Prediction intervals: the textbook ones where one model is certain, and coverage on made-up measurements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import truth_sets
from scipy import stats

from simcodesign.fitting.basis import Shapes
from simcodesign.fitting.intervals import Mixture, mixture, predict, weights_of
from simcodesign.fitting.linear import Family
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.select import fit


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
    found = predict(line(y, x), np.array([at]), 0.9)
    centre = regression.intercept + regression.slope * at
    assert found.value == pytest.approx(centre, rel=1e-12)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), rel=1e-9)


def test_the_quantiles_of_a_mixture_are_those_of_its_distribution() -> None:
    mixed = Mixture(np.array([0.0, 10.0]), np.array([1.0, 2.0]), np.array([5.0, 7.0]), np.array([0.3, 0.7]))
    for probability in (0.05, 0.3, 0.5, 0.95):
        at = mixed.quantile(probability)
        direct = 0.3 * stats.t.cdf(at, 5) + 0.7 * stats.t.cdf((at - 10) / 2, 7)
        assert direct == pytest.approx(probability, abs=1e-9)


def test_weights_of_scores() -> None:
    assert weights_of(np.array([1.0, 1.0, np.inf])).tolist() == [0.5, 0.5, 0.0]
    assert weights_of(np.array([1e6, 1e6 + 2.0])) == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_one_point_has_no_interval() -> None:
    one = Measurements(("p",), np.array([[4.0]]), ("r",), ("t",), np.array([[[3.0]]]))
    found = fit(one)[0].predict([8.0])
    assert found.value == 3.0
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_without_noise_the_interval_is_the_value() -> None:
    truths, values = truth_sets.make(truth_sets.product, 5, 0.0, 1, seed=7)
    names = tuple(map(str, range(5)))
    for truth, made in zip(
        truths, fit(Measurements(("p", "n"), truth_sets.GRID, names, ("t",) * 5, values)), strict=True
    ):
        found = made.predict(truth_sets.TARGET)
        expected = float(truth(truth_sets.TARGET))
        assert (found.low, found.value, found.high) == pytest.approx((expected,) * 3, rel=1e-6)


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
        found = made.predict(truth_sets.TARGET)
        held += found.low <= float(truth(truth_sets.TARGET)) <= found.high
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
    assert mixture(level, at).widths == pytest.approx(mixture(replace(level, free=~flags), at).widths)
    told = replace(level, scores=np.arange(20.0) * 2)
    assert (mixture(told, at).widths < mixture(level, at).widths).all()

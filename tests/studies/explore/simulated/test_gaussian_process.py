"""The Gaussian process against closed forms by hand and the ordinary kriging system; expected improvement against
numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from simcodesign.studies.explore.simulated.expected_improvement import expected_improvement, probability_between
from simcodesign.studies.explore.simulated.gaussian_process import conditioned, fitted
from tests import examples

NUMBERS = np.array([False])


def covariance(first: float, second: float, scale: float) -> float:
    """Matern 5/2, as Rasmussen and Williams 2006, equation 4.17, has it."""
    away = math.sqrt(5) * abs(first - second) / scale
    return (1 + away + away * away / 3) * math.exp(-away)


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(0.05, 0.95), st.floats(-3, 3), st.floats(-3, 3).filter(lambda y: abs(y) > 0.1), st.floats(0.1, 2.0))
def test_two_samples_by_hand(x: float, low: float, difference: float, scale: float) -> None:
    """Two samples at 0 and 1: everything is a formula of the three correlations."""
    values = np.array([low, low + difference])
    process = conditioned(np.array([[0.0], [1.0]]), values, np.array([scale]), 0.0, NUMBERS)
    r, first, second = covariance(0, 1, scale), covariance(0, x, scale), covariance(1, x, scale)
    mean = low + difference / 2 + (second - first) * (difference / 2) / (1 - r)
    variance = difference**2 / (4 * (1 - r))
    share = 1 - (first**2 + second**2 - 2 * r * first * second) / (1 - r * r)
    share += (1 - (first + second) / (1 + r)) ** 2 * (1 + r) / 2
    predicted, deviation = process.predict(np.array([[x]]))
    assert predicted[0] == pytest.approx(mean, rel=1e-6, abs=1e-6)
    assert deviation[0] == pytest.approx(math.sqrt(variance * share), rel=1e-5, abs=1e-7)


def test_three_samples_solve_the_kriging_system() -> None:
    """Mean and variance with a Lagrange multiplier for the unknown mean (Cressie, Statistics for Spatial Data, 3.2)."""
    points, values, scales = np.array([[0.0, 0.1], [0.4, 0.9], [1.0, 0.3]]), np.array([1.0, -0.5, 2.0]), [0.7, 0.4]

    def correlation(a: np.ndarray, b: np.ndarray) -> float:
        return covariance(float(np.hypot(*((a - b) / scales))), 0.0, 1.0)

    process = conditioned(points, values, np.array(scales), 0.0, np.array([False, False]))
    new = np.array([0.3, 0.3])
    system = np.ones((4, 4))
    system[:3, :3] = [[correlation(a, b) for b in points] for a in points]
    system[3, 3] = 0.0
    right = np.array([*(correlation(a, new) for a in points), 1.0])
    weights = np.linalg.solve(system, right)
    inverse = np.linalg.inv(system[:3, :3])
    mean = inverse.sum(axis=0) @ values / inverse.sum()
    variance = (values - mean) @ inverse @ (values - mean) / 3
    predicted, deviation = process.predict(new[None, :])
    assert predicted[0] == pytest.approx(weights[:3] @ values, rel=1e-9)
    assert deviation[0] ** 2 == pytest.approx(variance * (1 - weights @ right), rel=1e-8)


def test_categories_are_one_length_apart() -> None:
    points, values = np.array([[0.0], [1.0], [0.5]]), np.array([0.0, 3.0, 1.0])
    process = conditioned(points, values, np.array([1.0]), 0.0, np.array([True]))
    same, _ = process.predict(np.array([[0.25], [0.9]]))  # two other categories: as far from all
    assert same[0] == pytest.approx(same[1], rel=1e-12)


def test_a_fitted_process_learns_a_smooth_function_and_a_constant() -> None:
    x = np.linspace(0.0, 1.0, 9)[:, None]
    between = (x[:-1] + x[1:]) / 2
    process = fitted(x, np.sin(3 * x[:, 0]), NUMBERS)
    mean, deviation = process.predict(between)
    assert np.abs(mean - np.sin(3 * between[:, 0])).max() < 0.01
    assert (np.abs(mean - np.sin(3 * between[:, 0])) < 4 * deviation + 1e-4).all()
    mean, deviation = fitted(x, np.full(9, 0.25), NUMBERS).predict(between)
    assert (mean == 0.25).all()
    assert (deviation == 0.0).all()


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.05, 3))
def test_expected_improvement_is_the_integral(best: float, mean: float, deviation: float) -> None:
    integral, _ = (
        quad(lambda y: (best - y) * norm.pdf(y, mean, deviation), mean - 12 * deviation, best, limit=200, points=[mean])
        if best > mean - 12 * deviation
        else (0.0, 0.0)
    )
    value = expected_improvement(best, np.array([mean]), np.array([deviation]))[0]
    assert value == pytest.approx(integral, rel=1e-6, abs=1e-9)


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(-3, 3), st.floats(0, 3), st.floats(-3, 3), st.floats(0.05, 3))
def test_probability_is_the_integral(low: float, width: float, mean: float, deviation: float) -> None:
    integral, _ = quad(lambda y: norm.pdf(y, mean, deviation), low, low + width)
    value = probability_between(low, low + width, np.array([mean]), np.array([deviation]))[0]
    assert value == pytest.approx(integral, rel=1e-6, abs=1e-9)


def test_what_is_certain_improves_by_its_difference() -> None:
    nothing = np.zeros(3)
    values = np.array([0.5, 1.0, 2.0])
    assert expected_improvement(1.0, values, nothing).tolist() == [0.5, 0.0, 0.0]
    assert probability_between(-np.inf, 1.0, values, nothing).tolist() == [1.0, 1.0, 0.0]

"""The smallest point in another regime: how often it is found, and how often one is found that is not there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcodesign as sc
from simcodesign.fitting.diagnostics import REGIME
from simcodesign.fitting.measurements import FloatArray, Measurements
from tests import ROOT
from validation.measured.smallest_point import summary

#: Growth of made-up series, of which 0.3 and 0.8 are between the exponents that are tried.
FORMS = [(0.0, 0), (0.3, 0), (0.5, 0), (0.8, 0), (1.0, 0), (0.0, 1), (1.0, 1), (1.5, 0), (2.0, 0)]
SERIES = 100


def made(seed: int, points: int, noise: float, factor: float) -> tuple[FloatArray, FloatArray]:
    """Values of P, and of each series c0 + c1 P^i log2(P)^j with relative noise, the first one times a factor."""
    random = np.random.default_rng(seed)
    ranks = 2.0 ** np.arange(points)
    values = np.empty((SERIES, points))
    for row in range(SERIES):
        power, log = FORMS[random.integers(len(FORMS))]
        constant, slope = 10 ** random.uniform(0, 2), 10 ** random.uniform(-1, 1)
        values[row] = constant + slope * ranks**power * np.log2(ranks) ** log
    values *= 1 + noise * random.standard_normal(values.shape)
    values[:, 0] *= factor
    return ranks, values


def warned(ranks: FloatArray, values: FloatArray) -> int:
    """How many series have the warning."""
    names = tuple(f"r{row}" for row in range(len(values)))
    fits = sc.fit(Measurements(("P",), ranks[:, None], names, ("m",) * len(names), values[:, :, None]))
    return sum(any(kind == REGIME for kind, _ in one.warnings) for one in fits)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([6, 8, 10]), st.sampled_from([0.02, 0.05, 0.1]))
def test_false_alarms_are_at_most_the_share_outside_of_the_interval(seed: int, points: int, noise: float) -> None:
    """5 % lie outside; more than 15 of 100 do so by chance in one of 10,000 batches (binomial distribution)."""
    assert warned(*made(seed, points, noise, 1.0)) <= 15


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([6, 8]), st.sampled_from([0.2, 0.5]))
def test_a_first_point_of_half_the_time_is_found(seed: int, points: int, factor: float) -> None:
    """By the warning in most series, though few first points are outliers of a model that was fitted to them."""
    assert warned(*made(seed, points, 0.03, factor)) >= SERIES // 2


def one_series(factor: float, values: int = 7) -> Measurements:
    ranks = 2.0 ** np.arange(values)
    seconds = (3.0 + 0.5 * ranks) * (1 + 0.01 * np.cos(5 * ranks))
    seconds[0] *= factor
    return Measurements(("P",), ranks[:, None], ("main",), ("time",), seconds[None, :, None])


def test_the_warning_names_the_point_and_both_predictions() -> None:
    whole = one_series(0.3)
    (fit,) = sc.fit(whole)
    (text,) = [text for kind, text in fit.warnings if kind == REGIME]
    assert text.startswith("The smallest P, 1, may be in another regime: measured 1.0")
    (rest,) = sc.fit(Measurements(("P",), whole.points[1:], ("main",), ("time",), whole.values[:, 1:]))
    assert rest.model.text in text
    assert not any(kind == REGIME for kind, _ in sc.fit(one_series(1.0))[0].warnings)


def test_fewer_than_five_other_values_tell_nothing() -> None:
    assert not any(kind == REGIME for kind, _ in sc.fit(one_series(0.1, values=5))[0].warnings)


def test_values_without_noise_are_left_alone() -> None:
    (fit,) = sc.fit(one_series(0.3), exact=True)
    assert not any(kind == REGIME for kind, _ in fit.warnings)


@pytest.mark.parametrize("factor", [1.0, 0.2])
def test_of_two_parameters_all_points_at_the_smallest_value_count(factor: float) -> None:
    random = np.random.default_rng(1)
    points = np.array([(p, n) for p in 2.0 ** np.arange(7) for n in (1e3, 2e3, 4e3, 8e3, 16e3, 32e3)])
    seconds = (2.0 + 1e-3 * points[:, 1] + 0.3 * points[:, 0]) * (1 + 0.02 * random.standard_normal(len(points)))
    seconds[points[:, 0] == 1] *= factor
    fits = sc.fit(Measurements(("P", "n"), points, ("main",), ("time",), seconds[None, :, None]))
    texts = [text for kind, text in fits[0].warnings if kind == REGIME]
    assert [text.startswith("The smallest P, 1,") for text in texts] == ([] if factor == 1 else [True])


def test_the_page_states_what_it_does_on_measured_rows() -> None:
    text = " ".join((ROOT / "docs" / "fitting.md").read_text(encoding="utf-8").split())
    known = summary()
    assert f"{known.warned} of {known.series} series" in text
    assert f"from {known.warned_errors[0]:.1f} to {known.warned_errors[1]:.1f} %" in text
    assert f"from {known.other_errors[0]:.1f} to {known.other_errors[1]:.1f} %" in text

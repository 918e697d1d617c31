"""Odd repetitions against the mean-shift outlier test of a linear model with one mean for each point."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.fitting import diagnostics
from simcodesign.fitting.fit import Fits, fit
from simcodesign.fitting.measurements import Measurements
from simcodesign.fitting.outlier_repetitions import outlier_repetitions
from tests import examples

P = np.array([2.0, 4, 8, 16, 32, 64])


def shift_t(values: np.ndarray, point: int, repetition: int) -> float:
    """The t of a dummy for one value beside a mean for each row, by least squares."""
    there = ~np.isnan(values)
    rows, columns = np.nonzero(there)
    design = (rows[:, None] == np.arange(len(values))).astype(float)
    design = np.column_stack([design[:, there.any(1)], (rows == point) & (columns == repetition)])
    y = values[there]
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    left = y - design @ coefficients
    variance = left @ left / (len(y) - design.shape[1])
    return float(abs(coefficients[-1]) / np.sqrt(variance * np.linalg.inv(design.T @ design)[-1, -1]))


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(3, 6), st.data())
def test_the_distance_is_that_of_a_mean_shift(seed: int, points: int, repetitions: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((points, repetitions))
    point, repetition = data.draw(st.integers(0, points - 1)), data.draw(st.integers(0, repetitions - 1))
    values[point, repetition] += 1000
    if repetitions > 3 and data.draw(st.booleans()):
        values[(point + 1) % points, 0] = np.nan
    (result, *_) = outlier_repetitions(values[None], relative=False)[0]
    assert (result.point, result.repetition, result.measured) == (point, repetition, values[point, repetition])
    assert result.deviations == pytest.approx(shift_t(values, point, repetition), rel=1e-6)
    assert result.others == pytest.approx(np.nanmean(np.delete(values[point], repetition)))


def test_chance_calls_one_series_of_a_hundred_odd() -> None:
    values = np.random.default_rng(7).normal(100.0, 5.0, (3000, 6, 5))
    for relative in (True, False):
        assert 0.001 < np.mean([bool(some) for some in outlier_repetitions(values, relative)]) < 0.02


def test_two_do_not_hide_each_other() -> None:
    values = np.random.default_rng(8).normal(100.0, 1.0, (4, 5))
    values[1, 2], values[3, 0] = 400.0, 395.0
    item = outlier_repetitions(values[None])[0]
    assert {(one.point, one.repetition) for one in item} == {(1, 2), (3, 0)}


def test_of_two_that_differ_neither_is_odd() -> None:
    values = np.full((4, 2), 10.0)
    values[1, 0] = 50.0
    assert outlier_repetitions(values[None]) == [()]


def test_among_equal_ones_any_other_is_odd_and_rounding_is_not() -> None:
    values = np.full((4, 3), 10.0)
    assert outlier_repetitions(values[None]) == [()]
    values[2, 1] += 1e-13
    assert outlier_repetitions(values[None]) == [()]
    values[2, 1] = 10.1
    (result,) = outlier_repetitions(values[None])[0]
    assert (result.point, result.repetition, result.others) == (2, 1, pytest.approx(10.0))


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_series_do_not_mix(seed: int, series: int) -> None:
    values = np.random.default_rng(seed).lognormal(0, 1, (series, 4, 4))
    values[values < 0.2] = np.nan
    assert outlier_repetitions(values) == [outlier_repetitions(one[None])[0] for one in values]


def test_nothing_at_all() -> None:
    assert outlier_repetitions(np.full((2, 3, 4), np.nan)) == [(), ()]
    assert outlier_repetitions(np.zeros((1, 3, 4))) == [()]


# --- What is told of them ------------------------------------------------------------------------------------


def wrecked(series: int = 1) -> Fits:
    """3 + 2 p with 1 % of noise, five times; one repetition of the first series is eight times as long."""
    values = (3 + 2 * P)[:, None] * (1 + 0.01 * np.random.default_rng(1).standard_normal((series, 6, 5)))
    values[0, 4, 2] *= 8
    names = tuple(f"r{number}" for number in range(series))
    return fit(Measurements(("p",), P[:, None], names, ("time",) * series, values), target=(1024.0,))


def test_a_repetition_that_wrecks_a_model_is_named_with_the_model_without_it() -> None:
    item = wrecked()[0]
    ((_, text),) = [one for one in item.warnings if one[0] == diagnostics.OUTLIER_REPETITION]
    assert text.startswith("Repetition 3 at p=32 is an outlier: measured")
    assert "Without it the model is 3." in text
    at = float(text.partition("which gives ")[2].partition(" at p=1024")[0])
    assert at == pytest.approx(3 + 2 * 1024, rel=0.02)
    assert text in item.warning
    assert pickle.loads(pickle.dumps(item)).warnings == item.warnings


def test_a_repetition_that_changes_little_is_not_told() -> None:
    values = (3 + 2 * P)[:, None] * (1 + 1e-4 * np.random.default_rng(1).standard_normal((1, 6, 5)))
    values[0, 4, 2] *= 1.02
    fits = fit(Measurements(("p",), P[:, None], ("r",), ("time",), values), target=(128.0,))
    assert fits.outlier_repetitions(0)
    assert not any(kind == diagnostics.OUTLIER_REPETITION for kind, _ in fits[0].warnings)


def test_of_many_series_the_one() -> None:
    made = wrecked(300)
    assert [
        row for row, one in enumerate(made) if any(kind == diagnostics.OUTLIER_REPETITION for kind, _ in one.warnings)
    ] == [0]

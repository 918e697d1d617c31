"""Planted outliers: they are named, and the robust fit is that of all other times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simcodesign.calibration.linear_constants import ConstantsFit, ConstantsProblem, fit_constants
from simcodesign.fitting.measurements import FloatArray

SIZES = 2.0 ** np.arange(29)
#: 1 us and 1 GB/s.
TRUTH = {"startup": 1e-6, "per_byte": 1e-9}
TIMES = TRUTH["startup"] + SIZES * TRUTH["per_byte"]


def problem(
    times_s: FloatArray, rows: FloatArray | slice = slice(None), weighting: str = "relative"
) -> ConstantsProblem:
    design = np.column_stack([np.ones_like(SIZES), SIZES])[rows]
    return ConstantsProblem(tuple(TRUTH), design, times_s[rows], np.zeros(len(design)), weighting)


def noisy(seed: int, share: float = 0.02) -> FloatArray:
    return np.asarray(TIMES * (1 + share * np.random.default_rng(seed).standard_normal(len(TIMES))))


def widths(fit: ConstantsFit) -> FloatArray:
    return np.array([fit[name].high - fit[name].low for name in TRUTH])


@pytest.mark.parametrize("factor", [3.0, 0.3])
@pytest.mark.parametrize("row", [0, 12, 28])
def test_one_time_of_29_is_named_and_left_out(row: int, factor: float) -> None:
    """The oracle is least squares of the 28 other times."""
    times = noisy(1)
    others = fit_constants(problem(times, np.delete(np.arange(29), row)))
    times[row] *= factor
    used, robust = fit_constants(problem(times)), fit_constants(problem(times), robust=True)
    assert [one.row for one in used.outliers] == [one.row for one in robust.outliers] == [row]
    assert np.all(widths(used) > 2 * widths(others))
    for name in TRUTH:
        assert robust[name].interval == pytest.approx(others[name].interval, rel=1e-9)
        assert robust[name].value == pytest.approx(others[name].value, rel=1e-9)
        assert robust[name].rows == 28
    expected = float(others.solution @ [1.0, SIZES[row]])
    assert used.outliers[0].expected_s == pytest.approx(expected, rel=0.1)  # weights are of the bent line
    assert robust.outliers[0].measured_s == times[row]
    assert robust.outliers[0].expected_s == pytest.approx(expected, rel=0.02)


def test_without_outliers_both_fits_are_the_same() -> None:
    times = noisy(1)
    used, robust = fit_constants(problem(times)), fit_constants(problem(times), robust=True)
    assert used.outliers == robust.outliers == ()
    assert [used[name] for name in TRUTH] == [robust[name] for name in TRUTH]


def test_times_without_noise_leave_the_outlier_alone() -> None:
    times = TIMES.copy()
    times[5] *= 1.01
    robust = fit_constants(problem(times), robust=True)
    assert [one.row for one in robust.outliers] == [5]
    assert robust.solution == pytest.approx([1e-6, 1e-9], rel=1e-9)


def weigh_less(rows: list[int], is_relative: bool) -> bool:
    """Return whether these rows weigh at most half of what the others do, whatever combination of the constants is
    looked at: absolute deviations resist fewer than those that weigh as much (exact fit property). Weights are largest
    where the combination is 0 for some row, or is of one constant."""
    design = np.column_stack([np.ones_like(SIZES), SIZES]) / (TIMES[:, None] if is_relative else 1.0)
    combinations = np.column_stack([np.append(-SIZES, [1.0, 0.0]), np.append(np.ones_like(SIZES), [0.0, 1.0])])
    weights = np.abs(design @ combinations.T)
    return bool(np.all(weights[rows].sum(axis=0) <= weights.sum(axis=0) / 3))


@pytest.mark.parametrize("weighting", ["relative", "absolute"])
@given(bad=st.sets(st.integers(0, 28), max_size=8), factor=st.floats(1.5, 9), seed=st.integers(0, 99))
def test_a_quarter_of_the_times_may_be_too_long(weighting: str, bad: set[int], factor: float, seed: int) -> None:
    """All at once, which deleting one after another cannot see: they hide each other."""
    draw = np.random.default_rng(seed)
    is_relative = weighting == "relative"
    noise = 0.01 * draw.standard_normal(29)
    times = TIMES * (1 + noise) if is_relative else TIMES + noise * TIMES[0]
    rows = sorted(bad)
    assume(weigh_less(rows, is_relative))
    times[rows] *= factor
    robust = fit_constants(problem(times, weighting=weighting), robust=True)
    assert {one.row for one in robust.outliers} >= {*rows}
    assert robust["per_byte"].value == pytest.approx(1e-9, rel=0.02)
    assert robust["startup"].value == pytest.approx(1e-6, rel=0.03)


def test_too_few_times_name_no_outlier() -> None:
    """Of four times and two constants, none can be told from the others."""
    times = TIMES[:4].copy()
    times[2] *= 3
    few = ConstantsProblem(tuple(TRUTH), np.column_stack([np.ones(4), SIZES[:4]]), times, np.zeros(4))
    for robust in (False, True):
        assert fit_constants(few, robust=robust).outliers == ()


@pytest.mark.thorough
@pytest.mark.parametrize("count", [0, 3, 6])
def test_intervals_of_the_robust_fit_hold_as_often_as_they_say(count: int) -> None:
    """200 fits with 5 % of noise: 90 % hold, give or take two standard errors (4 %) and what trimming costs (2 %)."""
    held, false_alarms = np.zeros(2), 0
    for seed in range(200):
        draw = np.random.default_rng(1000 + seed)
        times = noisy(seed, 0.05)
        bad = draw.choice(29, count, replace=False)
        times[bad] *= draw.uniform(1.5, 4, count)
        fit = fit_constants(problem(times), robust=True)
        held += [fit[name].low <= value <= fit[name].high for name, value in TRUTH.items()]
        false_alarms += bool({one.row for one in fit.outliers} - {*bad.tolist()})
    assert np.all(held / 200 > 0.84)
    assert false_alarms <= 6

"""Communication over its volume: constants of made-up times are recovered, and slopes are never negative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from simcodesign.core.errors import InputError
from simcodesign.counters.communication import fit_collective, fit_point_to_point, slopes_and_constant

P = np.array([2.0, 4.0, 8.0, 16.0, 32.0])
times = st.floats(0, 1e3)


@given(st.floats(1e-12, 1e-3), st.floats(0, 10))
def test_point_to_point(a: float, b: float) -> None:
    volume = 1e6 / P
    result = fit_point_to_point(volume, a * volume + b)
    assert result.at(2e6) == pytest.approx(a * 2e6 + b, rel=1e-9, abs=1e-12 * b)


@given(st.floats(1e-9, 1), st.floats(1e-12, 1e-3), st.floats(0, 10))
def test_collective(a: float, b: float, c: float) -> None:
    volume = 100 * P
    result = fit_collective(P, volume, a * np.log2(P) + b * volume + c)
    expected = a * 10 + b * 1e5 + c
    assert result.at(1024, 1e5) == pytest.approx(expected, rel=1e-6)


def test_a_volume_that_stays_the_same_is_part_of_the_constant() -> None:
    result = fit_collective(P, np.full(5, 24000.0), 0.5 * np.log2(P) + 3)
    assert result.b_s_per_byte == 0
    assert (result.a_s, result.c_s) == pytest.approx((0.5, 3))


def test_times_that_fall_have_no_negative_slope() -> None:
    result = fit_point_to_point(P, 10 / P)
    assert result.a_s_per_byte == 0
    assert result.b_s == pytest.approx((10 / P).mean())


@given(st.lists(times, min_size=5, max_size=5))
def test_the_best_without_negative_slopes(seconds: list[float]) -> None:
    """Another program finds none better."""
    y = np.array(seconds)
    columns = [np.log2(P), P**1.5]
    (a, b, c), _ = slopes_and_constant(columns, y)
    assert min(a, b) >= 0
    # The constant is free: centred, it is none.
    centred = np.stack([column - column.mean() for column in columns], 1)
    _, norm = nnls(centred, y - y.mean())
    rest = ((a * columns[0] + b * columns[1] + c - y) ** 2).sum()
    assert rest == pytest.approx(norm**2, rel=1e-9, abs=1e-18 * max(1.0, float(y.max())) ** 2)


def test_bad_times() -> None:
    with pytest.raises(InputError, match="times and volumes"):
        fit_point_to_point(np.array([1.0]), np.array([np.nan]))
    with pytest.raises(InputError, match="times and volumes"):
        fit_point_to_point(np.array([]), np.array([]))

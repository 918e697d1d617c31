"""The block of measurements: its checks, means and selections, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simcodesign.core.errors import InputError
from simcodesign.fitting.measurements import Measurements, point_text

POINTS = [[16.0, 1.0], [32.0, 1.0]]
VALUES = [[[1.0, 3.0], [2.0, math.nan]], [[math.nan, math.nan], [5.0, 7.0]]]


def block(**changes: object) -> Measurements:
    given = {"parameters": ("p", "n"), "points": POINTS, "regions": ("a", "b"), "metrics": ("t", "t"), "values": VALUES}
    return Measurements(**{**given, **changes})  # type: ignore[arg-type]


def test_means_and_counts_pass_over_what_is_missing() -> None:
    measured = block()
    np.testing.assert_array_equal(measured.means, [[2.0, 2.0], [math.nan, 6.0]])
    np.testing.assert_array_equal(measured.counts, [[2, 1], [0, 2]])


FINITE = st.floats(-1e6, 1e6)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
        elements=FINITE | st.just(math.nan),
    )
)
def test_means_are_those_of_a_plain_loop(values: np.ndarray) -> None:
    values[:, 0, 0] = np.nan_to_num(values[:, 0, 0])
    series, points, _ = values.shape
    measured = Measurements(
        ("p",), np.arange(1.0, points + 1)[:, None], [str(i) for i in range(series)], ["t"] * series, values
    )
    for row in range(series):
        for point in range(points):
            there = [float(value) for value in values[row, point] if not math.isnan(value)]
            assert measured.counts[row, point] == len(there)
            if there:
                # Rounding of R divisions and sums, of numbers up to the largest.
                tolerance = 1e-15 * 8 * max(map(abs, there))
                assert abs(measured.means[row, point] - math.fsum(there) / len(there)) <= tolerance
            else:
                assert math.isnan(measured.means[row, point])


def test_means_of_the_largest_numbers_do_not_overflow() -> None:
    assert Measurements(("p",), [[1.0]], ("a",), ("t",), [[[1.7e308] * 4]]).means[0, 0] == 1.7e308


def test_arrays_are_read_only_and_not_copied() -> None:
    values = np.ones((1, 1, 1))
    measured = Measurements(("p",), np.ones((1, 1)), ("a",), ("t",), values)
    assert np.shares_memory(measured.values, values)
    assert values.flags.writeable
    for array in (measured.values, measured.points, measured.means, measured.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 2


def test_select_keeps_the_named_series() -> None:
    measured = block(metrics=("t", "flop"))
    assert measured.select(regions=["b"]).regions == ("b",)
    assert measured.select(metrics="t").regions == ("a",)
    assert measured.select().values.base is not None
    np.testing.assert_array_equal(measured.select(regions=("b",)).values, np.array(VALUES)[1:])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"regions": ["c"]}, "no such region"),
        ({"metrics": ["flops"]}, "did you mean 'flop'"),
        ({"regions": ["a"], "metrics": ["flop"]}, "together"),
    ],
)
def test_select_says_what_there_is_not(choice: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        block(metrics=("t", "flop")).select(**choice)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": ("p",)}, "points and parameters do not match"),
        ({"parameters": ()}, "wrong number of parameters"),
        ({"parameters": tuple("abcde")}, r"wrong number of parameters, got '5: a, b, c, d, e' \(allowed: 1 to 4\)"),
        ({"parameters": ("p", "p")}, "two parameters of one name"),
        ({"parameters": ("p", " ")}, "a parameter without a name"),
        ({"points": [[16.0, 1.0], [0.0, 1.0]]}, r"parameter p out of range, got 0.0 \(allowed: positive"),
        ({"points": [[16.0, math.inf], [1.0, 1.0]]}, "parameter n out of range, got inf"),
        ({"points": [[16.0, 1.0], [16.0, 1.0]]}, "one point appears twice, got 'p=16, n=1'"),
        ({"points": [[16.0, 1.0]]}, "values and points do not match"),
        ({"points": [["x", 1.0], [1.0, 1.0]]}, "points are not numbers"),
        ({"points": [16.0, 32.0]}, "points of wrong shape"),
        ({"points": np.zeros((0, 2)), "values": np.zeros((2, 0, 1))}, "there is no point"),
        ({"regions": ("a",)}, "each series needs a region"),
        ({"regions": ("a", "a")}, "2 series of one region and metric"),
        ({"regions": (), "metrics": (), "values": np.zeros((0, 2, 1))}, "there is no measurement"),
        ({"values": np.zeros((2, 2, 0))}, "without a repetition"),
        ({"values": [[[1.0], [math.inf]], [[1.0], [1.0]]]}, "region 'a', metric 't' at p=32, n=1: an infinite value"),
        ({"values": [[[1.0], [1.0]], [[math.nan], [math.nan]]]}, "region 'b', metric 't': a series without a value"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        block(**changes)


def test_point_text_is_short() -> None:
    assert point_text(("p", "n"), (16.0, 1e6)) == "p=16, n=1000000"

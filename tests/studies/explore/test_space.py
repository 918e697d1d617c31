"""Variables and spaces: coordinates and back, limits, samples, neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.studies.explore.space import Space, Variable

LIMIT = st.floats(-1e9, 1e9, allow_nan=False)


@st.composite
def variables(draw: st.DrawFn) -> Variable:
    kind = draw(st.sampled_from(["real", "log", "whole", "wide", "choices"]))
    if kind == "choices":
        return Variable("x", choices=tuple(draw(st.lists(LIMIT, min_size=1, max_size=9))))
    if kind in ("log", "wide"):
        low = draw(st.floats(1, 100))
        return Variable("x", low, low * draw(st.floats(2, 1e7)), whole=kind == "wide", log=True)
    low, high = sorted((draw(LIMIT), draw(LIMIT)))
    return Variable("x", low, high + 2, whole=kind == "whole")


@given(variables(), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_coordinates_give_values_inside(variable: Variable, shares: list[float]) -> None:
    values = variable.decode(np.array(shares) * variable.top)
    assert np.all((values >= variable.low) & (values <= variable.high))
    if variable.whole:
        assert np.array_equal(values, np.floor(values))
    if variable.choices:
        assert set(values) <= set(variable.choices)


@given(variables(), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_values_come_back_from_their_coordinates(variable: Variable, shares: list[float]) -> None:
    values = variable.decode(np.array(shares) * variable.top)
    again = variable.decode(variable.encode(values))
    if variable.discrete:
        assert np.array_equal(again, values)
    else:
        scale = max(abs(variable.low), abs(variable.high))
        assert np.allclose(again, values, rtol=1e-12, atol=1e-12 * scale)


@given(variables())
def test_ends_are_reached(variable: Variable) -> None:
    ends = variable.decode(np.array([0.0, variable.top]))
    assert ends[0] == variable.low
    assert ends[1] == pytest.approx(variable.high, rel=1e-12)


def test_wide_limits_are_searched_in_their_logarithm() -> None:
    assert Variable("x", 1, 1001).log
    assert not Variable("x", 1, 1000).log
    assert not Variable("x", 0, 1e9).log
    assert not Variable("x", 1, 1e9, log=False).log
    assert Variable("x", 1e-6, 1e6).decode(np.array([0.5]))[0] == pytest.approx(1.0, rel=1e-12)


def test_whole_limits_are_rounded_inwards() -> None:
    variable = Variable("x", 1.2, 4.9, whole=True)
    assert (variable.low, variable.high, variable.count) == (2, 4, 3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"low": 2, "high": 1}, "not in order"),
        ({"low": 1, "high": math.inf}, "not bounded"),
        ({"low": -math.inf, "high": 1}, "not bounded"),
        ({"low": math.nan, "high": 1}, "not bounded"),
        ({}, "not bounded"),
        ({"low": 1.2, "high": 1.8, "whole": True}, "no whole numbers"),
        ({"low": 0, "high": 1e17, "whole": True}, "limits of x"),
        ({"low": 0, "high": 1, "log": True}, "logarithm"),
        ({"choices": (1.0, math.inf)}, "choices of x"),
    ],
)
def test_bad_variables(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Variable("x", **arguments)  # type: ignore[arg-type]


def test_no_variable_and_one_twice() -> None:
    with pytest.raises(InputError, match="nothing is varied"):
        Space(())
    with pytest.raises(InputError, match="varied twice"):
        Space((Variable("x", 0, 1), Variable("x", 0, 2)))


def test_every_point_of_a_space() -> None:
    space = Space((Variable("a", 1, 2, whole=True), Variable("b", choices=(5, 3, 5)), Variable("c", 7, 7)))
    assert space.all_points().tolist() == [[1, 3, 7], [1, 5, 7], [2, 3, 7], [2, 5, 7]]
    assert space.count == 4
    wide = Space((Variable("n", 1, 2000, whole=True),))
    assert wide.variables[0].log
    assert wide.all_points()[:, 0].tolist() == list(range(1, 2001))


def test_neighbours_are_one_step_away() -> None:
    space = Space((Variable("a", 1, 9, whole=True), Variable("b", choices=(1, 10, 100)), Variable("c", 0, 50)))
    near = space.neighbours([9, 10, 40]).tolist()
    assert near == [[8, 10, 40], [9, 1, 40], [9, 100, 40], [9, 10, 38], [9, 10, 42]]


def test_a_sample_is_one_point_in_each_stratum() -> None:
    space = Space((Variable("a", 0, 10), Variable("k", 0, 4, whole=True)))
    points = space.sample(50, np.random.default_rng(1))
    assert sorted(np.floor(points[:, 0] * 5).tolist()) == list(range(50))
    assert np.bincount(points[:, 1].astype(int)).tolist() == [10] * 5


def test_the_default_is_inside() -> None:
    space = Space((Variable("a", 0, 10, default=3.5), Variable("b", 0, 10), Variable("c", choices=(1, 4), default=3)))
    assert space.default().tolist() == [3.5, 5, 4]

"""Interval arithmetic: bounds hold for every sampled value of random expressions, and are those known by algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.expressions import interval
from simcodesign.core.expressions.expression import FUNCTIONS, Expression, parse
from simcodesign.core.expressions.interval import Interval, bounds, point
from tests import examples

UNARY = sorted(name for name, function in FUNCTIONS.items() if function.most == 1)
BINARY = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="]

leaves = st.sampled_from(["x", "y", "0", "1", "2", "3", "0.5", "1.7", "1e3"])


def _branches(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, parts, st.sampled_from(BINARY), parts),
        st.builds("{}({})".format, st.sampled_from(UNARY), parts),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), parts, parts),
        st.builds("where({}, {}, {})".format, parts, parts, parts),
        st.builds("(-{})".format, parts),
    )


expressions = st.recursive(leaves, _branches, max_leaves=10).map(parse)
ends = st.tuples(st.sampled_from([-7, -2, -1, -0.3, 0, 0.1, 1, 2, 5.5]), st.sampled_from([0, 1e-9, 0.25, 1, 10]))


def box(low: float, high: float) -> Interval:
    return Interval(np.asarray(low, dtype=float), np.asarray(high, dtype=float))


@settings(max_examples=examples(400), deadline=None)
@given(expressions, ends, ends, st.integers(0, 2**32))
def test_every_value_lies_within_the_bounds(
    expression: Expression, x: tuple[float, float], y: tuple[float, float], seed: int
) -> None:
    random = np.random.default_rng(seed)
    low, high = np.array([x[0], y[0]]), np.array([x[0] + x[1], y[0] + y[1]])
    samples = np.concatenate([[low, high], random.uniform(low, high, (60, 2))])
    samples[2:30] = np.clip(np.rint(samples[2:30]), low, high)  # where floors and comparisons change
    random.shuffle(samples[:, 1])
    enclosure = bounds(expression, {"x": box(low[0], high[0]), "y": box(low[1], high[1])})
    assert np.isnan(enclosure.low) == np.isnan(enclosure.high)
    values = np.asarray(expression.evaluate({"x": samples[:, 0], "y": samples[:, 1]}))
    if not np.isnan(enclosure.low):
        assert (values >= enclosure.low).all()
        assert (values <= enclosure.high).all()


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x**2", 0, 9),
        ("x**3", -8, 27),
        ("1/(x + 4)", 1 / 7, 1 / 2),
        ("(x + 4)**-1", 1 / 7, 1 / 2),
        ("2**x", 0.25, 8),
        ("log2(x + 6)", 2, math.log2(9)),
        ("sqrt(x + 2)", 0, math.sqrt(5)),
        ("abs(x)", 0, 3),
        ("-x", -3, 2),
        ("x - x", -5, 5),
        ("x // 2", -1, 1),
        ("x % 7", 0, 7),
        ("(x + 10) % 100", 8, 13),
        ("min(x, 1)", -2, 1),
        ("max(x, 1)", 1, 3),
        ("where(x < 9, 1, 5)", 1, 1),
        ("where(x > 9, 1, 5)", 5, 5),
        ("where(x > 0, 1, 5)", 1, 5),
        ("-2 <= x < 4", 1, 1),
        ("x == 0", 0, 1),
    ],
)
def test_known_bounds(text: str, low: float, high: float) -> None:
    """x from -2 to 3."""
    enclosure = bounds(parse(text), {"x": box(-2, 3)})
    assert (enclosure.low, enclosure.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


@pytest.mark.parametrize("text", ["1/x", "log(x)", "sqrt(x)", "x**0.5", "x**-2", "x % x", "exp(1000*x)", "other"])
def test_what_may_be_undefined_is_unknown(text: str) -> None:
    enclosure = bounds(parse(text), {"x": box(-2, 3)})
    assert np.isnan([enclosure.low, enclosure.high]).all()


def test_boxes_side_by_side() -> None:
    enclosure = bounds(parse("x*y"), {"x": Interval(np.array([0.0, 2.0]), np.array([1.0, 3.0])), "y": point(2.0)})
    assert enclosure.low == pytest.approx([0, 4])
    assert enclosure.high == pytest.approx([2, 6])


def test_every_function_and_operator_has_bounds() -> None:
    assert interval._FUNCTIONS.keys() == FUNCTIONS.keys()

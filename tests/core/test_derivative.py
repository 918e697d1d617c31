"""Derivatives of expressions against differences, and trees with names replaced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simcodesign.core.expressions.derivative import derivative, names_in, with_nodes
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_text import text_of
from tests.oracles.expression_texts import expression_texts

VALUES = st.floats(0.3, 3.0)


@given(expression_texts(["x", "y"]), VALUES, VALUES)
def test_derivative_against_differences(text: str, x: float, y: float) -> None:
    expression = parse(text)
    slope = derivative(expression.tree, "x")

    def value(at: float) -> float:
        return float(expression.evaluate({"x": at, "y": y}))

    def difference(step: float) -> float:
        return (value(x + step) - value(x - step)) / (2 * step)

    # Only where the difference itself has settled: not at kinks, nor where rounding or overflow decides.
    step = 1e-5
    coarse, fine = difference(2 * step), difference(step)
    size = 1 + abs(fine)
    assume(np.isfinite([coarse, fine, value(x)]).all() and abs(value(x)) < 1e6)
    assume(abs(value(x + step) + value(x - step) - 2 * value(x)) < 1e-4 * size * step)  # one slope from both sides
    assume(abs(coarse - fine) < 1e-5 * size and abs(difference(step / 2) - fine) < 1e-5 * size)
    with np.errstate(all="ignore"):
        exact = float(slope.evaluate({"x": np.float64(x), "y": np.float64(y)}))
    assume(np.isfinite(exact))  # min(a, a) at infinity of a branch that is not taken
    assert exact == pytest.approx(fine, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a*P + b", "P"),
        ("a*P + b - a", "P - 1.0"),
        ("3*P", "0.0"),
        ("where(P > 4, a*P, b)", "where(P > 4, P, 0.0)"),
        ("(a*P)**1", "P"),
        ("a*P**b", "P**b"),
        ("P**a", "where(P == 0.0, 0.0, P**a*log(P))"),
        ("ceil(a*P)", "0.0"),
        ("a % P", "1.0"),
        ("max(a, b)", "where(a >= b, 1.0, 0.0)"),
        ("a/P", "1.0/P"),
    ],
)
def test_derivative_is_folded(text: str, expected: str) -> None:
    assert text_of(derivative(parse(text).tree, "a")) == expected


def test_power_of_zero_grows_by_nothing() -> None:
    slope = derivative(parse("log2(P)**x").tree, "x")
    with np.errstate(all="ignore"):
        grows = slope.evaluate({"P": np.array([1.0, 4.0]), "x": np.float64(1.5)})
    assert np.asarray(grows) == pytest.approx([0.0, 2**1.5 * np.log(2.0)])


@given(expression_texts(["x", "y"]), VALUES, VALUES)
def test_names_replaced(text: str, x: float, y: float) -> None:
    expression = parse(text)
    assert {*names_in(expression.tree)} == expression.names
    replaced = with_nodes(expression.tree, {"x": parse("(y + u)").tree})
    with np.errstate(all="ignore"):
        ours = replaced.evaluate({"y": np.float64(y), "u": np.float64(x)})
    assert float(ours) == pytest.approx(float(expression.evaluate({"x": y + x, "y": y})), nan_ok=True)


def test_names_in_order() -> None:
    assert names_in(parse("c2*P**x + c0 + c2").tree) == ("c2", "P", "x", "c0")

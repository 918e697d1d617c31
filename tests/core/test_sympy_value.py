"""Values of SymPy expressions: those of the expressions that they were made of, and sums by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.expressions.sympy_value import value_of
from tests import examples

sympy = pytest.importorskip("sympy")

ATOMS = ["x", "y", "2", "0.5", "7", "1e-6"]
TEXTS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
        st.tuples(st.sampled_from(["log2", "log", "log10", "exp", "sqrt", "ceil", "floor", "round", "abs"]), inner).map(
            lambda parts: f"{parts[0]}({parts[1]})"
        ),
        st.tuples(inner, inner).map(lambda parts: f"max({parts[0]}, {parts[1]}) - min(x, {parts[1]})"),
        st.tuples(st.sampled_from(["x < 3", "x >= y", "x == 2", "(x < 3)*(y > 1)"]), inner, inner).map(
            lambda parts: f"where({parts[0]}, {parts[1]}, {parts[2]})"
        ),
        inner.map(lambda text: f"({text})**2"),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(300))
@given(TEXTS)
def test_the_value_is_that_of_the_expression(text: str) -> None:
    values = {"x": np.array([2.0, 3.5, 11.0]), "y": np.array([1.0, 4.0, 0.3])}
    expected = np.broadcast_to(parse(text).evaluate(values), 3)
    value = np.broadcast_to(value_of(to_sympy(parse(text)), values), 3)
    usable = np.isfinite(expected) & (np.abs(expected) < 1e30)
    exact = not {"//", "%", "ceil", "floor", "round", "=="} & {*_words(text)}  # these jump at rounding
    if exact:
        np.testing.assert_allclose(value[usable], expected[usable], rtol=1e-9, atol=1e-9)


def _words(text: str) -> list[str]:
    return [word for word in ("//", "%", "ceil", "floor", "round", "==") if word in text]


@pytest.mark.parametrize("text", ["7//2 + 7 % 3", "ceil(2.5) + floor(-2.5)", "round(0.5) + round(2.5)", "2**-3"])
def test_whole_numbers(text: str) -> None:
    assert value_of(to_sympy(parse(text)), {}) == parse(text).evaluate({})


def test_sums() -> None:
    k, n, i = sympy.symbols("k n i")
    assert value_of(sympy.Sum(k * n, (k, 1, n)), {"n": 4}) == 40
    assert value_of(sympy.Sum(2, (k, 0, n - 1)), {"n": 3}) == 6
    assert value_of(sympy.Sum(sympy.Sum(i, (i, 0, 3)) * k, (k, 1, 2)), {}) == 18
    assert value_of(sympy.Sum(k, (k, 1, 0)), {}) == 0
    with pytest.raises(InputError):
        value_of(sympy.Sum(k, (k, 1, 10**9)), {})


def test_what_has_no_value() -> None:
    with pytest.raises(InputError, match="without a value"):
        value_of(sympy.Symbol("x"), {})
    with pytest.raises(InputError, match="no value here"):
        value_of(sympy.Function("f")(1), {})
    assert np.isnan(value_of(to_sympy(parse("log(0 - 1)")), {}))
    assert np.isinf(value_of(to_sympy(parse("9**9**9**9")), {}))

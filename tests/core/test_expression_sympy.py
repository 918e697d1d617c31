"""Expressions in SymPy and LaTeX: the same values by an independent calculator, and nothing computed on the way."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import pytest
from hypothesis import event, given, reject, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import MAX_DEPTH, Expression, parse
from simcodesign.core.expressions.expression_sympy import to_latex, to_sympy
from tests import examples
from tests.core.test_expression import BY_HAND, POINT, ROUNDED, UNARY, Case, trees


def _sympy_value(expression: Expression, values: dict[str, Any]) -> float:
    sympy = pytest.importorskip("sympy")
    formula = to_sympy(expression).subs({sympy.Symbol(key): value for key, value in values.items()})
    formula = formula.replace(sympy.Function("round"), lambda number: sympy.Integer(round(number)))
    return float(formula.doit().evalf(30))


@pytest.mark.parametrize(("text", "value"), [case for case in BY_HAND if math.isfinite(case[1])])
def test_sympy_reads_the_same(text: str, value: float) -> None:
    if text == "2**-99999":
        pytest.skip("SymPy is exact here: there is no underflow")
    sympy = pytest.importorskip("sympy")
    exact = {key: sympy.Rational(number) for key, number in POINT.items()}
    assert _sympy_value(parse(text), exact) == pytest.approx(value, rel=1e-12)


SMOOTH = st.recursive(
    st.integers(1, 9).map(str) | st.sampled_from("xyz"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map("({0[0]} {0[1]} {0[2]})".format),
        st.tuples(inner, st.integers(2, 3)).map("({0[0]})**{0[1]}".format),
        st.tuples(st.sampled_from(["-", "abs", "log2", "sqrt", "cbrt", "log10"]), inner).map("{0[0]}({0[1]})".format),
        st.tuples(inner, inner).map("max({0[0]}, {0[1]})".format),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=examples(60))
@given(SMOOTH, st.fixed_dictionaries({key: st.integers(1, 9) for key in "xyz"}))
def test_sympy_is_an_independent_calculator(text: str, values: dict[str, int]) -> None:
    sympy = pytest.importorskip("sympy")
    ours = parse(text).evaluate(values)
    formula = to_sympy(parse(text))
    assert formula.free_symbols == {sympy.Symbol(name) for name in parse(text).names}
    try:
        exact = formula.subs({sympy.Symbol(key): value for key, value in values.items()}).doit().evalf(30)
    except ValueError as error:
        if "is not comparable" not in str(error):  # SymPy cannot put an unevaluated abs(1) into max
            raise
        reject()
    if exact.is_real and exact.is_finite and math.isfinite(ours):
        assert ours == pytest.approx(float(exact), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("(2*s_i + 6)*n_i", r"\left(2 s_{i} + 6\right) n_{i}"),
        ("n_i - (n_i**(1/3) - 2)**3", r"n_{i} - \left(\sqrt[3]{n_{i}} - 2\right)^{3}"),
        ("m/n", r"\frac{m}{n}"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("a - (-b)", "a + b"),
        ("a * -b", r"a \left(- b\right)"),
        ("(a - b)**2", r"\left(a - b\right)^{2}"),
        ("cbrt(n + 1)", r"\sqrt[3]{n + 1}"),
        ("log2(P)", r"\operatorname{log}_{2}{\left(P \right)}"),
        ("max(a, b)", r"\max\left(a, b\right)"),
        ("9**9**9**9", "9^{9^{9^{9}}}"),
        ("(9*x)**9**12", r"\left(9 x\right)^{9^{12}}"),
    ],
)
def test_latex(text: str, latex: str) -> None:
    pytest.importorskip("sympy")
    assert to_latex(parse(text)) == latex


@settings(deadline=None, max_examples=examples(60))
@given(trees({**UNARY, **ROUNDED}))
def test_latex_of_anything_is_text(tree: Case) -> None:
    pytest.importorskip("sympy")
    try:
        latex = to_latex(parse(tree[0]))
    except InputError as error:
        latex = error.what
        event("refused: " + latex)
    assert latex


def test_conditions_in_latex() -> None:
    pytest.importorskip("sympy")
    assert r"\text{for}\: 0 < r \wedge r < P - 1" in to_latex(parse("where((0 < r)*(r < P - 1), 2, 1)"))
    assert r"\text{for}\: a < b \vee c < d" in to_latex(parse("where(max(a < b, c < d), 2, 1)"))
    assert r"\text{for}\: n \neq 0" in to_latex(parse("where(n, 2, 1)"))
    with pytest.raises(InputError, match="a condition within a condition"):
        to_latex(parse("(a < b) != (c < d)"))


@pytest.mark.parametrize(
    "text", ["9**9**9**9**9", "ceil(exp(1e300))", "log(9**9**99)", "(1+1e-9)**9**99 < 2", "x % 9**9**9"]
)
def test_sympy_does_not_compute_huge_numbers(text: str) -> None:
    pytest.importorskip("sympy")
    to_latex(parse("x"))  # imports
    start = time.process_time()
    assert to_latex(parse(text))
    assert time.process_time() - start < 2


def test_deep_formula_in_latex_is_text_or_an_input_error() -> None:
    pytest.importorskip("sympy")
    flat = parse("+".join(["x"] * MAX_DEPTH))
    assert to_latex(flat) == " + ".join(["x"] * MAX_DEPTH)
    levels = MAX_DEPTH // 2 - 10
    deep = parse("exp(1/" * levels + "x" + ")" * levels)
    assert "e^" in to_latex(deep)

    def latex_below(frames: int) -> str:
        return latex_below(frames - 1) if frames else to_latex(deep)

    with pytest.raises(InputError, match="too deeply"):
        latex_below(sys.getrecursionlimit() - 350)


def test_missing_sympy_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    monkeypatch.setitem(sys.modules, "sympy.codegen.cfunctions", None)
    with pytest.raises(InputError, match=r"simcodesign\[sym\]"):
        to_latex(parse("x + 1"))

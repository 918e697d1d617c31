"""Formulas of loops with an index: the sums over it are the forecast by numbers, and closed where they can be."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.analytic.formulas.formula import expanded, formula, formula_latex
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.report.results.workload_sheet import latex
from tests import examples
from tests.analytic.test_formula import assert_is_the_forecast
from tests.builders import workload

sympy = pytest.importorskip("sympy")

HEAD = """parameters: {n: {default: 6}, b: {default: 2}, r: {default: 0.5}, m: {default: 1000}}
equations: {q: n // b, w: m + n}
"""
#: Amounts that depend on k, which is less than n: with a closed form, and without.
CLOSED = (
    "m*(k + 1)",
    "8*(n - k)*(n - k - 1)",
    "0.25*(w - k)**3/P",
    "m*(k - 2)**2*k",
    "m*r**k",
    "m + 3*m*r**(n - 2*k)",
    "m*2**(-k) + 7*k",
    "(m + 2**k)**2",
    "m*r**k*3**k",
    "-(-k)*ceil(n/4)",
    "m",
)
OPEN = ("m*(k % 3)", "m*sqrt(k)", "m*k*r**k", "where(k < 2, m, 5*m)", "max(k, 3)", "m*r**(k*k)")
STEPS = ("compute: {{flops: {0}}}", "allreduce: {{bytes: {0}}}", "write: {{bytes: {0}, times: k}}")


def loop(*steps: str, repeat: str = "n") -> str:
    """A loop over k."""
    return f"- repeat: {repeat}\n  index: k\n  do:\n" + "".join(f"  - {step}\n" for step in steps)


some_steps = st.builds(
    lambda form, amount: form.format(f"'{amount}'"), st.sampled_from(STEPS), st.sampled_from(CLOSED + OPEN)
)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(some_steps, min_size=1, max_size=3),
    st.sampled_from(["n", "n // b", "5", "q + 1"]),
    st.fixed_dictionaries(
        {
            "n": st.integers(0, 12),
            "b": st.integers(1, 3),
            "m": st.integers(0, 1000),
            "r": st.sampled_from([0.25, 0.5, 1.0, 1.5]),
        }
    ),
)
def test_the_sum_is_the_forecast(steps: list[str], repeat: str, values: dict[str, float]) -> None:
    least = 5 if repeat == "5" else 0  # n - k is an amount
    values["n"] = max(values["n"], least)
    repeat = "min(q + 1, n)" if repeat == "q + 1" else repeat
    assert_is_the_forecast(workload(loop(*steps, repeat=repeat), HEAD), 8, values, int(values["m"]))


@pytest.mark.parametrize("amount", CLOSED)
def test_a_closed_form_has_no_sum(amount: str) -> None:
    described = workload(loop(f"compute: {{flops: '{amount}'}}"), HEAD)
    assert not formula(described)["main"].has(sympy.Sum)
    assert "\\sum" not in latex(described)
    for n in (0, 1, 2, 50):
        assert_is_the_forecast(described, 16, {"n": n, "m": 99, "r": random.Random(n).choice([0.5, 0.75, 1.0, 1.5])})


@pytest.mark.parametrize("amount", OPEN)
def test_others_are_printed_as_sums(amount: str) -> None:
    described = workload(loop(f"compute: {{flops: '{amount}'}}"), HEAD)
    assert r"\sum_{k=0}^{n - 1}" in formula_latex(formula(described)["main"])
    assert_is_the_forecast(described, 16, {"n": 7})


@pytest.mark.parametrize(
    ("repeat", "amount", "expected"),
    [
        ("n", "k", "n*(n - 1)/2"),
        ("n", "k**2", "n*(n - 1)*(2*n - 1)/6"),
        (
            "n // b",
            "(n - k*b)**2",
            "floor(n/b)*(6*n**2 - 6*n*b*(floor(n/b) - 1) + b**2*(floor(n/b) - 1)*(2*floor(n/b) - 1))/6",
        ),
        ("10", "2**k", "1023"),
        ("n", "2**k", "2**n - 1"),
    ],
)
def test_against_sums_of_the_literature(repeat: str, amount: str, expected: str) -> None:
    """Faulhaber's formulas and the geometric series."""
    found = formula(workload(loop(f"compute: {{flops: {amount}}}", repeat=repeat), HEAD))["main"]
    whole = to_sympy(parse(expected)) * sympy.Symbol("t_c")
    assert sympy.simplify(sympy.expand(found - whole)) == 0


NESTED = """- repeat: n
  index: i
  do:
    - compute: {flops: 1e6*(n - i)}
    - repeat: n - i - 1
      index: j
      phase: inner
      do:
        - compute: {flops: m*(n - i - j)**2}
        - broadcast: {bytes: 8*(i + j), when: j > 0}
        - repeat: i + 1
          do: [allreduce: {bytes: 8*j}]
    - repeat: 2
      constants: {network.startup: 1 us * (i + 1)}
      do: [barrier: {}]
"""


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_loops_within_loops(n: int) -> None:
    """An index in the bound of an inner loop, in plain repetitions, and in a constant of the machine."""
    described = workload(NESTED.replace(", when: j > 0", "").replace("1 us * (i + 1)", "1e-6*(i + 1)"), HEAD)
    assert_is_the_forecast(described, 16, {"n": n})
    assert not any(part.has(sympy.Sum) for part in formula(described).values())


@pytest.mark.parametrize("n", [1, 4, 7])
def test_conditions_on_the_index_are_cases(n: int) -> None:
    described = workload(loop("compute: {flops: m*(k + 1), when: 'k % 2 == 1'}", "compute: {flops: 3}"), HEAD)
    assert formula(described)["main"].has(sympy.Piecewise)
    assert_is_the_forecast(described, 4, {"n": n})


def test_conditions_on_the_rank_have_no_formula() -> None:
    with pytest.raises(InputError, match="'when' makes ranks differ") as error:
        formula(workload(loop("compute: {flops: 1, when: rank == k}"), HEAD))
    assert error.value.place is not None
    assert error.value.place.line is not None


def test_an_index_with_the_name_of_a_symbol() -> None:
    with pytest.raises(InputError, match="the index t_c"):
        formula(workload("- {repeat: 2, index: t_c, do: [compute: {flops: t_c}]}\n", HEAD))


@pytest.mark.parametrize(
    "amount", ["9**9**9**9*k", "(k + 9**9**9)**8", "2**(9**9**9*k)", "(n + m + r + b + k)**8", "k**99", "(k*k)**8*k"]
)
def test_large_powers_are_not_computed(amount: str) -> None:
    described = workload(loop(f"compute: {{flops: {amount}}}", repeat="2**b"), HEAD)
    main = formula(described)["main"]
    assert formula_latex(expanded(main, described))

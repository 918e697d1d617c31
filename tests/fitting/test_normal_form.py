"""The normal form: values, texts that mean the same in every notation, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import parse
from simcodesign.fitting.collective_shapes import COLLECTIVES
from simcodesign.fitting.normal_form import Factor, Model, Term

F = Fraction
numbers = st.floats(1e-3, 1e3)
exponents = st.fractions(-3, 3, max_denominator=8)
logs = st.sampled_from([F(0), F(1, 2), F(1), F(3, 2), F(2)])


def factors(name: str) -> st.SearchStrategy[Factor]:
    return st.builds(Factor, st.just(name), exponents, logs, st.sampled_from(["", *COLLECTIVES]))


models = st.builds(
    Model,
    st.just(("p", "n")),
    numbers,
    st.lists(st.builds(Term, numbers, st.tuples(factors("p"), factors("n"))), max_size=3).map(tuple),
)


@given(models, st.floats(1.5, 1e4), st.floats(1.5, 1e4))
def test_the_expression_means_the_model(model: Model, p: float, n: float) -> None:
    value = parse(model.expression).evaluate({"p": p, "n": n})
    assert value == pytest.approx(float(model.evaluate([p, n])), rel=1e-12)


@given(models, st.floats(1.5, 1e4), st.floats(1.5, 1e4))
def test_the_python_text_means_the_model(model: Model, p: float, n: float) -> None:
    value = eval(model.python, {"log2": math.log2, "p": p, "n": n, "__builtins__": {}})
    assert value == pytest.approx(float(model.evaluate([p, n])), rel=1e-12)


def test_values_by_hand() -> None:
    model = Model(
        ("p", "n"), 3.0, (Term(2.0, (Factor("p", F(1, 2), F(1)), Factor("n", F(2)))), Term(5.0, (Factor("n"),)))
    )
    assert model.evaluate([[16.0, 3.0], [4.0, 1.0]]).tolist() == [3 + 2 * 4 * 4 * 9 + 5, 3 + 2 * 2 * 2 + 5]


@pytest.mark.parametrize(("name", "value"), [("Allreduce", 4.0), ("Bcast", 15 / 16), ("Alltoall", 15.0)])
def test_collective_operations(name: str, value: float) -> None:
    assert float(Model(("p",), 0.0, (Term(1.0, (Factor("p", collective=name),)),)).evaluate([16.0])) == value


def test_texts() -> None:
    factors = (Factor("p", F(1, 2), F(1)), Factor("n", F(1), F(2)))
    model = Model(("p", "n"), 3200.0, (Term(1.5, factors), Term(-2e-9, (Factor("n", F(3), collective="Alltoall"),))))
    assert model.text == "3200 + 1.5 p^(1/2) log2(p) n log2(n)^2 - 2e-09 Alltoall(n) n^3"
    assert model.expression == "3200.0 + 1.5*p**(1/2)*log2(p)*n*log2(n)**2 - 2e-09*(n - 1)*n**3"
    assert model.latex == (
        r"3200 + 1.5 \, p^{1/2} \, \log_2\left(p\right) \, n \, \log_2^{2}\left(n\right)"
        r" - 2 \cdot 10^{-9} \, \mathrm{Alltoall}(n) \, n^{3}"
    )


def test_a_model_of_nothing_is_zero() -> None:
    assert Model(("p",), 0.0).text == "0"
    assert Model(("p",), 0.0).evaluate([[1.0], [2.0]]).tolist() == [0.0, 0.0]


def test_lead_exponents() -> None:
    terms = (Term(1.0, (Factor("p", F(1), F(2)),)), Term(1.0, (Factor("p", F(4, 3)), Factor("n", F(0), F(1)))))
    model = Model(("p", "n", "q"), 1.0, terms)
    assert [model.lead(name) for name in "pnq"] == [(F(4, 3), 0), (0, 1), (0, 0)]


def test_a_fitted_exponent_is_a_decimal_for_people_and_in_full_for_programs() -> None:
    model = Model(("n",), 0.0, (Term(1.0, (Factor("n", F(1.2345678901234567)),)),))
    assert model.text == "1 n^(1.23457)"
    assert parse(model.expression).evaluate({"n": 7.0}) == 7.0**1.2345678901234567


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Factor("p", collective="Alreduce"), "Allreduce"),
        (lambda: Model(("p",), 0.0, (Term(1.0, (Factor("n"),)),)), "unknown parameter"),
        (lambda: Model(("p",), 0.0, (Term(1.0, (Factor("p"), Factor("p"))),)), "two factors"),
        (lambda: Model(("p", "n"), 0.0).evaluate([1.0]), "one number for each of p, n"),
        (lambda: Model(("p", "n"), 0.0).evaluate(3.0), "one number for each of p, n"),
    ],
)
def test_what_is_refused(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_a_point_where_a_shape_is_not_defined_gives_no_number() -> None:
    model = Model(("p",), 1.0, (Term(1.0, (Factor("p", F(1), F(1, 2)),)),))
    assert np.isnan(model.evaluate([0.5]))

"""Which coefficients of a formula enter linearly, which names are known, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simcodesign.analytic.given_formulas.names import FormulaNames
from simcodesign.core.errors import InputError
from simcodesign.core.expressions.derivative import names_in
from simcodesign.core.expressions.expression import parse
from simcodesign.describe.design_point import bind
from simcodesign.describe.yaml.files import load_machine, load_workload
from simcodesign.describe.yaml.formulas import load_formulas
from simcodesign.fitting.formulas.form import Form, form_of, linear_names
from simcodesign.fitting.formulas.known_names import KnownNames, names_of_machine
from tests.oracles.expression_texts import expression_texts

COEFFICIENTS = ("a", "b", "c")


def form(text: str, parameters: tuple[str, ...] = ("P", "m"), **known: float) -> Form:
    return form_of(load_formulas(text).formulas[0], parameters, KnownNames(known))


@pytest.mark.parametrize(
    ("text", "linear", "nonlinear"),
    [
        ("c0 + c1*log2(P)*m + c2*P**x", ("c0", "c1", "c2"), ("x",)),
        ("a*(b + c*m)", ("b", "c"), ("a",)),
        ("a*b*P", ("a",), ("b",)),
        ("1/(a + b*P)", (), ("a", "b")),
        ("max(a, b*m) + c", ("c",), ("a", "b")),
        ("where(m > 1000, a*m, b)", ("a", "b"), ()),
        ("a*exp(-m/k) + (b*P)**1 + abs(c)", ("a", "b"), ("k", "c")),
        ("a**2 + a*P", (), ("a",)),
        ("m + 2.5e-6*P", (), ()),
        ("sqrt(a)*P - b*(P - c)/4", ("b",), ("a", "c")),
        ("n*a + p*b", ("a", "b"), ()),
    ],
)
def test_split(text: str, linear: tuple[str, ...], nonlinear: tuple[str, ...]) -> None:
    made = form(text, n=3.0)
    assert (made.linear, made.nonlinear) == (linear, nonlinear)


def test_exponents() -> None:
    assert form("a*P**x*m**(y + 1) + exp(z*P) + P**2").exponents == {"x", "y"}


@pytest.mark.thorough
@given(expression_texts([*COEFFICIENTS, "P", "m"], leaves=10), st.randoms(use_true_random=False))
def test_second_differences_of_linear_coefficients_vanish(text: str, random: st.randoms) -> None:  # type: ignore[valid-type]
    """An oracle without calculus: an affine function has no second differences, whatever the steps."""
    expression = parse(text)
    names = tuple(name for name in names_in(expression.tree) if name in COEFFICIENTS)
    linear = linear_names(expression.tree, names)
    at = {name: random.uniform(0.5, 2.0) for name in ("P", "m", *COEFFICIENTS)}
    first, second = ({name: random.uniform(0.1, 1.0) for name in linear} for _ in range(2))

    def value(*steps: dict[str, float]) -> float:
        moved = {name: at[name] + sum(step.get(name, 0.0) for step in steps) for name in at}
        return float(expression.evaluate(moved))

    corners = value(), value(first), value(second), value(first, second)
    assume(np.isfinite(corners).all())
    size = max(map(abs, corners))
    assert abs(corners[0] - corners[1] - corners[2] + corners[3]) <= 1e-8 * size + 1e-8


@pytest.mark.parametrize(
    ("text", "nonlinear"), [("a**2*P", "a"), ("exp(a*P)", "a"), ("log2(a + P)", "a"), ("P/a", "a"), ("m*P**a", "a")]
)
def test_second_differences_of_others_do_not(text: str, nonlinear: str) -> None:
    made = form(text)
    assert made.nonlinear == (nonlinear,)
    low, middle, high = (made.values(np.array([[3.0, 5.0]]), {nonlinear: x})[0] for x in (1.0, 1.5, 2.0))
    assert abs(low - 2 * middle + high) > 1e-3


def test_constants_of_a_machine() -> None:
    known = KnownNames({"k": 2.0}, names_of_machine(load_machine("crossbar-16")))
    formula = load_formulas("k*t_s + network.per_byte*m*c + nodes + L").formulas[0]
    made = form_of(formula, ("P", "m"), known)
    assert made.coefficients == ("c", "L")  # its network is Hockney's, which has no L
    # crossbar-16: a startup of 10 us, 100 MB/s, 16 nodes
    assert made.values(np.array([[4.0, 100.0]]), {"c": 3.0, "L": 1.0}) == pytest.approx(2e-5 + 3e-6 + 17)


def test_names_of_a_machine_are_those_that_compare_knows() -> None:
    machine = load_machine("xeon-cluster")
    point = bind(load_workload("burst"), machine, {"P": 4})
    known = FormulaNames(point)
    values = names_of_machine(machine)
    assert {"t_s", "network.bandwidth", "memory.line", "caches.L2.size", "nodes"} <= values.keys()
    assert {name: known.one(name, None, name).value for name in values} == pytest.approx(values)


def test_word_and_symbols(tmp_path: object) -> None:
    known = KnownNames({}, names_of_machine(load_machine("crossbar-16")))
    made = form("c*m", ("m",))
    file = made.formula.__class__(
        "f",
        parse("c*t_w*m + tau*sigma", with_units=True),
        word=parse("8 B", with_units=True),
        symbols={"tau": parse("3 us + sigma", with_units=True), "sigma": parse("d", with_units=True)},
    )
    both = form_of(file, ("m",), known)
    assert both.coefficients == ("c", "d")
    values = both.values(np.array([[10.0]]), {"c": 2.0, "d": 1.0})
    assert values == pytest.approx(2.0 * 8e-8 * 10 + 1.000003)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("c*log2(M)", "M is neither a parameter"),
        ("network.startup*c", "--machine"),
        ("ceil(m/k)*a", "k is in a comparison"),
        ("where(m > k, a, b)", "k is in a comparison"),
        ("(m // k)*a", "k is in a comparison"),
        ("a + b*floor(c)", "c is in a comparison"),
        ("P**a + P**b + P**c + P**d + P**e + P**f + P**g", "7 coefficients"),
        ("_a*P", "name '_a'"),
    ],
)
def test_refused(text: str, word: str) -> None:
    with pytest.raises(InputError, match=word.replace("*", r"\*")):
        form(text)


def test_symbols_that_double_each_time_are_refused() -> None:
    formula = load_formulas("z").formulas[0]
    symbols = {f"s{k}": parse(f"s{k - 1}*s{k - 1}") for k in range(1, 40)} | {"s0": parse("a*b")}
    with pytest.raises(InputError, match="too long"):
        form_of(formula.__class__("f", parse("s39"), symbols=symbols), ("P",), KnownNames())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": -2.0, "b": 3.0, "x": -0.5}, "-2.0*(1 + 3.0*m) + P**-0.5"),
        ({"a": 2.0, "b": -3e-9, "x": 1.0}, "2.0*(1 - 3e-09*m) + P**1.0"),
    ],
)
def test_text_with_numbers(values: dict[str, float], expected: str) -> None:
    made = form("a*(1 + b*m) + P**x")
    assert made.text_with(values) == expected
    points = np.array([[4.0, 100.0], [9.0, 7.0]])
    again = parse(expected).evaluate({"P": points[:, 0], "m": points[:, 1]})
    assert again == pytest.approx(made.values(points, values), rel=1e-15)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
def test_text_reads_back_exactly(values: list[float]) -> None:
    made = form("c0 - c1*log2(P)*m + 2*c2/P - (c1 + P)**2")
    coefficients = dict(zip(made.coefficients, values, strict=True))
    points = np.array([[4.0, 100.0], [9.0, 7.0]])
    again = parse(made.text_with(coefficients)).evaluate({"P": points[:, 0], "m": points[:, 1]})
    assert np.array_equal(again, made.values(points, coefficients))

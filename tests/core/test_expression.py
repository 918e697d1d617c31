"""Expressions: by hand, against NumPy, Python and SymPy as independent readings, and under attack."""

from __future__ import annotations

import gc
import math
import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError, Place
from simcodesign.core.expressions.expression import FUNCTIONS, MAX_DEPTH, MAX_LENGTH, parse

NAN, INF = math.nan, math.inf
POINT = {"x": 3.0, "y": -2.5, "n_i": 4913.0, "zero": 0.0}

BY_HAND = [
    ("(2*18 + 6)*n_i", 206346.0),
    ("n_i - (n_i**(1/3) - 2)**3", 4913.0 - 3375.0),
    ("-x**2", -9.0),
    ("2**-x", 0.125),
    ("2**x**2", 512.0),
    ("1 - 2 - 3", -4.0),
    ("8/4/2", 1.0),
    ("7//2", 3.0),
    ("-7//2", -4.0),
    ("-7 % 3", 2.0),
    ("7 % -3", -2.0),
    ("+x - -x", 6.0),
    ("1e3 + .5 + 2.", 1002.5),
    ("x < 4", 1.0),
    ("x >= 4", 0.0),
    ("x == 3", 1.0),
    ("x != 3", 0.0),
    ("0 < x < 4", 1.0),
    ("0 < x < 2 < 9", 0.0),
    ("(x > 1) + (x > 2) + (x > 3)", 2.0),
    ("log2(8)", 3.0),
    ("log(exp(2))", 2.0),
    ("log10(1000)", 3.0),
    ("sqrt(2.25)", 1.5),
    ("cbrt(27)", 3.0),
    ("cbrt(x*9)/2", 1.5),
    ("ceil(y) + 10*floor(y)", -32.0),
    ("round(0.5) + 10*round(1.5) + 100*round(-2.5)", -180.0),
    ("abs(y)", 2.5),
    ("min(x, y, 1) + 10*max(x, y, 1)", 27.5),
    ("where(x > 2, 10, 20)", 10.0),
    ("where(zero, 10, 20)", 20.0),
    ("where(y, 10, 20)", 10.0),
    ("1/zero", INF),
    ("-1/zero", -INF),
    ("0/zero", NAN),
    ("1/0", INF),
    ("5//0", INF),
    ("5 % 0", NAN),
    ("0**-1", INF),
    ("y**0.5", NAN),
    ("(-8)**(1/3)", NAN),
    ("sqrt(-1)", NAN),
    ("log(0)", -INF),
    ("log2(-1)", NAN),
    ("exp(1e6)", INF),
    ("1e308*10", INF),
    ("9**9**9**9", INF),
    ("2**-99999", 0.0),
    ("where(zero == 0, 1, 1/zero)", 1.0),
    ("1*\n  (2\t+ 3)\r\n", 5.0),
]


@pytest.mark.parametrize(("text", "value"), BY_HAND)
def test_values_by_hand(text: str, value: float) -> None:
    result = parse(text).evaluate(POINT)
    assert type(result) is float
    assert result == pytest.approx(value, rel=1e-12, nan_ok=True)


@given(st.floats(-1e100, 1e100))
def test_the_cube_root_of_any_number(value: float) -> None:
    root = parse("cbrt(x)").evaluate({"x": np.float64(value)})
    assert root**3 == pytest.approx(value, rel=1e-14, abs=1e-300)


def test_attributes() -> None:
    place = Place("w.yaml", 3, "equations.a")
    expression = parse(" n*max(m, n) + log2(P) ", place)
    assert expression.text == "n*max(m, n) + log2(P)"
    assert expression.names == {"n", "m", "P"}
    assert expression.place == place
    assert expression == parse("n*max(m, n) + log2(P)")
    assert hash(expression) == hash(parse("n*max(m, n) + log2(P)"))
    assert expression != parse("n")
    assert pickle.loads(pickle.dumps(expression)).evaluate({"n": 2, "m": 3, "P": 4}) == 8.0
    with pytest.raises(AttributeError):
        expression.text = "n"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("number", "value"),
    [(3, 3.0), (-3, -3.0), (2.5, 2.5), (10**20, 1e20), (np.float64(0.1), 0.1), (np.int64(7), 7.0), (0, 0.0)],
)
def test_numbers_stand_for_themselves(number: Any, value: float) -> None:
    expression = parse(number)
    assert expression.evaluate({}) == value
    assert expression.names == frozenset()
    assert parse(expression.text).evaluate({}) == value


@pytest.mark.parametrize(
    "value", [NAN, INF, -INF, 10**400, 10**5000, -(10**5000), True, None, b"1", [1], 1j], ids=lambda _: ""
)
def test_what_is_neither_number_nor_text(value: Any) -> None:
    with pytest.raises(InputError):
        parse(value)


# --- arrays ---


def test_arrays_broadcast() -> None:
    result = parse("(2*s + 6)*n").evaluate({"s": np.arange(3), "n": np.array([[1.0], [10.0]])})
    np.testing.assert_array_equal(result, [[6, 8, 10], [60, 80, 100]])
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.float64


@pytest.mark.parametrize("value", [3, True, np.int32(3), np.float32(1.5), np.array(2.5), np.bool_(True)])
def test_any_real_number_is_a_scalar(value: Any) -> None:
    result = parse("2*v").evaluate({"v": value})
    assert type(result) is float
    assert result == 2 * float(value)


def test_result_never_is_the_array_that_was_given() -> None:
    given_array = np.array([1.0, 2.0])
    for text in ("x", "+x", "(x)"):
        result = parse(text).evaluate({"x": given_array})
        assert isinstance(result, np.ndarray)
        result *= 5
    np.testing.assert_array_equal(given_array, [1.0, 2.0])


def test_small_integers_do_not_wrap_around() -> None:
    result = parse("x*x + 200").evaluate({"x": np.array([100, 120], dtype=np.int8)})
    np.testing.assert_array_equal(result, [10200.0, 14600.0])


def test_where_and_comparisons_on_arrays() -> None:
    result = parse("where(1 < x <= 3, x, -(x == 4))").evaluate({"x": np.arange(5.0)})
    np.testing.assert_array_equal(result, [0, 0, 2, 3, -1])
    assert np.shape(parse("where(1, 5, x)").evaluate({"x": np.zeros((2, 3))})) == (2, 3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": 1.0}, r"unknown name 'nn'.*got 'nn \+ x'"),
        ({"x": 1.0, "nn": "3"}, "nn is '3'"),
        ({"x": 1.0, "nn": None}, "nn is None"),
        ({"x": 1.0, "nn": 1j}, "real numbers"),
        ({"x": 1.0, "nn": [[1, 2], [3]]}, "real numbers"),
        ({"x": 1.0, "nn": 10**400}, "real numbers"),
        ({"x": 1.0, "nn": np.array([1, None])}, "real numbers"),
        ({"x": np.zeros(2), "nn": np.zeros(3)}, r"do not broadcast: nn \(3,\), x \(2,\)"),
    ],
)
def test_values_that_cannot_be_used(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse("nn + x", Place("w.yaml", 4)).evaluate(values)
    assert str(caught.value).startswith("w.yaml:4: ")


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'n_shared'"):
        parse("n_sharde").evaluate({"n_shared": 1.0, "P": 2.0})


# --- independent readings ---

Case = tuple[str, Callable[[dict[str, Any]], Any]]
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "<": lambda a, b: np.less(a, b).astype(float),
    "<=": lambda a, b: np.less_equal(a, b).astype(float),
    ">": lambda a, b: np.greater(a, b).astype(float),
    ">=": lambda a, b: np.greater_equal(a, b).astype(float),
    "==": lambda a, b: np.equal(a, b).astype(float),
    "!=": lambda a, b: np.not_equal(a, b).astype(float),
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": np.negative,
    "+": np.positive,
    "abs": np.absolute,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": np.round,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
}
ROUNDED: dict[str, Callable[[Any], Any]] = {"log2": np.log2, "log": np.log, "log10": np.log10, "exp": np.exp}
SPACE = st.sampled_from(["", " ", "  ", "\n"])


def _leaf() -> st.SearchStrategy[Case]:
    def number(value: float) -> Case:
        return repr(value), lambda v: np.float64(value)

    def name(key: str) -> Case:
        return key, lambda v: v[key]

    numbers = st.integers(0, 10**6) | st.floats(0, 1e300)
    return numbers.map(number) | st.sampled_from("xyz").map(name)


def _binary(space: str, symbol: str, left: Case, right: Case) -> Case:
    text = f"({left[0]}{space}{symbol}{space}{right[0]})"
    return text, lambda v: BINARY[symbol](left[1](v), right[1](v))


def _unary(symbol: str, operand: Case) -> Case:
    function = {**UNARY, **ROUNDED}[symbol]
    return f"{symbol}({operand[0]})", lambda v: function(operand[1](v))


def _extreme(symbol: str, operands: list[Case]) -> Case:
    text = f"{symbol}({', '.join(text for text, _ in operands)})"
    pick = {"min": np.min, "max": np.max}[symbol]
    return text, lambda v: pick(np.stack(np.broadcast_arrays(*[f(v) for _, f in operands])), axis=0)


def _where(condition: Case, a: Case, b: Case) -> Case:
    text = f"where({condition[0]}, {a[0]}, {b[0]})"
    return text, lambda v: np.where(condition[1](v) != 0, a[1](v), b[1](v))


def trees(functions: dict[str, Callable[[Any], Any]]) -> st.SearchStrategy[Case]:
    return st.recursive(
        _leaf(),
        lambda inner: st.one_of(
            st.builds(_binary, SPACE, st.sampled_from(sorted(BINARY)), inner, inner),
            st.builds(_unary, st.sampled_from(sorted(functions)), inner),
            st.builds(_extreme, st.sampled_from(["min", "max"]), st.lists(inner, min_size=2, max_size=4)),
            st.builds(_where, inner, inner, inner),
        ),
        max_leaves=12,
    )


VALUES = st.fixed_dictionaries({key: st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float) for key in "xyz"})


@given(trees({**UNARY, **ROUNDED}), VALUES)
def test_trees_equal_numpy_lambdas(tree: Case, values: dict[str, float]) -> None:
    text, function = tree
    with np.errstate(all="ignore"):
        expected = function({key: np.float64(value) for key, value in values.items()})
    np.testing.assert_array_equal(parse(text).evaluate(values), expected)


@given(trees(UNARY), st.lists(VALUES, min_size=1, max_size=20))
def test_arrays_equal_scalars_element_by_element(tree: Case, points: list[dict[str, float]]) -> None:
    expression = parse(tree[0])
    arrays = {key: np.array([point[key] for point in points]) for key in "xyz"}
    scalars = [expression.evaluate(point) for point in points]
    result = np.broadcast_to(expression.evaluate(arrays), len(points))
    np.testing.assert_array_equal(result, scalars)


@pytest.mark.parametrize("text", ["x**y", "x**2", "x**0.5", "x**(1/3)", "log2(x)", "log(x)", "exp(y)"])
def test_vectorised_functions_equal_scalars_to_rounding(text: str) -> None:
    random = np.random.default_rng(5)
    arrays = {"x": random.uniform(0, 1e3, 200), "y": random.uniform(-9, 9, 200)}
    expression = parse(text)
    scalars = [expression.evaluate({"x": x, "y": y}) for x, y in zip(arrays["x"], arrays["y"], strict=True)]
    np.testing.assert_allclose(expression.evaluate(arrays), scalars, rtol=1e-14)


@given(
    st.lists(st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), max_size=8),
    st.lists(st.tuples(st.sampled_from(["", "-", "+", "--"]), st.sampled_from("xyz")), min_size=9),
    VALUES,
)
def test_precedence_is_that_of_python(
    symbols: list[str], operands: list[tuple[str, str]], values: dict[str, float]
) -> None:
    text = "".join(operands[0])
    for symbol, operand in zip(symbols, operands[1:], strict=False):
        text += f"{symbol}{''.join(operand)}"
    with np.errstate(all="ignore"):
        expected = eval(text, {}, {key: np.float64(value) for key, value in values.items()})
    np.testing.assert_array_equal(parse(text).evaluate(values), expected)


# --- what is refused ---

ATTACKS = [
    "__import__('os').system('x')",
    "__import__",
    "_x",
    "_(1)",
    "(1).__class__",
    "a.b",
    "x.real",
    "a.b(1)",
    "a[0]",
    "[x for x in y]",
    "(x for x in y)",
    "{1: 2}",
    "lambda: 1",
    "lambda x: x",
    "f'{x}'",
    "'text'",
    '"text"',
    "b'x'",
    "(x := 3)",
    "x = 3",
    "x; y",
    "x, y",
    "(x, y)",
    "()",
    "*x",
    "max(*x)",
    "max(**x)",
    "max(x, y, key=x)",
    "log(x, base=2)",
    "round(x, ndigits=1)",
    "True",
    "None",
    "...",
    "1j",
    "2 + 3J",
    "not x",
    "~x",
    "x and y",
    "x or y",
    "x if y else z",
    "1if x else 2",
    "x in y",
    "x is y",
    "x < y in z",
    "x @ y",
    "x << 2",
    "x & y",
    "x ^ 2",
    "await x",
    "yield x",
    "yield",
    "import os",
    "eval(x)",
    "exec(x)",
    "open(x)",
    "max(x, y)(z)",
    "(max)",
    "log2",
    "log2 + 1",
    "min(x)",
    "max()",
    "log()",
    "log(x, 2)",
    "where(x, y)",
    "where(x, y, z, z)",
    "",
    "  \n ",
    "+",
    "x y",
    "2x",
    "x +",
    "((x)",
    "x)",
    ")(",
    "010",
    "1e999",
    "9" * 4000,
    "x # comment",
    "x \\\n + 1",
    "x\x00",
    "\x00",
    "x\x0c",
    "😀",
    "😀 + 1",
    "ﬁ + 1",
    "größe",
    "x \u00d7 2",
    "x \u2212 1",
    "2\u00a0+ 1",
    "\u0661 + 1",
    "$x",
    "`x`",
    "x?",
    "x" * (MAX_LENGTH + 1),
    "x" * 10**7,
    "(" * 5000 + "x" + ")" * 5000,
    "(" * 2000 + "x" + ")" * 2000,
    "(" * 201 + "x" + ")" * 201,
    "(" * 200 + ")" * 200,
    "-" * 5000 + "x",
    "-" * 4000 + "x",
    "-" * 201 + "x",
    "x" + "+1" * 5000,
    "x" + "+1" * 2000,
    "x" + "+1" * 201,
    "x" + "**1" * 1300,
    "x" + "<1" * 2000 + "<",
    "abs(" * 800 + "x" + ")" * 800,
    "not " * 1000 + "x",
    "x if " * 800,
    "x" + ".x" * 2000,
    "x" + "()" * 2000,
    "x(" * 190 + "1 2" + ")" * 190,
]


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: ascii(text[:30]))
def test_refused_at_once(text: str) -> None:
    gc.disable()  # what other tests left is not swept up in the time of this one
    try:
        start = time.process_time()
        with pytest.raises(InputError) as caught:
            parse(text, Place("w.yaml", 9))
        took = time.process_time() - start
    finally:
        gc.enable()
    assert took < 0.5
    assert str(caught.value).startswith("w.yaml:9: ")
    assert len(str(caught.value)) < 600
    assert "allowed: " in str(caught.value)


TOKENS = ["x", "y1", "2", "1e9", ".5", "(", ")", ",", "+", "-", "*", "**", "/", "//", "%", "<", "<=", "=="]
TOKENS += ["!=", "=", " ", "max", "log2(", "where(", "not ", " if ", " else ", " for ", " in ", ".", "_", "["]


ANY_TEXT = st.text() | st.text("0123456789eExy._+-*/%()<>=!, j", max_size=40)


@given(ANY_TEXT | st.lists(st.sampled_from(TOKENS)).map("".join))
def test_any_text_is_an_expression_or_an_input_error(text: str) -> None:
    try:
        expression = parse(text)
    except InputError:
        return
    assert type(expression.evaluate(dict.fromkeys(expression.names, 1.5))) is float


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("lgo2(P)", ["unknown function 'lgo2' at column 1", "'lgo2(P)'", "did you mean 'log2'"]),
        ("1 + a.b", ["a '.' after a name is not allowed at column 5"]),
        ("1 + [2]", ["character '[' at column 5"]),
        ("x if y else z", ["where(condition, a, b)"]),
        ("2 * max(x)", ["max with 1 arguments at column 5", "2 or more"]),
        ("x + * y", ["syntax error at column 5", "log2"]),
        ("x + _y", ["name '_y' at column 5"]),
        ("x + min", ["function 'min' without arguments at column 5"]),
        ("max(x, y=2)", ["a named argument is not allowed at column 1"]),
        ("x and y", ["'and' or 'or'"]),
    ],
)
def test_message_says_what_where_and_what_is_allowed(text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, Place("w.yaml", 12, "program[0].flops"))
    for part in ["w.yaml:12: program[0].flops: ", *parts]:
        assert part in str(caught.value)


@pytest.mark.parametrize("text", ["inf", "nan", "pi", "e"])
def test_constants_of_other_languages_are_plain_names(text: str) -> None:
    assert parse(text).names == {text}
    with pytest.raises(InputError, match="unknown name"):
        parse(text).evaluate({})


def test_greatest_depth_works() -> None:
    assert parse("+".join(["x"] * MAX_DEPTH)).evaluate({"x": 2.0}) == 2.0 * MAX_DEPTH
    assert parse("-" * (MAX_DEPTH - 2) + "x").evaluate({"x": 2.0}) == 2.0
    assert parse("abs(" * 150 + "x" + ")" * 150).evaluate({"x": -2.0}) == 2.0
    assert parse("max(" + ",".join(["x"] * 1000) + ")").evaluate({"x": 2.0}) == 2.0


def test_every_function_is_tested_by_hand() -> None:
    assert {name for name in FUNCTIONS if any(f"{name}(" in text for text, _ in BY_HAND)} == set(FUNCTIONS)

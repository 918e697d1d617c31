"""Quantities and paths in expressions: what they are worth, that they are atoms, that columns of errors stay true."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.expression import Node, parse
from simcodesign.core.expressions.expression_sympy import to_sympy
from simcodesign.core.expressions.expression_text import text_of
from simcodesign.core.units import parse_quantity, units_with_dimension
from tests import examples

UNITS = sorted(units_with_dimension())
VALUES = {"m": 3e-6, "P": 4.0, "s_i": 2.0, "network.startup": 5e-6, "machine.cores": 8.0}

WORTH = [
    ("m / 1.5 us", 2.0),
    ("2.5us", 2.5e-6),
    ("64 KiB/P", 16384.0),
    ("10 GB/s*2", 2e10),
    ("10 GB/s_i", 5e9),
    ("2 s**2", 4.0),
    ("-2 ms", -2e-3),
    ("min(2 min, 3 h)", 120.0),
    ("2.5 µs + 2.5 μs", 5e-6),
    ("5 % 3", 2.0),
    ("1e3 B", 1000.0),
    (".5 kB", 500.0),
    ("network.startup*2", 1e-5),
    ("machine.cores - 1", 7.0),
]


@pytest.mark.parametrize(("text", "value"), WORTH)
def test_worth(text: str, value: float) -> None:
    assert parse(text, with_units=True).evaluate(VALUES) == pytest.approx(value, rel=1e-15)


@given(st.floats(1e-9, 1e9), st.sampled_from(UNITS), st.sampled_from(["", " ", "  "]))
def test_every_unit_is_worth_what_the_table_says(number: float, unit: str, space: str) -> None:
    text, dimension = f"{number!r}{space}{unit}", units_with_dimension()[unit]
    assert parse(text, with_units=True).evaluate({}) == parse_quantity(text, dimension)
    assert parse(f"1/{text}", with_units=True).evaluate({}) == 1 / parse_quantity(text, dimension)


@pytest.mark.parametrize("text", ["2 us", "network.startup", "64 KiB*P"])
def test_expressions_of_descriptions_stay_as_they_are(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("2 us + 3 usec", 10),
        ("2.5 us + 2 us)", 14),
        ("2.5 us*foo(3)", 8),
        ("2.5 µs + é", 10),
        ("64 KiB + network._x", 10),
        ("2.5 us.x", 1),
        ("64 KiB + 'a'", 10),
        ("2 us 3", 6),
    ],
)
def test_columns_of_errors_are_those_of_the_text(text: str, column: int) -> None:
    with pytest.raises(InputError) as error:
        parse(text, with_units=True)
    assert f"column {column}" in error.value.what
    assert error.value.value == text


def test_names_of_underscores_are_not_quantities() -> None:
    with pytest.raises(InputError):
        parse("___ + 2 us", with_units=True)


def test_a_quantity_is_its_number_in_sympy() -> None:
    assert float(to_sympy(parse("2.5 us", with_units=True))) == 2.5e-6


ATOMS = st.sampled_from(["2", "1e-6", "P", "m", "2.5 us", "64 KiB", "network.startup"])
TEXTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<="]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
        inner.map(lambda text: f"-({text})"),
        inner.map(lambda text: f"log2({text})"),
        st.tuples(inner, inner).map(lambda parts: f"max({parts[0]}, {parts[1]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=examples(150))
@given(TEXTS)
def test_text_of_a_tree_is_that_tree(text: str) -> None:
    tree: Node = parse(text, with_units=True).tree
    printed = text_of(tree)
    assert parse(printed, with_units=True).tree == tree
    assert len(re.sub(r"[ ()]", "", printed)) <= len(re.sub(r"[ ()]", "", text))

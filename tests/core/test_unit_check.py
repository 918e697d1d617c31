"""Units through expressions: which terms are seconds, which literals take a unit, what is refused and by which name.

The oracle of what passes is a change of units: a time written in another unit of time is larger by that factor, and by
no other, whatever the unit of sizes is.
"""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.expressions.dimension import PLAIN, Dimension, OnlyTime, dimension_named, dimension_of_unit
from simcodesign.core.expressions.expression import parse
from simcodesign.core.expressions.unit_check import condition_units, dimension_of, seconds_of
from simcodesign.core.units import DIMENSIONS
from tests import examples

TIME, SIZE, PER_BYTE = (dimension_named(name) for name in ("time", "size", "per_byte"))
A_TIME = OnlyTime(Fraction(1))
DIMENSIONS_OF: dict[str, Dimension | OnlyTime | None] = {
    "t_s": TIME,
    "L": TIME,
    "o": TIME,
    "t_w": PER_BYTE,
    "G": PER_BYTE,
    "m": SIZE,
    "P": PLAIN,
    "t_c": dimension_of_unit("s/FLOP"),
    "rate": dimension_named("rate"),
    "clock": dimension_named("frequency"),
    "bw": dimension_named("bandwidth"),
    "n": None,
    "work": A_TIME,
}

PASSES = {
    "log2(P)*(t_s + m*t_w)": [],
    "L + 2*o + (m - 1)*G": ["1 taken as 1 B"],
    "2.5e-6*log2(P)": ["2.5e-6 taken as 2.5e-6 s"],
    "2*log2(P)": ["2 taken as 2 s"],
    "2.5e-9*m": ["2.5e-9 taken as 2.5e-9 s/B"],
    "m/2.5e9": ["2.5e9 taken as 2.5e9 B/s"],
    "(2.5e-6 + m*1e-9)*log2(P)": ["2.5e-6 taken as 2.5e-6 s", "1e-9 taken as 1e-9 s/B"],
    "t_s + 2.5e-6": ["2.5e-6 taken as 2.5e-6 s"],
    "max(0, m - 64 KiB)*t_w": [],
    "ceil(m/64 KiB)*t_s": [],
    "ceil(m/1024.0)*t_s": ["1024.0 taken as 1024.0 B"],
    "where(m <= 65536, t_s, 2*t_s)": ["65536 taken as 65536 B"],
    "2*n**3*t_c": [],
    "n*t_w + n*t_s": [],
    "2.5e-6*n": ["2.5e-6 taken as 2.5e-6 s"],
    "2*P*t_c": [],
    "P/clock + 2*n/rate": [],
    "sqrt(t_s*m*t_w)": [],
    "1/(P/t_s)": [],
    "0": [],
    "P*(work + t_s)": [],
    "work/m + m*work": [],
    "log2(n)*1e-6": ["1e-6 taken as 1e-6 s"],
}

REFUSED = {
    "t_s*m": "the term t_s*m is s B, not s",
    "t_s*(P - 1) + m": "the term m is B, not s",
    "P*(t_s + m*t_s)": "the term P*m*t_s is s B, not s",
    "2*m": "the term 2*m is B, not s",
    "t_c": "the term t_c is s/FLOP, not s",
    "work*t_s": "the term work*t_s is s^2, not s",
    "work*rate": "the term work*rate has no time in it",
    "n*m": "the term n*m has no time in it",
    "2*n": "the term 2*n has no time in it",
    "log2(m)*t_s": "the term m is B, not a plain count",
    "ceil(m/1024)*t_s": "the term m/1024 is B, not a plain count",
    "t_s**P": "t_s is s: its exponent must be a number",
    "t_s*2**m": "the term m is B, not a plain count",
    "where(m < t_s, t_s, 0)": "the term t_s is s, not B",
    "t_s/(m + t_s)": "the term t_s is s, not B",
    "max(m, t_s)*t_w": "the term t_s*t_w is s^2/B, not s",
}


@pytest.mark.parametrize("text", PASSES)
def test_terms_that_are_seconds(text: str) -> None:
    assert [str(unit) for unit in seconds_of(parse(text, with_units=True), DIMENSIONS_OF)] == PASSES[text]


@pytest.mark.parametrize("text", REFUSED)
def test_terms_that_are_not(text: str) -> None:
    with pytest.raises(InputError) as error:
        seconds_of(parse(text, with_units=True), DIMENSIONS_OF)
    assert error.value.what == REFUSED[text]


def test_one_coefficient_has_one_unit() -> None:
    with pytest.raises(InputError, match="1e-9"):
        seconds_of(parse("1e-9*(m + log2(P))", with_units=True), DIMENSIONS_OF)


def test_conditions() -> None:
    text = "(P >= 4)*(m <= 65536)*(n < 10)"
    assert [str(unit) for unit in condition_units(parse(text, with_units=True), DIMENSIONS_OF)] == [
        "65536 taken as 65536 B"
    ]
    with pytest.raises(InputError):
        condition_units(parse("m <= t_s", with_units=True), DIMENSIONS_OF)


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("8*m", SIZE),
        ("m/bw", TIME),
        ("log2(P)", PLAIN),
        ("8*P", None),
        ("8*n", None),
        ("m + t_s", None),
        ("n*t_c", A_TIME),
        ("t_s + 8*n*t_w", A_TIME),
        ("n*t_c + n*t_w", A_TIME),
        ("1/(n*t_c)", OnlyTime(Fraction(-1))),
        ("2*work", A_TIME),
        ("work/t_s", None),
        ("n*t_c + n", None),
    ],
)
def test_dimension_of_an_equation(text: str, dimension: Dimension | OnlyTime | None) -> None:
    assert dimension_of(parse(text, with_units=True), DIMENSIONS_OF) == dimension


def test_dimensions_of_the_table_of_units() -> None:
    assert {name: str(dimension_named(name)) for name in DIMENSIONS} == {
        "time": "s",
        "size": "B",
        "rate": "FLOP/s",
        "bandwidth": "B/s",
        "bytes_per_cycle": "B/cycle",
        "per_byte": "s/B",
        "frequency": "cycle/s",
        "power": "J/s",
        "energy": "J",
        "energy_per_byte": "J/B",
        "operation_rate": "1/s",
        "cycles": "cycle",
        "count": "a plain count",
    }
    assert dimension_of_unit("words/point") is None
    assert str(TIME**2 / (SIZE * dimension_named("energy") ** Fraction(1, 2))) == "s^2/(B J^(1/2))"


def test_large_products_of_sums_are_not_distributed() -> None:
    wide = " + ".join(["t_s"] * 60)
    assert not seconds_of(parse(f"({wide})*({wide})/({wide})", with_units=True), DIMENSIONS_OF)
    with pytest.raises(InputError):
        seconds_of(parse(f"({wide} + m)*({wide})/({wide})", with_units=True), DIMENSIONS_OF)


NAMES = ("t_s", "o", "t_w", "m", "P", "bw")
TREES = st.recursive(
    st.sampled_from([*NAMES, "2.5 us", "64 KiB", "10 GB/s", "3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
        st.tuples(inner, inner).map(lambda parts: f"max({parts[0]}, {parts[1]})"),
        st.tuples(inner, inner, inner, inner).map(lambda p: f"where({p[0]} < {p[1]}, {p[2]}, {p[3]})"),
        inner.map(lambda text: f"log2(1 + P*({text})/({text}))"),
        inner.map(lambda text: f"sqrt(({text})*({text}))"),
    ),
    max_leaves=7,
)
VALUES = {"t_s": 3.1, "o": 1.7, "t_w": 0.37, "m": 11.3, "P": 8.0, "bw": 5.9}


#: Ways to write a time, a size and a plain count, of parts of which the same holds.
WAYS = {
    "time": [
        *("t_s", "o", "2.5 us", "{time} + {time}", "{count}*{time}", "{size}*t_w", "{size}/bw + {time}"),
        *("max(0, {time} - {time})", "where({size} < {size}, {time}, {time})", "sqrt({time}*{time})"),
        "{time}**2/{time}",
    ],
    "size": ["m", "64 KiB", "{size} - {size}", "{count}*{size}", "{time}*10 GB/s"],
    "count": ["P", "3", "log2(1 + P*{time}/{time})", "ceil({size}/{size})", "{count} + {count}"],
}


def written(chance: random.Random, kind: str = "time", depth: int = 4) -> str:
    """A text of this kind, in brackets where it stands in another."""
    ways = [way for way in WAYS[kind] if depth or "{" not in way]
    parts = re.split(r"\{(\w+)\}", chance.choice(ways))
    return "".join(f"({written(chance, part, depth - 1)})" if place % 2 else part for place, part in enumerate(parts))


TIMES = st.integers(0, 2**32).map(lambda seed: written(random.Random(seed)))


@settings(max_examples=examples(300))
@given(TIMES)
def test_what_is_a_time_by_construction_passes(text: str) -> None:
    assert not seconds_of(parse(text, with_units=True), DIMENSIONS_OF)


@settings(max_examples=examples(400))
@given(st.one_of(TREES, TIMES))
def test_what_passes_scales_as_a_time_when_units_change(text: str) -> None:
    expression = parse(text, with_units=True)
    try:
        if seconds_of(expression, DIMENSIONS_OF):
            return
    except InputError:
        return
    for second, byte in ((7.0, 1.0), (1.0, 3.0)):
        scaled = {}
        for name, value in VALUES.items():
            exponents = (DIMENSIONS_OF[name] or PLAIN).exponents
            scaled[name] = value * second ** float(exponents[0]) * byte ** float(exponents[1])
        # The quantities of the text in these units, too: as names with their values.
        literals = {"2.5 us": 2.5e-6 * second, "64 KiB": 65536 * byte, "10 GB/s": 1e10 * byte / second}
        replaced = text
        for number, (literal, value) in enumerate(literals.items()):
            replaced = replaced.replace(literal, f"q_{number}")
            scaled[f"q_{number}"] = value
        before, after = expression.evaluate(VALUES), parse(replaced).evaluate(scaled)
        size = parse(replaced.replace("-", "+")).evaluate(scaled)  # what may cancel
        assert after == pytest.approx(before * second, rel=1e-9, abs=1e-9 * abs(size), nan_ok=True)

"""Axes and grids against brute force: itertools, exact fractions, the unit table."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.core.units import parse_quantity
from simcodesign.studies.sweep.design.grid import CHANGE, SEED, Design, Known, SweepAxis, grid, parse_axis, unknown

BANDWIDTH = Known("network.per_byte", dimension="bandwidth", inverse=True)
WORDS = Known("solver", choices={"cg": 1.0, "gmres": 2.0})


def known(result: Known):
    return lambda name: result


def values(text: str, result: Known | None = None) -> tuple[float | str, ...]:
    return parse_axis(text, unknown if result is None else known(result)).values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n=1,10,100", (1, 10, 100)),
        ("n= 1e3 , 2.5 ", (1000, 2.5)),
        ("n=-1,0,1", (-1, 0, 1)),
        ("n=5", (5,)),
        ("P=1:2048:x2", tuple(2**k for k in range(12))),
        ("P=1:1000:x2", tuple(2**k for k in range(10))),
        ("n=1:100:x10", (1, 10, 100)),
        ("n=1e-6:1e-3:x10", (1e-6, 1e-5, 1e-4, 1e-3)),
        ("n=2:20:x1.5", (2, 3, 4.5, 6.75, 10.125, 15.1875)),
        ("n=0:1:+0.1", (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)),
        ("n=0:1:+0.3", (0, 0.3, 0.6, 0.9)),
        ("n=-1:1:+1", (-1, 0, 1)),
        ("n=3:3:+1", (3,)),
        ("n=1:1.0000000000000002:x2", (1,)),
        ("n=1:2:n=5", (1, 1.25, 1.5, 1.75, 2)),
        ("n=1:2:n=3:linear", (1, 1.5, 2)),
        ("n=1:10000:n=5:log", (1, 10, 100, 1000, 10000)),
        ("P=1:10:n=4", (1, 4, 7, 10)),
        ("P=1:10:x1.5", (1, 2, 3, 5, 8)),  # 1 1.5 2.25 3.375 5.06 7.59
        ("seed=1:3:+1", (1, 2, 3)),
        ("n=50%,100%", (0.5, 1)),
        ("t=1,2,5us", (1e-6, 2e-6, 5e-6)),
        ("t=1 us,2 us,1 ms", (1e-6, 2e-6, 1e-3)),
        ("t=1:8us:x2", (1e-6, 2e-6, 4e-6, 8e-6)),
        ("t=1us:1ms:x10", (1e-6, 1e-5, 1e-4, 1e-3)),
        ("t=0:2us:+500ns", (0, 5e-7, 1e-6, 1.5e-6, 2e-6)),
        ("t=0:2us:+1", (0, 1e-6, 2e-6)),
        ("f=1:1.3:+0.1GHz", (1e9, 1.1e9, 1.2e9, 1.3e9)),
        ("m=64KiB:1MiB:x4", (65536, 262144, 1048576)),
    ],
)
def test_values_of_axes(text: str, expected: tuple[float, ...]) -> None:
    assert values(text) == tuple(map(float, expected))


def test_the_unit_of_the_last_holds_for_those_without() -> None:
    axis = parse_axis("network.bandwidth=1,10,100GB/s", known(BANDWIDTH))
    assert axis.values == (1e9, 1e10, 1e11)
    assert axis.given == (1e-9, 1e-10, 1e-11)
    assert (axis.unit, axis.log) == ("B/s", True)
    assert values("network.bandwidth=100MB/s,1,10GB/s", BANDWIDTH) == (1e8, 1e9, 1e10)


def test_words_are_values_and_set_their_numbers() -> None:
    axis = parse_axis("solver=cg,2", known(WORDS))
    assert axis.values == ("cg", "gmres")
    assert axis.given == (1.0, 2.0)
    assert not axis.numeric


def test_words_and_lists_stand_in_a_machine_file() -> None:
    change = Known("network.topology.shape", CHANGE)
    assert values("network.topology.shape=[4,4],[2,8], [16]", change) == ("[4,4]", "[2,8]", "[16]")
    assert values("mapping=linear,round_robin", change) == ("linear", "round_robin")
    axis = parse_axis("caches.L1.latency=3,4cycles", known(Known("caches.L1.latency", CHANGE)))
    assert axis.given == ("3.0 cycles", "4.0 cycles")


@pytest.mark.parametrize(
    ("text", "log"),
    [
        ("n=1:8:x2", True),
        ("n=1:9:+1", False),
        ("n=1:9:n=3", False),
        ("n=1:9:n=3:log", True),
        ("n=1,2,4,8", True),
        ("n=1,2,3", False),
        ("n=1,2", False),
        ("n=0,1,10,100", False),
        ("n=100,10,1", True),
    ],
)
def test_what_is_spaced_by_factors(text: str, log: bool) -> None:
    assert parse_axis(text).log is log


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "not something to vary"),
        ("P", "not something to vary"),
        ("=1", "not something to vary"),
        ("P=", "not something to vary"),
        ("P=1,,2", "a value is missing"),
        ("P=1:8", "a range without a step"),
        ("P=1:8:2", "step of a range '2'"),
        ("P=8:1:x2", "not in order"),
        ("P=1:8:x1", "factor of a range"),
        ("P=1:8:x0.5", "factor of a range"),
        ("P=1:8:xtwo", "factor of a range"),
        ("P=0:8:x2", "begins above 0"),
        ("P=1:8:+0", "step of a range"),
        ("P=1:8:+-1", "step of a range"),
        ("P=1:8:n=1", "number of values"),
        ("P=1:8:n=many", "number of values"),
        ("P=0:8:n=3:log", "begins above 0"),
        ("P=1:8:n=3:cubic", "spacing"),
        ("P=1:8:x2:log", "unexpected 'log' after a step"),
        ("P=a:8:x2", "ends of a range"),
        ("P=1.5,2", "no whole number"),
        ("P=1,2,1", "1 is given twice"),
        ("P=4,4.0", "given twice"),
        ("n=two", "is no value"),
        ("n=1,2XB", "unknown unit 'XB'"),
        ("n=1s,2B", "is a unit of time"),
        ("t=1us:5:n=5", "the end of the range has no unit"),
        ("seed=-1", "no seed"),
        ("seed=-2:2:+1", "no seed"),
        ("n=1:1e9:+1", "values"),
        ("n=1:2:n=1000001", "values"),
        ("n=1e999,2", "too large"),
    ],
)
def test_errors_name_the_text_and_what_is_allowed(text: str, named: str) -> None:
    with pytest.raises(InputError, match=r"^--vary: ") as caught:
        parse_axis(text)
    assert named in str(caught.value)
    assert "allowed: " in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected", "named"),
    [
        ("network.bandwidth=0,1GB/s", BANDWIDTH, "a bandwidth"),
        ("network.bandwidth=1s", BANDWIDTH, "not of bandwidth"),
        ("solver=lu", WORDS, "allowed: cg, gmres"),
        ("solver=3", WORDS, "none of the choices"),
        ("solver=1:2:+1", WORDS, "has names"),
    ],
)
def test_errors_of_what_is_known(text: str, expected: Known, named: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_axis(text, known(expected))
    assert named in str(caught.value)


@given(
    st.lists(st.integers(-(10**12), 10**12).map(lambda k: Fraction(k, 1000)), min_size=1, max_size=9, unique=True),
    st.sampled_from(["", "us", "GB/s", "KiB", "W", "%"]),
)
def test_lists_are_read_as_the_unit_table_reads_each(numbers: list[Fraction], unit: str) -> None:
    dimension = {"": "count", "us": "time", "GB/s": "bandwidth", "KiB": "size", "W": "power", "%": "count"}[unit]
    texts = [repr(float(number)) for number in numbers]
    assert values(f"x={','.join(texts)}{unit}") == tuple(parse_quantity(f"{text} {unit}", dimension) for text in texts)


@given(st.integers(-1000, 1000), st.integers(0, 3000), st.integers(1, 400), st.sampled_from([1, 10, 100, 1000]))
def test_steps_are_exact_and_end_where_they_should(low: int, width: int, step: int, digits: int) -> None:
    first, last, by = Fraction(low, digits), Fraction(low + width, digits), Fraction(step, digits)
    expected = [float(first + k * by) for k in range(width // step + 1)]
    assert values(f"x={float(first)!r}:{float(last)!r}:+{float(by)!r}") == tuple(expected)


@given(st.floats(1e-9, 1e9), st.floats(1.01, 100), st.floats(1, 1e6))
def test_factors_go_up_to_the_end_and_not_beyond(low: float, factor: float, ratio: float) -> None:
    high = low * ratio
    result = np.array(values(f"x={low!r}:{high!r}:x{factor!r}"), dtype=float)
    assert result[0] == low
    assert result[-1] <= high
    assert result[-1] * factor >= high * (1 - 1e-8)
    assert np.allclose(result[1:] / result[:-1], factor, rtol=1e-8)


@given(st.floats(1e-9, 1e9), st.floats(1.001, 1e6), st.integers(2, 50), st.booleans())
def test_counted_ranges_have_their_ends_and_even_spacing(low: float, ratio: float, count: int, log: bool) -> None:
    high = low * ratio
    result = np.array(values(f"x={low!r}:{high!r}:n={count}{':log' if log else ''}"), dtype=float)
    assert (result[0], result[-1], len(result)) == (low, high, count)
    steps = np.diff(np.log(result) if log else result)
    assert np.allclose(steps, steps[0], rtol=1e-6, atol=1e-13 * abs(np.log(low) if log else low))


# Grids.


def axes(*sizes: int) -> list[SweepAxis]:
    return [
        SweepAxis(f"a{k}", tuple(float(10 * k + v) for v in range(size)), known=Known(f"a{k}"))
        for k, size in enumerate(sizes)
    ]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_grid_is_the_product_with_the_last_axis_fastest(sizes: list[int]) -> None:
    design = grid(axes(*sizes))
    expected = list(itertools.product(*(axis.values for axis in design.axes)))
    assert design.count == len(design) == len(expected)
    assert [tuple(design.values(number).values()) for number in range(design.count)] == expected
    columns = design.columns()
    assert list(zip(*(column.tolist() for column in columns.values()), strict=True)) == expected
    some = np.arange(design.count)[::-2]
    assert list(zip(*(column.tolist() for column in design.columns(some).values()), strict=True)) == expected[::-2]


def test_a_zipped_design_goes_through_all_axes_together() -> None:
    design = Design(tuple(axes(3, 3)), zipped=True)
    assert [design.values(number) for number in range(3)] == [{"a0": k, "a1": 10.0 + k} for k in range(3)]
    assert (design.count, design.shape) == (3, (3,))


def test_a_grid_of_many_points_is_made_when_it_is_asked() -> None:
    design = grid(axes(1000, 1000, 100))
    assert design.count == 10**8
    assert design.values(10**8 - 1) == {"a0": 999.0, "a1": 1009.0, "a2": 119.0}
    assert design.place(123_456_78) == (123, 456, 78)


def test_points_beyond_the_grid_are_none() -> None:
    design = grid(axes(2, 3))
    for number in (-1, 6):
        with pytest.raises(IndexError):
            design.values(number)
        with pytest.raises(IndexError):
            design.columns(np.array([number]))


def test_what_is_no_grid() -> None:
    with pytest.raises(InputError, match="nothing is varied"):
        grid([])
    with pytest.raises(InputError, match="varied twice, got 'a0'"):
        grid([*axes(2), *axes(2)])
    with pytest.raises(InputError, match="too many points"):
        grid(axes(1000, 1000, 101))
    one, other = (
        SweepAxis("network.bandwidth", (1.0,), known=BANDWIDTH),
        SweepAxis("x", (1.0,), known=Known("network.per_byte")),
    )
    with pytest.raises(InputError, match="varied twice"):
        grid([one, other])


def test_kinds_without_a_lookup() -> None:
    assert unknown("seed").kind == SEED
    assert math.isclose(parse_axis("x=1").given[0], 1.0)

"""Numbers of one column have one unit and one style."""

from __future__ import annotations

import re

import pytest

from simcodesign.describe.topology.build import build_topology
from simcodesign.report.common.numbers import Digits, Seconds, ends_of, with_ends
from tests import ROOT


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.0346, 8.4e-05], ["3.460e-02", "8.400e-05"]),  # one below 0.0001: both with an exponent
        ([0.0346, 8.4e-04, 12.0], ["0.0346", "0.00084", "12"]),
        ([1.5, 2e6], ["1.500e+00", "2.000e+06"]),
        ([99999.6, 12345.678, 0.0, -3.14159], ["100,000", "12,350", "0", "-3.142"]),
        ([float("nan"), float("inf"), 1e-3], ["-", "-", "0.001"]),
    ],
)
def test_a_column_has_exponents_in_all_numbers_or_none(values: list[float], texts: list[str]) -> None:
    show = Digits(values)
    assert [show(value) for value in values] == texts


@pytest.mark.parametrize(
    ("value_s", "text"),
    [(0.051158, "51.158"), (-3.9e-6, "-0.0039"), (2.4e-8, "+0.000024"), (6.9e-6, "+0.0069"), (0.0, "0")],
)
def test_small_times_have_no_exponent_beside_others(value_s: float, text: str) -> None:
    show = Seconds([0.051158])
    assert show.unit == "ms"
    assert show(value_s, "" if value_s > 0.05 else "+") == text


@pytest.mark.parametrize(
    ("shape", "wrap", "words"),
    [
        ((4, 4, 4), (True, True, False), "in x and y"),
        ((4, 4, 4), (True, True, True), "in x, y and z"),
        ((4, 4), (False, True), "in y"),
        ((4, 4, 4), (False, False, False), "in no dimension"),
        ((2, 3, 2, 3), (True, False, True, False), "in 1 and 3 of 4 dimensions"),
    ],
)
def test_dimensions_that_wrap_around_are_named(shape: tuple[int, ...], wrap: tuple[bool, ...], words: str) -> None:
    nodes = 1
    for extent in shape:
        nodes *= extent
    facts = dict(build_topology("torus", nodes, shape, wrap=wrap).facts())
    assert facts["wraps around"] == words
    assert "wrap" not in facts
    assert "wraps around" not in dict(build_topology("torus", nodes, shape).facts())


@pytest.mark.parametrize(
    ("texts", "printed"),
    [
        (("1", "1", "1"), "1"),
        (("1", "0.9", "1"), "1 (0.9 to 1)"),
        (("1", "1", "1.1"), "1 (1 to 1.1)"),
        (("1.05", "1.05", "1.05"), "1.05"),
    ],
)
def test_an_interval_is_printed_if_it_differs_from_the_value(texts: tuple[str, str, str], printed: str) -> None:
    assert with_ends(*texts) == printed


def test_ends_that_agree_in_print_are_one_number() -> None:
    assert ends_of("28", "28") == "28"
    assert ends_of("27", "29") == "27 to 29"


def test_no_report_prints_an_interval_of_its_own() -> None:
    """``1 (1 to 1)`` can only come from a text that does not compare what it prints."""
    own = re.compile(r"\(\{[^{}]*\} to \{")
    found = [path.name for path in (ROOT / "simcodesign").rglob("*.py") if own.search(path.read_text(encoding="utf-8"))]
    assert found == []

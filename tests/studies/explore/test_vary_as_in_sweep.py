"""``--vary`` of a search: lists and ranges with a step have the values that they have in a sweep."""

from __future__ import annotations

import pytest

import simcodesign as sc
from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import parse_quantity
from simcodesign.studies.explore.problem_parser import limits
from simcodesign.studies.sweep.sweep import sweep_of

PLACE = Place("--vary")
#: Text, dimension, and the values by hand.
RANGES = [
    ("P=4:64:x4", "", [4, 16, 64]),
    ("P=4:16:+4", "", [4, 8, 12, 16]),
    ("P=1:8:n=3", "", [1, 4, 8]),
    ("n=1e3:1e6:n=4:log", "", [1e3, 1e4, 1e5, 1e6]),
    ("n=10,1000,100", "", [10, 100, 1000]),
    ("network.bandwidth=1,2,4GB/s", "bandwidth", [1e9, 2e9, 4e9]),
    ("network.bandwidth=1:4GB/s:x2", "bandwidth", [1e9, 2e9, 4e9]),
    ("network.startup=1:3us:+1us", "time", [1e-6, 2e-6, 3e-6]),
]


@pytest.mark.parametrize(("text", "dimension", "values"), RANGES)
def test_values_are_the_same_in_both(text: str, dimension: str, values: list[float]) -> None:
    name, _, rest = text.partition("=")
    searched = limits(name, rest, dimension, PLACE, whole=name == "P").choices
    (axis,) = sweep_of("jacobi", "torus-cluster", [text]).design.axes
    assert searched == pytest.approx(values, rel=1e-12)
    assert searched == tuple(sorted(float(value) for value in axis.values))


def test_the_unit_of_the_upper_end_is_that_of_the_lower_one() -> None:
    low_high = limits("network.bandwidth", "1:4 GB/s", "bandwidth", PLACE)
    assert (low_high.low, low_high.high) == (1e9, 4e9)
    both = limits("network.bandwidth", "500 MB/s:4 GB/s:log", "bandwidth", PLACE)
    assert both.low == parse_quantity("500 MB/s", "bandwidth")


def test_explore_looks_at_these_values() -> None:
    found = sc.explore("jacobi", "torus-cluster", {"n": 512}, vary=["P=4:64:x4"], minimize="P")
    assert found.exact
    assert found.evaluations == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("4:64:x1", "factor of a range"),
        ("4:64:+0", "step of a range"),
        ("64:4:x2", "not in order"),
        ("4:64:y2", r"range of P.*:xFACTOR"),
        ("4,4", "given twice"),
        ("4,,8", "a value is missing"),
    ],
)
def test_what_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        limits("P", text, "", PLACE)

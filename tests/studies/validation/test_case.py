"""What a case may be, and the tolerance and derivation that it stands on."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.studies.validation.case import Case, Derived, Readings, Tolerance

numbers = st.floats(-1e12, 1e12)
shares = st.floats(0, 10)


def case(**changes: Any) -> Case:
    given: dict[str, Any] = {
        "name": "toys/one",
        "claim": "One is one.",
        "source": "made up",
        "unit": "s",
        "expected": {"a": 1.0},
        "tolerance": Tolerance("made up"),
        "reading": "forecast",
        "measure": Readings,
    }
    return Case(**given | changes)


@given(numbers, numbers, shares, shares)
def test_a_tolerance_allows_whichever_is_more(value: float, expected: float, relative: float, absolute: float) -> None:
    def holds(sense: str) -> bool:
        return Tolerance("made up", relative, absolute, sense).holds(value, expected)

    room = absolute if absolute >= relative * abs(expected) else relative * abs(expected)
    assert holds("equal") == (abs(value - expected) <= room)
    assert holds("at_least") == (value >= expected - room)
    assert holds("at_most") == (value <= expected + room)


@pytest.mark.parametrize("sense", ["equal", "at_least", "at_most"])
@pytest.mark.parametrize(("value", "expected"), [(math.nan, 1.0), (1.0, math.nan)])
def test_nothing_is_within_a_tolerance_of_no_number(sense: str, value: float, expected: float) -> None:
    assert not Tolerance("made up", 1.0, 1.0, sense).holds(value, expected)


def test_a_tolerance_in_words() -> None:
    assert str(Tolerance("r")) == "exact"
    assert str(Tolerance("r", 0.05)) == "within 5 %"
    assert str(Tolerance("r", 0.05, 2.0, "at_most")) == "at most; within 5 % or 2"


@pytest.mark.parametrize("sense", ["equal", "at_least", "at_most"])
@pytest.mark.parametrize(("value", "expected"), [(math.inf, 1.0), (-math.inf, 1.0), (1.0, math.inf), (1.0, -math.inf)])
def test_what_is_beyond_all_numbers_meets_no_bound(sense: str, value: float, expected: float) -> None:
    assert not Tolerance("made up", 1.0, 1.0, sense).holds(value, expected)


@given(numbers, numbers, shares, shares, st.sampled_from(["equal", "at_least", "at_most"]))
def test_both_sides(value: float, expected: float, relative: float, absolute: float, sense: str) -> None:
    both = Tolerance("made up", relative, absolute)
    assert Tolerance("made up", relative, absolute, sense).two_sided.holds(value, expected) == both.holds(
        value, expected
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"reason": ""},
        {"reason": "r", "sense": "about"},
        *({"reason": "r", room: value} for room in ("relative", "absolute") for value in (-1.0, math.inf, math.nan)),
    ],
)
def test_a_bad_tolerance_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Tolerance(**bad)


def test_a_derivation_shows_its_numbers() -> None:
    line = Derived("T", "t_s + n*(t - t_s)", {"t_s": 2.0, "n": 1024, "t": -0.5}, "s")
    assert line.value == 2.0 + 1024 * (-0.5 - 2.0)
    assert line.filled == "2 + 1024*((-0.5) - 2)"
    assert str(line) == "T = t_s + n*(t - t_s) = 2 + 1024*((-0.5) - 2) = -2558 s"
    assert str(Derived("x", "2*3")) == "x = 2*3 = 6"


@pytest.mark.parametrize(
    "bad",
    [
        {"name": "alone"},
        {"name": "Upper/case"},
        {"name": "a//b"},
        {"reading": "guess"},
        {"claim": ""},
        {"source": ""},
        {"expected": {}},
        {"own": {"b": 1.0}},
        {"inputs": {"rate": "guessed"}},
        {"measure": None},
        {"reading": "source"},
        # What would check nothing: of all values, or of one.
        {"reading": "source", "measure": None},
        {"reading": "source", "measure": None, "own": {"b": 1.0}},
        {"reading": "source", "measure": None, "own": {"a": 1.0}, "expected": {"a": 1.0, "b": 2.0}},
    ],
)
def test_a_bad_case_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=re.escape(bad.get("name", "toys/one"))):
        case(**bad)


def test_what_lacks_an_input_may_check_nothing() -> None:
    lost = case(reading="source", measure=None, expected={"a": math.nan}, needs={"rate": None})
    assert lost.missing == ("rate",)


def test_own_values_may_be_few_where_a_reading_is_tested() -> None:
    assert case(expected={"a": 1.0, "b": 2.0}, own={"b": 3.0}).own == {"b": 3.0}


@pytest.mark.parametrize(
    ("reading", "tested"),
    [("forecast", ("forecast",)), ("simulation", ("simulation",)), ("both", ("forecast", "simulation"))],
)
def test_what_is_tested(reading: str, tested: tuple[str, ...]) -> None:
    assert case(reading=reading).tested == tested
    assert case(reading="source", measure=None, own={"a": 1.0}).tested == ()


def test_what_the_source_lacks() -> None:
    needs = {"rate": 1.0, "bytes": None, "startup": math.nan}
    assert case(needs=needs, measure=None).missing == ("bytes", "startup")
    assert case().missing == ()
    assert case(name="seismic/table-6/stacking").group == "seismic"

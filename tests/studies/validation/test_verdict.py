"""Verdicts, compared with a table of what they mean."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simcodesign.studies.validation.case import Case, Readings, Tolerance
from simcodesign.studies.validation.verdict import CaseValue, Verdict, points_of, verdict_of

#: Values that are equal, or far out of the tolerance of one half.
few = st.sampled_from([1.0, 2.0, 3.0])
maybe = st.none() | few


def case(reading: str, own: float | None, lacking: bool) -> Case:
    return Case(
        "toys/one",
        "One is one.",
        "made up",
        "s",
        {"a": 1.0},
        Tolerance("made up", absolute=0.5),
        reading,
        None if reading == "source" else Readings,
        own={} if own is None else {"a": own},
        needs={"x": None if lacking else 1.0},
    )


@given(st.sampled_from(["forecast", "simulation", "both", "source"]), maybe, maybe, maybe, st.booleans())
def test_the_verdict_on_a_value(
    reading: str, own: float | None, forecast: float | None, simulation: float | None, lacking: bool
) -> None:
    assume(lacking or own is not None or reading != "source")  # which would check nothing
    of = {"forecast": [forecast], "simulation": [simulation], "both": [forecast, simulation], "source": []}[reading]
    readings = Readings(*({} if value is None else {"a": value} for value in (forecast, simulation)))
    (point,) = points_of(case(reading, own, lacking), readings)
    if lacking:
        expected = Verdict.NOT_RECOVERABLE
    elif any(value != (own or 1.0) for value in of):  # where the equations of the source lead
        expected = Verdict.DIFFERS
    else:
        expected = Verdict.REPRODUCED if own in (None, 1.0) else Verdict.INCONSISTENT
    assert point == CaseValue("a", 1.0, own, forecast, simulation, expected)


@pytest.mark.parametrize("sense", ["at_least", "at_most"])
@given(own=few, shown=few)
def test_a_bound_is_one_and_an_own_value_is_a_value(sense: str, own: float, shown: float) -> None:
    """Where the own equations break the bound of the source, they are to be met, and not only from one side."""
    tolerance = Tolerance("made up", absolute=0.5, sense=sense)
    bounded = Case(
        "toys/one", "It is bound.", "made up", "s", {"a": 2.0}, tolerance, "forecast", Readings, own={"a": own}
    )

    def within(value: float) -> bool:
        return value >= 2.0 if sense == "at_least" else value <= 2.0

    (point,) = points_of(bounded, Readings({"a": shown}))
    if within(own):
        assert point.verdict is (Verdict.REPRODUCED if within(shown) else Verdict.DIFFERS)
    else:
        assert point.verdict is (Verdict.INCONSISTENT if shown == own else Verdict.DIFFERS)


@pytest.mark.parametrize("own", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("reading", ["forecast", "source"])
def test_own_equations_that_give_no_number_are_a_failure(reading: str, own: float) -> None:
    (point,) = points_of(case(reading, own, lacking=False), Readings({"a": own}))
    assert point.verdict is Verdict.DIFFERS


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ("reproduced", "reproduced"),
        ("reproduced,source inconsistent", "source inconsistent"),
        ("source inconsistent,not recoverable,reproduced", "not recoverable"),
        ("not recoverable,differs,reproduced", "differs"),
    ],
)
def test_a_case_is_as_good_as_its_worst_point(verdicts: str, worst: str) -> None:
    rest: tuple[Any, ...] = (None, None, None)
    points = tuple(CaseValue(label, 1.0, *rest, Verdict(label)) for label in verdicts.split(","))
    assert verdict_of(points) == worst

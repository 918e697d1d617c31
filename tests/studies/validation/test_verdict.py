"""Verdicts, compared with a table of what they mean."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simcodesign.core.errors import InputError
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.studies.validation.case import ORIGINS, Case, Readings, Tolerance
from simcodesign.studies.validation.verdict import CaseValue, Verdict, points_of, verdict_of

#: Values that are equal, or far out of the tolerance of one half.
few = st.sampled_from([1.0, 2.0, 3.0])
maybe = st.none() | few
origins = st.lists(st.sampled_from(ORIGINS), max_size=3)
PUBLISHED = ["published"]


def case(reading: str, own: float | None, lacking: bool, printed: bool = True, inputs: list[str] = PUBLISHED) -> Case:
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
        printed=printed,
        inputs={str(number): origin for number, origin in enumerate(inputs)},
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


#: What a case may be called whose readings meet what they are to meet, by hand: whether the source prints the number,
#: whether its own equations contradict it, and the origins of the inputs.
TABLE = [
    (True, False, [], "published number reproduced"),
    (True, False, ["published"], "published number reproduced"),
    (True, False, ["published", "public"], "published number reproduced"),
    (True, False, ["published", "reconstructed"], "reproduced under a chosen reading"),
    (True, False, ["assumed"], "reproduced under a chosen reading"),
    (True, False, ["published", "chosen"], "reproduced under a chosen reading"),
    (False, False, [], "own consistency check"),
    (False, False, ["published"], "own consistency check"),
    (True, True, ["published", "published"], "source inconsistent"),
    (True, True, [], "not recoverable"),
    (True, True, ["published", "public"], "not recoverable"),
    (True, True, ["published", "reconstructed"], "not recoverable"),
    (True, True, ["published", "assumed"], "not recoverable"),
    (True, True, ["chosen"], "not recoverable"),
    (False, True, ["published"], "not recoverable"),
]


@pytest.mark.parametrize(("printed", "contradicted", "inputs", "verdict"), TABLE)
@pytest.mark.parametrize("reading", ["forecast", "simulation", "both", "source"])
def test_the_verdict_follows_from_the_origins(
    reading: str, printed: bool, contradicted: bool, inputs: list[str], verdict: str
) -> None:
    own = 3.0 if contradicted else 1.0
    (point,) = points_of(case(reading, own, False, printed, inputs), Readings({"a": own}, {"a": own}))
    assert point.verdict == verdict


@given(st.booleans(), maybe, origins, few, few)
def test_no_source_is_blamed_with_an_input_that_is_not_published(
    printed: bool, own: float | None, inputs: list[str], forecast: float, simulation: float
) -> None:
    (point,) = points_of(case("both", own, False, printed, inputs), Readings({"a": forecast}, {"a": simulation}))
    if point.verdict is Verdict.INCONSISTENT:
        assert printed
        assert {*inputs} == {"published"}


def test_a_measured_time_is_missed_and_contradicts_nothing() -> None:
    given = ("toys/one", "It took 1 s.", "made up", "s", {"a": 1.0}, Tolerance("made up"), "forecast")
    seen = {"a": MeasuredValue(1.0)}
    missed = Case(*given, lambda: Readings({"a": 2.0}), measured=seen, because="it waits")
    assert points_of(missed, Readings({"a": 2.0}))[0].verdict is Verdict.NOT_REPRODUCED
    assert points_of(missed, Readings({"a": 1.0}))[0].verdict is Verdict.REPRODUCED
    with pytest.raises(InputError, match="own values of what was measured"):
        Case(*given, Readings, measured=seen, own={"a": 2.0}, inputs={"x": "published"}, printed=True)


@pytest.mark.parametrize("sense", ["at_least", "at_most"])
@given(own=few, shown=few)
def test_a_bound_is_one_and_an_own_value_is_a_value(sense: str, own: float, shown: float) -> None:
    """Where the own equations break the bound of the source, they are to be met, and not only from one side."""
    tolerance = Tolerance("made up", absolute=0.5, sense=sense)
    bounded = Case(
        "toys/one", "It is bound.", "made up", "s", {"a": 2.0}, tolerance, "forecast", Readings, own={"a": own}
    )
    bounded = replace(bounded, printed=True, inputs={"x": "published"})

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
        ("published number reproduced", "published number reproduced"),
        ("published number reproduced,reproduced under a chosen reading", "reproduced under a chosen reading"),
        ("published number reproduced,source inconsistent", "source inconsistent"),
        ("source inconsistent,not recoverable,published number reproduced", "not recoverable"),
        ("not recoverable,differs,own consistency check", "differs"),
    ],
)
def test_a_case_is_as_good_as_its_worst_point(verdicts: str, worst: str) -> None:
    rest: tuple[Any, ...] = (None, None, None)
    points = tuple(CaseValue(label, 1.0, *rest, Verdict(label)) for label in verdicts.split(","))
    assert verdict_of(points) == worst

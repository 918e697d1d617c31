"""The verdict on a case, computed from what was expected, what the source's own equations give, and the readings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from simcodesign.comparison.attribution import relative_error
from simcodesign.core.to_json import attributes_of, fields_of
from simcodesign.describe.measured.times import MeasuredValue
from simcodesign.studies.validation.case import Case, Label, Readings


class Verdict(StrEnum):
    """From bad to good; only ``DIFFERS`` is a failure.

    ``NOT_REPRODUCED``: the claim of the source is wrong here; the case explains why. ``NOT_RECOVERABLE``: the source
    lacks an input, or is contradicted by a number of ours alone. ``INCONSISTENT``: the source is contradicted by its
    own published numbers. ``CONSISTENT``: what is expected was computed here. ``CHOSEN``: a published number holds with
    an input of ours.
    """

    DIFFERS = "differs"
    NOT_REPRODUCED = "not reproduced"
    NOT_RECOVERABLE = "not recoverable"
    INCONSISTENT = "source inconsistent"
    CONSISTENT = "own consistency check"
    CHOSEN = "reproduced under a chosen reading"
    REPRODUCED = "published number reproduced"


#: Verdicts on what holds: three kinds of evidence, which are counted apart.
HOLDS = (Verdict.REPRODUCED, Verdict.CHOSEN, Verdict.CONSISTENT)


#: Sources of values of a case in addition to its own.
SERIES = ("formula", "forecast", "simulation")


@dataclass(frozen=True)
class CaseValue:
    """One value of a case with its known numbers, None for unknown ones."""

    label: Label
    expected: float
    own: float | None
    forecast: float | None
    simulation: float | None
    verdict: Verdict
    formula: float | None = None
    measured: MeasuredValue | None = None

    @property
    def measured_errors(self) -> dict[str, float]:
        """Signed errors of formula and readings, as far as there are values, against what was measured."""
        if self.measured is None:
            return {}
        values = {name: value for name in SERIES if (value := getattr(self, name)) is not None}
        return {name: relative_error(value, float(self.measured)) for name, value in values.items()}

    @property
    def not_explained(self) -> float | None:
        """Measured excess over the simulation (below 0: less than it), in the unit of the case."""
        if self.measured is None or self.simulation is None:
            return None
        return float(self.measured) - self.simulation

    def json_fields(self) -> dict[str, Any]:
        """Return all fields; measurements and formulas only if there are any."""
        shown = fields_of(self, without=("formula", "measured"))
        shown |= {} if self.formula is None else {"formula": self.formula}
        return (
            shown
            if self.measured is None
            else shown | attributes_of(self, "measured", "measured_errors", "not_explained")
        )


def points_of(case: Case, readings: Readings) -> tuple[CaseValue, ...]:
    """Every expected value with the values of the readings."""
    return tuple(
        CaseValue(
            label,
            expected,
            case.own.get(label),
            readings.forecast.get(label),
            readings.simulation.get(label),
            _verdict(case, label, {"forecast": readings.forecast, "simulation": readings.simulation}),
            readings.formula.get(label),
            case.measured.get(label),
        )
        for label, expected in case.expected.items()
    )


def _verdict(case: Case, label: Label, values_of: Mapping[str, Mapping[Label, float]]) -> Verdict:
    """Return the verdict on a value.

    Where the source's own equations contradict its number, the readings must match the equations.
    """
    if case.missing:
        return Verdict.NOT_RECOVERABLE
    expected, tolerance = case.expected[label], case.tolerance
    own = case.own.get(label, expected)
    if not math.isfinite(own):
        return Verdict.DIFFERS
    consistent = tolerance.holds(own, expected)
    if not consistent:  # a bound may have been claimed, but the own equations give a value
        expected, tolerance = own, tolerance.two_sided
    values = [values_of[reading].get(label, math.nan) for reading in case.tested]
    if not all(tolerance.holds(value, expected) for value in values):
        known = case.because and all(map(math.isfinite, values))
        return Verdict.NOT_REPRODUCED if known else Verdict.DIFFERS
    return _verdict_where_it_holds(case) if consistent else _verdict_on_contradiction(case)


def _verdict_where_it_holds(case: Case) -> Verdict:
    """Which kind of evidence it is: depends on the origins of the expected values and of the inputs."""
    if not case.is_published:
        return Verdict.CONSISTENT
    return Verdict.CHOSEN if case.ours else Verdict.REPRODUCED


def _verdict_on_contradiction(case: Case) -> Verdict:
    """Return the verdict on a contradiction of the source.

    It contradicts itself only if everything in the contradiction is published: a number of ours may be what is wrong.
    """
    return Verdict.INCONSISTENT if case.can_contradict else Verdict.NOT_RECOVERABLE


def verdict_of(points: tuple[CaseValue, ...]) -> Verdict:
    """Return the worst of its points."""
    return min((point.verdict for point in points), key=list(Verdict).index)

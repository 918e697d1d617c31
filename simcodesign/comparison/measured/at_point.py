"""Measured times that hold at a design point, and the ladder that goes on to them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simcodesign.comparison.attribution import LadderStep, steps_to
from simcodesign.comparison.effects import Rung
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.result import Result
from simcodesign.describe.design_point import DesignPoint
from simcodesign.describe.formulas.formula import check_phases
from simcodesign.describe.measured.times import MeasuredTimes

#: A measured time holds at values that differ by no more, as a share.
_SAME_VALUE = 1e-9


def measured_at(several: Sequence[MeasuredTimes], point: DesignPoint) -> MeasuredTimes | None:
    """The first of measured times that hold at a single design point; None if none does. InputError for a value of
    what the workload has not."""
    here = {name: float(np.asarray(value).item()) for name, value in point.values.items()}
    for one in several:
        for name in one.at.keys() - here.keys():
            what = "measured at a value of an unknown name"
            raise InputError(what, one.place, value=name, allowed=nearest(name, here))
        same = all(math.isclose(here[name], value, rel_tol=_SAME_VALUE) for name, value in one.at.items())
        if same and one.machine in ("", point.machine.name):
            check_phases(one.phases, point.workload.phases(), one.place)
            return one
    return None


def ladder_to_measured(
    forecast: Result, rungs: Sequence[Rung], measured: MeasuredTimes | None
) -> tuple[LadderStep, ...]:
    """From the forecast through the simulations to the measured total; nothing where none was measured."""
    if measured is None or measured.total_s is None:
        return ()
    times_s = {rung.effect: float(rung.simulation.headline_s) for rung in rungs}
    return steps_to(float(forecast.headline_s), times_s, measured.total_s)

"""Measured times as a user may give them."""

from __future__ import annotations

from collections.abc import Iterable

from simcodesign.core.errors import InputError
from simcodesign.describe.measured.times import MeasuredTimes

#: What was measured at one design point.
MeasuredSource = MeasuredTimes
#: One of these, or several.
MeasuredSources = MeasuredSource | Iterable[MeasuredSource] | None


def given_measurements(given: MeasuredSources) -> tuple[MeasuredTimes, ...]:
    """The measured times of all that ``compare`` takes for them. InputError for anything else."""
    if given is None:
        return ()
    if isinstance(given, MeasuredTimes):
        return (given,)
    several = tuple(given) if isinstance(given, Iterable) else (given,)
    for one in several:
        if not isinstance(one, MeasuredTimes):
            raise InputError("not measured times", value=one, allowed="MeasuredTimes, or several")
    return several

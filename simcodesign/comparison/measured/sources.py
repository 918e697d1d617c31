"""Measured times as a user may give them: read for a workload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from simcodesign.core.errors import InputError
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.measured_tables.table import measured_frame, read_measured
from simcodesign.describe.workload import Workload

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MeasuredTable:
    """The table in CSV at ``path``, whose times are in the column ``value``."""

    path: str | Path
    value: str | None = None


#: The path of a table in CSV, with the column of its times or without, a table in memory, or what was measured at one
#: design point.
MeasuredSource: TypeAlias = "str | Path | MeasuredTable | pd.DataFrame | MeasuredTimes"
#: One of these, or several.
MeasuredSources: TypeAlias = "MeasuredSource | Iterable[MeasuredSource] | None"


def given_measurements(given: MeasuredSources, workload: Workload) -> tuple[MeasuredTimes, ...]:
    """Return the measured times of everything that ``compare`` and ``sweep`` accept for them.

    The path of a table in CSV, a DataFrame with its columns (``describe.measured_tables.rows``), ``MeasuredTimes``, or
    several of these. InputError for anything else.
    """
    if given is None:
        return ()
    if isinstance(given, MeasuredTimes):
        return (given,)
    if isinstance(given, MeasuredTable):
        return read_measured(given.path, workload, given.value)
    if isinstance(given, str | Path):
        return read_measured(given, workload)
    if hasattr(given, "iloc"):  # of pandas, which is not imported here
        return measured_frame(given, workload)  # type: ignore[arg-type] # as tested
    if isinstance(given, Iterable):
        return tuple(times for one in given for times in given_measurements(one, workload))
    raise InputError("not measured times", value=given, allowed="the path of a table, a DataFrame, or MeasuredTimes")

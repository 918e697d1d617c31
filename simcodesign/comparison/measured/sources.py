"""Measured times as a user may give them: read for a workload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from simcodesign.core.errors import InputError, Place
from simcodesign.describe.measured.times import MeasuredTimes
from simcodesign.describe.measured_tables.table import measured_frame, read_measured
from simcodesign.describe.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: Suffixes of files that are never what a benchmark printed, whose reader needs not be imported.
TABLES = (".csv", ".tsv")


@dataclass(frozen=True)
class MeasuredTable:
    """The table in CSV at ``path``, whose times are in the column ``value``."""

    path: str | Path
    value: str | None = None


#: The path of a table in CSV, with the column of its times or without, or of what a benchmark printed; a table in
#: memory, or what was measured at one design point.
MeasuredSource: TypeAlias = "str | Path | MeasuredTable | pd.DataFrame | MeasuredTimes"
#: One of these, or several.
MeasuredSources: TypeAlias = "MeasuredSource | Iterable[MeasuredSource] | None"


def given_measurements(given: MeasuredSources, workload: Workload) -> tuple[MeasuredTimes, ...]:
    """Return the measured times of everything that ``compare`` and ``sweep`` accept for them.

    The path of a table in CSV, or of what a benchmark printed; a DataFrame with the columns of such a table
    (``describe.measured_tables.rows``), ``MeasuredTimes``, or several of these. InputError for anything else.
    """
    if given is None:
        return ()
    if isinstance(given, MeasuredTimes):
        return (given,)
    if isinstance(given, str | Path):
        given = MeasuredTable(given)
    if isinstance(given, MeasuredTable):
        frame = _of_benchmark(Path(given.path)) if given.value is None else None
        if frame is not None:
            return _times_of(frame, str(given.path), workload)
        return read_measured(given.path, workload, given.value)
    if hasattr(given, "iloc"):  # of pandas, which is not imported here
        return measured_frame(given, workload)  # type: ignore[arg-type] # as tested
    if isinstance(given, Iterable):
        return tuple(times for one in given for times in given_measurements(one, workload))
    raise InputError("not measured times", value=given, allowed="the path of a table, a DataFrame, or MeasuredTimes")


def _of_benchmark(path: Path) -> pd.DataFrame | None:
    """Return the rows of a file that a benchmark printed; None for tables, and for files of no known format."""
    if path.suffix.lower() in TABLES or not path.is_file():
        return None
    from simcodesign.fitting.readers.benchmarks.output.table import is_benchmark, read_benchmark, rows_frame

    return rows_frame(read_benchmark(path)) if is_benchmark(path) else None


def _times_of(frame: pd.DataFrame, file: str, workload: Workload) -> tuple[MeasuredTimes, ...]:
    """Return the times of the rows of a benchmark. Raises InputError naming the file."""
    try:
        return measured_frame(frame, workload)
    except InputError as error:
        raise InputError(error.what, Place(file), value=error.value, allowed=error.allowed) from None

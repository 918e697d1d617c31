"""Tables of measured times: one row a measurement, with the values of parameters it was taken at.

Columns as in ``describe.measured_tables.rows``, so that ``compare --measured`` reads the same tables: the times, any
parameter of the workload and ``P``; ``preset``, ``phase`` and ``component`` in words. A phase that is missing or empty
is the whole run, a component that is missing, empty or ``total`` all of its time; an empty parameter has its default.
Rows of the same point are repetitions. Spreads, machines, roles and sources are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simcodesign.core.errors import InputError, Place
from simcodesign.core.units import NOT_NEGATIVE_RANGE, is_positive
from simcodesign.describe.measured_tables.rows import NODES_USED, TOTAL, MeasuredRow, rows_of_file
from simcodesign.describe.workload import Workload

RANKS = "P"


@dataclass(frozen=True)
class Timing:
    """One measured time. ``phase`` empty: the whole run; ``component`` ``total``: all of the time."""

    seconds: float
    values: Mapping[str, float] = field(default_factory=dict)
    preset: str | None = None
    phase: str = ""
    component: str = TOTAL
    place: Place = field(default=Place(), compare=False)

    @property
    def point(self) -> tuple[str | None, tuple[tuple[str, float], ...]]:
        """Where it was measured."""
        return self.preset, tuple(sorted(self.values.items()))

    def __str__(self) -> str:
        words = [self.preset or "", *(f"{name}={value:g}" for name, value in self.values.items())]
        what = " ".join(part for part in (self.phase, self.component) if part)
        return f"{what} at {', '.join(filter(None, words)) or 'the defaults'}"

    def json_fields(self) -> str:
        """In words."""
        return str(self)


def read_timings(paths: Iterable[Path | str], workload: Workload, value: str | None = None) -> tuple[Timing, ...]:
    """Return the rows of tables, in their order; ``value`` names the column of times.

    Raises InputError with file and line for columns, words and numbers that cannot be used, and for empty tables.
    """
    return tuple(_timing(row, workload) for path in paths for row in rows_of_file(Path(path), workload, value))


def _timing(row: MeasuredRow, workload: Workload) -> Timing:
    seconds = row.value.value
    if seconds != 0 and not is_positive(seconds):
        raise InputError("a time out of range", row.place, value=seconds, allowed=NOT_NEGATIVE_RANGE)
    at = {name: value for name, value in row.at.items() if name != NODES_USED}
    for name, value in at.items():
        if not (name in workload.parameters or name == RANKS) or isinstance(value, str):
            place = Place(row.place.file, row.place.line, f"column {name}")
            allowed = f"parameters of the workload, and {RANKS}: {', '.join(workload.parameters)}"
            raise InputError("a time at a value of the machine's", place, value=f"{name}={value}", allowed=allowed)
    phase, component = row.part
    values = {name: float(value) for name, value in at.items()}
    return Timing(seconds, values, row.preset or None, phase, component or TOTAL, row.place)

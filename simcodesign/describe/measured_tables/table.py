"""Tables of measured times, in CSV or as a DataFrame: rows as in ``rows``, grouped by conditions of measurement.

Several rows of the same, without a spread, are repetitions: their median represents them, with their quartiles (linear
between order statistics).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.describe.measured_tables.rows import MeasuredRow, rows_of_file, rows_of_frame
from simcodesign.describe.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: Description of the spread of repetitions.
QUARTILES = "quartiles, around the median of repetitions"
#: Repetitions vary by less; times with another unit differ by a factor of 1,000.
MOST_FACTOR = 100.0


def read_measured(path: str | Path, workload: Workload, value: str | None = None) -> tuple[MeasuredTimes, ...]:
    """Return the measured times of a CSV file, in its order, for this workload; ``value`` names the column of times.

    Raises InputError naming line and column for unknown columns and phases, values that cannot be read, several rows of
    the same with a spread, and repetitions that differ by a factor of more than ``MOST_FACTOR``.
    """
    return _times(rows_of_file(Path(path), workload, value), workload)


def measured_frame(frame: pd.DataFrame, workload: Workload, value: str | None = None) -> tuple[MeasuredTimes, ...]:
    """Return the measured times of a DataFrame, whose ``attrs`` may say what comments of a file do."""
    return _times(rows_of_frame(frame, workload, value), workload)


def _times(rows: Iterable[MeasuredRow], workload: Workload) -> tuple[MeasuredTimes, ...]:
    groups: dict[object, list[MeasuredRow]] = {}
    for row in rows:
        key = (*sorted(_at(row, workload).items()), row.machine, row.role, *row.labels)
        groups.setdefault(key, []).append(row)
    return tuple(_measured(group, workload) for group in groups.values())


def _at(row: MeasuredRow, workload: Workload) -> dict[str, float | str]:
    """Return where a row was measured, with the values of its preset."""
    preset = workload.presets[row.preset] if row.preset else {}
    return {**{name: float(value) for name, value in preset.items()}, **row.at}


def _measured(group: Sequence[MeasuredRow], workload: Workload) -> MeasuredTimes:
    first = group[0]
    parts: dict[tuple[str, str], list[MeasuredValue]] = {}
    for row in group:
        parts.setdefault(row.part, []).append(row.value)
    values = {part: _summary(several, first.is_of_benchmark) for part, several in parts.items()}
    return MeasuredTimes(
        total=values.get(("", "")),
        phases={phase: one for (phase, component), one in values.items() if phase and not component},
        components={component: one for (phase, component), one in values.items() if component and not phase},
        parts={part: one for part, one in values.items() if all(part)},
        at=_at(first, workload),
        machine=first.machine,
        role=first.role,
        source=first.source,
        about=", ".join(f"{name} {text}" for name, text in first.labels),
        place=first.place,
    )


def _summary(several: Sequence[MeasuredValue], are_runs: bool) -> MeasuredValue:
    """Return the median of repetitions, with their quartiles.

    InputError if several have a spread, unless they ``are_runs`` of a benchmark, each of many repetitions, and if they
    differ by a factor of more than ``MOST_FACTOR``.
    """
    first = several[0]
    if len(several) == 1:
        return first
    for one in () if are_runs else several:
        if one.ends is not None or one.n is not None:
            what = "one of several rows of the same with a spread or a count"
            allowed = "repetitions without either, or one row"
            raise InputError(what, one.place, value=one.value, allowed=allowed)
    above = sorted((one for one in several if one.value > 0), key=float)
    if above and float(above[-1]) > MOST_FACTOR * float(above[0]):
        what = f"repetitions that differ by a factor of {float(above[-1]) / float(above[0]):,.0f}"
        allowed = f"at most {MOST_FACTOR:g}; a time without a unit is in seconds"
        raise InputError(
            what, above[-1].place, value=f"{float(above[-1]):g} s and {float(above[0]):g} s", allowed=allowed
        )
    low, middle, high = map(float, np.quantile([one.value for one in several], (0.25, 0.5, 0.75)))
    return MeasuredValue(middle, low, high, len(several), QUARTILES, first.place)

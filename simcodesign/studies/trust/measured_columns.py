"""Measured times at every point of a sweep: columns of its table, with errors of both readings and of formulas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.comparison.compare import LOADED
from simcodesign.comparison.measured.at_point import holds_at, of_what_runs, where_measured
from simcodesign.core.errors import InputError, Place
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.describe.measured.times import MeasuredTimes, MeasuredValue
from simcodesign.studies.sweep.evaluate import FORECAST, PREFIXES, SweepEvaluator, parameter_columns, structures
from simcodesign.studies.sweep.sweep import Sweep
from simcodesign.studies.sweep.table import ERROR, NUMBER, read_s
from simcodesign.studies.trust.formula_times import FormulaTimes, signed_errors

#: The column of measured totals, of the ends of their spread, how many measurements there are, and what the spread is.
MEASURED = "measured_s"
LOW, HIGH, COUNT, INTERVAL = "measured_low_s", "measured_high_s", "measured_n", "measured_interval"


@dataclass(frozen=True)
class MeasuredRows:
    """For each row of a table of a sweep what was measured there, or None.

    ``note``: how many measured points lie on no point of the sweep, and if some of them are; empty if all do.
    """

    times: tuple[MeasuredTimes | None, ...]
    note: str = ""

    @property
    def totals(self) -> list[MeasuredValue | None]:
        """The measured total of each row; None if there is none."""
        return [None if one is None else one.total for one in self.times]

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Measured totals, (rows,), nan if there are none."""
        return _column(self.totals)


def error_column(name: str) -> str:
    """Return the column of errors against what was measured, of ``forecast``, ``simulated`` or a formula."""
    return f"measured_{name}_error"


def measured_columns(formulas: Iterable[str]) -> list[str]:
    """Return the columns that ``with_measured_columns`` may add; ``formulas``: how their columns begin."""
    components = [f"measured_{component}_s" for component in COMPONENTS]
    return [MEASURED, LOW, HIGH, COUNT, *components, *map(error_column, [*PREFIXES, LOADED, *formulas])]


def check_measured(sweep: Sweep, several: Sequence[MeasuredTimes]) -> None:
    """InputError, before any point is simulated, for an axis that has the name of a column of measured times."""
    taken = [name for name in sweep.names if name.startswith("measured_")]
    if several and taken:
        allowed = "another name"
        raise InputError(
            "an axis has the name of a column of measured times", Place("--measured"), value=taken[0], allowed=allowed
        )


def measured_rows(
    sweep: Sweep, table: pd.DataFrame, given: Sequence[MeasuredTimes], own: Sequence[MeasuredTimes] = ()
) -> MeasuredRows:
    """Return the measured time that applies to each row of the table of a sweep.

    The first given one, and then of the workload's own. Points without results have none. InputError for a value of
    what neither workload nor machine has.
    """
    several = (*given, *own)
    rows = np.flatnonzero((table[ERROR] == "").to_numpy())
    chosen: list[MeasuredTimes | None] = [None] * len(table)
    used: set[int] = set()
    numbers = table[NUMBER].to_numpy(dtype=np.int64)[rows]
    evaluator, parameters = SweepEvaluator(sweep), parameter_columns(sweep, numbers)
    whole = sweep.experiment.scenario.phases is None
    for changes, members in structures(sweep, numbers) if several and len(rows) else ():
        here = {**sweep.given, **{name: column[members] for name, column in parameters.items()}}
        point = sweep.experiment.scenario.on(evaluator.machine(changes)).at(here).bind()
        for number, one in enumerate(several):
            holds = np.broadcast_to(holds_at(one, point, changes), members.shape)
            if not holds.any() or (said := of_what_runs(one, point, whole)) is None:
                continue
            used.add(number)
            for row in rows[members[holds]].tolist():
                chosen[row] = chosen[row] or said
    return MeasuredRows(tuple(chosen), _note(sweep, [one for number, one in enumerate(given) if number not in used]))


def _note(sweep: Sweep, others: Sequence[MeasuredTimes]) -> str:
    if not others:
        return ""
    first = sweep.point(0)
    machine = SweepEvaluator(sweep).machine(first.changes)
    try:
        where = where_measured(others, sweep.experiment.scenario.on(machine).at(first.parameters).bind())
    except InputError:  # of a point that there cannot be
        return f"measured at {len(others):,} points that are not in the sweep"
    return f"measured at {len(others):,} point{'' if len(others) == 1 else 's'} that the sweep has not: {where}"


def with_measured_columns(
    table: pd.DataFrame, measured: MeasuredRows, formulas: Sequence[FormulaTimes] = ()
) -> pd.DataFrame:
    """Return the table of a sweep with the columns of measured times and errors.

    ``measured_s``, ``measured_low_s``, ``measured_high_s``, ``measured_n`` and ``measured_interval``,
    ``measured_COMPONENT_s`` where components were measured, and the signed errors of forecast, simulation, loaded
    forecast and formulas against measured totals (``measured_forecast_error``, ...), before the column of reasons. The
    same table if nothing was measured.
    """
    if not any(measured.times):
        return table
    totals, seconds = measured.totals, measured.seconds
    columns: dict[str, object] = {str(name): table[name] for name in table.columns if name != ERROR}
    columns |= {
        MEASURED: seconds,
        LOW: _ends(totals, 0),
        HIGH: _ends(totals, 1),
        COUNT: np.array([np.nan if one is None or one.n is None else one.n for one in totals]),
        INTERVAL: pd.Series(["" if one is None else one.interval for one in totals], index=table.index, dtype="str"),
    }
    for component in COMPONENTS:
        values = [None if one is None else one.components.get(component) for one in measured.times]
        if any(values):
            columns[f"measured_{component}_s"] = _column(values)
    for reading in PREFIXES:
        if (times_s := read_s(table, reading)) is not None:
            columns[error_column(reading)] = signed_errors(times_s, seconds)
    if (loaded := f"{FORECAST}_loaded_s") in table.columns:
        columns[error_column(LOADED)] = signed_errors(table[loaded].to_numpy(dtype=np.float64), seconds)
    columns |= {error_column(one.column): signed_errors(one.time_s, seconds) for one in formulas}
    return pd.DataFrame({**columns, ERROR: table[ERROR]}, index=table.index)


def measured_records(table: pd.DataFrame, axes: Sequence[str]) -> list[dict[str, object]]:
    """Return what is known of each row with a measurement.

    Its number, its axes, and the columns of measured times.
    """
    columns = [str(name) for name in table.columns if str(name).startswith("measured_")]
    rows = table[[NUMBER, *axes, *columns]][table[columns[:1]].notna().any(axis=1)] if columns else table.iloc[:0]
    records = rows.to_dict("records")
    return [
        {
            "point": record[NUMBER],
            "axes": {name: record[name] for name in axes},
            **{name: record[name] for name in columns if record[name] == record[name] and record[name] != ""},
        }
        for record in records
    ]


def _column(values: Sequence[MeasuredValue | None]) -> NDArray[np.float64]:
    return np.array([np.nan if one is None else float(one) for one in values])


def _ends(totals: Sequence[MeasuredValue | None], end: int) -> NDArray[np.float64]:
    return np.array([np.nan if one is None or one.ends is None else one.ends[end] for one in totals])

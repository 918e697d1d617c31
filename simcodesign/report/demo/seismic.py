"""The table of SPECseis96 on the Power Challenge: measured, forecast and simulated times of each phase."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from rich.table import Table

from simcodesign.comparison.attribution import relative_error
from simcodesign.comparison.compare import Comparison
from simcodesign.core.units import FloatOrArray
from simcodesign.describe.yaml.files import shipped_path
from simcodesign.report.common.numbers import Digits, signed_percent
from simcodesign.report.common.tables import new_table

NOTE = (
    "Rows marked calibration went into the workload file (computation on 16 processors, two write counts) and are "
    "no evidence. Data-set sizes and message structure are reconstructed, not published: phase 2 of the small set "
    "shows it.\n"
)

Comparisons = dict[tuple[str, int], Comparison]


def measured_times() -> pd.DataFrame:
    """Measured seconds by preset, P, phase and component, with their role: calibration or evidence."""
    return pd.read_csv(shipped_path("workloads", "seismic-measured.csv"), comment="#")


def measured_table(measured: pd.DataFrame, comparisons: Comparisons) -> Table:
    """Measured, forecast and simulated seconds per phase, with errors against what was measured."""
    table = new_table(
        "seismic on power-challenge: seconds, and errors against what was measured",
        "data set",
        "P",
        "phase",
        "component",
        "measured",
        "forecast",
        "error",
        "simulated",
        "error",
        "measured is",
    )
    show = Digits(
        _seconds(times, part)
        for one in comparisons.values()
        for result in (one.forecast, one.simulation)
        for times in result.phases.values()
        for part in times
    )
    for (preset, ranks), comparison in comparisons.items():
        rows = measured[(measured.preset == preset) & (ranks == measured.P)]
        for name, part, measured_s, role in _rows(rows, comparison):
            forecast, simulated = (
                _seconds(result.phases[name], part) for result in (comparison.forecast, comparison.simulation)
            )
            errors = [_error(value, measured_s) for value in (forecast, simulated)]
            table.add_row(
                preset,
                str(ranks),
                name,
                part,
                "-" if measured_s is None else show(measured_s),
                show(forecast),
                errors[0],
                show(simulated),
                errors[1],
                role,
            )
        table.add_section()
    return table


def _rows(rows: pd.DataFrame, comparison: Comparison) -> list[tuple[str, str, float | None, str]]:
    """Measured values, or the phase totals of the readings if nothing was measured."""
    if rows.empty:
        return [(name, "total", None, "-") for name in comparison.forecast.phases]
    columns = (rows.phase, rows.component, rows.seconds.astype(float), rows.role)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _seconds(times: Mapping[str, FloatOrArray], part: str) -> float:
    return float(sum(times.values()) if part == "total" else times[part])


def _error(value_s: float, measured_s: float | None) -> str:
    if measured_s is None:
        return "-"
    return signed_percent(relative_error(value_s, measured_s))

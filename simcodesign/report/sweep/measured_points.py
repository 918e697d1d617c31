"""Measured totals in plots of a sweep: squares over lines of times, with a bar for their spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.report.sweep.plot_axes import places
from simcodesign.studies.sweep.design.grid import SweepAxis
from simcodesign.studies.trust.measured_columns import HIGH, LOW, MEASURED


def is_time(column: str) -> bool:
    """Whether a column is what measured totals are compared with."""
    return column.endswith(("makespan_s", "response_s")) or (column.startswith("formula") and column.endswith("_s"))


def has_measured(table: pd.DataFrame) -> bool:
    """Whether a total was measured at any row of the table of a sweep."""
    return MEASURED in table.columns and bool(table[MEASURED].notna().any())


def draw_measured(panel: Any, axis: SweepAxis, rows: pd.DataFrame, column: str, **look: Any) -> NDArray[np.float64]:
    """Draw the measured totals of rows along an axis, over a column of times; returns all drawn numbers.

    Over what is no time, nothing is.
    """
    if not (is_time(column) and has_measured(rows)):
        return np.array([])
    rows = rows[rows[MEASURED].notna()]
    x, y = places(axis, rows[axis.name].tolist()), rows[MEASURED].to_numpy(dtype=np.float64)
    low, high = (rows[name].to_numpy(dtype=np.float64) for name in (LOW, HIGH))
    known = np.isfinite(low) & np.isfinite(high)
    panel.plot(x, y, "s", markersize=5, markerfacecolor="none", markeredgewidth=1.2, zorder=3, **look)
    panel.vlines(x[known], low[known], high[known], color=look["color"], linewidth=1.2, zorder=3)
    for ends in (low, high):  # wider than the squares, so that a narrow spread is seen
        panel.scatter(x[known], ends[known], marker="_", s=90, linewidths=1.2, color=look["color"], zorder=3)
    return np.concatenate([y, low[known], high[known]])

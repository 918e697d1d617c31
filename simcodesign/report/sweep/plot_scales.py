"""Scales of what is plotted of a sweep: of times, and of ratios, which are logarithmic about 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.report.common import plot_style
from simcodesign.report.sweep.plot_axes import dimension_of, quantity_ticks

RATIO = "ratio"
#: Both readings of a time, which share a scale of colours.
PAIR = ("forecast_makespan_s", "simulated_makespan_s")
#: Values further apart than this factor have a logarithmic axis.
WIDE = 20.0
#: A scale of colours about 1 reaches this far at least.
_MIN_RATIO = 1.01


def value_axis(mpl: Any, panel: Any, column: str, values: NDArray[np.float64]) -> None:
    """Scale and ticks of the values of a column, upwards."""
    known = values[np.isfinite(values)]
    if column == RATIO:
        plot_style.ratio_axis(mpl, panel)
        return
    if known.min() > 0 and known.max() > WIDE * known.min():
        panel.set_yscale("log")
    quantity_ticks(mpl, panel.yaxis, dimension_of(column))


def colour_scale(mpl: Any, table: pd.DataFrame, columns: tuple[str, ...], column: str) -> tuple[Any, Any]:
    """Norm and colours; forecast and simulated times share theirs, a ratio is white at 1."""
    together = [name for name in (PAIR if column in PAIR else [column]) if name in columns]
    values = table[together].to_numpy(dtype=np.float64).ravel()
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    if column == RATIO and low > 0:
        far = max(_MIN_RATIO, high, 1 / low)
        return mpl.colors.LogNorm(1 / far, far), mpl.colormaps["RdBu"]
    if low > 0 and high > WIDE * low:
        return mpl.colors.LogNorm(low, high), mpl.colormaps["viridis"]
    return mpl.colors.Normalize(low, high if high > low else low + (abs(low) or 1.0)), mpl.colormaps["viridis"]

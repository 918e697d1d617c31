"""Axes of the plots of a sweep: where values stand, their ticks and their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import DIMENSIONS, format_quantity
from simcodesign.report.common import plot_style
from simcodesign.studies.sweep.grid import SweepAxis

#: So many values of an axis are labelled one by one.
_FEW = 12


_DIMENSION_OF = {unit: dimension for dimension, unit in DIMENSIONS.items() if unit}


_ENDINGS = {"_s": "time", "_bytes": "size", "_j": "energy", "_w": "power"}


def places(axis: SweepAxis, values: Sequence[Any]) -> NDArray[np.float64]:
    """Where values stand along their axis: numbers at themselves, words in their order."""
    if axis.numeric:
        return np.asarray(values, dtype=np.float64)
    order = {str(value): at for at, value in enumerate(dict.fromkeys(axis.values))}
    return np.array([order[str(value)] for value in values], dtype=np.float64)


def label_axis(mpl: Any, panel: Any, which: str, axis: SweepAxis) -> None:
    """Scale, ticks and label of an axis of the design."""
    if axis.log and axis.numeric:
        getattr(panel, f"set_{which}scale")("log")
    set_ticks(mpl, getattr(panel, f"{which}axis"), axis)
    getattr(panel, f"set_{which}label")(plot_style.plain(axis.name))


def set_ticks(mpl: Any, line: Any, axis: SweepAxis) -> None:
    distinct = sorted(set(axis.values), key=lambda value: float(places(axis, [value])[0]))
    if not axis.numeric or len(distinct) <= _FEW:
        step = 1 if not axis.numeric else -(-len(distinct) // 7)
        shown = distinct[::step]
        line.set_ticks(places(axis, shown), [plot_style.wrapped(value_text(axis, value), 1.2, 7) for value in shown])
        line.set_minor_locator(mpl.ticker.NullLocator())
    else:
        quantity_ticks(mpl, line, _DIMENSION_OF.get(axis.unit, "count"))
        if not axis.log:
            line.set_major_locator(mpl.ticker.MaxNLocator(5))


def quantity_ticks(mpl: Any, line: Any, dimension: str) -> None:
    line.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: short_text(value, dimension)))
    line.set_minor_formatter(mpl.ticker.FuncFormatter(lambda value, _: short_text(value, dimension)))
    if line.get_scale() == "log":
        low, high = sorted(line.get_view_interval())
        if low > 0 and 30 * low < high:
            line.set_minor_formatter(mpl.ticker.NullFormatter())
            if high < 1000 * low:  # powers of ten alone would be one or two
                line.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))


def short_text(value: float, dimension: str) -> str:
    """Three significant digits and a unit."""
    rounded = float(f"{value:.3g}")
    if dimension == "count":
        return f"{rounded:,.10g}" if abs(rounded) < 1e6 else f"{rounded:.3g}"
    return format_quantity(rounded, dimension)


def value_text(axis: SweepAxis, value: Any) -> str:
    """A value of an axis in words."""
    return value if isinstance(value, str) else short_text(float(value), _DIMENSION_OF.get(axis.unit, "count"))


def dimension_of(column: str) -> str:
    return next((name for ending, name in _ENDINGS.items() if column.endswith(ending)), "count")


def quantity_title(column: str) -> str:
    names = {
        "forecast_makespan_s": "forecast time",
        "simulated_makespan_s": "simulated time",
        "forecast_response_s": "forecast response time",
        "simulated_response_s": "simulated response time",
        "ratio": "forecast / simulated",
    }
    return names.get(column, column)

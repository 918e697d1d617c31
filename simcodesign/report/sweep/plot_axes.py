"""Axes of the plots of a sweep: positions of values, their ticks and their words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import DIMENSIONS, format_quantity, shortest_quantity
from simcodesign.report.common import plot_style
from simcodesign.report.common.numbers import ends_of
from simcodesign.studies.sweep.design.grid import SweepAxis

#: Significant digits of numbers, more where neighbours would look alike.
DIGITS = 3
#: Most levels of contours.
LEVELS = 13
#: So many columns are named in the title of their panel.
_FEW_COLUMNS = 2
#: So many values of an axis are labelled one by one.
_FEW = 12


_DIMENSION_OF = {unit: dimension for dimension, unit in DIMENSIONS.items() if unit}


#: Dimensions of columns, by the ends of their names.
_ENDINGS = {"_s": "time", "_bytes": "size", "_j": "energy", "_w": "power", "_error": "fraction"}
_READINGS = ("forecast_", "simulated_")


def places(axis: SweepAxis, values: Sequence[Any]) -> NDArray[np.float64]:
    """Positions of values along their axis: numbers at themselves, words in their order."""
    if axis.numeric:
        return np.asarray(values, dtype=np.float64)
    order = {str(value): at for at, value in enumerate(dict.fromkeys(axis.values))}
    return np.array([order[str(value)] for value in values], dtype=np.float64)


def cell_edges(places: NDArray[np.float64], log: bool) -> NDArray[np.float64]:
    """Edges of cells around these places: midway between neighbours, in the logarithm if the axis is."""
    if len(places) == 1:
        return np.array([places[0] / 1.5, places[0] * 1.5]) if log else places[0] + np.array([-0.5, 0.5])
    at = np.log(places) if log else places
    middle = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.asarray(np.exp(edges) if log else edges, dtype=np.float64)


def label_axis(mpl: Any, panel: Any, which: str, axis: SweepAxis) -> None:
    """Scale, ticks and label of an axis of the design."""
    if axis.log and axis.numeric:
        getattr(panel, f"set_{which}scale")("log")
    set_ticks(mpl, getattr(panel, f"{which}axis"), axis)
    getattr(panel, f"set_{which}label")(plot_style.plain(axis_title(axis)))


def axis_title(axis: SweepAxis) -> str:
    """Return the name of an axis; its ticks have units, and its title names what is counted if they cannot."""
    return f"{axis.name} (ranks)" if axis.name == "P" else axis.name


def set_ticks(mpl: Any, line: Any, axis: SweepAxis) -> None:
    """Set the ticks of an axis: at the values if they are few or not numeric, otherwise at round numbers."""
    distinct = sorted(set(axis.values), key=lambda value: float(places(axis, [value])[0]))
    if not axis.numeric or len(distinct) <= _FEW:
        step = 1 if not axis.numeric else -(-len(distinct) // 7)
        shown = distinct[::step]
        line.set_ticks(places(axis, shown), [plot_style.wrapped(text, 1.2, 7) for text in value_texts(axis, shown)])
        line.set_minor_locator(mpl.ticker.NullLocator())
    else:
        quantity_ticks(mpl, line, _DIMENSION_OF.get(axis.unit, "count"))
        if not axis.log:
            line.set_major_locator(mpl.ticker.MaxNLocator(5))


def quantity_ticks(mpl: Any, line: Any, dimension: str) -> None:
    """Ticks of quantities along an axis that everything is drawn along, with their units."""
    if line.get_scale() == "log" and min(line.get_view_interval()) > 0:
        size = dimension == "size"
        plot_style.log_ticks(mpl, line, lambda value: _quantity_text(value, dimension), base=2.0 if size else 10.0)
        return
    plot_style.label_ticks(line, lambda value, digits: short_text(value, dimension, digits), DIGITS)
    line.set_minor_formatter(mpl.ticker.NullFormatter())


def quantity_texts(values: Sequence[float], column: str) -> list[str]:
    """Values of a column in words."""
    dimension = dimension_of(column)
    return plot_style.distinct_texts(values, lambda value, digits: short_text(value, dimension, digits), DIGITS)


def round_levels(mpl: Any, norm: Any) -> list[float]:
    """Levels of contours, ascending: round numbers within the norm, LEVELS at most."""
    low, high = norm.vmin, norm.vmax
    if isinstance(norm, mpl.colors.LogNorm):
        levels = _log_levels(low, high)
    else:
        levels = mpl.ticker.MaxNLocator(LEVELS - 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high).tolist()
    inside = [level for level in levels if low <= level <= high]
    return inside if len(inside) > 1 else [low, high]


def _log_levels(low: float, high: float) -> list[float]:
    """Numbers of one digit times powers of ten from below ``low`` to above ``high``; of many powers some."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3)):
        levels = [float(f"{digit}e{power}") for power in powers for digit in digits]
        if sum(low <= level <= high for level in levels) <= LEVELS:
            return levels
    return [float(f"1e{power}") for power in powers[:: -(-len(powers) // LEVELS)]]


def short_text(value: float, dimension: str, digits: int = DIGITS) -> str:
    """So many significant digits and a unit; whole counts up to a million in full."""
    if dimension == "count" and abs(value) <= 1e6 and float(value).is_integer():
        return f"{value:,.0f}"
    rounded = float(f"{value:.{digits}g}")
    if dimension == "fraction":
        return f"{100 * rounded:+z.{digits}g} %".replace("+0 %", "0 %")
    if dimension == "count":
        return f"{rounded:,.{max(digits, 10)}g}" if abs(rounded) < 1e6 else f"{rounded:.{digits}g}"
    return format_quantity(rounded, dimension, max(digits, 4))


def _quantity_text(value: float, dimension: str, digits: int = DIGITS) -> str:
    """Return a quantity as text, sizes in KiB and the like if they are whole numbers of them."""
    if dimension == "size":
        return shortest_quantity(value, dimension, max(digits, 4))
    return short_text(value, dimension, digits)


def value_texts(axis: SweepAxis, values: Sequence[Any]) -> list[str]:
    """Values of an axis in words, with as many digits as it takes to distinguish them."""
    numbers = [float(value) for value in values if not isinstance(value, str)]
    dimension = _DIMENSION_OF.get(axis.unit, "count")

    texts = iter(plot_style.distinct_texts(numbers, lambda value, more: _quantity_text(value, dimension, more), DIGITS))
    return [value if isinstance(value, str) else next(texts) for value in values]


def dimension_of(column: str) -> str:
    """Return the dimension of a column by the end of its name; ``count`` for other names."""
    return next((name for ending, name in _ENDINGS.items() if column.endswith(ending)), "count")


def kind_of(column: str) -> str:
    """Kind that columns must have in common to share a panel: their dimension, or what is counted."""
    dimension = dimension_of(column)
    if dimension != "count":
        return dimension
    return next((column.removeprefix(start) for start in _READINGS if column.startswith(start)), column)


def quantity_title(column: str) -> str:
    """Return a column of the table in words."""
    if column == "ratio":
        return "forecast / simulated"
    if column.endswith("_error"):
        of = column.removesuffix("_error")
        against = "measured" if of.startswith("measured_") else "simulated"
        return f"error of {quantity_title(of.removeprefix('measured_'))} against {against}"
    name = column.replace("makespan_s", "time").replace("response_s", "response time")
    name = next((name.removesuffix(ending) for ending in ("_s", "_j", "_w") if name.endswith(ending)), name)
    if name.startswith("formula_") and not name.removeprefix("formula_").isdigit():
        return f"{name.removeprefix('formula_')} (formula)"
    return name.replace("_", " ")


def panel_title(columns: Sequence[str]) -> str:
    """Title of a panel: its columns in words, or for more than two their kind."""
    if len(columns) <= _FEW_COLUMNS:
        return " and ".join(map(quantity_title, columns))
    return {"fraction": "error", "count": "number"}.get(kind := kind_of(columns[0]), kind.replace("_", " "))


def first_text(axis: SweepAxis) -> str:
    """Return the first value of an axis, the only one that is plotted."""
    count = len(axis.values)
    first = f"{axis.name} = {value_texts(axis, axis.values[:1])[0]}"
    return first if count == 1 else f"{first} (the first of {count} values)"


def span_text(axis: SweepAxis) -> str:
    """Return the values of an axis of a sample, in short."""
    if axis.numeric:
        low, high = value_texts(axis, [min(axis.values), max(axis.values)])
        return f"{axis.name} ({ends_of(low, high)})"
    return f"{axis.name} ({', '.join(dict.fromkeys(map(str, axis.values)))})"

"""Bars of a sweep over axes that have words.

A group for each value of the first, a bar for each of the second or for each reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from simcodesign.report.common import plot_style
from simcodesign.report.sweep.plot_axes import dimension_of, quantity_title, short_text, value_texts
from simcodesign.report.sweep.plot_scales import RATIO, value_axis
from simcodesign.studies.sweep.design.grid import SweepAxis

#: Fraction of a group's room that its bars take.
_GROUP = 0.8
#: More bars have no numbers at their ends.
_MAX_NUMBERS = 16


def draw_bars(mpl: Any, panel: Any, table: pd.DataFrame, axes: Sequence[SweepAxis], columns: Sequence[str]) -> None:
    """Columns over one axis, or one column over two, as upright bars; a ratio begins at 1."""
    first = axes[0]
    if len(axes) > 1:
        texts = value_texts(axes[1], list(axes[1].values))
        series = [
            (text, table[table[axes[1].name] == value], columns[0])
            for text, value in zip(texts, axes[1].values, strict=True)
        ]
    else:
        series = [(quantity_title(column), table, column) for column in columns]
    values = table[list(columns)].to_numpy(dtype=np.float64).ravel()
    base = 1.0 if columns[0] == RATIO else 0.0
    groups = {str(value): at for at, value in enumerate(first.values)}
    width = _GROUP / len(series)
    numbered = len(series) * len(groups) <= _MAX_NUMBERS
    for number, (colour, (text, rows, column)) in enumerate(
        zip(plot_style.phase_colours(mpl, len(series)), series, strict=True)
    ):
        x = np.array([groups[str(value)] for value in rows[first.name]], dtype=np.float64)
        x += (number - (len(series) - 1) / 2) * width
        y = rows[column].to_numpy(dtype=np.float64)
        panel.bar(x, y - base, bottom=base, width=0.94 * width, color=colour, label=plot_style.plain(text))
        for place, value in zip(x[np.isfinite(y)], y[np.isfinite(y)], strict=True) if numbered else ():
            up = value >= base
            panel.annotate(
                short_text(float(value), dimension_of(column)),
                (place, value),
                (0, 2 if up else -2),
                textcoords="offset points",
                ha="center",
                va="bottom" if up else "top",
                fontsize=6,
            )
    panel.set_xticks(range(len(groups)), [plot_style.wrapped(text, 3.4 / len(groups), 7) for text in _names(first)])
    panel.set_xlabel(plot_style.plain(first.name))
    value_axis(mpl, panel, columns[0], np.append(values, base) if base == 0 else values)
    if base == 0:
        panel.margins(y=0.12)
    if len(series) > 1:
        title = plot_style.plain(axes[1].name) if len(axes) > 1 else None
        above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": min(len(series), 4)}  # clear of all bars
        panel.legend(title=title, fontsize=7, title_fontsize=7, columnspacing=1.0, **above)


def _names(axis: SweepAxis) -> list[str]:
    return value_texts(axis, list(axis.values))

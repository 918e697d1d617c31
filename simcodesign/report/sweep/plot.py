"""Plots of a sweep: lines, heat maps and contours of what was forecast and simulated over one or two of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.report.common import plot_style
from simcodesign.report.sweep.measured_points import draw_measured, has_measured, is_time
from simcodesign.report.sweep.plot_axes import (
    cell_edges,
    dimension_of,
    first_text,
    kind_of,
    label_axis,
    panel_title,
    places,
    quantity_texts,
    quantity_ticks,
    quantity_title,
    round_levels,
    set_ticks,
    span_text,
    value_texts,
)
from simcodesign.report.sweep.plot_bars import draw_bars
from simcodesign.report.sweep.plot_scales import PAIR, RATIO, colour_scale, value_axis
from simcodesign.studies.sweep.design.grid import SEED, SweepAxis
from simcodesign.studies.sweep.table import ERROR, NUMBER
from simcodesign.studies.trust.measured_columns import HIGH, LOW, MEASURED

FORMS = ("lines", "bars", "heat", "contour")


#: Names of groups of columns.
QUANTITIES = {
    "forecast": PAIR[0],
    "simulated": PAIR[1],
    "ratio": RATIO,
}


#: Colours of the times of both readings, by the first word of their columns.
_READINGS = {"forecast": plot_style.FORECAST, "simulated": plot_style.SIMULATED}
#: More lines cannot be distinguished: of more, this many are plotted, evenly chosen.
MOST_LINES = 9


@dataclass(frozen=True)
class _Shown:
    """The rows of a table that are plotted, one for each pair of values (or one value) of the axes.

    ``note``: the value of each other axis.
    """

    table: pd.DataFrame
    axes: tuple[SweepAxis, ...]
    columns: tuple[str, ...]
    zipped: bool
    note: str

    @property
    def has_measured(self) -> bool:
        """Whether a total was measured at any of its points."""
        return has_measured(self.table)


def sweep_plot(
    table: pd.DataFrame,
    axes: Sequence[SweepAxis],
    path: str | Path,
    of: str | Sequence[str] = (),
    form: str | None = None,
    *,
    title: str = "",
    zipped: bool | None = None,
) -> None:
    """Draw columns of a sweep over its first two axes (or one): a panel for each.

    ``of``: ``forecast``, ``simulated``, ``ratio`` (whichever there are, if it is empty) or names of columns. ``form``:
    ``lines`` (a line for each value of the second axis, or of the axis that has words), ``bars``, ``heat``,
    ``contour``; if None heat maps for two axes of numbers, bars if all have words, and otherwise lines, as for one
    axis, or if totals were measured; these are drawn over the lines with their spread; a sample (``zipped``; inferred
    from the axes if None) is plotted as its points, all of them. For other axes of a grid the first value is taken,
    for seeds the mean; the title lists what is not shown. Points without a value stay white.
    InputError for what cannot be plotted, and when Matplotlib is missing.
    """
    shown, form = _checked(table, axes, of, form, zipped)
    with plot_style.styled(path) as mpl:
        groups = _panels(shown)
        across = min(len(groups), 3)
        down = -(-len(groups) // across)
        width = 0.6 + 4.2 * across
        figure = plot_style.new_figure(mpl, width, 0.9 + 3.3 * down)
        head = "\n".join(part for part in (title, shown.note) if part)
        if head:
            figure.suptitle(plot_style.wrapped(head, width - 0.5, 10), x=0.01, ha="left", fontsize=10)
        panels = figure.subplots(down, across, squeeze=False)
        for panel, columns in zip(panels.flat, groups, strict=False):
            _panel(mpl, figure, panel, shown, columns, form)
        for panel in panels.flat[len(groups) :]:
            panel.remove()
        plot_style.save(figure, path)


def draw_sweep(
    mpl: Any,
    panel: Any,
    table: pd.DataFrame,
    axes: Sequence[SweepAxis],
    of: str | Sequence[str] = (),
    form: str | None = None,
) -> None:
    """Draw into axes the first panel that ``sweep_plot`` would draw. Raises InputError as ``sweep_plot`` does."""
    shown, form = _checked(table, axes, of, form, None)
    _panel(mpl, panel.figure, panel, shown, _panels(shown)[0], form)


def _checked(
    table: pd.DataFrame,
    axes: Sequence[SweepAxis],
    of: str | Sequence[str],
    form: str | None,
    zipped: bool | None,
) -> tuple[_Shown, str]:
    """Return data to plot, and its form."""
    of = [of] if isinstance(of, str) else list(of)
    check_plot(table.columns, axes, of, form)
    shown = _shown(table, axes, of, _is_zipped(table, axes) if zipped is None else zipped)
    form = form or _usual_form(shown)
    if form == "lines" and len(shown.axes) == 2 and not shown.axes[0].numeric and not shown.zipped:
        shown = replace(shown, axes=shown.axes[::-1])  # words have a line each, numbers have a scale
    return shown, form


def _usual_form(shown: _Shown) -> str:
    """Form that fits the axes: words are no scale, and no map."""
    words = [not axis.numeric for axis in shown.axes]
    if all(words) and not shown.zipped and not shown.has_measured:
        return "bars"
    return "lines" if len(shown.axes) == 1 or any(words) or shown.has_measured else "heat"


def _is_zipped(table: pd.DataFrame, axes: Sequence[SweepAxis]) -> bool:
    """Whether every axis has as many values as there are points: in a grid of two axes it has fewer."""
    return len(table) > 1 and len(axes) > 1 and all(len(axis.values) == len(table) for axis in axes)


def check_plot(
    columns: Sequence[str] | pd.Index, axes: Sequence[SweepAxis], of: str | Sequence[str] = (), form: str | None = None
) -> None:
    """InputError for what ``sweep_plot`` would not draw."""
    of = [of] if isinstance(of, str) else list(of)
    if form is not None and form not in FORMS:
        raise InputError("unknown form of a plot", Place("--form"), value=form, allowed=nearest(form, FORMS))
    plotted = _plotted_axes(axes)
    if form in ("heat", "contour") and len(plotted) < 2:
        raise InputError(f"a {form} needs two axes", Place("--form"), value=form, allowed="lines, or one more --vary")
    if form == "contour":
        for axis in plotted:
            if not axis.numeric or len(set(axis.values)) < 2:
                what = "contours need two axes of two numbers or more"
                raise InputError(what, Place("--form"), value=axis.name, allowed="heat, lines")
    results = [str(name) for name in columns if name not in (NUMBER, ERROR, *(axis.name for axis in axes))]
    known = _short_names(results)
    for name in of:
        if name not in known and name not in results:
            others = [column for column in results if column not in known.values()]
            allowed = f"{nearest(name, known)}; columns: {nearest(name, others)}"
            raise InputError("nothing to draw of this name", Place("--of"), value=name, allowed=allowed)
    if not of and not any(column in results for column in QUANTITIES.values()):
        raise InputError("nothing to draw: no point has a result", Place("--write"))


def _plotted_axes(axes: Sequence[SweepAxis]) -> tuple[SweepAxis, ...]:
    """Return the axes along which a plot goes: the first two, a seed only if there is nothing else."""
    others = [axis for axis in axes if axis.known.kind != SEED and len(axis.values) > 1]
    return tuple(others[:2] or axes[:1])


def _short_names(columns: Sequence[str]) -> dict[str, str]:
    """Names of columns on the command line: both readings, their ratio, and formulas by their names."""
    formulas = [name for name in columns if name.startswith("formula") and name.endswith("_s")]
    short = {name.removesuffix("_s").removeprefix("formula_"): name for name in formulas}
    known = {name: column for name, column in QUANTITIES.items() if column in columns}
    return {name: column for name, column in short.items() if name not in columns} | known


def _column(name: str, table: pd.DataFrame) -> str:
    """Return the column of a quantity.

    For an open stream, the response time is what it is about, and not the makespan.
    """
    column = _short_names([*map(str, table.columns)]).get(name, name)
    response = column.replace("makespan", "response")
    return response if name in QUANTITIES and response in table.columns else column


def _shown(table: pd.DataFrame, axes: Sequence[SweepAxis], of: Sequence[str], zipped: bool) -> _Shown:
    every = [_column(name, table) for name in QUANTITIES]
    formulas = [name for name in _short_names([*map(str, table.columns)]) if name not in QUANTITIES]
    every[-1:-1] = [_column(name, table) for name in formulas if len(_plotted_axes(axes)) == 1]
    columns = [_column(name, table) for name in of] or [column for column in every if column in table.columns]
    plotted = _plotted_axes(axes)
    rest = [axis for axis in axes if axis not in plotted]
    if zipped:
        notes = [f"not shown: {span_text(axis)}" for axis in rest if len(set(axis.values)) > 1]
    else:
        notes = []
        for axis in rest:
            if axis.known.kind != SEED:
                table = table[table[axis.name] == axis.values[0]]
                notes += [first_text(axis)]
        means = [axis for axis in rest if axis.known.kind == SEED and len(axis.values) > 1]
        if means:
            kept = [*columns, *(name for name in (MEASURED, LOW, HIGH) if name in table.columns)]
            table = table.groupby([axis.name for axis in plotted], as_index=False)[list(dict.fromkeys(kept))].mean()
            notes += [f"mean over {len(means[0].values)} seeds"]
    return _Shown(table, plotted, tuple(dict.fromkeys(columns)), zipped, ", ".join(notes))


def _panels(shown: _Shown) -> list[tuple[str, ...]]:
    """Return the columns of each panel: columns of one unit share one if each is a single line."""
    if len(shown.axes) > 1:
        return [(column,) for column in shown.columns]
    groups: dict[str, list[str]] = {}
    for column in shown.columns:
        groups.setdefault(kind_of(column), []).append(column)
    return [*map(tuple, groups.values())]


def _panel(mpl: Any, figure: Any, panel: Any, shown: _Shown, columns: tuple[str, ...], form: str) -> None:
    values = shown.table[list(columns)].to_numpy(dtype=np.float64).ravel()
    panel.set_title(plot_style.wrapped(panel_title(columns), 3.8))
    if not np.isfinite(values).any():
        panel.text(0.5, 0.5, "no point has this", ha="center", va="center", transform=panel.transAxes)
        return
    if form == "bars":
        draw_bars(mpl, panel, shown.table, shown.axes, columns)
    elif len(shown.axes) == 1:
        _single(mpl, panel, shown, columns, values)
    elif form == "lines":
        _lines(mpl, panel, shown, columns[0], values)
    else:
        _map(mpl, figure, panel, shown, columns[0], form)


def _single(mpl: Any, panel: Any, shown: _Shown, columns: tuple[str, ...], values: NDArray[np.float64]) -> None:
    """Columns along the only axis, a line each."""
    (axis,) = shown.axes
    others = plot_style.machine_colours(mpl, len(columns))
    for other, column in zip(others, columns, strict=True):
        colour = _READINGS.get(column.partition("_")[0], other) if is_time(column) else other
        label = quantity_title(column) if len(columns) > 1 or (is_time(column) and shown.has_measured) else None
        _line(panel, shown, axis, shown.table, column, color=colour, label=label and plot_style.plain(label))
    label_axis(mpl, panel, "x", axis)
    of = next(filter(is_time, columns), columns[0])
    seen = draw_measured(panel, axis, shown.table, of, color=plot_style.MEASURED, label="measured")
    value_axis(mpl, panel, columns[0], np.concatenate([values, seen]))
    if len(columns) > 1 or len(seen):
        panel.legend(fontsize=7, **plot_style.OVER_LINES)


def _lines(mpl: Any, panel: Any, shown: _Shown, column: str, values: NDArray[np.float64]) -> None:
    """Draw a column along the first axis, a line for each value of the second."""
    first, second = shown.axes
    if shown.zipped:
        _points(mpl, panel, shown, column, values)
        return
    lines = _chosen(second.values)
    colours, texts = plot_style.phase_colours(mpl, len(lines)), value_texts(second, lines)
    seen = []
    for colour, value, text in zip(colours, lines, texts, strict=True):
        rows = shown.table[shown.table[second.name] == value]
        _line(panel, shown, first, rows, column, color=colour, label=plot_style.plain(text))
        seen.append(draw_measured(panel, first, rows, column, color=colour))
    label_axis(mpl, panel, "x", first)
    value_axis(mpl, panel, column, np.concatenate([values, *seen]))
    dropped = len(second.values) - len(lines)
    head = second.name + (f" ({dropped} more)" if dropped else "")
    head += "; squares: measured" if any(map(len, seen)) else ""
    panel.legend(
        title=plot_style.plain(head),
        fontsize=7,
        title_fontsize=7,
        ncols=1 if len(lines) < 6 else 2,
        **plot_style.OVER_LINES,
    )


def _line(panel: Any, shown: _Shown, axis: SweepAxis, rows: pd.DataFrame, column: str, **look: Any) -> None:
    """One line with its points marked if they are few; the points alone, of a sample."""
    x, y = places(axis, rows[axis.name].tolist()), rows[column].to_numpy(dtype=np.float64)
    order = np.argsort(x, kind="stable")
    if shown.zipped or len(x) <= 60:
        look |= {"marker": "o", "markersize": 2.5}
    look |= {"linestyle": ""} if shown.zipped else {"linewidth": 1.3}
    panel.plot(x[order], y[order], **look)


def _points(mpl: Any, panel: Any, shown: _Shown, column: str, values: NDArray[np.float64]) -> None:
    """Draw a sample along its first axis, coloured by its second."""
    first, second = shown.axes
    colour = places(second, shown.table[second.name].tolist())
    norm = mpl.colors.LogNorm() if second.log else None
    x = places(first, shown.table[first.name].tolist())
    points = panel.scatter(x, values, c=colour, norm=norm, s=9, cmap="viridis", linewidths=0)
    bar = panel.figure.colorbar(points, ax=panel, pad=0.02)
    bar.set_label(plot_style.plain(second.name), fontsize=8)
    set_ticks(mpl, bar.ax.yaxis, second)
    label_axis(mpl, panel, "x", first)
    value_axis(mpl, panel, column, values)


def _chosen(values: Sequence[Any]) -> list[Any]:
    """Return the values, or as many as can be distinguished, evenly chosen with both ends."""
    if len(values) <= MOST_LINES:
        return list(values)
    return [values[at] for at in np.linspace(0, len(values) - 1, MOST_LINES).round().astype(int)]


def _map(mpl: Any, figure: Any, panel: Any, shown: _Shown, column: str, form: str) -> None:
    first, second = shown.axes
    norm, colours = colour_scale(mpl, shown.table, shown.columns, column)
    if shown.zipped:
        artist = _sample(mpl, panel, shown, column, form, norm, colours)
    else:
        x, y, grid = _gridded(shown, column)
        if form == "contour":
            levels = round_levels(mpl, norm)
            artist = panel.contourf(x, y, grid, levels=levels, norm=norm, cmap=colours, extend="both")
            lines = panel.contour(x, y, grid, levels=levels[::2], colors="white", linewidths=0.6)
            panel.clabel(lines, fontsize=6, fmt=dict(zip(levels, quantity_texts(levels, column), strict=True)))
        else:
            artist = panel.pcolormesh(
                cell_edges(x, first.log),
                cell_edges(y, second.log),
                grid,
                norm=norm,
                cmap=colours,
                rasterized=grid.size > 4000,
            )
    bar = figure.colorbar(artist, ax=panel, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    quantity_ticks(mpl, bar.ax.yaxis, dimension_of(column))
    if column == RATIO:
        bar.set_ticks(plot_style.ratio_ticks(norm.vmin, norm.vmax))
    if hasattr(artist, "levels"):  # contours, labelled with the same numbers
        bar.set_ticks(artist.levels, labels=quantity_texts(artist.levels, column))
    bar.ax.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    label_axis(mpl, panel, "x", first)
    label_axis(mpl, panel, "y", second)


def _sample(mpl: Any, panel: Any, shown: _Shown, column: str, form: str, norm: Any, colours: Any) -> Any:
    """Return a sample: its points in colour, or contours between them."""
    first, second = shown.axes
    rows = shown.table[np.isfinite(shown.table[column])]
    x, y = (places(axis, rows[axis.name].tolist()) for axis in shown.axes)
    values = rows[column].to_numpy(dtype=np.float64)
    if form != "contour" or len(values) < 4:
        return panel.scatter(x, y, c=values, norm=norm, cmap=colours, s=14, linewidths=0)
    if first.log:
        panel.set_xscale("log")
    if second.log:
        panel.set_yscale("log")
    # Triangles are computed on the axes as they are plotted, or they would be needles.
    unit = [_unit(at, axis.log) for axis, at in zip(shown.axes, (x, y), strict=True)]
    triangles = mpl.tri.Triangulation(x, y, mpl.tri.Triangulation(*unit).triangles)
    levels = round_levels(mpl, norm)
    contours = panel.tricontourf(triangles, values, levels=levels, norm=norm, cmap=colours, extend="both")
    panel.plot(x, y, ".", color=plot_style.DARK, markersize=1.5)
    return contours


def _unit(places: NDArray[np.float64], log: bool) -> NDArray[np.float64]:
    """Places from 0 to 1 along their axis."""
    at = np.log(places) if log else places
    return np.asarray((at - at.min()) / ((at.max() - at.min()) or 1.0), dtype=np.float64)


def _gridded(shown: _Shown, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Places along both axes, ascending, and the values: (second, first); NaN if there is none."""
    first, second = shown.axes
    x, y = (places(axis, shown.table[axis.name].tolist()) for axis in shown.axes)
    across, down = np.unique(places(first, first.values)), np.unique(places(second, second.values))
    grid = np.full((len(down), len(across)), np.nan)
    grid[np.searchsorted(down, y), np.searchsorted(across, x)] = shown.table[column].to_numpy(dtype=np.float64)
    return across, down, grid

"""Trust maps as plots: a map of signed errors for each formula and one of which to use; over one axis, lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError, Place, nearest
from simcodesign.report.common import plot_style
from simcodesign.report.sweep.plot_axes import cell_edges, label_axis, places, value_texts
from simcodesign.report.trust.tables import label, run_text, share_text, title_of
from simcodesign.studies.sweep.design.grid import SEED, SweepAxis
from simcodesign.studies.trust.trust_map import Trust, TrustMap

#: More panels than these are too small to be read.
MOST_PANELS = 24
#: Errors beyond the fraction are darker from these multiples of it on.
_STEPS = (1.0, 2.0, 5.0, 10.0)
_WITHIN, _NO_VALUE = "#f7f7f7", "#d9d9d9"
_LOW = ("#9ecae1", "#6baed6", "#3182bd", "#08519c")
_HIGH = ("#fcbba1", "#fb8a6a", "#de2d26", "#a50f15")
#: Colours of formulas, other than the colours of errors; of more formulas than these, along a colour map.
_USE = ("#009E73", "#CC79A7", "#7B3FA0", "#B8A500", "#666666")
_NOTHING = {"facecolor": "white", "edgecolor": plot_style.GREY, "hatch": "xxx", "linewidth": 0}
_OUTSIDE = {"facecolor": "none", "edgecolor": plot_style.DARK, "hatch": "////", "linewidth": 0}
#: Errors that are as near as this to the fraction have a decimal; those beyond the largest are powers of ten.
_NEAR, _LARGEST = 0.005, 9.995
#: Number of cells of a row, and of rows, up to which each cell has its number.
_FEW_ACROSS, _FEW_DOWN = 12, 16


@dataclass(frozen=True)
class _Panel:
    """Contents of a panel, at some points (``rows``).

    The errors of a formula, or (``one`` is None) which formula to use. ``fraction``: of the map.
    """

    title: str
    one: Trust | None
    rows: NDArray[np.int64]
    fraction: float


def check_trust_plot(axes: Sequence[SweepAxis], formulas: int) -> None:
    """InputError for axes of which ``trust_plot`` makes no map; ``formulas``: how many there are, with our forecast."""
    _, facet = _drawn(axes)
    facets = 1 if facet is None else len(facet.values)
    if facets * (formulas + 1) > MOST_PANELS:
        what = f"a map of {facets} x {formulas + 1} panels"
        allowed = f"up to {MOST_PANELS}: fewer values of {facet.name if facet else 'axes'}, or fewer formulas"
        raise InputError(what, Place("--write"), allowed=allowed)


def trust_plot(trust: TrustMap, path: str | Path) -> None:
    """Draw the trust map over its first two axes, or lines of signed errors over a single axis.

    A row of panels for each value of a third axis (words first).

    Among points that differ in their seeds alone, the error that is furthest from 0 is drawn. Points that were not
    simulated are hatched. InputError for more axes, too many panels, and when Matplotlib is missing.
    """
    check_trust_plot(trust.axes, len(trust.formulas))
    drawn, facet = _drawn(trust.axes)
    with plot_style.styled(path) as mpl:
        panels = list(_panels(trust, facet))
        across = len(trust.formulas) + 1 if facet is not None else 2 if len(panels) in (2, 4) else 3
        if len(drawn) == 1:
            title = f"large markers: the formula to use; none if nothing is within {100 * trust.fraction:.4g} %"
            panels, across = [replace(panel, title=title) for panel in panels if panel.one is None], 1
        down = -(-len(panels) // across)
        width = 0.8 + (6.4 if across == 1 else 4.0 * across)
        figure = plot_style.new_figure(mpl, width, 1.3 + (3.8 if across == 1 else 3.1) * down)
        head = f"{title_of(trust)}: where formulas are within {share_text(trust)}\n{run_text(trust)}"
        if any(axis.known.kind == SEED for axis in trust.axes):
            head += ", largest error of all seeds"
        figure.suptitle(plot_style.wrapped(head, width - 0.5, 10), x=0.01, ha="left", fontsize=10)
        grid = figure.subplots(down, across, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            axes.set_title(plot_style.wrapped(panel.title, width / across - 0.9))
            (_lines if len(drawn) == 1 else _map)(mpl, axes, trust, panel, drawn)
        for axes in grid.flat[len(panels) :]:
            axes.remove()
        plot_style.legend(mpl, figure, _entries(mpl, trust, len(drawn) == 1))
        plot_style.save(figure, path)


def draw_trust(mpl: Any, axes: Any, trust: TrustMap, formula: str = "") -> dict[str, dict[str, Any]]:
    """Draw the signed errors of a formula, by its name (by default the first one), or over one axis of all of them.

    Return what the colours mean. InputError for an unknown formula and for three axes.
    """
    drawn, facet = _drawn(trust.axes)
    if facet is not None:
        raise InputError("one map of three axes", value=facet.name, allowed="two axes")
    named = {one.name: one for one in trust.formulas}
    if formula and formula not in named:
        raise InputError("no such formula", value=formula, allowed=nearest(formula, named))
    chosen = named[formula] if formula else trust.formulas[0]
    panel = next(one for one in _panels(trust, None) if one.one is (None if len(drawn) == 1 else chosen))
    axes.set_title(plot_style.wrapped(panel.title if len(drawn) == 2 else "error of each formula", 4.0))
    (_lines if len(drawn) == 1 else _map)(mpl, axes, trust, panel, drawn)
    entries = _entries(mpl, trust, len(drawn) == 1)
    return {name: look for name, look in entries.items() if not name.startswith(("nearest", "hatched"))}


def _drawn(axes: Sequence[SweepAxis]) -> tuple[tuple[SweepAxis, ...], SweepAxis | None]:
    """Return the axes of each panel, and the axis of which each value has panels of its own.

    The first of words, or the third. A seed is drawn only if there is nothing else. InputError for more axes.
    """
    others = [axis for axis in axes if axis.known.kind != SEED and len(set(axis.values)) > 1] or list(axes[:1])
    if len(others) > 3:
        allowed = "up to three: --set for the others, or no --write; the conditions in words take any number"
        raise InputError("a trust map of more than three axes", Place("--write"), value=len(others), allowed=allowed)
    if len(others) < 3:
        return tuple(others), None
    facet = next((axis for axis in others if not axis.numeric), others[2])
    return tuple(axis for axis in others if axis is not facet), facet


def _panels(trust: TrustMap, facet: SweepAxis | None) -> Iterator[_Panel]:
    every = np.arange(trust.points, dtype=np.int64)
    facets: list[tuple[str, NDArray[np.int64]]] = [("", every)]
    if facet is not None:
        values = list(dict.fromkeys(facet.values))
        at = places(facet, trust.values[facet.name].tolist())
        facets = [
            (f"{facet.name} = {text}\n", np.flatnonzero(at == place))
            for text, place in zip(value_texts(facet, values), places(facet, values), strict=True)
        ]
    for text, rows in facets:
        for one in trust.formulas:
            words = "" if facet is not None else f"\nwithin {100 * trust.fraction:.4g} % {one.within.text}"
            yield _Panel(f"{text}{label(one)}, error in %{words}", one, rows, trust.fraction)
        yield _Panel(f"{text}which to use", None, rows, trust.fraction)


def _map(mpl: Any, axes: Any, trust: TrustMap, panel: _Panel, drawn: Sequence[SweepAxis]) -> None:
    """Draw the points of a panel as cells of a grid, or as points of a sample."""
    first, second = drawn
    colours, values = _coloured(mpl, trust, panel)
    x, y = (places(axis, trust.values[axis.name][panel.rows].tolist()) for axis in drawn)
    if trust.zipped:
        if panel.one is None:
            colours = [colour if np.isnan(error) else "white" for colour, error in zip(colours, values, strict=True)]
        axes.scatter(x, y, c=colours, s=22, edgecolors=plot_style.DARK, linewidths=0.4)
    else:
        _cells(mpl, axes, drawn, (x, y), colours, values, panel)
    label_axis(mpl, axes, "x", first)
    label_axis(mpl, axes, "y", second)


def _cells(
    mpl: Any,
    axes: Any,
    drawn: Sequence[SweepAxis],
    at: tuple[NDArray[np.float64], NDArray[np.float64]],
    colours: list[Any],
    values: NDArray[np.float64],
    panel: _Panel,
) -> None:
    """One cell for each pair of values; of several points of one cell (seeds), the largest error."""
    across, down = (np.unique(places(axis, axis.values)) for axis in drawn)
    columns, rows = np.searchsorted(across, at[0]), np.searchsorted(down, at[1])
    x, y = cell_edges(across, drawn[0].log), cell_edges(down, drawn[1].log)
    order = np.argsort(np.abs(values), kind="stable")  # the last one of a cell stays
    image = np.ones((len(down), len(across), 4))
    image[..., 3] = 0.0
    numbers = np.full((len(down), len(across)), np.nan)
    simulated = np.zeros(numbers.shape, dtype=bool)
    for point in order.tolist():
        image[rows[point], columns[point]] = mpl.colors.to_rgba(colours[point])
        numbers[rows[point], columns[point]] = values[point]
        simulated[rows[point], columns[point]] = True
    axes.add_patch(mpl.patches.Rectangle((x[0], y[0]), x[-1] - x[0], y[-1] - y[0], zorder=0, **_NOTHING))
    axes.pcolormesh(x, y, image, rasterized=numbers.size > 4000)
    for row, column in np.argwhere(simulated & ~np.isnan(numbers)) if panel.one is None else ():
        corner, size = (x[column], y[row]), (x[column + 1] - x[column], y[row + 1] - y[row])
        axes.add_patch(mpl.patches.Rectangle(corner, *size, **_OUTSIDE))
    if panel.one is not None and len(across) <= _FEW_ACROSS and len(down) <= _FEW_DOWN:
        for row, column in np.argwhere(simulated & np.isfinite(numbers)):
            _number(mpl, axes, drawn, (x, y), (row, column), numbers[row, column], image[row, column], panel.fraction)


def _number(
    mpl: Any,
    axes: Any,
    drawn: Sequence[SweepAxis],
    edges: tuple[NDArray[np.float64], NDArray[np.float64]],
    cell: tuple[int, int],
    error: float,
    colour: NDArray[np.float64],
    fraction: float,
) -> None:
    """Write the signed error in percent in the middle of its cell.

    It has a decimal if it would look like the fraction otherwise.
    """
    x, y = (
        np.sqrt(each[at] * each[at + 1]) if axis.log else (each[at] + each[at + 1]) / 2
        for each, at, axis in zip(edges, cell[::-1], drawn, strict=True)
    )
    dark = np.dot(colour[:3], (0.3, 0.59, 0.11)) < 0.5
    near = abs(abs(error) - fraction) < _NEAR
    text = f"{100 * error:+z.{1 if near else 0}f}" if abs(error) < _LARGEST else f"{100 * error:+.1e}"
    text = "0" if text in ("+0", "-0") else text.replace("-", "\N{MINUS SIGN}")
    axes.text(x, y, text, ha="center", va="center", fontsize=6.5, color="white" if dark else "black")


def _coloured(mpl: Any, trust: TrustMap, panel: _Panel) -> tuple[list[Any], NDArray[np.float64]]:
    """Return the colour of each point of a panel, and its error; of a panel of which to use, nan if that is within."""
    if panel.one is not None:
        errors = panel.one.error[panel.rows]
        return [_error_colour(error, trust.fraction) for error in errors.tolist()], errors
    best = trust.best[panel.rows]
    every = np.array([one.error for one in trust.formulas])[:, panel.rows]
    errors = np.where(best < 0, np.inf, every[best, np.arange(len(best))])
    palette = _palette(mpl, trust)
    colours = [palette[at] if at >= 0 else "white" for at in best.tolist()]
    return [plot_style.paler(mpl, one) for one in colours], np.where(np.abs(errors) <= trust.fraction, np.nan, errors)


def _error_colour(error: float, fraction: float) -> str:
    if np.isnan(error):
        return _NO_VALUE
    if abs(error) <= fraction:
        return _WITHIN
    step = int(np.searchsorted(np.array(_STEPS), abs(error) / fraction)) - 1
    return (_LOW if error < 0 else _HIGH)[max(step, 0)]


def _lines(mpl: Any, axes: Any, trust: TrustMap, panel: _Panel, drawn: Sequence[SweepAxis]) -> None:
    """Draw signed errors of all formulas over a single axis, larger markers for the formula to use.

    None where the nearest one is not within the fraction either.
    """
    (axis,) = drawn
    x = places(axis, trust.values[axis.name][panel.rows].tolist())
    order = np.argsort(x, kind="stable")
    axes.axhspan(-100 * trust.fraction, 100 * trust.fraction, color="#eeeeee", zorder=0)
    axes.axhline(0.0, color=plot_style.GREY, linewidth=0.8, zorder=0)
    for at, (one, colour) in enumerate(zip(trust.formulas, _palette(mpl, trust), strict=True)):
        errors = 100 * one.error[panel.rows][order]
        axes.plot(x[order], errors, color=colour, marker="o", markersize=2.5, linewidth=1.3)
        within = np.abs(one.error[panel.rows][order]) <= trust.fraction
        best = (trust.best[panel.rows][order] == at) & within
        axes.plot(x[order][best], errors[best], color=colour, marker="o", markersize=6, linestyle="")
    axes.set_ylabel("error (%)")
    label_axis(mpl, axes, "x", axis)


def _palette(mpl: Any, trust: TrustMap) -> list[Any]:
    """Return a colour for each formula."""
    count = len(trust.formulas)
    return list(_USE[:count]) if count <= len(_USE) else plot_style.phase_colours(mpl, count)


def _entries(mpl: Any, trust: TrustMap, lines: bool) -> dict[str, dict[str, Any]]:
    """Meaning of colours."""
    palette = _palette(mpl, trust)
    if lines:
        entries = {label(one): {"facecolor": colour} for one, colour in zip(trust.formulas, palette, strict=True)}
        return entries | {f"within {100 * trust.fraction:.4g} %": {"facecolor": "#eeeeee"}}
    edge = {"edgecolor": plot_style.GREY, "linewidth": 0.5}
    entries = {f"within {100 * trust.fraction:.4g} %": {"facecolor": _WITHIN, **edge}}
    bounds = [f"{100 * trust.fraction * step:.4g}" for step in _STEPS]
    for name, colours in (("too low", _LOW), ("too high", _HIGH)):
        errors = np.concatenate([one.error[~np.isnan(one.error)] for one in trust.formulas])
        used = {_error_colour(error, trust.fraction) for error in errors.tolist()}
        for colour, low, high in zip(colours, bounds, [*bounds[1:], ""], strict=True):
            if colour in used:
                between = f"by {low} to {high} %" if high else f"by more than {low} %"
                entries[f"{name} {between}"] = {"facecolor": colour}
    if any(one.no_value for one in trust.formulas):
        entries["no value"] = {"facecolor": _NO_VALUE}
    for one, colour in zip(trust.formulas, palette, strict=True):
        if np.any(trust.best == trust.formulas.index(one)):
            entries[f"nearest: {label(one)}"] = {"facecolor": plot_style.paler(mpl, colour)}
    if trust.nothing.points:
        entries[f"hatched: nearest, not within {100 * trust.fraction:.4g} %"] = (
            {"facecolor": "white", **edge} if trust.zipped else {**_OUTSIDE}
        )
    return entries

"""Isoefficiency as a plot: the work that P ranks need, by formulas as lines and by the simulation as points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.report.common import plot_style
from simcodesign.studies.scaling.isoefficiency import (
    FORECAST,
    SIMULATION,
    USEFUL_FLOPS,
    Isoefficiency,
    IsoefficiencyCurve,
)

#: Lines of the formulas of a workload, in their order; the forecast is thin.
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_PANELS_IN_A_ROW = 2


def isoefficiency_plot(results: Isoefficiency | Iterable[Isoefficiency], path: str | Path) -> None:
    """Draw a panel for each workload.

    Over P, the work that is needed for the efficiency, both axes in logarithms.

    Formulas are lines, the forecast a thin one, and simulations points, in a colour for each machine; a formula with
    the same on all machines is one dark line.

    Raises InputError if there is nothing to show, for a path that cannot be written, and without Matplotlib.
    """
    several = [results] if isinstance(results, Isoefficiency) else list(results)
    panels: dict[str, list[Isoefficiency]] = {}
    for result in several:
        panels.setdefault(result.workload, []).append(result)
    if not any(_known(curve)[0] for result in several for curve in result.curves):
        raise InputError("there is nothing to plot", allowed="a result with a size for some number of ranks")
    colours = dict(zip(dict.fromkeys(result.machine for result in several), plot_style.OKABE_ITO, strict=False))
    columns = min(len(panels), _PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 5.2 * columns, 3.9 * rows)
        axes = figure.subplots(rows, columns, squeeze=False).flat
        for axis, (workload, shown) in zip(axes, panels.items(), strict=False):
            _panel(mpl, axis, shown, colours)
            axis.set_title(plot_style.wrapped(f"{workload}, efficiency {_efficiencies(shown)}", 4.6))
        for axis in list(axes)[len(panels) :]:
            axis.set_visible(False)
        plot_style.save(figure, path)


def _efficiencies(results: Sequence[Isoefficiency]) -> str:
    return " and ".join(f"{efficiency:g}" for efficiency in dict.fromkeys(result.efficiency for result in results))


def _panel(mpl: Any, axis: Any, results: Sequence[Isoefficiency], colours: dict[str, str]) -> None:
    """One workload on all of its machines."""
    first = results[0]
    for name, line in zip(_formulas(first), _LINES * len(first.curves), strict=False):
        alike = all(_same(result.curve(name), first.curve(name)) for result in results)
        for result in results[:1] if alike else results:
            label, colour = (name, plot_style.DARK) if alike else (_label(name, result), colours[result.machine])
            axis.plot(*_known(result.curve(name)), line, color=colour, linewidth=1.3, label=plot_style.plain(label))
    for result, marker in zip(results, _MARKERS * len(results), strict=False):
        colour = colours[result.machine]
        for curve in result.curves:
            label = plot_style.plain(_label(curve.reading, result))
            if curve.reading == FORECAST:
                axis.plot(*_known(curve), color=colour, linewidth=0.6, label=label)
            elif curve.reading == SIMULATION:
                axis.plot(*_known(curve), marker, color=colour, markersize=5, label=label)
    ranks = sorted({point.ranks for result in results for curve in result.curves for point in curve.points})
    axis.set(xscale="log", yscale="log", xlabel="P (ranks)", ylabel=_work(results))
    axis.set_xticks(ranks, [f"{count:,}" for count in ranks])
    axis.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axis.legend(loc="upper left")


def _formulas(result: Isoefficiency) -> list[str]:
    return [curve.reading for curve in result.curves if curve.reading not in (FORECAST, SIMULATION)]


def _label(reading: str, result: Isoefficiency) -> str:
    return f"{reading}, {result.machine}"


def _same(curve: IsoefficiencyCurve, other: IsoefficiencyCurve) -> bool:
    one, two = _known(curve), _known(other)
    return one[0] == two[0] and np.allclose(one[1], two[1], rtol=1e-5, atol=0)


def _known(curve: IsoefficiencyCurve) -> tuple[list[int], list[float]]:
    """Ranks, and the work there, if there is a size."""
    points = [point for point in curve.points if np.isfinite(point.size)]
    works = [point.serial_s if point.work_flops is None else point.work_flops for point in points]
    return [point.ranks for point in points], works


def _work(results: Sequence[Isoefficiency]) -> str:
    flops = {result.serial == USEFUL_FLOPS for result in results}
    if len(flops) > 1:
        raise InputError("work in flops and in seconds of one rank do not go into one plot", allowed="one of them")
    return "useful work (flop)" if flops.pop() else "time of one rank (s)"

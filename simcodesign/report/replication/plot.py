"""Replications as a plot: how the mean and its interval settle, and the mean of every component."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.report.common import plot_style
from simcodesign.report.replication.quantities import QUANTITIES
from simcodesign.report.replication.tables import machine_names
from simcodesign.studies.replication.observations import MAKESPAN, RESPONSE
from simcodesign.studies.replication.output_analysis import Interval, interval
from simcodesign.studies.replication.replicate import PairedReplications, Replicated


def replications_plot(replicated: Replicated | PairedReplications, path: str | Path) -> None:
    """Left: what each replication took, or by how much the machines differ in it, with the mean of those so far and its
    interval. Right: components.

    Raises InputError for fewer than two replications, a path that cannot be written, and without Matplotlib.
    """
    sides = [replicated] if isinstance(replicated, Replicated) else [replicated.first, replicated.second]
    names = [replicated.first.machine] if isinstance(replicated, Replicated) else [*machine_names(replicated)]
    if sides[0].count < 2:
        raise InputError("there is nothing to plot", value=f"{sides[0].count} run", allowed="2 or more replications")
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 9.5, 4.0)
        first = sides[0].first
        title = first.workload + (f" on {names[0]}" if len(names) == 1 else "")
        title += f", P = {float(first.values['P']):g}: {sides[0].count} replications"
        title += f", {100 * sides[0].confidence:g} % confidence intervals"
        figure.suptitle(plot_style.wrapped(title, 9.0, 11), x=0.01, ha="left")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        key = _plotted_quantity(sides[0])
        values, what = sides[0].column(key), QUANTITIES[key][0]
        if len(sides) > 1:
            values, what = sides[1].column(key) - values, f"{what}, {names[1]} - {names[0]}"
        _settling(
            mpl, left, values, sides[0].confidence, plot_style.OKABE_ITO[0] if len(sides) == 1 else plot_style.DARK
        )
        left.set_title(plot_style.wrapped(f"{what}: each replication, the mean so far, its interval", 5.0))
        _components(mpl, right, sides)
        right.set_title("along the critical path")
        if len(names) > 1:
            looks = {name: {"facecolor": colour} for name, colour in zip(names, plot_style.OKABE_ITO, strict=False)}
            plot_style.legend(mpl, figure, looks)
        plot_style.save(figure, path)


def running(values: NDArray[np.float64], confidence: float) -> list[Interval]:
    """The intervals of the first 2, 3, ... values."""
    return [interval(values[:count], confidence) for count in range(2, len(values) + 1)]


def _plotted_quantity(replicated: Replicated) -> tuple[str, ...]:
    """What it is judged by, if that is a quantity of the whole run."""
    key = replicated.stopping.of
    if key in QUANTITIES and QUANTITIES[key][1] == "s":
        return key
    return RESPONSE if RESPONSE in replicated.keys else MAKESPAN


def _settling(mpl: Any, axis: Any, values: NDArray[np.float64], confidence: float, colour: str) -> None:
    numbers = np.arange(1, len(values) + 1)
    intervals = running(values, confidence)
    axis.fill_between(
        numbers[1:],
        [one.low for one in intervals],
        [one.high for one in intervals],
        color=plot_style.paler(mpl, colour),
        linewidth=0,
    )
    axis.plot(numbers, values, ".", color=colour, markersize=3, alpha=0.6)
    axis.plot(numbers[1:], [one.mean for one in intervals], color=colour, marker="o" if len(values) < 4 else "")
    low, high = float(values.min()), float(values.max())
    margin = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    axis.set(xlabel="replications", xlim=(0.99, 1.01 * len(values)), ylim=(low - margin, high + margin))
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
    plot_style.time_axis(mpl, axis.yaxis, max(abs(low), abs(high)))


def _components(mpl: Any, axis: Any, sides: Sequence[Replicated]) -> None:
    """Means with intervals, side by side."""
    shown = [part for part in COMPONENTS if any(side.interval("components_s", part).mean for side in sides)]
    width = 0.8 / len(sides)
    highest = 0.0
    for number, (side, colour) in enumerate(zip(sides, plot_style.OKABE_ITO, strict=False)):
        intervals = [side.interval("components_s", part) for part in shown]
        means, halves = np.array([one.mean for one in intervals]), np.array([one.half_width for one in intervals])
        places = np.arange(len(shown)) + (number - (len(sides) - 1) / 2) * width
        axis.bar(places, means, 0.9 * width, color=colour, yerr=halves, ecolor=plot_style.DARK, capsize=3)
        highest = max(highest, float((means + halves).max(initial=0.0)))
    axis.set_xticks(np.arange(len(shown)), shown)
    axis.set_ylim(0, 1.1 * highest or 1.0)
    plot_style.time_axis(mpl, axis.yaxis, highest)

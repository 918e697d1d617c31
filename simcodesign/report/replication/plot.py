"""Replications as a plot: how the mean and its interval settle, and the mean of every component."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.report.common import plot_style
from simcodesign.report.replication.quantities import QUANTITIES
from simcodesign.studies.replication.observations import MAKESPAN, RESPONSE
from simcodesign.studies.replication.output_analysis import Interval, interval
from simcodesign.studies.replication.replicate import Replicated


def replications_plot(replicated: Replicated, path: str | Path) -> None:
    """Left: what each replication took, with the mean of those so far and its interval. Right: components.

    Raises InputError for fewer than two replications, a path that cannot be written, and without Matplotlib.
    """
    if replicated.count < 2:
        raise InputError("there is nothing to plot", value=f"{replicated.count} run", allowed="2 or more replications")
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 9.5, 4.0)
        first = replicated.first
        title = (
            f"{first.workload} on {first.machine}, P = {float(first.values['P']):g}: {replicated.count} replications"
        )
        title += f", {100 * replicated.level:g} % confidence intervals"
        figure.suptitle(plot_style.wrapped(title, 9.0, 11), x=0.01, ha="left")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        key = _plotted_quantity(replicated)
        _settling(mpl, left, replicated.column(key), replicated.level, plot_style.OKABE_ITO[0])
        left.set_title(
            plot_style.wrapped(f"{QUANTITIES[key][0]}: each replication, the mean so far, its interval", 5.0)
        )
        _components(mpl, right, replicated)
        right.set_title("along the critical path")
        plot_style.save(figure, path)


def running(values: NDArray[np.float64], level: float) -> list[Interval]:
    """Return the intervals of the first 2, 3, ... values."""
    return [interval(values[:count], level) for count in range(2, len(values) + 1)]


def _plotted_quantity(replicated: Replicated) -> tuple[str, ...]:
    """Return the quantity that it is judged by, if it belongs to the whole run."""
    key = replicated.stopping.of
    if key in QUANTITIES and QUANTITIES[key][1] == "s":
        return key
    return RESPONSE if RESPONSE in replicated.keys else MAKESPAN


def _settling(mpl: Any, axis: Any, values: NDArray[np.float64], level: float, colour: str) -> None:
    numbers = np.arange(1, len(values) + 1)
    intervals = running(values, level)
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


def _components(mpl: Any, axis: Any, replicated: Replicated) -> None:
    """Means with intervals, side by side."""
    every = {part: replicated.interval("components_s", part) for part in COMPONENTS}
    shown = {part: one for part, one in every.items() if one.mean}
    means = np.array([one.mean for one in shown.values()])
    halves = np.array([one.half_width for one in shown.values()])
    look = {"color": plot_style.OKABE_ITO[0], "ecolor": plot_style.DARK, "capsize": 3}
    axis.bar(np.arange(len(shown)), means, 0.72, yerr=halves, **look)
    highest = float((means + halves).max(initial=0.0))
    axis.set_xticks(np.arange(len(shown)), list(shown))
    axis.set_ylim(0, 1.1 * highest or 1.0)
    plot_style.time_axis(mpl, axis.yaxis, highest)

"""Power over time of a simulation as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import PowerProfile
from simcodesign.core.units import format_quantity
from simcodesign.report.common import plot_style

#: So many steps are plotted one by one; of more, the mean and the maximum of each of equal spans.
MOST_STEPS = 2000
#: Rounding error of sums of floating-point numbers.
_DUST = 1e-9


def power_over_time(result: Result, path: str | Path) -> None:
    """Power of the whole machine at every moment of a simulation, over its static power.

    Raises InputError for a result without power over time, a path that cannot be written, and without Matplotlib.
    """
    profile = result.power_profile
    if profile is None or not len(profile.watts):
        allowed = "a simulation on a machine with stated powers"
        raise InputError("there is no power over time", value=result.machine, allowed=allowed)
    edges_s, mean_w, most_w = spans(profile, MOST_STEPS)
    static_w = float(result.static_power_w or 0.0)
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 9.0, 4.2)
        energy = format_quantity(float(result.energy_j or 0.0), "energy")
        title = f"{plot_style.headings([result])[0]}: {energy}, at most {format_quantity(profile.peak_w, 'power')}"
        figure.suptitle(plot_style.wrapped(title, 8.5, 11), x=0.01, ha="left")
        axis = figure.subplots()
        _draw(axis, edges_s, mean_w, most_w, static_w)
        _power_axis(axis, float(most_w.max()))
        axis.set_xlim(-0.01 * edges_s[-1], 1.01 * edges_s[-1])
        plot_style.time_axis(mpl, axis.xaxis, float(edges_s[-1]))
        entries: dict[str, dict[str, Any]] = {"static power": {"facecolor": plot_style.GREY}} if static_w else {}
        entries["dynamic power"] = {"facecolor": plot_style.OKABE_ITO[0]}
        if _varies(mean_w, most_w):
            entries["most within a span"] = {"facecolor": plot_style.paler(mpl, plot_style.OKABE_ITO[0])}
        plot_style.legend(mpl, figure, entries)
        plot_style.save(figure, path)


def spans(profile: PowerProfile, most: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Edges, mean and highest power of the steps, or of ``most`` equal spans if there are more steps."""
    if len(profile.watts) <= most:
        return profile.edges_s, profile.watts, profile.watts
    edges = np.linspace(0.0, float(profile.edges_s[-1]), most + 1)
    energy = np.concatenate([[0.0], np.cumsum(profile.watts * np.diff(profile.edges_s))])
    mean = np.diff(np.interp(edges, profile.edges_s, energy)) / np.diff(edges)
    first = np.clip(np.searchsorted(profile.edges_s, edges[:-1], side="right") - 1, 0, len(profile.watts) - 1)
    last = np.clip(np.searchsorted(profile.edges_s, edges[1:], side="left"), first + 1, len(profile.watts))
    most_w = np.array([profile.watts[low:high].max() for low, high in zip(first, last, strict=True)])
    return edges, mean, np.maximum(most_w, mean)


def _varies(mean_w: NDArray[np.float64], most_w: NDArray[np.float64]) -> bool:
    """Whether the power changes within spans, and not by rounding alone."""
    return bool(np.any(most_w > mean_w * (1 + _DUST)))


def _draw(
    axis: Any, edges_s: NDArray[np.float64], mean_w: NDArray[np.float64], most_w: NDArray[np.float64], static_w: float
) -> None:
    if _varies(mean_w, most_w):
        axis.stairs(most_w, edges_s, baseline=mean_w, fill=True, facecolor=plot_style.OKABE_ITO[0], alpha=0.35)
    axis.stairs(mean_w, edges_s, baseline=static_w, fill=True, facecolor=plot_style.OKABE_ITO[0])
    axis.stairs(np.full(len(mean_w), static_w), edges_s, fill=True, facecolor=plot_style.GREY)


def _power_axis(axis: Any, most_w: float) -> None:
    """Ticks with a unit, and room above the curve."""
    plot_style.label_ticks(axis.yaxis, lambda value, digits: format_quantity(value, "power", digits), 4)
    axis.set(ylabel="power of the whole machine", ylim=(0, 1.15 * most_w or 1.0))

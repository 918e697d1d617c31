"""Fitted models as a page of small plots: what was measured, the model, its band, and the target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.fitting.fit import Fit
from simcodesign.fitting.measurements import point_text
from simcodesign.fitting.readers.tidy_table import DEFAULT
from simcodesign.report.common import plot_style
from simcodesign.report.fits.tables import Digest, Heading, MetricDigest

#: Series on a page.
MOST_SERIES = 12
#: Number of panels in a row.
_ACROSS = 4
#: Points of a curve.
_POINTS = 40
#: Largest over smallest from which on an axis is logarithmic.
_DECADE = 10.0
_MEASURED, _MODEL, _TARGET = plot_style.MEASURED, plot_style.OKABE_ITO[0], plot_style.OKABE_ITO[5]

Numbers = NDArray[np.float64]


def fits_plot(digest: Digest, heading: Heading, path: str | Path) -> int:
    """Draw the series of the tables, at most ``MOST_SERIES``; returns how many were plotted.

    Each has one panel for each parameter; the others are at their largest measured value, if there are such points.
    """
    series = [(metric, one) for metric, of_metric in digest.by_metric.items() for one in _kept(of_metric)]
    shown = series[:MOST_SERIES]
    axes_each = len(heading.parameters)
    across = max(1, min(len(shown), _ACROSS // axes_each))
    down = -(-len(shown) // across)
    width, height = max(3.1 * across * axes_each, 4.6), 2.7 * down + 0.9
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, width, height)
        parts = figure.subfigures(down, across, squeeze=False).ravel()
        for part, (metric, (fit, values)) in zip(parts, shown, strict=False):
            title = plot_style.wrapped(f"{fit.region or metric}\n{fit.model.text}", width / across - 0.5)
            part.suptitle(title, x=0.02, ha="left", fontsize=9)
            for axis, axes in enumerate(part.subplots(1, axes_each, squeeze=False)[0]):
                draw_fit(mpl, axes, heading, axis, metric, fit, values)
        title = plot_style.wrapped(_title(heading, len(shown), digest.series), width - 0.4, 11)
        figure.suptitle(title, x=0.01, ha="left")
        handles = fit_handles(mpl, heading)
        letters = sum(len(handle.get_label()) + 6 for handle in handles)
        wide = figure.get_figwidth() > 0.075 * letters  # inches of a letter of the legend
        figure.legend(handles=handles, loc="outside lower left", ncols=5 if wide else 2)
        plot_style.save(figure, path)
    return len(shown)


def _kept(digest: MetricDigest) -> list[tuple[Fit, Numbers]]:
    """Return the fits of a table, each with its measured values (K, R)."""
    return [(fits[0], fits.measurements.values[0]) for fits in digest.ordered]


def _title(heading: Heading, shown: int, series: int) -> str:
    count = "Models of measurements" if shown == series else f"Models of {shown} of {series:,} series"
    return f"{count}, continued to {heading.at}"


def draw_fit(mpl: Any, axes: Any, heading: Heading, axis: int, metric: str, fit: Fit, values: Numbers) -> None:
    """Draw what was measured, the model and its band over one parameter, the others at their largest values."""
    points = fit.family.points
    there = np.isfinite(values).any(1)
    others = _corner(points[there], axis)
    slice_ = there & (np.delete(points, axis, 1) == np.delete(others, axis)).all(1)
    end = float(heading.target[axis])
    x = _grid(points[there, axis], end)
    at = np.tile(others, (len(x), 1))
    at[:, axis] = x
    predictions = [fit.predict(point, heading.level) for point in at]
    low, high = (np.array([getattr(one, name) for one in predictions]) for name in ("low", "high"))
    axes.fill_between(x, low, high, color=_MODEL, alpha=0.18, linewidth=0)
    axes.plot(x, fit.model.evaluate(at), color=_MODEL, linewidth=1.2)
    measured = values[slice_]
    axes.plot(
        np.repeat(points[slice_, axis], values.shape[1]), measured.ravel(), ".", color=plot_style.GREY, markersize=4
    )
    counts = np.isfinite(measured).sum(1)
    means = np.nansum(measured, 1) / np.maximum(counts, 1)
    axes.plot(points[slice_, axis], means, "o", color=_MEASURED, markersize=4, markerfacecolor="none")
    goal = [float(others[k]) for k in range(len(others))]
    goal[axis] = end
    _mark_target(axes, fit, goal, axis, heading.level)
    _scales(mpl, axes, x, [*means.tolist(), *(one.value for one in predictions)])
    rest = [k for k in range(len(others)) if k != axis]
    where = point_text([heading.parameters[k] for k in rest], [others[k] for k in rest])
    axes.set_xlabel(plot_style.plain(heading.parameters[axis]) + (f"   ({plot_style.plain(where)})" if where else ""))
    axes.set_ylabel("value" if metric in ("", DEFAULT) else plot_style.plain(metric))


def _corner(points: Numbers, axis: int) -> Numbers:
    """Return a point with the other parameters at their largest.

    If that is one point at most, as most points have them.
    """
    others = np.delete(points, axis, 1)
    kinds, counts = np.unique(others, axis=0, return_counts=True)
    at = np.flatnonzero((kinds == others.max(0)).all(1) & (counts > 1))
    chosen = kinds[at[0]] if len(at) else kinds[len(counts) - 1 - int(np.argmax(counts[::-1]))]
    return np.insert(chosen, axis, points[:, axis].max())


def _grid(measured: Numbers, end: float) -> Numbers:
    low, high = min(float(measured.min()), end), max(float(measured.max()), end)
    if low == high:
        low, high = low / 2, high * 2
    made = np.geomspace(low, high, _POINTS) if high >= _DECADE * low else np.linspace(low, high, _POINTS)
    return np.unique(np.concatenate([made[1:-1], [low, high]]))


def _mark_target(axes: Any, fit: Fit, point: Sequence[float], axis: int, level: float) -> None:
    prediction = fit.predict(point, level)
    if np.isfinite([prediction.low, prediction.high]).all():
        below, above = max(prediction.value - prediction.low, 0.0), max(prediction.high - prediction.value, 0.0)
        axes.errorbar([point[axis]], [prediction.value], [[below], [above]], color=_TARGET, capsize=2.5, linewidth=1)
    axes.plot([point[axis]], [prediction.value], "D", color=_TARGET, markersize=4)


def _scales(mpl: Any, axes: Any, x: Numbers, y: Sequence[float]) -> None:
    """Logarithmic where values span a decade."""
    if x[-1] >= _DECADE * x[0]:
        axes.set_xscale("log", base=2 if x[-1] <= 2.0**20 * x[0] else 10)
    values = np.array([value for value in y if np.isfinite(value)])
    if len(values) and values.min() > 0 and values.max() >= _DECADE * values.min():
        axes.set_yscale("log")
        axes.set_ylim(values.min() / 1.6, None)
        plot_style.log_ticks(mpl, axes.yaxis)


def fit_handles(mpl: Any, heading: Heading) -> list[Any]:
    """Return the handles of the legend."""
    line = mpl.lines.Line2D
    target = "target" if len(heading.parameters) == 1 else "at the target's value of this parameter"
    return [
        line([], [], marker=".", color=plot_style.GREY, linestyle="", label="repetitions"),
        line([], [], marker="o", color=_MEASURED, markerfacecolor="none", linestyle="", label="mean"),
        line([], [], color=_MODEL, label="model"),
        mpl.patches.Patch(color=_MODEL, alpha=0.18, label=f"{heading.level * 100:.6g} % prediction interval"),
        line([], [], marker="D", color=_TARGET, linestyle="", label=target),
    ]

"""Measured and predicted times over the number of processes.

With the two models that use total times only, and where the time goes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.core.errors import InputError
from simcodesign.counters.fit_and_predict import CounterPredictions, TargetPrediction
from simcodesign.counters.models import ApplicationModel, Breakdown
from simcodesign.counters.prediction import EMPIRICAL, predict
from simcodesign.counters.runs import STRONG, run_times
from simcodesign.report.common import plot_style

PARTS = ("computation", "memory stalls", "point-to-point", "collective", "others")
COLOURS = dict(zip(PARTS, plot_style.OKABE_ITO, strict=False))
#: Points of a curve.
_POINTS = 40
#: Largest over smallest from which on an axis is logarithmic, and components are plotted as shares.
_DECADE = 10.0
_HATCH = "////"


@dataclass(frozen=True)
class Bar:
    """The parts of a run in s, in the order of ``PARTS``, and the label below it."""

    label: str
    parts: tuple[float, ...]
    measured: bool


def counters_plot(study: CounterPredictions, path: str | Path) -> None:
    """Draw a study: total times above, the parts of every run and prediction below. InputError as ``styled``."""
    bars = [*measured_bars(study.model), *map(predicted_bar, study.forecasts)]
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, max(6.4, 0.62 * len(bars) + 1.5), 6.6)
        above, below = figure.subplots(2, 1, height_ratios=(3, 2))
        figure.suptitle("Measured, and predicted from hardware counters", x=0.01, ha="left")
        _totals(mpl, above, study)
        _parts(mpl, below, bars)
        entries: dict[str, dict[str, Any]] = {
            name: {"facecolor": COLOURS[name]}
            for place, name in enumerate(PARTS)
            if any(bar.parts[place] > 0 for bar in bars)
        }
        predicted = {"facecolor": "white", "edgecolor": plot_style.DARK, "hatch": _HATCH}
        plot_style.legend(mpl, figure, {**entries, "predicted": predicted})
        plot_style.save(figure, path)


def measured_bars(model: ApplicationModel) -> list[Bar]:
    """Return the parts of the runs that were fitted; waits as they show in the time."""
    runs, bars = model.runs, []
    times = run_times(runs, model.scaling)
    waits = times.p2p_s + times.collective_s
    exposed = np.maximum(times.total_s - times.others_s - times.compute_s, 0.0)
    factor = np.where(waits > 0, exposed / np.where(waits > 0, waits, 1.0), 0.0)
    stall = runs.stall_s
    for place, P in enumerate(times.processes.tolist()):
        stalls = float(np.nansum(stall[runs.column("processes") == P]))
        seconds = (
            max(float(times.compute_s[place]) - stalls, 0.0),
            stalls,
            float(factor[place] * times.p2p_s[place]),
            float(factor[place] * times.collective_s[place]),
            float(times.others_s[place]),
        )
        bars.append(Bar(f"{P:g}", seconds, True))
    return bars


def predicted_bar(forecast: TargetPrediction) -> Bar:
    """Return the parts of a prediction."""
    breakdown = forecast.prediction.breakdown
    size = "" if forecast.target.size is None else f"\nsize {forecast.target.size:g}"
    return Bar(f"{breakdown.processes:g}{size}", breakdown_parts(breakdown), False)


def breakdown_parts(breakdown: Breakdown) -> tuple[float, ...]:
    """In the order of ``PARTS``."""
    factor = breakdown.blocking_factor
    return (
        breakdown.compute_s,
        breakdown.memory_s,
        factor * breakdown.p2p_s,
        factor * breakdown.collective_s,
        breakdown.others_s,
    )


def _totals(mpl: Any, axes: Any, study: CounterPredictions) -> None:
    model = study.model
    times = run_times(model.runs, model.scaling)
    everything = [*times.total_s.tolist()]
    axes.plot(times.processes, times.total_s, "o", color=plot_style.DARK, label="measured", zorder=4)
    sizes = list(dict.fromkeys(forecast.target.size for forecast in study.forecasts))
    if all(size is not None and not _profiled(model, size) for size in sizes):
        sizes.append(None)
    ends = [*times.processes.tolist(), *(forecast.target.processes for forecast in study.forecasts)]
    grid = _grid(min(ends), max(ends))
    for place, size in enumerate(sizes):
        colour = plot_style.OKABE_ITO[(0, 5, 2, 3)[place % 4]]
        curve, rivals = _curves(study, grid, size)
        label = "counters" if size is None or _profiled(model, size) else f"counters, size {size:g}"
        axes.plot(grid, curve, color=colour, label=label)
        for (name, line), style in zip(rivals.items(), ("--", ":"), strict=False):
            if place and name == EMPIRICAL:
                continue  # it has no size
            axes.plot(grid, line, style, color=colour, linewidth=1, label=f"T = {name}" if not place else None)
            everything += line
        everything += curve
    for forecast in study.forecasts:
        at, seconds = forecast.target.processes, forecast.prediction.seconds
        axes.plot(
            [at],
            [seconds],
            "D",
            color=plot_style.OKABE_ITO[1],
            markeredgecolor=plot_style.DARK,
            zorder=5,
            label=None if forecast is not study.forecasts[0] else "predicted",
        )
        everything.append(seconds)
    _held(axes, study.forecasts, everything)
    _scales(mpl, axes, ends, everything)
    axes.legend(loc="best")
    axes.set_ylabel("time (s)")


def _held(axes: Any, forecasts: Sequence[TargetPrediction], everything: list[float]) -> None:
    """Draw runs that were held back."""
    runs = [(one.target.processes, one.measured.total_s) for one in forecasts if one.measured]
    if runs:
        axes.plot(
            *zip(*runs, strict=True),
            "o",
            color=plot_style.DARK,
            markerfacecolor="none",
            markersize=9,
            zorder=6,
            linestyle="",
            label="measured, not fitted",
        )
        everything += [seconds for _, seconds in runs]


def _profiled(model: ApplicationModel, size: float) -> bool:
    return model.scaling.kind == STRONG and size == model.scaling.size


def _curves(
    study: CounterPredictions, grid: Sequence[float], size: float | None
) -> tuple[list[float], Mapping[str, list[float]]]:
    """Return times along the grid by the models and by the two others; NaN where the models cannot be extended."""
    ratio = next((one.prediction.volume_ratio for one in study.forecasts if one.target.size == size), None)
    curve: list[float] = []
    rivals: dict[str, list[float]] = {}
    for P in grid:
        try:
            prediction = predict(study.model, P, size, volume=ratio, guard=None)
            curve.append(prediction.seconds)
            rival = prediction.baselines
        except InputError:
            curve.append(math.nan)
            rival = {}
        for name in rival or rivals:
            rivals.setdefault(name, []).append(rival.get(name, math.nan))
    return curve, {name: line for name, line in rivals.items() if len(line) == len(curve)}


def _grid(low: float, high: float) -> list[float]:
    if low == high:
        return [low]
    spaced = np.geomspace if high >= _DECADE * low else np.linspace
    inner = spaced(low, high, _POINTS)[1:-1]
    return [low, *inner.tolist(), high]


def _scales(mpl: Any, axes: Any, processes: Sequence[float], seconds: Sequence[float]) -> None:
    """Logarithmic where values span a decade; the axis of P is labelled with whole numbers."""
    if max(processes) >= _DECADE * min(processes):
        axes.set_xscale("log", base=2)
    else:
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(8, integer=True))
    axes.set_xlabel("processes P")
    axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    positive = [value for value in seconds if math.isfinite(value) and value > 0]
    if positive and max(positive) >= _DECADE * min(positive):
        axes.set_yscale("log")
        plot_style.log_ticks(mpl, axes.yaxis)
    else:
        axes.set_ylim(0, None)
        axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))


def _parts(mpl: Any, axes: Any, bars: Sequence[Bar]) -> None:
    """Stacked seconds, or shares where the times span a decade."""
    totals = [sum(bar.parts) for bar in bars]
    shares = max(totals) >= _DECADE * min(totals)
    for place, bar in enumerate(bars):
        scale = 100.0 / totals[place] if shares and totals[place] else 1.0
        bottom = 0.0
        for name, seconds in zip(PARTS, bar.parts, strict=True):
            look = {} if bar.measured else {"hatch": _HATCH, "edgecolor": "white"}
            axes.bar(place, scale * seconds, 0.7, bottom=bottom, color=COLOURS[name], linewidth=0, **look)
            bottom += scale * seconds
        if shares:
            text = plot_style.seconds_text(totals[place])
            axes.annotate(text, (place, 100), (0, 2), textcoords="offset points", ha="center", fontsize=7)
    axes.set_xticks(range(len(bars)), [bar.label for bar in bars])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("processes P")
    if shares:
        axes.set_ylabel("share of the time (%)")
        axes.set_ylim(0, 108)
    else:
        plot_style.time_axis(mpl, axes.yaxis, max(totals))

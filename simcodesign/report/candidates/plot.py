"""Plots of candidates side by side: lines over an axis, or bars with their ladders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.comparison.attribution import UNEXPLAINED, relative_error
from simcodesign.core.errors import InputError
from simcodesign.report.candidates.names import label, title_of
from simcodesign.report.candidates.over_plot import WIDE, draw_times, plot_over_axis
from simcodesign.report.candidates.series import COLOURS, FORECAST, MEASURED, SIMULATED, Series, measured_s, series_of
from simcodesign.report.common import plot_style
from simcodesign.report.results.ladder_rows import effects_shown, not_here
from simcodesign.studies.candidates.several import Candidate, SeveralComparisons

#: Ladders side by side in one row.
_IN_A_ROW = 4
#: The look of a replication.
_POINTS: dict[str, Any] = {
    "linestyle": "",
    "marker": "o",
    "markersize": 3,
    "color": plot_style.DARK,
    "alpha": 0.45,
    "markeredgewidth": 0,
}


def several_plot(several: SeveralComparisons, path: str | Path, why: bool = False) -> None:
    """Over an axis: times of both readings, formulas and measurements, and what they are of the simulated time.

    With ``why`` also what each effect adds at each value. Otherwise bars of both readings, the times of replications,
    and below them the ladders, on one scale of time if that shows all of them.

    Raises InputError for a path that cannot be written, and when Matplotlib is missing.
    """
    with plot_style.styled(path) as mpl:
        figure = plot_over_axis(mpl, several, why) if several.axis else _side_by_side(mpl, several)
        plot_style.save(figure, path)


def draw_several(mpl: Any, axis: Any, several: SeveralComparisons) -> dict[str, dict[str, Any]]:
    """Draw the times of both readings, formulas and measurements: over the axis, or else as bars.

    Return what the colours mean where the picture does not say it.
    """
    if several.axis:
        return draw_times(mpl, axis, several)
    _bars(mpl, axis, several, [*series_of(several)], points=True)
    return {}


def _side_by_side(mpl: Any, several: SeveralComparisons) -> Any:
    """Bars of both readings of all candidates, and their ladders in rows below."""
    candidates = several.comparisons
    down = -(-len(candidates) // _IN_A_ROW)
    across = min(len(candidates), _IN_A_ROW)
    effects = effects_shown([one.comparison for one in candidates])
    series = [*series_of(several)]
    measured = MEASURED in [each.name for each in series]
    rows = len(effects) + (4 if measured else 2)
    replicated = any(one.replicated is not None for one in candidates)
    heights = [0.9 + 0.21 * len(series) * len(candidates), *[0.9 + 0.45 * len(candidates)] * replicated]
    heights = [*heights, (0.9 + 0.24 * rows) * down]
    figure = plot_style.new_figure(mpl, 10.0, sum(heights) + 1.0)
    ranks = {float(one.comparison.forecast.values["P"]) for one in candidates}
    same = f", P = {ranks.pop():,.0f}" if len(ranks) == 1 else ""
    plot_style.set_title(figure, f"{title_of(several)}{same}")
    parts = figure.subfigures(len(heights), 1, height_ratios=heights)
    _bars(mpl, parts[0].subplots(), several, series)
    if replicated:
        panel = parts[1].subplots()
        entries = draw_replications(mpl, panel, several)
        panel.set_title("simulated: each replication")
        panel.legend(handles=plot_style.handles_of(mpl, entries), loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    panels = parts[-1].subplots(down, across, squeeze=False, sharey=True, sharex=_on_one_scale(candidates))
    for panel, one in zip(panels.flat, candidates, strict=False):
        _ladder(mpl, panel, one, effects, measured)
        panel.set_title(plot_style.wrapped(label(one, several), 8.0 / across))
        panel.tick_params(labelbottom=True)
    for panel in panels.flat[len(candidates) :]:
        panel.set_visible(False)
    own = "" if _on_one_scale(candidates) else "Each ladder has a scale of its own. "
    if absent := own + not_here([one.comparison for one in candidates]):
        figure.supxlabel(plot_style.wrapped(absent, 9.5, 7), x=0.01, ha="left", fontsize=7, color=plot_style.DARK)
    return figure


def _on_one_scale(candidates: Sequence[Candidate]) -> bool:
    """Whether the ladders of all can be seen on one scale."""
    longest = [float(np.nanmax([one.forecast_s, one.simulated.mean, measured_s(one)])) for one in candidates]
    return max(longest) <= WIDE * min(longest)


def _bars(mpl: Any, axis: Any, several: SeveralComparisons, series: Sequence[Series], points: bool = False) -> None:
    """Draw a bar for each column of each candidate, with its interval or spread if known.

    ``points``: and a point for each replication.
    """
    candidates = several.comparisons
    longest, high = 0.0, 0.8 / len(series)
    for place, one in enumerate(candidates):
        for number, each in enumerate(series):
            at, time_s = place + (number - (len(series) - 1) / 2) * high, each.time_s(one)
            if not np.isfinite(time_s):
                continue
            axis.barh(at, time_s, height=0.9 * high, facecolor=each.colour)
            ends = each.ends_s(one) if each.ends_s else (np.nan, np.nan)
            known = bool(np.isfinite(ends).all()) and ends[1] > ends[0]
            if known:
                look = {"color": plot_style.GREY if each.name == MEASURED else plot_style.DARK}
                axis.plot(ends, [at] * 2, "|-", linewidth=1.3, markersize=7, **look)
            end_s = ends[1] if known else time_s
            if points and each.name == SIMULATED and one.replicated is not None:
                _replications(axis, one, at, high)
                end_s = max(end_s, float(np.max(one.times_s)))
            text = plot_style.seconds_text(time_s) + _error_text(one, each.name)
            axis.annotate(text, (end_s, at), (4, 0), textcoords="offset points", va="center", fontsize=8)
            longest = max(longest, end_s)
    axis.set_yticks(range(len(candidates)), [plot_style.wrapped(label(one, several), 2.2) for one in candidates])
    axis.set_ylim(len(candidates) - 0.5, -0.5)
    axis.set_xlim(0, 1.3 * longest or 1.0)
    plot_style.time_axis(mpl, axis.xaxis, longest)
    handles = [mpl.patches.Patch(facecolor=each.colour, label=plot_style.plain(each.name)) for each in series]
    axis.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(handles))


def _replications(axis: Any, one: Candidate, at: float, high: float) -> None:
    """Draw a point for the time of each replication, spread over the bar in the order of replications."""
    times_s = one.times_s
    spread = np.linspace(-0.3, 0.3, len(times_s)) * high if len(times_s) > 1 else np.zeros(1)
    axis.plot(times_s, at + spread, **_POINTS)


def draw_replications(mpl: Any, axis: Any, several: SeveralComparisons) -> dict[str, dict[str, Any]]:
    """Draw the simulated times of all replications for each machine, with means and their intervals.

    Return what the marks mean. InputError without replications.
    """
    found = [one for one in several.comparisons if one.replicated is not None]
    if several.axis or not found:
        allowed = "several machines with replications=N, on which something is random, without an axis"
        raise InputError("a comparison without replications", allowed=allowed)
    colour = COLOURS[SIMULATED]
    for place, one in enumerate(several.comparisons):
        mean = one.simulated
        _replications(axis, one, place, 0.8)
        axis.plot([mean.mean], [place], "D", color=colour, markersize=6, zorder=3)
        if mean.high > mean.low:
            axis.plot([mean.low, mean.high], [place] * 2, "|-", color=colour, linewidth=2.2, markersize=12, zorder=3)
    axis.set_yticks(
        range(len(several.comparisons)), [plot_style.wrapped(label(one, several), 2.2) for one in several.comparisons]
    )
    axis.set_ylim(len(several.comparisons) - 0.5, -0.5)
    plot_style.time_axis(mpl, axis.xaxis, max(float(np.max(one.times_s)) for one in several.comparisons))
    interval = f"mean and its {100 * found[0].replicated.level:g} % interval"  # type: ignore[union-attr] # above
    return {"a replication": _POINTS, interval: {"marker": "D", "color": colour, "linestyle": "-"}}


def _error_text(one: Candidate, name: str) -> str:
    """How far the forecast is from the simulation, and the simulation from what was measured."""
    known = {SIMULATED: (FORECAST, one.error)}
    if one.measured is not None:
        known[MEASURED] = (SIMULATED, relative_error(one.simulated.mean, float(one.measured)))
    what, error = known.get(name, ("", np.nan))
    return f" ({what} {error:+z.1%})".replace("-", "\N{MINUS SIGN}") if np.isfinite(error) else ""


def _ladder(mpl: Any, axis: Any, one: Candidate, effects: Sequence[str], measured: bool) -> None:
    """From the forecast down to the simulation, a step for each effect, and on to what was measured of any."""
    steps = {step.step: step for step in one.steps}
    at_s = one.forecast_s
    names = [FORECAST, *effects, SIMULATED, *([UNEXPLAINED, MEASURED] if measured else [])]
    ends_s = {FORECAST: at_s, SIMULATED: one.simulated.mean, MEASURED: measured_s(one)}
    for place, name in enumerate(names):
        if (end_s := ends_s.get(name)) is not None:
            text = plot_style.seconds_text(end_s) if np.isfinite(end_s) else "\N{EN DASH}"
            _step(axis, place, 0.0, end_s, text, facecolor=COLOURS[name])
            continue
        change_s = steps[name].change_s if name in steps else 0.0
        sign = "+" if change_s > 0 else "\N{MINUS SIGN}"
        text = f"{sign}{plot_style.seconds_text(abs(change_s))}" if change_s else "0"
        look = plot_style.NOT_EXPLAINED if name == UNEXPLAINED else plot_style.step_look(change_s)
        _step(axis, place, at_s, at_s + change_s, text if name in steps else "\N{EN DASH}", **look)
        at_s += change_s
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    longest = max(time_s for time_s in ends_s.values() if np.isfinite(time_s))
    axis.set_xlim(0, max(axis.get_xlim()[1], 1.45 * longest))
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3))
    plot_style.time_axis(mpl, axis.xaxis, longest)


def _step(axis: Any, place: int, begin_s: float, end_s: float, text: str, **look: Any) -> None:
    axis.barh(place, np.nan_to_num(end_s - begin_s), left=begin_s, height=0.7, **look)
    at = (float(np.nanmax([begin_s, end_s])), place)
    axis.annotate(text, at, (3, 0), textcoords="offset points", va="center", fontsize=7)

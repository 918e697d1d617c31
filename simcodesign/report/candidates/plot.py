"""Plots of candidates side by side: lines over an axis, or bars with their ladders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.comparison.attribution import ROUNDING
from simcodesign.report.candidates.tables import label, title_of
from simcodesign.report.common import plot_style
from simcodesign.report.results.ladder_rows import effects_shown, not_here
from simcodesign.studies.candidates.several import Candidate, SeveralComparisons

#: Times and axes whose ends are further apart than this factor have a logarithmic scale.
_WIDE = 8.0
#: Ladders side by side in one row.
_IN_A_ROW = 4
FORECAST, SIMULATED, MORE, LESS = "#E69F00", "#0072B2", "#D55E00", "#56B4E9"


def several_plot(several: SeveralComparisons, path: str | Path) -> None:
    """Over an axis: times of both readings, and their ratio, a colour for each candidate. Else bars of both readings,
    and below them the ladders, on one scale of time where that shows all of them.

    Raises InputError for a path that cannot be written, and when Matplotlib is missing.
    """
    with plot_style.styled(path) as mpl:
        figure = _over_axis(mpl, several) if several.axis else _side_by_side(mpl, several)
        plot_style.save(figure, path)


def _title(figure: Any, text: str, width: float) -> None:
    figure.suptitle(plot_style.wrapped(text, width - 0.5, 11), x=0.01, ha="left")


def _over_axis(mpl: Any, several: SeveralComparisons) -> Any:
    """Times and ratios over the axis, a line for each workload on each machine."""
    figure = plot_style.new_figure(mpl, 10.0, 4.4)
    common = "" if len(several.workloads) > 1 else several.workloads[0]
    where = "" if len(several.machines) > 1 else f" on {several.machines[0]}"
    what = f"{common}{where}: " if common or where else ""
    title = f"{what}forecast and simulation over {several.axis}"
    _title(figure, title if what else title[0].upper() + title[1:], 10.0)
    times, ratios = figure.subplots(1, 2)
    lines: dict[str, list[Candidate]] = {}
    for one in several.candidates:
        lines.setdefault(label(one, several), []).append(one)
    colours = plot_style.phase_colours(mpl, len(lines))
    for colour, (name, line) in zip(colours, lines.items(), strict=True):
        x = [one.at[several.axis] for one in line]
        means = np.array([one.simulated.mean for one in line])
        ends = np.array([[one.simulated.low, one.simulated.high] for one in line]).T
        times.plot(x, [one.forecast_s for one in line], "--", color=colour, linewidth=1.2)
        times.plot(x, means, "o-", color=colour, markersize=3.5, linewidth=1.4, label=plot_style.plain(name))
        known = np.isfinite(ends).all(axis=0) & (ends[1] > ends[0])
        times.vlines(np.array(x)[known], *ends[:, known], color=colour, linewidth=1.2)
        for end in ends:  # wider than the points, so that a narrow interval is seen
            times.scatter(np.array(x)[known], end[known], marker="_", s=80, color=colour)
        ratios.plot(x, [one.forecast_s / one.simulated.mean for one in line], "o-", color=colour, markersize=3.5)
    _axes_over(mpl, several, times, ratios)
    look = {"color": plot_style.DARK, "linewidth": 1.2}
    times.plot([], [], "o-", markersize=3.5, label="simulated", **look)
    times.plot([], [], "--", label="forecast", **look)
    figure.legend(*times.get_legend_handles_labels(), loc="outside lower left", ncols=min(len(lines) + 2, 4))
    return figure


def _axes_over(mpl: Any, several: SeveralComparisons, times: Any, ratios: Any) -> None:
    """Scales, ticks and labels of both panels."""
    values = sorted({one.at[several.axis] for one in several.candidates})
    seconds = [time for one in several.candidates for time in (one.forecast_s, one.simulated.mean)]
    for panel in (times, ratios):
        if values[0] > 0 and values[-1] > _WIDE * values[0]:
            panel.set_xscale("log")
        step = -(-len(values) // 8)
        panel.set_xticks(values[::step], [f"{value:,.6g}" for value in values[::step]])
        panel.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        panel.set_xlabel("P (ranks)" if several.axis == "P" else plot_style.plain(several.axis))
    if min(seconds) > 0 and max(seconds) > _WIDE * min(seconds):
        times.set_yscale("log")
        times.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: plot_style.seconds_text(value)))
        times.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        times.set_ylabel("time")
    else:
        times.set_ylim(bottom=0)
        plot_style.time_axis(mpl, times.yaxis, max(seconds))
    times.set_title("time")
    ratios.set_title("forecast / simulated (below 1: the forecast is too low)")
    plot_style.ratio_axis(mpl, ratios)


def _side_by_side(mpl: Any, several: SeveralComparisons) -> Any:
    """Bars of both readings of all candidates, and their ladders in rows below."""
    candidates = several.candidates
    down = -(-len(candidates) // _IN_A_ROW)
    across = min(len(candidates), _IN_A_ROW)
    effects = effects_shown([one.comparison for one in candidates])
    heights = [0.9 + 0.42 * len(candidates), *[0.9 + 0.24 * (len(effects) + 2)] * down]
    figure = plot_style.new_figure(mpl, 10.0, sum(heights) + 1.0)
    ranks = {float(one.comparison.forecast.values["P"]) for one in candidates}
    same = f", P = {ranks.pop():,.0f}" if len(ranks) == 1 else ""
    _title(figure, f"{title_of(several)}{same}", 10.0)
    parts = figure.subfigures(2, 1, height_ratios=[heights[0], sum(heights[1:])])
    _bars(mpl, parts[0].subplots(), several)
    panels = parts[1].subplots(down, across, squeeze=False, sharey=True, sharex=_on_one_scale(candidates))
    for panel, one in zip(panels.flat, candidates, strict=False):
        _ladder(mpl, panel, one, effects)
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
    longest = [max(one.forecast_s, one.simulated.mean) for one in candidates]
    return max(longest) <= _WIDE * min(longest)


def _bars(mpl: Any, axis: Any, several: SeveralComparisons) -> None:
    """The forecast above the simulation of each candidate, with the interval where that is known."""
    candidates = several.candidates
    longest = 0.0
    for place, one in enumerate(candidates):
        sides = ((-0.2, one.forecast_s, FORECAST, ""), (0.2, one.simulated.mean, SIMULATED, _error_text(one)))
        for shift, time_s, colour, more in sides:
            axis.barh(place + shift, time_s, height=0.36, facecolor=colour)
            end_s = max(time_s, one.simulated.high if shift > 0 and np.isfinite(one.simulated.high) else 0.0)
            text = plot_style.seconds_text(time_s) + more
            axis.annotate(text, (end_s, place + shift), (4, 0), textcoords="offset points", va="center", fontsize=8)
            longest = max(longest, end_s)
        if not one.simulated.same and np.isfinite(one.simulated.half_width):
            ends = [one.simulated.low, one.simulated.high]
            axis.plot(ends, [place + 0.2] * 2, "|-", color=plot_style.DARK, linewidth=1.3, markersize=7)
    axis.set_yticks(range(len(candidates)), [plot_style.wrapped(label(one, several), 2.2) for one in candidates])
    axis.set_ylim(len(candidates) - 0.5, -0.5)
    axis.set_xlim(0, 1.3 * longest or 1.0)
    plot_style.time_axis(mpl, axis.xaxis, longest)
    handles = [
        mpl.patches.Patch(facecolor=colour, label=name)
        for name, colour in (("forecast", FORECAST), ("simulated", SIMULATED))
    ]
    axis.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)


def _error_text(one: Candidate) -> str:
    if not np.isfinite(one.error):
        return ""
    return f" (forecast {one.error:+z.1%})".replace("-", "\N{MINUS SIGN}")


def _ladder(mpl: Any, axis: Any, one: Candidate, effects: Sequence[str]) -> None:
    """From the forecast down to the simulation, a step for each effect."""
    rungs = {rung.effect: rung for rung in one.comparison.rungs}
    at_s = one.forecast_s
    _step(axis, 0, 0.0, at_s, FORECAST, plot_style.seconds_text(at_s))
    for place, effect in enumerate(effects, 1):
        change_s = one.change(rungs[effect]).mean if rungs[effect].applies else 0.0
        tiny = abs(change_s) <= ROUNDING * one.forecast_s
        sign = "+" if change_s > 0 else "\N{MINUS SIGN}"
        text = "0" if tiny else f"{sign}{plot_style.seconds_text(abs(change_s))}"
        text = text if rungs[effect].applies else "\N{EN DASH}"
        _step(axis, place, at_s, at_s + change_s, MORE if change_s > 0 else LESS, text)
        at_s += change_s
    _step(axis, len(effects) + 1, 0.0, one.simulated.mean, SIMULATED, plot_style.seconds_text(one.simulated.mean))
    axis.set_yticks(range(len(effects) + 2), ["forecast", *effects, "simulated"])
    axis.set_ylim(len(effects) + 1.5, -0.5)
    longest = max(one.forecast_s, one.simulated.mean)
    axis.set_xlim(0, max(axis.get_xlim()[1], 1.45 * longest))
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3))
    plot_style.time_axis(mpl, axis.xaxis, longest)


def _step(axis: Any, place: int, begin_s: float, end_s: float, colour: str, text: str) -> None:
    axis.barh(place, end_s - begin_s, left=begin_s, height=0.7, facecolor=colour)
    at = (max(begin_s, end_s), place)
    axis.annotate(text, at, (3, 0), textcoords="offset points", va="center", fontsize=7)

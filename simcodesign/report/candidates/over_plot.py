"""Candidates over the values of an axis.

Lines of forecast, simulation, formulas and measurements, and what each effect adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.comparison.attribution import UNEXPLAINED
from simcodesign.report.candidates.ladders import lines_of
from simcodesign.report.candidates.names import title_of, unit_of
from simcodesign.report.candidates.series import SIMULATED, Series, series_of
from simcodesign.report.common import plot_style
from simcodesign.report.results.ladder_rows import effects_shown
from simcodesign.studies.candidates.several import Candidate, SeveralComparisons

#: Times and axes whose ends are further apart than this factor have a logarithmic scale.
WIDE = 8.0
#: Bars of a ladder side by side, and ladders in one row.
_MAX_VALUES, _IN_A_ROW = 12, 3
#: Colours of effects, other than the colours of both readings and of the first formulas.
_EFFECTS = ("#D55E00", "#56B4E9", "#F0E442", "#8C6D31", "#7B3FA0", "#009E73", "#CC79A7")


def plot_over_axis(mpl: Any, several: SeveralComparisons, why: bool) -> Any:
    """Return times and ratios over the axis, a colour for each candidate.

    For a single candidate, each column of its table has a colour. With ``why``, the ladders are below.
    """
    lines, series = lines_of(several), [*series_of(several)]
    rows = -(-len(lines) // _IN_A_ROW) if why else 0
    figure = plot_style.new_figure(mpl, 10.0, 4.4 + 3.2 * rows)
    plot_style.set_title(figure, f"{title_of(several)}: {_listed([one.name for one in series])} over {several.axis}")
    upper, lower = figure.subfigures(2, 1, height_ratios=[4.0, 3.2 * rows]) if why else (figure, None)
    times, ratios = upper.subplots(1, 2)
    entries = draw_times(mpl, times, several)
    _draw_ratios(mpl, ratios, several)
    plot_style.legend(mpl, upper, entries)
    if lower is not None:
        _ladders(mpl, lower, several, rows)
    return figure


def draw_times(mpl: Any, panel: Any, several: SeveralComparisons) -> dict[str, dict[str, Any]]:
    """Draw the times of all candidates over the axis; return what the lines mean."""
    lines, series = lines_of(several), [*series_of(several)]
    colours = plot_style.machine_colours(mpl, len(lines))
    for colour, line in zip(colours, lines.values(), strict=True):
        for one in series:
            _draw(panel, several.axis, line, one, one.colour if len(lines) == 1 else colour, lambda _: 1.0)
    _x_axis(mpl, several, panel)
    low, high = panel.dataLim.intervaly
    if low > 0 and high > WIDE * low:
        panel.set_yscale("log")
        plot_style.log_ticks(mpl, panel.yaxis, plot_style.seconds_text)
        panel.set_ylabel("time")
    else:
        panel.set_ylim(bottom=0)
        plot_style.time_axis(mpl, panel.yaxis, high)
    panel.set_title("time")
    entries = {
        name: {"color": colour, "linewidth": 2.2, "linestyle": "-"} for name, colour in zip(lines, colours, strict=True)
    }
    looks = {one.name: {"color": one.colour if len(lines) == 1 else plot_style.DARK, **one.look} for one in series}
    return ({} if len(lines) == 1 else entries) | looks


def _draw_ratios(mpl: Any, panel: Any, several: SeveralComparisons) -> None:
    """Draw what each time is of the simulated one."""
    lines, series = lines_of(several), [*series_of(several)]
    for colour, line in zip(plot_style.machine_colours(mpl, len(lines)), lines.values(), strict=True):
        for one in series:
            if one.name != SIMULATED or len(series) > 2:
                own = one.colour if len(lines) == 1 else colour
                _draw(panel, several.axis, line, one, own, lambda each: each.simulated.mean)
    _x_axis(mpl, several, panel)
    alone = "forecast / simulated (below 1: the forecast is too low)"
    panel.set_title(alone if len(series) == 2 else "each / simulated")
    plot_style.ratio_axis(mpl, panel)


def _draw(
    panel: Any,
    axis: str,
    line: Sequence[Candidate],
    series: Series,
    colour: Any,
    unit: Callable[[Candidate], float],
) -> None:
    """Draw a column of candidates over their axis, in units of something of each, with its intervals."""
    x = np.array([one.at[axis] for one in line])
    y = np.array([series.time_s(one) / unit(one) for one in line])
    panel.plot(x, y, color=colour, **series.look)
    if series.ends_s is None:
        return
    ends = np.array([[end / unit(one) for end in series.ends_s(one)] for one in line]).T
    known = np.isfinite(ends).all(axis=0) & (ends[1] > ends[0])
    panel.vlines(x[known], *ends[:, known], color=colour, linewidth=1.2)
    for end in ends:  # wider than the points, so that a narrow interval is seen
        panel.scatter(x[known], end[known], marker="_", s=80, color=colour)


def _x_axis(mpl: Any, several: SeveralComparisons, panel: Any) -> None:
    """Scale, ticks and label of the axis."""
    values = sorted({one.at[several.axis] for one in several.comparisons})
    if values[0] > 0 and values[-1] > WIDE * values[0]:
        panel.set_xscale("log")
    step = -(-len(values) // 8)
    panel.set_xticks(values[::step], [f"{value:,.6g}" for value in values[::step]])
    panel.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    panel.set_xlabel(axis_name(several.axis))


def axis_name(axis: str) -> str:
    """Return the name of an axis, with what it counts."""
    unit = "ranks" if axis == "P" else unit_of(axis)
    return plot_style.plain(f"{axis} ({unit})" if unit else axis)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]])


# --- Ladders -----------------------------------------------------------------------------------------------------


def _ladders(mpl: Any, figure: Any, several: SeveralComparisons, rows: int) -> None:
    """Draw a panel for each candidate.

    At each value of the axis what each effect adds, in per cent of the forecast.
    """
    lines = lines_of(several)
    effects = [name for name in effects_shown([one.comparison for one in several.comparisons]) if _acts(several, name)]
    panels = figure.subplots(rows, min(len(lines), _IN_A_ROW), squeeze=False)
    colours: dict[str, Any] = {
        name: {"facecolor": colour} for name, colour in zip(effects, _effect_colours(mpl, len(effects)), strict=True)
    }
    known = [one.measured is not None for one in several.comparisons]
    looks = colours | ({UNEXPLAINED: plot_style.NOT_EXPLAINED} if any(known) else {})
    for panel, (name, line) in zip(panels.flat, lines.items(), strict=False):
        _ladder(panel, several.axis, _some(line), looks)
        head = "what each effect adds to the forecast" if len(lines) == 1 else name
        panel.set_title(plot_style.wrapped(head, 9.0 / min(len(lines), _IN_A_ROW)))
    for panel in panels.flat[len(lines) :]:
        panel.remove()
    for panel in panels[:, 0]:
        panel.set_ylabel("added (% of the forecast)")
    end = "measured" if all(known) else "measured (simulated if not measured)" if any(known) else "simulated"
    plot_style.legend(mpl, figure, looks | {end: _END})


def _effect_colours(mpl: Any, count: int) -> Sequence[Any]:
    return _EFFECTS[:count] if count <= len(_EFFECTS) else plot_style.phase_colours(mpl, count)


_END = {"color": plot_style.DARK, "marker": "_", "markersize": 14, "markeredgewidth": 2, "linestyle": ""}


def _acts(several: SeveralComparisons, effect: str) -> bool:
    """Whether an effect changes the time of any candidate."""
    return any(step.change_s for one in several.comparisons for step in one.steps if step.step == effect)


def _some(line: Sequence[Candidate]) -> Sequence[Candidate]:
    """Candidates of which bars can be read side by side: of many some, the last one of them."""
    return line[:: -(-len(line) // _MAX_VALUES)]


def _ladder(panel: Any, axis: str, line: Sequence[Candidate], looks: dict[str, Any]) -> None:
    """Stacked bars: upwards what adds time, downwards what takes it away; a line at their sum."""
    ends: NDArray[np.float64] = np.zeros((2, len(line)))
    panel.use_sticky_edges = False  # the lowest bar may end where an empty one begins
    for name, look in looks.items():
        shares = np.array([100 * _change_s(one, name) / one.forecast_s for one in line])
        for end, part in zip(ends, (shares.clip(min=0), shares.clip(max=0)), strict=True):
            panel.bar(range(len(line)), part, bottom=end, width=0.7, **look)
            end += part
    panel.plot(range(len(line)), ends.sum(axis=0), **_END)
    panel.axhline(0.0, color=plot_style.DARK, linewidth=0.8)
    panel.set_xticks(range(len(line)), [f"{one.at[axis]:,.6g}" for one in line])
    panel.set_xlabel(axis_name(axis))


def _change_s(one: Candidate, step: str) -> float:
    return next((each.change_s for each in one.steps if each.step == step), 0.0)

"""Plots of results, as PNG, SVG or PDF files: activity over time, times by phase, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.comparison.attribution import ROUNDING, relative_error
from simcodesign.comparison.compare import Comparison
from simcodesign.comparison.formulas.ladder import FormulaComparison
from simcodesign.core.errors import InputError, nearest
from simcodesign.core.operation_kinds import COMPONENTS
from simcodesign.core.result import Result
from simcodesign.report.common import plot_style
from simcodesign.report.results.ladder_rows import SUM, not_here, rungs_shown
from simcodesign.report.results.utilisation import activity_profile

__all__ = ["activity_profile", "comparison_bars", "result_bars"]

_UNSPLIT = "not split up"
#: Maximum number of stations drawn, the most used ones.
MAX_STATIONS = 16


def result_bars(result: Result, path: str | Path) -> None:
    """Seconds of each phase, stacked by component; in a simulation along the critical path.

    Raises InputError for a forecast over many design points, a path that cannot be written, and without Matplotlib.
    """
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 9.0, 1.8 + 0.36 * (len(result.phases) + 1))
        whole = plot_style.seconds_text(plot_style.one_number(result.makespan_s, "makespan_s"))
        title = f"{plot_style.headings([result])[0]}: {whole}"
        figure.suptitle(plot_style.wrapped(title, 8.5, 11), x=0.01, ha="left")
        plot_style.legend(mpl, figure, draw_phases(mpl, figure.subplots(), result))
        plot_style.save(figure, path)


def draw_phases(mpl: Any, axis: Any, result: Result) -> dict[str, dict[str, Any]]:
    """Draw the seconds of each phase, stacked by component; return what the colours mean."""
    seconds = np.array(
        [[plot_style.one_number(times[part], part) for part in COMPONENTS] for times in result.phases.values()]
    ).reshape(-1, len(COMPONENTS))
    seconds = np.vstack([seconds, seconds.sum(axis=0)])
    _bars(mpl, axis, [*result.phases, "total"], seconds)
    return _component_entries(seconds)


def draw_sides(mpl: Any, axis: Any, comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Draw formulas, forecast, simulation and measurement, stacked by component; return what the colours mean."""
    sides = _comparison_sides(comparison, None)
    _sides(mpl, axis, sides)
    _spread(axis, comparison, sides)
    return _component_entries(np.array([*sides.values()]))


def draw_stations(mpl: Any, axis: Any, result: Result) -> dict[str, dict[str, Any]]:
    """Draw how long the most used stations of a simulation were busy, and how long requests waited for them."""
    used = result.stations.most_used(MAX_STATIONS)
    if not used:
        allowed = "a simulation whose effects have stations, such as links, interfaces and disks"
        raise InputError("no stations", value=f"{result.reading} with {list(result.effects)}", allowed=allowed)
    looks: dict[str, dict[str, Any]] = {
        "busy": {"facecolor": plot_style.SIMULATED},
        "requests waiting": plot_style.WAITING,
    }
    places = np.arange(len(used))
    for shift, (look, times_s) in zip(
        (-0.2, 0.2),
        ((looks["busy"], [one.busy_s for one in used]), (looks["requests waiting"], [one.wait_s for one in used])),
        strict=True,
    ):
        axis.barh(places + shift, times_s, height=0.38, **look)
    axis.set_yticks(places, [plot_style.plain(one.name) for one in used])
    axis.set_ylim(len(used) - 0.5, -0.5)
    plot_style.time_axis(mpl, axis.xaxis, max(max(one.busy_s, one.wait_s) for one in used))
    return looks


def _bars(mpl: Any, axis: Any, names: Sequence[str], seconds: NDArray[np.float64]) -> None:
    """Horizontal stacked bars, the first on top: (bars, components); totals at their ends.

    A last column beyond the components is time that is not split up.
    """
    places = np.arange(len(names))
    left = np.zeros(len(names))
    for number in range(seconds.shape[1]):
        axis.barh(places, seconds[:, number], left=left, height=0.7, **_look(number))
        left = left + seconds[:, number]
    for place, total in zip(places, left, strict=True):
        axis.annotate(
            plot_style.seconds_text(total), (total, place), (4, 0), textcoords="offset points", va="center", fontsize=8
        )
    longest = float(left.max(initial=0.0))
    axis.set_yticks(places, [plot_style.wrapped(name, 2.0) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(0, 1.14 * longest or 1.0)
    plot_style.time_axis(mpl, axis.xaxis, longest)


def _look(number: int) -> dict[str, Any]:
    if number < len(COMPONENTS):
        return {"facecolor": plot_style.COMPONENT_COLOURS[COMPONENTS[number]]}
    return {"facecolor": plot_style.GREY}


def _component_entries(seconds: NDArray[np.float64]) -> dict[str, dict[str, Any]]:
    names = enumerate((*COMPONENTS, _UNSPLIT)[: seconds.shape[1]])
    return {name: _look(number) for number, name in names if seconds[:, number].any()}


def comparison_bars(
    comparisons: Comparison | Sequence[Comparison],
    path: str | Path,
    measured: Sequence[Mapping[str, float] | None] | None = None,
) -> None:
    """Draw formulas, forecast and simulation, and the ladder between the last two.

    What each effect adds, from the one to the other. Formulas that give no total are left out.

    ``measured``: for each comparison seconds by component and ``total``, or None for those that it has itself, if any.
    A part of the total beyond the components, of a formula too, is shown as not split up. Errors are against the
    measured, if anything was, otherwise against the simulation.

    Raises InputError for no comparison, a list of measurements of another length, unknown components or values that
    are no times in it, a path that cannot be written, and when Matplotlib is missing.
    """
    comparisons = [comparisons] if isinstance(comparisons, Comparison) else list(comparisons)
    if not comparisons:
        raise InputError("a plot needs at least one comparison")
    measurements = [None] * len(comparisons) if measured is None else list(measured)
    if len(measurements) != len(comparisons):
        raise InputError(
            f"measurements of {len(comparisons)} comparisons", value=len(measurements), allowed="one for each"
        )
    sides = [_comparison_sides(comparison, known) for comparison, known in zip(comparisons, measurements, strict=True)]
    with plot_style.styled(path) as mpl:
        inches = [2.5 + 0.2 * max(len(rungs_shown(one)), len(one.measured_ladder) + 1) for one in comparisons]
        figure = plot_style.new_figure(mpl, 11.0, sum(inches) + 0.5)
        parts = figure.subfigures(len(sides), 1, height_ratios=inches, squeeze=False)[:, 0]
        for part, comparison, each in zip(parts, comparisons, sides, strict=True):
            heading = plot_style.headings([comparison.simulation])[0]
            part.suptitle(plot_style.wrapped(heading, 10.5, 11), x=0.01, ha="left")
            left, right = part.subplots(1, 2, width_ratios=[1, 1.1])
            _sides(mpl, left, each)
            _spread(left, comparison, each)
            draw_ladder(mpl, right, comparison)
        every = np.array([seconds for each in sides for seconds in each.values()])
        plot_style.legend(mpl, figure, _component_entries(every))
        plot_style.save(figure, path)


def _comparison_sides(comparison: Comparison, measured: Mapping[str, float] | None) -> dict[str, list[float]]:
    """Seconds of formulas, forecast, simulation and measurement, if any: of each component, the last not split up."""
    sides = {f"{one.name} (formula)": _formula_seconds(one) for one in comparison.formulas if np.isfinite(one.total_s)}
    for name, result in (("forecast", comparison.forecast), ("simulated", comparison.simulation)):
        sides[name] = [*(plot_style.one_number(result.components[part], part) for part in COMPONENTS), 0.0]
    if measured is None and (known := comparison.measured) is not None and known.total_s is not None:
        measured = {**known.components_s, "total": known.total_s}
    if measured is not None:
        sides["measured"] = _measured_seconds(measured)
    return sides


def _formula_seconds(compared: FormulaComparison) -> list[float]:
    """Return the components that a formula gives, where its total has room for them, and the rest of the total."""
    parts = [float(compared.values.components_s.get(name, 0.0)) for name in COMPONENTS]
    rest_s = compared.total_s - sum(parts)
    if min([*parts, rest_s]) >= -ROUNDING * abs(compared.total_s):
        return [*parts, max(rest_s, 0.0)]
    return [*([0.0] * len(COMPONENTS)), compared.total_s]


def _measured_seconds(measured: Mapping[str, float]) -> list[float]:
    names = (*COMPONENTS, "total")
    for name, seconds in measured.items():
        if name not in names:
            raise InputError("measured component", value=name, allowed=nearest(str(name), names))
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
            raise InputError(f"measured {name}", value=seconds, allowed="seconds, 0 or more")
    parts = [float(measured.get(name, 0.0)) for name in COMPONENTS]
    return [*parts, max(float(measured.get("total", 0.0)) - sum(parts), 0.0)]


def _sides(mpl: Any, axis: Any, sides: Mapping[str, Sequence[float]]) -> None:
    _bars(mpl, axis, [*sides], np.array([*sides.values()]))
    *others, last = ((name.removesuffix(" (formula)"), sum(seconds)) for name, seconds in sides.items())
    kept = "\N{NO-BREAK SPACE}"
    errors = [f"{name}{kept}{_percent(relative_error(total, last[1]))}" for name, total in others]
    lines = plot_style.wrapped(f"error against {last[0]}: {', '.join(errors)}", 5.0)
    axis.set_title(lines.replace(kept, " "))


def _spread(axis: Any, comparison: Comparison, sides: Mapping[str, Sequence[float]]) -> None:
    """Draw the spread of the measured total on its bar, the last one, below the number.

    Nothing if it is not known.
    """
    total = None if comparison.measured is None else comparison.measured.total
    if total is None or total.ends is None or sum([*sides.values()][-1]) != float(total):
        return
    low, high = total.ends
    axis.plot([low, high], [len(sides) - 0.77] * 2, "|-", color=plot_style.DARK, linewidth=1.4, markersize=9)
    left, right = axis.get_xlim()
    axis.set_xlim(left, max(right, 1.05 * high))


def _percent(error: float) -> str:
    if np.isnan(error):
        return "undefined"
    return "0.0%" if abs(error) < 0.0005 else f"{error:+.1%}".replace("-", "\N{MINUS SIGN}")


def draw_ladder(mpl: Any, axis: Any, comparison: Comparison) -> None:
    """Draw the ladder, one step for each effect.

    From the forecast (before it, from the sum of closed forms) to the simulation, and on to what was measured.
    """
    first = plot_style.one_number(comparison.forecast.headline_s, "headline_s")
    names, levels, whole = ["forecast"], [first], [0]
    if steps := comparison.path_ladder:
        names = [SUM, *(step.step for step in steps)]
        levels = [steps[0].time_s - steps[0].change_s, *(step.time_s for step in steps)]
        _whole_bar("forecast", names, levels, whole)
    for rung in rungs_shown(comparison):
        names.append(rung.effect)
        levels.append(float(rung.simulation.headline_s))
    _whole_bar("simulation", names, levels, whole)
    if (last := comparison.not_explained) is not None:
        names.append(last.step)
        levels.append(last.time_s)
        _whole_bar("measured", names, levels, whole)
    cut = _waterfall_limits(mpl, axis, levels)
    for place, (before, after) in enumerate(pairwise(levels), 1):
        axis.plot([before, before], [place - 1.35, place + 0.35], color=plot_style.GREY, linewidth=0.7)
        if place not in whole:
            change = after - before if abs(after - before) > ROUNDING * first else 0.0
            unexplained = last is not None and place == whole[-1] - 1
            look = plot_style.NOT_EXPLAINED if unexplained else plot_style.step_look(change)
            axis.barh(place, after - before, left=before, height=0.7, **look)
            _waterfall_text(axis, max(before, after), place, _change_text(change))
    sums = [plot_style.FORECAST] if comparison.path_ladder else []
    colours = (*sums, plot_style.FORECAST, plot_style.SIMULATED, plot_style.MEASURED)
    for place, colour in zip(whole, colours, strict=False):
        axis.barh(place, levels[place], height=0.7, facecolor=colour)
        _waterfall_text(axis, levels[place], place, plot_style.seconds_text(levels[place]))
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_title(f"gap: {_gap_text(comparison)}")
    plot_style.time_axis(mpl, axis.xaxis, max(levels))
    if cut:
        axis.set_xlabel(f"{axis.get_xlabel()}, axis does not begin at 0")
    if absent := not_here([comparison]):
        below = {"xycoords": "axes fraction", "xytext": (0, -32), "textcoords": "offset points", "va": "top"}
        axis.annotate(plot_style.wrapped(absent, 5.0, 7), (0, 0), fontsize=7, color=plot_style.DARK, **below)


def _whole_bar(name: str, names: list[str], levels: list[float], whole: list[int]) -> None:
    """One more bar from 0, of the time at which the steps before it have come."""
    whole.append(len(names))
    names.append(name)
    levels.append(levels[-1])


def _gap_text(comparison: Comparison) -> str:
    if not any(rung.change_s for rung in comparison.rungs):
        return "none"
    gap, whole = abs(comparison.difference_s), float(comparison.simulation.headline_s)
    share = f", {_percent(gap / whole).lstrip('+')} of the simulated time" if whole > 0 else ""
    return plot_style.seconds_text(gap) + share


def _waterfall_limits(mpl: Any, axis: Any, levels: Sequence[float]) -> bool:
    """Begin the axis at 0, unless the steps would be too small to see; return whether it begins elsewhere."""
    low, high = min(levels), max(levels)
    span = high - low
    cut = 1e-9 * high < span < 0.25 * high
    begin = max(low - span, 0.0) if cut else 0.0
    axis.set_xlim(begin, high + 0.22 * (high - begin) if high > 0 else 1.0)
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(nbins=4 if cut else 5))
    return cut


def _change_text(change_s: float) -> str:
    if change_s == 0:
        return "0"
    return ("+" if change_s > 0 else "\N{MINUS SIGN}") + plot_style.seconds_text(abs(change_s))


def _waterfall_text(axis: Any, seconds: float, place: int, text: str) -> None:
    axis.annotate(text, (seconds, place), (4, 0), textcoords="offset points", va="center", fontsize=8)

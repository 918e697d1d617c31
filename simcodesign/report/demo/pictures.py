"""The four pictures of the demonstration, each complete by itself on a slide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simcodesign.comparison.compare import Comparison
from simcodesign.report.common import plot_style
from simcodesign.report.demo.runs import SIDES, Run, Runs, acting

#: Colours of what is compared.
COLOURS = {"measured": plot_style.MEASURED, "forecast": plot_style.FORECAST, "simulated": plot_style.SIMULATED}
#: A bar, of a group one unit wide.
_BAR = 0.26


def broadcast_picture(runs: Runs, path: Path) -> None:
    """Measured, forecast and simulated broadcasts over the shapes of the job, with quartiles."""
    several = [run.comparison for run in runs.broadcasts.values()]
    known = [one.measured.total for one in several if one.measured is not None and one.measured.total is not None]
    groups = {
        "measured": [each.value for each in known],
        "forecast": [float(one.forecast.makespan_s) for one in several],
        "simulated": [float(one.simulation.makespan_s) for one in several],
    }
    ends = np.array([each.ends for each in known]).T
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 8.0, 4.5)
        figure.suptitle("Broadcast of 64 MiB on Fugaku: the formula and the machine", x=0.01, ha="left")
        axis = figure.subplots()
        _grouped(mpl, axis, [f"{shape} nodes" for shape in SIDES], groups)
        middle = np.array(groups["measured"])
        whiskers = np.abs(ends - middle)
        axis.errorbar(np.arange(len(middle)) - _BAR, middle, whiskers, fmt="none", ecolor=plot_style.GREY, capsize=3)
        _key(mpl, figure, groups)
        plot_style.save(figure, path)


def _grouped(mpl: Any, axis: Any, labels: Sequence[str], groups: Mapping[str, Sequence[float]]) -> None:
    """Upright bars in groups, with their times above them."""
    places = np.arange(len(labels))
    for number, (name, times_s) in enumerate(groups.items()):
        shifted = places + (number - (len(groups) - 1) / 2) * _BAR
        axis.bar(shifted, times_s, width=0.92 * _BAR, facecolor=COLOURS[name])
        for place, time_s in zip(shifted, times_s, strict=True):
            text = plot_style.seconds_text(time_s)
            axis.annotate(text, (place, time_s), (0, 3), textcoords="offset points", ha="center", fontsize=7)
    axis.set_xticks(places, labels)
    longest = max(max(times_s) for times_s in groups.values())
    axis.set_ylim(0, 1.1 * longest)
    plot_style.time_axis(mpl, axis.yaxis, longest)


def _key(mpl: Any, figure: Any, groups: Mapping[str, object]) -> None:
    plot_style.legend(mpl, figure, {name: {"facecolor": COLOURS[name]} for name in groups})


def ladder_picture(run: Run, path: Path) -> None:
    """From the forecast to the measurement; only steps that change a time."""
    rows = _levels(run, acting([run]))
    longest = max(end_s for _, _, end_s in rows)
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 7.0, 3.4)
        figure.suptitle("From forecast to measurement: 64 MiB broadcast on 8x8x8 nodes of Fugaku", x=0.01, ha="left")
        axis = figure.subplots()
        _steps(axis, rows)
        axis.set_xlim(0, 1.25 * longest)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        plot_style.time_axis(mpl, axis.xaxis, longest)
        plot_style.save(figure, path)


def _levels(run: Run, shown: Sequence[str]) -> list[tuple[str, float, float]]:
    """Name, begin and end of each bar."""
    one = run.comparison
    rows = [("forecast", 0.0, float(one.forecast.makespan_s))]
    for effect in shown:
        rows.append((effect, rows[-1][2], rows[-1][2] + run.change_s(effect)))
    rows.append(("simulated", 0.0, float(one.simulation.makespan_s)))
    if (last := one.not_explained) is not None:
        rows += [("not explained", rows[-1][2], last.time_s), ("measured", 0.0, last.time_s)]
    return rows


def _steps(axis: Any, rows: Sequence[tuple[str, float, float]]) -> None:
    for place, (name, begin_s, end_s) in enumerate(rows):
        step = plot_style.NOT_EXPLAINED if name == "not explained" else plot_style.step_look(end_s - begin_s)
        look = {"facecolor": COLOURS[name]} if name in COLOURS else step
        axis.barh(place, end_s - begin_s, left=begin_s, height=0.7, **look)
        text = plot_style.seconds_text(abs(end_s - begin_s)) if end_s != begin_s else "0"
        sign = "" if name in COLOURS or end_s == begin_s else "+" if end_s > begin_s else "\N{MINUS SIGN}"
        at = (max(begin_s, end_s), place)
        axis.annotate(sign + text, at, (4, 0), textcoords="offset points", va="center", fontsize=8)
    axis.set_yticks(range(len(rows)), [name for name, _, _ in rows])


def exchange_picture(runs: Mapping[str, Run], path: Path) -> None:
    """Forecast and simulated all-to-all on both networks."""
    several = [run.comparison for run in runs.values()]
    groups = {
        "forecast": [float(one.forecast.makespan_s) for one in several],
        "simulated": [float(one.simulation.makespan_s) for one in several],
    }
    links = [run.scenario.machine.network.topology.link_count for run in runs.values()]
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 6.0, 4.2)
        figure.suptitle("All-to-all of 64 KiB among 64 nodes, full-duplex interfaces", x=0.01, ha="left")
        labels = [f"{name}, {count} links" for name, count in zip(runs, links, strict=True)]
        _grouped(mpl, figure.subplots(), labels, groups)
        _key(mpl, figure, groups)
        plot_style.save(figure, path)


def seismic_picture(one: Comparison, measured: pd.DataFrame, path: Path) -> None:
    """SPECseis96, phase by phase: measured if available, forecast and simulated."""
    here = measured[(measured.preset == "test") & (measured.P == 16)]
    phases = [name for name in one.forecast.phases if not here[here.phase == name].empty]
    groups = {
        "measured": [float(here[here.phase == name].seconds.sum()) for name in phases],
        "forecast": [float(sum(one.forecast.phases[name].values())) for name in phases],
        "simulated": [float(sum(one.simulation.phases[name].values())) for name in phases],
    }
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 8.0, 4.2)
        title = "SPECseis96, the test set on 16 processors of an SGI Power Challenge"
        figure.suptitle(title, x=0.01, ha="left")
        _grouped(mpl, figure.subplots(), phases, groups)
        _key(mpl, figure, groups)
        plot_style.save(figure, path)

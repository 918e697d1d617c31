"""Ratios of requirements against ratios of simulated time: one mark for every workload with every upgrade."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simcodesign.report.common import plot_style
from simcodesign.studies.requirements.simulated_upgrade import RESOURCES, SimulatedCell

#: Colours of upgrades: colours of the palette that are furthest apart come first.
COLOURS = [plot_style.OKABE_ITO[place] for place in (0, 5, 2, 3, 1, 4, 6)]
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
#: Labels are in a column next to the axes, at least this far from each other, as a fraction of its height.
LABEL_GAP = 0.047


def ratio_against_time(cells: Sequence[SimulatedCell], path: str | Path) -> None:
    """Draw the mean of the requirement ratios (x) against the ratio of simulated times (y).

    A bar goes from the least to the largest of them. On the diagonal the requirements predict the time.
    """
    shown = [cell for cell in cells if cell.new is not None and cell.time_ratio > 0]
    upgrades = list(dict.fromkeys(cell.upgrade for cell in cells))
    workloads = list(dict.fromkeys(cell.workload for cell in cells))
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(upgrades)}
    marks = {name: MARKS[place % len(MARKS)] for place, name in enumerate(workloads)}
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 7.6, max(5.4, 1.5 + 0.23 * len(shown)))
        axes = figure.subplots()
        where = cells[0].full.machine.name
        axes.set_title(
            plot_style.plain(f"Upgrades of {where}: requirements and simulated time, new over old"), loc="left"
        )
        for cell in shown:
            _draw(axes, cell, colours[cell.upgrade], marks[cell.workload])
        _scales(mpl, axes, shown)
        _labels(axes, shown)
        _legend(mpl, figure, colours, marks)
        plot_style.save(figure, path)


def _draw(axes: Any, cell: SimulatedCell, colour: str, mark: str) -> None:
    """Draw the mark of a cell, and the span of its requirements."""
    ratios = _usable(cell)
    axes.hlines(cell.time_ratio, min(ratios), max(ratios), colors=colour, linewidth=1.2, alpha=0.45, zorder=2)
    axes.plot(
        cell.requirement_ratio,
        cell.time_ratio,
        mark,
        color=colour,
        markersize=6.5,
        markeredgecolor="white",
        markeredgewidth=0.7,
        zorder=3,
    )


def _usable(cell: SimulatedCell) -> list[float]:
    ratios = [cell.study.ratios[name] for name in RESOURCES]
    return [ratio for ratio in ratios if math.isfinite(ratio) and ratio > 0]


def _scales(mpl: Any, axes: Any, shown: Sequence[SimulatedCell]) -> None:
    """One logarithmic scale on both axes, and the diagonal."""
    values = [ratio for cell in shown for ratio in (*_usable(cell), cell.time_ratio)]
    low, high = min([0.5, *values]) / 1.25, max([2.0, *values]) * 1.25
    axes.axline((1, 1), (2, 2), color=plot_style.GREY, linewidth=0.9, linestyle="--", zorder=1)
    for axis, limits in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log", base=2)
        limits(low, high)
        axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(mpl.ticker.NullLocator())
    axes.set_xlabel("requirements: mean of computation, communication, memory access and I/O; bar: least to largest")
    axes.set_ylabel("simulated time")
    axes.set_aspect("equal")
    axes.text(
        low * 1.12,
        low * 1.24,
        "time = requirements",
        color=plot_style.DARK,
        fontsize=6.5,
        rotation=45,
        rotation_mode="anchor",
    )


def _labels(axes: Any, shown: Sequence[SimulatedCell]) -> None:
    """Names in a column next to the axes, in the order of the times, each with a dotted line to its mark."""
    low, high = (math.log(limit) for limit in axes.get_ylim())
    ordered = sorted(shown, key=lambda cell: (cell.time_ratio, -cell.requirement_ratio))
    heights = spread([(math.log(cell.time_ratio) - low) / (high - low) for cell in ordered], LABEL_GAP)
    for cell, height in zip(ordered, heights, strict=True):
        name = plot_style.plain(f"{cell.workload}, {cell.upgrade}  {cell.time_ratio:.3g}")
        lead = {"arrowstyle": "-", "linewidth": 0.5, "linestyle": ":", "shrinkB": 4, "relpos": (0, 0.5)}
        axes.annotate(
            name,
            (cell.requirement_ratio, cell.time_ratio),
            (1.06, height),
            textcoords="axes fraction",
            va="center",
            ha="left",
            fontsize=7.5,
            color=plot_style.DARK,
            annotation_clip=False,
            arrowprops=lead | {"color": plot_style.GREY},
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Heights in increasing order moved apart until they are ``gap`` from each other, around their positions."""
    groups: list[list[float]] = []  # (sum of wanted first heights, members)
    for height in heights:
        groups.append([height, 1])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            centre, count = groups.pop()
            before, others = groups.pop()
            groups.append([(centre * count + before * others) / (count + others), count + others])
    return [_bottom(group, gap) + gap * place for group in groups for place in range(int(group[1]))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return group[0] - gap * (group[1] - 1) / 2


def _top(group: Sequence[float], gap: float) -> float:
    return group[0] + gap * (group[1] - 1) / 2


def _legend(mpl: Any, figure: Any, colours: dict[str, str], marks: dict[str, str]) -> None:
    """Colours of upgrades and marks of workloads, below the figure."""
    line = mpl.lines.Line2D
    handles = [
        line([], [], linestyle="", marker="o", markersize=0, label="upgrade:"),
        *(line([], [], linewidth=4, color=colour, label=plot_style.plain(name)) for name, colour in colours.items()),
        line([], [], linestyle="", marker="o", markersize=0, label="  workload:"),
        *(
            line([], [], linestyle="", marker=mark, color=plot_style.DARK, label=plot_style.plain(name))
            for name, mark in marks.items()
        ),
    ]
    columns = len(handles) if len(handles) <= 10 else 6
    figure.legend(
        handles=handles, loc="outside lower left", ncols=columns, fontsize=7.5, handletextpad=0.4, columnspacing=1.0
    )

"""Plots of upgrade studies and of straw-man systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simcodesign.report.common import plot_style
from simcodesign.report.requirements.tables import shown_ratios
from simcodesign.studies.requirements.strawman import StrawManStudy
from simcodesign.studies.requirements.upgrade import UpgradeStudy

#: Ratios of a panel, and the label under their bars.
GROUPS = {
    "size": "problem\nof a process",
    "overall": "overall\nproblem",
    "computation": "computation",
    "communication": "communication",
    "memory_access": "memory\naccess",
    "io": "I/O",
}
#: Width of all bars of a group.
GROUP_WIDTH = 0.8


def upgrade_plot(studies: Sequence[UpgradeStudy], path: str | Path) -> None:
    """Draw a panel for each upgrade.

    Ratios of every workload as bars that begin at 1, with the baseline as a line.
    """
    upgrades = list(dict.fromkeys(study.upgrade.name for study in studies))
    names = list(dict.fromkeys(study.workload.name for study in studies))
    groups = shown_ratios(GROUPS, studies)
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 7.2, 0.9 + 1.9 * len(upgrades))
        panels = np.atleast_1d(figure.subplots(len(upgrades), 1, sharex=True, sharey=True))
        figure.suptitle(plot_style.plain(f"Upgrades of {studies[0].machine.name}: new over old"), x=0.01, ha="left")
        low, high = _limits(studies)
        for axes, upgrade in zip(panels, upgrades, strict=True):
            mine = [study for study in studies if study.upgrade.name == upgrade]
            axes.set_title(plot_style.plain(upgrade))
            axes.set_yscale("log", base=2)
            axes.set_ylim(low, high)
            axes.axhline(1, color=plot_style.DARK, linewidth=0.8)
            for place, study in enumerate(mine):
                _ratio_bars(axes, study, groups, (place, len(names)), low, _colours(names)[study.workload.name])
            _baseline(axes, mine[0], groups)
            axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            axes.set_ylabel("new / old")
            axes.set_xticks(range(len(groups)), groups.values())
            axes.tick_params(axis="x", length=0)
        entries: dict[str, dict[str, Any]] = {name: {"facecolor": colour} for name, colour in _colours(names).items()}
        plot_style.legend(
            mpl, figure, entries | {"baseline": {"color": plot_style.DARK, "linewidth": 1, "linestyle": "--"}}
        )
        plot_style.save(figure, path)


def _colours(names: Sequence[str]) -> dict[str, str]:
    return {name: plot_style.OKABE_ITO[place % len(plot_style.OKABE_ITO)] for place, name in enumerate(names)}


def _limits(studies: Sequence[UpgradeStudy]) -> tuple[float, float]:
    """Limits of an axis for all positive, finite ratios, with a margin for a label."""
    ratios_shown = [
        value for study in studies for ratios in (study.ratios, study.baseline) for value in ratios.values()
    ]
    usable = [value for value in ratios_shown if math.isfinite(value) and value > 0]
    return min([0.5, *usable]) / 1.6, max([2.0, *usable]) * 1.6


def _ratio_bars(
    axes: Any, study: UpgradeStudy, groups: Iterable[str], place_of: tuple[int, int], low: float, colour: str
) -> None:
    """Draw the bars of one workload; ``place_of``: its number, and the number of workloads."""
    place, count = place_of
    width = GROUP_WIDTH / count
    for group, ratio in enumerate(groups):
        value, x = study.ratios[ratio], group + (place + 0.5) * width - GROUP_WIDTH / 2
        if math.isfinite(value) and value > 0:
            axes.bar(x, value - 1, width * 0.92, bottom=1, color=colour)
            above = value >= 1
            shown, offset = f"{value:.2f}".rstrip("0").rstrip("."), (0, 1 if above else -1)
            axes.annotate(
                shown,
                (x, value),
                offset,
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=6,
                zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            )
        elif not study.new.fit.fits:
            axes.annotate(
                "nothing fits",
                (x, low * 1.05),
                ha="center",
                va="bottom",
                rotation=90,
                fontsize=6,
                color=plot_style.DARK,
            )


def _baseline(axes: Any, study: UpgradeStudy, groups: Iterable[str]) -> None:
    for group, ratio in enumerate(groups):
        half = GROUP_WIDTH / 2
        axes.hlines(
            study.baseline[ratio], group - half, group + half, colors=plot_style.DARK, linestyles="--", linewidth=1
        )


def straw_man_plot(studies: Sequence[StrawManStudy], path: str | Path) -> None:
    """Draw the largest problems, and the least times for the benchmark problem.

    There is a bar for every workload on every system.
    """
    names = [system.machine.name for system in studies[0].systems]
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 7.2, 5.0)
        sizes, times = figure.subplots(2, 1)
        sizes.set_title("Largest overall problem")
        sizes.set_ylabel("overall problem size N")
        times.set_title("Least time for the largest problem that all systems hold")
        times.set_ylabel("time (s)")
        for place, name in enumerate(names):
            colour = _colours(names)[name]
            every = [study.systems[place] for study in studies]
            _system_bars(sizes, [system.overall for system in every], place, len(names), colour)
            _system_bars(times, [system.wall_time_s for system in every], place, len(names), colour)
        for axes, unit in ((sizes, ""), (times, " s")):
            _log_axis(mpl, axes, studies, unit)
        for place, study in enumerate(studies):
            if study.excluded:
                _excluded(sizes, times, place, study)
        plot_style.legend(mpl, figure, {name: {"facecolor": colour} for name, colour in _colours(names).items()})
        plot_style.save(figure, path)


def _system_bars(axes: Any, values: Sequence[float | None], place: int, count: int, colour: str) -> None:
    width = GROUP_WIDTH / count
    for group, value in enumerate(values):
        if value is None or not value > 0:
            continue
        x = group + (place + 0.5) * width - GROUP_WIDTH / 2
        axes.bar(x, value, width * 0.92, color=colour)
        axes.annotate(
            _digits(value), (x, value), (0, 1), textcoords="offset points", ha="center", va="bottom", fontsize=6
        )


def _digits(value: float) -> str:
    """Three digits, as short as may be."""
    text = f"{value:.3g}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def _log_axis(mpl: Any, axes: Any, studies: Sequence[StrawManStudy], unit: str) -> None:
    """Logarithmic, a decade below the least and half a one above the most, if there is anything to plot."""
    heights = [patch.get_height() for patch in axes.patches]
    if heights:
        axes.set_yscale("log")
        axes.set_ylim(min(heights) / 10, max(heights) * 10**0.5)
        plot_style.log_ticks(mpl, axes.yaxis)
    names = [
        study.workload.name + (f"\nN = {_digits(study.benchmark)}" if unit and study.benchmark else "")
        for study in studies
    ]
    axes.set_xticks(range(len(studies)), [plot_style.plain(name) for name in names])
    axes.set_xlim(-0.5, len(studies) - 0.5)
    axes.tick_params(axis="x", length=0)


def _excluded(sizes: Any, times: Any, place: int, study: StrawManStudy) -> None:
    """Words if there are no bars."""
    everywhere = len(study.excluded) == len(study.systems)
    words = "nothing fits" if everywhere else f"nothing fits\non {len(study.excluded)}"
    for axes in (sizes, times) if everywhere else (times,):
        where = axes.get_xaxis_transform()
        axes.text(place, 0.05, words, transform=where, ha="center", va="bottom", fontsize=7, color=plot_style.DARK)

"""The locality of a program as a plot: how often each stack distance occurs, and the miss ratio that follows."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.report.common import plot_style
from simcodesign.report.locality.tables import Findings, Hits, binary, bins, sizes_bytes
from simcodesign.report.results.tables import HIT_WORDS

#: Points of a curve.
_POINTS = 2000


def locality_plot(findings: Findings, path: str | Path) -> None:
    """Above the histogram by powers of two, below the miss ratio over the size of a cache."""
    with plot_style.styled(path) as matplotlib:
        figure = plot_style.new_figure(matplotlib, 6.8, 6.0)
        above, below = figure.subplots(2)
        figure.suptitle(plot_style.wrapped(f"Locality of {source_words(findings.source)}", 6.4, 11), x=0.02, ha="left")
        _draw_histogram(above, findings)
        _draw_curve(matplotlib, below, findings)
        plot_style.save(figure, path)


def source_words(source: str) -> str:
    """Return the name of what was looked at; of a generated kernel, which reads as a call, in words."""
    match = re.fullmatch(r"([\w-]+)\((\w+=.*)\)", source)
    if match is None:
        return source
    sizes = match[2].replace("=", " = ").replace("= True", "= yes").replace("= False", "= no")
    return f"the kernel {match[1]}: {sizes}"


def _draw_histogram(axes: Any, findings: Findings) -> None:
    histograms = [("stack distance", findings.profile, plot_style.OKABE_ITO[0])]
    if findings.reuse:
        histograms.append(("reuse distance", findings.reuse, plot_style.OKABE_ITO[1]))
    longest = max(len(bins(profile)) for _, profile, _ in histograms)
    width = 0.9 / len(histograms)
    for place, (name, profile, colour) in enumerate(histograms):
        heights = [one.accesses / profile.accesses for one in bins(profile)]
        shift = (place - (len(histograms) - 1) / 2) * width
        axes.bar(np.arange(len(heights)) + shift, heights, width, color=colour, label=name)
    cold = findings.profile.cold / findings.profile.accesses
    axes.bar([longest + 0.5], [cold], 0.9, color=plot_style.GREY, label=findings.cold_name)
    lows = [0, *(1 << power for power in range(longest))][:longest]
    every = -(-longest // 14)  # as many labels as fit
    places = list(range(0, longest, every))
    axes.set_xticks([*places, longest + 0.5], [*(_short(lows[place]) for place in places), findings.cold_name])
    axes.set(xlabel="distance from (to below the next power of two)", ylabel="share of the accesses", ylim=(0, None))
    if findings.reuse:
        axes.legend()


def _short(number: int) -> str:
    """Small numbers as they are, powers of two above."""
    return f"{number}" if number < 1024 else f"$2^{{{number.bit_length() - 1}}}$"


def _draw_curve(mpl: Any, axes: Any, findings: Findings) -> None:
    profile = findings.profile
    sizes = sizes_bytes(findings)
    low, high = min(sizes) / profile.line_bytes, max(sizes) / profile.line_bytes
    lines = _points(profile.miss_ratio_curve().lines, low, high, smooth=findings.sample is not None)
    x, blue = lines * profile.line_bytes, plot_style.OKABE_ITO[0]
    if interval := findings.interval(lines):
        what = "what bursts leave open" if findings.bursts else "95 % interval"
        axes.fill_between(x, *interval, step="post", color=blue, alpha=0.25, linewidth=0, label=what)
        if findings.bursts:
            axes.step(x, np.transpose(interval), where="post", color=blue, linewidth=0.8)
    if not findings.bursts:
        axes.step(x, profile.miss_ratio(lines), where="post", color=blue, label="fully associative LRU")
    if findings.hits:
        _mark(axes, findings.hits)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(mpl.ticker.LogLocator(base=2, numticks=11))
    axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: binary(value)))
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axes.set(xlabel="size of the cache", ylabel="miss ratio", ylim=(0, None))
    axes.set_xlim(min(sizes), max(sizes) * 1.1)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend()
    else:
        axes.set_title("misses of a fully associative LRU cache", pad=14 if findings.hits else None)


def _points(lines: NDArray[np.int64], low: float, high: float, smooth: bool) -> NDArray[np.int64]:
    """Return the sizes at which the curve changes, and its ends.

    A grid of the logarithm if these are too many, and for a sample, whose interval changes elsewhere.
    """
    inside = lines[(lines > low) & (lines < high)]
    if smooth or len(inside) > _POINTS:
        inside = np.geomspace(low, high, _POINTS).astype(np.int64)
    return np.unique(np.array([math.ceil(low), *inside.tolist(), math.ceil(high)], np.int64))


def _mark(axes: Any, hits: Hits) -> None:
    """Mark the sizes of the caches, and their miss ratios if these are not on the curve."""
    missed = hits.accesses
    points: list[tuple[int, float]] = []
    for number, level in enumerate(hits.levels, 1):
        missed -= level.hits
        size = level.geometry.size_bytes
        axes.axvline(size, color=plot_style.DARK, linestyle=":", linewidth=0.8)
        axes.annotate(f"L{number}", (size, 1.01), xycoords=axes.get_xaxis_transform(), fontsize=8, ha="center")
        if level.method != "full":
            points.append((size, missed / hits.accesses))
    if points:
        methods = dict.fromkeys(level.method for level in hits.levels if level.method != "full")
        label = ", ".join(HIT_WORDS[method] for method in methods)
        axes.plot(
            *zip(*points, strict=True), "o", color=plot_style.OKABE_ITO[5], markersize=5, clip_on=False, label=label
        )

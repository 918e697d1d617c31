"""Maps of the order of magnitude of a time over numbers of processors and data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.report.common import plot_style

_NOT_SIMULATED = {"facecolor": "white", "edgecolor": plot_style.GREY, "hatch": "xxx", "linewidth": 0}
_UNSETTLED = {"linestyle": "none", "marker": "o", "markersize": 3, "color": "white", "markeredgecolor": "black"}
_ZERO = {"facecolor": "white", "edgecolor": plot_style.GREY, "linewidth": 0.5}
#: A run of equal cells that is narrower than this part of the axis is too narrow for its number.
_NARROWEST = 0.035
#: Up to so many columns, each cell has its number.
_FEW = 16


@dataclass(frozen=True)
class TimeMap:
    """Seconds over data sets (rows, the first at the bottom) and numbers of processors (columns).

    ``ranks``: (columns,), at least 1 and increasing. ``seconds``: (rows, columns); nan where nothing was simulated.
    ``unsettled``: (rows, columns), whether a time was extrapolated from iterations that still changed; None: of none.
    Raises InputError for anything else.
    """

    title: str
    ranks: Sequence[int] | NDArray[np.int64]
    datasets: Sequence[str]
    seconds: NDArray[np.float64]
    unsettled: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        ranks, seconds = np.asarray(self.ranks), np.asarray(self.seconds, dtype=float)
        if ranks.ndim != 1 or not len(ranks) or np.any(ranks < 1) or np.any(np.diff(ranks) <= 0):
            raise InputError(f"ranks of map {self.title!r}", value=list(ranks), allowed="increasing numbers from 1 on")
        if seconds.shape != (len(self.datasets), len(ranks)) or not len(self.datasets):
            wanted = f"data sets x ranks, {(len(self.datasets), len(ranks))}"
            raise InputError(f"shape of the seconds of map {self.title!r}", value=seconds.shape, allowed=wanted)
        if self.unsettled is not None and self.unsettled.shape != seconds.shape:
            what = f"shape of what is unsettled of map {self.title!r}"
            raise InputError(what, value=self.unsettled.shape, allowed=str(seconds.shape))
        if np.any(seconds < 0) or np.any(np.isinf(seconds)):
            raise InputError(f"map {self.title!r} has seconds below 0 or infinite", allowed="0 or more, or nan")

    @property
    def orders(self) -> NDArray[np.float64]:
        """Whole order of magnitude of each time, -inf for zero seconds, nan where nothing was simulated."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.floor(np.log10(np.asarray(self.seconds, dtype=float))))


def time_maps(maps: Sequence[TimeMap], path: str | Path, title: str = "", columns: int = 2) -> None:
    """Orders of magnitude of times, as in Figure 4 of Armstrong and Eigenmann (SPECseis96): darker is faster.

    A panel for each map, ``columns`` in a row (two: forecast and simulation of the same beside each other). The number
    k in a cell stands for 10^k to 10^(k+1) seconds, ``0 s`` for no time at all, hatching for what was not simulated, a
    dot in the corner for what had not settled.

    Raises InputError for no map, fewer than one column, a path that cannot be written, and when Matplotlib is missing.
    """
    maps = list(maps)
    if not maps:
        raise InputError("a plot needs at least one map")
    if columns < 1:
        raise InputError("columns of maps", value=columns, allowed="1 or more")
    columns = min(columns, len(maps))
    rows = -(-len(maps) // columns)
    with plot_style.styled(path) as mpl:
        heights = [0.9 + 0.26 * max(len(each.datasets) for each in maps)] * rows
        width = 1.2 + 4.7 * columns
        figure = plot_style.new_figure(mpl, width, sum(heights) + 0.9)
        if title:
            figure.suptitle(plot_style.wrapped(title, width - 0.5, 11), x=0.01, ha="left")
        axes = figure.subplots(rows, columns, squeeze=False)
        colours, norm = _scale(mpl, maps)
        for axis, each in zip(axes.flat, maps, strict=False):
            _panel(mpl, axis, each, colours, norm)
            axis.set_title(plot_style.wrapped(each.title, 3.6))
        for axis in axes.flat[len(maps) - columns : len(maps)]:  # the lowest panel of each column
            axis.set_xlabel("P (processors)")
        for axis in axes.flat[len(maps) :]:
            axis.remove()
        _keys(mpl, figure, axes.flat[: len(maps)], maps, colours, norm)
        plot_style.save(figure, path)


def _scale(mpl: Any, maps: Sequence[TimeMap]) -> tuple[Any, Any]:
    """Colour map and norm with one colour for each order of magnitude that occurs, or lies between."""
    orders = np.concatenate([each.orders.ravel() for each in maps])
    orders = orders[np.isfinite(orders)] if np.isfinite(orders).any() else np.zeros(1)
    low, high = int(orders.min()), int(orders.max())
    return mpl.colormaps["viridis"], mpl.colors.BoundaryNorm(np.arange(low, high + 2), mpl.colormaps["viridis"].N)


def _panel(mpl: Any, axis: Any, shown: TimeMap, colours: Any, norm: Any) -> None:
    orders = shown.orders
    edges = _edges(np.log2(np.asarray(shown.ranks, dtype=float)))
    rows = np.arange(len(shown.datasets) + 1) - 0.5
    axis.set_facecolor("white")
    finite = np.ma.masked_invalid(orders)
    # Half an order above the boundary: inside its colour, whatever the rounding.
    lines = {"edgecolors": "white", "linewidth": 0.3} if len(shown.ranks) <= _FEW else {"rasterized": True}
    axis.pcolormesh(edges, rows, finite + 0.5, cmap=colours, norm=norm, **lines)
    for row, line in enumerate(orders):
        for begin, end in _runs(line):
            _label(mpl, axis, (edges[begin], edges[end]), row, line[begin], colours, norm, edges[-1] - edges[0])
    if shown.unsettled is not None:
        marked, places = np.nonzero(shown.unsettled)
        axis.plot(edges[places + 1] - 0.15, marked + 0.3, **_UNSETTLED)
    first, last = (int(np.ceil(edges[0])), int(np.floor(edges[-1])))
    powers = np.arange(first, last + 1)
    powers = powers[:: 1 + len(powers) // 14]
    axis.set_xticks(powers, [f"{2**power:g}" for power in powers.tolist()])
    axis.set_yticks(range(len(shown.datasets)), [plot_style.wrapped(name, 1.5) for name in shown.datasets])
    axis.set_xlim(edges[0], edges[-1])
    axis.tick_params(length=2)
    axis.tick_params(axis="x", labelsize=7)


def _edges(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges of cells around these places: midway between neighbours, the outer cells symmetric."""
    if len(places) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    middle = (places[1:] + places[:-1]) / 2
    return np.concatenate([[2 * places[0] - middle[0]], middle, [2 * places[-1] - middle[-1]]])


def _runs(orders: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Begin and end of every run of equal orders; every cell alone when there are few."""
    if len(orders) <= _FEW:
        return [(place, place + 1) for place in range(len(orders))]
    keys = np.where(np.isnan(orders), np.inf, orders)
    borders = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [len(keys)]])
    return list(pairwise(borders.tolist()))


def _label(
    mpl: Any, axis: Any, span: tuple[float, float], row: int, order: float, colours: Any, norm: Any, whole: float
) -> None:
    """The number of the order, or the look of no time and of nothing simulated."""
    begin, end = span
    if not np.isfinite(order):
        look = _NOT_SIMULATED if np.isnan(order) else _ZERO
        axis.add_patch(mpl.patches.Rectangle((begin, row - 0.5), end - begin, 1.0, **look))
    if np.isnan(order) or end - begin < _NARROWEST * whole:
        return
    dark = np.isfinite(order) and np.dot(mpl.colors.to_rgb(colours(norm(order + 0.5))), (0.3, 0.59, 0.11)) < 0.5
    text = f"{order:.0f}".replace("-", "\N{MINUS SIGN}") if np.isfinite(order) else "0 s"
    axis.text((begin + end) / 2, row, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")


def _keys(mpl: Any, figure: Any, axes: Any, maps: Sequence[TimeMap], colours: Any, norm: Any) -> None:
    """The colour scale, and a legend of the cells that have no colour."""
    orders = np.concatenate([each.orders.ravel() for each in maps])
    if np.isfinite(orders).any():
        bounds = norm.boundaries
        shrink = min(1.0, 5.0 / figure.get_figheight())
        bar = figure.colorbar(
            mpl.cm.ScalarMappable(norm, colours),
            ax=list(axes),
            ticks=bounds,
            aspect=25,
            shrink=shrink,
            anchor=(0.0, 1.0),
            pad=0.02,
        )
        bar.ax.set_yticklabels([_power(bound) for bound in bounds])
        bar.set_label("time (k in a cell: $10^k$ s or more)")
    entries: dict[str, dict[str, Any]] = {}
    if np.isneginf(orders).any():
        entries["zero seconds"] = _ZERO
    if np.isnan(orders).any():
        entries["not simulated"] = _NOT_SIMULATED
    if any(each.unsettled is not None and each.unsettled.any() for each in maps):
        entries["from iterations that still changed"] = _UNSETTLED
    if entries:
        plot_style.legend(mpl, figure, entries)


def _power(order: float) -> str:
    return f"$10^{{{order:.0f}}}$ s"

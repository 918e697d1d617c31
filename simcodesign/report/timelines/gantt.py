"""A simulation as a Gantt chart: operations of every rank, their waits, and messages as lines."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS, RECEIVE, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.core.units import format_quantity
from simcodesign.engine.memory_estimate import BAR, CHART, check_written
from simcodesign.report.common import plot_style
from simcodesign.report.results.utilisation import recorded
from simcodesign.report.timelines.rows import nanoseconds_of, tracks_of

#: Maximum number of ranks drawn, the first ones of more; and messages up to which each has a line.
MOST_RANKS, MOST_LINES = 64, 400
#: Messages whose bytes are written; if there are more of one size, only the legend has it.
MOST_LABELS = 48
#: Number of operations up to which they are drawn one by one.
MOST_BARS = 20_000
#: Meaning of paler bars, if all are of receives, and otherwise: a rank whose own bytes are under way may wait as well.
_FOR_MESSAGES, _WAITING = "waiting for messages", "waiting"
_LINE = {"color": plot_style.DARK, "linewidth": 0.5, "alpha": 0.7, "linestyle": "-", "marker": ">", "markersize": 4}
#: The look of an arrow, in inches and in multiples of its width; size of the text of its bytes in points.
_ARROW = {"width": 0.007, "headwidth": 8, "headlength": 10, "headaxislength": 9}
_LABEL_POINTS = 5.5
#: Possible positions of its bytes along an arrow, the best places first.
_PLACES = (0.5, 0.35, 0.65, 0.25, 0.75, 0.15, 0.85)


def gantt_chart(result: Result, path: str | Path, window_s: tuple[float, float] = (0.0, inf)) -> None:
    """Draw a bar for each operation, from begin to end, a row for each rank; paler while it waits.

    Only the first ones of many ranks are drawn, as the title mentions; messages have arrows if they are few, and their
    bytes if there is room.

    ``window_s``: from when to when. Raises InputError for a result without a timeline, for more operations than can be
    distinguished, for a path that cannot be written, and without Matplotlib.
    """
    chart = _chart(result, window_s)
    height = 0.22 if chart.ranks > 16 else 0.32
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 10.0, 1.6 + height * (chart.last + 1))
        figure.suptitle(plot_style.wrapped(chart.title, 9.5, 11), x=0.01, ha="left")
        plot_style.legend(mpl, figure, _draw(mpl, figure.subplots(), chart))
        plot_style.save(figure, path)


def draw_gantt(
    mpl: Any, axis: Any, result: Result, window_s: tuple[float, float] = (0.0, inf)
) -> dict[str, dict[str, Any]]:
    """Draw the chart into axes; return what its colours and arrows mean. Raises InputError as ``gantt_chart`` does."""
    chart = _chart(result, window_s)
    axis.set_title(chart.part)
    return _draw(mpl, axis, chart)


@dataclass(frozen=True)
class _Chart:
    """Contents of the chart: ``shown`` operations, in ``rows``, from and to ``window_s``."""

    timeline: Timeline
    rows: NDArray[np.int64]
    shown: NDArray[np.bool_]
    window_s: tuple[float, float]
    ranks: int
    title: str
    part: str  # which part of the run, if not all of it

    @property
    def last(self) -> int:
        """The last row."""
        return int(self.rows[self.shown].max(initial=0))


def _chart(result: Result, window_s: tuple[float, float]) -> _Chart:
    """Return the operations of the first ranks within the window. InputError for more than can be distinguished."""
    timeline = recorded(result)
    ranks = int(timeline.rank.max(initial=0)) + 1
    low_s, high_s = window_s[0], min(window_s[1], float(result.makespan_s))
    ready_s, start_s, finish_s = timeline.ready_s, timeline.start_s, timeline.finish_s
    shown = (timeline.rank < MOST_RANKS) & (finish_s > ready_s) & (finish_s >= low_s) & (ready_s <= high_s)
    if shown.sum() > MOST_BARS:
        allowed = f"up to {MOST_BARS:,}: fewer ranks or iterations, or a shorter time (--from, --to)"
        raise InputError("more operations than a chart can show", value=int(shown.sum()), allowed=allowed)
    bars = int((shown & (finish_s > start_s)).sum() + (shown & (start_s > ready_s)).sum())
    check_written("gantt", len(timeline.rank), bars, BAR, CHART)
    ready, _, finish = nanoseconds_of(timeline)
    rows = _rows(timeline.rank, tracks_of(timeline, ready, finish))
    few = "" if ranks <= MOST_RANKS else f", ranks 0 to {MOST_RANKS - 1} of {ranks:,}"
    whole = plot_style.seconds_text(float(result.makespan_s))
    high_s = high_s if high_s > low_s else low_s + 1.0
    is_part = low_s > 0 or high_s < float(result.makespan_s)
    ends = f"{plot_style.seconds_text(low_s)} to {plot_style.seconds_text(high_s)}"
    part = f"time window {ends} of a run of {whole}" if is_part else ""
    title = f"{plot_style.headings([result])[0]}{few}: {part or whole}"
    return _Chart(timeline, rows, shown, (low_s, high_s), ranks, title, part)


def _draw(mpl: Any, axis: Any, chart: _Chart) -> dict[str, dict[str, Any]]:
    """Bars, messages and ticks; what colours and arrows mean."""
    timeline, rows, shown = chart.timeline, chart.rows, chart.shown
    used = _bars(axis, timeline, rows, shown, (timeline.ready_s, timeline.start_s, timeline.finish_s))
    axis.set_ylim(chart.last + 0.6, -0.6)
    axis.set_xlim(*chart.window_s)
    message = _messages(axis, timeline, rows, shown)
    names = {int(rows[at]): int(timeline.rank[at]) for at in np.flatnonzero(timeline.rank < MOST_RANKS)[::-1]}
    first = {rank: row for row, rank in sorted(names.items(), reverse=True)}
    step = -(-len(first) // 32)
    axis.set_yticks([*first.values()][::-1][::step], [f"rank {rank}" for rank in [*first][::-1][::step]], fontsize=7)
    plot_style.time_axis(mpl, axis.xaxis, chart.window_s[1])
    return used | message


def _rows(ranks: NDArray[np.int32], tracks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each operation: operations of a rank together, concurrent ones in rows below the first."""
    count = int(ranks.max(initial=0)) + 1
    order = sorted(set(tracks.tolist()), key=lambda track: (track % count, track))
    places = {track: place for place, track in enumerate(order)}
    return np.array([places[track] for track in tracks.tolist()], dtype=np.int64)


def _bars(
    axis: Any,
    timeline: Timeline,
    rows: NDArray[np.int64],
    shown: NDArray[np.bool_],
    times: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
) -> dict[str, dict[str, Any]]:
    """Bars of what is done, and paler ones of waiting for it; what their colours mean."""
    ready_s, start_s, finish_s = times
    used: dict[str, dict[str, Any]] = {}
    component = COMPONENT_OF_KIND[timeline.kind]
    waits = shown & (start_s > ready_s)
    for number, name in enumerate(COMPONENTS):
        own = np.flatnonzero(shown & (component == number) & (finish_s > start_s))
        if len(own):
            look = {"facecolor": plot_style.COMPONENT_COLOURS[name]}
            axis.barh(rows[own], finish_s[own] - start_s[own], left=start_s[own], height=0.78, **look)
            used[name] = look
    if waits.any():
        axis.barh(rows[waits], (start_s - ready_s)[waits], left=ready_s[waits], height=0.4, **plot_style.WAITING)
        is_for_messages = bool((timeline.kind[waits] == RECEIVE).all())
        used[_FOR_MESSAGES if is_for_messages else _WAITING] = plot_style.WAITING
    return used


def _messages(
    axis: Any, timeline: Timeline, rows: NDArray[np.int64], shown: NDArray[np.bool_]
) -> dict[str, dict[str, Any]]:
    """Return an arrow from the begin of each send to the end of its receive, if they are few; what arrows mean."""
    sends = np.flatnonzero((timeline.kind == SEND) & (timeline.match >= 0) & shown)
    sends = sends[timeline.rank[timeline.match[sends]] < MOST_RANKS]
    if len(sends) > MOST_LINES:
        return {f"{len(sends):,} messages, too many to draw": {"linestyle": ""}}
    if not len(sends):
        return {}
    receives = timeline.match[sends]
    begin = np.array([timeline.start_s[sends], rows[sends]])
    way = np.array([timeline.finish_s[receives], rows[receives]]) - begin
    look = {"color": _LINE["color"], "alpha": _LINE["alpha"], **_ARROW}
    axis.quiver(*begin, *way, angles="xy", scale_units="xy", scale=1.0, units="inches", zorder=3, **look)
    sizes = timeline.size_bytes[sends]
    least, most = (format_quantity(float(size), "size") for size in (sizes.min(), sizes.max()))
    if least != most or len(sends) <= MOST_LABELS:
        _write_bytes(axis, begin, way, sizes)
    return {f"message of {least if least == most else f'{least} to {most}'}": _LINE}


def _write_bytes(axis: Any, begin: NDArray[np.float64], way: NDArray[np.float64], sizes: NDArray[np.float64]) -> None:
    """Write the bytes of each message on its arrow.

    If they hide neither another arrow nor what is written on it.

    ``begin``, ``way``: (2, messages), seconds and rows.
    """
    box, look = axis.get_window_extent(), {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6}
    points = 72 / axis.figure.dpi
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    scale = np.array([[box.width * points / (right - left)], [box.height * points / (bottom - top)]])
    lines, written = np.array([begin, begin + way]) * scale, np.empty((0, 2, 2))
    for number in np.argsort(-np.abs(way[0]), kind="stable"):  # long ones have the most room
        if len(written) == MOST_LABELS:
            return
        text = format_quantity(float(sizes[number]), "size")
        half = np.array([0.3 * len(text) + 0.2, 0.65]) * _LABEL_POINTS
        others = np.delete(lines, number, axis=2)
        for place in _PLACES:
            middle = begin[:, number] + place * way[:, number]
            low, high = middle * scale[:, 0] - half, middle * scale[:, 0] + half
            is_inside = left * scale[0, 0] <= low[0] and high[0] <= right * scale[0, 0]
            is_free = not ((written[:, 0] < high) & (written[:, 1] > low)).all(axis=1).any()
            if is_inside and is_free and not _crosses(others, low, high).any():
                axis.text(*middle, text, fontsize=_LABEL_POINTS, ha="center", va="center", bbox=look, zorder=4)
                written = np.concatenate([written, [[low, high]]])
                break


def _crosses(lines: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which lines, (their two ends, x and y, lines), pass through the rectangle between two corners."""
    begin, way = lines[0], lines[1] - lines[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort([(low[:, None] - begin) / way, (high[:, None] - begin) / way], axis=0)
    is_between = (low[:, None] <= begin) & (begin <= high[:, None])
    into = np.where(way == 0, np.where(is_between, -inf, inf), ends[0]).max(axis=0)
    out = np.where(way == 0, np.where(is_between, inf, -inf), ends[1]).min(axis=0)
    return np.asarray(np.maximum(into, 0.0) <= np.minimum(out, 1.0))

"""A simulation as a Gantt chart: what every rank does when, for whom it waits, and messages as lines."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.report.common import plot_style
from simcodesign.report.results.utilisation import recorded
from simcodesign.report.timelines.rows import nanoseconds_of, tracks_of

#: Ranks that are drawn, the first ones of more; and messages up to which each has a line.
MOST_RANKS, MOST_LINES = 64, 400
#: Operations that are drawn one by one.
MOST_BARS = 20_000
_WAITING = "waiting"
_WAIT_COLOUR = "#d9d9d9"
_LINE = {"color": plot_style.DARK, "linewidth": 0.5, "alpha": 0.6, "linestyle": "-"}


def gantt_chart(result: Result, path: str | Path, window_s: tuple[float, float] = (0.0, inf)) -> None:
    """A bar for each operation, from when to when, a row for each rank; paler where it waits. Of many ranks the first
    ones are drawn, as the title says; messages have lines where there are few.

    ``window_s``: from when to when. Raises InputError for a result without a timeline, for more operations than can be
    told apart, for a path that cannot be written, and without Matplotlib.
    """
    timeline = recorded(result)
    ranks = int(timeline.rank.max(initial=0)) + 1
    low_s, high_s = window_s[0], min(window_s[1], float(result.makespan_s))
    ready_s, start_s, finish_s = timeline.ready_s, timeline.start_s, timeline.finish_s
    shown = (timeline.rank < MOST_RANKS) & (finish_s > ready_s) & (finish_s >= low_s) & (ready_s <= high_s)
    if shown.sum() > MOST_BARS:
        allowed = f"up to {MOST_BARS:,}: fewer ranks or iterations, or a shorter time (--from, --to)"
        raise InputError("more operations than a chart can show", value=int(shown.sum()), allowed=allowed)
    ready, _, finish = nanoseconds_of(timeline)
    rows = _rows(timeline.rank, tracks_of(timeline, ready, finish))
    height = 0.22 if ranks > 16 else 0.32
    with plot_style.styled(path) as mpl:
        figure = plot_style.new_figure(mpl, 10.0, 1.6 + height * (int(rows[shown].max(initial=0)) + 1))
        few = "" if ranks <= MOST_RANKS else f", ranks 0 to {MOST_RANKS - 1} of {ranks:,}"
        title = f"{plot_style.headings([result])[0]}{few}: {plot_style.seconds_text(float(result.makespan_s))}"
        figure.suptitle(plot_style.wrapped(title, 9.5, 11), x=0.01, ha="left")
        axis = figure.subplots()
        used = _bars(axis, timeline, rows, shown, (ready_s, start_s, finish_s))
        is_drawn = _messages(axis, timeline, rows, shown)
        names = {int(rows[at]): int(timeline.rank[at]) for at in np.flatnonzero(timeline.rank < MOST_RANKS)[::-1]}
        first = {rank: row for row, rank in sorted(names.items(), reverse=True)}
        step = -(-len(first) // 32)
        axis.set_yticks(
            [*first.values()][::-1][::step], [f"rank {rank}" for rank in [*first][::-1][::step]], fontsize=7
        )
        axis.set_ylim(int(rows[shown].max(initial=0)) + 0.6, -0.6)
        axis.set_xlim(low_s, high_s if high_s > low_s else low_s + 1.0)
        plot_style.time_axis(mpl, axis.xaxis, high_s)
        plot_style.legend(mpl, figure, used | ({"message": _LINE} if is_drawn else {}))
        plot_style.save(figure, path)


def _rows(ranks: NDArray[np.int32], tracks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of each operation: those of a rank together, what it does beside the first thing below that."""
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
        look = {"facecolor": _WAIT_COLOUR}
        axis.barh(rows[waits], (start_s - ready_s)[waits], left=ready_s[waits], height=0.4, **look)
        used[_WAITING] = look
    return used


def _messages(axis: Any, timeline: Timeline, rows: NDArray[np.int64], shown: NDArray[np.bool_]) -> bool:
    """A line from the begin of each send to the end of its receive, where there are few; whether there are any."""
    sends = np.flatnonzero((timeline.kind == SEND) & (timeline.match >= 0) & shown)
    sends = sends[timeline.rank[timeline.match[sends]] < MOST_RANKS]
    if not 0 < len(sends) <= MOST_LINES:
        return False
    receives = timeline.match[sends]
    x = np.array([timeline.start_s[sends], timeline.finish_s[receives]])
    axis.plot(x, np.array([rows[sends], rows[receives]]), **_LINE)
    return True

"""How many processors do what at each moment of a simulation.

Step functions of the times of its operations, and their plot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.report.common import plot_style

#: More steps than a plot can show.
MOST_STEPS = 2000
#: Rows of a plot; rows without any activity are left out.
_ROWS = {"computation": "computing", "communication": "communicating", "disk": "disk I/O", "memory": "memory"}
#: Steps narrower than a pixel would be blurred to a paler colour, which means waiting.
_STEPS_PER_INCH = 80
#: Smaller parts of the whole are invisible, and need no legend.
_VISIBLE = 1e-3
#: The mean over spans is smoothed over this many of them, or it would beat with whatever repeats in about their time.
_SMOOTH = 25


@dataclass(frozen=True)
class Profile:
    """Numbers of processors over time, constant from ``edges_s[i]`` to ``edges_s[i + 1]``.

    ``edges_s``: (steps + 1,), from 0 to the end of the run. ``working`` and ``waiting``: (phases, components, steps),
    processors at an operation of this phase and component, and waiting for one (for a message, a turn at the disk); one
    that does several things concurrently counts for each of them. ``busy``: (steps,) processors that do anything.
    ``most``: (components,), the largest concurrent number, working or waiting in any phase, which averages do not show.
    ``bounds``: of averages, the least and the largest height of each layer within each step, where the phases that work
    and then those that wait are stacked: (2, components, 2 x phases, steps).
    """

    phases: tuple[str, ...]
    ranks: int
    edges_s: NDArray[np.float64]
    working: NDArray[np.float64]
    waiting: NDArray[np.float64]
    busy: NDArray[np.float64]
    most: NDArray[np.int64]
    bounds: NDArray[np.float64] | None = None

    @property
    def averaged(self) -> bool:
        """Whether the numbers are averages over equal spans of time, and not exact."""
        return self.bounds is not None

    @property
    def idle(self) -> NDArray[np.float64]:
        """Processors that are done, or never had anything to do: (steps,)."""
        return np.asarray(self.ranks - self.busy)

    @property
    def working_s(self) -> NDArray[np.float64]:
        """Processor seconds of work, the area under ``working``: (phases, components)."""
        return np.asarray(self.working @ np.diff(self.edges_s))

    @property
    def waiting_s(self) -> NDArray[np.float64]:
        """Processor seconds of waiting, the area under ``waiting``: (phases, components)."""
        return np.asarray(self.waiting @ np.diff(self.edges_s))


def recorded(result: Result) -> Timeline:
    """Return the timeline of a result. InputError when it has none."""
    if result.timeline is None:
        what = "a forecast" if result.reading == "forecast" else "a simulation without timeline"
        raise InputError("no operations were recorded", value=what, allowed="simulate with timeline=True")
    return result.timeline


def profile(result: Result, most_steps: int = MOST_STEPS) -> Profile:
    """Activity of the processors of a simulation: exact if that takes no more than ``most_steps``, otherwise averages.

    Raises InputError when the result has no timeline.
    """
    timeline = recorded(result)
    ranks = int(timeline.rank.max(initial=-1)) + 1 if result.ranks is None else len(result.ranks.end_s)
    if len(_edges_s(*_intervals(timeline)[1:])) <= most_steps + 1:
        return step_profile(timeline, ranks)
    return binned_profile(timeline, ranks, most_steps)


def step_profile(timeline: Timeline, ranks: int) -> Profile:
    """Return the exact step function: one step between any two neighbouring times at which something starts or ends."""
    cell, begin, end = _intervals(timeline)
    edges = _edges_s(begin, end)
    change = np.zeros((_cells(timeline) + 1, len(edges)))
    np.add.at(change, (cell, np.searchsorted(edges, begin)), 1.0)
    np.add.at(change, (cell, np.searchsorted(edges, end)), -1.0)
    return _profile(timeline, ranks, edges, np.cumsum(change, axis=1)[:, :-1])


def binned_profile(timeline: Timeline, ranks: int, bins: int) -> Profile:
    """Averages over ``bins`` equal spans of time; the area under each curve equals the exact function's."""
    cell, begin, end = _intervals(timeline)
    edges = np.unique(np.linspace(0.0, end.max(initial=0.0), bins + 1))
    if len(edges) == 1:  # all is over at time 0
        return step_profile(timeline, ranks)
    most = len(edges) - 2
    first = np.clip(np.searchsorted(edges, begin, side="right") - 1, 0, most)
    last = np.maximum(np.clip(np.searchsorted(edges, end) - 1, 0, most), first)
    area = np.zeros((_cells(timeline) + 1, len(edges) - 1))
    inside = first == last
    np.add.at(area, (cell, first), np.where(inside, end, edges[first + 1]) - begin)
    np.add.at(area, (cell, last), np.where(inside, 0.0, end - edges[last]))
    # Spans that an interval fills are counted, not added up: whole numbers stay exact.
    full = np.zeros((_cells(timeline) + 1, len(edges)))
    np.add.at(full, (cell[~inside], first[~inside] + 1), 1.0)
    np.add.at(full, (cell[~inside], last[~inside]), -1.0)
    counts = np.cumsum(full, axis=1)[:, :-1] + area / np.diff(edges)
    return _profile(timeline, ranks, edges, counts, layer_bounds(timeline, edges))


def layer_bounds(timeline: Timeline, edges_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least and the largest height of each layer of the stack within each span.

    Averages over spans beat with whatever repeats in about that time, these do not.
    """
    layers = 2 * len(timeline.phases)
    found = np.zeros((2, len(COMPONENTS), layers, len(edges_s) - 1))
    component = COMPONENT_OF_KIND[timeline.kind]
    for place in range(len(COMPONENTS)):
        some = component == place
        if not some.any():
            continue
        phase = timeline.phase[some].astype(np.int64)
        layer = np.concatenate([phase, phase + len(timeline.phases)] * 2)
        ready, start, finish = (each[some] for each in (timeline.ready_s, timeline.start_s, timeline.finish_s))
        moments, at = np.unique(np.concatenate([[0.0], start, ready, finish, start]), return_inverse=True)
        change = np.repeat([1.0, -1.0], 2 * len(phase))
        first = np.maximum(np.searchsorted(moments, edges_s[:-1], side="right") - 1, 0)
        last = np.maximum(np.searchsorted(moments, edges_s[1:], side="left"), first + 1)
        pieces = np.column_stack([first, last]).ravel()
        height = np.zeros(len(moments) + 1)
        for number in range(layers):
            mine = layer == number
            steps = np.bincount(at[1:][mine], weights=change[mine], minlength=len(moments))
            height[:-1] += np.cumsum(steps)
            found[0, place, number] = np.minimum.reduceat(height, pieces)[::2]
            found[1, place, number] = np.maximum.reduceat(height, pieces)[::2]
    return found


def _intervals(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return cell, begin and end of every span of work, of waiting, and of either.

    Cells of the first half are work, of the second half waiting, and one cell more either.
    """
    component = COMPONENT_OF_KIND[timeline.kind]
    work = timeline.phase.astype(np.int64) * len(COMPONENTS) + component
    start = timeline.start_s
    busy_from, busy_until = _busy(timeline)
    return (
        np.concatenate([work, work + _cells(timeline) // 2, np.full(len(busy_from), _cells(timeline))]),
        np.concatenate([start, timeline.ready_s, busy_from]),
        np.concatenate([timeline.finish_s, start, busy_until]),
    )


def _busy(timeline: Timeline) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Begin and end of every span in which a rank does anything, however many things concurrently."""
    moment, place = np.unique(np.concatenate([timeline.ready_s, timeline.finish_s]), return_inverse=True)
    ready, finish = place.reshape(2, -1) + timeline.rank.astype(np.int64) * (len(moment) + 1)
    order = np.argsort(ready, kind="stable")
    until = np.maximum.accumulate(finish[order])
    begins = np.flatnonzero(np.concatenate([[True], ready[order][1:] > until[:-1]])) if len(order) else order
    ends = np.append(begins[1:], len(order))[: len(begins)] - 1
    return moment[ready[order][begins] % (len(moment) + 1)], moment[until[ends] % (len(moment) + 1)]


def _edges_s(begin: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.unique(np.concatenate([[0.0], begin, end]))


def _cells(timeline: Timeline) -> int:
    return 2 * len(timeline.phases) * len(COMPONENTS)


def _profile(
    timeline: Timeline,
    ranks: int,
    edges_s: NDArray[np.float64],
    counts: NDArray[np.float64],
    bounds: NDArray[np.float64] | None = None,
) -> Profile:
    shape = (2, len(timeline.phases), len(COMPONENTS), len(edges_s) - 1)
    working, waiting = counts[:-1].reshape(shape)
    return Profile(timeline.phases, ranks, edges_s, working, waiting, counts[-1], _most(timeline), bounds)


def _most(timeline: Timeline) -> NDArray[np.int64]:
    most = np.zeros(len(COMPONENTS), np.int64)
    for place in range(len(COMPONENTS)):
        some = (COMPONENT_OF_KIND[timeline.kind] == place) & (timeline.finish_s > timeline.ready_s)
        change = np.repeat([-1, 1], np.count_nonzero(some))
        # At the same moment, those that end come before those that begin.
        order = np.lexsort((change, np.concatenate([timeline.finish_s[some], timeline.ready_s[some]])))
        most[place] = np.cumsum(change[order]).max(initial=0)
    return most


def activity_profile(results: Result | Sequence[Result], path: str | Path, titles: Sequence[str] | None = None) -> None:
    """Draw active processors over time, as in Figures 1 to 3 of Armstrong and Eigenmann (SPECseis96).

    a column for each result, a row for each of computing, communicating, disk I/O and memory, a colour for each phase;
    waiting is paler and hatched. If there are too many steps, the least and the most within each span are shown, and
    the mean as a line.

    Raises InputError for a result without timeline, titles that are not as many as results, a path that cannot be
    written, and when Matplotlib is missing.
    """
    results = [results] if isinstance(results, Result) else list(results)
    if not results:
        raise InputError("a plot needs at least one result")
    if titles is not None and len(titles) != len(results):
        raise InputError(f"titles of {len(results)} results", value=list(titles), allowed="one for each result")
    width = max(9.0, 4.2 * len(results))
    profiles = [profile(result, int(_STEPS_PER_INCH * width / len(results))) for result in results]
    shown = [name for name in _ROWS if any(_is_active(each, name) for each in profiles)] or [*_ROWS][:1]
    with plot_style.styled(path) as mpl:
        common, apart = plot_style.headings(results)
        figure = plot_style.new_figure(mpl, width, 1.2 + 1.8 * len(shown))
        figure.suptitle(plot_style.wrapped(common, width - 0.5, 11), x=0.01, ha="left")
        axes = figure.subplots(len(shown), len(results), sharex="col", sharey="col", squeeze=False)
        names = list(dict.fromkeys(phase for each in profiles for phase in each.phases))
        colours = dict(zip(names, plot_style.phase_colours(mpl, len(names)), strict=True))
        for column, (each, heading) in enumerate(zip(profiles, titles or apart, strict=True)):
            _activity_column(mpl, dict(zip(shown, axes[:, column], strict=True)), each, colours)
            head = plot_style.wrapped(heading, 0.8 * width / len(results))
            axes[0, column].set_title(f"{head}\n " if head else "")
        for row, name in enumerate(shown):
            axes[row, 0].set_ylabel(f"{_ROWS[name]}\n(processors)")
        if entries := _entries(profiles, colours):
            plot_style.legend(mpl, figure, entries)
        plot_style.save(figure, path)


def _is_active(shown: Profile, component: str) -> bool:
    """Whether any rank does this, or waits for it."""
    return bool((shown.working_s + shown.waiting_s)[:, COMPONENTS.index(component)].any())


def _entries(profiles: Sequence[Profile], colours: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Meaning of colours; nothing if there is only one."""
    entries: dict[str, dict[str, Any]] = {name: {"facecolor": colour} for name, colour in colours.items()}
    if any(each.averaged for each in profiles):
        entries["light: at times within a span"] = {"facecolor": "#BBBBBB"}
        entries["mean"] = {"color": plot_style.DARK, "linewidth": 0.9, "linestyle": "-"}
    if any(each.waiting_s.sum() > _VISIBLE * each.working_s.sum() for each in profiles):
        hatch = plot_style.WAITING_HATCH
        look = {"facecolor": "#DDDDDD", "edgecolor": plot_style.GREY, "hatch": hatch, "linewidth": 0}
        entries["paler: waiting"] = look
    return entries if len(entries) > 1 else {}


def _activity_column(mpl: Any, rows: Mapping[str, Any], shown: Profile, colours: Mapping[str, Any]) -> None:
    axes = list(rows.values())
    end_s = float(shown.edges_s[-1])
    area_s = (shown.working_s + shown.waiting_s).sum(axis=0)
    for name, axis in rows.items():
        place = COMPONENTS.index(name)
        _stack_phases(mpl, axis, shown, place, colours)
        share = area_s[place] / (shown.ranks * end_s) if end_s > 0 else 0.0
        note = f"{share:.1%} of processor time, at most {shown.most[place]} concurrently"
        axis.set_title(note, loc="right", fontsize=8, color=plot_style.DARK)
    axes[0].set_ylim(0, max(shown.ranks, 1) * 1.04)
    axes[0].set_xlim(0, end_s or 1.0)
    axes[0].yaxis.set_major_locator(_whole_ticks(mpl, shown.ranks))
    plot_style.time_axis(mpl, axes[-1].xaxis, end_s)
    if shown.averaged:
        span = plot_style.seconds_text(float(shown.edges_s[1]))
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}, least and most within {span}")


def _whole_ticks(mpl: Any, ranks: int) -> Any:
    """Ticks at whole numbers of processors, at all of them if that can be."""
    if 0 < ranks < 8:
        return mpl.ticker.MultipleLocator(1)
    quarters = ranks > 0 and ranks % 4 == 0
    return mpl.ticker.MultipleLocator(ranks // 4) if quarters else mpl.ticker.MaxNLocator(4, integer=True)


def _stack_phases(mpl: Any, axis: Any, shown: Profile, component: int, colours: Mapping[str, Any]) -> None:
    """Phases on top of each other, for ranks may be in different ones; all that work below all that wait."""
    if len(shown.edges_s) < 2:
        return
    if shown.bounds is not None:
        _envelope(mpl, axis, shown, component, colours)
        return
    base = np.zeros(len(shown.edges_s) - 1)
    for counts, waiting in ((shown.working, False), (shown.waiting, True)):
        for number, phase in enumerate(shown.phases):
            top = base + counts[number, component]
            if np.any(top > base):
                look = _waiting(mpl, colours[phase]) if waiting else {"facecolor": colours[phase], "edgecolor": "none"}
                axis.stairs(top, shown.edges_s, baseline=base, fill=True, **look)
            base = top


def _waiting(mpl: Any, colour: Any) -> dict[str, Any]:
    """Return the look of waiting.

    An edge of its own colour would blur neighbouring steps, and a hatch has the edge's colour.
    """
    hatch = plot_style.WAITING_HATCH
    return {"facecolor": plot_style.paler(mpl, colour), "edgecolor": colour, "hatch": hatch, "linewidth": 0}


def _envelope(mpl: Any, axis: Any, shown: Profile, component: int, colours: Mapping[str, Any]) -> None:
    """Draw each layer up to its largest height within each step, the lower before the upper ones.

    In full colour where it is at all times; over all of them the mean.
    """
    assert shown.bounds is not None  # of averages
    least, most = shown.bounds[:, component]
    count = len(shown.phases)
    looks = [{"facecolor": plot_style.paler(mpl, colours[name], 0.6), "edgecolor": "none"} for name in shown.phases]
    looks += [_waiting(mpl, colours[name]) for name in shown.phases]
    below = np.vstack([np.zeros_like(most[:1]), most[:-1]])
    there = [number for number in range(2 * count) if np.any(most[number] > below[number])]
    for number in reversed(there):
        axis.stairs(most[number], shown.edges_s, fill=True, **looks[number])
    for number in there:
        if number < count and np.any(least[number] > below[number]):
            top, colour = np.maximum(least[number], below[number]), colours[shown.phases[number]]
            axis.stairs(top, shown.edges_s, baseline=below[number], fill=True, facecolor=colour, edgecolor="none")
    mean = _smooth((shown.working + shown.waiting)[:, component].sum(axis=0))
    axis.plot((shown.edges_s[1:] + shown.edges_s[:-1]) / 2, mean, color=plot_style.DARK, linewidth=0.9)


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means with weights that fall to both sides, of as many neighbours as there are."""
    weights = np.hanning(min(_SMOOTH, 2 * (len(values) // 2) + 1) + 2)[1:-1]
    return np.asarray(np.convolve(values, weights, "same") / np.convolve(np.ones(len(values)), weights, "same"))

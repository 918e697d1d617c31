"""How many processors do what at each moment of a simulation: step functions from the times of its operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline

#: More steps than a plot can show.
MOST_STEPS = 2000


@dataclass(frozen=True)
class Profile:
    """Numbers of processors over time, constant from ``edges_s[i]`` to ``edges_s[i + 1]``.

    ``edges_s``: (steps + 1,), from 0 to the end of the run. ``working`` and ``waiting``: (phases, components, steps),
    processors at an operation of this phase and component, and waiting for one (for a message, a turn at the disk); one
    that does several things at once counts for each of them. ``busy``: (steps,) processors that do anything.
    ``most``: (components,), the largest number at once, working or waiting in any phase, which averages do not show.
    """

    phases: tuple[str, ...]
    ranks: int
    edges_s: NDArray[np.float64]
    working: NDArray[np.float64]
    waiting: NDArray[np.float64]
    busy: NDArray[np.float64]
    most: NDArray[np.int64]
    averaged: bool = False  # over equal spans of time, else exact

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
    """The timeline of a result. InputError when it has none."""
    if result.timeline is None:
        what = "a forecast" if result.reading == "forecast" else "a simulation without timeline"
        raise InputError("no operations were recorded", value=what, allowed="simulate with timeline=True")
    return result.timeline


def profile(result: Result, most_steps: int = MOST_STEPS) -> Profile:
    """What the processors of a simulation did: exact if that takes no more than ``most_steps``, else averages.

    Raises InputError when the result has no timeline.
    """
    timeline = recorded(result)
    ranks = int(timeline.rank.max(initial=-1)) + 1 if result.ranks is None else len(result.ranks.end_s)
    if len(_edges_s(*_intervals(timeline)[1:])) <= most_steps + 1:
        return step_profile(timeline, ranks)
    return binned_profile(timeline, ranks, most_steps)


def step_profile(timeline: Timeline, ranks: int) -> Profile:
    """The exact step function: one step between any two neighbouring times at which something starts or ends."""
    cell, begin, end = _intervals(timeline)
    edges = _edges_s(begin, end)
    change = np.zeros((_cells(timeline) + 1, len(edges)))
    np.add.at(change, (cell, np.searchsorted(edges, begin)), 1.0)
    np.add.at(change, (cell, np.searchsorted(edges, end)), -1.0)
    return _profile(timeline, ranks, edges, np.cumsum(change, axis=1)[:, :-1])


def binned_profile(timeline: Timeline, ranks: int, bins: int) -> Profile:
    """Averages over ``bins`` equal spans of time; the area under each curve is that of the exact function."""
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
    return _profile(timeline, ranks, edges, np.cumsum(full, axis=1)[:, :-1] + area / np.diff(edges), True)


def _intervals(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Cell, begin and end of every span of work (cells of the first half), of waiting (second half), and of either (one
    cell more)."""
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
    """Begin and end of every span in which a rank does anything, however many things at once."""
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
    timeline: Timeline, ranks: int, edges_s: NDArray[np.float64], counts: NDArray[np.float64], averaged: bool = False
) -> Profile:
    shape = (2, len(timeline.phases), len(COMPONENTS), len(edges_s) - 1)
    working, waiting = counts[:-1].reshape(shape)
    return Profile(timeline.phases, ranks, edges_s, working, waiting, counts[-1], _most(timeline), averaged)


def _most(timeline: Timeline) -> NDArray[np.int64]:
    most = np.zeros(len(COMPONENTS), np.int64)
    for place in range(len(COMPONENTS)):
        some = (COMPONENT_OF_KIND[timeline.kind] == place) & (timeline.finish_s > timeline.ready_s)
        change = np.repeat([-1, 1], np.count_nonzero(some))
        # At the same moment, those that end come before those that begin.
        order = np.lexsort((change, np.concatenate([timeline.finish_s[some], timeline.ready_s[some]])))
        most[place] = np.cumsum(change[order]).max(initial=0)
    return most

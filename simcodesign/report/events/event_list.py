"""The events of a simulation in the order of time, as a table and as JSON.

Ranks that wait, begin and end operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS, KINDS, RECEIVE, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.engine.memory_estimate import EVENT, EVENT_STATION, check_written
from simcodesign.report.common.numbers import MAX_WRITTEN_OUT
from simcodesign.report.events.station_waits import StationWait, station_waits
from simcodesign.report.results.utilisation import recorded

#: Events of an operation, in this order; the message of a send arrives by itself.
GOES_ON, WAITS, BEGINS, ENDS, ARRIVES = EVENTS = ("goes on", "waits", "begins", "ends", "arrives")
#: Operations by which the number of stations is estimated.
SAMPLE = 200
HEADS = ("rank", "event", "operation", "bytes", "with rank", "phase", "stations")


@dataclass(frozen=True)
class Event:
    """One event.

    ``rank``: the rank that waits, begins or ends, or the target if a message ``arrives``; ``peer``: the other end of a
    message; ``waits_for``: the rank whose message is waited for; ``stations``: the station that serves the
    operation, or the stations that its message passes in order. ``waits_at``: the station at which it queues, and
    behind which rank, if the engine has recorded that; for a queued message of ``rank`` also ``continues``.
    """

    time_s: float
    rank: int
    event: str
    operation: str
    phase: str
    bytes: float | None
    peer: int | None
    waits_for: int | None
    stations: tuple[str, ...]
    waits_at: StationWait | None = None


@dataclass(frozen=True)
class EventList:
    """The events of a run from ``from_s`` to ``to_s``, both included; JSON is this."""

    workload: str
    machine: str
    effects: tuple[str, ...]
    seed: int | None
    makespan_s: float
    from_s: float
    to_s: float
    events: tuple[Event, ...]


def event_list(result: Result, from_s: float = 0.0, to_s: float = np.inf) -> EventList:
    """Return the events of a simulation between two times.

    InputError for a result without timeline, or ``to_s < from_s``.

    Events of an instant are in the order of ranks, events of a rank in the order of its program; messages that arrive
    come first, unless they set out in the same instant.
    """
    if to_s < from_s:
        raise InputError("the end of the window is before its beginning", value=to_s, allowed=f"{from_s:g} s or later")
    timeline, makespan_s = recorded(result), float(result.makespan_s)
    events = tuple(_events(timeline, from_s, to_s))
    about = (result.workload, result.machine, tuple(result.effects), result.seed)
    return EventList(*about, makespan_s, from_s, min(to_s, makespan_s), events)


def _events(timeline: Timeline, from_s: float, to_s: float) -> Iterator[Event]:
    every = np.arange(len(timeline.rank))
    waiting = every[timeline.start_s > timeline.ready_s]
    parts = [(WAITS, waiting, timeline.ready_s), (BEGINS, every, timeline.start_s), (ENDS, every, timeline.finish_s)]
    if timeline.arrival_s is not None:
        sends = every[(timeline.kind == SEND) & (timeline.peer >= 0) & ~np.isnan(timeline.arrival_s)]
        parts.append((ARRIVES, sends, timeline.arrival_s))
    of_rank, on_way = _waits_at_stations(timeline)
    columns = [_in_window(EVENTS.index(name), ops, times[ops], timeline, from_s, to_s) for name, ops, times in parts]
    columns += _on_way(on_way, timeline, from_s, to_s)
    event_bytes = EVENT + EVENT_STATION * _mean_stations(timeline)
    check_written("events", len(timeline.rank), sum(len(column[0]) for column in columns), event_bytes)
    what, op, time_s, early, rank, wait = (np.concatenate(column) for column in zip(*columns, strict=True))
    for place in np.lexsort((what, wait >= 0, op, rank, ~early, time_s)).tolist():
        name, number = EVENTS[what[place]], int(op[place])
        at = on_way[wait[place]] if wait[place] >= 0 else of_rank.get(number) if name == WAITS else None
        yield _event(timeline, name, number, float(time_s[place]), int(rank[place]), at)


def _mean_stations(timeline: Timeline) -> float:
    """Return the mean number of stations of an operation, over ``SAMPLE`` operations."""
    if timeline.stations_of is None or not len(timeline.rank):
        return 0.0
    sample = np.linspace(0, len(timeline.rank) - 1, SAMPLE).astype(int).tolist()
    return sum(len(timeline.stations_of(op)) for op in sample) / SAMPLE


def _waits_at_stations(timeline: Timeline) -> tuple[dict[int, StationWait], list[StationWait]]:
    """Return waits of ranks in queues, by operation, and waits of messages in flight, which hold no rank."""
    of_rank: dict[int, StationWait] = {}
    on_way: list[StationWait] = []
    for wait in station_waits(timeline):
        if timeline.ready_s[wait.op] <= wait.requested_s < timeline.start_s[wait.op]:
            of_rank.setdefault(wait.op, wait)
        else:
            on_way.append(wait)
    return of_rank, on_way


def _on_way(
    waits: Sequence[StationWait], timeline: Timeline, from_s: float, to_s: float
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield waits of messages on their way, and when they continue, as ``_in_window``."""
    ops, numbers = np.array([one.op for one in waits], np.intp), np.arange(len(waits))
    for name, times in ((WAITS, [one.requested_s for one in waits]), (GOES_ON, [one.begin_s for one in waits])):
        time_s = np.array(times, np.float64)
        inside = (time_s >= from_s) & (time_s <= to_s)
        what, rank = np.full(len(waits), EVENTS.index(name)), timeline.rank[ops]
        columns = (what, ops, time_s, np.zeros(len(waits), bool), rank, numbers)
        yield tuple(column[inside] for column in columns)


def _in_window(
    what: int, ops: NDArray[np.intp], time_s: NDArray[np.float64], timeline: Timeline, from_s: float, to_s: float
) -> tuple[NDArray[Any], ...]:
    """Select the events of one kind in the window.

    Kind, operation, time, whether it comes first in its instant, rank, and -1 unless it is a wait of a message in
    flight.
    """
    inside = (time_s >= from_s) & (time_s <= to_s)
    ops, time_s = ops[inside], time_s[inside]
    arrives = what == EVENTS.index(ARRIVES)
    early = (time_s > timeline.start_s[ops]) if arrives else np.zeros(len(ops), bool)
    rank = timeline.peer[ops] if arrives else timeline.rank[ops]
    return np.full(len(ops), what), ops, time_s, early, rank, np.full(len(ops), -1)


def _event(timeline: Timeline, what: str, op: int, time_s: float, rank: int, at: StationWait | None) -> Event:
    kind, peer = int(timeline.kind[op]), int(timeline.peer[op])
    other = int(timeline.rank[op]) if what == ARRIVES else peer
    is_message = kind in (SEND, RECEIVE)
    moves_bytes = is_message or COMPONENTS[COMPONENT_OF_KIND[kind]] in ("disk", "memory")
    is_on_way = at is not None and (what == GOES_ON or at.requested_s >= timeline.start_s[op])
    return Event(
        time_s=time_s,
        rank=rank,
        event=what,
        operation="message" if what == ARRIVES or (is_on_way and is_message) else KINDS[kind],
        phase=timeline.phases[int(timeline.phase[op])],
        bytes=float(timeline.size_bytes[op]) if moves_bytes else None,
        peer=other if is_message and other >= 0 else None,
        waits_for=peer if what == WAITS and kind == RECEIVE and peer >= 0 else None,
        stations=() if timeline.stations_of is None else timeline.stations_of(op),
        waits_at=at,
    )


def event_lines(events: EventList) -> Iterator[str]:
    """Yield the list as lines of text in columns, a head first.

    Times in microseconds to the nanosecond for runs below a second, otherwise in seconds to the microsecond.
    """
    unit, scale, digits = ("us", 1e6, 3) if events.makespan_s < 1 else ("s", 1.0, 6)

    def shown(time_s: float) -> str:
        return f"{time_s * scale:,.{digits}f}" if time_s < MAX_WRITTEN_OUT else f"{time_s:.4g}"

    rows = [(shown(one.time_s), *_cells(one, shown)) for one in events.events]
    heads = (f"time ({unit})", *HEADS)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield _line(row, widths)


def _cells(one: Event, shown: Callable[[float], str]) -> Sequence[str]:
    stations, words = " > ".join(one.stations), one.event
    if one.waits_at is not None:
        since = f"{one.waits_at.station}, waited since {shown(one.waits_at.requested_s)}"
        stations = since if one.event == GOES_ON else one.waits_at.words
    if one.event == WAITS:
        words = "waits" if one.waits_for is None else f"waits for rank {one.waits_for}"
    size = "" if one.bytes is None else f"{one.bytes:,.10g}"
    return (str(one.rank), words, one.operation, size, "" if one.peer is None else str(one.peer), one.phase, stations)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right, words to the left."""
    numbers = (0, 1, 4, 5)
    parts = (
        cell.rjust(width) if place in numbers else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(parts).rstrip()

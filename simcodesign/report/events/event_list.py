"""The events of a simulation in the order of time, as a table and as JSON: who waits for whom, begins and ends what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.operation_kinds import COMPONENT_OF_KIND, COMPONENTS, KINDS, RECEIVE, SEND
from simcodesign.core.result import Result
from simcodesign.core.simulation_parts import Timeline
from simcodesign.report.results.utilisation import recorded

#: What happens to an operation, in this order; the message of a send arrives by itself.
WAITS, BEGINS, ENDS, ARRIVES = EVENTS = ("waits", "begins", "ends", "arrives")
HEADS = ("rank", "event", "operation", "bytes", "with rank", "phase", "stations")


@dataclass(frozen=True)
class Event:
    """One event. ``rank``: who waits, begins or ends, or to whom a message ``arrives``; ``peer``: the other end of a
    message; ``waits_for``: the rank of which a message is waited for; ``stations``: what serves the operation, or what
    its message passes in turn: one that waits with stations waits for its turn there."""

    time_s: float
    rank: int
    event: str
    operation: str
    phase: str
    bytes: float | None
    peer: int | None
    waits_for: int | None
    stations: tuple[str, ...]


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
    """The events of a simulation between two times. InputError for a result without timeline, or ``to_s < from_s``.

    Events of an instant are in the order of ranks, those of a rank in the order of its program; messages that arrive
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
    columns = [_in_window(EVENTS.index(name), ops, times[ops], timeline, from_s, to_s) for name, ops, times in parts]
    what, op, time_s, early, rank = (np.concatenate(column) for column in zip(*columns, strict=True))
    for place in np.lexsort((what, op, rank, ~early, time_s)).tolist():
        yield _event(timeline, EVENTS[what[place]], int(op[place]), float(time_s[place]), int(rank[place]))


def _in_window(
    what: int, ops: NDArray[np.intp], time_s: NDArray[np.float64], timeline: Timeline, from_s: float, to_s: float
) -> tuple[NDArray[Any], ...]:
    """Of one kind of event those in the window: kind, operation, time, whether it comes first in its instant, rank."""
    inside = (time_s >= from_s) & (time_s <= to_s)
    ops, time_s = ops[inside], time_s[inside]
    arrives = what == EVENTS.index(ARRIVES)
    early = (time_s > timeline.start_s[ops]) if arrives else np.zeros(len(ops), bool)
    rank = timeline.peer[ops] if arrives else timeline.rank[ops]
    return np.full(len(ops), what), ops, time_s, early, rank


def _event(timeline: Timeline, what: str, op: int, time_s: float, rank: int) -> Event:
    kind, peer = int(timeline.kind[op]), int(timeline.peer[op])
    other = int(timeline.rank[op]) if what == ARRIVES else peer
    is_message = kind in (SEND, RECEIVE)
    moves_bytes = is_message or COMPONENTS[COMPONENT_OF_KIND[kind]] in ("disk", "memory")
    return Event(
        time_s=time_s,
        rank=rank,
        event=what,
        operation="message" if what == ARRIVES else KINDS[kind],
        phase=timeline.phases[int(timeline.phase[op])],
        bytes=float(timeline.size_bytes[op]) if moves_bytes else None,
        peer=other if is_message and other >= 0 else None,
        waits_for=peer if what == WAITS and kind == RECEIVE and peer >= 0 else None,
        stations=() if timeline.stations_of is None else timeline.stations_of(op),
    )


def event_lines(events: EventList) -> Iterator[str]:
    """The list as lines of text in columns, a head first; times in microseconds to the nanosecond for runs below a
    second, else in seconds to the microsecond."""
    unit, scale, digits = ("us", 1e6, 3) if events.makespan_s < 1 else ("s", 1.0, 6)
    rows = [(f"{one.time_s * scale:,.{digits}f}", *_cells(one)) for one in events.events]
    heads = (f"time ({unit})", *HEADS)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield _line(row, widths)


def _cells(one: Event) -> Sequence[str]:
    stations = " > ".join(one.stations)
    words = one.event
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

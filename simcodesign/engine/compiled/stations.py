"""Stations of the compiled engine: who is served next and when to arbitrate again, also with limited capacity."""

from __future__ import annotations

import numpy as np

from simcodesign.core.jit import called, inlined
from simcodesign.engine.compiled.calendar import schedule
from simcodesign.engine.compiled.operations import Run, go_on, release
from simcodesign.engine.compiled.state import BLOCKED, DONE, GRANTED, Array, as_int64
from simcodesign.engine.compiled.waiting_line import (
    first_arrival_s,
    forget,
    leave_the_way,
    line_up,
    line_up_one,
    next_in_line,
)
from simcodesign.generate.plan import LIMITED, NONE


@inlined
def wake(run: Run, station: int) -> None:
    """Arbitrate as soon as somebody has come and a server is free; with somebody in line, that is settled already."""
    if run.stations.head[station] == NONE:
        first = run.requests.arrival_s[run.stations.root[station]]
        schedule(run.stations, run.calendar, station, max(run.stations.free_s[station], first))


@inlined
def grant(run: Run, station: int, now: float) -> int:
    """Who is next, with the station's statistics."""
    line_up(run.stations, run.requests, station, now)
    slot = next_in_line(run.stations, run.requests, station)
    run.stations.served[station] += 1
    run.stations.wait_s[station] += now - run.requests.arrival_s[slot]
    return slot


@called
def serve(run: Run, station: int, now: float) -> None:
    """A disk or a processor takes up an operation."""
    if len(run.program.discipline) and run.program.discipline[station] == LIMITED:
        serve_limited(run, station, now)
        return
    take_up(run, station, grant(run, station, now), now)
    wake_after(run, station, now)


@inlined
def take_up(run: Run, station: int, slot: int, now: float) -> None:
    """A server is at work on an operation from now on."""
    op = begin_service(run, station, slot, now)
    go_on(run, op, GRANTED, now)


@inlined
def begin_service(run: Run, station: int, slot: int, now: float) -> int:
    """A server is taken for as long as an operation lasts, which is no request any more; the operation."""
    op: int = as_int64(run.requests.op[slot])
    forget(run.requests, run.memory, slot)
    run.stations.busy_s[station] += run.program.duration_s[op]
    first, last = run.memory.server_start[station], run.memory.server_start[station + 1]
    until = now + run.program.duration_s[op]
    run.stations.free_s[station] = occupied(run.memory.server_free_s, first, last, until)
    return op


@inlined
def wake_after(run: Run, station: int, now: float) -> None:
    """After a grant: arbitrate again as soon as possible if somebody has come already or is known to come."""
    first = first_arrival_s(run.stations, run.requests, station)
    if first < np.inf:
        schedule(run.stations, run.calendar, station, max(run.stations.free_s[station], max(first, now)))


@inlined
def occupied(free_s: Array, first: int, last: int, until: float) -> float:
    """The first server of a heap to be free (from ``first`` to ``last``) is taken ``until``; when the next is free."""
    place, count = 0, last - first
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and free_s[first + child + 1] < free_s[first + child]:
            child += 1
        if free_s[first + child] >= until:
            break
        free_s[first + place] = free_s[first + child]
        place = child
    free_s[first + place] = until
    return free_s[first]


# --- Stations of limited capacity ----------------------------------------------------------------------------


@called
def serve_limited(run: Run, station: int, now: float) -> None:
    """A station judges who has come, and then takes up an operation if it can."""
    judge(run, station, now)
    if run.stations.head[station] != NONE and run.stations.free_s[station] <= now:
        slot = next_in_line(run.stations, run.requests, station)
        run.stations.served[station] += 1
        run.stations.wait_s[station] += now - run.requests.arrival_s[slot]
        take_up(run, station, slot, now)
    wake_limited(run, station, now)


@inlined
def judge(run: Run, station: int, now: float) -> None:
    """Those who have come by now stand in line, or are blocked."""
    first, last, vacant = run.memory.server_start[station], run.memory.server_start[station + 1], 0
    for server in range(first, last):
        vacant -= run.memory.server_free_s[server] > now
    vacant += run.program.capacity[station] - run.stations.waiting[station]
    while run.stations.root[station] != NONE and run.requests.arrival_s[run.stations.root[station]] <= now:
        slot = leave_the_way(run.stations, run.requests, station)
        if vacant > 0:
            vacant -= 1
            line_up_one(run.stations, run.requests, station, slot)
        else:
            block(run, slot, now)
    run.stations.longest[station] = max(run.stations.longest[station], run.stations.waiting[station])


@called
def block(run: Run, slot: int, now: float) -> None:
    """An operation that finds its station full is done."""
    op = as_int64(run.requests.op[slot])
    forget(run.requests, run.memory, slot)
    run.memory.blocked[run.memory.state[BLOCKED]] = op
    run.memory.state[BLOCKED] += 1
    run.memory.finish_s[op] = now
    run.memory.missing[op] = DONE
    if len(run.program.edge_start):
        for edge in range(run.program.edge_start[op], run.program.edge_start[op + 1]):
            release(run, run.program.edge_target[edge], now)
    if run.program.follows_previous[op + 1]:
        release(run, op + 1, now)


@inlined
def wake_limited(run: Run, station: int, now: float) -> None:
    """Arbitrate when somebody comes, and when a server is free for those in line."""
    root = run.stations.root[station]
    if root != NONE:
        schedule(run.stations, run.calendar, station, max(run.requests.arrival_s[root], now))
    if run.stations.head[station] != NONE:
        schedule(run.stations, run.calendar, station, max(run.stations.free_s[station], now))

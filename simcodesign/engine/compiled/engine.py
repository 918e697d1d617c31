"""The fast engine: the same Plan under the same event contract as the SimPy engine, compiled with Numba.

Ranks run ahead of the clock. When an operation begins it is known when it will be done, so nothing happens when it is;
the next one begins in the same breath, until a rank must wait for a message or a station. A message in turn asks for
its next station as soon as it is known when it will come there. What is left for the queue of events are arbitrations:
one event for every request at a station, and none at all where nothing is shared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcodesign.core.jit import called, compiled_without_arrays, inlined
from simcodesign.core.result import RECEIVE, SEND
from simcodesign.engine.compiled.calendar import Calendar, calendar_for, next_station, schedule
from simcodesign.engine.compiled.state import (
    AHEAD,
    BLOCKED,
    DONE,
    GRANTED,
    MET,
    READY,
    Array,
    Memory,
    Program,
    Requests,
    StationStates,
    memory_for,
    program_of,
    requests_for,
    station_states,
)
from simcodesign.engine.compiled.waiting_line import (
    come,
    first_arrival_s,
    forget,
    join,
    leave_the_way,
    line_up,
    line_up_one,
    melded,
    new_request,
    next_in_line,
    without_root,
)
from simcodesign.engine.event_contract import Log, OnProgress, blocked_by_station, check_finished, count_events
from simcodesign.generate.plan import LIMITED, NONE, Plan

#: Operations and arbitrations between two reports of progress, and looks at whether somebody interrupts.
REPORT_EVERY = 2_000_000
_INJECT, _TAIL, _INTERFACE, _LINK, _GAP, _LATENCY = range(6)


class Run(NamedTuple):
    """All that a run needs and has."""

    program: Program
    requests: Requests
    stations: StationStates
    memory: Memory
    calendar: Calendar


def run(plan: Plan, on_progress: OnProgress | None = None) -> Log:
    """Walk the Plan to its end. DeadlockError when ranks wait for each other."""
    program, stations, memory = program_of(plan), station_states(plan), memory_for(plan)
    state = Run(program, requests_for(plan), stations, memory, calendar_for(plan))
    rounds, now = 0, 0.0
    while now < np.inf:
        now = walk(state, REPORT_EVERY)
        rounds += 1
        if on_progress is not None and now < np.inf:
            on_progress(now, rounds * REPORT_EVERY)
    finish = memory.finish_s
    finish[memory.missing != DONE] = np.nan
    check_finished(plan, finish)
    stations = StationStates(*(field[: len(plan.stations)] for field in stations))
    served = stations.served.astype(np.int64)
    blocked = np.sort(memory.blocked[: memory.state[BLOCKED]]).astype(np.int64)
    return Log(
        finish_s=finish,
        arrival_s=memory.arrival_s if len(memory.arrival_s) else np.where(plan.kind == SEND, finish, np.nan),
        match=program.match,
        served=served,
        busy_s=stations.busy_s.copy(),
        wait_s=stations.wait_s.copy(),
        longest_queue=stations.longest.astype(np.int64),
        blocked=blocked_by_station(plan, blocked),
        blocked_operations=blocked,
        events=count_events(plan, served),
    )


@compiled_without_arrays
def walk(run: Run, limit: int) -> float:
    """Do ``limit`` operations and arbitrations; the time of the last arbitration then, infinity at the end."""
    now, done = 0.0, 0
    while done < limit:
        done += 1
        if run.memory.state[READY]:
            done += proceed(run, limit)
            if run.memory.state[READY]:
                return now
        station = next_station(run.stations, run.calendar)
        if station == NONE:
            return np.inf
        now = run.stations.wake_s[station]
        run.stations.wake_s[station] = np.inf
        if station >= run.program.first_mailbox:
            meet(run, station, now)
        elif station >= run.program.first_interface:
            forward(run, station, now)
        else:
            serve(run, station, now)
    return now


# --- Ranks ----------------------------------------------------------------------------------------------------


@inlined
def proceed(run: Run, limit: int) -> int:
    """Start the operations that are ready, and those that follow them, ``limit`` at most; how many these were."""
    done = 0
    while run.memory.state[READY] and done < limit:
        run.memory.state[READY] -= 1
        op = run.memory.stack[run.memory.state[READY]]
        while op != NONE:
            if done == limit:
                run.memory.stack[run.memory.state[READY]] = op
                run.memory.state[READY] += 1
                break
            done += 1
            place = waits_at(run, op)
            if place == NONE:
                op = begin(run, op)
            else:
                ask(run, place, op)
                op = NONE
    return done


@inlined
def waits_at(run: Run, op: int) -> int:
    """The station or mailbox at which an operation must wait now; NONE if it may begin."""
    stage = run.memory.missing[op]
    if stage == GRANTED:
        return NONE
    if (
        stage != MET
        and len(run.program.mailbox)
        and run.program.mailbox[op] != NONE
        and run.program.kind[op] == RECEIVE
    ):
        return run.program.mailbox[op]
    return run.program.station[op] if len(run.program.station) else NONE


@inlined
def go_on(run: Run, op: int, stage: int, now: float) -> None:
    """An operation has got now what it waited for."""
    run.memory.finish_s[op] = now
    run.memory.missing[op] = stage
    run.memory.stack[run.memory.state[READY]] = op
    run.memory.state[READY] += 1


@inlined
def beginning_s(run: Run, op: int, now: float) -> float:
    """When an operation begins that could begin now: sends and receives keep their gaps."""
    if len(run.program.gap_s) and run.program.kind[op] in (SEND, RECEIVE):
        return max(now, run.memory.gap_over_s[gate(run, op)])
    return now


@inlined
def gate(run: Run, op: int) -> int:
    """What a message must pass: the way out or in, of a rank that works in order or of a processor."""
    number = run.program.rank[op]
    if len(run.program.station) and run.program.station[op] != NONE:
        number = len(run.memory.gap_over_s) // 2 - 1 - run.program.station[op]
    return 2 * number + (run.program.kind[op] == SEND)


@inlined
def begin(run: Run, op: int) -> int:
    """The operation begins, and all that follows from it is known; the one after it if that is ready then."""
    time = beginning_s(run, op, run.memory.finish_s[op])
    end = time + run.program.duration_s[op]
    run.memory.finish_s[op] = end
    run.memory.missing[op] = DONE
    kind = run.program.kind[op]
    if len(run.program.gap_s) and kind in (SEND, RECEIVE):
        run.memory.gap_over_s[gate(run, op)] = time + run.program.gap_s[op]
    if kind == SEND:
        send(run, op, time, end)
    if len(run.program.edge_start):
        for edge in range(run.program.edge_start[op], run.program.edge_start[op + 1]):
            release(run, run.program.edge_target[edge], time if run.program.edge_early[edge] else end)
    op += 1
    if run.program.follows_previous[op]:
        run.memory.finish_s[op] = max(run.memory.finish_s[op], end)
        run.memory.missing[op] -= 1
        if run.memory.missing[op] == 0:
            return op
    return NONE


@inlined
def release(run: Run, op: int, time: float) -> None:
    """One thing that an operation waited for happens at ``time``."""
    run.memory.finish_s[op] = max(run.memory.finish_s[op], time)
    run.memory.missing[op] -= 1
    if run.memory.missing[op] == 0:
        run.memory.stack[run.memory.state[READY]] = op
        run.memory.state[READY] += 1


@inlined
def send(run: Run, op: int, time: float, end: float) -> None:
    """The message of a send sets out, or is there when its send is done, or after its flight."""
    if len(run.program.route) and run.program.route[op] != NONE:
        set_out(run, op, time)
    elif len(run.program.flight_s):
        arrive(run, op, time + run.program.flight_s[op])
    else:
        arrive(run, op, end)


@inlined
def arrive(run: Run, op: int, time: float) -> None:
    """The message of a send is there at ``time``."""
    if len(run.memory.arrival_s):
        run.memory.arrival_s[op] = time
    if len(run.program.mailbox) and run.program.mailbox[op] != NONE:
        put(run, op, time)
    else:
        release(run, run.program.match[op], time)


# --- Stations -------------------------------------------------------------------------------------------------


@inlined
def ask(run: Run, station: int, op: int) -> None:
    """An operation that is ready comes to a station or a mailbox."""
    slot = new_request(run.requests, run.memory, op, run.memory.finish_s[op])
    if len(run.program.discipline) and run.program.discipline[station] == LIMITED:
        come(run.stations, run.requests, station, slot)
        schedule(run.stations, run.calendar, station, run.requests.arrival_s[slot])
        return
    join(run.stations, run.requests, station, slot)
    if station >= run.program.first_mailbox:
        wake_mailbox(run, station, 0.0)
    else:
        wake(run, station)


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
    op = run.requests.op[slot]
    forget(run.requests, run.memory, slot)
    until = beginning_s(run, op, now) + run.program.duration_s[op]
    run.stations.busy_s[station] += run.program.duration_s[op]
    first, last = run.memory.server_start[station], run.memory.server_start[station + 1]
    run.stations.free_s[station] = occupied(run.memory.server_free_s, first, last, until)
    go_on(run, op, GRANTED, now)


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
    op = run.requests.op[slot]
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


# --- Mailboxes ------------------------------------------------------------------------------------------------


@called
def put(run: Run, op: int, time: float) -> None:
    """The message of a send comes to its mailbox."""
    box = run.program.mailbox[op]
    slot, stock = new_request(run.requests, run.memory, op, time), run.memory.stock[box - run.program.first_mailbox]
    run.memory.stock[box - run.program.first_mailbox] = slot if stock == NONE else melded(run.requests, stock, slot)
    wake_mailbox(run, box, 0.0)


@inlined
def wake_mailbox(run: Run, box: int, now: float) -> None:
    """Let the first receive and the first message meet as soon as both are there."""
    stock = run.memory.stock[box - run.program.first_mailbox]
    first = first_arrival_s(run.stations, run.requests, box)
    if stock != NONE and first < np.inf:
        schedule(run.stations, run.calendar, box, max(now, max(first, run.requests.arrival_s[stock])))


@called
def meet(run: Run, box: int, now: float) -> None:
    """The first message in a mailbox goes to the first receive."""
    slot, stock = grant(run, box, now), run.memory.stock[box - run.program.first_mailbox]
    run.memory.stock[box - run.program.first_mailbox] = without_root(run.requests, stock)
    receive, send_ = run.requests.op[slot], run.requests.op[stock]
    run.program.match[receive], run.program.match[send_] = send_, receive
    forget(run.requests, run.memory, slot)
    forget(run.requests, run.memory, stock)
    wake_mailbox(run, box, now)
    go_on(run, receive, MET, now)


# --- Messages -------------------------------------------------------------------------------------------------


@inlined
def set_out(run: Run, op: int, time: float) -> None:
    """The message of a send makes for the first station on its way."""
    cost, route = run.program.cost[op], run.program.route[op]
    head = time + run.program.costs[cost, _INJECT]
    slot = new_request(run.requests, run.memory, op, head)
    run.requests.tail_s[slot] = head + run.program.costs[cost, _TAIL]
    run.requests.cost[slot] = cost
    place = run.program.way_start[route]
    run.requests.place[slot] = place
    run.requests.left[slot] = run.program.way_start[route + 1] - place - 1
    look_ahead(run, slot)
    station = run.program.way[place]
    join(run.stations, run.requests, station, slot)
    wake(run, station)


@inlined
def forward(run: Run, station: int, now: float) -> None:
    """An interface or a link takes up a message: head and tail go on (see ``Routes``)."""
    slot = grant(run, station, now)
    is_link = station >= run.program.first_link
    cost, left = run.requests.cost[slot], run.requests.left[slot]
    service = run.program.costs[cost, _LINK if is_link else _INTERFACE]
    if len(run.program.service_factor):
        service *= run.program.service_factor[station]
    tail = max(run.requests.tail_s[slot], now + service)
    run.stations.busy_s[station] += service
    run.stations.free_s[station] = now + service
    wake_after(run, station, now)
    way_s = 0.0
    if is_link or left:
        way_s = run.program.costs[cost, _LATENCY if is_link else _GAP]
        tail += way_s
    if not left:
        op = run.requests.op[slot]
        forget(run.requests, run.memory, slot)
        arrive(run, op, tail)
        return
    following = follow(run, slot)
    stored = is_link and run.program.store_and_forward and following >= run.program.first_link
    run.requests.tail_s[slot] = tail
    run.requests.arrival_s[slot] = tail if stored else now + way_s
    run.requests.child[slot] = run.requests.sibling[slot] = NONE
    join(run.stations, run.requests, following, slot)
    wake(run, following)


@inlined
def follow(run: Run, slot: int) -> int:
    """The next station on a message's way."""
    run.requests.place[slot] += 1
    run.requests.left[slot] -= 1
    if run.requests.left[slot] % AHEAD == AHEAD - 1:
        look_ahead(run, slot)
    return run.requests.ahead[slot, run.requests.left[slot] % AHEAD]


@inlined
def look_ahead(run: Run, slot: int) -> None:
    """Copy the next stations of a message's way, each to the place that says how many are left after it."""
    left, place = run.requests.left[slot], run.requests.place[slot]
    for step in range(left % AHEAD + 1):
        run.requests.ahead[slot, (left - step) % AHEAD] = run.program.way[place + step]

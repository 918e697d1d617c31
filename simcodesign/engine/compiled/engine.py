"""The fast engine: the same Plan under the same event contract as the SimPy engine, compiled with Numba.

Ranks run ahead of the clock. When an operation begins it is known when it will be done, so nothing happens when it is;
the next one begins in the same breath, until a rank must wait for a message or a station. A message in turn asks for
its next station as soon as it is known when it will come there. What is left for the queue of events are arbitrations:
one event for every request at a station, and none at all where nothing is shared.
"""

from __future__ import annotations

import numpy as np

from simcodesign.core.jit import compiled_without_arrays, inlined
from simcodesign.core.operation_kinds import SEND
from simcodesign.engine.compiled.calendar import calendar_for, first_station, schedule, take_first
from simcodesign.engine.compiled.flows import flows_for
from simcodesign.engine.compiled.hops import pass_station
from simcodesign.engine.compiled.journeys import (
    LOST,
    NODES,
    every_hop_takes_time,
    journeys_for,
    needs_nodes,
    next_message_s,
    with_more_nodes,
)
from simcodesign.engine.compiled.mailboxes import expect, meet
from simcodesign.engine.compiled.messages import (
    become_flow,
    choose_route,
    count_last_queues,
    forward,
    hold,
    send,
    send_of_others,
    share_links,
)
from simcodesign.engine.compiled.operations import Run, fetch_operation, is_over, others_for, release, waits_at
from simcodesign.engine.compiled.packets import packets_for
from simcodesign.engine.compiled.state import (
    BLOCKED,
    DONE,
    READY,
    StationStates,
    as_int64,
    memory_for,
    program_of,
    requests_for,
    station_states,
)
from simcodesign.engine.compiled.stations import serve, wake
from simcodesign.engine.compiled.turns import rules_of, turns_for
from simcodesign.engine.compiled.waiting_line import come, join, new_request
from simcodesign.engine.event_contract import (
    Log,
    OnProgress,
    blocked_by_station,
    check_finished,
    count_events,
    count_flows,
)
from simcodesign.generate.plan import LIMITED, NONE, Plan

#: Operations and arbitrations between two reports of progress, after each of which an interrupt is noticed.
REPORT_EVERY = 2_000_000
#: Ready operations that are looked at ahead.
READY_AHEAD = 4


def run(plan: Plan, on_progress: OnProgress | None = None) -> Log:
    """Walk the Plan to its end. DeadlockError when ranks wait for each other."""
    on_journeys = plan.background is None and every_hop_takes_time(plan)
    log = _walked(plan, on_journeys, on_progress)
    if log is None:  # hops did not take time, after rounding
        log = _walked(plan, False, on_progress)
        assert log is not None, "only journeys lose times of hops"
    return log


def _walked(plan: Plan, on_journeys: bool, on_progress: OnProgress | None) -> Log | None:
    """The Log of a run; None if times of hops were lost to rounding and messages were ``on_journeys``."""
    program, stations, memory = program_of(plan), station_states(plan), memory_for(plan)
    flows = flows_for(plan)
    calendar, packets, others = calendar_for(plan), packets_for(plan), others_for(plan)
    rules, turns = rules_of(plan), turns_for(plan)
    if on_journeys:
        stations.wake_s[program.first_interface : program.first_mailbox] = -np.inf
    requests, journeys = requests_for(plan, not on_journeys), journeys_for(plan, on_journeys)
    state = Run(program, requests, stations, memory, calendar, flows, packets, rules, turns, journeys, others)
    if plan.background is not None:
        send_of_others(state)
    rounds, now = 0, 0.0
    while now < np.inf:
        now = walk(state, REPORT_EVERY)
        if state.journeys.counts[NODES] == len(state.journeys.nodes):
            state = state._replace(journeys=with_more_nodes(state.journeys))
        rounds += 1
        if on_progress is not None and now < np.inf:
            on_progress(now, rounds * REPORT_EVERY)
    if state.journeys.counts[LOST]:
        return None
    finish = memory.finish_s
    finish[memory.missing != DONE] = np.nan
    check_finished(plan, finish)
    if plan.background is not None:
        count_last_queues(state)
    stations = StationStates(*(field[: len(plan.stations)] for field in stations))
    if plan.routes is not None and plan.routes.fair is not None:
        count_flows(plan, finish, stations.served, stations.busy_s, others.busy_s)
        stations.longest[:] = np.maximum(stations.longest, flows.totals.longest[: len(plan.stations)])
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
        others_busy_s=None if plan.background is None else others.busy_s,
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
        station = first_station(run.stations, run.calendar)
        if len(run.journeys.days):
            if needs_nodes(run.journeys):
                return now
            message_s = next_message_s(run.journeys)
            if message_s < np.inf and messages_are_first(run, message_s, station):
                now = message_s
                pass_station(run, now)
                continue
        if station == NONE:
            return np.inf
        take_first(run.stations, run.calendar, station)
        now = run.stations.wake_s[station]
        if len(run.others.sets_out_s) and is_over(run.others, run.memory, now):
            return np.inf
        run.stations.wake_s[station] = np.inf
        if station == run.program.all_links:
            if run.flows.stations:
                share_links(run, now)
            else:
                choose_route(run, now)
        elif station >= run.program.first_mailbox:
            meet(run, station, now)
        elif station >= run.program.first_interface:
            forward(run, station, now)
        else:
            serve(run, station, now)
    return now


@inlined
def messages_are_first(run: Run, message_s: float, station: int) -> bool:
    """Whether a message comes to its next station before this one arbitrates: interfaces and links do so between
    other stations and mailboxes."""
    if station == NONE or run.stations.wake_s[station] > message_s:
        return True
    return bool(run.stations.wake_s[station] == message_s and station >= run.program.first_interface)


@inlined
def proceed(run: Run, limit: int) -> int:
    """Start the operations that are ready, and those that follow them, ``limit`` at most; how many these were."""
    done = 0
    while run.memory.state[READY] and done < limit:
        run.memory.state[READY] -= 1
        op = as_int64(run.memory.stack[run.memory.state[READY]])
        if run.memory.state[READY] >= READY_AHEAD:
            fetch_operation(run, run.memory.stack[run.memory.state[READY] - READY_AHEAD])
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
def begin(run: Run, op: int) -> int:
    """The operation begins, and all that follows from it is known; the one after it if that is ready then."""
    time = run.memory.finish_s[op]
    end = time + run.program.duration_s[op]
    run.memory.finish_s[op] = end
    run.memory.missing[op] = DONE
    if run.program.kind[op] == SEND:
        send(run, op, time, end)
        if (run.flows.stations and run.flows.holds[op]) or (len(run.packets.total) and run.packets.holds[op]):
            hold(run, op, time)
            return NONE
    elif run.flows.stations and run.program.route[op] != NONE:  # an access shares a memory controller with messages
        become_flow(run, op, time)
        hold(run, op, time)
        return NONE
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
def ask(run: Run, station: int, op: int) -> None:
    """An operation that is ready comes to a station or a mailbox."""
    slot = new_request(run.requests, run.memory, op, run.memory.finish_s[op])
    if len(run.program.discipline) and run.program.discipline[station] == LIMITED:
        come(run.stations, run.requests, station, slot)
        schedule(run.stations, run.calendar, station, run.requests.arrival_s[slot])
        return
    if station >= run.program.first_mailbox:
        expect(run, station, slot)
        return
    join(run.stations, run.requests, station, slot)
    wake(run, station)

"""The compiled engine for Plans by the rules of LogGOPSim (number 5 of the event contract)."""

from __future__ import annotations

import numpy as np

from simcodesign.core.jit import called, compiled_without_arrays, inlined
from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.engine.compiled.calendar import calendar_for, next_station, schedule
from simcodesign.engine.compiled.flows import flows_for
from simcodesign.engine.compiled.journeys import journeys_for
from simcodesign.engine.compiled.loggopsim_operations import (
    add_ready,
    begin,
    enter,
    item_earliest_s,
    line_up,
    post,
    serve_operation,
    take_message,
)
from simcodesign.engine.compiled.messages import count_last_queues, forward, send_of_others, share_links
from simcodesign.engine.compiled.operations import Run, is_over_in_loggopsim, others_for
from simcodesign.engine.compiled.packets import packets_for
from simcodesign.engine.compiled.state import as_int64, memory_for, program_of, requests_for, station_states
from simcodesign.engine.compiled.turns import (
    READY,
    SIZE,
    join_line,
    leave_line,
    remove_first,
    rules_of,
    try_at,
    turns_for,
)
from simcodesign.engine.event_contract import (
    Log,
    OnProgress,
    blocked_by_station,
    check_finished,
    count_events,
    count_flows,
)
from simcodesign.engine.whole_times import in_seconds, in_whole_units
from simcodesign.generate.plan import NONE, Plan

#: Turns between two reports of progress, after each of which an interrupt is noticed.
REPORT_EVERY = 2_000_000


def run(plan: Plan, on_progress: OnProgress | None = None) -> Log:
    """Walk the Plan to its end. DeadlockError when ranks wait for each other."""
    plan, per_second = in_whole_units(plan)
    stations, memory = station_states(plan), memory_for(plan)
    flows, rules, turns, others = flows_for(plan), rules_of(plan), turns_for(plan), others_for(plan)
    state = Run(
        program_of(plan),
        requests_for(plan),
        stations,
        memory,
        calendar_for(plan),
        flows,
        packets_for(plan),
        rules,
        turns,
        journeys_for(plan, used=False),
        others,
    )
    memory.finish_s[:] = np.nan
    if plan.background is not None:
        send_of_others(state)
    enter_first(state)
    rounds, now = 0, 0.0
    while now < np.inf:
        now = walk(state, REPORT_EVERY)
        rounds += 1
        if on_progress is not None and now < np.inf:
            on_progress(now, rounds * REPORT_EVERY)
    check_finished(plan, memory.finish_s)
    count = len(plan.stations)
    if plan.background is not None:
        count_last_queues(state)
    if plan.routes is not None and plan.routes.fair is not None:
        count_flows(plan, memory.finish_s, stations.served[:count], stations.busy_s[:count], others.busy_s)
        stations.longest[:count] = np.maximum(stations.longest[:count], flows.totals.longest[:count])
    served = stations.served[:count].astype(np.int64)
    log = Log(
        finish_s=memory.finish_s,
        arrival_s=memory.arrival_s,
        match=state.program.match,
        served=served,
        busy_s=stations.busy_s[:count].copy(),
        wait_s=stations.wait_s[:count].copy(),
        longest_queue=stations.longest[:count].astype(np.int64),
        blocked=blocked_by_station(plan, np.zeros(0, np.int64)),
        blocked_operations=np.zeros(0, np.int64),
        events=count_events(plan, served),
        begin_s=state.turns.begin_s,
        taken_s=state.turns.taken_s,
        processed_s=state.turns.end_s,
        others_busy_s=None if plan.background is None else others.busy_s,
    )
    return in_seconds(log, per_second)


@compiled_without_arrays
def enter_first(run: Run) -> None:
    """Everything that waits for nothing tries to begin."""
    turns, rank = run.turns, run.program.rank
    for op in range(len(rank)):
        if op > 0 and rank[op] != rank[op - 1]:
            enter(run, 0, turns.counts[READY], 0, 0)
            turns.counts[READY] = 0
        if turns.missing[op] == 0:
            add_ready(turns, op)
    enter(run, 0, turns.counts[READY], 0, 0)


@compiled_without_arrays
def walk(run: Run, limit: int) -> float:
    """Do ``limit`` turns and arbitrations; the time of the last one then, infinity at the end."""
    turns, now, done = run.turns, 0.0, 0
    while done < limit:
        done += 1
        station = next_station(run.stations, run.calendar)
        if station == NONE and turns.counts[SIZE] == 0:
            return np.inf
        wake_s = np.inf
        if station != NONE:
            wake_s = run.stations.wake_s[station]
            if len(run.others.sets_out_s) and is_over_in_loggopsim(run.others, run.memory, wake_s):
                return np.inf
            run.stations.wake_s[station] = np.inf
        if turns.counts[SIZE] and turns.time_s[0] <= wake_s:
            if station != NONE:
                schedule(run.stations, run.calendar, station, wake_s)
            now = turns.time_s[0]
            turns.clock_s[0] = now
            take_turn(run, now)
        else:
            now = wake_s
            turns.clock_s[0] = now
            arbitrate(run, station, now)
    return now


@inlined
def arbitrate(run: Run, station: int, now: float) -> None:
    """A station takes up the first that waits there."""
    if station == run.program.all_links:
        share_links(run, now)
    elif station >= run.program.first_interface:
        forward(run, station, now)
    else:
        serve_operation(run, station, now)


@inlined
def take_turn(run: Run, now: float) -> None:
    """The first turn: begin, or try again later."""
    turns, count = run.turns, len(run.program.kind)
    number, item = turns.number[0], turns.item[0]
    remove_first(turns)
    turns.counts[READY] = 0
    if item < count and run.program.kind[item] == RECEIVE:
        post(run, item, now)
    elif not turns.tried[item]:
        first_try(run, item, number, now)
    else:
        try_again(run, item, now)


@inlined
def first_try(run: Run, item: int, number: int, now: float) -> None:
    """Begin, or stand in line."""
    turns, line = run.turns, line_of(run, item)
    turns.tried[item] = True
    if item >= len(run.program.kind):
        run.memory.arrival_s[item - len(run.program.kind)] = now
    line_up(run, processor_of(run, item))
    time_s = item_earliest_s(run, item)
    if time_s <= now:
        get_processor(run, item, now)
        return
    join_line(turns, line, item, number)
    if turns.first[line] == item:
        try_at(turns, item, time_s)


@inlined
def try_again(run: Run, item: int, now: float) -> None:
    """The first of a line tries; others have tried to no purpose when they were that."""
    turns, line = run.turns, line_of(run, item)
    if turns.first[line] != item or turns.next_try_s[item] != now:
        return
    time_s = item_earliest_s(run, item)
    if time_s > now:
        try_at(turns, item, time_s)
        return
    leave_line(turns, line)
    get_processor(run, item, now)
    following = as_int64(turns.first[line])
    if following != NONE:
        try_at(turns, following, max(item_earliest_s(run, following), now))


@inlined
def line_of(run: Run, item: int) -> int:
    """Where an item waits."""
    count = len(run.program.kind)
    line: int = run.rules.message_line[item - count] if item >= count else run.rules.line[item]
    return line


@inlined
def processor_of(run: Run, item: int) -> int:
    """What it waits for."""
    count = len(run.program.kind)
    processor: int = run.rules.receiver[item - count] if item >= count else run.program.station[item]
    return processor


@called
def get_processor(run: Run, item: int, now: float) -> None:
    """An item begins."""
    count = len(run.program.kind)
    if item >= count:
        take_message(run, item - count, now)
    else:
        begin(run, item, now)

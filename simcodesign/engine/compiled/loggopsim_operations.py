"""Operations and messages by the rules of LogGOPSim: what begins, what ends, and what becomes ready by that."""

from __future__ import annotations

import numpy as np

from simcodesign.core.jit import called, inlined
from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.engine.compiled.mailboxes import suits
from simcodesign.engine.compiled.messages import become_flow, set_out
from simcodesign.engine.compiled.operations import Run
from simcodesign.engine.compiled.state import Array, as_int64
from simcodesign.engine.compiled.stations import begin_service, grant, wake, wake_after
from simcodesign.engine.compiled.turns import READY, Turns, add_turn, first_byte_comes, new_number, try_at
from simcodesign.engine.compiled.waiting_line import join, new_request
from simcodesign.engine.introsort import introsort
from simcodesign.generate.plan import NONE

sort = called(introsort)


@inlined
def add_ready(turns: Turns, op: int) -> None:
    """An operation has become ready."""
    turns.ready[turns.counts[READY]] = op
    turns.counts[READY] += 1


@called
def enter(run: Run, low: int, high: int, then_low: int, then_high: int) -> None:
    """The ready operations of a rank at these places get numbers: first sends, then receives, then the others."""
    count = 0
    for place in range(low, high):
        count = enter_one(run, run.turns.ready[place], count)
    for place in range(then_low, then_high):
        count = enter_one(run, run.turns.ready[place], count)
    if count > 1:
        sort(run.turns.entering, run.turns.keys, count, run.turns.ranges)
    for place in range(count):
        op = run.turns.entering[place]
        free_s = run.turns.free_s[run.program.station[op]]
        time_s = no_earlier_s(run, op, free_s if free_s < np.inf else 0.0)
        add_turn(run.turns, time_s, new_number(run.turns), op)


@inlined
def enter_one(run: Run, op: int, count: int) -> int:
    """Another operation to be sorted; how many these are now."""
    kind = run.program.kind[op]
    run.turns.entering[count], run.turns.keys[count] = op, 2
    if kind == SEND:
        run.turns.keys[count] = 0
    elif kind == RECEIVE:
        run.turns.keys[count] = 1
    return count + 1


@inlined
def earliest_s(run: Run, op: int) -> float:
    """When an operation can begin, as it looks now."""
    turns = run.turns
    return no_earlier_s(run, op, turns.free_s[run.program.station[op]])


@inlined
def no_earlier_s(run: Run, op: int, free_s: float) -> float:
    """When an operation can begin whose processor is free at ``free_s``."""
    turns = run.turns
    time_s: float = max(turns.ready_s[op], free_s)
    if run.program.kind[op] == SEND:
        time_s = max(time_s, turns.next_send_s[run.rules.interface[op]])
    return time_s


@inlined
def item_earliest_s(run: Run, item: int) -> float:
    """When an item can begin, as it looks now."""
    count = len(run.program.kind)
    if item < count:
        return earliest_s(run, item)
    send = item - count
    free_s, next_s = run.turns.free_s[run.rules.receiver[send]], run.turns.next_message_s
    time_s: float = max(free_s, next_s[run.rules.receiver_interface[send]])
    return time_s


@inlined
def line_up(run: Run, station: int) -> None:
    """Note that somebody waits for a processor."""
    run.turns.waiting[station] += 1
    run.stations.longest[station] = max(run.stations.longest[station], run.turns.waiting[station])


@inlined
def take_up(run: Run, station: int, end_s: float, busy_s: float, wait_s: float) -> None:
    """Somebody gets a processor."""
    run.turns.free_s[station] = end_s
    run.turns.waiting[station] -= 1
    run.stations.served[station] += 1
    run.stations.busy_s[station] += busy_s
    run.stations.wait_s[station] += wait_s


@inlined
def begin(run: Run, op: int, now: float) -> None:
    """A send or a computation begins; what follows from that follows at once."""
    turns, station = run.turns, run.program.station[op]
    if len(run.rules.served_at) and run.rules.served_at[op] != NONE:
        come_to_station(run, op, now)
        return
    end_s = now + run.program.duration_s[op]
    take_up(run, station, end_s, run.program.duration_s[op], now - turns.ready_s[op])
    turns.sent_s[op] = end_s
    if run.program.kind[op] == SEND:
        turns.next_send_s[run.rules.interface[op]] = now + run.program.gap_s[op]
        turns.message_number[op] = new_number(turns)
        if len(run.program.route) and run.program.route[op] != NONE:
            if run.flows.stations:
                become_flow(run, op, now)
            else:
                set_out(run, op, now)
        else:
            first_byte_comes(turns, op, now + run.program.flight_s[op])
    begins(run, op, now)
    if not run.rules.rendezvous[op]:
        ends(run, op, end_s)
    enter(run, 0, turns.counts[READY], 0, 0)


@inlined
def come_to_station(run: Run, op: int, now: float) -> None:
    """An operation has its processor, and queues with it at a disk or a memory controller."""
    take_up(run, run.program.station[op], np.inf, 0.0, now - run.turns.ready_s[op])
    begins(run, op, now)
    enter(run, 0, run.turns.counts[READY], 0, 0)
    station = as_int64(run.rules.served_at[op])
    join(run.stations, run.requests, station, new_request(run.requests, run.memory, op, now))
    wake(run, station)


@called
def serve_operation(run: Run, station: int, now: float) -> None:
    """A disk or a memory controller takes up an operation; it is known when its processor is free."""
    turns = run.turns
    op = begin_service(run, station, grant(run, station, now), now)
    wake_after(run, station, now)
    processor, end_s = run.program.station[op], now + run.program.duration_s[op]
    run.stations.busy_s[processor] += end_s - turns.begin_s[op]
    turns.free_s[processor] = end_s
    turns.counts[READY] = 0
    ends(run, op, end_s)
    enter(run, 0, turns.counts[READY], 0, 0)
    ranks = len(turns.first) // 3  # the lines of a program: of its computations, sends and messages
    for line in range(run.program.rank[op], len(turns.first), ranks):
        item = as_int64(turns.first[line])
        if item != NONE and turns.next_try_s[item] == np.inf:
            try_at(turns, item, max(item_earliest_s(run, item), now))


@inlined
def begins(run: Run, op: int, now: float) -> None:
    """An operation begins; those that become ready."""
    run.turns.begin_s[op] = now
    let_go(run, op, True, now)


@inlined
def ends(run: Run, op: int, end_s: float) -> None:
    """It is known when an operation ends; those that become ready."""
    run.memory.finish_s[op] = end_s
    let_go(run, op, False, end_s)


@called
def let_go(run: Run, op: int, early: bool, time_s: float) -> None:
    """The operations that waited for this one last become ready."""
    turns = run.turns
    if not len(run.program.edge_start):
        return
    for edge in range(run.program.edge_start[op], run.program.edge_start[op + 1]):
        if run.program.edge_early[edge] == early:
            target = run.program.edge_target[edge]
            turns.ready_s[target] = max(turns.ready_s[target], time_s)
            turns.missing[target] -= 1
            if turns.missing[target] == 0:
                add_ready(turns, target)


@inlined
def post(run: Run, op: int, now: float) -> None:
    """A receive takes the first message in its queue that suits it, or waits there for one."""
    turns, box = run.turns, run.rules.box[op]
    begins(run, op, now)
    before, send = NONE, as_int64(turns.first_unexpected[box])
    while send != NONE and not suits(run, send, op):
        before, send = send, as_int64(turns.following[send])
    if send != NONE:
        leave_box(turns, turns.first_unexpected, turns.last_unexpected, box, before, send)
        meet(run, send, op, max(turns.end_s[send], now), now)
        return
    if turns.first_posted[box] == NONE:
        turns.first_posted[box] = op
    else:
        turns.following[turns.last_posted[box]] = op
    turns.last_posted[box] = op
    enter(run, 0, turns.counts[READY], 0, 0)


@inlined
def leave_box(turns: Turns, first: Array, last: Array, box: int, before: int, op: int) -> None:
    """A receive or a message leaves its queue, in which it follows ``before``."""
    following = as_int64(turns.following[op])
    if before == NONE:
        first[box] = following
    else:
        turns.following[before] = following
        if following == NONE:
            last[box] = before


# --- Messages -------------------------------------------------------------------------------------------------


@inlined
def take_message(run: Run, send: int, now: float) -> None:
    """A message is processed by its receiver."""
    turns, rules = run.turns, run.rules
    station, interface = rules.receiver[send], rules.receiver_interface[send]
    busy_s = rules.receive_s[send] - min(turns.lag_s[send], rules.spread_s[send])
    end_s = now + busy_s
    take_up(run, station, end_s, busy_s, now - turns.first_s[send])
    turns.next_message_s[interface] = now + run.program.gap_s[send]
    turns.taken_s[send], turns.end_s[send] = now, end_s
    box = rules.box[send]
    before, receive = NONE, as_int64(turns.first_posted[box])
    while receive != NONE and not suits(run, send, receive):
        before, receive = receive, as_int64(turns.following[receive])
    if receive != NONE:
        leave_box(turns, turns.first_posted, turns.last_posted, box, before, receive)
        meet(run, send, receive, end_s, now)
        return
    if turns.first_unexpected[box] == NONE:
        turns.first_unexpected[box] = send
    else:
        turns.following[turns.last_unexpected[box]] = send
    turns.last_unexpected[box] = send


@called
def meet(run: Run, send: int, receive: int, end_s: float, now: float) -> None:
    """A message has its receive, whose end is known; what its posting has let go is ready already."""
    turns, rank = run.turns, run.program.rank
    run.program.match[receive], run.program.match[send] = send, receive
    began = turns.counts[READY]
    if run.rules.rendezvous[send]:
        station, interface = run.program.station[send], run.rules.interface[send]
        turns.free_s[station] = max(turns.free_s[station], now)
        turns.next_send_s[interface] = max(turns.next_send_s[interface], now)
        ends(run, send, max(now, turns.sent_s[send]))
    sent = turns.counts[READY]
    ends(run, receive, end_s)
    received = turns.counts[READY]
    if rank[send] == rank[receive]:
        enter(run, 0, received, 0, 0)
    elif rank[send] < rank[receive]:
        enter(run, began, sent, 0, 0)
        enter(run, 0, began, sent, received)
    else:
        enter(run, 0, began, sent, received)
        enter(run, began, sent, 0, 0)

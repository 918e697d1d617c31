"""Messages in the compiled engine: through interfaces and links, one after another, in packets, or as flows."""

from __future__ import annotations

import numpy as np

from simcodesign.core.jit import called, compiled_without_arrays, inlined
from simcodesign.core.operation_kinds import SEND
from simcodesign.engine.compiled.calendar import schedule
from simcodesign.engine.compiled.fair_shares import compute_shares
from simcodesign.engine.compiled.flows import (
    ENDED,
    FIXED,
    add_flow,
    begin_and_end,
    change_rate,
    flow_begins_s,
    forget_flow,
    next_change_s,
)
from simcodesign.engine.compiled.journeys import begin_journey
from simcodesign.engine.compiled.mailboxes import put
from simcodesign.engine.compiled.operations import Run, go_on, release
from simcodesign.engine.compiled.packets import may_ask, next_to_ask
from simcodesign.engine.compiled.state import (
    AFTER_INTERFACE_COST,
    AHEAD,
    DONE,
    GRANTED,
    HELD,
    INJECT_COST,
    INTERFACE_COST,
    LATENCY_COST,
    LINK_COST,
    TAIL_COST,
    as_int64,
)
from simcodesign.engine.compiled.stations import grant, wake, wake_after
from simcodesign.engine.compiled.turns import message_comes
from simcodesign.engine.compiled.waiting_line import (
    come,
    forget,
    join,
    leave_the_way,
    line_up,
    new_request,
)
from simcodesign.generate.plan import NONE


@compiled_without_arrays
def send_of_others(run: Run) -> None:
    """Messages of other jobs are on their way from the beginning."""
    for number in range(len(run.others.sets_out_s)):
        message = len(run.program.kind) + number
        if run.flows.stations:
            become_flow(run, message, run.others.sets_out_s[number])
        else:
            set_out(run, message, run.others.sets_out_s[number])


@compiled_without_arrays
def count_last_queues(run: Run) -> None:
    """Of a run that ended with its job: what others have asked for since a station arbitrated last."""
    for station in range(run.program.first_interface, run.program.first_mailbox):
        line_up(run.stations, run.requests, station, run.others.end_s[0])


@inlined
def send(run: Run, op: int, time: float, end: float) -> None:
    """The message of a send sets out, or is there when its send is done, or after its flight."""
    if len(run.program.route) and run.program.route[op] != NONE:
        if run.flows.stations:
            become_flow(run, op, time)
        elif len(run.journeys.days):
            begin_journey(run.journeys, run.program, op, time)
        else:
            set_out(run, op, time)
    elif len(run.program.flight_s):
        arrive(run, op, time + run.program.flight_s[op])
    else:
        arrive(run, op, end)


@inlined
def set_out(run: Run, op: int, time: float) -> None:
    """The message of a send, or its first packet, makes for the first station on its way."""
    cost = run.program.cost[op]
    if len(run.packets.total) and run.packets.left[op] == 0:
        cost += 1
    head = time + run.program.costs[cost, INJECT_COST]
    make_for_first(run, op, cost, head, head)


@inlined
def make_for_first(run: Run, op: int, cost: int, head: float, asks_s: float) -> None:
    """A message or a packet, whose head is there at ``head``, asks for the first station of its way."""
    route = run.program.route[op]
    slot = new_request(run.requests, run.memory, op, asks_s)
    run.requests.tail_s[slot] = head + run.program.costs[cost, TAIL_COST]
    run.requests.cost[slot] = cost
    place = run.program.way_start[route]
    run.requests.place[slot] = place
    run.requests.left[slot] = run.program.way_start[route + 1] - place - 1
    look_ahead(run, slot)
    if chooses(run, op, place):
        come_to_choose(run, slot)
        return
    station = run.program.way[place]
    join(run.stations, run.requests, station, slot)
    wake(run, station)


@inlined
def forward(run: Run, station: int, now: float) -> None:
    """An interface or a link takes up a message or a packet: head and tail go on (see ``Routes``)."""
    slot = grant(run, station, now)
    is_link = station >= run.program.first_link
    op = as_int64(run.requests.op[slot])
    if len(run.program.station) and op < len(run.program.kind) and run.program.station[op] == station:
        serve_access(run, station, slot, now)
        return
    cost, left = as_int64(run.requests.cost[slot]), run.requests.left[slot]
    group = 0
    if is_link and len(run.program.link_group):
        group = 2 * run.program.link_group[station]
    service = run.program.costs[cost, LINK_COST + group if is_link else INTERFACE_COST]
    if len(run.program.service_factor):
        service *= run.program.service_factor[station]
    tail = max(run.requests.tail_s[slot], now + service)
    run.stations.busy_s[station] += service
    if op >= len(run.program.kind):
        run.others.busy_s[station] += service
    run.stations.free_s[station] = now + service
    if len(run.packets.total):
        follow_up(run, station, slot, now + service)
    wake_after(run, station, now)
    is_whole = not len(run.packets.total) or cost > run.program.cost[op]
    holds = len(run.packets.total) and is_whole and run.packets.holds[op]
    if holds and run.packets.until_away and is_at_first(run, slot):
        end_send(run, op, tail)
    way_s = 0.0
    if is_link or left:
        way_s = run.program.costs[cost, LATENCY_COST + group if is_link else AFTER_INTERFACE_COST]
        tail += way_s
    if not left:
        forget(run.requests, run.memory, slot)
        if is_whole:
            arrive(run, op, tail)
        if holds and not run.packets.until_away:
            end_send(run, op, tail)
        return
    following = follow(run, slot)
    stored = is_link and run.program.store_and_forward and following >= run.program.first_link
    run.requests.tail_s[slot] = tail
    run.requests.arrival_s[slot] = tail if stored else now + way_s
    run.requests.child[slot] = run.requests.sibling[slot] = NONE
    if chooses(run, op, run.requests.place[slot]):
        come_to_choose(run, slot)
        return
    if len(run.packets.total) and run.packets.total[op] > 1:
        place = run.packets.shift[op] + run.requests.place[slot]
        if not may_ask(run.packets, run.requests, place, slot):
            return
    join(run.stations, run.requests, following, slot)
    wake(run, following)


@called
def serve_access(run: Run, station: int, slot: int, now: float) -> None:
    """A memory controller that messages pass takes up an operation."""
    op = as_int64(run.requests.op[slot])
    forget(run.requests, run.memory, slot)
    run.stations.busy_s[station] += run.program.duration_s[op]
    run.stations.free_s[station] = now + run.program.duration_s[op]
    go_on(run, op, GRANTED, now)
    wake_after(run, station, now)


@inlined
def chooses(run: Run, op: int, place: int) -> bool:
    """Whether the two routes of a message part at this place of its way."""
    if not len(run.program.other_route) or run.program.other_route[op] == NONE:
        return False
    return bool(place == run.program.way_start[run.program.route[op]] + run.program.fork[op])


@inlined
def come_to_choose(run: Run, slot: int) -> None:
    """A message will choose its route when its head is where the two part."""
    come(run.stations, run.requests, run.program.all_links, slot)
    schedule(run.stations, run.calendar, run.program.all_links, run.requests.arrival_s[slot])


@called
def choose_route(run: Run, now: float) -> None:
    """The first message that is to choose takes the other route if its queue, weighted by links, is shorter."""
    chooser = run.program.all_links
    slot = leave_the_way(run.stations, run.requests, chooser)
    if run.stations.root[chooser] != NONE:
        following = run.requests.arrival_s[run.stations.root[chooser]]
        schedule(run.stations, run.calendar, chooser, max(following, now))
    op = as_int64(run.requests.op[slot])
    first, other, fork = run.program.route[op], run.program.other_route[op], run.program.fork[op]
    run.program.other_route[op] = NONE
    place = run.program.way_start[first] + fork
    if queue_ahead(run, first, fork, now) > queue_ahead(run, other, fork, now) + run.program.threshold:
        run.program.route[op] = other
        place = run.program.way_start[other] + fork
    run.requests.place[slot] = place
    run.requests.left[slot] = run.program.way_start[run.program.route[op] + 1] - place - 1
    run.requests.child[slot] = run.requests.sibling[slot] = NONE
    look_ahead(run, slot)
    station = run.program.way[place]
    join(run.stations, run.requests, station, slot)
    wake(run, station)


@called
def queue_ahead(run: Run, route: int, fork: int, now: float) -> int:
    """The queue at a place of a route, times its links; or those from there on together."""
    place = run.program.way_start[route] + fork
    if not run.program.along_route:
        return queue_at(run, run.program.way[place], now) * as_int64(run.program.links[route])
    queues = 0
    for following in range(place, run.program.way_start[route + 1]):
        queues += queue_at(run, run.program.way[following], now)
    return queues


@inlined
def queue_at(run: Run, station: int, now: float) -> int:
    """Requests that wait at a link by now, or are in service."""
    line_up(run.stations, run.requests, station, now)
    return as_int64(run.stations.waiting[station]) + (run.stations.free_s[station] > now)


@inlined
def is_at_first(run: Run, slot: int) -> bool:
    """Whether a message or a packet is at the first station of its way."""
    return bool(run.requests.place[slot] == run.program.way_start[run.program.route[run.requests.op[slot]]])


@inlined
def follow_up(run: Run, station: int, slot: int, served_s: float) -> None:
    """The packet after this one may ask for the station when this one has been served."""
    op = as_int64(run.requests.op[slot])
    if run.packets.total[op] == 1:
        return
    if not is_at_first(run, slot):
        place = run.packets.shift[op] + run.requests.place[slot]
        following = next_to_ask(run.packets, run.requests, place, served_s)
        if following != NONE:
            join(run.stations, run.requests, station, following)
    elif run.packets.left[op]:
        run.packets.left[op] -= 1
        head = run.requests.tail_s[slot]
        cost = run.program.cost[op] + (run.packets.left[op] == 0)
        make_for_first(run, op, cost, head, max(head, served_s))


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


@inlined
def arrive(run: Run, op: int, time: float) -> None:
    """The message of a send is there at ``time``."""
    if op >= len(run.program.kind):
        return
    if len(run.rules.box):
        message_comes(run.turns, run.rules, op, time)
        return
    if len(run.memory.arrival_s):
        run.memory.arrival_s[op] = time
    if len(run.program.mailbox) and run.program.mailbox[op] != NONE:
        put(run, op, time)
    else:
        release(run, run.program.match[op], time)


# --- Flows ----------------------------------------------------------------------------------------------------


@inlined
def become_flow(run: Run, op: int, time: float) -> None:
    """The message of a send will be a flow when its delay is over."""
    begins_s = flow_begins_s(run.flows, op, time)
    if run.flows.size_bytes[op] == 0.0:
        arrive(run, op, begins_s + run.flows.after_s[op])
        return
    route = run.program.route[op]
    add_flow(run.flows, op, begins_s, run.program.way, run.program.way_start[route], run.program.way_start[route + 1])
    schedule(run.stations, run.calendar, run.program.all_links, begins_s)


@called
def share_links(run: Run, now: float) -> None:
    """All flows that begin or end now do so, and the others go on with their new shares."""
    flows = run.flows
    begin_and_end(flows, now)
    compute_shares(flows)
    for number in range(flows.counts[FIXED]):
        change_rate(flows, flows.slot_lists.fixed[number], now)
    for number in range(flows.counts[ENDED]):
        slot = flows.slot_lists.ended[number]
        forget_flow(flows, slot)
        op = as_int64(flows.loads.op[slot])
        if op >= len(run.program.kind) or run.program.kind[op] == SEND:
            arrive(run, op, now + flows.after_s[op])
        if flows.holds[op]:
            end_send(run, op, now)
    next_s = next_change_s(flows)
    if next_s < np.inf:
        schedule(run.stations, run.calendar, run.program.all_links, next_s)


@inlined
def hold(run: Run, op: int, time: float) -> None:
    """A send has begun, and will be done when its flow has ended."""
    run.memory.finish_s[op] = time
    run.memory.missing[op] = HELD
    if len(run.program.edge_start):
        for edge in range(run.program.edge_start[op], run.program.edge_start[op + 1]):
            if run.program.edge_early[edge]:
                release(run, run.program.edge_target[edge], time)


@inlined
def end_send(run: Run, op: int, now: float) -> None:
    """A send that its message has held is done."""
    run.memory.finish_s[op] = now
    run.memory.missing[op] = DONE
    if len(run.program.edge_start):
        for edge in range(run.program.edge_start[op], run.program.edge_start[op + 1]):
            if not run.program.edge_early[edge]:
                release(run, run.program.edge_target[edge], now)
    if run.program.follows_previous[op + 1]:
        release(run, op + 1, now)

"""What a message does at a station of its way where every hop takes time (``journeys.py``), compiled."""

from __future__ import annotations

from simcodesign.core.jit import inlined
from simcodesign.engine.compiled.journeys import (
    FREE_NODE,
    LOST,
    NODES,
    Journeys,
    come_later,
    slot_ahead,
    take_message,
)
from simcodesign.engine.compiled.messages import arrive
from simcodesign.engine.compiled.operations import Run, fetch_operation, prefetch
from simcodesign.engine.compiled.state import (
    AFTER_INTERFACE_COST,
    INTERFACE_COST,
    LATENCY_COST,
    LINK_COST,
    StationStates,
    as_int64,
)
from simcodesign.generate.plan import NONE

#: Events of the current day that are looked at ahead: their messages first, then their stations, then the receives of
#: those that will have arrived.
MESSAGES_AHEAD, STATIONS_AHEAD, RECEIVES_AHEAD = 24, 12, 5


@inlined
def look_ahead_of_events(run: Run) -> None:
    """Fetch into the cache what the next events will need."""
    now = run.journeys.now
    slot = slot_ahead(run.journeys, MESSAGES_AHEAD)
    if slot != NONE:
        prefetch(now.time_s, slot)
    slot = slot_ahead(run.journeys, STATIONS_AHEAD)
    if slot == NONE:
        return
    prefetch(run.stations.free_s, now.station[slot])
    if now.left[slot]:
        prefetch(run.program.way, now.place[slot] + 1)
    else:
        prefetch(run.program.match, now.op[slot])
        prefetch(run.memory.arrival_s, now.op[slot])
    slot = slot_ahead(run.journeys, RECEIVES_AHEAD)
    if not now.left[slot]:
        fetch_operation(run, run.program.match[now.op[slot]])


@inlined
def pass_station(run: Run, now: float) -> None:
    """The message that comes next is granted, now or later, where it comes: head and tail go on (see ``Routes``)."""
    look_ahead_of_events(run)
    slot = take_message(run.journeys)
    message = run.journeys.now
    station, cost, left = as_int64(message.station[slot]), as_int64(message.cost[slot]), message.left[slot]
    is_link, group = station >= run.program.first_link, 0
    if is_link and len(run.program.link_group):
        group = 2 * run.program.link_group[station]
    service = run.program.costs[cost, LINK_COST + group if is_link else INTERFACE_COST]
    if len(run.program.service_factor):
        service *= run.program.service_factor[station]
    waiting = waiting_now(run.journeys, run.stations, station, now)
    granted = max(now, run.stations.free_s[station])
    run.stations.longest[station] = max(run.stations.longest[station], waiting)
    run.stations.served[station] += 1
    run.stations.wait_s[station] += granted - now
    run.stations.busy_s[station] += service
    run.stations.free_s[station], run.stations.wake_s[station] = granted + service, granted
    tail, way_s = max(message.tail_s[slot], granted + service), 0.0
    if is_link or left:
        way_s = run.program.costs[cost, LATENCY_COST + group if is_link else AFTER_INTERFACE_COST]
        tail += way_s
    run.journeys.counts[LOST] += tail <= now and service + way_s > 0
    if not left:
        arrive(run, as_int64(message.op[slot]), tail)
        return
    place = message.place[slot] + 1
    following = as_int64(run.program.way[place])
    stored = is_link and run.program.store_and_forward and following >= run.program.first_link
    message.time_s[slot], message.tail_s[slot] = tail if stored else granted + way_s, tail
    run.journeys.counts[LOST] += message.time_s[slot] <= now and way_s > 0
    message.place[slot], message.left[slot], message.station[slot] = place, left - 1, following
    come_later(run.journeys, slot)


# --- Grants to come, by station ---------------------------------------------------------------------------------------


@inlined
def waiting_now(journeys: Journeys, stations: StationStates, station: int, now: float) -> int:
    """Who waits at a station when somebody comes, himself included: those whose grants are not over. ``wake_s`` of a
    station is its last grant, ``head`` to ``tail`` are those before it, ``waiting`` their number."""
    nodes, counts = journeys.nodes, journeys.counts
    first = as_int64(stations.head[station])
    if stations.wake_s[station] < now:
        if first != NONE:
            nodes.following[stations.tail[station]] = counts[FREE_NODE]
            counts[FREE_NODE] = first
            stations.head[station], stations.waiting[station] = NONE, 0
        return 1
    while first != NONE and nodes.grant_s[first] < now:
        follower = as_int64(nodes.following[first])
        nodes.following[first] = counts[FREE_NODE]
        counts[FREE_NODE] = first
        first = follower
        stations.waiting[station] -= 1
    node = counts[FREE_NODE]
    if node == NONE:
        node = counts[NODES]
        counts[NODES] += 1
    else:
        counts[FREE_NODE] = nodes.following[node]
    nodes.grant_s[node], nodes.following[node] = stations.wake_s[station], NONE
    if first == NONE:
        first = node
    else:
        nodes.following[stations.tail[station]] = node
    stations.head[station], stations.tail[station] = first, node
    stations.waiting[station] += 1
    return as_int64(stations.waiting[station]) + 1

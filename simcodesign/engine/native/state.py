"""A Plan as the arrays of a run: what happens in it, and the state of its operations, messages and stations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.operation_kinds import RECEIVE, SEND
from simcodesign.engine.event_contract import hops_of_flows, link_capacities
from simcodesign.engine.native.records import Run
from simcodesign.generate.plan import INTERFACE, LINK, MAILBOX, NONE, Plan, Routes

Array = NDArray[Any]
#: More than any rate: the level of a link that limits no flow.
NO_LIMIT = 2**61
#: Fields of ``Plan.loggops`` that C reads.
_RULES = (
    *("interface", "receiver", "receiver_interface", "receive_s", "spread_s", "rendezvous", "box", "line"),
    *("message_line", "served_at"),
)


def give_plan(run: Run, plan: Plan, on_journeys: bool) -> None:
    """Give a run the Plan and its initial state.

    ``on_journeys``: messages use the stations of their routes first come, first served, and every hop takes time.
    """
    _give_program(run, plan)
    _give_requests(run, plan, not on_journeys)
    _give_stations(run, plan, on_journeys)
    _give_memory(run, plan)
    _give_calendar(run, plan)
    if on_journeys:
        _give_journeys(run, plan)
    _give_flows(run, plan)
    _give_packets(run, plan)
    if plan.loggops is not None:
        _give_turns(run, plan)
    background = plan.background
    if background is not None:
        run.give("others", sets_out_s=background.sets_out_s, messages=len(background.sets_out_s))
        run.fill("others", len(plan.stations), 0.0, "busy_s")


# --- The Plan -------------------------------------------------------------------------------------------------


def _give_program(run: Run, plan: Plan) -> None:
    meets = plan.mailbox is not None or plan.loggops is not None
    kinds, tagged = plan.stations.kind, plan.tag is not None
    run.give(
        "program",
        ops=len(plan),
        kind=plan.kind,
        match=plan.match.copy() if meets else plan.match,
        follows_previous=plan.follows_previous,
        duration_s=plan.duration_s.copy() if plan.matching_s else plan.duration_s,
        rank=plan.rank if tagged or plan.gap_s is not None else None,
        station=plan.station,
        gap_s=plan.gap_s,
        flight_s=plan.flight_s,
        mailbox=plan.mailbox,
        tag=plan.tag,
        peer=plan.peer if tagged else None,
        taken_by=plan.taken_by,
        matching_s=plan.matching_s,
        searched=np.zeros(len(plan), np.int32) if plan.matching_s else None,
        first_interface=np.searchsorted(kinds, INTERFACE),
        first_link=np.searchsorted(kinds, LINK),
        first_mailbox=np.searchsorted(kinds, MAILBOX),
        last_arbiter=len(kinds),
        polling=len(kinds) + 1,
        discipline=_of_disciplines(plan, "kind"),
        capacity=_of_disciplines(plan, "capacity"),
        service_factor=plan.stations.service_factor,
    )
    if plan.edges is not None:
        edges = plan.edges
        run.give("program", edge_start=edges.start, edge_target=edges.target, edge_early=edges.early)
    if plan.polls is not None:
        run.give("program", polled=plan.polls.part, polled_end=plan.polls.end)
        run.give("program", polled_receive=plan.polls.receive, waits=plan.polls.waits)
    if plan.routes is not None:
        _give_routes(run, plan.routes)


def _give_routes(run: Run, routes: Routes) -> None:
    costs, adaptive = _costs(routes), routes.adaptive
    run.give(
        "program",
        route=routes.route,
        cost=routes.cost,
        way_start=routes.start,
        way=routes.station,
        costs=costs,
        costs_width=costs.shape[1],
        link_group=routes.group,
        store_and_forward=routes.store_and_forward,
    )
    if adaptive is not None:  # routes change
        run.give(
            "program",
            route=routes.route.astype(np.int32),
            other_route=np.array(adaptive.route, np.int32),
            fork=adaptive.fork,
            links=adaptive.links,
            threshold=adaptive.threshold,
            along_route=adaptive.along_route,
        )


def _costs(routes: Routes) -> Array:
    """Return the table of costs, a row for each."""
    groups = (part.reshape(len(part), -1).T for part in (routes.link_s, routes.latency_s))
    links = [column for pair in zip(*groups, strict=True) for column in pair]
    own = [routes.inject_s, routes.tail_s, routes.interface_s, routes.after_interface_s]
    return np.ascontiguousarray(np.stack(own + links, axis=1))


def _of_disciplines(plan: Plan, name: str) -> Array | None:
    """(S,) a field of the discipline of each station; None if all are first come, first served."""
    stations = plan.stations
    if stations.discipline is None:
        return None
    return np.array([getattr(discipline, name) for discipline in stations.disciplines], np.int32)[stations.discipline]


# --- Operations and stations ----------------------------------------------------------------------------------


def _give_requests(run: Run, plan: Plan, for_messages: bool) -> None:
    """Give room for every operation and every message that can ever wait at the same time.

    Messages unless they are kept elsewhere.
    """
    count = 0
    if plan.routes is not None and for_messages:
        travels, packets = plan.routes.route != NONE, plan.routes.packets
        count = int(np.count_nonzero(travels) if packets is None else packets.count[travels].sum(dtype=np.int64))
    for stations in (plan.station, plan.mailbox):
        count += 0 if stations is None else int(np.count_nonzero(stations != NONE))
    count += 0 if plan.polls is None else int(np.count_nonzero(plan.polls.part != NONE))
    run.make_room("memory", count, "requests")
    run.give("memory", free_slot=NONE)


def _give_stations(run: Run, plan: Plan, on_journeys: bool) -> None:
    """Set up the stations, with empty queues."""
    run.make_room("memory", len(plan.stations) + 2, "stations")
    stations = run["memory.stations"]
    stations[:] = 0
    stations["wake_s"] = np.inf
    if on_journeys:
        stations["wake_s"][run["program.first_interface"] : run["program.first_mailbox"]] = -np.inf
    for links in ("root", "head", "tail", "later", "earlier"):
        stations[links] = NONE


def _give_memory(run: Run, plan: Plan) -> None:
    missing = plan.follows_previous[:-1].astype(np.int32)
    missing += (plan.kind == RECEIVE) & (plan.match != NONE)
    if plan.edges is not None:
        missing += np.bincount(plan.edges.target, minlength=len(plan)).astype(np.int32)
    if plan.taken_by is not None:
        missing += np.bincount(plan.taken_by[plan.taken_by != NONE], minlength=len(plan)).astype(np.int32)
    if plan.polls is not None:
        missing += plan.polls.end != NONE  # the first of a part waits to be polled
        run.fill("memory", len(plan), NONE, "poll")
    kinds = plan.stations.kind
    service = int(np.searchsorted(kinds, INTERFACE))
    start = np.concatenate([[0], np.cumsum(plan.stations.servers[:service])]).astype(np.int64)
    with_its_send = plan.routes is None and plan.flight_s is None  # every message arrives when its send is done
    ready = np.flatnonzero(missing == 0)[::-1]
    stack = np.empty(len(plan), np.int32)
    stack[: len(ready)] = ready
    run.give("memory", missing=missing, ready=stack, ready_count=len(ready), server_start=start)
    run.fill("memory", len(plan), 0.0 if plan.loggops is None else np.nan, "finish_s")
    run.fill("memory", 0 if with_its_send else len(plan), np.nan, "arrival_s")
    run.fill("memory", int(start[-1]), 0.0, "server_free_s")
    run.fill("memory", int(np.count_nonzero(kinds == MAILBOX)), NONE, "stock")
    run.make_room("memory", _most_blocked(plan), "blocked")


def _most_blocked(plan: Plan) -> int:
    """Operations at stations that may block them."""
    capacity = _of_disciplines(plan, "capacity")
    if capacity is None or plan.station is None:
        return 0
    return int(np.count_nonzero((plan.station != NONE) & (capacity[plan.station] != NONE)))


def _give_calendar(run: Run, plan: Plan) -> None:
    """Give an empty queue for the stations of a Plan.

    A day is as short as the shortest delay, so that few events are added to the current one; if that leaves too many
    days empty, days become longer during the run.
    """
    delays = [] if plan.station is None else [plan.duration_s[plan.station != NONE]]
    if plan.routes is not None:
        routes = plan.routes
        delays += [routes.link_s.ravel(), routes.interface_s, routes.latency_s.ravel(), routes.after_interface_s]
    run.fill("calendar", run.layout.constants["DAYS"], NONE, "first")
    run.make_room("calendar", len(plan.stations) + 2, "events", "spare", "heap")
    run.give("calendar", days_per_s=_days_per_s(np.concatenate([np.zeros(0), *delays])))


def _days_per_s(delays_s: NDArray[np.float64]) -> float:
    return min(1 / float(np.min(delays_s[delays_s > 0], initial=1.0)), 1e300)


# --- Messages -------------------------------------------------------------------------------------------------


def every_hop_takes_time(plan: Plan) -> bool:
    """Return whether every message reaches the next station of its route later than the event that sends it there.

    One exception does no harm: from an interface to a link, since links come after all interfaces of an instant. What
    arrives in the instant of its last grant may not send anything on in it, nor ask for a disk or a processor.
    """
    routes, kinds = plan.routes, plan.stations.kind
    if routes is None or routes.fair or routes.packets or routes.adaptive or plan.loggops or not len(routes.inject_s):
        return False
    first, link = int(np.searchsorted(kinds, INTERFACE)), int(np.searchsorted(kinds, LINK))
    has_links, has_mailboxes = link < int(np.searchsorted(kinds, MAILBOX)), int(kinds[-1]) == MAILBOX
    if has_links and not routes.latency_s.min() > 0:
        return False
    if first < link and not routes.after_interface_s.min() > 0 and not _links_follow_interfaces(routes, link):
        return False
    factor = plan.stations.service_factor
    serves = routes.interface_s.min() > 0 and (factor is None or factor[first:link].min(initial=1.0) > 0)
    if (first == link or serves) and not has_mailboxes:
        return True  # whatever arrives does so later
    return bool(routes.inject_s.min() > 0 and (first == link or serves or not first))


def _links_follow_interfaces(routes: Routes, first_link: int) -> bool:
    """Whether every interface is the last station of its route or is followed by a link."""
    last = np.zeros(len(routes.station), bool)
    last[routes.start[1:][np.diff(routes.start) > 0] - 1] = True
    is_link = routes.station >= first_link
    return bool((last | is_link)[:-1].all() if len(last) < 2 else (last[:-1] | is_link[:-1] | is_link[1:]).all())


def _give_journeys(run: Run, plan: Plan) -> None:
    """No messages yet."""
    routes, constants = plan.routes, run.layout.constants
    assert routes is not None
    most, days = int(np.count_nonzero(routes.route != NONE)), constants["JOURNEY_DAYS"]
    blocks, nodes = most // constants["MESSAGES_IN_BLOCK"] + days + 2, 2 * len(plan.stations) + 1024
    run.make_room("journeys", most + 1, "now", "events", "spare", "heap")
    run.make_room("journeys", blocks * constants["MESSAGES_IN_BLOCK"], "later")
    run.make_room("journeys", blocks, "following")
    run.make_room("journeys", days, "days")
    run["journeys.days"]["first"] = NONE
    run.make_room("journeys", nodes, "nodes")
    run.give("journeys", node_room=nodes, today=NONE, free_block=NONE, free_node=NONE)
    delays_s = np.concatenate([routes.latency_s.ravel(), routes.after_interface_s])
    run.give("journeys", days_per_s=_days_per_s(delays_s))


def give_more_nodes(run: Run) -> None:
    """Make room for twice as many grants to come."""
    nodes = run["journeys.nodes"]
    run.make_room("journeys", 2 * len(nodes), "nodes")
    run["journeys.nodes"][: len(nodes)] = nodes
    run.give("journeys", node_room=2 * len(nodes))


def _give_packets(run: Run, plan: Plan) -> None:
    """No packets yet. Messages of one packet have no places."""
    packets = None if plan.routes is None else plan.routes.packets
    if plan.routes is None or packets is None:
        return
    route = plan.routes.route
    hops = np.where((route != NONE) & (packets.count > 1), np.diff(plan.routes.start)[route], 0)
    places = int(hops.sum())
    run.give(
        "packets",
        count=packets.count,
        left=packets.count - np.int32(1),
        holds=packets.holds,
        until_away=packets.until_away,
        shift=np.cumsum(hops) - hops - plan.routes.start[route],
    )
    run.fill("packets", places, 0.0, "served_s")
    run.fill("packets", places, NONE, "first")
    run.make_room("packets", places, "last")


# --- Flows ----------------------------------------------------------------------------------------------------


def _give_flows(run: Run, plan: Plan) -> None:
    """No flows yet."""
    fair = None if plan.routes is None else plan.routes.fair
    if plan.routes is None or fair is None:
        return
    used = np.zeros(len(plan.stations), np.int64)
    for _, station in hops_of_flows(plan):
        used += np.bincount(station, minlength=len(used))
    capacity, loaded = link_capacities(plan)
    run.give(
        "flows",
        stations=len(capacity),
        delay_s=fair.delay_s,
        after_s=fair.after_s,
        size_bytes=fair.size_bytes,
        holds=fair.holds,
        own_rate=fair.own_rate,
        weight=fair.weight,
        unit_bytes_per_s=1 / fair.unit,
        alone=capacity,
        loaded=loaded,
    )
    slots = int(np.count_nonzero((plan.routes.route != NONE) & (fair.size_bytes > 0)))
    _make_room_for_flows(run, slots, int(used.sum()) + slots, len(capacity) + slots)
    run.fill("flows", int(np.diff(plan.routes.start).max(initial=0)) + 2, NONE, "free")
    links, totals = run["flows.links"], run["flows.totals"]
    links[: len(used)] = totals[: len(used)] = 0
    links["level"][: len(used)] = NO_LIMIT
    totals["capacity"][: len(used)] = capacity
    totals["first"][: len(used)] = np.cumsum(used) - used
    run["flows.order_place"][: len(used)] = NONE


def _make_room_for_flows(run: Run, slots: int, hops: int, links: int) -> None:
    run.make_room("flows", slots, "slots", "loads", "begun", "ended", "fixed", "under_way")
    run.make_room("flows", slots, "times_key", "times_item", "times_place")
    run.make_room("flows", hops, "there", "place", "link_of")
    run.make_room("flows", links, "links", "totals", "dirty", "queue", "filling")
    run.make_room("flows", links + slots, "order_key", "order_item", "order_place")
    run.give("flows", there_count=hops, link_count=links)


# --- LogGOPSim ------------------------------------------------------------------------------------------------


def _give_turns(run: Run, plan: Plan) -> None:
    """Set up the rules, without turns and with empty queues."""
    rules, count, stations = plan.loggops, len(plan), len(plan.stations)
    assert rules is not None
    run.give("rules", **{name: getattr(rules, name) for name in _RULES})
    sends = int(np.count_nonzero(plan.kind == SEND))
    # First tries, and tries of entries that become first in a queue, because they join it or another one leaves.
    run.make_room("turns", 3 * (count + sends), "heap")
    run.make_room("turns", count, "ready", "entering", "keys", "ranges")
    run.make_room("turns", 2 * count, "child", "sibling", "item_number", "next_try_s")
    run.fill("turns", 2 * count, 0, "tried")
    run.fill("turns", count, 0, "ready_s", "sent_s", "message_number", "first_s", "lag_s", "missing")
    run.fill("turns", count, np.nan, "begin_s", "taken_s", "processed_s")
    run.fill("turns", count, NONE, "following")
    run.fill("turns", rules.lines, NONE, "first")
    run.fill("turns", stations, 0, "free_s", "waiting")
    run.fill("turns", rules.interfaces, 0.0, "next_send_s", "next_message_s")
    run.fill("turns", rules.boxes, NONE, "first_posted", "last_posted", "first_unexpected", "last_unexpected")
    run.give("turns", ranks=rules.interfaces)
    if plan.edges is not None:
        run.give("turns", missing=np.bincount(plan.edges.target, minlength=count))

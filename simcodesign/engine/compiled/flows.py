"""Messages that share links fairly, compiled: which flows there are, when they begin and when they end.

A message whose route is shared fairly waits for its latency and is a flow then, until its last byte has passed. All
flows that begin or end at the same time do so together; ``fair_shares.py`` then says at which rates all go on. The
rules are those of the event contract.

Flows have slots, which are used again, and one *hop* for each station of their route. The flows of a link stand beside
each other, in memory for all that will ever pass it: only as much is touched as flows are there at a time. Nothing else
is kept of messages that have not set out or have arrived.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.jit import inlined
from simcodesign.engine.compiled.indexed_heap import Heap, heap_for, put, take_first
from simcodesign.engine.compiled.state import Array, records
from simcodesign.engine.event_contract import hops_of_flows, link_capacities
from simcodesign.generate.plan import NONE, Plan

#: More than any rate: the level of a link that limits no flow.
NO_LIMIT = 2**61
#: Places of the numbers in ``counts``: slots and hops taken so far, hops of the flows under way, the number of this
#: computation of shares and of its round, the lengths of lists, and what finding the shares has cost (fair_shares.py).
SLOTS, HOPS, HOPS_UNDER_WAY, EPOCH, ROUND, DIRTY, BEGUN, ENDED, FIXED, UNDER_WAY = range(10)
WORK, FOLLOW_WORK, REFILL_WORK, SPENT = range(10, 14)


# Records are small, and what is looked at together stands together: of large programs they do not fit the cache.

#: The rate of a flow, its share times its weight, or of a message that will be a flow when its delay is over.
_SLOT = np.dtype(
    [
        ("share", np.int64),  # NONE before it begins, 0 before its first rate is known
        ("next_share", np.int64),
        ("mark", np.int64),  # see ``is_fixed`` and ``is_doubted``
        ("first_hop", np.int32),
        ("end_hop", np.int32),
        ("weight", np.int32),
    ]
)
#: What it carries.
_LOAD = np.dtype(
    [
        ("left_bytes", np.float64),  # at ``since_s``
        ("since_s", np.float64),  # the last change of its rate
        ("op", np.int32),
        ("next_free", np.int32),  # of a free slot
        ("place", np.int32),  # in the list of flows under way
        ("unused", np.int32),
    ]
)
#: A flow at a link.
_THERE = np.dtype([("slot", np.int32), ("hop", np.int32)])
#: A station of the Plan or, after them, the limit of its own that the message in a slot may have.
_LINK = np.dtype(
    [
        ("level", np.int64),  # the share at which it is saturated, or NO_LIMIT
        ("spare", np.int64),  # while shares are computed: what is left of the capacity
        ("mark", np.int64),  # see ``is_dirty`` and ``is_settled``
        ("unfixed", np.int64),  # sum of the weights of flows that share what is spare
    ]
)
#: What is looked at once for all flows of a link.
_TOTAL = np.dtype(
    [
        ("capacity", np.int64),  # for as many flows as there are
        ("granted", np.int64),  # sum of the rates
        ("weight", np.int64),  # sum of the weights of the flows
        ("queued", np.int64),  # the round in which it is looked at
        ("first", np.int32),  # of the places for its flows
        ("count", np.int32),  # flows, at the places from there on
        ("longest", np.int32),  # most flows at a time
    ]
)
#: Lists of slots, one item each: what happens now, and the flows under way.
_SLOTS = np.dtype([("begun", np.int32), ("ended", np.int32), ("fixed", np.int32), ("under_way", np.int32)])
#: Lists of links, one item each.
_LINKS = np.dtype([("dirty", np.int32), ("queue", np.int32)])
#: A link with its share, in a heap of those that are filled.
_FILLING = np.dtype([("share", np.int64), ("link", np.int64)])

#: An array of records whose fields are attributes: mypy knows no names of fields.
Records = Any


class Flows(NamedTuple):
    """All about flows."""

    delay_s: Array  # by operation: from the beginning of the send to that of the flow
    after_s: Array  # by operation: from the end of the flow to the arrival
    size_bytes: Array  # by operation
    holds: Array  # by operation: whether the send is done when its flow has ended
    own_rate: Array  # by operation: its own limit, or 0
    weight: Array  # by operation
    bytes_per_unit: float  # bytes per second of a rate of 1
    alone: Array  # by station: its capacity for one flow
    loaded: Array  # by station: that for several
    stations: int
    slots: Records
    loads: Records  # by slot
    there: Records  # by place: the flows of the first link, then those of the next
    place: Array  # by hop: where its flow stands at its link
    way: Array  # by hop: its link
    links: Records
    totals: Records  # by link
    slot_lists: Records
    link_lists: Records
    filling: Records
    times: Heap  # of slots by the time at which the flow begins, or ends
    order: Heap  # of links, and of slots (numbered after all links), by share
    free: Array  # by number of hops: the first free slot
    counts: NDArray[np.int64]


def flows_for(plan: Plan) -> Flows:
    """No flows yet. Memory that is never touched is never taken."""
    fair = None if plan.routes is None else plan.routes.fair
    if plan.routes is None or fair is None:
        none, whole = np.zeros(0), np.zeros(0, np.int64)
        rates = whole, whole.astype(np.int32)
        return Flows(none, none, none, none.astype(bool), *rates, 1.0, whole, whole, *_room(whole, whole, 0, 0))
    used = np.zeros(len(plan.stations), np.int64)
    for _, station in hops_of_flows(plan):
        used += np.bincount(station, minlength=len(used))
    count = int(np.count_nonzero((plan.routes.route != NONE) & (fair.size_bytes > 0)))
    capacity, loaded = link_capacities(plan)
    room = _room(capacity, used, count, int(np.diff(plan.routes.start).max(initial=0)) + 1)
    by_operation = fair.delay_s, fair.after_s, fair.size_bytes, fair.holds, fair.own_rate, fair.weight
    return Flows(*by_operation, 1 / fair.unit, capacity, loaded, *room)


def _room(capacity: NDArray[np.int64], flows: NDArray[np.int64], slots: int, longest: int) -> tuple[Any, ...]:
    """From the number of stations on, all that Flows has, with so many flows for each station and at most ``longest``
    hops to a flow."""
    stations, links, hops = len(capacity), _with_fields(len(capacity) + slots, _LINK), int(flows.sum()) + slots
    totals = _with_fields(len(links), _TOTAL)
    links[:stations] = totals[:stations] = 0
    totals.capacity[:stations] = capacity
    links.level[:stations] = NO_LIMIT
    totals.first[: len(flows)] = np.cumsum(flows) - flows
    times, order = heap_for(slots, np.float64), heap_for(len(links) + slots, np.int64)
    order.place[:stations] = NONE
    by_slot = _with_fields(slots, _SLOT), _with_fields(slots, _LOAD)
    by_hop = _with_fields(hops, _THERE), np.empty(hops, np.int32), np.empty(hops, np.int32)
    lists = _with_fields(slots, _SLOTS), _with_fields(len(links), _LINKS), _with_fields(len(links), _FILLING)
    free = np.full(longest + 1, NONE, np.int32)
    return stations, *by_slot, *by_hop, links, totals, *lists, times, order, free, np.zeros(14, np.int64)


def _with_fields(count: int, dtype: np.dtype[Any]) -> Records:
    """Records that are not made yet, and whose fields are attributes."""
    return records(count, np.dtype(dtype.descr, align=True)).view(np.recarray)


# --- Marks, which hold for one computation of shares ----------------------------------------------------------


@inlined
def is_fixed(flows: Flows, slot: int) -> bool:
    """Whether the next rate of a flow is known."""
    return bool(flows.slots.mark[slot] == 2 * flows.counts[EPOCH] + 1)


@inlined
def is_doubted(flows: Flows, slot: int) -> bool:
    """Whether a flow may not keep its rate, and its next one is not known."""
    return bool(flows.slots.mark[slot] == 2 * flows.counts[EPOCH])


@inlined
def is_dirty(flows: Flows, link: int) -> bool:
    """Whether the flows of a link, or their rates, have changed."""
    return bool(flows.links.mark[link] >= 2 * flows.counts[EPOCH])


@inlined
def is_settled(flows: Flows, link: int) -> bool:
    """Whether the next level of a dirty link is known."""
    return bool(flows.links.mark[link] == 2 * flows.counts[EPOCH] + 1)


@inlined
def mark_dirty(flows: Flows, link: int) -> None:
    """The flows of a link, or their rates, have changed."""
    if not is_dirty(flows, link):
        flows.links.mark[link] = 2 * flows.counts[EPOCH]
        flows.link_lists.dirty[flows.counts[DIRTY]] = link
        flows.counts[DIRTY] += 1


@inlined
def make_links_dirty(flows: Flows, slot: int) -> None:
    """The rate of a flow changes."""
    for hop in range(flows.slots.first_hop[slot], flows.slots.end_hop[slot]):
        mark_dirty(flows, flows.way[hop])


# --- Beginning and end ----------------------------------------------------------------------------------------


@inlined
def rounded(time_s: float) -> float:
    """To 43 significant bits (T. J. Dekker, 1971), so that what rounding alone separates happens at the same time."""
    large = 1025.0 * time_s
    return large - (large - time_s)


@inlined
def flow_begins_s(flows: Flows, op: int, time_s: float) -> float:
    """When the message of a send that begins at ``time_s`` is a flow."""
    return max(time_s, rounded(time_s + flows.delay_s[op]))


@inlined
def add_flow(flows: Flows, op: int, begins_s: float, route: Array, start: int, end: int) -> None:
    """The message of a send will be a flow over ``route[start:end]``."""
    slot = _slot_with(flows, end - start + (flows.own_rate[op] > 0))
    flows.loads.op[slot], flows.loads.left_bytes[slot], flows.slots.share[slot] = op, flows.size_bytes[op], NONE
    flows.slots.weight[slot] = flows.weight[op]
    hop = flows.slots.first_hop[slot]
    for place in range(start, end):
        flows.way[hop] = route[place]
        hop += 1
    if flows.own_rate[op] > 0:
        flows.totals.capacity[flows.stations + slot] = flows.own_rate[op]
        flows.way[hop] = flows.stations + slot
    put(flows.times, slot, begins_s)


@inlined
def _slot_with(flows: Flows, hops: int) -> int:
    """A free slot with so many hops."""
    slots, links, totals, counts = flows.slots, flows.links, flows.totals, flows.counts
    slot = int(flows.free[hops])
    if slot != NONE:
        flows.free[hops] = flows.loads.next_free[slot]
        return slot
    slot = int(counts[SLOTS])
    counts[SLOTS] += 1
    slots.first_hop[slot] = counts[HOPS]
    slots.mark[slot] = 0
    counts[HOPS] += hops
    slots.end_hop[slot] = counts[HOPS]
    own = flows.stations + slot
    totals.granted[own] = totals.weight[own] = totals.queued[own] = links.mark[own] = 0
    totals.longest[own] = totals.count[own] = 0
    links.level[own], totals.first[own] = NO_LIMIT, len(flows.there) - 1 - slot
    flows.times.place[slot] = flows.order.place[own] = flows.order.place[len(links) + slot] = NONE
    return slot


@inlined
def next_change_s(flows: Flows) -> float:
    """When the next flow begins or ends."""
    return float(flows.times.key[0]) if flows.times.size[0] else np.inf


@inlined
def begin_and_end(flows: Flows, now: float) -> None:
    """All flows that begin or end now do so; their links are dirty."""
    slots, lists, counts = flows.slots, flows.slot_lists, flows.counts
    counts[EPOCH] += 1
    counts[DIRTY] = counts[BEGUN] = counts[ENDED] = 0
    while next_change_s(flows) == now:
        slot = take_first(flows.times)
        if slots.share[slot] == NONE:
            slots.share[slot] = 0
            slots.mark[slot] = 2 * counts[EPOCH]  # its rate is doubted
            lists.begun[counts[BEGUN]] = slot
            counts[BEGUN] += 1
        else:
            lists.ended[counts[ENDED]] = slot
            counts[ENDED] += 1
            _leave(flows, slot)
    for number in range(counts[BEGUN]):
        _enter(flows, lists.begun[number], now)


@inlined
def _enter(flows: Flows, slot: int, now: float) -> None:
    slots, there, totals, counts = flows.slots, flows.there, flows.totals, flows.counts
    flows.loads.since_s[slot] = now
    flows.loads.place[slot] = counts[UNDER_WAY]
    flows.slot_lists.under_way[counts[UNDER_WAY]] = slot
    counts[UNDER_WAY] += 1
    counts[HOPS_UNDER_WAY] += slots.end_hop[slot] - slots.first_hop[slot]
    for hop in range(slots.first_hop[slot], slots.end_hop[slot]):
        link = flows.way[hop]
        place = totals.first[link] + totals.count[link]
        there.slot[place], there.hop[place], flows.place[hop] = slot, hop, place
        totals.count[link] += 1
        totals.weight[link] += slots.weight[slot]
        totals.longest[link] = max(totals.longest[link], totals.count[link])
        _take_capacity(flows, link)
        mark_dirty(flows, link)


@inlined
def _leave(flows: Flows, slot: int) -> None:
    slots, there, totals, counts = flows.slots, flows.there, flows.totals, flows.counts
    counts[UNDER_WAY] -= 1
    last, place = flows.slot_lists.under_way[counts[UNDER_WAY]], flows.loads.place[slot]
    flows.slot_lists.under_way[place], flows.loads.place[last] = last, place
    counts[HOPS_UNDER_WAY] -= slots.end_hop[slot] - slots.first_hop[slot]
    for hop in range(slots.first_hop[slot], slots.end_hop[slot]):
        link, place = flows.way[hop], flows.place[hop]
        totals.count[link] -= 1
        last = totals.first[link] + totals.count[link]
        there.slot[place], there.hop[place] = there.slot[last], there.hop[last]
        flows.place[there.hop[last]] = place
        totals.weight[link] -= slots.weight[slot]
        totals.granted[link] -= slots.share[slot] * slots.weight[slot]
        _take_capacity(flows, link)
        mark_dirty(flows, link)


@inlined
def _take_capacity(flows: Flows, link: int) -> None:
    """The capacity of a link for as many flows as it has."""
    if link < flows.stations:
        several = flows.totals.count[link] > 1
        flows.totals.capacity[link] = flows.loaded[link] if several else flows.alone[link]


@inlined
def forget_flow(flows: Flows, slot: int) -> None:
    """The slot of a flow that has ended may be used again."""
    hops = flows.slots.end_hop[slot] - flows.slots.first_hop[slot]
    flows.loads.next_free[slot] = flows.free[hops]
    flows.free[hops] = slot


@inlined
def change_rate(flows: Flows, slot: int, now: float) -> None:
    """A flow goes on at its next rate."""
    slots, loads = flows.slots, flows.loads
    if slots.share[slot] == slots.next_share[slot]:
        return
    old, new = slots.share[slot] * slots.weight[slot], slots.next_share[slot] * slots.weight[slot]
    carried = float(old) * flows.bytes_per_unit * (now - loads.since_s[slot])
    left = max(0.0, loads.left_bytes[slot] - carried)
    loads.left_bytes[slot], loads.since_s[slot], slots.share[slot] = left, now, slots.next_share[slot]
    put(flows.times, slot, max(now, rounded(now + left / (float(new) * flows.bytes_per_unit))))

"""Messages in packets, compiled: of each message a station knows one packet at a time, which is round robin.

A packet is a request, as a whole message is. One that comes to a station at which another packet of its message is
waits behind that, in a list for each message and station of its route, and asks when that has been served. The first
station needs no such list: a packet is made when the one before it is granted there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcodesign.core.jit import inlined
from simcodesign.engine.compiled.state import Array, Requests
from simcodesign.generate.plan import NONE, Plan

#: ``first`` where a packet asks and none waits behind it.
ASKS = -2


class Packets(NamedTuple):
    """All about packets. The place of a message at a station is ``shift`` and the place of the station on its way."""

    total: Array  # by operation; empty where messages are not cut
    left: Array  # by operation: packets that are still to be made
    holds: Array  # by operation: whether the send is done when its message is
    until_away: bool
    shift: Array  # by operation
    served_s: Array  # by place: when the packet before has been served
    first: Array  # by place: the packets behind the one that asks, linked by ``sibling``; NONE: none asks
    last: Array


def packets_for(plan: Plan) -> Packets:
    """No packets yet. Messages of one packet have no places."""
    packets = None if plan.routes is None else plan.routes.packets
    if plan.routes is None or packets is None:
        whole = np.zeros(0, np.int32)
        return Packets(whole, whole, np.zeros(0, np.bool_), False, whole.astype(np.int64), np.zeros(0), whole, whole)
    route = plan.routes.route
    hops = np.where((route != NONE) & (packets.count > 1), np.diff(plan.routes.start)[route], 0)
    shift = np.cumsum(hops) - hops - plan.routes.start[route]
    places = int(hops.sum())
    total = np.ascontiguousarray(packets.count)
    return Packets(
        total=total,
        left=total - np.int32(1),
        holds=packets.holds,
        until_away=packets.until_away,
        shift=shift,
        served_s=np.zeros(places),
        first=np.full(places, NONE, np.int32),
        last=np.empty(places, np.int32),
    )


@inlined
def may_ask(packets: Packets, requests: Requests, place: int, slot: int) -> bool:
    """Whether a packet that comes to a station may ask there, and from when on; else it waits for those before it."""
    if packets.first[place] == NONE:
        packets.first[place] = ASKS
        requests.arrival_s[slot] = max(requests.arrival_s[slot], packets.served_s[place])
        return True
    if packets.first[place] == ASKS:
        packets.first[place] = slot
    else:
        requests.sibling[packets.last[place]] = slot
    packets.last[place] = slot
    return False


@inlined
def next_to_ask(packets: Packets, requests: Requests, place: int, served_s: float) -> int:
    """A station will have served the packet that has asked: the one behind it, which may ask then, or NONE."""
    packets.served_s[place] = served_s
    slot: int = packets.first[place]
    if slot == ASKS:
        packets.first[place] = NONE
        return NONE
    packets.first[place] = ASKS if requests.sibling[slot] == NONE else requests.sibling[slot]
    requests.sibling[slot] = NONE
    requests.arrival_s[slot] = max(requests.arrival_s[slot], served_s)
    return slot

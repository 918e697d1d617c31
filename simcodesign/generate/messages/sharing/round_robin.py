"""Messages cut into packets (``PacketSharing``): how many packets each one has, and what they cost.

All packets of a message but the last are of ``packet_bytes``; of a train, its messages are cut, which stay whole where
they are shorter. Costs that are for bytes are divided among the packets of a message as its bytes are. Its startup
comes before the first one, and every one takes the latencies of the route. What holds senders is what holds them where
links are shared fairly; where latencies do not hold them, packets leave the node one by one and the last one that has
left it releases the sender.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.memory_limit import check_memory
from simcodesign.core.units import format_quantity
from simcodesign.describe.machine import Machine
from simcodesign.describe.network.sharing import MaxMin, RoundRobin
from simcodesign.generate.messages.sharing.base import SHARED, held_until_arrival, senders_held
from simcodesign.generate.plan import NONE, PacketSharing, Plan, Routes

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
#: Memory that a packet takes while it waits, and a message for each station of its route.
BYTES_PER_PACKET, BYTES_PER_HOP = 64, 16
#: Packets are numbered in 32 bits.
MOST_PACKETS = 2**31 - 2


def with_packets(plan: Plan, machine: Machine, rule: RoundRobin) -> Plan:
    """Return the Plan whose messages pass the stations of their routes as packets.

    CapacityError for more packets than memory may have to hold.
    """
    if plan.routes is None:
        return plan
    routes = plan.routes
    sends = np.flatnonzero(routes.route != NONE)
    size_bytes = plan.message_bytes[sends]
    packet_bytes = np.full(len(sends), float(rule.packet_bytes))
    if plan.train is not None:
        own = sends[sends < len(plan)]  # they come before messages of others
        packet_bytes[: len(own)] = np.minimum(packet_bytes[: len(own)], size_bytes[: len(own)] / plan.train[own])
    with np.errstate(invalid="ignore"):
        packets = np.maximum(np.ceil(np.where(size_bytes > 0, size_bytes / packet_bytes, 1.0)), 1.0)
    _check_count(packets, np.diff(routes.start)[routes.route[sends]], machine, rule)
    holds = np.zeros(len(routes.route), bool)
    holds[sends] = (size_bytes > 0) & senders_held(plan, machine, sends) & (sends < len(plan))
    if plan.station is not None:
        holds[: len(plan)] &= plan.station == NONE
    count = np.ones(len(routes.route), np.int32)
    count[sends] = packets
    return replace(
        plan,
        routes=replace(
            _of_packets(routes, sends, size_bytes, packet_bytes, packets),
            packets=PacketSharing(count, holds, until_away=not held_until_arrival(machine)),
        ),
    )


def _check_count(packets: Floats, hops: Int64s, machine: Machine, rule: RoundRobin) -> None:
    total = float(packets.sum())
    size = format_quantity(float(rule.packet_bytes), "size")
    allowed = f"larger packets, or sharing: {MaxMin.name}"
    if total > MOST_PACKETS:
        raise InputError(f"packets of {size} of all messages", machine.place, value=total, allowed=allowed)
    needed = BYTES_PER_PACKET * total + BYTES_PER_HOP * float(hops[packets > 1].sum())
    check_memory(f"{total:.3g} packets of {size} take", needed, machine.place, allowed)


def _of_packets(routes: Routes, sends: Int64s, size_bytes: Floats, packet_bytes: Floats, packets: Floats) -> Routes:
    """Return the routes with two rows of costs for every row and size of a message.

    For its packets, and for the last one.
    """
    keys = np.stack([routes.cost[sends], size_bytes, packet_bytes])
    order = np.lexsort(keys)
    is_new = np.concatenate([[True], (np.diff(keys[:, order]) != 0).any(axis=0)])
    row = np.empty(len(sends), np.int32)
    row[order] = np.cumsum(is_new) - 1
    one = order[is_new]
    size, packet, count = size_bytes[one], packet_bytes[one], packets[one]
    carried = np.stack([packet, size - (count - 1) * packet], axis=1).ravel()
    several, size = np.repeat(count > 1, 2), np.repeat(size, 2)
    old = np.repeat(routes.cost[sends][one], 2)
    cost = np.zeros_like(routes.cost)
    cost[sends] = 2 * row

    def shared(times: Floats) -> Floats:
        """Multiplied before it is divided: exact where the times of a packet are."""
        whole = times[old].T  # there may be a column for each group of links
        parts: Floats = np.where(several, whole * carried / np.where(several, size, 1.0), whole).T
        return parts

    return replace(
        routes,
        cost=cost,
        inject_s=routes.inject_s[old],
        tail_s=shared(routes.tail_s),
        interface_s=shared(routes.interface_s),
        link_s=shared(routes.link_s),
        after_interface_s=routes.after_interface_s[old],
        latency_s=routes.latency_s[old],
    )


SHARED.add(RoundRobin, with_packets)

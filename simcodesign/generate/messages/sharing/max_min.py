"""How messages share links fairly: their delays, limits of their own, and the capacities of links (``FairSharing``).

A message alone on the network arrives when the cost model predicts. Its startup and the latencies of its route come
first, then it is a flow; where latencies do not hold the sender (Hockney's model with ``hops_hold_sender: false``),
they come after the flow, whose end is the end of the send. A sender in LogGOPS is held for its overhead alone, and in
Hockney's model for its startup alone where messages are sent together; or, where messages hold both ends, as if it were
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.errors import InputError
from simcodesign.core.units import format_quantity
from simcodesign.describe.machine import Machine
from simcodesign.describe.machine_parts.levels import level_at
from simcodesign.describe.network.sharing import MaxMin
from simcodesign.generate.messages.all_stations import link_bandwidths
from simcodesign.generate.messages.memory_stations import memory_stations
from simcodesign.generate.messages.sharing.base import SHARED, held_until_arrival, senders_held
from simcodesign.generate.plan import INTERFACE, LINK, MESSAGE_MEMORY, NONE, FairSharing, Plan, Routes

Floats = NDArray[np.float64]
#: The weights of messages, by the latencies of their routes and by their bytes; shapes (n,).
Weights = Callable[[Machine, Floats, Floats], NDArray[np.int32]]
#: Rates are whole numbers of units. The largest capacity has 60 bits: none is rounded by more than 2**-59 of it.
BITS = 60
#: Bits of the smallest capacity at least: a million flows then have shares that are right to a millionth.
LEAST_BITS = 40
#: Bits of the largest weight where shares are not equal: the ratio of two latencies of up to 1 : 10 is right to 3e-7.
WEIGHT_BITS = 24
#: Bits for the smallest capacity then, which is shared by sums of weights.
LEAST_WEIGHTED_BITS = 54


def with_fair_sharing(plan: Plan, machine: Machine, rule: MaxMin) -> Plan:
    """Return the Plan whose messages share the stations of their routes fairly.

    InputError for links without a bandwidth.
    """
    return with_weighted_sharing(plan, machine, None if rule.has_equal_shares else _weights)


def with_weighted_sharing(plan: Plan, machine: Machine, weights: Weights | None) -> Plan:
    """Return the Plan whose messages have max-min fair shares in proportion to their weights, or equal ones.

    ``weights(machine, flight_s, size_bytes)`` returns whole numbers from 1 to 2**WEIGHT_BITS, one of each message.
    Raises InputError for links without a bandwidth.
    """
    if plan.routes is None:
        return plan
    capacity_per_s, loaded_per_s = _capacities(plan, machine)
    unit = 2.0 ** (BITS - 1 - np.floor(np.log2(capacity_per_s.max())))
    capacity, loaded = (np.floor(one * unit).astype(np.int64) for one in (capacity_per_s, loaded_per_s))
    used = capacity_per_s > 0
    least_bits = LEAST_BITS if weights is None else LEAST_WEIGHTED_BITS
    if loaded[used].min() < 2**least_bits:
        slowest = format_quantity(float(loaded_per_s[used].min()), "bandwidth")
        what = "the slowest link or interface of a network whose links are shared fairly"
        fastest = format_quantity(float(capacity_per_s.max()), "bandwidth")
        allowed = f"at least 2**-{BITS - least_bits} of the fastest, {fastest}"
        raise InputError(what, machine.place, value=slowest, allowed=allowed)
    routes = plan.routes
    sends = np.flatnonzero(routes.route != NONE)
    size_bytes, delay_s = plan.message_bytes[sends], routes.inject_s[routes.cost[sends]]
    holds = np.zeros(len(sends), bool)
    held = senders_held(plan, machine, sends)
    if held.any() and plan.loggops is None:
        own = sends < len(plan)
        holds[own] = True if plan.station is None else plan.station[sends[own]] == NONE
        holds &= held & (size_bytes > 0)
    flight_s = _flights(plan, routes, sends)
    flies_after = held & (not held_until_arrival(machine))
    after_s = np.where(flies_after, flight_s, 0.0)
    delay_s = delay_s + np.where(flies_after, 0.0, flight_s)
    own_rate = _own_rates(plan, routes, sends, capacity, unit)
    weight = np.ones(len(sends), np.int32)
    if weights is not None:
        weight = weights(machine, flight_s, size_bytes)
        own_rate = np.where(own_rate > 0, np.maximum(own_rate, weight), 0)
    fair_plan = replace(
        plan,
        routes=replace(
            routes,
            fair=FairSharing(
                delay_s=_of_all(routes, sends, delay_s),
                after_s=_of_all(routes, sends, after_s),
                size_bytes=_of_all(routes, sends, size_bytes),
                holds=_of_all(routes, sends, holds),
                own_rate=_of_all(routes, sends, own_rate),
                weight=_of_all(routes, sends, weight),
                capacity=capacity,
                loaded=loaded,
                unit=float(unit),
            ),
        ),
    )
    return _with_accesses(fair_plan)


def _with_accesses(plan: Plan) -> Plan:
    """Return the Plan whose operations at memory controllers that messages pass are flows there, too.

    The bytes of a flow are the bytes of messages that would occupy the controller for as long as the operation takes.
    """
    routes = plan.routes
    assert routes is not None
    assert routes.fair is not None
    if plan.station is None or not (plan.stations.kind == MESSAGE_MEMORY).any():
        return plan
    there = (plan.station != NONE) & (plan.stations.kind[plan.station] == MESSAGE_MEMORY) & (plan.duration_s > 0)
    accesses = np.flatnonzero(there)
    stations, row = np.unique(plan.station[accesses], return_inverse=True)
    fair, station, route = routes.fair, plan.station.copy(), routes.route.copy()
    route[accesses] = len(routes.start) - 1 + row
    size_bytes, holds, weight = fair.size_bytes.copy(), fair.holds.copy(), fair.weight.copy()
    size_bytes[accesses] = plan.duration_s[accesses] * (fair.capacity[station[accesses]] / fair.unit)
    holds[accesses], weight[accesses] = True, fair.weight.max(initial=1)
    station[accesses] = NONE
    return replace(
        plan,
        station=station,
        routes=replace(
            routes,
            route=route,
            start=np.concatenate([routes.start, routes.start[-1] + 1 + np.arange(len(stations))]),
            station=np.concatenate([routes.station, stations.astype(np.int32)]),
            fair=replace(fair, size_bytes=size_bytes, holds=holds, weight=weight),
        ),
    )


def _capacities(plan: Plan, machine: Machine) -> tuple[Floats, Floats]:
    """(S,) bytes per second of every link and interface, for a message alone and for several together.

    0 for other stations.
    """
    stations = plan.stations
    per_second = link_bandwidths(machine, stations)
    controllers = stations.kind == MESSAGE_MEMORY
    if controllers.any():
        per_second[controllers] = memory_stations(machine).capacity_per_s(machine)
    levels, interfaces = machine.numbered_levels, np.flatnonzero(stations.kind == INTERFACE)
    level = level_at(levels, "first_interface", stations.unit[interfaces])
    networks = [one.network for one in levels]
    alone, together = (
        np.array([float(s_per_byte) for s_per_byte in each])
        for each in (
            [network.interface_occupancy_s_per_byte for network in networks],
            [network.loaded_interface_s_per_byte for network in networks],
        )
    )
    loaded = per_second.copy()
    with np.errstate(divide="ignore"):
        per_second[interfaces], loaded[interfaces] = 1.0 / alone[level], 1.0 / together[level]
    if np.isinf(per_second).any():
        what = "bytes take no time on links or interfaces, which cannot be shared then"
        raise InputError(what, machine.place, allowed="a bandwidth of the network, or sharing: fcfs")
    return per_second, loaded


def _flights(plan: Plan, routes: Routes, sends: NDArray[np.int64]) -> Floats:
    """Return the latencies of the route of every send, and what its interface adds where links are not looked at."""
    is_link = plan.stations.kind[routes.station] == LINK
    cost, route = routes.cost[sends], routes.route[sends]
    starts = routes.start[:-1]
    first_is_interface = ~is_link[starts]
    flight_s: Floats = first_is_interface[route] * routes.after_interface_s[cost]
    if routes.group is None:
        links = np.add.reduceat(is_link, starts, dtype=np.int64)
        return flight_s + links[route] * routes.latency_s[cost]
    group = np.where(is_link, routes.group[routes.station], NONE)
    for number in range(routes.latency_s.shape[1]):
        links = np.add.reduceat(group == number, starts, dtype=np.int64)
        flight_s = flight_s + links[route] * routes.latency_s[cost, number]
    return flight_s


def _own_rates(
    plan: Plan, routes: Routes, sends: NDArray[np.int64], capacity: NDArray[np.int64], unit: float
) -> NDArray[np.int64]:
    """Return the rate at which each message follows its first byte by itself; 0 where its links are no faster."""
    tail_s = routes.tail_s[routes.cost[sends]]
    with np.errstate(divide="ignore", invalid="ignore"):
        per_second = np.where(tail_s > 0, plan.message_bytes[sends] / tail_s, np.inf)
    factor = plan.stations.service_factor
    own = capacity if factor is None else capacity / factor
    slowest = np.minimum.reduceat(own[routes.station], routes.start[:-1])[routes.route[sends]]
    limits = per_second * unit < slowest * (1 - 1e-12)  # else it differs by rounding alone
    rate = np.zeros(len(sends), np.int64)
    rate[limits] = np.maximum(1, np.floor(per_second[limits] * unit)).astype(np.int64)
    return rate


def _weights(machine: Machine, flight_s: Floats, size_bytes: Floats) -> NDArray[np.int32]:
    """Whole numbers in proportion to 1 / latency."""
    if not (flight_s > 0).all():
        what = "messages without a latency of their route share no link by their latencies"
        raise InputError(
            what, machine.place, value="sharing: {max_min: by_latency}", allowed="a hop_latency, or sharing: max_min"
        )
    weight = np.rint(2.0**WEIGHT_BITS * flight_s.min(initial=np.inf) / flight_s)
    whole: NDArray[np.int32] = np.maximum(weight, 1).astype(np.int32)
    return whole


def _of_all(routes: Routes, sends: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
    """Return the values of sends in an array over all operations, 0 elsewhere."""
    every = np.zeros(len(routes.route), values.dtype)
    every[sends] = values
    return every


SHARED.add(MaxMin, with_fair_sharing)

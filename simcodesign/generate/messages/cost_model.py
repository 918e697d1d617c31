"""The cost model of simulated messages: the seconds that one costs its sender, its receiver and the stations it passes.

Hockney's model, or LogGOPS (Hoefler, Schneider, Lumsdaine, "LogGOPSim", HPDC 2010), with the hops either by the
machine's distance law (none, one, log2 P, sqrt P) or, with the effect ``hops``, counted on the message's own route;
``way`` says which links these are. Links that are slower than messages (only links of their own can be) hold a sender
as long as the bytes pass them if hops hold the sender, and delay the arrival alone if they do not and in LogGOPS.

A train of k messages is one transfer whose sender pays for each of them; ``size_bytes`` are those of one message. Its
first byte enters the network after one startup, its last byte follows as the sender hands the messages over. Trains are
for Hockney's model only (``check_train``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcodesign.core.units import FloatOrArray
from simcodesign.describe.machine_parts.network import Network
from simcodesign.generate.messages.constants_by_size import constant
from simcodesign.generate.messages.way import Way


def modelled_hops(network: Network, ranks: int) -> float:
    """Hops that the distance law of a network gives every message among this many ranks."""
    match network.distance:
        case "none":
            return 0.0
        case "log2":
            return math.log2(ranks)
        case "sqrt":
            return math.sqrt(ranks)
        case "mean":
            return network.mean_hops
        case _:
            return 1.0


def is_loggop(network: Network) -> bool:
    """Whether its messages cost what LogGOPS says."""
    return network.model == "loggop"


def send_s(network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
    """Seconds for which messages occupy their sender. Hockney: startup, and held flight and bytes where messages are
    sent one by one. LogGOPS: o + (s-1) O."""
    if is_loggop(network):
        return overhead_s(network, size_bytes)
    first = startup_s(network, way) + held_s(network, way, size_bytes)
    if not network.bytes_hold_sender:
        return train * first
    return first + tail_s(network, way, size_bytes, train, first)


def startup_s(network: Network, way: Way) -> FloatOrArray:
    """Hockney: the startups that a message costs its sender."""
    return inject_s(network, way, 0.0) if network.flight_holds_sender else way.startup_s


def held_s(network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
    """Hockney: how long the flight of a message holds its sender."""
    return _hops_s(network, way, size_bytes) if network.flight_holds_sender else 0.0


def receive_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """Seconds for which a message occupies its receiver. LogGOPS: o + (s-1) max(O, G)."""
    if not is_loggop(network):
        return constant(network, "receive_overhead_s", size_bytes)
    names = ("overhead_s", "overhead_per_byte_s", "per_byte_s")
    overhead, each, per_byte_s = (constant(network, name, size_bytes) for name in names)
    return overhead + beyond_first(size_bytes) * np.maximum(each, per_byte_s)


def arrival_s(network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1) -> FloatOrArray:
    """Seconds from the beginning of a send to the arrival, alone on the network: of its last byte; in LogGOPS of its
    first, o + L and the flight."""
    if is_loggop(network):
        return _first_there_s(network, size_bytes) + flight_s(network, way, size_bytes)
    again = startup_s(network, way) + held_s(network, way, size_bytes)
    return (
        inject_s(network, way, size_bytes)
        + flight_s(network, way, size_bytes)
        + tail_s(network, way, size_bytes, train, again)
    )


def between_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """LogGOPS: seconds from the beginning of a send (receive) to the earliest next one, g + (s-1) G. Hockney: none."""
    if not is_loggop(network):
        return 0.0
    gap, per_byte_s = (constant(network, name, size_bytes) for name in ("gap_s", "per_byte_s"))
    return gap + beyond_first(size_bytes) * per_byte_s


def inject_s(network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
    """Time before the first byte enters the network; in LogGOPS o + L, of which the links take the first byte's."""
    if is_loggop(network):
        return _first_there_s(network, size_bytes) - _first_byte_s(network, size_bytes)
    return way.startup_s * np.maximum(way.hops, 1.0) if network.startup_per == "hop" else way.startup_s


def spread_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """LogGOPS: seconds from the first byte of a message to its last. Hockney: a message is there when its last is."""
    if not is_loggop(network):
        return 0.0
    return beyond_first(size_bytes) * constant(network, "per_byte_s", size_bytes)


def tail_s(
    network: Network, way: Way, size_bytes: FloatOrArray, train: FloatOrArray = 1, again_s: FloatOrArray = 0.0
) -> FloatOrArray:
    """How far the last byte is behind the first one at first; ``again_s`` is between the messages of a train."""
    if is_loggop(network):
        return spread_s(network, size_bytes) + _first_byte_s(network, size_bytes)
    per_byte_s = way.per_byte_s if network.flight_holds_sender else way.sent_s_per_byte
    after_another = train if network.bytes_hold_sender else 1  # else all bytes flow side by side
    return (train - 1) * again_s + after_another * size_bytes * per_byte_s


def _first_byte_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """The time in which the first byte passes, which LogGOPS counts to o + L: a link is busy for all bytes."""
    first = np.minimum(size_bytes, 1.0) * constant(network, "per_byte_s", size_bytes)
    return np.minimum(first, _first_there_s(network, size_bytes))


def _first_there_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """LogGOPS: o + L."""
    overhead, latency = (constant(network, name, size_bytes) for name in ("overhead_s", "latency_s"))
    return overhead + latency


def flight_s(network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
    """Time that a message needs over the hops, and for bytes that a slow link takes longer for than its sender."""
    flight = _hops_s(network, way, size_bytes)
    if network.has_own_links and (is_loggop(network) or not network.flight_holds_sender):
        flight = flight + size_bytes * (way.per_byte_s - way.sent_s_per_byte)
    return flight


def _hops_s(network: Network, way: Way, size_bytes: FloatOrArray) -> FloatOrArray:
    """Time that the first byte needs over the hops; store-and-forward repeats the message, or a packet, at each."""
    if network.switching != "store_and_forward":
        return way.latency_s
    stored_bytes = np.minimum(size_bytes, network.stored_bytes)
    return way.latency_s + np.maximum(way.hops - 1.0, 0.0) * stored_bytes * way.stored_s_per_byte


def overhead_s(network: Network, size_bytes: FloatOrArray) -> FloatOrArray:
    """LogGOPS: o + (s-1) O."""
    overhead, each = (constant(network, name, size_bytes) for name in ("overhead_s", "overhead_per_byte_s"))
    return overhead + beyond_first(size_bytes) * each


def beyond_first(size_bytes: FloatOrArray) -> NDArray[np.float64]:
    """Bytes after the first one."""
    return np.maximum(np.asarray(size_bytes, dtype=np.float64) - 1.0, 0.0)

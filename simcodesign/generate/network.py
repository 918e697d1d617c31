"""What each message costs its sender, and which way it goes: the network as the simulation sees it.

Hockney's model with the hops either by the machine's distance law (one, log2 P, sqrt P) or, with the effect ``hops``,
counted on the message's own route.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine

Floats = NDArray[np.float64]


def lawful_hops(machine: Machine, ranks: int) -> float:
    """Hops that the distance law gives every message among this many ranks."""
    match machine.network.distance:
        case "log2":
            return math.log2(ranks)
        case "sqrt":
            return math.sqrt(ranks)
        case "mean":
            return machine.network.topology.mean_hops()
        case _:
            return 1.0


def counted_hops(
    machine: Machine, node: NDArray[np.int64], source: NDArray[np.int32], target: NDArray[np.int32]
) -> Floats:
    """Hops between the nodes of two ranks; 0 on the same node."""
    return machine.network.topology.hops(node[source], node[target]).astype(np.float64)


def startup_s(machine: Machine, hops: Floats) -> Floats:
    """Time before the first byte enters the network."""
    software_hops = np.maximum(hops, 1.0) if machine.network.startup_per == "hop" else np.ones_like(hops)
    return machine.network.startup_s * software_hops


def flight_s(machine: Machine, hops: Floats, size_bytes: Floats) -> Floats:
    """Time that the first byte needs over the hops; store-and-forward repeats the whole message at each."""
    network = machine.network
    flight = hops * network.hop_latency_s
    if network.switching == "store_and_forward":
        flight = flight + np.maximum(hops - 1.0, 0.0) * size_bytes * network.link_occupancy_s_per_byte
    return flight


def charge_s(machine: Machine, hops: Floats, size_bytes: Floats) -> Floats:
    """Time for which a message occupies its sender: startup, flight, and the bytes."""
    tail = size_bytes * machine.network.per_byte_s
    return startup_s(machine, hops) + flight_s(machine, hops, size_bytes) + tail

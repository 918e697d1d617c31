"""Which stations operations and messages queue for, with the effects that make them shared: disks, endpoints, links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcodesign.describe.machine import Machine
from simcodesign.generate.network import flight_s, startup_s
from simcodesign.generate.plan import DISK, INTERFACE, LINK, NONE, Operations, Routes, Stations
from simcodesign.result import READ, SEND

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def routes_and_stations(
    operations: Operations, hops: Floats, parts: Sequence[Machine], effects: frozenset[str]
) -> tuple[Routes | None, Stations, NDArray[np.int32]]:
    """Routes of the messages (None when nothing is shared on the way), all stations, and the station of each access."""
    machine = parts[0]
    node = machine.node_of(len(operations.first) - 1)
    station = np.full(len(operations), NONE, dtype=np.int32)
    disks, visited = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if "disks" in effects and machine.disk is not None:
        accesses = np.flatnonzero(operations.kind >= READ)
        of_access = node[operations.rank[accesses]] // machine.disk.shared_by
        disks, station[accesses] = np.unique(of_access, return_inverse=True)
    sends = np.flatnonzero(operations.kind == SEND)
    source, target = node[operations.rank[sends]], node[operations.peer[sends]]
    far = source != target
    routes = None
    if effects & {"links", "endpoints"} and far.any():
        pairs, route = np.unique(source[far] * machine.nodes + target[far], return_inverse=True)
        start, way = _ways(machine, pairs // machine.nodes, pairs % machine.nodes, effects)
        visited, way = np.unique(way, return_inverse=True)
        routes = _timed(operations, sends[far], hops, parts, effects, (route, start, way + len(disks)))
    return routes, _stations(machine, disks, visited), station


def _ways(machine: Machine, source: Ints, target: Ints, effects: frozenset[str]) -> tuple[Ints, Ints]:
    """Stations in travel order for every pair of nodes (CSR): interfaces are numbered by node, links after them."""
    empty = np.zeros(len(source) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    start, link = empty
    if "links" in effects:
        found = machine.network.topology.routes(source, target)
        start, link = found.start, found.link + machine.nodes
    if "endpoints" not in effects:
        return start, link
    # Room for the sender's interface before and the receiver's after the links of each route.
    length = np.diff(start) + 2
    wide = np.concatenate([[0], np.cumsum(length)])
    way = np.empty(wide[-1], dtype=np.int64)
    way[wide[:-1]], way[wide[1:] - 1] = source, target
    inner = np.ones(len(way), bool)
    inner[wide[:-1]] = inner[wide[1:] - 1] = False
    way[inner] = link
    return wide, way


def _timed(
    operations: Operations,
    remote: Ints,
    hops: Floats,
    parts: Sequence[Machine],
    effects: frozenset[str],
    ways: tuple[Ints, Ints, Ints],
) -> Routes:
    """Service times and delays of every remote message."""
    size, part = operations.size_bytes, operations.part
    which, start, way = ways
    count = len(size)
    route = np.full(count, NONE, dtype=np.int32)
    route[remote] = which
    inject, tail, interface, link, gap, latency = (np.zeros(count) for _ in range(6))
    for number in np.unique(part[remote]):
        mine = remote[part[remote] == number]
        machine, far, load = parts[number], hops[mine], size[mine]
        network = machine.network
        inject[mine] = startup_s(machine, far)
        tail[mine] = load * network.per_byte_s
        interface[mine] = load * network.interface_occupancy_s_per_byte
        link[mine] = load * network.link_occupancy_s_per_byte
        gap[mine] = 0.0 if "links" in effects else flight_s(machine, far, load)
        latency[mine] = network.hop_latency_s
    forward = parts[0].network.switching == "store_and_forward"
    return Routes(route, start, way.astype(np.int32), inject, tail, interface, link, gap, latency, forward)


def _stations(machine: Machine, disks: Ints, visited: Ints) -> Stations:
    """Disks first, then interfaces and links."""
    links = visited >= machine.nodes
    kind = np.concatenate([np.full(len(disks), DISK), np.where(links, LINK, INTERFACE)]).astype(np.int8)
    unit = np.concatenate([disks, visited - links * machine.nodes])
    spindles = machine.disk.spindles if machine.disk else 1
    return Stations(kind, unit, np.where(kind == DISK, spindles, 1).astype(np.int32))
